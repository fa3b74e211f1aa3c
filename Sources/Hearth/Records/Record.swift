import HearthCRDT
import HearthStore

/// A type whose values are records that sync.
///
/// ```swift
/// struct Item: Record {
///   var id = Key<Item>()
///   var list: Key<ShoppingList>?
///   var name = ""
///   var quantity: Int64 = 0
///   var tags: Set<String> = []
///
///   static let schema = Schema<Item>("item", 2) {
///     Reference(1, \.list)
///     Field(2, \.name, .indexed, .fullText)
///     Counter(6, \.quantity)
///     SetOf(7, \.tags)
///   }
/// }
/// ```
///
/// Every property has a default: it is what a record shows for a field that its author's program
/// did not know yet. The numbers are the contract with other devices and with later versions: they
/// never change and are never used again. Names may change. Adding a field or a type writes
/// nothing, and programs that lack it keep and forward its values.
public protocol Record: Identifiable, Sendable where ID == Key<Self> {
  /// Whether records of the type may change; declare an ``Event`` for those that may not.
  associatedtype Mutability: RecordMutability = ChangingRecord
  /// Makes a record with a new key and the defaults of its fields.
  init()
  /// The record's key.
  var id: Key<Self> { get set }
  /// The type's number, name and fields.
  static var schema: Schema<Self> { get }
}

/// The declaration of one record type.
public struct Schema<Owner: Record>: Sendable {
  let name: String
  let number: Int
  /// The number with the bits that say whether the records are events.
  let type: TypeID
  let fields: [FieldDescription<Owner>]
  /// The properties of each index over several fields.
  let indexes: [[any PartialKeyPath<Owner> & Sendable]]
  /// The fields of earlier versions that others hold now.
  let lenses: [LensDescription<Owner>]

  /// The fields' numbers, in the order of declaration.
  let columns: [FieldID]

  /// The column of a property; nil if it is no field.
  func column(_ path: PartialKeyPath<Owner>) -> QueryColumn? {
    if path == \Owner.id { return .id }
    return field(path).map { .field($0.id) }
  }

  /// The field of a property; nil if it is none.
  func field(_ path: PartialKeyPath<Owner>) -> FieldDescription<Owner>? {
    fields.first { $0.path == path }
  }
}

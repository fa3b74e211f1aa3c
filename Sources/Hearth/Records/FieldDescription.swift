import HearthCRDT
import HearthStore

/// A service that a field offers to queries.
public enum FieldOption: Hashable, Sendable {
  /// Queries by the field, and in its order, read only their own records.
  case indexed
  /// The words of the text can be searched with ``Condition/matches(_:)``.
  case fullText
}

/// The type that a field refers to, and what a deletion there does.
struct ReferenceTarget: Sendable {
  let type: TypeID
  let typeName: String
  let effect: DeletionEffect
}

/// What a type's schema says about one field.
struct FieldDescription<Owner>: Sendable {
  let number: Int
  let kind: FieldKind
  let path: any PartialKeyPath<Owner> & Sendable
  let name: String
  let type: StoredValue.Kind
  let hasNothing: Bool
  let options: Set<FieldOption>
  /// The property's value as it is stored; it fails for one that cannot be coded.
  let read: @Sendable (Owner) throws -> ColumnContent
  /// Sets the property; false if the content does not fit.
  let write: @Sendable (inout Owner, ColumnContent) -> Bool
  /// Returns what the field refers to: later, as two types may refer to each other.
  private(set) var target: (@Sendable () -> ReferenceTarget)?

  init<Value: FieldValue>(
    _ number: Int, _ kind: FieldKind, _ path: any PartialKeyPath<Owner> & Sendable,
    _ type: Value.Type, _ options: Set<FieldOption>, name: String?,
    read: @escaping @Sendable (Owner) throws -> ColumnContent,
    write: @escaping @Sendable (inout Owner, ColumnContent) -> Bool
  ) {
    self.number = number
    self.kind = kind
    self.path = path
    self.type = type.storedKind
    hasNothing = type.hasNothing
    self.options = options
    self.name = name ?? ColumnName.derived(fromPath: "\(path)", number: number)
    self.read = read
    self.write = write
  }

  /// The same field as a reference.
  func referring(to target: @escaping @Sendable () -> ReferenceTarget) -> FieldDescription {
    var field = self
    field.target = target
    return field
  }

  /// The number with its kind; a number out of range is refused when the schema is used.
  var id: FieldID {
    FieldID(rawValue: kind.mark | UInt16(truncatingIfNeeded: number) & 0x1fff)
  }
}

/// The name of a property's column.
enum ColumnName {
  /// Derives a name from the text of a key path, such as `\Item.dueDate`.
  static func derived(fromPath path: String, number: Int) -> String {
    let property = path.split(separator: ".").last.map(String.init) ?? ""
    let isPlain = property.utf8.allSatisfy {
      ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x5f
    }
    guard isPlain, property.first?.isLetter ?? false else { return "field_\(number)" }
    var name = ""
    for character in property {
      if character.isUppercase, !name.isEmpty { name += "_" }
      name += character.lowercased()
    }
    return ["zone", "id", "alive", "meta"].contains(name) ? name + "_" : name
  }
}

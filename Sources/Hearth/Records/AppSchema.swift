import HearthCRDT
import HearthStore
import HearthSync

/// The identifier of an application, with its record types and rules.
///
/// ```swift
/// let app = AppSchema("org.example.shopping", [ShoppingList.self, Item.self]) {
///   Rule(Item.self, .child, may: .change(\.quantity))
/// }
/// ```
///
/// A node belongs to the application that created it, with the person's private database, and a
/// shared zone to the application that created it. Another application can neither open nor join
/// it, as it could give the same numbers another meaning: it gets the error `otherApplication`.
public struct AppSchema: Sendable {
  /// The name of the application in reverse order of a domain, which never changes.
  ///
  /// It has at most 128 bytes: two or more labels with dots between them, each of 1 to 63
  /// lower-case letters, digits and inner hyphens.
  public let identifier: String
  let types: [TypeDescription]
  let derivations: [DerivationDescription]
  let rules: [Rule]

  /// Declares an application.
  ///
  /// A mistake in a declaration is reported when a node is opened, before anything is written.
  ///
  /// - Parameters:
  ///   - identifier: the application's name, such as `org.example.shopping`.
  ///   - types: the record types.
  ///   - derived: the tables that are computed from records.
  ///   - rules: what each role may do.
  public init(
    _ identifier: String, _ types: [any Record.Type], derived: [any DerivedRow.Type] = [],
    @RuleBuilder rules: () -> [Rule] = { [] }
  ) {
    self.identifier = identifier
    self.types = types.map { $0.typeDescription }
    derivations = derived.map { $0.derivationDescription }
    self.rules = rules()
  }
}

/// What a record type declares, without the type.
struct TypeDescription: Sendable {
  struct Field: Sendable {
    let id: FieldID
    let number: Int
    let name: String
    let type: FieldType
    let options: Set<FieldOption>
    /// What a record shows if the field was never written; null if that is nothing.
    let defaultValue: Value
    let hasDefaultElements: Bool
    /// What the field refers to; nil if it is no reference.
    let target: ReferenceTarget?
  }

  let name: String
  let number: Int
  let type: TypeID
  let fields: [Field]
  /// The numbers of the fields of each declared index; nil for a property that is no field.
  let indexes: [[FieldID?]]
  /// The field of each lens; nil for a property that is none.
  let lensFields: [FieldID?]
  /// Whether two fields have one property.
  let repeatsProperty: Bool

  var recordSchema: RecordSchema {
    RecordSchema(
      type, name, fields.map { FieldSchema($0.id, $0.name, $0.type) })
  }

  var lookups: TypeLookups {
    let single = fields.filter { $0.options.contains(.indexed) }.map { [$0.id] }
    return TypeLookups(
      type,
      defaults: Dictionary(
        fields.filter { $0.defaultValue != .null }.map { ($0.id, $0.defaultValue) },
        uniquingKeysWith: { first, _ in first }),
      indexes: single + indexes.map { $0.compactMap { $0 } }.filter { !single.contains($0) },
      texts: fields.filter { $0.options.contains(.fullText) }.map(\.id))
  }
}

extension DeletionRules {
  /// The rules of an application's references.
  init(_ types: [TypeDescription]) {
    self.init()
    for type in types {
      for field in type.fields {
        guard let target = field.target, target.effect != .nothing else { continue }
        add(
          ReferringField(
            type: type.type, field: field.id, isCascade: target.effect == .deletion),
          to: target.type)
      }
    }
  }
}

extension Record {
  static var typeDescription: TypeDescription {
    let schema = schema
    let prototype = Self()
    let paths = schema.fields.map(\.path)
    return TypeDescription(
      name: schema.name, number: schema.number, type: schema.type,
      fields: schema.fields.map { field in
        var (value, hasElements) = (Value.null, false)
        switch try? field.read(prototype) {
        case .value(let shown): value = shown
        case .elements(let elements): hasElements = !elements.isEmpty
        // A default that cannot be coded: no record with it can be inserted.
        case nil: break
        }
        // For an optional, nothing was written and "nothing" was written are the same.
        if field.hasNothing { value = .null }
        return TypeDescription.Field(
          id: field.id, number: field.number, name: field.name,
          type: field.type.fieldType, options: field.options,
          defaultValue: value, hasDefaultElements: hasElements, target: field.target?())
      },
      indexes: schema.indexes.map { index in index.map { schema.field($0)?.id } },
      lensFields: schema.lenses.map { schema.field($0.path)?.id },
      repeatsProperty: paths.indices.contains { place in
        paths[..<place].contains { $0 == paths[place] }
      })
  }
}

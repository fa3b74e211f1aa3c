import HearthCRDT

extension Schema {
  /// Declares a record type.
  ///
  /// - Parameters:
  ///   - name: the table's name in SQL: lower-case letters, digits and underscores.
  ///   - number: from 1 to 16381; it never changes, and no other type of the application ever has
  ///     it.
  ///   - parts: the fields, the indexes over several fields, and the lenses.
  public init(
    _ name: String, _ number: Int, @SchemaBuilder<Owner> _ parts: () -> SchemaParts<Owner>
  ) {
    let parts = parts()
    self.name = name
    self.number = number
    type = Schema.typeID(of: UInt16(truncatingIfNeeded: number) & 0x3fff)
    fields = parts.fields
    columns = fields.map(\.id)
    indexes = parts.indexes.map(\.paths)
    lenses = parts.lenses
  }
}

extension Schema {
  /// The type of a number; one out of range is refused when the schema is used.
  private static func typeID(of number: UInt16) -> TypeID {
    guard number > 0, Owner.Mutability.isEvent else { return TypeID(rawValue: number) }
    return .event(number, keepsCause: (Owner.self as? any Event.Type)?.keepsPast ?? false)
  }
}

/// The parts of a type's declaration.
public struct SchemaParts<Owner: Record>: Sendable {
  var fields: [FieldDescription<Owner>] = []
  var indexes: [Index<Owner>] = []
  var lenses: [LensDescription<Owner>] = []
}

/// Collects the parts of a type's declaration.
@resultBuilder
public enum SchemaBuilder<Owner: Record> {
  /// Takes a field.
  public static func buildExpression(_ field: Field<Owner>) -> SchemaParts<Owner> {
    SchemaParts(fields: [field.description])
  }

  /// Takes a field with its history.
  public static func buildExpression(_ history: History<Owner>) -> SchemaParts<Owner> {
    SchemaParts(fields: [history.description])
  }

  /// Takes a reference.
  public static func buildExpression(_ reference: Reference<Owner>) -> SchemaParts<Owner> {
    SchemaParts(fields: [reference.description])
  }

  /// Takes a counter.
  public static func buildExpression(_ counter: Counter<Owner>) -> SchemaParts<Owner> {
    SchemaParts(fields: [counter.description])
  }

  /// Takes a set.
  public static func buildExpression(_ set: SetOf<Owner>) -> SchemaParts<Owner> {
    SchemaParts(fields: [set.description])
  }

  /// Takes a text that several people edit.
  public static func buildExpression(_ text: Text<Owner>) -> SchemaParts<Owner> {
    SchemaParts(fields: [text.description])
  }

  /// Takes an index.
  public static func buildExpression(_ index: Index<Owner>) -> SchemaParts<Owner> {
    SchemaParts(indexes: [index])
  }

  /// Takes a lens.
  public static func buildExpression(_ lens: Lens<Owner>) -> SchemaParts<Owner> {
    SchemaParts(lenses: [lens.description])
  }

  /// Joins the parts.
  public static func buildBlock(_ parts: SchemaParts<Owner>...) -> SchemaParts<Owner> {
    SchemaParts(
      fields: parts.flatMap(\.fields), indexes: parts.flatMap(\.indexes),
      lenses: parts.flatMap(\.lenses))
  }
}

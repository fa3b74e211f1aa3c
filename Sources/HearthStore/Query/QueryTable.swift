import HearthCRDT
import HearthSync

/// The table of a record type, as queries see it.
struct QueryTable {
  let table: TypeTable
  let lookups: TypeLookups

  /// The tables of the types that queries rely on.
  static func all(_ lookups: [TypeLookups], in tables: [TypeID: TypeTable]) -> [QueryTable] {
    lookups.compactMap { lookups in
      tables[lookups.type].map { QueryTable(table: $0, lookups: lookups) }
    }
  }

  /// The table of a type.
  ///
  /// - Throws: `schema` if the program did not declare the type.
  static func table(of type: TypeID, in sources: [TypeID: QueryTable]) throws -> QueryTable {
    guard let source = sources[type] else {
      throw StoreError(.schema, "record type \(type.rawValue & 0x3fff) was not declared")
    }
    return source
  }

  /// The expression of a column: its value, or the default of a field that was never written.
  ///
  /// An index has the same text, or SQLite would not use it.
  func expression(_ column: QueryColumn) throws -> String {
    guard case .field(let field) = column else { return "id" }
    let name = TypeTable.quoted(try declared(field).name)
    guard let value = lookups.defaults[field] else { return name }
    return "ifnull(\(name), \(QueryTable.literal(value)))"
  }

  /// The type of a column's values; nil for an id.
  func type(of column: QueryColumn) throws -> FieldType? {
    guard case .field(let field) = column else { return nil }
    return try declared(field).type
  }

  /// The declaration of a field that has a column.
  func declared(_ field: FieldID) throws -> FieldSchema {
    guard let place = table.place(of: field) else {
      throw StoreError(
        .schema, "record type \(table.schema.name) has no field \(field.rawValue & 0x3fff)")
    }
    return table.columns[place]
  }

  /// The name of the index over fields.
  func indexName(_ fields: [FieldID]) -> String {
    "hearth_index_\(table.schema.id.rawValue)"
      + fields.map { "_\($0.rawValue & 0x3fff)" }.joined()
  }

  /// The statement that creates the index over fields.
  func createIndex(_ fields: [FieldID]) throws -> String {
    let columns = try fields.map { ", " + (try expression(.field($0))) }.joined()
    return "CREATE INDEX \(TypeTable.quoted(indexName(fields))) ON "
      + "\(TypeTable.quoted(table.schema.name))(zone\(columns))"
  }

  /// A value as an SQL literal; text is hexadecimal, so that none of its characters has a meaning.
  private static func literal(_ value: Value) -> String {
    switch value {
    case .null: "NULL"
    case .bool(let truth): truth ? "1" : "0"
    case .int(let number): "\(number)"
    case .text(let text): "CAST(x'\(ColumnCodec.hex(Array(text.utf8)))' AS TEXT)"
    case .bytes(let bytes): "x'\(ColumnCodec.hex(bytes))'"
    }
  }
}

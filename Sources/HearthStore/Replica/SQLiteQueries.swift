import HearthCRDT
import HearthSync

/// Answers queries for the shown values of records, from the tables of their types.
///
/// It reads no record's `meta`, so an answer costs what its rows cost.
package final class SQLiteQueries {
  private let connection: Connection
  private let zones: SQLiteZones
  private let sources: [TypeID: QueryTable]

  init(
    connection: Connection, zones: SQLiteZones, records: SQLiteRecords, facts: SQLiteFacts,
    lookups: [TypeLookups]
  ) throws {
    self.connection = connection
    self.zones = zones
    var sources: [TypeID: QueryTable] = [:]
    for lookup in lookups {
      guard let table = records.tables[lookup.type] else { continue }
      let source = QueryTable(table: table, lookups: lookup)
      try QueryPreparation(connection: connection, facts: facts).prepare(source)
      sources[lookup.type] = source
    }
    self.sources = sources
  }

  /// Returns the rows of a query in its order, with the shown values of fields.
  package func rows(
    _ query: RecordQuery, showing fields: [FieldID], in zone: ZoneID
  ) throws -> [RecordRow] {
    let source = try source(of: query.type)
    return try connection.run { _ in
      var compiler = QueryCompiler(query, of: source)
      let sql = try compiler.select(
        try columns(fields, of: source), zone: try zones.number(of: zone))
      return try rows(sql, compiler.parameters, fields, of: source)
    }
  }

  /// Returns a record's row, even if it is deleted; nil if it was never written.
  package func row(
    of key: RecordKey, showing fields: [FieldID], in zone: ZoneID
  ) throws -> RecordRow? {
    let source = try source(of: key.type)
    return try connection.run { _ in
      let sql =
        "SELECT \(try columns(fields, of: source)) FROM "
        + "\(TypeTable.quoted(source.table.schema.name)) WHERE zone = ? AND id = ?"
      let parameters: [QueryParameter] = [
        .number(try zones.number(of: zone)), .identifier(key.id),
      ]
      return try rows(sql, parameters, fields, of: source).first
    }
  }

  /// Computes one value over the records of a query; nil if there is none.
  package func value(
    _ function: QueryAggregate, of column: QueryColumn?, _ query: RecordQuery, in zone: ZoneID
  ) throws -> Value? {
    let source = try source(of: query.type)
    return try connection.run { _ in
      var compiler = QueryCompiler(query, of: source)
      let sql = try compiler.aggregate(
        function, of: column, zone: try zones.number(of: zone))
      let statement = try bound(sql, compiler.parameters)
      guard try statement.step() else { return nil }
      defer { statement.reset() }
      let type = try function == .count ? nil : column.flatMap(source.type)
      if case .id = column, function != .count {
        return statement.isNull(0) ? nil : .bytes(statement.blob(0))
      }
      let value = try ColumnCodec.value(in: 0, as: type ?? .int, of: statement)
      return value == .null ? nil : value
    }
  }

  private func source(of type: TypeID) throws -> QueryTable {
    guard let source = sources[type] else {
      throw StoreError(.schema, "record type \(type.rawValue & 0x3fff) was not declared")
    }
    return source
  }

  private func columns(_ fields: [FieldID], of source: QueryTable) throws -> String {
    let names = try fields.map { ", " + TypeTable.quoted(try source.declared($0).name) }
    return "id, alive" + names.joined()
  }

  private func rows(
    _ sql: String, _ parameters: [QueryParameter], _ fields: [FieldID], of source: QueryTable
  ) throws -> [RecordRow] {
    let columns = try fields.map { try source.declared($0) }
    let statement = try bound(sql, parameters)
    defer { statement.reset() }
    var rows: [RecordRow] = []
    while try statement.step() {
      var contents: [ColumnContent] = []
      contents.reserveCapacity(columns.count)
      for (place, column) in columns.enumerated() {
        contents.append(try content(Int32(place + 2), column, of: statement))
      }
      rows.append(
        RecordRow(
          id: try statement.identifier(0), isAlive: statement.int(1) != 0, fields: contents))
    }
    return rows
  }

  private func content(
    _ place: Int32, _ column: FieldSchema, of statement: Statement
  ) throws -> ColumnContent {
    guard column.id.kind == .set else {
      return .value(try ColumnCodec.value(in: place, as: column.type, of: statement))
    }
    return .elements(
      statement.isNull(place)
        ? [] : try ElementReader.elements(of: statement.text(place), as: column.type))
  }

  private func bound(_ sql: String, _ parameters: [QueryParameter]) throws -> Statement {
    let statement = try connection.queryStatement(sql)
    for parameter in parameters {
      switch parameter {
      case .number(let number): try statement.bind(number)
      case .identifier(let id): try statement.bind(id)
      case .value(let value, let type): try ColumnCodec.bind(value, as: type, to: statement)
      }
    }
    return statement
  }
}

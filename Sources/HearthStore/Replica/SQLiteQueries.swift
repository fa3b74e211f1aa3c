import HearthCRDT
import HearthSync

/// Answers queries for the shown values of records, from the tables of their types.
///
/// Only ``record(_:in:)`` reads a record's `meta`, so an answer costs what its rows cost.
package final class SQLiteQueries {
  let connection: Connection
  let zones: SQLiteZones
  private let authors: AuthorNumbers
  private let sources: [TypeID: QueryTable]

  /// Answers from tables whose indexes exist: see ``QueryPreparation``.
  init(
    connection: Connection, zones: SQLiteZones, authors: AuthorNumbers, sources: [QueryTable]
  ) {
    self.connection = connection
    self.zones = zones
    self.authors = authors
    self.sources = Dictionary(
      sources.map { ($0.lookups.type, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The fields of a type with a text index.
  package func texts(of type: TypeID) -> [FieldID] { sources[type]?.lookups.texts ?? [] }

  /// Returns the rows of a query in its order, with the shown values of fields.
  package func rows(
    _ query: RecordQuery, showing fields: [FieldID], in zone: ZoneID
  ) throws -> [RecordRow] {
    let source = try QueryTable.table(of: query.type, in: sources)
    return try connection.run {
      var compiler = try QueryCompiler(query, in: sources)
      let sql = try compiler.select(
        try columns(fields, of: source), zone: try zones.recordNumber(of: zone))
      return try rows(sql, compiler.parameters, fields, of: source)
    }
  }

  /// Returns a record's row, even if it is deleted; nil if it was never written.
  package func row(
    of key: RecordKey, showing fields: [FieldID], in zone: ZoneID
  ) throws -> RecordRow? {
    let source = try QueryTable.table(of: key.type, in: sources)
    return try connection.run {
      let sql =
        "SELECT \(try columns(fields, of: source)) FROM "
        + "\(TypeTable.quoted(source.table.schema.name)) WHERE zone = ? AND id = ?"
      let parameters: [QueryParameter] = [
        .number(try zones.recordNumber(of: zone)), .identifier(key.id),
      ]
      return try rows(sql, parameters, fields, of: source).first
    }
  }

  /// Returns a record or event with all that merging needs, even if it is deleted; nil if it was
  /// never written.
  package func record(_ key: RecordKey, in zone: ZoneID) throws -> StoredRecord? {
    let source = try QueryTable.table(of: key.type, in: sources)
    return try connection.run {
      // Another connection may have added authors since.
      if try count(of: "hearth_authors") != authors.table.authors.count { try authors.reload() }
      let codec = RowCodec(table: source.table, connection: connection, authors: authors)
      return try codec.record(key.id, zone: try zones.recordNumber(of: zone))
    }
  }

  private func count(of table: String) throws -> Int64 {
    let statement = try connection.statement("SELECT count(*) FROM \(table)")
    defer { statement.reset() }
    return try statement.step() ? statement.int(0) : 0
  }

  /// Whether a record was ever written, even if it is deleted.
  package func isWritten(_ key: RecordKey, in zone: ZoneID) throws -> Bool {
    let source = try QueryTable.table(of: key.type, in: sources)
    return try connection.run {
      let statement = try connection.statement(source.table.exists)
      try statement.bind(try zones.recordNumber(of: zone)).bind(key.id)
      defer { statement.reset() }
      return try statement.step()
    }
  }

  /// Computes one value over the records of a query; nil if there is none.
  ///
  /// A sum beyond the greatest number is that number.
  package func value(
    _ function: QueryAggregate, of column: QueryColumn?, _ query: RecordQuery, in zone: ZoneID
  ) throws -> Value? {
    try carefully(function) { isCareful -> Value?? in
      var compiler = try QueryCompiler(query, in: sources)
      let sql = try compiler.aggregate(
        function, of: column, zone: try zones.recordNumber(of: zone), isCareful: isCareful)
      let statement = try bound(sql, compiler.parameters)
      defer { statement.reset() }
      guard try statement.step() else { return .some(nil) }
      if case .id = column, function != .count {
        return .some(statement.isNull(0) ? nil : .bytes(statement.blob(0)))
      }
      let type = try type(of: function, column, query)
      guard let value = try SQLiteQueries.outcome(0, function, type, isCareful, of: statement)
      else { return nil }
      return .some(value == .null ? nil : value)
    }
  }

  /// Computes one value over the records of each value of a column, in no order.
  ///
  /// A sum beyond the greatest number is that number.
  package func values(
    _ function: QueryAggregate, of column: QueryColumn?, by group: QueryColumn,
    _ query: RecordQuery, in zone: ZoneID
  ) throws -> [(group: Value, value: Value)] {
    let kind = try QueryTable.table(of: query.type, in: sources).type(of: group) ?? .bytes
    return try carefully(function) { isCareful in
      var compiler = try QueryCompiler(query, in: sources)
      let sql = try compiler.aggregates(
        function, of: column, by: group, zone: try zones.recordNumber(of: zone),
        isCareful: isCareful)
      let statement = try bound(sql, compiler.parameters)
      defer { statement.reset() }
      let type = try type(of: function, column, query)
      var values: [(Value, Value)] = []
      while try statement.step() {
        guard let value = try SQLiteQueries.outcome(1, function, type, isCareful, of: statement)
        else { return nil }
        values.append((try ColumnCodec.value(in: 0, as: kind, of: statement), value))
      }
      return values
    }
  }

  /// Runs a reading as SQLite computes it, and carefully if a value is in its way.
  ///
  /// That is one of another type than its field's, or a sum that is too large. Anybody can write
  /// such values.
  ///
  /// - Parameter body: Returns nil if something is in the way.
  private func carefully<Result>(
    _ function: QueryAggregate, _ body: (_ isCareful: Bool) throws -> Result?
  ) throws -> Result {
    try connection.run {
      do {
        if let result = try body(false) { return result }
      } catch let error as StoreError where function == .sum && error.code == .failed {
        // An overflow is an error of SQLite's; any other one occurs again.
      }
      guard let result = try body(true) else {
        throw StoreError(.corrupt, "a column of the node's database has a value of another type")
      }
      return result
    }
  }

  private func type(
    of function: QueryAggregate, _ column: QueryColumn?, _ query: RecordQuery
  ) throws -> FieldType {
    guard function != .count, let column else { return .int }
    return try QueryTable.table(of: query.type, in: sources).type(of: column) ?? .int
  }

  /// The value that a statement computed; nil if it is none of its type.
  private static func outcome(
    _ place: Int32, _ function: QueryAggregate, _ type: FieldType, _ isCareful: Bool,
    of statement: Statement
  ) throws -> Value? {
    guard ColumnCodec.fits(place, type, of: statement) else { return nil }
    guard function == .sum, isCareful, !statement.isNull(place) else {
      return try ColumnCodec.value(in: place, as: type, of: statement)
    }
    let (upper, lower) = (statement.int(place), statement.int(place + 1))
    let whole = upper + lower >> 32
    if let high = Int32(exactly: whole) { return .int(Int64(high) << 32 | lower & 0xffff_ffff) }
    return .int(whole < 0 ? .min : .max)
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

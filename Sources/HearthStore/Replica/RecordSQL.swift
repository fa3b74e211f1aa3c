import GRDBSQLite
import HearthCRDT
import HearthSync

/// Runs a program's own SQL over one zone's records, on a connection that can only read.
///
/// Each record type has a view of its name, with the columns `id` and those of its fields. SQLite's
/// authorizer refuses everything else. A view of the program's names reads from one of Hearth's,
/// and only Hearth's views may read tables. No text of a program may contain their names, or it
/// could give one to a subquery, which the authorizer cannot tell from a view.
package final class RecordSQL {
  private let connection: Connection
  private let schema: [RecordSchema]
  private let lookups: [TypeLookups]
  private let derived: [DerivedTable]
  private let steps = Steps()
  private let readTables = ReadTables()
  /// The names of the views that exist.
  private var views: [String] = []
  /// The zone's number in the views, and SQLite's number of the tables' shapes.
  private var shown: (zone: Int64, shape: Int64)?

  /// The most bytes of a text, of all values of an answer, and of one value.
  package static let maximumTextBytes = 100_000
  package static let maximumAnswerBytes = 16 * 1024 * 1024
  /// The most steps of SQLite's machine; a scan of a record type takes some ten for each record.
  private static let maximumSteps = 500_000_000
  private static let stepsAtOnce: Int32 = 100_000
  /// How the names of Hearth's views and tables begin.
  private static let ownPrefix = "hearth_"

  /// How many steps a statement has taken.
  private final class Steps {
    var count = 0
  }

  /// The names of the tables and views that a statement reads, in whatever way.
  private final class ReadTables {
    var names: Set<String> = []
  }

  /// Opens the file of a replica that is open for writing in this process.
  package init(
    path: String, schema: [RecordSchema], lookups: [TypeLookups], derived: [DerivedTable] = []
  ) throws {
    connection = try Connection(queue: try ReplicaFile.openToRead(path))
    self.schema = schema
    self.lookups = lookups
    self.derived = derived
    // Their first use declares a table, which the authorizer would refuse.
    try connection.execute("SELECT 1 FROM json_each('[]'); SELECT 1 FROM json_tree('[]')")
    sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, Int32(RecordSQL.maximumAnswerBytes))
    sqlite3_limit(connection.handle, SQLITE_LIMIT_ATTACHED, 0)
    sqlite3_progress_handler(
      connection.handle, RecordSQL.stepsAtOnce,
      { steps in
        guard let steps else { return 0 }
        let taken = Unmanaged<Steps>.fromOpaque(steps).takeUnretainedValue()
        taken.count += Int(RecordSQL.stepsAtOnce)
        return taken.count > RecordSQL.maximumSteps ? 1 : 0
      }, Unmanaged.passUnretained(steps).toOpaque())
  }

  /// Returns the names of the columns and the rows.
  ///
  /// - Throws: `refused` for SQL that does more than read the views, or is wrong; `tooLarge` for
  ///   more than `limit` rows, too many bytes or too many steps; `StaleRows` if rows of a derived
  ///   table that it reads must be computed first.
  package func rows(
    _ sql: String, _ arguments: [Value], in zone: ZoneID, limit: Int
  ) throws -> (columns: [String], rows: [[SQLContent]]) {
    guard sql.utf8.count <= RecordSQL.maximumTextBytes, !sql.utf8.contains(0) else {
      throw StoreError(
        .tooLarge, "the SQL has more than \(RecordSQL.maximumTextBytes) bytes, or a zero byte")
    }
    guard !sql.lowercased().contains(RecordSQL.ownPrefix) else {
      throw StoreError(
        .refused,
        "names that begin with \(RecordSQL.ownPrefix) are Hearth's own: give a text "
          + "that contains it as an argument")
    }
    return try connection.readOneState {
      steps.count = 0
      // An authorizer makes SQLite compile other statements anew, so they come before it.
      let stale = try staleTables(in: try show(zone))
      authorize()
      defer { sqlite3_set_authorizer(connection.handle, nil, nil) }
      let statement = try ProgramStatement(sql, on: connection.handle)
      try statement.bind(arguments)
      let needed = stale.filter { readTables.names.contains($0.tableName) }
      guard needed.isEmpty else { throw StaleRows(needed.map { StaleRows.Need($0) }) }
      return (statement.columns, try rows(of: statement, limit: limit))
    }
  }

  /// Closes the connection; no other call may follow.
  package func close() throws { try connection.close() }

  private func rows(of statement: ProgramStatement, limit: Int) throws -> [[SQLContent]] {
    let places = statement.columns.indices.map { Int32($0) }
    var rows: [[SQLContent]] = []
    var byteCount = 0
    while try statement.step() {
      let row = places.map { statement.content($0) }
      byteCount += row.reduce(16) { $0 + $1.1 + 16 }
      guard rows.count < limit, byteCount <= RecordSQL.maximumAnswerBytes else {
        throw StoreError(
          .tooLarge,
          "the answer has more than \(limit) rows or \(RecordSQL.maximumAnswerBytes) bytes: use "
            + "LIMIT, or a higher limit of rows")
      }
      rows.append(row.map(\.0))
    }
    return rows
  }

  // MARK: Views

  /// The derived tables with rows of a zone that are out of date.
  private func staleTables(in zone: Int64) throws -> [DerivedTable] {
    try derived.filter { table in
      let statement = try connection.statement(table.selectStale())
      try statement.bind(zone)
      defer { statement.reset() }
      return try statement.step()
    }
  }

  /// Makes the views show a zone, and returns its number.
  private func show(_ zone: ZoneID) throws -> Int64 {
    guard let number = try one("SELECT number FROM hearth_zones WHERE id = ?", zone) else {
      throw StoreError(.notFound, "zone \(zone.hex) is not in this node's database")
    }
    let shape = try one("PRAGMA schema_version") ?? 0
    if let shown, shown == (number, shape) { return number }
    shown = nil
    for view in views { try connection.execute("DROP VIEW IF EXISTS temp.\(view)") }
    views = []
    let tables = try SchemaRegistry(connection: connection).tables()
    for source in QueryTable.all(lookups, in: tables) { try create(source, zone: number) }
    for table in derived {
      let inner = "\(RecordSQL.ownPrefix)view_of_\(table.name)"
      try add(inner, table.select(zone: number))
      try add(TypeTable.quoted(table.name), "SELECT * FROM temp.\(inner)")
    }
    for name in try otherTables() { try add(TypeTable.quoted(name), "SELECT NULL WHERE 0") }
    shown = (number, shape)
    return number
  }

  private func create(_ source: QueryTable, zone: Int64) throws {
    let type = source.lookups.type
    guard let declared = schema.first(where: { $0.id == type }) else { return }
    let columns = try declared.fields.map { field in
      let name = TypeTable.quoted(field.name)
      let content = try source.expression(.field(field.id))
      return field.id.kind == .set ? "ifnull(\(content), '[]') AS \(name)" : "\(content) AS \(name)"
    }
    let inner = "\(RecordSQL.ownPrefix)view_\(type.rawValue)"
    try add(
      inner,
      "SELECT \((["id"] + columns).joined(separator: ", ")) FROM "
        + "main.\(TypeTable.quoted(source.table.schema.name)) WHERE zone = \(zone) AND alive = 1")
    try add(TypeTable.quoted(declared.name), "SELECT * FROM temp.\(inner)")
  }

  private func add(_ name: String, _ select: String) throws {
    try connection.execute("CREATE TEMP VIEW \(name) AS \(select)")
    views.append(name)
  }

  /// The tables that no view hides yet; their names must lead nowhere.
  private func otherTables() throws -> [String] {
    let statement = try connection.statement(
      """
      SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%'
        ESCAPE '\\' AND name NOT IN (SELECT name FROM sqlite_temp_master) ORDER BY name
      """)
    var names: [String] = []
    while try statement.step() { names.append(statement.text(0)) }
    return names.filter { !$0.hasPrefix(RecordSQL.ownPrefix) }
  }

  private func one(_ sql: String, _ zone: ZoneID? = nil) throws -> Int64? {
    let statement = try connection.statement(sql)
    defer { statement.reset() }
    if let zone { try statement.bind(zone) }
    return try statement.step() ? statement.int(0) : nil
  }

  // MARK: Authorizer

  /// Makes SQLite ask before it compiles anything of a program's statement, and notes what is read.
  private func authorize() {
    readTables.names = []
    sqlite3_set_authorizer(
      connection.handle,
      { noted, action, first, second, database, view in
        guard RecordSQL.mayDo(action, first, second, database, view) else { return SQLITE_DENY }
        if action == SQLITE_READ, let noted, let first {
          let tables = Unmanaged<ReadTables>.fromOpaque(noted).takeUnretainedValue()
          tables.names.insert(String(cString: first))
        }
        return SQLITE_OK
      }, Unmanaged.passUnretained(readTables).toOpaque())
  }

  /// Whether a program's statement may do something, in the terms of SQLite's authorizer.
  private static func mayDo(
    _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
    _ database: UnsafePointer<CChar>?, _ view: UnsafePointer<CChar>?
  ) -> Bool {
    func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
    switch action {
    case SQLITE_SELECT, SQLITE_RECURSIVE: return true
    case SQLITE_FUNCTION:
      return !["load_extension", "fts3_tokenizer"].contains(text(second)?.lowercased())
    case SQLITE_READ:
      let table = text(first)?.lowercased() ?? ""
      if ["json_each", "json_tree"].contains(table) { return true }
      if ["sqlite_", "pragma_"].contains(where: table.hasPrefix) { return false }
      // A table without a used column and without a named database: a view, or a subquery's name.
      guard let database = text(database), database != "temp" else { return true }
      return text(view)?.hasPrefix(ownPrefix) ?? false
    default: return false
    }
  }
}

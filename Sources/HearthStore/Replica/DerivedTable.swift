import HearthCRDT
import HearthSync

/// A projection's table that programs read: its key begins with a group, and orders the rows of it.
package struct DerivedTable: Sendable {
  /// The name in programs' SQL.
  package let name: String
  let projection: String
  let version: Int
  let group: ProjectionTable.Column
  let columns: [ProjectionTable.Column]
  /// The name of the table of the rows in the database.
  let tableName: String
  /// The quoted name of the table of the groups whose rows are out of date.
  private let staleName: String
  private let order: String

  /// - Parameters:
  ///   - name: the name in programs' SQL.
  ///   - projection: what fills the table.
  ///   - table: the table; programs see the columns outside of its key.
  ///   - stale: the table of the groups whose rows are out of date.
  package init?(
    _ name: String, of projection: any Projection, _ table: ProjectionTable, stale: ProjectionTable
  ) {
    guard let group = table.key.first else { return nil }
    self.name = name
    self.projection = projection.name
    version = projection.version
    self.group = group
    columns = table.columns
    tableName = ProjectedTable.name(projection, table)
    staleName = TypeTable.quoted(ProjectedTable.name(projection, stale))
    order = table.key.map { TypeTable.quoted($0.name) }.joined(separator: ", ")
  }

  private var sqlName: String { TypeTable.quoted(tableName) }

  /// The list of the columns that programs see.
  private var list: String {
    columns.map { TypeTable.quoted($0.name) }.joined(separator: ", ")
  }

  /// The statement that reads a zone's rows, for a view.
  func select(zone: Int64) -> String { "SELECT \(list) FROM main.\(sqlName) WHERE zone = \(zone)" }

  /// The statement that reads a zone's rows, or those of a group, in order.
  func select(ofGroup isOfGroup: Bool) -> String {
    "SELECT \(list) FROM \(sqlName) WHERE zone = ?\(condition(isOfGroup)) ORDER BY \(order)"
  }

  /// The statement that finds out whether rows of a zone, or of a group, are out of date.
  func selectStale(ofGroup isOfGroup: Bool = false) -> String {
    "SELECT 1 FROM main.\(staleName) WHERE zone = ?\(condition(isOfGroup)) LIMIT 1"
  }

  private func condition(_ isOfGroup: Bool) -> String {
    isOfGroup ? " AND \(TypeTable.quoted(group.name)) = ?" : ""
  }
}

/// The error that rows of derived tables must be computed before they can be read.
package struct StaleRows: Error {
  /// Rows that a reading needs.
  package struct Need: Sendable {
    package let table: DerivedTable
    /// The group of the rows; nil for all.
    package let group: Value?

    package init(_ table: DerivedTable, inGroup group: Value? = nil) {
      self.table = table
      self.group = group
    }
  }

  /// The rows that were found to be out of date; the reading may need others too.
  package let needs: [Need]

  package init(_ needs: [Need]) {
    self.needs = needs
  }
}

extension SQLiteQueries {
  /// Whether rows of a derived table are out of date: of all groups, or of one.
  ///
  /// - Throws: `schema` if this program did not declare the table when the replica was opened.
  package func isStale(
    _ table: DerivedTable, inGroup group: Value? = nil, in zone: ZoneID
  ) throws -> Bool {
    try connection.run {
      try requireDeclared(table)
      let statement = try statement(
        table.selectStale(ofGroup: group != nil), table, inGroup: group, in: zone)
      defer { statement.reset() }
      return try statement.step()
    }
  }

  /// Returns the rows of a derived table in order: of all groups, or of one.
  ///
  /// - Throws: `schema` if this program did not declare the table when the replica was opened.
  package func rows(
    of table: DerivedTable, inGroup group: Value? = nil, in zone: ZoneID
  ) throws -> [[Value]] {
    try connection.run {
      try requireDeclared(table)
      let statement = try statement(
        table.select(ofGroup: group != nil), table, inGroup: group, in: zone)
      return try ColumnCodec.rows(of: statement, as: table.columns.lazy.map(\.type))
    }
  }

  private func requireDeclared(_ table: DerivedTable) throws {
    let version = try connection.statement(
      "SELECT version FROM hearth_projections WHERE name = ?")
    try version.bind(table.projection)
    defer { version.reset() }
    guard try version.step(), version.int(0) == Int64(table.version) else {
      throw StoreError(
        .schema, "the derived table \(table.name) is not one of the application's declarations")
    }
  }

  private func statement(
    _ sql: String, _ table: DerivedTable, inGroup group: Value?, in zone: ZoneID
  ) throws -> Statement {
    let statement = try connection.statement(sql)
    try statement.bind(try zones.recordNumber(of: zone))
    if let group { try ColumnCodec.bind(group, as: table.group.type, to: statement) }
    return statement
  }
}

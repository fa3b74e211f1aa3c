import HearthCRDT
import HearthSync

/// A projection's table in the database, with the SQL of its statements.
///
/// The texts are built once, because every completed chore runs a dozen of them.
struct ProjectedTable {
  let shape: ProjectionTable
  /// The key's columns, then the others.
  let columns: [ProjectionTable.Column]
  /// The number of key columns.
  let keys: Int
  /// The quoted table name.
  let sqlName: String
  /// Inserts a row of all columns, or replaces the one with the same key.
  let insert: String
  /// At index n: reads rows by their first n key columns, in the key's order.
  let selects: [String]
  /// Reads all rows of a zone in the order of the first index, or else of the key.
  ///
  /// Rows that are written in order of time touch few pages of indexes by subject and time.
  let selectForWriting: String
  /// At index n: removes rows by their first n key columns.
  let deletes: [String]

  var name: String { shape.name }

  init(_ projection: any Projection, _ table: ProjectionTable) {
    shape = table
    columns = table.key + table.columns
    keys = table.key.count
    let name = TypeTable.quoted(ProjectedTable.name(projection, table))
    sqlName = name
    let quoted = columns.map { TypeTable.quoted($0.name) }
    let list = quoted.joined(separator: ", ")
    let marks = String(repeating: ", ?", count: columns.count)
    insert = "INSERT OR REPLACE INTO \(name)(zone, \(list)) VALUES(?\(marks))"
    let order = quoted.prefix(keys).joined(separator: ", ")
    let conditions = (0...keys).map { count in
      "WHERE zone = ?" + quoted.prefix(count).map { " AND \($0) = ?" }.joined()
    }
    selects = conditions.map { "SELECT \(list) FROM \(name) \($0) ORDER BY \(order)" }
    let first = table.indexes.first.map { $0.map(TypeTable.quoted).joined(separator: ", ") + ", " }
    selectForWriting = "SELECT \(list) FROM \(name) WHERE zone = ? ORDER BY \(first ?? "")\(order)"
    deletes = conditions.map { "DELETE FROM \(name) \($0)" }
  }

  /// The name of a table in the database.
  static func name(_ projection: any Projection, _ table: ProjectionTable) -> String {
    "\(projection.name)_\(table.name)"
  }

  /// The name of an index in the database.
  static func indexName(
    _ projection: any Projection, _ table: ProjectionTable, _ columns: [String]
  ) -> String {
    "\(name(projection, table))_by_\(columns.joined(separator: "_"))"
  }

  /// The statements that create a table with its indexes.
  ///
  /// - Parameter isTemporary: whether it is in the connection's memory, where it hides a table of
  ///   the same name in the file.
  static func create(
    _ projection: any Projection, _ table: ProjectionTable, isTemporary: Bool = false
  ) -> [String] {
    let columns = (table.key + table.columns).map { column in
      let storage =
        switch column.type {
        case .bool, .int: "INTEGER"
        case .text: "TEXT"
        case .bytes: "BLOB"
        }
      return ", \(TypeTable.quoted(column.name)) \(storage)"
    }
    let key = table.key.map { ", " + TypeTable.quoted($0.name) }.joined()
    let name = TypeTable.quoted(name(projection, table))
    let place = isTemporary ? "temp." : ""
    let indexes = table.indexes.map { columns in
      let list = columns.map { ", " + TypeTable.quoted($0) }.joined()
      let index = TypeTable.quoted(indexName(projection, table, columns))
      return "CREATE INDEX \(place)\(index) ON \(name)(zone\(list))"
    }
    return [
      """
      CREATE TABLE \(place)\(name)(
        zone INTEGER NOT NULL\(columns.joined()), PRIMARY KEY(zone\(key))) WITHOUT ROWID
      """
    ] + indexes
  }
}

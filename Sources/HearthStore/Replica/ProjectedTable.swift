import HearthCRDT
import HearthSync

/// A projection's table in the database, with the texts of its statements: they are built once, as
/// every completed chore runs a dozen of them.
struct ProjectedTable {
  let shape: ProjectionTable
  /// The key's columns, then the others.
  let columns: [ProjectionTable.Column]
  /// How many of the columns are the key.
  let keys: Int
  /// The table's name in quotes.
  let sqlName: String
  /// Puts a row of all columns in the place of one with the same key.
  let insert: String
  /// Reads rows by their first n key columns, in the key's order; n is the place.
  let selects: [String]
  /// Removes rows by their first n key columns; n is the place.
  let deletes: [String]

  var name: String { shape.name }

  init(_ projection: any Projection, _ table: ProjectionTable) {
    shape = table
    columns = table.key + table.columns
    keys = table.key.count
    let name = TypeTable.quoted(ReplicaStore.tableName(projection, table))
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
    deletes = conditions.map { "DELETE FROM \(name) \($0)" }
  }
}

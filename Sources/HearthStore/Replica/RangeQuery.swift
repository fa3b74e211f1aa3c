import HearthCRDT
import HearthSync

/// The parts of a range that determine the text of its query.
struct RangeShape: Hashable {
  /// The quoted table name.
  let table: String
  let order: [String]
  /// The number of given columns, and the number that define the start position.
  let prefix: Int
  let from: Int
  let isExclusive: Bool
  let isDescending: Bool
  let isCount: Bool

  /// The query; its parameters are the zone, the prefix, the start position and the limit.
  func sql(_ table: ProjectionTable, index: String?) -> String {
    let names = order.map(TypeTable.quoted)
    let columns = (table.key + table.columns).map { TypeTable.quoted($0.name) }
    var sql = "SELECT \(isCount ? "count(*)" : columns.joined(separator: ", ")) FROM \(self.table)"
    if let index { sql += " INDEXED BY \(TypeTable.quoted(index))" }
    sql += " WHERE zone = ?"
    for name in names.prefix(prefix) { sql += " AND \(name) IS ?" }
    if from > 0 {
      let place = names.dropFirst(prefix).prefix(from).joined(separator: ", ")
      let marks = repeatElement("?", count: from).joined(separator: ", ")
      let sign = (isDescending ? "<" : ">") + (isExclusive ? "" : "=")
      sql += " AND (\(place)) \(sign) (\(marks))"
    }
    guard !isCount else { return sql }
    let direction = isDescending ? " DESC" : ""
    let ordered = names.map { $0 + direction }.joined(separator: ", ")
    return sql + " ORDER BY \(ordered) LIMIT ?"
  }
}

/// The text of a range query, and the types of its parameters.
struct RangeQuery {
  let sql: String
  let types: [FieldType]
}

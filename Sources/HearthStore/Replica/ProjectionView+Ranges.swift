import HearthCRDT
import HearthMembership
import HearthSync

/// The membership of a view's group, folded on first use.
final class GroupMemory {
  fileprivate var membership: Membership?
}

extension ProjectionView {
  func rows(of name: String, in range: RowRange) throws -> [[Value]] {
    let table = try table(name)
    let statement = try statement(table, range, isCount: false)
    try statement.bind(Int64(range.limit ?? -1))
    return try rows(statement, table.columns)
  }

  func count(of name: String, in range: RowRange) throws -> Int {
    let limit = range.limit ?? Int.max
    let statement = try statement(try table(name), range, isCount: true)
    guard try statement.step() else { return 0 }
    let count = min(Int(statement.int(0)), limit)
    statement.reset()
    return count
  }

  /// Prepares the query of a range, with its values bound.
  private func statement(
    _ table: ProjectedTable, _ range: RowRange, isCount: Bool
  ) throws -> Statement {
    let shape = RangeShape(
      table: table.sqlName, order: range.order, prefix: range.prefix.count,
      from: range.from.count, isExclusive: range.isExclusive, isDescending: range.isDescending,
      isCount: isCount)
    let query = try store.query(shape) {
      let columns = try range.order.map { name in
        guard let column = table.columns.first(where: { $0.name == name }) else {
          throw StoreError(.schema, "table \(table.name) has no column \(name)")
        }
        return column
      }
      let places = columns.prefix(shape.prefix + shape.from)
      return RangeQuery(
        sql: shape.sql(table.shape, index: index(of: table.shape, for: range)),
        types: places.map(\.type))
    }
    let statement = try store.connection.statement(query.sql)
    try statement.bind(number)
    for (value, type) in zip(range.prefix + range.from, query.types) {
      try ColumnCodec.bind(value, as: type, to: statement)
    }
    return statement
  }

  /// The index with the range's order; nil if the key has it.
  ///
  /// Without a hint, the planner follows the primary key where all columns of an index are given,
  /// because the key has the order of the remaining columns. It then reads the whole zone.
  private func index(of table: ProjectionTable, for range: RowRange) -> String? {
    let key = table.key.map(\.name)
    guard !key.starts(with: range.order) else { return nil }
    return table.indexes.first { ($0 + key).starts(with: range.order) }
      .map { ReplicaStore.indexName(projection, table, $0) }
  }

  func member(of device: DeviceID) throws -> Membership.Person? {
    try membership().person(of: device)
  }

  private func membership() throws -> Membership {
    if let known = group.membership { return known }
    let zones = try store.zones()
    var membership = Membership()
    if let own = zones.first(where: { $0.id == zone })?.group,
      let control = zones.first(where: { $0.group == own && $0.kind == .control })
    {
      membership = Membership(
        group: own, events: try store.events(of: ControlOperation.type, in: control.id),
        known: store.lastMemberships[own])
      store.lastMemberships[own] = membership
    }
    group.membership = membership
    return membership
  }
}

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
  fileprivate func sql(_ table: ProjectionTable, index: String?) -> String {
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

/// A projection without rows, for reading a zone's records through the same view.
private struct NoProjection: Projection {
  let name = "none"
  let version = 1
  let tables: [ProjectionTable] = []
  let types: [TypeID] = []

  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {}
}

extension ReplicaStore {
  /// Returns a view of a zone's records, and of the first projection's rows.
  package func source(of zone: ZoneID) throws -> any ProjectionSource {
    try ProjectionView(projections.first ?? NoProjection(), store: self, zone: zone)
  }
}

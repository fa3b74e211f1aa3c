import HearthCRDT
import HearthSync

/// The membership of a view's group, folded when first asked for.
final class GroupMemory {
  fileprivate var membership: Membership?
}

extension ProjectionView {
  func rows(of name: String, in range: RowRange) throws -> [[Value]] {
    let table = try table(name)
    let columns = table.key + table.columns
    let direction = range.isDescending ? " DESC" : ""
    let order = range.order.map { TypeTable.quoted($0) + direction }.joined(separator: ", ")
    let list = columns.map { TypeTable.quoted($0.name) }.joined(separator: ", ")
    let statement = try statement(
      "SELECT \(list)", table, range, "ORDER BY \(order) LIMIT ?")
    try statement.bind(Int64(range.limit ?? -1))
    return try rows(statement, columns)
  }

  func count(of name: String, in range: RowRange) throws -> Int {
    let limit = range.limit ?? Int.max
    let statement = try statement("SELECT count(*)", try table(name), range, "")
    guard try statement.step() else { return 0 }
    let count = min(Int(statement.int(0)), limit)
    statement.reset()
    return count
  }

  /// A query of the stretch, its values bound.
  private func statement(
    _ selection: String, _ table: ProjectionTable, _ range: RowRange, _ end: String
  ) throws -> Statement {
    let columns = try range.order.map { name in
      guard let column = (table.key + table.columns).first(where: { $0.name == name }) else {
        throw StoreError(.schema, "table \(table.name) has no column \(name)")
      }
      return column
    }
    let prefix = columns.prefix(range.prefix.count)
    let place = columns.dropFirst(range.prefix.count).prefix(range.from.count)
    var sql = "\(selection) FROM \(sqlName(table)) WHERE zone = ?"
    for column in prefix { sql += " AND \(TypeTable.quoted(column.name)) IS ?" }
    if !place.isEmpty {
      let names = place.map { TypeTable.quoted($0.name) }.joined(separator: ", ")
      let marks = place.map { _ in "?" }.joined(separator: ", ")
      let sign = (range.isDescending ? "<" : ">") + (range.isExclusive ? "" : "=")
      sql += " AND (\(names)) \(sign) (\(marks))"
    }
    let statement = try store.connection.statement("\(sql) \(end)")
    try statement.bind(number)
    for (value, column) in zip(range.prefix + range.from, Array(prefix) + Array(place)) {
      try ColumnCodec.bind(value, as: column.type, to: statement)
    }
    return statement
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
        group: own, events: try store.events(of: ControlOperation.type, in: control.id))
    }
    group.membership = membership
    return membership
  }
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
  /// A view of a zone's records, and of the first projection's rows.
  package func source(of zone: ZoneID) throws -> any ProjectionSource {
    try ProjectionView(projections.first ?? NoProjection(), store: self, zone: zone)
  }
}

import HearthCRDT
import HearthMembership
import HearthSync

extension ProjectionView {
  func rows(of name: String, in range: RowRange) throws -> [[Value]] {
    let table = try table(name)
    let statement = try statement(table, range, isCount: false)
    try statement.bind(Int64(range.limit ?? -1))
    return try ColumnCodec.rows(of: statement, as: table.columns.lazy.map(\.type))
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
    let query = try cache.query(shape) {
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
    let statement = try cache.connection.statement(query.sql)
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
      .map { ProjectedTable.indexName(projection, table, $0) }
  }

  func member(of device: DeviceID) throws -> Member? {
    try membership().person(of: device)
  }

  private func membership() throws -> Membership {
    if let known = group.membership { return known }
    let membership = try cache.membership(around: zone)
    group.membership = membership
    return membership
  }
}

/// A projection without rows, for reading a zone's records through the same view.
struct NoProjection: Projection {
  let name = "none"
  let version = 1
  let tables: [ProjectionTable] = []
  let types: [TypeID] = []

  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {}
}

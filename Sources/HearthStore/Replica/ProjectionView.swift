import HearthCRDT
import HearthSync

/// One projection's view of one zone, within a transaction.
struct ProjectionView: ProjectionSource, ProjectionWriter {
  let zone: ZoneID
  let projection: any Projection
  let cache: ProjectionCache
  let number: Int64
  let group = GroupMemory()
  private let tables: [ProjectedTable]

  init(_ projection: any Projection, cache: ProjectionCache, zone: ZoneID) throws {
    self.projection = projection
    self.cache = cache
    self.zone = zone
    number = try cache.zones.recordNumber(of: zone)
    tables = cache.tables(of: projection)
  }

  func table(_ name: String) throws -> ProjectedTable {
    guard let table = tables.first(where: { $0.name == name }) else {
      throw StoreError(.schema, "projection \(projection.name) has no table \(name)")
    }
    return table
  }

  // MARK: Reading

  func record(_ key: RecordKey) throws -> RecordState? {
    guard case .record(let state) = try cache.records.record(key, in: zone) else { return nil }
    return state
  }

  func event(_ key: RecordKey) throws -> EventState? {
    guard case .event(let event) = try cache.records.record(key, in: zone) else { return nil }
    return event
  }

  func ids(of type: TypeID, where field: FieldID, is value: Value) throws -> [RecordID] {
    guard let table = cache.records.tables[type], let place = table.place(of: field) else {
      return []
    }
    let column = table.columns[place]
    let statement = try cache.connection.statement(table.selectIDsByColumn[place])
    try statement.bind(number)
    try ColumnCodec.bind(value, as: column.type, to: statement)
    var ids: [RecordID] = []
    while try statement.step() { ids.append(try statement.identifier(0)) }
    return ids
  }

  func ids(of type: TypeID) throws -> [RecordID] {
    guard let table = cache.records.tables[type] else { return [] }
    let statement = try cache.connection.statement(table.selectIDs)
    try statement.bind(number)
    var ids: [RecordID] = []
    while try statement.step() { ids.append(try statement.identifier(0)) }
    return ids
  }

  /// The first ids of a type after a record, in order.
  func ids(of type: TypeID, after last: RecordID?, atMost count: Int) throws -> [RecordID] {
    guard let table = cache.records.tables[type] else { return [] }
    let statement = try cache.connection.statement(table.selectNextIDs)
    try statement.bind(number).bind(last?.bytes ?? []).bind(count)
    var ids: [RecordID] = []
    while try statement.step() { ids.append(try statement.identifier(0)) }
    return ids
  }

  func shown(_ fields: [FieldID], of type: TypeID) throws -> [(id: RecordID, values: [Value])] {
    guard let table = cache.records.tables[type] else { return [] }
    let places = fields.compactMap { table.place(of: $0) }
    precondition(places.count == fields.count, "the fields \(fields) of \(type) have columns")
    let statement = try cache.connection.statement(table.selectShown(places))
    try statement.bind(number)
    var rows: [(id: RecordID, values: [Value])] = []
    while try statement.step() {
      let values = try places.enumerated().map { position, place in
        try ColumnCodec.value(
          in: Int32(position + 1), as: table.columns[place].type, of: statement)
      }
      rows.append((try statement.identifier(0), values))
    }
    return rows
  }

  func rows(of name: String, where key: [Value]) throws -> [[Value]] {
    let table = try table(name)
    let statement = try cache.connection.statement(table.selects[min(key.count, table.keys)])
    try statement.bind(number)
    for (value, column) in zip(key, table.columns.prefix(table.keys)) {
      try ColumnCodec.bind(value, as: column.type, to: statement)
    }
    return try ColumnCodec.rows(of: statement, as: table.columns.lazy.map(\.type))
  }

  // MARK: Writing

  func put(_ row: [Value], in name: String) throws {
    let table = try table(name)
    precondition(
      row.count == table.columns.count, "a row of \(name) has \(table.columns.count) values")
    let statement = try cache.connection.statement(table.insert)
    try statement.bind(number)
    for (value, column) in zip(row, table.columns) {
      try ColumnCodec.bind(value, as: column.type, to: statement)
    }
    try statement.execute()
  }

  func remove(from name: String, where key: [Value]) throws {
    let table = try table(name)
    let statement = try cache.connection.statement(table.deletes[min(key.count, table.keys)])
    try statement.bind(number)
    for (value, column) in zip(key, table.columns.prefix(table.keys)) {
      try ColumnCodec.bind(value, as: column.type, to: statement)
    }
    try statement.execute()
  }

  func add(_ amounts: [Int64], toRow key: [Value], in name: String) throws {
    let table = try table(name)
    precondition(
      amounts.count == table.columns.count - table.keys && key.count == table.keys,
      "amounts and key must fill a row of \(name)")
    let present = try rows(of: name, where: key).first?.suffix(amounts.count)
    let sums = amounts.enumerated().map { place, amount in
      let old = present.flatMap { $0[$0.startIndex + place].int } ?? 0
      return Value.int(old &+ amount)
    }
    if sums.allSatisfy({ $0 == .int(0) }) {
      try remove(from: name, where: key)
    } else {
      try put(key + sums, in: name)
    }
  }
}

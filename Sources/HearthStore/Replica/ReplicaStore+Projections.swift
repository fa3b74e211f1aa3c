import HearthCRDT
import HearthMembership
import HearthSync

extension ReplicaStore {
  /// Creates the tables of projections, and rebuilds one whose version has changed.
  ///
  /// A projection that this program does not maintain becomes stale with the next write. It is
  /// marked, so that a program that maintains it rebuilds it.
  func prepareProjections() throws {
    try forgetOtherProjections()
    for projection in projections {
      let statement = try connection.statement(
        "SELECT version FROM hearth_projections WHERE name = ?")
      try statement.bind(projection.name)
      let present = try statement.step() ? statement.int(0) : nil
      statement.reset()
      guard present != Int64(projection.version) else { continue }
      for table in projection.tables {
        let name = ReplicaStore.tableName(projection, table)
        try connection.execute("DROP TABLE IF EXISTS \(TypeTable.quoted(name))")
        try connection.execute(ReplicaStore.create(projection, table))
        for columns in table.indexes {
          let list = columns.map { ", " + TypeTable.quoted($0) }.joined()
          let index = ReplicaStore.indexName(projection, table, columns)
          try connection.execute(
            "CREATE INDEX \(TypeTable.quoted(index)) ON \(TypeTable.quoted(name))(zone\(list))")
        }
      }
      connection.forgetStatements()
      for zone in zoneNumbers.keys.sorted() { try rebuild(projection, in: zone) }
      try connection.statement(
        "INSERT OR REPLACE INTO hearth_projections(name, version) VALUES(?, ?)"
      )
      .bind(projection.name).bind(projection.version).execute()
    }
  }

  private func forgetOtherProjections() throws {
    let statement = try connection.statement("SELECT name FROM hearth_projections")
    var others: [String] = []
    while try statement.step() { others.append(statement.text(0)) }
    for name in others where !projections.contains(where: { $0.name == name }) {
      try connection.statement("DELETE FROM hearth_projections WHERE name = ?")
        .bind(name).execute()
    }
  }

  package func updateProjections(for keys: [RecordKey], in zone: ZoneID) throws {
    if keys.contains(where: { $0.type == ControlOperation.type }) {
      try judgeAuthorsAnew(besides: zone)
    }
    for projection in projections {
      let types = projection.types
      let wanted = keys.filter { types.contains($0.type) }
      guard !wanted.isEmpty else { continue }
      let view = try ProjectionView(projection, store: self, zone: zone)
      try projection.update(wanted, from: view, to: view)
    }
  }

  /// Updates everything that depends on the members of a control zone's group.
  private func judgeAuthorsAnew(besides control: ZoneID) throws {
    let zones = try zones()
    let group = zones.first { $0.id == control }?.group
    for zone in zones where zone.group == group && zone.kind != .control {
      for projection in projections {
        let view = try ProjectionView(projection, store: self, zone: zone.id)
        try projection.judgeAnew(from: view, to: view)
      }
    }
  }

  /// Drops a projection's rows of a zone and computes them from the records.
  private func rebuild(_ projection: any Projection, in zone: ZoneID) throws {
    let number = try number(of: zone)
    for table in projection.tables {
      try connection.execute(
        "DELETE FROM \(TypeTable.quoted(ReplicaStore.tableName(projection, table))) "
          + "WHERE zone = \(number)")
    }
    let view = try ProjectionView(projection, store: self, zone: zone)
    var keys: [RecordKey] = []
    for type in projection.types {
      keys += try view.ids(of: type).map { RecordKey(type: type, id: $0) }
    }
    if !keys.isEmpty { try projection.update(keys, from: view, to: view) }
  }

  /// Rebuilds every projection of a zone.
  package func rebuildProjections(of zone: ZoneID) throws {
    try transaction {
      for projection in projections { try rebuild(projection, in: zone) }
    }
  }

  /// Compares every projection of a zone with a rebuild, without keeping the rebuild.
  ///
  /// - Returns: the names of the tables whose rows differ.
  package func staleProjections(of zone: ZoneID) throws -> [String] {
    struct Undo: Error {}
    var stale: [String] = []
    do {
      try transaction {
        let before = try projectionRows(of: zone)
        for projection in projections { try rebuild(projection, in: zone) }
        let after = try projectionRows(of: zone)
        stale = before.keys.sorted().filter { before[$0] != after[$0] }
        throw Undo()
      }
    } catch is Undo {}
    return stale
  }

  private func projectionRows(of zone: ZoneID) throws -> [String: [[Value]]] {
    var result: [String: [[Value]]] = [:]
    for projection in projections {
      let view = try ProjectionView(projection, store: self, zone: zone)
      for table in projection.tables {
        result[ReplicaStore.tableName(projection, table)] = try view.rows(
          of: table.name, where: [])
      }
    }
    return result
  }

  func removeProjectionRows(of zone: Int64) throws {
    for projection in projections {
      for table in projection.tables {
        try connection.execute(
          "DELETE FROM \(TypeTable.quoted(ReplicaStore.tableName(projection, table))) "
            + "WHERE zone = \(zone)")
      }
    }
  }

  static func tableName(_ projection: any Projection, _ table: ProjectionTable) -> String {
    "\(projection.name)_\(table.name)"
  }

  static func indexName(
    _ projection: any Projection, _ table: ProjectionTable, _ columns: [String]
  ) -> String {
    "\(tableName(projection, table))_by_\(columns.joined(separator: "_"))"
  }

  private static func create(_ projection: any Projection, _ table: ProjectionTable) -> String {
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
    return """
      CREATE TABLE \(TypeTable.quoted(tableName(projection, table)))(
        zone INTEGER NOT NULL\(columns.joined()), PRIMARY KEY(zone\(key))) WITHOUT ROWID
      """
  }

  /// Returns the rows of a projection's table whose first key columns equal the values.
  package func projectedRows(
    of projection: String, _ table: String, where key: [Value], in zone: ZoneID
  ) throws -> [[Value]] {
    guard let found = projections.first(where: { $0.name == projection }) else {
      throw StoreError(.schema, "there is no projection named \(projection)")
    }
    return try connection.run { _ in
      try ProjectionView(found, store: self, zone: zone).rows(of: table, where: key)
    }
  }
}

/// One projection's view of one zone, within a transaction.
struct ProjectionView: ProjectionSource, ProjectionWriter {
  let zone: ZoneID
  let projection: any Projection
  let store: ReplicaStore
  let number: Int64
  let group = GroupMemory()
  private let tables: [ProjectedTable]

  init(_ projection: any Projection, store: ReplicaStore, zone: ZoneID) throws {
    self.projection = projection
    self.store = store
    self.zone = zone
    number = try store.number(of: zone)
    tables = store.tables(of: projection)
  }

  func table(_ name: String) throws -> ProjectedTable {
    guard let table = tables.first(where: { $0.name == name }) else {
      throw StoreError(.schema, "projection \(projection.name) has no table \(name)")
    }
    return table
  }

  // MARK: Reading

  func record(_ key: RecordKey) throws -> RecordState? {
    guard case .record(let state) = try store.record(key, in: zone) else { return nil }
    return state
  }

  func event(_ key: RecordKey) throws -> EventState? {
    guard case .event(let event) = try store.record(key, in: zone) else { return nil }
    return event
  }

  func ids(of type: TypeID, where field: FieldID, is value: Value) throws -> [RecordID] {
    guard let table = store.tables[type], let place = table.place(of: field) else { return [] }
    let column = table.columns[place]
    let statement = try store.connection.statement(table.selectIDsByColumn[place])
    try statement.bind(number)
    try ColumnCodec.bind(value, as: column.type, to: statement)
    var ids: [RecordID] = []
    while try statement.step() { ids.append(try statement.identifier(0)) }
    return ids
  }

  func ids(of type: TypeID) throws -> [RecordID] {
    guard let table = store.tables[type] else { return [] }
    let statement = try store.connection.statement(table.selectIDs)
    try statement.bind(number)
    var ids: [RecordID] = []
    while try statement.step() { ids.append(try statement.identifier(0)) }
    return ids
  }

  func shown(_ fields: [FieldID], of type: TypeID) throws -> [(id: RecordID, values: [Value])] {
    guard let table = store.tables[type] else { return [] }
    let places = fields.compactMap { table.place(of: $0) }
    precondition(places.count == fields.count, "the fields \(fields) of \(type) have columns")
    let statement = try store.connection.statement(table.selectShown(places))
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
    let statement = try store.connection.statement(table.selects[min(key.count, table.keys)])
    try statement.bind(number)
    for (value, column) in zip(key, table.columns.prefix(table.keys)) {
      try ColumnCodec.bind(value, as: column.type, to: statement)
    }
    return try rows(statement, table.columns)
  }

  func rows(_ statement: Statement, _ columns: [ProjectionTable.Column]) throws -> [[Value]] {
    var rows: [[Value]] = []
    while try statement.step() {
      rows.append(
        try columns.enumerated().map { place, column in
          try ColumnCodec.value(in: Int32(place), as: column.type, of: statement)
        })
    }
    return rows
  }

  // MARK: Writing

  func put(_ row: [Value], in name: String) throws {
    let table = try table(name)
    precondition(
      row.count == table.columns.count, "a row of \(name) has \(table.columns.count) values")
    let statement = try store.connection.statement(table.insert)
    try statement.bind(number)
    for (value, column) in zip(row, table.columns) {
      try ColumnCodec.bind(value, as: column.type, to: statement)
    }
    try statement.execute()
  }

  func remove(from name: String, where key: [Value]) throws {
    let table = try table(name)
    let statement = try store.connection.statement(table.deletes[min(key.count, table.keys)])
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

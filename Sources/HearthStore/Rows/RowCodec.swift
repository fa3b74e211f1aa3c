import HearthCRDT
import HearthSync

/// The author numbers of this database, shared by all code that reads and writes `meta`.
final class AuthorNumbers {
  private(set) var table = AuthorTable()
  private let connection: Connection

  init(connection: Connection) throws {
    self.connection = connection
    try reload()
  }

  /// Reads the numbers again, after an undone transaction that may have added to them.
  func reload() throws {
    var authors: [Author] = []
    let statement = try connection.statement(
      "SELECT number, device, incarnation FROM hearth_authors ORDER BY number")
    defer { statement.reset() }
    while try statement.step() {
      guard statement.int(0) == Int64(authors.count) else {
        throw StoreError(
          .corrupt,
          "the list of authors in the node's database is damaged: keep a copy of the home folder, "
            + "then join again")
      }
      authors.append(
        Author(device: try statement.identifier(1), incarnation: statement.uint(2)))
    }
    table = AuthorTable(authors)
  }

  /// Assigns numbers to new authors.
  func learn(_ authors: [Author]) throws {
    for author in authors where !table.contains(author) {
      try connection.statement(
        "INSERT INTO hearth_authors(number, device, incarnation) VALUES(?, ?, ?)"
      )
      .bind(table.authors.count).bind(author.device).bind(author.incarnation).execute()
      table.add(author)
    }
  }
}

/// Moves record states between memory and the rows of one type's table.
struct RowCodec {
  let table: TypeTable
  let connection: Connection
  let authors: AuthorNumbers

  private var values: RecordState.Values {
    let table = table
    return .exceptShown { table.isColumn($0) }
  }

  // MARK: Reading

  /// Returns a record's state without the values in its columns; nil if there is no row.
  func partialState(of id: RecordID, zone: Int64) throws -> RecordState? {
    let statement = try connection.statement(table.selectMeta)
    try statement.bind(zone).bind(id)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return try decodeState(statement.blob(0))
  }

  /// Returns a record or event with all its values; nil if there is no row.
  func record(_ id: RecordID, zone: Int64) throws -> StoredRecord? {
    let statement = try connection.statement(table.selectRow)
    try statement.bind(zone).bind(id)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return try record(in: statement)
  }

  /// Visits every row of a zone in order of id.
  func forEach(
    zone: Int64, _ body: (RecordKey, StoredRecord) throws -> Void
  ) throws {
    let statement = try connection.statement(table.selectRows)
    try statement.bind(zone)
    defer { statement.reset() }
    while try statement.step() {
      let key = RecordKey(type: table.schema.id, id: try statement.identifier(0))
      try body(key, try record(in: statement))
    }
  }

  /// Decodes a row of (id, meta, columns).
  func record(in statement: Statement) throws -> StoredRecord {
    if table.schema.id.isEvent { return .event(try event(in: statement)) }
    var state = try decodeState(statement.blob(1))
    var read: UInt64 = 0
    try state.supplyEach { field in
      guard let place = table.place(of: field) else { return nil }
      read |= 1 << UInt64(place)
      return try ColumnCodec.value(
        in: Int32(place + 2), as: table.columns[place].type, of: statement)
    }
    // Damage in the column of a field without a value is told too.
    for (place, column) in table.columns.enumerated()
    where read & 1 << UInt64(place) == 0 && column.id.kind == .register {
      _ = try ColumnCodec.value(in: Int32(place + 2), as: column.type, of: statement)
    }
    return .record(state)
  }

  private func event(in statement: Statement) throws -> EventState {
    let meta = statement.blob(1)
    let event = try rethrowing {
      var reader = ByteReader(meta)
      let event = try EventState(
        from: &reader, authors: authors.table, type: table.schema.id)
      try reader.finish()
      return event
    }
    var fields = event.fields
    for (place, column) in table.columns.enumerated() {
      let value = try ColumnCodec.value(in: Int32(place + 2), as: column.type, of: statement)
      if value != .null { fields.append(EventField(column.id, value)) }
    }
    return EventState(
      version: event.version, cause: event.cause, fields: fields.sorted { $0.field < $1.field })
  }

  private func decodeState(_ meta: [UInt8]) throws -> RecordState {
    try rethrowing {
      var reader = ByteReader(meta)
      let state = try RecordState(from: &reader, authors: authors.table, values: values)
      try reader.finish()
      return state
    }
  }

  private func rethrowing<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as CodecError {
      throw StoreError(
        .corrupt, "a row of table \(table.schema.name) is damaged: \(error)", cause: error)
    }
  }

  // MARK: Writing

  func insert(_ record: StoredRecord, key: RecordKey, zone: Int64) throws {
    let statement = try connection.statement(table.insert)
    try statement.bind(zone).bind(key.id)
    switch record {
    case .record(let state):
      try statement.bind(state.life.isDeleted ? 0 : 1).bind(meta(of: state))
      for column in table.columns { try bind(state, column, to: statement) }
    case .event(let event):
      try statement.bind(1).bind(meta(of: event))
      for column in table.columns {
        let value = event[column.id]
        if isShown(value, in: column) {
          try ColumnCodec.bind(value, as: column.type, to: statement)
        } else {
          try statement.bindNull()
        }
      }
    }
    try statement.execute()
  }

  /// Writes a row's incarnation and `meta`, and the columns whose values are available.
  func update(_ state: RecordState, key: RecordKey, zone: Int64) throws {
    var mask: UInt64 = 0
    for entry in state.entries {
      guard let place = table.place(of: entry.id) else { continue }
      if case .register(let register) = entry.field, register.isPartial { continue }
      mask |= 1 << UInt64(place)
    }
    let statement = try connection.queryStatement(table.update(mask))
    try statement.bind(state.life.isDeleted ? 0 : 1).bind(meta(of: state))
    for (place, column) in table.columns.enumerated() where mask & 1 << UInt64(place) != 0 {
      try bind(state, column, to: statement)
    }
    try statement.bind(zone).bind(key.id).execute()
  }

  func delete(key: RecordKey, zone: Int64) throws {
    try connection.statement(
      "DELETE FROM \(TypeTable.quoted(table.schema.name)) WHERE zone = ? AND id = ?"
    )
    .bind(zone).bind(key.id).execute()
  }

  private func bind(
    _ state: RecordState, _ column: FieldSchema, to statement: Statement
  ) throws {
    if case .set(let set) = state[column.id] {
      // In JSON, bytes look like a text, and a truth value like a number to queries: an element of
      // another type could pass for one that nobody added.
      let elements = set.values.filter { $0 == .null || isShown($0, in: column) }
      try statement.bind(ColumnCodec.json(elements))
      return
    }
    let type = column.id.kind == .counter ? .int : column.type
    try ColumnCodec.bind(state.shown(column.id) ?? .null, as: type, to: statement)
  }

  private func meta(of state: RecordState) -> [UInt8] {
    var writer = ByteWriter(capacity: 96)
    state.encode(into: &writer, authors: authors.table, values: values)
    return writer.bytes
  }

  private func meta(of event: EventState) -> [UInt8] {
    var writer = ByteWriter(capacity: 48)
    event.encode(into: &writer, authors: authors.table, type: table.schema.id) { field in
      guard let place = table.place(of: field) else { return true }
      return !isShown(event[field], in: table.columns[place])
    }
    return writer.bytes
  }

  /// Whether a column shows a value of an event, or an element of a set: one of its type, no null.
  private func isShown(_ value: Value, in column: FieldSchema) -> Bool {
    switch (value, column.type) {
    case (.bool, .bool), (.int, .int), (.text, .text), (.bytes, .bytes): true
    default: false
    }
  }
}

/// Records of types that this program does not know, stored whole.
struct OpaqueCodec {
  let connection: Connection
  let authors: AuthorNumbers

  func record(_ key: RecordKey, zone: Int64) throws -> StoredRecord? {
    let statement = try connection.statement(
      "SELECT meta FROM hearth_opaque WHERE zone = ? AND type = ? AND id = ?")
    try statement.bind(zone).bind(Int(key.type.rawValue)).bind(key.id)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return try decode(statement.blob(0), type: key.type)
  }

  func save(_ record: StoredRecord, key: RecordKey, zone: Int64) throws {
    var writer = ByteWriter(capacity: 128)
    var isAlive = true
    switch record {
    case .record(let state):
      isAlive = !state.life.isDeleted
      state.encode(into: &writer, authors: authors.table, values: .all)
    case .event(let event):
      event.encode(into: &writer, authors: authors.table, type: key.type)
    }
    try connection.statement(
      "INSERT OR REPLACE INTO hearth_opaque(zone, type, id, alive, meta) VALUES(?, ?, ?, ?, ?)"
    )
    .bind(zone).bind(Int(key.type.rawValue)).bind(key.id).bind(isAlive ? 1 : 0)
    .bind(writer.bytes).execute()
  }

  func forEach(
    zone: Int64, type: TypeID, _ body: (RecordKey, StoredRecord) throws -> Void
  ) throws {
    let statement = try connection.statement(
      "SELECT id, meta FROM hearth_opaque WHERE zone = ? AND type = ? ORDER BY id")
    try statement.bind(zone).bind(Int(type.rawValue))
    defer { statement.reset() }
    while try statement.step() {
      let key = RecordKey(type: type, id: try statement.identifier(0))
      try body(key, try decode(statement.blob(1), type: type))
    }
  }

  func forEach(
    type: TypeID, _ body: (Int64, RecordKey, StoredRecord) throws -> Void
  ) throws {
    let statement = try connection.statement(
      "SELECT zone, id, meta FROM hearth_opaque WHERE type = ? ORDER BY zone, id")
    try statement.bind(Int(type.rawValue))
    defer { statement.reset() }
    while try statement.step() {
      let key = RecordKey(type: type, id: try statement.identifier(1))
      try body(statement.int(0), key, try decode(statement.blob(2), type: type))
    }
  }

  /// Returns the types that have opaque records in a zone.
  func types(zone: Int64) throws -> [TypeID] {
    let statement = try connection.statement(
      "SELECT DISTINCT type FROM hearth_opaque WHERE zone = ? ORDER BY type")
    try statement.bind(zone)
    var types: [TypeID] = []
    while try statement.step() {
      types.append(TypeID(rawValue: UInt16(truncatingIfNeeded: statement.int(0))))
    }
    return types
  }

  private func decode(_ meta: [UInt8], type: TypeID) throws -> StoredRecord {
    do {
      var reader = ByteReader(meta)
      let record: StoredRecord =
        type.isEvent
        ? .event(try EventState(from: &reader, authors: authors.table, type: type))
        : .record(try RecordState(from: &reader, authors: authors.table, values: .all))
      try reader.finish()
      return record
    } catch {
      throw StoreError(.corrupt, "a row of table hearth_opaque is damaged: \(error)", cause: error)
    }
  }
}

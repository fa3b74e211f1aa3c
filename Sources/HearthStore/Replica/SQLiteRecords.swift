import HearthCRDT
import HearthSync

/// The records and events of a replica: a table for each declared type, and one for all others.
package final class SQLiteRecords: RecordStore {
  /// The table of each declared type.
  let tables: [TypeID: TypeTable]
  private let connection: Connection
  private let authors: AuthorNumbers
  private let zones: SQLiteZones
  private var touched = TouchedRecords()

  init(
    tables: [TypeID: TypeTable], connection: Connection, authors: AuthorNumbers, zones: SQLiteZones
  ) {
    self.tables = tables
    self.connection = connection
    self.authors = authors
    self.zones = zones
  }

  /// The declared types, in order of number.
  package var schemas: [RecordSchema] {
    tables.values.map(\.schema).sorted { $0.id < $1.id }
  }

  /// Returns what was written since the last call.
  package func takeTouched() -> TouchedRecords {
    defer { touched = TouchedRecords() }
    return touched
  }

  private func codec(_ table: TypeTable) -> RowCodec {
    RowCodec(table: table, connection: connection, authors: authors)
  }

  private var opaque: OpaqueCodec { OpaqueCodec(connection: connection, authors: authors) }

  package func states(of keys: [RecordKey], in zone: ZoneID) throws -> [RecordState?] {
    let number = try zones.recordNumber(of: zone)
    return try keys.map { key in
      if let table = tables[key.type] {
        return try codec(table).partialState(of: key.id, zone: number)
      }
      guard case .record(let state) = try opaque.record(key, zone: number) else { return nil }
      return state
    }
  }

  package func supplyShownValues(
    to state: inout RecordState, of key: RecordKey, in zone: ZoneID
  ) throws {
    guard let table = tables[key.type],
      case .record(let full) = try codec(table).record(
        key.id, zone: try zones.recordNumber(of: zone))
    else { return }
    for entry in full.entries {
      guard case .register(let register) = entry.field, let value = register.shown.value else {
        continue
      }
      Probe.shownValueSupplied.hit()
      state.supply(value, to: entry.id)
    }
  }

  package func save(_ changes: [RecordChange], in zone: ZoneID) throws {
    let number = try zones.recordNumber(of: zone)
    for change in changes {
      if zone == zones.drafted {
        // Nobody sees it yet.
      } else if change.isNew {
        touched.add(change.key.type, in: zone)
      } else {
        touched.add(change.state, of: change.key.type, in: zone)
      }
      guard let table = tables[change.key.type] else {
        Probe.unknownTypeKept.hit()
        if Mutant.dropsUnknownTypes.isActive { continue }
        try opaque.save(.record(change.state), key: change.key, zone: number)
        continue
      }
      if change.isNew {
        try codec(table).insert(.record(change.state), key: change.key, zone: number)
      } else {
        try codec(table).update(change.state, key: change.key, zone: number)
      }
    }
  }

  package func insert(_ events: [(RecordKey, EventState)], in zone: ZoneID) throws {
    let number = try zones.recordNumber(of: zone)
    for (key, event) in events {
      if zone != zones.drafted { touched.add(key.type, in: zone) }
      if let table = tables[key.type] {
        try codec(table).insert(.event(event), key: key, zone: number)
      } else {
        try opaque.save(.event(event), key: key, zone: number)
      }
    }
  }

  package func events(
    of type: TypeID, in zone: ZoneID
  ) throws -> [(RecordID, EventState)] {
    try connection.run {
      var result: [(RecordID, EventState)] = []
      try forEach(of: type, zone: try zones.recordNumber(of: zone)) { key, record in
        if case .event(let event) = record { result.append((key.id, event)) }
      }
      return result
    }
  }

  package func forEach(
    in zone: ZoneID, _ body: (RecordKey, StoredRecord) throws -> Void
  ) throws {
    try connection.run {
      let number = try zones.recordNumber(of: zone)
      let types = Set(tables.keys).union(try opaque.types(zone: number))
      for type in types.sorted() {
        try forEach(of: type, zone: number, body)
      }
    }
  }

  /// Runs the body for each record of a type that this program does not declare.
  package func forEachUndeclared(
    in zone: ZoneID, _ body: (RecordKey, StoredRecord) throws -> Void
  ) throws {
    try connection.run {
      let number = try zones.recordNumber(of: zone)
      for type in try opaque.types(zone: number).sorted() where tables[type] == nil {
        try opaque.forEach(zone: number, type: type, body)
      }
    }
  }

  private func forEach(
    of type: TypeID, zone: Int64, _ body: (RecordKey, StoredRecord) throws -> Void
  ) throws {
    if let table = tables[type] {
      try codec(table).forEach(zone: zone, body)
    } else {
      try opaque.forEach(zone: zone, type: type, body)
    }
  }

  /// Notes that everything in a zone may have changed.
  func touchAll(of zone: ZoneID) { touched.addAll(of: zone) }

  package func removeAll(of zone: ZoneID) throws {
    touched.addAll(of: zone)
    let number = try zones.recordNumber(of: zone)
    for type in tables.keys.sorted() {
      guard let table = tables[type] else { continue }
      try connection.execute(
        "DELETE FROM \(TypeTable.quoted(table.schema.name)) WHERE zone = \(number)")
    }
    try connection.statement("DELETE FROM hearth_opaque WHERE zone = ?").bind(number).execute()
  }

  /// Returns a record or event with all its values; nil if it is not in the zone.
  package func record(_ key: RecordKey, in zone: ZoneID) throws -> StoredRecord? {
    try connection.run {
      let number = try zones.recordNumber(of: zone)
      guard let table = tables[key.type] else { return try opaque.record(key, zone: number) }
      return try codec(table).record(key.id, zone: number)
    }
  }
}

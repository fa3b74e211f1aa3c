import HearthCRDT
import HearthStore
import HearthSync

/// What a derived table declares, without its types.
struct DerivationDescription: Sendable {
  let name: String
  let version: Int
  /// The record type that the rows are computed from.
  let type: TypeID
  let typeName: String
  /// The fields of the type.
  let fields: [FieldID]
  let groupType: StoredValue.Kind
  /// The field that groups the records; nil if the property is no field with one value.
  let groupField: FieldID?
  let columns: [(name: String, type: StoredValue.Kind)]
  /// The group of a record; nil if it has none.
  let group: @Sendable (RecordID, StoredRecord) -> Value?
  /// The rows of a group.
  let rows: @Sendable (Value, [(id: RecordID, record: StoredRecord)]) -> [[Value]]

  /// The table as programs read it.
  var table: DerivedTable? {
    let derivation = RecordDerivation(self)
    return DerivedTable(
      name, of: derivation, derivation.rowTable, stale: derivation.staleTable)
  }
}

/// Keeps the rows of a derived table: it remembers each record's group, and which groups have
/// changed since their rows were computed.
///
/// The rows of a group are computed when somebody reads them, because what others send would else
/// cost what its group costs, file by file.
struct RecordDerivation: Projection {
  private let description: DerivationDescription

  init(_ description: DerivationDescription) {
    self.description = description
  }

  // No record type's table has a name that begins so.
  var name: String { "hearth_derived_\(description.name)" }

  var types: [TypeID] { [description.type] }

  /// The declared version with the tables' shapes: FNV-1a of both.
  var version: Int {
    var text = "tables 2 \(description.version) \(description.type.rawValue)"
    text += " \(description.groupType)"
    text += " \(description.groupField?.rawValue ?? 0)"
    for column in description.columns { text += " \(column.name) \(column.type)" }
    let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return Int(truncatingIfNeeded: hash >> 2)
  }

  // MARK: Tables

  var tables: [ProjectionTable] { [rowTable, groupTable, staleTable] }

  /// The rows, with their places within a group.
  var rowTable: ProjectionTable {
    ProjectionTable(
      "rows", key: [groupColumn, ProjectionTable.Column("hearth_place", .int)],
      columns: description.columns.map { ProjectionTable.Column($0.name, $0.type.fieldType) })
  }

  /// The group of each record that has one.
  private var groupTable: ProjectionTable {
    ProjectionTable(
      "groups", key: [ProjectionTable.Column("record", .bytes)], columns: [groupColumn],
      indexes: [[groupColumn.name]])
  }

  /// The groups whose rows are out of date.
  var staleTable: ProjectionTable {
    ProjectionTable("stale", key: [groupColumn], columns: [])
  }

  private var groupColumn: ProjectionTable.Column {
    ProjectionTable.Column("hearth_group", description.groupType.fieldType)
  }

  // MARK: Updates

  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    var known: Set<StoredValue> = []
    for key in keys {
      let old = try group(ofRecord: key.id, from: source)
      let new = try note(key, from: source, to: writer)
      for group in [old, new].compactMap({ $0 }) where known.insert(StoredValue(group)).inserted {
        try writer.put([group], in: staleTable.name)
      }
    }
  }

  func computeRows(
    ofGroup group: Value?, from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let stale = try source.rows(of: staleTable.name, where: group.map { [$0] } ?? [])
    for group in stale.compactMap(\.first) {
      try compute(group, from: source, to: writer)
      try writer.remove(from: staleTable.name, where: [group])
    }
  }

  // The groups of all records must be known before the rows of the first group can be computed.
  var fillingPasses: Int { 2 }

  func fill(
    _ keys: [RecordKey], pass: Int, from source: any ProjectionSource,
    to writer: any ProjectionWriter
  ) throws {
    for key in keys {
      if pass == 0 {
        _ = try note(key, from: source, to: writer)
      } else if let group = try group(ofRecord: key.id, from: source),
        try records(of: group, atMost: 1, from: source).first == key.id
      {
        try compute(group, from: source, to: writer)
      }
    }
  }

  /// Notes the present group of a record, and returns it.
  private func note(
    _ key: RecordKey, from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws -> Value? {
    guard let record = try stored(key, from: source), let group = description.group(key.id, record)
    else {
      try writer.remove(from: groupTable.name, where: [.bytes(key.id.bytes)])
      return nil
    }
    try writer.put([.bytes(key.id.bytes), group], in: groupTable.name)
    return group
  }

  private func compute(
    _ group: Value, from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let records = try records(of: group, from: source).compactMap { id in
      let key = RecordKey(type: description.type, id: id)
      return try stored(key, from: source).map { (id: id, record: $0) }
    }
    try writer.remove(from: rowTable.name, where: [group])
    guard !records.isEmpty else { return }
    for (place, row) in description.rows(group, records).enumerated() {
      try writer.put([group, .int(Int64(place))] + row, in: rowTable.name)
    }
  }

  private func stored(
    _ key: RecordKey, from source: any ProjectionSource
  ) throws -> StoredRecord? {
    key.type.isEvent
      ? try source.event(key).map { .event($0) } : try source.record(key).map { .record($0) }
  }

  private func group(ofRecord id: RecordID, from source: any ProjectionSource) throws -> Value? {
    try source.rows(of: groupTable.name, where: [.bytes(id.bytes)]).first?.last
  }

  /// The records of a group in the order of their ids.
  private func records(
    of group: Value, atMost count: Int? = nil, from source: any ProjectionSource
  ) throws -> [RecordID] {
    let range = RowRange([groupColumn.name, "record"], prefix: [group], limit: count)
    return try source.rows(of: groupTable.name, in: range).compactMap { row in
      guard case .bytes(let bytes) = row.first else { return nil }
      return Identifier(bytes: bytes)
    }
  }
}

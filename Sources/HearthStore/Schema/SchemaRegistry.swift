import HearthCRDT
import HearthSync

/// Updates the tables to match the program's declarations.
///
/// A declaration stays known: the table of a type that this program no longer declares is still
/// used. A new type or field gets its table or column and receives the values that were stored
/// opaquely. A field of a known number and a new name is renamed. Nothing is ever dropped.
struct SchemaRegistry {
  let connection: Connection

  /// Updates the tables and returns them by type.
  ///
  /// - Throws: `StoreError`.
  func register(
    _ declared: [RecordSchema], codec: (TypeTable) -> RowCodec
  ) throws -> [TypeID: TypeTable] {
    try check(declared)
    let stored = try stored()
    try check(declared, against: stored)
    try clearNames(of: stored, for: declared)
    var tables = try tables()
    for schema in declared.sorted(by: { $0.id < $1.id }) {
      guard let present = tables[schema.id] else {
        tables[schema.id] = try create(schema, codec: codec)
        continue
      }
      tables[schema.id] = try alter(present.schema, to: schema, codec: codec)
    }
    return tables
  }

  /// Returns the tables as they are, by type.
  func tables() throws -> [TypeID: TypeTable] {
    Dictionary(
      try stored().map { ($0.id, TypeTable($0)) }, uniquingKeysWith: { first, _ in first })
  }

  private func check(_ declared: [RecordSchema]) throws {
    var names: Set<String> = []
    for schema in declared {
      guard names.insert(schema.name).inserted, SchemaRegistry.isName(schema.name),
        !["hearth_", "sqlite_", "grdb_"].contains(where: schema.name.hasPrefix)
      else {
        throw StoreError(
          .schema, "record type name \"\(schema.name)\" is a duplicate or not a plain name")
      }
      var fields: Set<String> = ["zone", "id", "alive", "meta"]
      var numbers: Set<UInt16> = []
      for field in schema.fields {
        guard fields.insert(field.name).inserted, SchemaRegistry.isName(field.name),
          numbers.insert(field.id.rawValue & 0x3fff).inserted
        else {
          throw StoreError(
            .schema,
            "field \"\(field.name)\" of \(schema.name) has a name or number that is a duplicate, "
              + "reserved or not plain")
        }
      }
      guard schema.fields.count <= SchemaRegistry.maximumFields else {
        throw StoreError(
          .schema, "\(schema.name) has more than \(SchemaRegistry.maximumFields) fields")
      }
    }
  }

  /// The most fields of a type, including those no longer declared.
  ///
  /// Each field needs a bit in the mask of ``TypeTable/update(_:)``.
  static let maximumFields = 60

  /// Refuses a declaration that contradicts the columns and tables of earlier ones.
  private func check(_ declared: [RecordSchema], against stored: [RecordSchema]) throws {
    let numbers = Set(declared.map(\.id))
    let kept = Set(stored.filter { !numbers.contains($0.id) }.map(\.name))
    for schema in declared {
      guard !kept.contains(schema.name) else {
        throw StoreError(
          .schema,
          "the name \(schema.name) belongs to a record type that was declared before under another "
            + "number: choose another name")
      }
      guard let present = stored.first(where: { $0.id == schema.id }) else { continue }
      for field in schema.fields {
        let former = present.fields.first { $0.id.rawValue & 0x3fff == field.id.rawValue & 0x3fff }
        guard former == nil || former?.id == field.id else {
          throw StoreError(
            .schema,
            "field \(field.name) of \(schema.name) was declared before as another kind of field: "
              + "give the new meaning a new number")
        }
      }
      let rest = present.fields.filter { schema.field($0.id) == nil }
      for field in schema.fields where rest.contains(where: { $0.name == field.name }) {
        throw StoreError(
          .schema,
          "field \(field.name) of \(schema.name) was declared before under another number or kind: "
            + "choose another name")
      }
      guard rest.count + schema.fields.count <= SchemaRegistry.maximumFields else {
        throw StoreError(
          .schema,
          "with the fields that were declared before, \(schema.name) has more than "
            + "\(SchemaRegistry.maximumFields) fields")
      }
    }
  }

  /// Renames tables whose names another type takes over in the same step.
  private func clearNames(of stored: [RecordSchema], for declared: [RecordSchema]) throws {
    for schema in stored {
      guard let name = declared.first(where: { $0.id == schema.id })?.name, name != schema.name,
        declared.contains(where: { $0.name == schema.name })
      else { continue }
      try connection.execute(
        "ALTER TABLE \(TypeTable.quoted(schema.name)) RENAME TO "
          + TypeTable.quoted(SchemaRegistry.passingName(schema.id)))
      try connection.statement("UPDATE hearth_types SET name = ? WHERE type = ?")
        .bind(SchemaRegistry.passingName(schema.id)).bind(Int(schema.id.rawValue)).execute()
      try dropIndexes(of: schema, named: { _ in true })
    }
  }

  /// A name that no declaration can have, for use between two renamings.
  private static func passingName(_ type: TypeID) -> String { "hearth_passing_\(type.rawValue)" }

  private func dropIndexes(
    of schema: RecordSchema, named isConcerned: (FieldSchema) -> Bool
  ) throws {
    for field in schema.fields where field.isIndexed && isConcerned(field) {
      try connection.execute(
        "DROP INDEX IF EXISTS \(TypeTable.quoted("\(schema.name)_by_\(field.name)"))")
    }
  }

  private static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, (0x61...0x7a).contains(first), name.utf8.count <= 60
    else { return false }
    return name.utf8.allSatisfy {
      (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f
    }
  }

  private func stored() throws -> [RecordSchema] {
    var schemas: [RecordSchema] = []
    let types = try connection.statement("SELECT type, name FROM hearth_types ORDER BY type")
    var names: [(TypeID, String)] = []
    while try types.step() {
      names.append((TypeID(rawValue: try number(types.int(0))), types.text(1)))
    }
    guard Set(names.map(\.0)).count == names.count,
      names.allSatisfy({ SchemaRegistry.isName($0.1) })
    else { throw SchemaRegistry.damagedTypes("the names") }
    for (type, name) in names {
      let statement = try connection.statement(
        "SELECT field, name, kind, indexed FROM hearth_fields WHERE type = ? ORDER BY field")
      try statement.bind(Int(type.rawValue))
      var fields: [FieldSchema] = []
      while try statement.step() {
        guard let kind = FieldType(rawValue: statement.text(2)) else {
          throw StoreError(.newerFormat, "field \(statement.text(1)) has an unknown kind")
        }
        fields.append(
          FieldSchema(
            FieldID(rawValue: try number(statement.int(0))), statement.text(1),
            kind, indexed: statement.int(3) != 0))
      }
      // A damaged table may return a key twice.
      guard fields.count <= SchemaRegistry.maximumFields,
        Set(fields.map(\.id)).count == fields.count,
        Set(fields.map(\.name)).count == fields.count,
        fields.allSatisfy({ SchemaRegistry.isName($0.name) })
      else { throw SchemaRegistry.damagedTypes("the fields of \(name)") }
      schemas.append(RecordSchema(type, name, fields))
    }
    return schemas
  }

  /// The number of a type or field in a row.
  private func number(_ stored: Int64) throws -> UInt16 {
    guard let number = UInt16(exactly: stored) else {
      throw SchemaRegistry.damagedTypes("the number \(stored)")
    }
    return number
  }

  private static func damagedTypes(_ detail: String) -> StoreError {
    StoreError(
      .corrupt,
      "the list of record types in the node's database is damaged (\(detail)): keep a copy of the "
        + "home folder, then join again")
  }

  private func create(
    _ schema: RecordSchema, codec: (TypeTable) -> RowCodec
  ) throws -> TypeTable {
    let table = TypeTable(schema)
    try connection.execute(table.create)
    try connection.statement("INSERT INTO hearth_types(type, name) VALUES(?, ?)")
      .bind(Int(schema.id.rawValue)).bind(schema.name).execute()
    for field in table.columns { try save(field, of: schema.id) }
    for field in table.columns where field.isIndexed {
      try connection.execute(table.createIndex(on: field))
    }
    try adoptOpaque(table, codec: codec(table))
    return table
  }

  private func save(_ field: FieldSchema, of type: TypeID) throws {
    try connection.statement(
      "INSERT OR REPLACE INTO hearth_fields(type, field, name, kind, indexed) "
        + "VALUES(?, ?, ?, ?, ?)"
    )
    .bind(Int(type.rawValue)).bind(Int(field.id.rawValue)).bind(field.name)
    .bind(field.type.rawValue).bind(field.isIndexed ? 1 : 0).execute()
  }

  private func alter(
    _ present: RecordSchema, to declared: RecordSchema, codec: (TypeTable) -> RowCodec
  ) throws -> TypeTable {
    if present == declared { return TypeTable(present) }
    // An index contains its table's and column's names in its own: it is dropped here and recreated
    // below.
    try dropIndexes(of: present) { field in
      present.name != declared.name
        || declared.field(field.id).map { $0.name != field.name } ?? false
    }
    if present.name != declared.name {
      try connection.execute(
        "ALTER TABLE \(TypeTable.quoted(present.name)) RENAME TO "
          + TypeTable.quoted(declared.name))
      try connection.statement("UPDATE hearth_types SET name = ? WHERE type = ?")
        .bind(declared.name).bind(Int(declared.id.rawValue)).execute()
    }
    var fields = present.fields
    var added: [FieldSchema] = []
    try rename(present.fields, to: declared)
    for field in declared.fields {
      if let place = fields.firstIndex(where: { $0.id == field.id }) {
        fields[place] = field
      } else {
        try connection.execute(
          "ALTER TABLE \(TypeTable.quoted(declared.name)) ADD COLUMN "
            + "\(TypeTable.quoted(field.name)) \(TypeTable.storage(of: field))")
        fields.append(field)
        added.append(field)
      }
      try save(field, of: declared.id)
    }
    connection.forgetStatements()
    let before = TypeTable(RecordSchema(declared.id, declared.name, present.fields))
    let table = TypeTable(RecordSchema(declared.id, declared.name, fields))
    for field in table.columns where field.isIndexed {
      try connection.execute(table.createIndex(on: field))
    }
    if !added.isEmpty {
      try promote(from: codec(renamed(before, like: table)), to: codec(table))
    }
    return table
  }

  /// Returns the old columns under their new names.
  private func renamed(_ before: TypeTable, like table: TypeTable) -> TypeTable {
    let fields = before.columns.compactMap { table.schema.field($0.id) }
    return TypeTable(RecordSchema(table.schema.id, table.schema.name, fields))
  }

  /// Renames columns, through temporary names, since two fields may exchange theirs.
  private func rename(_ present: [FieldSchema], to schema: RecordSchema) throws {
    let table = TypeTable.quoted(schema.name)
    var renamed: [FieldSchema] = []
    for field in present {
      guard let declared = schema.field(field.id) else { continue }
      guard field.type == declared.type else {
        throw StoreError(
          .schema,
          "field \(declared.name) of \(schema.name) was declared as \(field.type.rawValue): give "
            + "the new meaning a new number")
      }
      guard field.name != declared.name else { continue }
      renamed.append(declared)
      try connection.execute(
        "ALTER TABLE \(table) RENAME COLUMN \(TypeTable.quoted(field.name)) TO "
          + "hearth_passing_\(field.id.rawValue)")
    }
    for field in renamed {
      try connection.execute(
        "ALTER TABLE \(table) RENAME COLUMN hearth_passing_\(field.id.rawValue) TO "
          + TypeTable.quoted(field.name))
    }
  }

  /// Moves the opaque records of a type into its new table.
  private func adoptOpaque(_ table: TypeTable, codec: RowCodec) throws {
    let opaque = OpaqueCodec(connection: connection, authors: codec.authors)
    var rows: [(Int64, RecordKey, StoredRecord)] = []
    try opaque.forEach(type: table.schema.id) { zone, key, record in
      rows.append((zone, key, record))
    }
    Probe.unknownTypeAdopted.hit(if: !rows.isEmpty)
    if Mutant.upgradeForgetsOpaque.isActive { rows.removeAll() }
    for (zone, key, record) in rows { try codec.insert(record, key: key, zone: zone) }
    try connection.statement("DELETE FROM hearth_opaque WHERE type = ?")
      .bind(Int(table.schema.id.rawValue)).execute()
  }

  /// Moves values from `meta` into their new columns.
  private func promote(from old: RowCodec, to new: RowCodec) throws {
    var rows: [(Int64, RecordKey, StoredRecord)] = []
    for zone in try zoneNumbers() {
      try old.forEach(zone: zone) { key, record in
        if record.hasField(outside: old.table) { rows.append((zone, key, record)) }
      }
    }
    Probe.unknownFieldPromoted.hit(if: !rows.isEmpty)
    for (zone, key, record) in rows {
      try new.delete(key: key, zone: zone)
      try new.insert(record, key: key, zone: zone)
    }
  }

  private func zoneNumbers() throws -> [Int64] {
    let statement = try connection.statement(
      "SELECT number FROM hearth_zones UNION SELECT -number FROM hearth_zones ORDER BY 1")
    var numbers: [Int64] = []
    while try statement.step() { numbers.append(statement.int(0)) }
    return numbers
  }
}

extension StoredRecord {
  fileprivate func hasField(outside table: TypeTable) -> Bool {
    switch self {
    case .record(let state): state.entries.contains { !table.isColumn($0.id) }
    case .event(let event): event.fields.contains { !table.isColumn($0.field) }
    }
  }
}

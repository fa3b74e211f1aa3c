import HearthCRDT
import HearthSync

/// Brings the tables in step with the program's declarations.
///
/// What was declared once stays known: a table of a type that this program no longer declares is
/// still used. A new type or field gets its table or column and takes over what was kept opaque; a
/// field of a known number and a new name is renamed. Nothing is ever dropped.
struct SchemaRegistry {
  let connection: Connection

  /// The tables by type, after bringing them in step.
  func register(
    _ declared: [RecordSchema], codec: (TypeTable) -> RowCodec
  ) throws -> [TypeID: TypeTable] {
    try check(declared)
    var tables: [TypeID: TypeTable] = [:]
    for schema in try stored() { tables[schema.id] = TypeTable(schema) }
    for schema in declared.sorted(by: { $0.id < $1.id }) {
      guard let present = tables[schema.id] else {
        tables[schema.id] = try create(schema, codec: codec)
        continue
      }
      tables[schema.id] = try alter(present.schema, to: schema, codec: codec)
    }
    return tables
  }

  private func check(_ declared: [RecordSchema]) throws {
    var names: Set<String> = []
    for schema in declared {
      guard names.insert(schema.name).inserted, SchemaRegistry.isName(schema.name),
        !schema.name.hasPrefix("hearth_"), !schema.name.hasPrefix("sqlite_")
      else {
        throw StoreError(
          .schema, "record type name \"\(schema.name)\" is doubled or not a plain name")
      }
      var fields: Set<String> = ["zone", "id", "alive", "meta"]
      var numbers: Set<UInt16> = []
      for field in schema.fields {
        guard fields.insert(field.name).inserted, SchemaRegistry.isName(field.name),
          numbers.insert(field.id.rawValue & 0x3fff).inserted
        else {
          throw StoreError(
            .schema,
            "field \"\(field.name)\" of \(schema.name) has a name or number that is doubled, "
              + "reserved or not plain")
        }
      }
      guard schema.fields.count <= 60 else {
        throw StoreError(.schema, "\(schema.name) has more than 60 fields")
      }
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
      names.append((TypeID(rawValue: UInt16(truncatingIfNeeded: types.int(0))), types.text(1)))
    }
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
            FieldID(rawValue: UInt16(truncatingIfNeeded: statement.int(0))), statement.text(1),
            kind, indexed: statement.int(3) != 0))
      }
      schemas.append(RecordSchema(type, name, fields))
    }
    return schemas
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
    if present.name != declared.name {
      try connection.execute(
        "ALTER TABLE \(TypeTable.quoted(present.name)) RENAME TO "
          + TypeTable.quoted(declared.name))
      try connection.statement("UPDATE hearth_types SET name = ? WHERE type = ?")
        .bind(declared.name).bind(Int(declared.id.rawValue)).execute()
    }
    var fields = present.fields
    var added: [FieldSchema] = []
    for field in declared.fields {
      if let place = fields.firstIndex(where: { $0.id == field.id }) {
        try rename(fields[place], to: field, in: declared)
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

  /// The old columns under their new names.
  private func renamed(_ before: TypeTable, like table: TypeTable) -> TypeTable {
    let fields = before.columns.compactMap { table.schema.field($0.id) }
    return TypeTable(RecordSchema(table.schema.id, table.schema.name, fields))
  }

  private func rename(
    _ present: FieldSchema, to declared: FieldSchema, in schema: RecordSchema
  ) throws {
    guard present.type == declared.type else {
      throw StoreError(
        .schema,
        "field \(declared.name) of \(schema.name) was declared as \(present.type.rawValue): give "
          + "the new meaning a new number")
    }
    guard present.name != declared.name else { return }
    try connection.execute(
      "ALTER TABLE \(TypeTable.quoted(schema.name)) RENAME COLUMN "
        + "\(TypeTable.quoted(present.name)) TO \(TypeTable.quoted(declared.name))")
  }

  /// Gives a new table the records of its type that were kept opaque.
  private func adoptOpaque(_ table: TypeTable, codec: RowCodec) throws {
    let opaque = OpaqueCodec(connection: connection, authors: codec.authors)
    var rows: [(Int64, RecordKey, StoredRecord)] = []
    try opaque.forEach(type: table.schema.id) { zone, key, record in
      rows.append((zone, key, record))
    }
    for (zone, key, record) in rows { try codec.insert(record, key: key, zone: zone) }
    try connection.statement("DELETE FROM hearth_opaque WHERE type = ?")
      .bind(Int(table.schema.id.rawValue)).execute()
  }

  /// Moves values that were kept in `meta` into their new columns.
  private func promote(from old: RowCodec, to new: RowCodec) throws {
    var rows: [(Int64, RecordKey, StoredRecord)] = []
    for zone in try zoneNumbers() {
      try old.forEach(zone: zone) { key, record in
        if record.hasField(outside: old.table) { rows.append((zone, key, record)) }
      }
    }
    for (zone, key, record) in rows {
      try new.delete(key: key, zone: zone)
      try new.insert(record, key: key, zone: zone)
    }
  }

  private func zoneNumbers() throws -> [Int64] {
    let statement = try connection.statement("SELECT number FROM hearth_zones ORDER BY number")
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

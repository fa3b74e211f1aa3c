import Foundation
import GRDBSQLite
import HearthCRDT

/// Plain SQLite through the same C API, with the same durability: what any store on SQLite pays.
///
/// A row of the ten fields, and where asked one row of a log for each operation.
final class Floor {
  private var handle: OpaquePointer?
  private var statements: [String: OpaquePointer] = [:]
  private let keepsLog: Bool

  init(_ path: String, keepsLog: Bool) throws {
    self.keepsLog = keepsLog
    try? FileManager.default.removeItem(atPath: path)
    guard sqlite3_open(path, &handle) == SQLITE_OK else {
      throw BenchError("SQLite cannot open \(path)")
    }
    for pragma in [
      "synchronous = EXTRA", "journal_mode = WAL", "temp_store = MEMORY", "cache_size = -8000",
      "mmap_size = 0",
    ] { try execute("PRAGMA \(pragma)") }
    let columns = Chore.fields.map { ", \($0.name) \($0.type == .text ? "TEXT" : "INTEGER")" }
    try execute(
      "CREATE TABLE chore(id BLOB PRIMARY KEY NOT NULL\(columns.joined())) WITHOUT ROWID")
    try execute("CREATE TABLE log(sequence INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close(handle)
  }

  private func execute(_ sql: String) throws {
    let status = sqlite3_exec(handle, sql, nil, nil, nil)
    guard status == SQLITE_OK else { throw BenchError("SQLite refused \(sql): \(status)") }
  }

  private func prepared(_ sql: String) throws -> OpaquePointer {
    if let present = statements[sql] { return present }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw BenchError("SQLite refused \(sql)")
    }
    statements[sql] = statement
    return statement
  }

  private func run(_ statement: OpaquePointer) throws {
    let status = sqlite3_step(statement)
    sqlite3_reset(statement)
    guard status == SQLITE_DONE else { throw BenchError("SQLite failed: \(status)") }
  }

  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  private func bind(_ value: Value, at place: Int32, of statement: OpaquePointer) {
    switch value {
    case .null: sqlite3_bind_null(statement, place)
    case .bool(let truth): sqlite3_bind_int64(statement, place, truth ? 1 : 0)
    case .int(let number): sqlite3_bind_int64(statement, place, number)
    case .text(var text):
      text.withUTF8 { utf8 in
        _ = utf8.withMemoryRebound(to: CChar.self) {
          sqlite3_bind_text(statement, place, $0.baseAddress, Int32($0.count), Floor.transient)
        }
      }
    case .bytes(let bytes):
      sqlite3_bind_blob(statement, place, bytes, Int32(bytes.count), Floor.transient)
    }
  }

  private func bind(id: UInt64, at place: Int32, of statement: OpaquePointer) {
    withUnsafeBytes(of: (UInt64(0), id.bigEndian)) {
      _ = sqlite3_bind_blob(statement, place, $0.baseAddress, 16, Floor.transient)
    }
  }

  /// Writes actions as one transaction.
  func write(_ actions: some Collection<Action>) throws {
    try run(try prepared("BEGIN IMMEDIATE"))
    for action in actions { try write(action) }
    try run(try prepared("COMMIT"))
  }

  private static let insertSQL =
    "INSERT INTO chore VALUES(?" + Chore.fields.map { _ in ", ?" }.joined() + ")"
  private static let upsertSQL = Chore.fields.map {
    "INSERT INTO chore(id, \($0.name)) VALUES(?, ?) "
      + "ON CONFLICT(id) DO UPDATE SET \($0.name) = excluded.\($0.name)"
  }

  private func write(_ action: Action) throws {
    switch action {
    case .create(let id, let values):
      let statement = try prepared(Floor.insertSQL)
      bind(id: id, at: 1, of: statement)
      for (place, value) in values.enumerated() {
        bind(value, at: Int32(place + 2), of: statement)
      }
      try run(statement)
      if keepsLog { try log(id, 0, values) }
    case .set(let id, let field, let value):
      let statement = try prepared(Floor.upsertSQL[field])
      bind(id: id, at: 1, of: statement)
      bind(value, at: 2, of: statement)
      try run(statement)
      if keepsLog { try log(id, field, [value]) }
    case .award: break
    }
  }

  private func log(_ id: UInt64, _ field: Int, _ values: [Value]) throws {
    var writer = ByteWriter(capacity: 128)
    writer.fixed64(id)
    writer.varint(field)
    for value in values { writer.value(value) }
    let statement = try prepared("INSERT INTO log(bytes) VALUES(?)")
    bind(.bytes(writer.bytes), at: 1, of: statement)
    try run(statement)
  }
}

/// A second, reading look at a replica's file.
enum TableSize {
  /// The bytes of the chores' `meta` and of their ten columns, and all rows as lines of text.
  static func chores(
    in path: String
  ) throws -> (metadataBytes: Int, dataBytes: Int, text: [UInt8]) {
    var handle: OpaquePointer?
    guard sqlite3_open(path, &handle) == SQLITE_OK else {
      throw BenchError("SQLite cannot open \(path)")
    }
    defer { sqlite3_close(handle) }
    let names = Chore.fields.map(\.name).joined(separator: ", ")
    var statement: OpaquePointer?
    let sql = "SELECT length(meta), hex(substr(id, 9)), \(names) FROM chore ORDER BY id"
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      throw BenchError("SQLite refused \(sql)")
    }
    defer { sqlite3_finalize(statement) }
    var metadata = 0
    var data = 0
    var text: [UInt8] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      metadata += Int(sqlite3_column_int64(statement, 0))
      data += 16
      for column in 1...Int32(Chore.fields.count + 1) {
        let isNumber = sqlite3_column_type(statement, column) == SQLITE_INTEGER
        let number = sqlite3_column_int64(statement, column)
        if let start = sqlite3_column_text(statement, column) {
          let count = Int(sqlite3_column_bytes(statement, column))
          text += UnsafeBufferPointer(start: start, count: count)
          if column > 1 { data += isNumber ? integerBytes(number) : count }
        }
        text.append(column == Int32(Chore.fields.count + 1) ? 10 : 9)
      }
    }
    return (metadata, data, text)
  }

  /// How many bytes SQLite's record format takes for a whole number.
  private static func integerBytes(_ number: Int64) -> Int {
    let magnitude = number < 0 ? ~number : number
    return switch magnitude {
    case 0...1: 0
    case 0..<128: 1
    case 0..<32_768: 2
    case 0..<8_388_608: 3
    case 0..<2_147_483_648: 4
    case 0..<140_737_488_355_328: 6
    default: 8
    }
  }
}

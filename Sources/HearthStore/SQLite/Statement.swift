import GRDBSQLite
import HearthCRDT

/// One prepared statement: bind in order, then step.
///
/// Not thread-safe; it belongs to its connection's queue.
final class Statement {
  private let handle: OpaquePointer
  private let connection: OpaquePointer
  private let sql: String
  private var bound: Int32 = 0

  init(_ sql: String, on connection: OpaquePointer) throws {
    var handle: OpaquePointer?
    let status = sqlite3_prepare_v3(
      connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    guard status == SQLITE_OK, let handle else {
      throw StoreError.ofSQLite(connection, status, sql)
    }
    self.handle = handle
    self.connection = connection
    self.sql = sql
  }

  deinit {
    sqlite3_finalize(handle)
  }

  /// Restarts the statement: the next bind is the first parameter.
  @discardableResult
  func reset() -> Statement {
    sqlite3_reset(handle)
    bound = 0
    return self
  }

  // MARK: Binding

  private func check(_ status: Int32) throws {
    guard status == SQLITE_OK else { throw StoreError.ofSQLite(connection, status, sql) }
  }

  @discardableResult
  func bind(_ value: Int64) throws -> Statement {
    bound += 1
    try check(sqlite3_bind_int64(handle, bound, value))
    return self
  }

  @discardableResult
  func bind(_ value: Int) throws -> Statement {
    try bind(Int64(value))
  }

  /// Binds the number's bits, even beyond 2^63 - 1.
  @discardableResult
  func bind(_ value: UInt64) throws -> Statement {
    try bind(Int64(bitPattern: value))
  }

  @discardableResult
  func bind(_ text: String) throws -> Statement {
    bound += 1
    var text = text
    let status = text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) {
        $0.isEmpty
          ? sqlite3_bind_text(handle, bound, "", 0, Statement.transient)
          : sqlite3_bind_text(
            handle, bound, $0.baseAddress, Int32($0.count), Statement.transient)
      }
    }
    try check(status)
    return self
  }

  @discardableResult
  func bind(_ bytes: [UInt8]) throws -> Statement {
    bound += 1
    let status = bytes.withUnsafeBytes { buffer in
      buffer.isEmpty
        ? sqlite3_bind_zeroblob(handle, bound, 0)
        : sqlite3_bind_blob(
          handle, bound, buffer.baseAddress, Int32(buffer.count), Statement.transient)
    }
    try check(status)
    return self
  }

  @discardableResult
  func bind(_ identifier: Identifier) throws -> Statement {
    bound += 1
    let status = withUnsafeBytes(of: (identifier.high.bigEndian, identifier.low.bigEndian)) {
      sqlite3_bind_blob(handle, bound, $0.baseAddress, 16, Statement.transient)
    }
    try check(status)
    return self
  }

  @discardableResult
  func bindNull() throws -> Statement {
    bound += 1
    try check(sqlite3_bind_null(handle, bound))
    return self
  }

  // MARK: Stepping

  /// Steps to the next row; returns false, and resets the statement, when there is none.
  func step() throws -> Bool {
    let status = sqlite3_step(handle)
    if status == SQLITE_ROW { return true }
    let error = status == SQLITE_DONE ? nil : StoreError.ofSQLite(connection, status, sql)
    reset()
    if let error { throw error }
    return false
  }

  /// Runs a statement that returns no rows.
  func execute() throws {
    while try step() {}
  }

  // MARK: Columns

  func int(_ column: Int32) -> Int64 {
    sqlite3_column_int64(handle, column)
  }

  func uint(_ column: Int32) -> UInt64 {
    UInt64(bitPattern: int(column))
  }

  func isNull(_ column: Int32) -> Bool {
    sqlite3_column_type(handle, column) == SQLITE_NULL
  }

  func blob(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, column) else { return [] }
    let count = Int(sqlite3_column_bytes(handle, column))
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(handle, column) else { return "" }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func identifier(_ column: Int32) throws -> Identifier {
    guard let start = sqlite3_column_blob(handle, column),
      sqlite3_column_bytes(handle, column) == 16
    else { throw StoreError(.corrupt, "an id in the node's database does not have 16 bytes") }
    let buffer = UnsafeRawBufferPointer(start: start, count: 16)
    return Identifier(
      high: UInt64(bigEndian: buffer.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
      low: UInt64(bigEndian: buffer.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }

  /// The storage class of a column in the current row.
  func storage(_ column: Int32) -> Storage {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: .integer
    case SQLITE_TEXT: .text
    case SQLITE_BLOB: .blob
    case SQLITE_NULL: .null
    default: .other
    }
  }

  /// SQLite's storage class of a value.
  enum Storage {
    case null
    case integer
    case text
    case blob
    case other
  }

  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

import GRDBSQLite
import HearthCRDT
import HearthCrypto

/// One SQLite connection with its prepared statements; not thread-safe.
final class RelayDatabase {
  private let handle: OpaquePointer
  private let path: String
  private var statements: [String: RelayStatement] = [:]

  /// How long a statement waits for another process.
  private static let waitMilliseconds: Int32 = 10_000

  /// Opens a file, creating it if it does not exist.
  ///
  /// - Parameter vfs: the name of SQLite's file system; the system's own if nil.
  init(path: String, isReadOnly: Bool = false, vfs: String? = nil) throws(RelayError) {
    var handle: OpaquePointer?
    let flags =
      (isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
      | SQLITE_OPEN_NOMUTEX
    let status = sqlite3_open_v2(path, &handle, flags, vfs)
    guard status == SQLITE_OK, let handle else {
      let error = RelayDatabase.error(handle, status, path)
      sqlite3_close_v2(handle)
      throw error
    }
    self.handle = handle
    self.path = path
    sqlite3_extended_result_codes(handle, 1)
    sqlite3_busy_timeout(handle, RelayDatabase.waitMilliseconds)
  }

  deinit {
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  /// Returns a prepared statement, ready to be bound.
  ///
  /// Each text is prepared once.
  func statement(_ sql: String) throws(RelayError) -> RelayStatement {
    if let present = statements[sql] {
      present.reset()
      return present
    }
    let statement = try RelayStatement(sql, on: handle, path)
    statements[sql] = statement
    return statement
  }

  /// Runs statements without parameters.
  func execute(_ sql: String) throws(RelayError) {
    let status = sqlite3_exec(handle, sql, nil, nil, nil)
    guard status == SQLITE_OK else { throw RelayDatabase.error(handle, status, path) }
  }

  /// The first column of the first row, as text.
  func text(_ sql: String) throws(RelayError) -> String {
    let statement = try RelayStatement(sql, on: handle, path)
    return try statement.step() ? statement.text(0) : ""
  }

  /// The first column of the first row, as a number.
  func number(_ sql: String) throws(RelayError) -> Int64 {
    let statement = try RelayStatement(sql, on: handle, path)
    return try statement.step() ? statement.int(0) : 0
  }

  /// Runs a body in which no statement waits for another process.
  func withoutWaiting<Result>(
    _ body: () throws(RelayError) -> Result
  ) throws(RelayError) -> Result {
    sqlite3_busy_timeout(handle, 0)
    defer { sqlite3_busy_timeout(handle, RelayDatabase.waitMilliseconds) }
    return try body()
  }

  /// Runs a body in a transaction that is durable when this returns.
  func transaction<Result>(_ body: () throws(RelayError) -> Result) throws(RelayError) -> Result {
    try statement("BEGIN IMMEDIATE").execute()
    do {
      let result = try body()
      try statement("COMMIT").execute()
      return result
    } catch {
      // The first error is the one to report; SQLite undoes what a failing rollback leaves.
      if sqlite3_get_autocommit(handle) == 0 { try? statement("ROLLBACK").execute() }
      throw error
    }
  }

  static func error(_ handle: OpaquePointer?, _ status: Int32, _ path: String) -> RelayError {
    let text = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "unknown"
    switch status & 0xff {
    case SQLITE_FULL:
      return RelayError(.diskFull, "the disk of \(path) is full: free some space (\(text))")
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      return RelayError(
        .corrupt, "\(path) is damaged: move it aside; clients refill a new one (\(text))")
    case SQLITE_BUSY, SQLITE_LOCKED:
      return RelayError(.locked, "another process writes \(path): wait for it (\(text))")
    default:
      return RelayError(
        .inputOutput, "\(path) cannot be read or written: check disk and permissions (\(text))")
    }
  }
}

/// One prepared statement: bind in order, then step.
final class RelayStatement {
  private let handle: OpaquePointer
  private let connection: OpaquePointer
  private let path: String
  private var bound: Int32 = 0

  init(_ sql: String, on connection: OpaquePointer, _ path: String) throws(RelayError) {
    var handle: OpaquePointer?
    let status = sqlite3_prepare_v3(
      connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    guard status == SQLITE_OK, let handle else {
      throw RelayDatabase.error(connection, status, path)
    }
    self.handle = handle
    self.connection = connection
    self.path = path
  }

  deinit { sqlite3_finalize(handle) }

  func reset() {
    sqlite3_reset(handle)
    bound = 0
  }

  private func check(_ status: Int32) throws(RelayError) {
    guard status == SQLITE_OK else { throw RelayDatabase.error(connection, status, path) }
  }

  @discardableResult
  func bind(_ value: Int64) throws(RelayError) -> RelayStatement {
    bound += 1
    try check(sqlite3_bind_int64(handle, bound, value))
    return self
  }

  @discardableResult
  func bind(_ value: UInt64) throws(RelayError) -> RelayStatement {
    try bind(Int64(bitPattern: value))
  }

  @discardableResult
  func bind(_ bytes: [UInt8]) throws(RelayError) -> RelayStatement {
    bound += 1
    let status = bytes.withUnsafeBytes { buffer in
      buffer.isEmpty
        ? sqlite3_bind_zeroblob(handle, bound, 0)
        : sqlite3_bind_blob(
          handle, bound, buffer.baseAddress, Int32(buffer.count), RelayStatement.transient)
    }
    try check(status)
    return self
  }

  @discardableResult
  func bind(text: String) throws(RelayError) -> RelayStatement {
    bound += 1
    try check(sqlite3_bind_text(handle, bound, text, -1, RelayStatement.transient))
    return self
  }

  @discardableResult
  func bindNull() throws(RelayError) -> RelayStatement {
    bound += 1
    try check(sqlite3_bind_null(handle, bound))
    return self
  }

  /// Steps to the next row.
  ///
  /// Returns false and resets the statement if there is none.
  func step() throws(RelayError) -> Bool {
    let status = sqlite3_step(handle)
    if status == SQLITE_ROW { return true }
    let error = status == SQLITE_DONE ? nil : RelayDatabase.error(connection, status, path)
    reset()
    if let error { throw error }
    return false
  }

  /// Runs a statement to its end.
  func execute() throws(RelayError) {
    while try step() {}
  }

  func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func uint(_ column: Int32) -> UInt64 { UInt64(bitPattern: int(column)) }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  func blob(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, column) else { return [] }
    return Array(
      UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  func text(_ column: Int32) -> String {
    sqlite3_column_text(handle, column).map { String(cString: $0) } ?? ""
  }

  func bytes32(_ column: Int32) throws(RelayError) -> Bytes32 {
    let bytes = blob(column)
    guard bytes.count == Bytes32.count else { throw RelayStatement.damaged(path) }
    return Bytes32(exactly: bytes)
  }

  func identifier(_ column: Int32) throws(RelayError) -> Identifier {
    guard let value = Identifier(bytes: blob(column)) else { throw RelayStatement.damaged(path) }
    return value
  }

  static func damaged(_ path: String) -> RelayError {
    RelayError(.corrupt, "\(path) holds values that no relay wrote: move it aside")
  }

  private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

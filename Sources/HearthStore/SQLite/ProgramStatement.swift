import GRDBSQLite
import HearthCRDT

/// A value in a row of a program's own SQL.
package enum SQLContent: Equatable, Sendable {
  case null
  case int(Int64)
  case real(Double)
  case text(String)
  case bytes([UInt8])
}

/// One statement of a program, compiled under the rules of a connection's authorizer.
final class ProgramStatement {
  private let handle: OpaquePointer
  private let connection: OpaquePointer

  /// Compiles a text.
  ///
  /// - Throws: `refused` unless it is one statement that reads.
  init(_ sql: String, on connection: OpaquePointer) throws {
    self.connection = connection
    var found: OpaquePointer?
    let (status, isAlone) = sql.withCString { text -> (Int32, Bool) in
      var rest: UnsafePointer<CChar>?
      let status = sqlite3_prepare_v2(connection, text, -1, &found, &rest)
      let others = rest.map { String(cString: $0) } ?? ""
      return (status, others.allSatisfy { $0.isWhitespace || $0 == ";" })
    }
    guard status == SQLITE_OK, let found else {
      throw status == SQLITE_OK
        ? StoreError(.refused, "the text has no statement")
        : ProgramStatement.error(connection, status)
    }
    handle = found
    guard isAlone, sqlite3_stmt_readonly(found) != 0, sqlite3_stmt_isexplain(found) == 0 else {
      // The object is complete, so its end finalises the statement.
      throw StoreError(.refused, "only one statement that reads is allowed")
    }
  }

  deinit { sqlite3_finalize(handle) }

  /// The names of the result's columns.
  var columns: [String] {
    (0..<sqlite3_column_count(handle)).map { place in
      sqlite3_column_name(handle, place).map { String(cString: $0) } ?? ""
    }
  }

  /// Binds the parameters in order.
  func bind(_ values: [Value]) throws {
    guard values.count == Int(sqlite3_bind_parameter_count(handle)) else {
      throw StoreError(
        .refused,
        "the SQL has \(sqlite3_bind_parameter_count(handle)) parameters, but \(values.count) "
          + "values are given")
    }
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for (place, value) in zip(Int32(1)..., values) {
      let status: Int32 =
        switch value {
        case .null: sqlite3_bind_null(handle, place)
        case .bool(let truth): sqlite3_bind_int64(handle, place, truth ? 1 : 0)
        case .int(let number): sqlite3_bind_int64(handle, place, number)
        case .text(let text):
          sqlite3_bind_text(handle, place, text, Int32(text.utf8.count), transient)
        case .bytes(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(handle, place, 0)
        case .bytes(let bytes):
          sqlite3_bind_blob(handle, place, bytes, Int32(bytes.count), transient)
        }
      guard status == SQLITE_OK else { throw ProgramStatement.error(connection, status) }
    }
  }

  /// Steps to the next row; false when there is none.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let status: throw ProgramStatement.error(connection, status)
    }
  }

  /// A value of the current row, with its size in bytes.
  func content(_ column: Int32) -> (SQLContent, Int) {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return (.int(sqlite3_column_int64(handle, column)), 8)
    case SQLITE_FLOAT: return (.real(sqlite3_column_double(handle, column)), 8)
    case SQLITE_TEXT:
      let start = sqlite3_column_text(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      let bytes = UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)
      return (.text(String(decoding: bytes, as: UTF8.self)), count)
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      let bytes = UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
      return (.bytes(Array(bytes)), count)
    default: return (.null, 0)
    }
  }

  private static func error(_ connection: OpaquePointer, _ status: Int32) -> StoreError {
    switch status & 0xff {
    case SQLITE_AUTH:
      return StoreError(
        .refused, "the SQL may only read the views of the application's record types")
    case SQLITE_INTERRUPT, SQLITE_TOOBIG, SQLITE_NOMEM:
      return StoreError(.tooLarge, "the SQL takes too many steps, or has too large a value")
    case SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_RANGE:
      let text = sqlite3_errmsg(connection).map { String(cString: $0) } ?? "unknown"
      return StoreError(.refused, "the SQL cannot be run: \(text)")
    default: return StoreError.ofSQLite(connection, status, "the program's SQL")
    }
  }
}

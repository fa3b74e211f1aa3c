import GRDBSQLite
import SimDisk

/// A failed call of SQLite.
struct SQLiteFailure: Error, CustomStringConvertible {
  /// The primary result code.
  var code: Int32
  var description: String
}

/// A connection without anything between the test and SQLite.
final class RawDatabase {
  private var handle: OpaquePointer?

  init(_ disk: SimDisk, _ name: String = "a.db", pragmas: [String] = []) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let status = sqlite3_open_v2(disk.path(for: name), &handle, flags, SimDisk.vfsName)
    do {
      guard status == SQLITE_OK else { throw failure(status) }
      for pragma in pragmas { try run("PRAGMA \(pragma)") }
    } catch {
      close()
      throw error
    }
  }

  deinit {
    close()
  }

  func close() {
    sqlite3_close_v2(handle)
    handle = nil
  }

  private func failure(_ status: Int32) -> SQLiteFailure {
    SQLiteFailure(code: status & 0xff, description: String(cString: sqlite3_errmsg(handle)))
  }

  /// Runs statements, without their results.
  func run(_ sql: String) throws {
    let status = sqlite3_exec(handle, sql, nil, nil, nil)
    guard status == SQLITE_OK else { throw failure(status) }
  }

  /// The first column of all rows, as text.
  func column(_ sql: String) throws -> [String] {
    var statement: OpaquePointer?
    let status = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    guard status == SQLITE_OK else { throw failure(status) }
    var result: [String] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        result.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "NULL")
      case SQLITE_DONE: return result
      case let status: throw failure(status)
      }
    }
  }

  /// The number in the only row.
  func number(_ sql: String) throws -> Int {
    try column(sql).first.flatMap { Int($0) } ?? -1
  }
}

/// How a database is opened; the order counts.
enum Opening {
  static let extra = ["synchronous = EXTRA", "journal_mode = WAL", "wal_autocheckpoint = 12"]
  static let full = ["synchronous = FULL", "journal_mode = WAL", "wal_autocheckpoint = 12"]
  static let off = ["synchronous = OFF", "journal_mode = WAL", "wal_autocheckpoint = 12"]
  static let journal = ["synchronous = EXTRA", "journal_mode = DELETE"]
}

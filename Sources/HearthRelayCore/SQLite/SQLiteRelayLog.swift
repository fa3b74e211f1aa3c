import HearthCRDT
import HearthCrypto
import HearthSync
import Synchronization

/// The durable log in one SQLite file: the relay's default.
///
/// One connection writes and one reads, each behind its own lock; with write-ahead logging neither
/// waits for the other. A batch is one transaction and one sync of the disk. After a write failed
/// for a reason other than a full disk, nothing more is written. The system's cache may then differ
/// from the disk, so the process has to end and reopen the file.
package final class SQLiteRelayLog: RelayLog {
  /// The file's name within the relay's folder.
  package static let fileName = "relay.sqlite"

  private let writer: Mutex<Writer>
  private let reader: Mutex<RelayDatabaseBox>
  let path: String

  private struct Writer {
    let box: RelayDatabaseBox
    var isBroken = false
  }

  /// Opens the log of a folder, creating it if there is none.
  ///
  /// - Parameter vfs: the name of SQLite's file system; the system's own if nil.
  /// - Throws: `notDurable` if SQLite does not sync as it must, `newer`, `corrupt`, `inputOutput`.
  package convenience init(folder: String, vfs: String? = nil) throws(RelayError) {
    try self.init(file: "\(folder)/\(SQLiteRelayLog.fileName)", vfs: vfs)
  }

  /// Opens the log in a file, creating it if there is none.
  package init(file path: String, vfs: String? = nil) throws(RelayError) {
    let database = try SQLiteRelayLog.open(path, vfs: vfs)
    try SQLiteRelayLog.takeOverJournal(of: database)
    try RelayMigrations.migrate(database, path: path)
    let reading = try SQLiteRelayLog.open(path, vfs: vfs)
    try reading.execute("PRAGMA query_only = 1")
    self.path = path
    writer = Mutex(Writer(box: RelayDatabaseBox(database)))
    reader = Mutex(RelayDatabaseBox(reading))
  }

  /// Moves the write-ahead log of an earlier process into the file, durably, unless another process
  /// uses it.
  ///
  /// After a failed sync the write-ahead log may contain commits that only the system's cache has.
  /// Commits that are appended behind them, and acknowledged, would be lost with them at a power
  /// failure (Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020).
  private static func takeOverJournal(of database: RelayDatabase) throws(RelayError) {
    if Mutant.relayKeepsJournal.isActive { return }
    try database.withoutWaiting { () throws(RelayError) in
      _ = try database.number("PRAGMA wal_checkpoint(TRUNCATE)")
    }
  }

  /// Opens a connection and ensures that a commit is on the disk when it returns.
  static func open(_ path: String, vfs: String? = nil) throws(RelayError) -> RelayDatabase {
    let database = try RelayDatabase(path: path, vfs: vfs)
    try database.execute("PRAGMA auto_vacuum = INCREMENTAL")
    let mode = try database.text("PRAGMA journal_mode = WAL")
    try database.execute("PRAGMA synchronous = EXTRA")
    try database.execute("PRAGMA wal_autocheckpoint = 4000")
    try database.execute("PRAGMA journal_size_limit = 67108864")
    try database.execute("PRAGMA cache_size = -8192")
    let level = try database.number("PRAGMA synchronous")
    if Mutant.relayNeverSyncs.isActive { try database.execute("PRAGMA synchronous = OFF") }
    guard mode == "wal", level == 3 else {
      throw RelayError(
        .notDurable,
        "SQLite does not sync \(path) durably (\(mode), \(level)): use a local disk")
    }
    return database
  }

  /// Whether a write failed so that only reopening the file helps.
  package var isBroken: Bool { writer.withLock { $0.isBroken } }

  package var isHealthy: Bool { !isBroken }

  package func write(_ batch: [RelayWrite]) throws(RelayError) -> [RelayWritten] {
    let result: Result<[RelayWritten], RelayError> = writer.withLock { writer in
      guard !writer.isBroken else {
        return .failure(
          RelayError(.inputOutput, "\(path) failed earlier: restart the relay when the disk works"))
      }
      let database = writer.box.database
      do throws(RelayError) {
        return .success(
          try database.transaction { () throws(RelayError) in
            var results: [RelayWritten] = []
            results.reserveCapacity(batch.count)
            let writer = SQLiteRelayWriter(database: database)
            for write in batch { results.append(try writer.perform(write)) }
            return results
          })
      } catch {
        writer.isBroken = error != RelayError(.diskFull, "") && error != RelayError(.locked, "")
        return .failure(error)
      }
    }
    return try result.get()
  }

  package func read(_ question: RelayRead) throws(RelayError) -> RelayAnswer {
    try inspect { database throws(RelayError) in
      try SQLiteRelayReader(database: database).answer(question)
    }
  }

  /// Runs a body on the reading connection, in one snapshot.
  ///
  /// Writers continue meanwhile.
  func inspect<Value: Sendable>(
    _ body: (RelayDatabase) throws(RelayError) -> Value
  ) throws(RelayError) -> Value {
    let result: Result<Value, RelayError> = reader.withLock { box in
      do throws(RelayError) {
        try box.database.statement("BEGIN").execute()
        // Ending a snapshot changes nothing, so a failure to end it need not be reported.
        defer { try? box.database.statement("COMMIT").execute() }
        return .success(try body(box.database))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Runs a body of the operator's commands on the writing connection, in one transaction.
  func administer<Value: Sendable>(
    _ body: (RelayDatabase) throws(RelayError) -> Value
  ) throws(RelayError) -> Value {
    let result: Result<Value, RelayError> = writer.withLock { writer in
      let database = writer.box.database
      do throws(RelayError) {
        return .success(
          try database.transaction { () throws(RelayError) in try body(database) })
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Runs a statement of the operator's commands outside of any transaction.
  package func executeAlone(_ sql: String) throws(RelayError) {
    let result: Result<Void, RelayError> = writer.withLock { writer in
      do throws(RelayError) {
        return .success(try writer.box.database.execute(sql))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }
}

/// A connection that passes into a lock.
///
/// Unchecked: the only user of a box is the mutex that holds it, so one thread at a time uses the
/// connection. SQLite requires no more (`SQLITE_OPEN_NOMUTEX`).
private struct RelayDatabaseBox: @unchecked Sendable {
  let database: RelayDatabase

  init(_ database: RelayDatabase) { self.database = database }
}

import Foundation
import GRDB
import HearthCRDT

/// The database file of a replica, and how it is opened for durable writing.
enum ReplicaFile {
  /// The path of a replica that lives in memory.
  static let inMemoryPath = ":memory:"

  /// Opens or creates the file.
  static func open(_ path: String, takesOverLog: Bool, vfs: String?) throws -> DatabaseQueue {
    // SQLite treats a file that is too short for a header as empty, and overwrites it.
    let size =
      vfs != nil
      ? nil : (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber
    if let size, (1..<ReplicaFile.headerBytes).contains(size.intValue) {
      throw StoreError(
        .corrupt,
        "the database at \(path) is cut to \(size) bytes: keep the folder, move it aside, then "
          + "`hearth recover` or join again; what was synced is on the other devices")
    }
    var configuration = Configuration()
    configuration.label = "hearth"
    configuration.busyMode = .timeout(2)
    configuration.prepareDatabase { database in
      try ReplicaFile.refuseForeign(database, path: path)
      try database.execute(sql: "PRAGMA synchronous = \(Connection.durableLevel)")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      try database.execute(sql: "PRAGMA wal_autocheckpoint = \(ReplicaFile.logPages)")
      try database.execute(sql: "PRAGMA journal_size_limit = \(ReplicaFile.keptLogBytes)")
      try database.execute(sql: "PRAGMA temp_store = MEMORY")
      try database.execute(sql: "PRAGMA cache_size = -8000")
      try database.execute(sql: "PRAGMA mmap_size = 0")
    }
    do {
      let location = try vfs.map { try DatabaseLocation.uri(path: path, vfs: $0) } ?? path
      let queue = try DatabaseQueue(path: location, configuration: configuration)
      // A library that sets its own level after preparation must not go unnoticed.
      let isSafe = try queue.inDatabase { database in
        try Int.fetchOne(database, sql: "PRAGMA synchronous") == 3
          && String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
      }
      guard isSafe || path == inMemoryPath || Mutant.neverSyncs.isActive else {
        throw StoreError(.io, "the database at \(path) cannot be opened for durable writing")
      }
      if takesOverLog { try ReplicaFile.takeOverLog(of: queue) }
      return queue
    } catch {
      throw opened(error, path: path)
    }
  }

  /// Opens a file that a writer of this process has open, for reading alone.
  static func openToRead(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "hearth-reader"
    configuration.readonly = true
    configuration.busyMode = .timeout(2)
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA temp_store = MEMORY")
      try database.execute(sql: "PRAGMA cache_size = -8000")
      try database.execute(sql: "PRAGMA mmap_size = 0")
    }
    do {
      return try DatabaseQueue(path: path, configuration: configuration)
    } catch {
      throw opened(error, path: path)
    }
  }

  /// Moves an earlier process's write-ahead log into the database, durably.
  ///
  /// After a failed sync, the log may contain commits that exist only in the page cache. They can
  /// be read, but a power cut would lose them together with everything appended after them. A log
  /// that was closed properly does not exist, and then this costs nothing.
  private static func takeOverLog(of queue: DatabaseQueue) throws {
    try queue.inDatabase { database in
      _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }
  }

  /// The pages of a write-ahead log from which on a commit moves them to the file, at 4 KiB each.
  ///
  /// The commit waits for the disk then, so it should happen rarely; a closed database has no log.
  private static let logPages = 8_192
  /// How much of the log's file stays for the next one.
  private static let keptLogBytes = 4 * 1_024 * 1_024

  /// Moves what is committed from the write-ahead log to the file, on a connection of its own, as
  /// far as no reader needs it; nobody waits for that.
  static func moveLog(of path: String) throws {
    var configuration = Configuration()
    configuration.label = "hearth-log"
    configuration.busyMode = .timeout(2)
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.inDatabase { database in
      _ = try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(PASSIVE)")
    }
    try queue.close()
  }

  /// The length of an SQLite file's header.
  private static let headerBytes = 100

  /// Refuses another program's database before changing anything in it.
  private static func refuseForeign(_ database: Database, path: String) throws {
    let application = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
    if application == Migrations.applicationID { return }
    let tables = try String.fetchAll(
      database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
    // A power cut during creation leaves only the list of migrations.
    let isBegun = tables.allSatisfy { $0 == "grdb_migrations" }
    guard application == 0, isBegun || tables.contains("hearth_facts") else {
      throw StoreError(
        .corrupt,
        "the database at \(path) belongs to another program: move it aside, or use another --home")
    }
  }

  /// The error for a database that cannot be opened.
  static func opened(_ error: any Error, path: String) -> any Error {
    guard let database = error as? DatabaseError else { return error }
    switch database.resultCode {
    case .SQLITE_NOTADB, .SQLITE_CORRUPT:
      return StoreError(
        .corrupt,
        "the database at \(path) is damaged: keep the folder, move it aside, then "
          + "`hearth recover` or join again; what was synced is on the other devices", cause: error)
    case .SQLITE_IOERR where isFull(path), .SQLITE_CANTOPEN where isFull(path), .SQLITE_FULL:
      return StoreError(.full, "the disk is full: free some space and try again", cause: error)
    case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM:
      return StoreError(
        .readOnly,
        "the database at \(path) cannot be opened: check the folder's permissions and its disk",
        cause: error)
    case .SQLITE_BUSY, .SQLITE_LOCKED:
      return StoreError(.locked, "another process uses \(path)", cause: error)
    default:
      return StoreError(
        .io, "the database at \(path) cannot be opened: \(database.message ?? "unknown")",
        cause: error)
    }
  }

  /// Whether the disk has no room even for SQLite's shared memory.
  ///
  /// SQLite reports that as a failing disk.
  private static func isFull(_ path: String) -> Bool {
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
    guard let free = attributes?[.systemFreeSize] as? NSNumber else { return false }
    return free.int64Value < 64 * 1024
  }
}

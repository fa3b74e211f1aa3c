import Foundation
import GRDB
import HearthCRDT
import HearthMembership
import HearthSync

/// A node's replica on SQLite: log, records, projections and the node's own facts.
///
/// Confined to one executor at a time (its node's); every call runs on the connection's queue. The
/// file is opened with `synchronous=EXTRA` before `journal_mode=WAL`. So a commit that returned
/// survives a power cut even where unlinking a file is not durable by itself.
package final class ReplicaStore {
  let connection: Connection
  let authors: AuthorNumbers
  private(set) var tables: [TypeID: TypeTable] = [:]
  private(set) var zoneNumbers: [ZoneID: Int64] = [:]
  /// The segments of each zone as last read.
  ///
  /// Every sync round over a transport requests them, and few rounds change any.
  var knownSegments: [ZoneID: [StoredSegment]] = [:]
  /// Each group's last fold, so that the next one does not verify the same signatures again.
  var lastMemberships: [GroupID: Membership] = [:]
  /// True from a failed transaction until the cached values are read again.
  private var remembersUndone = false
  let projections: [any Projection]
  /// The range queries requested so far; there are few.
  private var queries: [RangeShape: RangeQuery] = [:]
  private var projectedTables: [String: [ProjectedTable]] = [:]
  /// The path of the database.
  package let path: String

  /// The path of a replica that lives in memory, until it is closed.
  package static let inMemoryPath = ":memory:"

  /// Opens or creates a replica.
  ///
  /// - Parameters:
  ///   - path: the database file, whose folder must exist; or `inMemoryPath`.
  ///   - schema: the record types of the program.
  ///   - projections: the derived tables to maintain.
  ///   - vfs: the name of a VFS registered with SQLite that contains the file; nil for the
  ///     system's.
  /// - Throws: `StoreError`, with the fault of the file and the remedy.
  package init(
    path: String, schema: [RecordSchema], projections: [any Projection] = [], vfs: String? = nil
  ) throws {
    self.path = path
    self.projections = projections
    let queue = try ReplicaStore.open(path, vfs: vfs)
    do {
      let migrator = Migrations.migrator()
      guard try !queue.read(migrator.hasBeenSuperseded) else {
        throw StoreError(
          .newerFormat,
          "the database at \(path) was written by a newer version of this program: update it")
      }
      try migrator.migrate(queue)
      connection = try Connection(queue: queue)
      let connection = connection
      authors = try connection.run { _ in try AuthorNumbers(connection: connection) }
    } catch {
      throw ReplicaStore.opened(error, path: path)
    }
    do {
      try connection.transaction {
        try reloadZones()
        tables = try SchemaRegistry(connection: connection).register(schema) { codec($0) }
        try prepareProjections()
      }
    } catch {
      throw ReplicaStore.opened(error, path: path)
    }
  }

  /// Whether another connection has written since this one was opened.
  package var wasChangedElsewhere: Bool { get throws { try connection.wasChangedElsewhere() } }

  /// Closes the database; no other call may follow.
  package func close() throws {
    try connection.close()
  }

  private static func open(_ path: String, vfs: String?) throws -> DatabaseQueue {
    // SQLite treats a file that is too short for a header as empty, and overwrites it.
    let size =
      vfs != nil
      ? nil : (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? NSNumber
    if let size, (1..<ReplicaStore.headerBytes).contains(size.intValue) {
      throw StoreError(
        .corrupt,
        "the database at \(path) is cut to \(size) bytes: keep the folder, move it aside, then "
          + "`hearth recover` or join again; what was synced is on the other devices")
    }
    var configuration = Configuration()
    configuration.label = "hearth"
    configuration.busyMode = .timeout(2)
    configuration.prepareDatabase { database in
      try ReplicaStore.refuseForeign(database, path: path)
      let level = Mutant.neverSyncs.isActive ? "OFF" : "EXTRA"
      try database.execute(sql: "PRAGMA synchronous = \(level)")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
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
      try ReplicaStore.takeOverLog(of: queue)
      return queue
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

  private static func opened(_ error: any Error, path: String) -> any Error {
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

  // MARK: Shared by the parts

  func codec(_ table: TypeTable) -> RowCodec {
    RowCodec(table: table, connection: connection, authors: authors)
  }

  var opaque: OpaqueCodec { OpaqueCodec(connection: connection, authors: authors) }

  /// Returns the query of a shape, created on first use.
  func query(_ shape: RangeShape, _ make: () throws -> RangeQuery) rethrows -> RangeQuery {
    if let present = queries[shape] { return present }
    let query = try make()
    queries[shape] = query
    return query
  }

  /// Returns the tables of a projection; their statements' texts are created on first use.
  func tables(of projection: any Projection) -> [ProjectedTable] {
    if let present = projectedTables[projection.name] { return present }
    let tables = projection.tables.map { ProjectedTable(projection, $0) }
    projectedTables[projection.name] = tables
    return tables
  }

  func number(of zone: ZoneID) throws -> Int64 {
    guard let number = zoneNumbers[zone] else {
      throw StoreError(.notFound, "zone \(zone.hex) is not in this node's database")
    }
    return number
  }

  func note(zone: ZoneID, number: Int64) {
    zoneNumbers[zone] = number
  }

  private func reloadZones() throws {
    zoneNumbers = [:]
    let statement = try connection.statement("SELECT id, number FROM hearth_zones")
    while try statement.step() {
      zoneNumbers[try statement.identifier(0)] = statement.int(1)
    }
  }

  /// Runs a body in one durable transaction, or in a savepoint of the open one.
  ///
  /// An error undoes the whole body, and nothing from before it.
  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try connection.transaction {
        if remembersUndone { try readAgain() }
        return try body()
      }
    } catch {
      // Author numbers that the undone transaction assigned must be forgotten with it. If even the
      // read fails, the first error is reported, and the store does not continue on stale values.
      remembersUndone = true
      let first = error
      do {
        try connection.run { _ in try readAgain() }
      } catch {
        connection.spoilTransaction(first)
      }
      throw first
    }
  }

  /// Reads all cached values from the database again.
  private func readAgain() throws {
    knownSegments = [:]
    try authors.reload()
    try reloadZones()
    remembersUndone = false
  }

  /// Runs reads on the connection's queue.
  package func read<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.run { _ in try body() }
  }

  /// Runs reads that all see one state: that of the first of them.
  ///
  /// One transaction for all of them also takes the file's lock once instead of once per statement,
  /// which is a third of the time of reading a large household. The body must not write.
  package func readOneState<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.run { _ in
      guard !connection.isInTransaction else { return try body() }
      try connection.statement("BEGIN").execute()
      // Nothing was written, so a failure to end the transaction loses nothing; closing ends it
      // too.
      defer { try? connection.statement("COMMIT").execute() }
      return try body()
    }
  }

  /// Returns SQLite's integrity report: "ok", or the faults.
  package func integrity() throws -> [String] {
    try connection.run { _ in
      let statement = try connection.statement("PRAGMA integrity_check")
      var lines: [String] = []
      while try statement.step() { lines.append(statement.text(0)) }
      return lines
    }
  }

  /// Rebuilds every index from the rows of its table.
  package func rebuildIndexes() throws {
    try connection.run { _ in try connection.execute("REINDEX") }
  }

  /// The declared types, in order of number.
  package var schemas: [RecordSchema] {
    tables.values.map(\.schema).sorted { $0.id < $1.id }
  }
}

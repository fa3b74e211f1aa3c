import GRDB
import HearthCRDT
import HearthMembership
import HearthSync

/// A node's replica on SQLite: log, records, projections and the node's own facts.
///
/// Confined to one executor at a time (its node's); every call runs on the connection's queue. The
/// file is opened with `synchronous=EXTRA` before `journal_mode=WAL`. So a commit that returned
/// survives a power cut even where unlinking a file is not durable by itself.
package final class ReplicaStore: Store {
  let connection: Connection
  let authors: AuthorNumbers
  package let zones: SQLiteZones
  package let log: SQLiteLog
  package let pending: SQLitePending
  package let records: SQLiteRecords
  package let projections: SQLiteProjections
  package let snapshots: SQLiteSnapshots
  package let drafts: SQLiteDrafts
  package let facts: SQLiteFacts
  package let notices: SQLiteNotices
  /// Answers programs' queries.
  package let queries: SQLiteQueries
  /// True from a failed transaction until the cached values are read again.
  private var remembersUndone = false
  /// The path of the database.
  package let path: String

  /// The path of a replica that lives in memory, until it is closed.
  package static let inMemoryPath = ReplicaFile.inMemoryPath

  /// Opens or creates a replica.
  ///
  /// - Parameters:
  ///   - path: the database file, whose folder must exist; or `inMemoryPath`.
  ///   - schema: the record types of the program.
  ///   - projections: the derived tables to maintain.
  ///   - application: the program's application. A file of another one is refused.
  ///   - lookups: what queries of the record types rely on.
  ///   - takesOverLog: whether an earlier process may have left a write-ahead log that is not on
  ///     the disk. Taking it over waits for readers, and copies all of it.
  ///   - vfs: the name of a VFS registered with SQLite that contains the file; nil for the
  ///     system's.
  /// - Throws: `StoreError`, with the fault of the file and the remedy.
  package init(
    path: String, schema: [RecordSchema], projections: [any Projection] = [],
    application: ApplicationIdentifier = .household, lookups: [TypeLookups] = [],
    takesOverLog: Bool = true, vfs: String? = nil
  ) throws {
    self.path = path
    let queue = try ReplicaFile.open(path, takesOverLog: takesOverLog, vfs: vfs)
    do {
      try ReplicaStore.migrate(queue, path: path)
      connection = try Connection(queue: queue)
      let connection = connection
      authors = try connection.run { try AuthorNumbers(connection: connection) }
    } catch {
      throw ReplicaFile.opened(error, path: path)
    }
    let (connection, authors) = (self.connection, self.authors)
    let zones = SQLiteZones(connection: connection, authors: authors)
    self.zones = zones
    log = SQLiteLog(connection: connection, authors: authors, zones: zones)
    pending = SQLitePending(connection: connection, zones: zones)
    snapshots = SQLiteSnapshots(connection: connection, zones: zones)
    let facts = SQLiteFacts(connection: connection)
    self.facts = facts
    notices = SQLiteNotices(connection: connection)
    do {
      let (stored, derived, queries) = try connection.transaction {
        try zones.reload()
        try ApplicationMark(connection: connection, facts: facts).require(application)
        let tables = try SchemaRegistry(connection: connection).register(schema) {
          RowCodec(table: $0, connection: connection, authors: authors)
        }
        let records = SQLiteRecords(
          tables: tables, connection: connection, authors: authors, zones: zones)
        let cache = ProjectionCache(connection: connection, zones: zones, records: records)
        let derived = SQLiteProjections(projections, cache: cache)
        try derived.prepare()
        let sources = QueryTable.all(lookups, in: tables)
        try QueryPreparation(connection: connection, facts: facts).prepare(sources)
        let queries = SQLiteQueries(
          connection: connection, zones: zones, authors: authors, sources: sources)
        return (records, derived, queries)
      }
      (records, self.projections, self.queries) = (stored, derived, queries)
      drafts = SQLiteDrafts(
        connection: connection, zones: zones, records: stored, projections: derived,
        path: vfs == nil && path != ReplicaFile.inMemoryPath ? path : nil)
    } catch {
      throw ReplicaFile.opened(error, path: path)
    }
  }

  /// Brings a database to the present format.
  ///
  /// - Throws: `newerFormat` or `earlierFormat`, for a database that this version cannot read;
  ///   nothing is changed then.
  private static func migrate(_ queue: DatabaseQueue, path: String) throws {
    let migrator = Migrations.migrator()
    guard try !queue.read(migrator.hasBeenSuperseded) else {
      throw StoreError(
        .newerFormat,
        "the database at \(path) was written by a newer version of this program: update it")
    }
    guard try !queue.read(Migrations.isEarlier) else {
      throw StoreError(
        .earlierFormat,
        "an earlier version of this program wrote this node's database, and this version cannot "
          + "read its households; nothing was changed: keep the folder, move it aside, then "
          + "`hearth init` and create or join a household; the earlier version still shows and "
          + "exports what is there")
    }
    try migrator.migrate(queue)
  }

  package var attachments: SQLiteAttachments {
    SQLiteAttachments(connection: connection, zones: zones)
  }

  /// Whether another connection has written since this one was opened.
  package var wasChangedElsewhere: Bool { get throws { try connection.wasChangedElsewhere() } }

  /// Whether the write-ahead log may hold a commit that is not on the disk, after a failed sync.
  package var hasUnsafeLog: Bool { connection.hasUnsafeLog }

  /// Closes the database; no other call may follow.
  package func close() throws {
    try connection.close()
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
        try connection.run { try readAgain() }
      } catch {
        connection.spoilTransaction(first)
      }
      throw first
    }
  }

  /// Marks a place in the open transaction, to which ``undoTrial()`` goes back.
  package func beginTrial() throws {
    try connection.run { try connection.execute("SAVEPOINT trial") }
  }

  /// Undoes what was written since ``beginTrial()``; the place stays marked.
  package func undoTrial() throws {
    try connection.run {
      try connection.execute("ROLLBACK TO trial")
      try readAgain()
    }
  }

  /// Reads all cached values from the database again.
  private func readAgain() throws {
    log.forget()
    try authors.reload()
    try zones.reload()
    remembersUndone = false
  }

  /// Runs reads on the connection's queue.
  package func read<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.run { try body() }
  }

  /// Runs reads that all see one state: that of the first of them.
  ///
  /// One transaction for all of them also takes the file's lock once instead of once per statement,
  /// which is a third of the time of reading a large household. The body must not write.
  package func readOneState<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.readOneState(body)
  }

  /// Returns SQLite's integrity report: "ok", or the faults.
  package func integrity() throws -> [String] {
    try connection.run {
      let statement = try connection.statement("PRAGMA integrity_check")
      var lines: [String] = []
      while try statement.step() { lines.append(statement.text(0)) }
      return lines
    }
  }

  /// Rebuilds every index from the rows of its table.
  package func rebuildIndexes() throws {
    try connection.run { try connection.execute("REINDEX") }
  }

  /// Runs reads that may compute derived rows, in a transaction that a power cut may undo.
  ///
  /// Rows that are lost in this way are out of date again, and computed by the next reading.
  package func readComputing<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.relaxedTransaction(body)
  }

  /// Computes all derived rows of a zone that are out of date.
  package func computeProjections(of zone: ZoneID) throws {
    try readComputing { try projections.computeRows(of: zone) }
  }

  /// Rebuilds every projection of a zone.
  package func rebuildProjections(of zone: ZoneID) throws {
    try transaction { try projections.rebuildAll(of: zone) }
  }

  /// Compares every projection of a zone with a rebuild, without keeping the rebuild.
  ///
  /// - Returns: the names of the tables whose rows differ.
  package func staleProjections(of zone: ZoneID) throws -> [String] {
    struct Undo: Error {}
    var stale: [String] = []
    do {
      try transaction {
        try projections.computeRows(of: zone)
        let before = try projections.rows(of: zone)
        try projections.rebuildAll(of: zone)
        let after = try projections.rows(of: zone)
        stale = before.keys.sorted().filter { before[$0] != after[$0] }
        throw Undo()
      }
    } catch is Undo {}
    return stale
  }
}

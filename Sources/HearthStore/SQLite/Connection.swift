import Foundation
import GRDB
import GRDBSQLite
import HearthCRDT
import Synchronization

/// A connection of a node's database, with its prepared statements: one writes, others only read.
///
/// GRDB opens, migrates and serialises it. Statements of hot paths are bound and stepped directly,
/// which costs a third of GRDB's own argument binding.
final class Connection {
  let queue: DatabaseQueue
  let handle: OpaquePointer
  private var statements: [String: Statement] = [:]
  /// The statements of programs' queries, whose texts are not known before and may be many.
  private var queryStatements: [String: Statement] = [:]
  private static let maximumQueryStatements = 128
  /// The thread that runs a body on the queue; 0 for none.
  private let owner = Atomic<UInt>(0)
  /// Whether it was closed: SQLite's handle must not be used any more.
  private var isClosed = false
  /// Whether a body runs in a transaction, even one that SQLite has ended already.
  private var isTransacting = false
  /// Whether the write-ahead log may hold frames that are not on the disk, after a failed sync.
  private(set) var hasUnsafeLog = false
  /// The error of a savepoint that could not be undone: the transaction must not be committed.
  private var failure: (any Error)?
  /// SQLite's number of the database as other connections had left it at the beginning.
  private var firstVersion: Int64 = 0

  init(queue: DatabaseQueue) throws {
    self.queue = queue
    let found = queue.inDatabase { $0.sqliteConnection }
    guard let found else {
      throw StoreError(.failed, "the database connection is closed")
    }
    handle = found
    // GRDB makes every compiled statement report which columns it reads, for observers that this
    // store does not have: half the time of compiling. Removing the hook expires no statement.
    sqlite3_set_authorizer(found, nil, nil)
    firstVersion = try version()
  }

  /// Whether another connection has written since this one was opened.
  func wasChangedElsewhere() throws -> Bool { try version() != firstVersion }

  private func version() throws -> Int64 {
    try run {
      let statement = try statement("PRAGMA data_version").reset()
      let version = try statement.step() ? statement.int(0) : 0
      statement.reset()
      return version
    }
  }

  /// Finalises every statement, then closes.
  func close() throws {
    try run { forgetStatements() }
    isClosed = true
    try queue.close()
  }

  /// Runs a body on the connection's own queue, or directly if it is there already.
  ///
  /// - Throws: what the body throws; `failed` if the connection was closed.
  func run<Result>(_ body: () throws -> Result) throws -> Result {
    guard !isClosed else { throw StoreError(.failed, "the database connection is closed") }
    // A body within a body is on the queue already, and most calls come from one.
    if owner.load(ordering: .relaxed) == Connection.thread { return try body() }
    return try queue.inDatabase { _ in
      owner.store(Connection.thread, ordering: .relaxed)
      defer { owner.store(0, ordering: .relaxed) }
      return try body()
    }
  }

  /// The number of the running thread, which is never 0.
  private static var thread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      pthread_self()
    #endif
  }

  /// Runs a body in a transaction, or in a savepoint of the open one.
  ///
  /// A failed savepoint is undone alone: a caller that catches the error continues as if the body
  /// had not begun.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    if isTransacting {
      return Mutant.leavesFailedPart.isActive ? try body() : try part(body)
    }
    return try run {
      try statement("BEGIN IMMEDIATE").execute()
      failure = nil
      isTransacting = true
      defer { isTransacting = false }
      do {
        let result = try body()
        if let failure { throw failure }
        if Mutant.acknowledgesEarly.isActive {
          if (try? statement("COMMIT").execute()) == nil {
            try? statement("ROLLBACK").execute()
          }
          return result
        }
        try statement("COMMIT").execute()
        return result
      } catch {
        Probe.transactionUndone.hit()
        if sqlite3_get_autocommit(handle) == 0 {
          // If the rollback fails, SQLite undoes the transaction on closing; the first error is
          // reported.
          try? statement("ROLLBACK").execute()
        }
        if (error as? StoreError)?.code == .io { emptyLog() }
        throw error
      }
    }
  }

  /// How SQLite waits for the disk when a transaction is committed.
  static var durableLevel: String { Mutant.neverSyncs.isActive ? "OFF" : "EXTRA" }

  /// Runs a body in a transaction that a power cut may undo after it returned.
  ///
  /// What was committed before stays, and later transactions are as durable as ever: the log is in
  /// the order of the transactions, and the next durable one brings all of it to the disk.
  func relaxedTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    guard !isTransacting else { return try transaction(body) }
    return try run {
      try executeAnyway("PRAGMA synchronous = NORMAL")
      let result = Swift.Result { try transaction(body) }
      do {
        try executeAnyway("PRAGMA synchronous = \(Connection.durableLevel)")
      } catch {
        // Nothing may be acknowledged any more that is not durable.
        isClosed = true
        throw error
      }
      return try result.get()
    }
  }

  /// Runs reads that all see one state: that of the first of them; the body must not write.
  func readOneState<Result>(_ body: () throws -> Result) throws -> Result {
    try run {
      guard !isInTransaction else { return try body() }
      try statement("BEGIN").execute()
      // Nothing was written, so a failure to end the transaction loses nothing; closing ends it
      // too.
      defer { try? statement("COMMIT").execute() }
      return try body()
    }
  }

  /// Prevents the open transaction from being committed, with the reason.
  func spoilTransaction(_ error: any Error) { failure = failure ?? error }

  private func part<Result>(_ body: () throws -> Result) throws -> Result {
    try statement("SAVEPOINT part").execute()
    do {
      let result = try body()
      try statement("RELEASE part").execute()
      return result
    } catch {
      // Some faults end the whole transaction at once; then there is nothing to roll back to. The
      // first error is reported.
      let first = error
      do {
        try statement("ROLLBACK TO part").execute()
        try statement("RELEASE part").execute()
      } catch {
        spoilTransaction(first)
      }
      throw first
    }
  }

  /// Moves committed frames out of the write-ahead log and empties it, as far as possible.
  ///
  /// After a failed sync the log contains frames of the undone commit that are in the system's
  /// cache and not on the disk. This connection overwrites them. But if the process ended, the next
  /// one would take them for a commit, write after them, and lose all of it in a power cut (Rebello
  /// et al., "Can Applications Recover from fsync Failures?", ATC 2020).
  private func emptyLog() {
    guard !isInTransaction else { return }
    // The disk is failing; the first error is reported.
    let checkpoint = try? Statement("PRAGMA wal_checkpoint(TRUNCATE)", on: handle)
    let isDone = (try? checkpoint?.step()) ?? false
    // The first column says whether a reader or writer was in the way.
    hasUnsafeLog = !isDone || checkpoint?.int(0) != 0
  }

  /// Returns a prepared statement, compiled once per text, ready to be bound.
  ///
  /// - Throws: `StoreError`, also if a fault has ended the caller's transaction: a write would now
  ///   be a commit of its own.
  func statement(_ sql: String) throws -> Statement {
    try requireTransaction(for: sql)
    if let present = statements[sql] { return present.reset() }
    let statement = try Statement(sql, on: handle)
    statements[sql] = statement
    return statement
  }

  /// Returns a prepared statement of a kind of which there may be many.
  ///
  /// That is a program's query, or an update of some columns. Only the last ones are kept.
  ///
  /// - Throws: the errors of ``statement(_:)``.
  func queryStatement(_ sql: String) throws -> Statement {
    try requireTransaction(for: sql)
    if let present = queryStatements[sql] { return present.reset() }
    if queryStatements.count >= Connection.maximumQueryStatements { queryStatements.removeAll() }
    let statement = try Statement(sql, on: handle)
    queryStatements[sql] = statement
    return statement
  }

  private func requireTransaction(for sql: String) throws {
    guard isTransacting, sqlite3_get_autocommit(handle) != 0 else { return }
    throw failure
      ?? StoreError(.failed, "an earlier fault ended the transaction: \(sql.prefix(60))")
  }

  /// Runs statements that are used once.
  ///
  /// - Throws: the errors of ``statement(_:)``.
  func execute(_ sql: String) throws {
    try requireTransaction(for: sql)
    try executeAnyway(sql)
  }

  private func executeAnyway(_ sql: String) throws {
    let status = sqlite3_exec(handle, sql, nil, nil, nil)
    guard status == SQLITE_OK else { throw StoreError.ofSQLite(handle, status, sql) }
  }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// The number of rows that the last statement changed.
  var changedRows: Int { Int(sqlite3_changes(handle)) }

  /// Discards prepared statements, before tables change their shape.
  func forgetStatements() {
    statements.removeAll()
    queryStatements.removeAll()
  }
}

import HearthCRDT
import HearthStore
import HearthSync

/// One turn at writing a zone's records.
struct ZoneWork: NodeWork {
  let core: NodeCore
  let zone: ZoneID

  /// The error of a transaction's body, which is not Hearth's own.
  struct BodyError: Error {
    let error: any Error

    /// Runs a caller's body and marks its errors.
    static func marking<Result>(_ body: () throws -> Result) throws -> Result {
      do {
        return try body()
      } catch {
        throw BodyError(error: error)
      }
    }
  }

  /// Runs a body of a public call that may throw errors of its caller, which pass unchanged.
  static func reported<Result>(
    _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch let error as BodyError {
      throw error.error
    } catch {
      throw HearthError(translating: error)
    }
  }

  /// Undoes the writes that a transaction tried.
  private struct Tried: Error {}

  /// Writes one transaction, if its body writes anything.
  ///
  /// - Throws: `BodyError` with what the body throws; nothing is written then.
  func write<Result>(_ body: (ZoneTransaction) throws -> Result) throws -> Result {
    guard try !ExchangeScope(engine: engine).isRetired(engine.zone(zone)) else {
      throw HearthError(
        .invalid,
        "this is no longer the private database, as the device now shares another one: look it "
          + "up again")
    }
    let (result, transaction) = try run(body)
    let later = transaction.later.remaining()
    guard !(transaction.operations.isEmpty && later.isEmpty) else { return result }
    // The content comes first: a record that leads nowhere would be worse than content that no
    // record needs, which the device drops in time.
    let chunks = transaction.chunks
    if !chunks.isEmpty {
      try store.transaction { for chunk in chunks { try store.attachments.save(chunk, in: zone) } }
    }
    do {
      try write(transaction.operations, later)
    } catch {
      if !chunks.isEmpty {
        try store.transaction { try store.attachments.forget(chunks.map(\.digest), in: zone) }
      }
      throw error
    }
    announce()
    return result
  }

  /// Writes operations as one change, or as several if one is too small for what follows from them.
  private func write(_ own: [Operation], _ later: [Operation]) throws {
    do {
      _ = try engine.write(own + later, to: zone, nowMilliseconds: now())
    } catch let error as SyncError where error.code == .tooLarge && !later.isEmpty {
      var draft = engine
      try store.transaction {
        for change in LaterWrites.changes(own, later) {
          _ = try draft.write(change, to: zone, nowMilliseconds: now())
        }
      }
      engine = draft
    }
  }

  private func run<Result>(
    _ body: (ZoneTransaction) throws -> Result
  ) throws -> (Result, ZoneTransaction) {
    let core = core
    let transaction = ZoneTransaction(
      store.queries, of: zone, by: schema.deletions, now: now(),
      device: core.engine.device
    ) { core.engine }
    var done: Result?
    do {
      try store.transaction {
        done = .some(try BodyError.marking { try body(transaction) })
        if transaction.hasScratch { throw Tried() }
      }
    } catch is Tried {}
    guard let done else { preconditionFailure("a body that does not throw has a result") }
    return (done, transaction)
  }
}

import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthSync
import Synchronization

/// The durable log in a PostgreSQL database that any number of relays serve at once.
///
/// One connection writes, one reads and one confirms reported states, each behind its own lock; a
/// fourth listens. Rows of mailboxes are locked for a batch, so positions have no gaps, whichever
/// relay writes. While the database is away every call fails soon, with `unavailable`. If it cannot
/// be known whether a commit took place, the call fails with `unknownOutcome`.
package final class PostgresRelayLog: RelaySharedLog {
  let address: PostgresAddress
  private let standing = PostgresStanding()
  private let origin: String
  private let listener: PostgresListener
  private let writer: Mutex<PostgresLinkBox>
  private let reader: Mutex<PostgresLinkBox>
  private let confirmations = Mutex(PostgresConfirmations())
  private let confirmer: Mutex<PostgresConfirmerBox>

  /// How often a batch is retried after a deadlock or a conflict with another relay.
  static let maximumAttempts = 4

  /// Connects, and brings the database to the current layout.
  ///
  /// - Parameters:
  ///   - address: the database's address.
  ///   - relayID: the relay that owns the mailboxes, recorded the first time; nil for the operator.
  /// - Throws: `unavailable`, `notDurable`, `newer`, `invalidOption` for another relay's database.
  package init(_ address: PostgresAddress, relayID: Bytes32? = nil) throws(RelayError) {
    self.address = address
    let origin = Hex.encode(RandomBytes.make(8))
    self.origin = origin
    listener = PostgresListener(address, standing, origin: origin)
    let link = PostgresLink(address, standing, isOperator: relayID == nil)
    do throws(PostgresFault) {
      try link.use { connection throws(PostgresFault) in
        try PostgresMigrations.migrate(connection, address)
        if let relayID { try PostgresMigrations.bind(connection, to: relayID, address) }
      }
    } catch {
      throw error.error(address)
    }
    writer = Mutex(PostgresLinkBox(link))
    reader = Mutex(PostgresLinkBox(PostgresLink(address, standing, isOperator: relayID == nil)))
    confirmer = Mutex(
      PostgresConfirmerBox(
        PostgresConfirmer(PostgresLink(address, standing, isOperator: false), origin: origin)))
  }

  deinit { listener.stop() }

  package var isHealthy: Bool { standing.isUp }

  package func write(_ batch: [RelayWrite]) throws(RelayError) -> [RelayWritten] {
    let life = standing.life
    let (results, confirmed) = try administer { connection throws(PostgresFault) in
      try PostgresWriter(connection: connection, origin: self.origin).perform(batch)
    }
    confirmations.withLock { $0.note(confirmed, inLife: life) }
    return results
  }

  package func read(_ question: RelayRead) throws(RelayError) -> RelayAnswer {
    try inspect { connection throws(PostgresFault) in
      let (answer, mailbox) = try PostgresReader(connection: connection).answer(question)
      if let mailbox { try self.confirm(mailbox) }
      return answer
    }
  }

  /// Ensures that the observed state of a mailbox is as durable as what this relay acknowledges.
  private func confirm(_ mailbox: RelayMailbox) throws(PostgresFault) {
    let life = standing.life
    guard !confirmations.withLock({ $0.covers(mailbox, inLife: life) }) else { return }
    let result: Result<Void, PostgresFault> = confirmer.withLock { box in
      do throws(PostgresFault) { return .success(try box.confirmer.confirm()) } catch {
        return .failure(error)
      }
    }
    try result.get()
    confirmations.withLock { $0.note([mailbox], inLife: life) }
  }

  // MARK: Other relays

  package func listen(_ hear: @escaping @Sendable (RelayTidings) -> Void) {
    standing.setHearer(hear)
    listener.start()
  }

  package func stopListening() {
    standing.setHearer(nil)
    listener.stop()
  }

  package func news(of mailbox: Identifier, after position: UInt64?, limit: Int, byteLimit: Int)
    throws(RelayError) -> RelayLogNews
  {
    try inspect { connection throws(PostgresFault) in
      let news = try PostgresReader(connection: connection).news(
        of: mailbox, after: position, limit: limit, byteLimit: byteLimit)
      if let mailbox = news.mailbox { try self.confirm(mailbox) }
      return news
    }
  }

  package func mailboxes(_ names: [Identifier]) throws(RelayError) -> [RelayMailbox] {
    try inspect { connection throws(PostgresFault) in
      // Clients learn from this at most that there is more. They then ask for it, and that answer
      // is confirmed.
      try PostgresReader(connection: connection).mailboxes(names)
    }
  }

  // MARK: Connections

  /// Runs a body on the reading connection.
  func inspect<Value: Sendable>(
    _ body: (PostgresConnection) throws(PostgresFault) -> Value
  ) throws(RelayError) -> Value {
    try run(on: reader, body)
  }

  /// Runs a body that commits at most once on the writing connection.
  ///
  /// Retries if nothing was committed.
  func administer<Value: Sendable>(
    _ body: (PostgresConnection) throws(PostgresFault) -> Value
  ) throws(RelayError) -> Value {
    try run(on: writer, body)
  }

  private func run<Value: Sendable>(
    on link: borrowing Mutex<PostgresLinkBox>,
    _ body: (PostgresConnection) throws(PostgresFault) -> Value
  ) throws(RelayError) -> Value {
    let result: Result<Value, PostgresFault> = link.withLock { box in
      var attempts = 0
      while true {
        attempts += 1
        do throws(PostgresFault) {
          return .success(try box.link.use(body))
        } catch {
          // Only using an idle connection reveals that the database was restarted meanwhile.
          let isLost = error.kind == .lost
          guard error.mayRetry, attempts < (isLost ? 2 : PostgresRelayLog.maximumAttempts) else {
            return .failure(error)
          }
        }
      }
    }
    switch result {
    case .success(let value): return value
    case .failure(let fault):
      // The commit may have taken place after all, and nobody was notified.
      if fault.isCommitting { standing.tell(.missed) }
      throw fault.error(address)
    }
  }
}

/// A link that passes into a lock.
///
/// Unchecked: the only user of a box is the mutex that holds it, so one thread at a time uses the
/// connection. libpq requires no more.
private struct PostgresLinkBox: @unchecked Sendable {
  let link: PostgresLink

  init(_ link: PostgresLink) { self.link = link }
}

/// A confirmer that passes into a lock; unchecked for the same reason as a link's box.
private struct PostgresConfirmerBox: @unchecked Sendable {
  let confirmer: PostgresConfirmer

  init(_ confirmer: PostgresConfirmer) { self.confirmer = confirmer }
}

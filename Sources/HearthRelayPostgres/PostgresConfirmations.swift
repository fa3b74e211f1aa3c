import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// The states of mailboxes that a later commit of this relay has confirmed.
///
/// A commit that waited for a standby and was cut short, by an operator or by a restart, is visible
/// to everybody although no standby has it. A client that finds its blob in a listing takes the
/// blob for durable. So the relay confirms a state before it reports it, by making another commit:
/// a server's log is replicated in order. Other relays' commits are confirmed in the same way, once
/// for each state.
struct PostgresConfirmations {
  private struct State: Equatable {
    let generation: Identifier
    let accessGeneration: UInt64
    let chain: Bytes32
    /// A hash of the listed keys.
    let managers: [UInt8]

    init(_ mailbox: RelayMailbox) {
      generation = mailbox.head.generation
      accessGeneration = mailbox.accessGeneration
      chain = mailbox.chain
      managers = mailbox.roster.digest.array
    }
  }

  private var states: [Identifier: State] = [:]
  /// The database's incarnation, as a number, in which the states were confirmed.
  private var life = 0

  /// The most states to keep.
  ///
  /// Above this number all are confirmed again.
  static let maximumCount = 65_536

  /// Whether the observed state of a mailbox is confirmed.
  func covers(_ mailbox: RelayMailbox, inLife life: Int) -> Bool {
    self.life == life && states[mailbox.name] == State(mailbox)
  }

  /// Records mailboxes as a commit left them, or as they were observed before one.
  ///
  /// A standby that took over may lack what was confirmed on the primary, so earlier confirmations
  /// do not count then.
  mutating func note(_ mailboxes: [RelayMailbox], inLife life: Int) {
    guard life >= self.life else { return }
    if life > self.life { states = [:] }
    self.life = life
    if states.count + mailboxes.count > PostgresConfirmations.maximumCount { states = [:] }
    for mailbox in mailboxes.prefix(PostgresConfirmations.maximumCount) {
      states[mailbox.name] = State(mailbox)
    }
  }
}

/// Makes commits that change nothing, one after another, on its own connection; not thread-safe.
///
/// While a standby is away such a commit waits, because only the standby ends it: neither a timeout
/// of statements nor a closed socket does. So the commit is left pending, no caller waits for it
/// for long, and there is never a second one.
final class PostgresConfirmer {
  private let link: PostgresLink
  private let origin: String
  private var isWaiting = false

  /// How long a caller waits for a commit that has just begun.
  static let patienceMilliseconds = 5_000

  init(_ link: PostgresLink, origin: String) {
    self.link = link
    self.origin = origin
  }

  /// Returns once everything committed before this call is as durable as the server promises.
  ///
  /// - Throws: a final fault with `unavailable` while a standby is awaited; otherwise what the
  ///   connection throws.
  func confirm() throws(PostgresFault) {
    try link.use { connection throws(PostgresFault) in
      if isWaiting {
        // An earlier commit confirms only what existed when it began.
        guard try isDone(connection, within: 0) else { throw PostgresConfirmer.waits }
      }
      let name = PostgresValue.text("confirmation of \(origin) \(Hex.encode(RandomBytes.make(8)))")
      isWaiting = true
      try connection.begin([
        .once("BEGIN"),
        .once("INSERT INTO hearth_relay.settings(name, value) VALUES($1::text, 0)", [name]),
        .once("DELETE FROM hearth_relay.settings WHERE name = $1::text", [name]),
        .once("COMMIT"),
      ])
      guard try isDone(connection, within: PostgresConfirmer.patienceMilliseconds) else {
        throw PostgresConfirmer.waits
      }
    }
  }

  private func isDone(_ connection: PostgresConnection, within milliseconds: Int)
    throws(PostgresFault) -> Bool
  {
    do throws(PostgresFault) {
      let isDone = try connection.isFinished(within: milliseconds)
      if isDone { isWaiting = false }
      return isDone
    } catch {
      isWaiting = false
      throw error
    }
  }

  private static let waits = PostgresFault(
    kind: .final(
      RelayError(
        .unavailable,
        "stored data cannot be confirmed: the database waits for a standby")), words: "")
}

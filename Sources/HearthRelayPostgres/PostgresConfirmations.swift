import HearthCRDT
import HearthCrypto
import HearthRelay
import HearthRelayProtocol
import HearthSync

/// Which states of mailboxes a commit of this relay's own has confirmed since.
///
/// A commit that waited for a standby and was cut short, by an operator or by a restart, is seen by
/// everybody though no standby has it. Whoever finds their blob in a listing takes it for kept; so
/// what a relay tells was confirmed first, by a commit after it: the log of a server is replicated
/// in its order. Other relays' commits are confirmed the same way, once for each state.
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
  /// In which life of the database they were confirmed.
  private var life = 0

  /// How many are kept; beyond that all are confirmed anew.
  static let maximumCount = 65_536

  /// Whether a mailbox as it was seen is confirmed.
  func covers(_ mailbox: RelayMailbox, inLife life: Int) -> Bool {
    self.life == life && states[mailbox.name] == State(mailbox)
  }

  /// Takes mailboxes as a commit left them, or as they were seen before one.
  ///
  /// A standby that took over may lack what was confirmed on the primary, so nothing of before
  /// counts then.
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

/// Makes commits that change nothing, one after another, on a connection of its own; not
/// thread-safe.
///
/// While a standby is away such a commit waits, as nothing ends it but the standby: neither a
/// timeout of statements nor a closed socket. So it is left waiting, nobody waits for it for long,
/// and there is never a second one.
final class PostgresConfirmer {
  private let link: PostgresLink
  private let origin: String
  private var isWaiting = false

  /// How long somebody who asks waits for a commit that has just begun.
  static let patienceMilliseconds = 5_000

  init(_ link: PostgresLink, origin: String) {
    self.link = link
    self.origin = origin
  }

  /// Returns when what was committed before this call is as durable as the server promises.
  ///
  /// - Throws: A final fault with `unavailable` where a standby is waited for; what the connection
  ///   throws otherwise.
  func confirm() throws(PostgresFault) {
    try link.use { connection throws(PostgresFault) in
      if isWaiting {
        // One of before: only what was there then is confirmed by it.
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
        "what is stored cannot be confirmed: the database waits for a standby")), words: "")
}

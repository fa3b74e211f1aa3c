import HearthCRDT
import HearthCrypto
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

    init(_ mailbox: RelayMailbox) {
      generation = mailbox.head.generation
      accessGeneration = mailbox.accessGeneration
      chain = mailbox.chain
    }
  }

  private var states: [Identifier: State] = [:]

  /// How many are kept; beyond that all are confirmed anew.
  static let maximumCount = 65_536

  /// Whether a mailbox as it was seen is confirmed.
  func covers(_ mailbox: RelayMailbox) -> Bool {
    states[mailbox.name] == State(mailbox)
  }

  /// Takes mailboxes as a commit left them, or saw them.
  mutating func note(_ mailboxes: [RelayMailbox]) {
    if states.count + mailboxes.count > PostgresConfirmations.maximumCount { states = [:] }
    for mailbox in mailboxes.prefix(PostgresConfirmations.maximumCount) {
      states[mailbox.name] = State(mailbox)
    }
  }

  // MARK: The commit

  /// How long a standby is waited for before the question is refused; writers wait for longer.
  static let timeoutMilliseconds = 5_000

  /// Commits a change that leaves nothing, and so waits for the disk and the standbys.
  ///
  /// - Parameter origin: Names the row, which nobody else ever sees.
  /// - Throws: A final fault with `unavailable` when it cannot be confirmed.
  static func commit(on connection: PostgresConnection, origin: String) throws(PostgresFault) {
    let name = PostgresValue.text("confirmation of \(origin)")
    do throws(PostgresFault) {
      try connection.commit(
        [
          PostgresCall("BEGIN"),
          PostgresCall(
            "INSERT INTO hearth_relay.settings(name, value) VALUES($1::text, 0)", [name]),
          PostgresCall("DELETE FROM hearth_relay.settings WHERE name = $1::text", [name]),
        ], timeoutMilliseconds: timeoutMilliseconds)
    } catch {
      // Nothing came of it, whatever became of it; only that it is not confirmed matters.
      guard error.isCommitting else { throw error }
      throw PostgresFault(
        kind: .final(
          RelayError(
            .unavailable,
            "what is stored cannot be confirmed (\(error.words)): is the standby there?")),
        words: error.words)
    }
  }
}

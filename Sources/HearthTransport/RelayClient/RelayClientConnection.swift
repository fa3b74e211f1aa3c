import HearthCRDT
import HearthRelayProtocol

/// A connection to one relay as a transport uses it.
///
/// ``RelayLink`` implements it over sockets. A simulation implements it over unreliable
/// connections.
package protocol RelayClientConnection: AnyObject {
  /// The relay's address.
  var address: RelayAddress { get }
  /// Registers a mailbox's keys and cursor.
  func know(_ access: MailboxAccess, cursor: RelayCursor?)
  /// Prefetches mailboxes: opens all of them at the same time, without waiting.
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)])
  /// Asks about a known mailbox and waits for the answer.
  ///
  /// - Throws: `RelayFailure`.
  func ask(_ mailbox: Identifier, _ question: RelayQuestion) async throws -> RelayOutcome
  /// Asks about a known mailbox, waits for the answer and reports how many bytes went over the
  /// connection since the question.
  ///
  /// - Throws: `RelayFailure`.
  func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, reporting: (@Sendable (Int) -> Void)?
  ) async throws -> RelayOutcome
}

extension RelayClientConnection {
  package func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, reporting: (@Sendable (Int) -> Void)?
  ) async throws -> RelayOutcome {
    try await ask(mailbox, question)
  }
}

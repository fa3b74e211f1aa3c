import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The mailboxes at one relay, as a device opens them and follows their logs.
///
/// The client stores an index of each mailbox's contents, so that it requests only new entries. The
/// relay need not be honest: the client computes each log's chain itself, so it notices a log that
/// was lost, set back or exchanged.
package final class RelayMailboxClient {
  /// The connection.
  package let connection: any RelayClientConnection
  /// What this device remembers about the relay.
  package let notes: RelayNotes
  /// The known mailboxes; the node sets them before an exchange.
  package var directory: RelayDirectory
  private var logs: [Identifier: Log] = [:]
  /// The relay's latest refusal.
  private var refusal: RelayFailure?

  /// What this device knows of a mailbox's log.
  struct Log {
    var index: RelayMailboxIndex
    /// The latest opening, until it is evaluated.
    var news: RelayOpening?
    /// Whether the index changed since it was last stored.
    var isDirty = false
    var problem: TransportProblem?
  }

  init(_ connection: any RelayClientConnection, _ notes: RelayNotes, _ directory: RelayDirectory) {
    self.connection = connection
    self.notes = notes
    self.directory = directory
  }

  /// Host and port, for people.
  package var place: String { connection.address.place }

  // MARK: Opening

  /// Begins to open the mailboxes of all zones at the same time, so that a round does not wait for
  /// one after the other.
  package func prepare() throws {
    for mailbox in logs.keys { logs[mailbox]?.news = nil }
    let accesses = directory.zones.keys.sorted().compactMap { directory.zones[$0] }
    connection.prefetch(try accesses.map { ($0, try log(of: $0.mailbox).index.cursor) })
  }

  /// Opens a mailbox, or returns how it was opened.
  ///
  /// - Throws: `TransportError.relayRefused` if no key opens it, and the other relay errors.
  @discardableResult
  package func open(_ access: MailboxAccess) async throws -> RelayOpening {
    let access = directory.completing(access)
    if access.mayCreate {
      for parent in access.parents {
        guard let zone = directory.zone(of: parent) else { continue }
        connection.know(zone, cursor: try log(of: parent).index.cursor)
      }
    }
    let index = try log(of: access.mailbox).index
    connection.know(access, cursor: index.cursor)
    guard case .opened(let opening) = try await ask(access.mailbox, .open) else {
      throw wrongAnswer()
    }
    return opening
  }

  /// Opens a zone's mailbox before it is listed.
  package func open(zoneTag: Identifier) async throws -> RelayOpening {
    let access = try access(zoneTag)
    let opening = try await open(access)
    if opening.isNew { logs[access.mailbox]?.news = opening }
    return opening
  }

  /// Sets the access key of a zone's mailbox to the first of its keys.
  package func rotate(zoneTag: Identifier) async throws {
    let access = try access(zoneTag)
    try await open(access)
    _ = try await ask(access.mailbox, .rotate)
  }

  /// Deletes all contents of a mailbox; requires managing it.
  func reset(_ access: MailboxAccess) async throws {
    try await open(access)
    guard case .done = try await reply(access.mailbox, .reset) else { throw wrongAnswer() }
    // Record the new generation, so that it is not reported as a loss later.
    let generation = try await open(access).opened.head.generation
    var index = RelayMailboxIndex(mailbox: access.mailbox)
    index.begin(generation: generation)
    logs[access.mailbox] = Log(index: index, isDirty: true)
    try keep()
  }

  /// Returns the access of a zone's mailbox.
  func access(_ zoneTag: Identifier) throws -> MailboxAccess {
    guard let access = directory.zones[zoneTag] else { throw refused() }
    return access
  }

  // MARK: Asking

  /// Asks about an open mailbox; failures are in words for people.
  func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, reporting: (@Sendable (Int) -> Void)? = nil
  ) async throws -> RelayOutcome {
    do {
      return try await connection.ask(mailbox, question, reporting: reporting)
    } catch let failure as RelayFailure {
      refusal = failure
      throw words(failure, about: mailbox)
    }
  }

  /// Asks about an open mailbox and returns the relay's own answer.
  func reply(
    _ mailbox: Identifier, _ question: RelayQuestion, reporting: (@Sendable (Int) -> Void)? = nil
  ) async throws -> RelayReply {
    guard case .reply(let reply) = try await ask(mailbox, question, reporting: reporting)
    else { throw wrongAnswer() }
    return reply
  }

  /// A failure in words, by what this device knows of its place at the mailbox.
  private func words(_ failure: RelayFailure, about mailbox: Identifier) -> TransportError {
    let isOver = directory.zones.values.contains { $0.mailbox == mailbox && $0.isOver }
    let isKnown = logs[mailbox]?.index.generation != nil
    let tie: RelayWords.Tie = isOver ? .former : isKnown ? .known : .new
    return RelayWords(place: place, tie: tie).words(failure)
  }

  /// The error for a mailbox that this device has no key for.
  func refused() -> TransportError { RelayWords(place: place).refused() }

  /// The error for an answer of the wrong kind.
  func wrongAnswer() -> TransportError {
    RelayWords(place: place).inconsistent("its answer does not match the request")
  }

  /// Whether the last refusal concerned creating a mailbox, and the relay lets this device create
  /// none.
  var lacksRight: Bool {
    switch refusal {
    case .unlisted, .tokenUsedUp, .unregistered: true
    default: false
    }
  }

  // MARK: Known logs

  /// What this device knows of a mailbox's log, from its memory if necessary.
  func log(of mailbox: Identifier) throws -> Log {
    if let known = logs[mailbox] { return known }
    let log = Log(index: try notes.index(of: mailbox) ?? RelayMailboxIndex(mailbox: mailbox))
    logs[mailbox] = log
    return log
  }

  /// The part of a mailbox's log that was read or loaded in this run.
  func index(of mailbox: Identifier) -> RelayMailboxIndex? { logs[mailbox]?.index }

  /// Advances a known log by an entry of this device; returns false if others have stored entries
  /// before it.
  func append(_ header: RelayHeader, to mailbox: Identifier) -> Bool {
    guard logs[mailbox]?.index.append(header) == true else { return false }
    logs[mailbox]?.isDirty = true
    return true
  }

  /// Stores what is known of each changed mailbox; otherwise the next round repeats the listing.
  package func keep() throws {
    for mailbox in logs.keys.sorted() where logs[mailbox]?.isDirty == true { try keep(mailbox) }
  }

  /// Stores what is known of a mailbox.
  func keep(_ mailbox: Identifier) throws {
    guard let log = logs[mailbox] else { return }
    try notes.keep(log.index)
    logs[mailbox]?.isDirty = false
  }

  /// Takes over what a follower has learnt of a mailbox's log.
  func learn(_ log: Log) { logs[log.index.mailbox] = log }

  /// Returns what was wrong with a mailbox's log, once.
  func takeProblem(of mailbox: Identifier) -> TransportProblem? {
    defer { logs[mailbox]?.problem = nil }
    return logs[mailbox]?.problem
  }
}

import HearthCRDT
import HearthCrypto

/// What the parts of a client's session work on: mailboxes, questions, requests, keys, and the
/// actions for the shell.
struct RelayClientState: Sendable {
  let timing: RelayClientTiming
  /// The registration token; empty if the relay needs none.
  let credential: [UInt8]
  /// Returns a number of random bytes.
  let random: @Sendable (Int) -> [UInt8]
  private let managerPair: @Sendable ([UInt8]) throws -> SigningKeyPair
  private var manager: SigningKeyPair?
  /// The digest of the certificate that the relay presents.
  var pin: Bytes32
  /// The relay's greeting on this connection.
  var welcome: RelayWelcome?
  var mailboxes = RelayClientMailboxes()
  var questions = RelayPendingQuestions()
  var requests = RelaySentRequests()
  var effects: [RelayClientEffect] = []
  /// The number of consecutive losses.
  var losses = 0
  private var openings: UInt64 = 0

  init(
    pin: Bytes32, timing: RelayClientTiming, credential: [UInt8],
    managerPair: @escaping @Sendable ([UInt8]) throws -> SigningKeyPair,
    random: @escaping @Sendable (Int) -> [UInt8]
  ) {
    self.pin = pin
    self.timing = timing
    self.credential = credential
    self.managerPair = managerPair
    self.random = random
  }

  /// Forgets a connection that is gone.
  mutating func reset() {
    welcome = nil
    manager = nil
    requests.reset()
    mailboxes.closeAll()
  }

  /// The number of the next opening.
  mutating func nextOpening() -> UInt64 {
    openings += 1
    return openings
  }

  // MARK: Keys

  /// Returns the key pair of one of a mailbox's keys at this relay.
  mutating func pair(_ place: Int, of mailbox: Identifier) -> SigningKeyPair? {
    guard let relayID = welcome?.relayID else { return nil }
    return mailboxes[mailbox]?.pair(place, relayID: relayID)
  }

  /// Returns this device's own key pair at this relay.
  mutating func ownPair() -> SigningKeyPair? {
    guard let relayID = welcome?.relayID else { return nil }
    if manager == nil { manager = try? managerPair(relayID.array) }
    return manager
  }

  // MARK: Requests and questions

  /// Sends a request.
  mutating func send(
    _ request: RelayRequest, _ purpose: RelaySentRequests.Purpose, now: UInt64
  ) {
    let number = requests.add(purpose, now: now)
    effects.append(.send(RelayFrame(request: number, request).encoded))
  }

  /// Reports the outcome of a question.
  mutating func finish(_ ticket: UInt64, _ result: Result<RelayOutcome, RelayFailure>) {
    questions[ticket] = nil
    effects.append(.finish(ticket: ticket, result))
  }

  /// Ends the questions about a mailbox.
  mutating func fail(_ mailbox: Identifier, _ failure: RelayFailure) {
    for ticket in questions.tickets(about: mailbox) { finish(ticket, .failure(failure)) }
  }

  /// Asks a question once more after some time, unless it was asked too often.
  mutating func retry(
    _ ticket: UInt64, _ fault: RelayFault, after wait: UInt64, now: UInt64
  ) {
    guard var question = questions[ticket] else { return }
    question.tries += 1
    question.isSent = false
    question.notBefore = wait == 0 ? 0 : now + wait
    questions[ticket] = question
    if question.tries >= timing.maximumTries { finish(ticket, .failure(.fault(fault))) }
  }
}

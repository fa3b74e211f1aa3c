import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// Client sessions over the relay's real core and log, in virtual time, over lines that break.
final class ClientWorld {
  /// One client with its line.
  final class Client {
    var session: RelayClientSession
    var line: RelaySessionID?
    var buffer = RelayFrameBuffer()
    var results: [UInt64: Result<RelayOutcome, RelayFailure>] = [:]
    var news: [RelayNews] = []
    var attempts: [UInt64] = []
    var lastTicket: UInt64 = 0
    /// How many requests were sent.
    var sent = 0
    /// How often something was sent after something was heard.
    var flights = 0
    var hasHeard = true
    /// How many frames were packed, either way.
    var packedPuts = 0
    var packedPushes = 0

    init(_ session: RelayClientSession) { self.session = session }
  }

  let core: CoreWorld
  private(set) var clients: [Client] = []
  var isDown = false
  /// Swallows what the relay says, as a half-open connection does.
  var isMute = false
  /// How many bytes a line carries before it breaks; nil if it holds.
  var breaksAfter: (() -> Int?)?
  private var budgets: [RelaySessionID: Int] = [:]
  var now: UInt64 { core.now }

  init(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws {
    core = try CoreWorld(change)
  }

  func client(_ manager: UInt8, _ change: (inout RelayClientTiming) -> Void = { _ in }) throws
    -> Client
  {
    try client(managerPair: { _ in try CoreWorld.pair(manager) }, change)
  }

  func client(
    managerPair: @escaping @Sendable ([UInt8]) throws -> SigningKeyPair,
    _ change: (inout RelayClientTiming) -> Void = { _ in }
  ) throws -> Client {
    var timing = RelayClientTiming()
    change(&timing)
    let identity = try #require(CoreWorld.identity)
    let random = CountingRandom()
    let client = Client(
      RelayClientSession(
        pin: identity.pin, timing: timing, managerPair: managerPair,
        random: { random.bytes($0) }))
    clients.append(client)
    return client
  }

  static func key(_ byte: UInt8) throws -> MailboxKey {
    MailboxKey(
      id: [UInt8](repeating: byte, count: 32),
      root: try EpochKey(
        secret: CoreWorld.key(byte), groupID: [UInt8](repeating: 1, count: 16),
        zoneID: [UInt8](repeating: 2, count: 16)
      ).relayAccessRoot())
  }

  static func access(
    _ keys: [UInt8], mailbox: Identifier = Identifier(high: 7, low: 7), mayCreate: Bool = true
  ) throws -> MailboxAccess {
    MailboxAccess(mailbox: mailbox, keys: try keys.map { try key($0) }, mayCreate: mayCreate)
  }

  // MARK: Driving

  func begin(_ client: Client, _ mailbox: Identifier, _ question: RelayQuestion) -> UInt64 {
    client.lastTicket += 1
    client.session.ask(client.lastTicket, mailbox, question, now: now)
    return client.lastTicket
  }

  /// Asks and lets time pass until there is an answer.
  func ask(
    _ client: Client, _ access: MailboxAccess, _ question: RelayQuestion,
    cursor: RelayCursor? = nil
  ) -> Result<RelayOutcome, RelayFailure> {
    client.session.know(access, cursor: cursor, now: now)
    let ticket = begin(client, access.mailbox, question)
    run(upTo: 600_000) { client.results[ticket] != nil }
    return client.results[ticket] ?? .failure(.protocolBroken("no answer at all"))
  }

  /// Runs until something holds; time goes on only when nothing else can happen.
  func run(upTo milliseconds: UInt64, until isDone: () -> Bool = { false }) {
    let end = now + milliseconds
    while !isDone() {
      var isBusy = false
      for client in clients where perform(client) { isBusy = true }
      if isBusy { continue }
      let wakes = clients.compactMap { $0.session.wakeTime }
      guard let next = wakes.min(), next <= end else {
        core.now = end
        for client in clients { client.session.tick(now: now) }
        return
      }
      core.now = max(next, now + 1)
      core.handle(.tick)
      for client in clients { client.session.tick(now: now) }
    }
  }

  /// - Returns: whether anything happened.
  private func perform(_ client: Client) -> Bool {
    var isBusy = false
    for effect in client.session.takeEffects() {
      isBusy = true
      switch effect {
      case .connect: connect(client)
      case .disconnect: cut(client)
      case .send(let bytes): send(client, bytes)
      case .finish(let ticket, let result):
        if client.results[ticket] != nil { Issue.record("ticket \(ticket) has two results") }
        client.results[ticket] = result
      case .news(let news): client.news.append(news)
      }
    }
    if let line = client.line, let frames = core.inbox[line], !frames.isEmpty {
      core.inbox[line] = []
      isBusy = true
      client.hasHeard = true
      if !isMute {
        for frame in frames {
          if case .pushedPacked = frame.message { client.packedPushes += 1 }
          guard client.line == line, spend(client, frame.encoded.count) else { break }
          client.session.received(frame.encoded, now: now)
        }
      }
    }
    if let line = client.line, core.closed.contains(line) {
      client.line = nil
      client.session.lost(.unreachable("closed"), now: now)
      isBusy = true
    }
    return isBusy
  }

  private func connect(_ client: Client) {
    client.attempts.append(now)
    guard !isDown else {
      client.session.lost(.unreachable("refused"), now: now)
      return
    }
    let line = core.connect(greets: false)
    client.line = line
    client.buffer = RelayFrameBuffer()
    budgets[line] = breaksAfter?()
    client.session.connected(now: now)
  }

  private func send(_ client: Client, _ bytes: [UInt8]) {
    client.sent += 1
    if client.hasHeard { client.flights += 1 }
    client.hasHeard = false
    guard let line = client.line, spend(client, bytes.count) else { return }
    client.buffer.append(bytes)
    while let whole = try? client.buffer.next() {
      guard let frame = try? RelayFrame<RelayRequest>(decoding: whole) else {
        Issue.record("the client sent \(whole)")
        return
      }
      if case .putPacked = frame.message { client.packedPuts += 1 }
      core.handle(.received(line, frame, byteCount: whole.count))
    }
  }

  /// - Returns: whether the line still holds after that many bytes.
  private func spend(_ client: Client, _ count: Int) -> Bool {
    guard let line = client.line, let budget = budgets[line] else { return client.line != nil }
    budgets[line] = budget - count
    guard budget < count else { return true }
    cut(client)
    client.session.lost(.unreachable("broken"), now: now)
    return false
  }

  /// The connection is gone; the relay learns of it, the session not by this.
  func cut(_ client: Client) {
    guard let line = client.line else { return }
    client.line = nil
    core.handle(.disconnected(line))
  }
}

import HearthCRDT
import HearthCrypto

/// A client's side of the relay protocol: questions and bytes in, bytes and outcomes out.
///
/// The session is a value without sockets, clock and randomness. The shell connects on request,
/// passes on the bytes it reads and calls ``tick(now:)`` at ``wakeTime``. The session connects when
/// there is something to ask or to listen to, and opens mailboxes on demand. After a loss it
/// reconnects with pauses that double, are jittered and capped. It repeats unanswered questions a
/// few times; then they fail. Times are milliseconds of a steady clock.
package struct RelayClientSession: Sendable {
  /// An action for the shell.
  package enum Effect: Sendable {
    /// Connect, then call `connected` or `lost`.
    case connect
    /// Close the connection and report no more of its events.
    case disconnect
    /// Send bytes.
    case send([UInt8])
    /// A question has its answer.
    case finish(ticket: UInt64, Result<RelayOutcome, RelayFailure>)
    /// The relay sent news.
    case news(RelayNews)
  }

  enum Phase: Equatable {
    case idle
    case pausing(until: UInt64)
    case connecting(since: UInt64)
    case greeting(since: UInt64)
    case ready(since: UInt64)
  }

  /// The state of a mailbox in this session.
  struct Box: Sendable {
    enum Stage: Equatable {
      case closed
      case asked
      case proving(RelayOpening.Key)
      case creating
      case open
    }

    var access: MailboxAccess
    var cursor: RelayCursor?
    /// The key that the last challenge named.
    var wanted: Bytes16?
    /// The cursor in the last proof.
    var asserted: RelayCursor?
    var stage = Stage.closed
    var channel: Int?
    var hasTriedCreating = false
    var hasTriedOwnKey = false
    /// Whether creating the mailbox failed because the token is used up.
    var isTokenUsedUp = false
    var opening: RelayOpening?
    var openedAt: UInt64 = 0
    /// Whether to prefetch the mailbox: open it together with the others.
    var isPrefetched = false
    /// Whether pushes are wanted, and whether this session has requested them.
    var wantsNews = false
    var isSubscribed = false
    /// Pushed blobs that nobody has asked for yet.
    var pushed = RelayPushedBlobs()
    /// The bases for packing the next put and unpacking the next packed push.
    var lastPut = RelayPackingBase()
    var told = RelayToldLast()
    /// The end of the log, as far as it is known without asking.
    var end = RelayLogEnd()
    var isBarred = false
    var pairs: [Int: SigningKeyPair] = [:]
    /// Whether the mailbox is being opened only as the parent of another.
    var isForChild = false
    /// Whether such an opening failed, so that no child waits for another attempt.
    var isUnfit = false
  }

  struct Task: Sendable {
    let mailbox: Identifier
    let question: RelayQuestion
    var deadline: UInt64
    /// The earliest time to send the question.
    ///
    /// It is 0 once that time has come, so that the shell is not woken for it again.
    var notBefore: UInt64 = 0
    var tries = 0
    var isSent = false
    /// The opening under which the question was sent.
    var opening: UInt64 = 0
  }

  /// The purpose of a request, and so the recipient of its answer.
  enum Purpose: Equatable {
    case hello
    case ping
    case open(Identifier)
    case prove(Identifier)
    case subscribe(Identifier)
    case close
    case task(UInt64)
  }

  struct Asked: Sendable {
    let purpose: Purpose
    let since: UInt64
  }

  /// The most questions that wait for answers at a time: half of what relays allow.
  static let maximumUnanswered = 32

  /// The digest of the certificate that the relay presents.
  private(set) var pin: Bytes32
  let timing: RelayClientTiming
  let credential: [UInt8]
  let managerPair: @Sendable ([UInt8]) throws -> SigningKeyPair
  let chance: @Sendable (Int) -> [UInt8]

  var phase = Phase.idle
  var welcome: RelayWelcome?
  var manager: SigningKeyPair?
  var boxes: [Identifier: Box] = [:]
  var tasks: [UInt64: Task] = [:]
  var asked: [UInt32: Asked] = [:]
  var inbox = RelayFrameBuffer()
  var effects: [Effect] = []
  var lastRequest: UInt32 = 0
  var openings: UInt64 = 0
  var lastHeard: UInt64 = 0
  var lastSent: UInt64 = 0
  var lastAttempt: UInt64?
  /// The number of consecutive losses.
  var losses = 0
  /// Whether the relay answered recently, so that waiting for it is worthwhile.
  var wasReached = false

  /// - Parameters:
  ///   - pin: the digest of the relay's certificate, which the shell has checked.
  ///   - credential: the registration token; empty if the relay needs none.
  ///   - managerPair: this device's key pair for a relay, by the relay's id.
  ///   - chance: random bytes, for nonces and jitter.
  package init(
    pin: Bytes32, timing: RelayClientTiming = RelayClientTiming(), credential: [UInt8] = [],
    managerPair: @escaping @Sendable ([UInt8]) throws -> SigningKeyPair,
    chance: @escaping @Sendable (Int) -> [UInt8]
  ) {
    self.pin = pin
    self.timing = timing
    self.credential = credential
    self.managerPair = managerPair
    self.chance = chance
  }

  // MARK: Calls by the owner

  /// Records the relay's certificate if none was pinned.
  ///
  /// Call this before `connected`.
  package mutating func saw(pin: Bytes32) {
    self.pin = pin
  }

  /// Registers a mailbox's keys and the known end of its log.
  ///
  /// New keys are tried at once.
  package mutating func know(_ access: MailboxAccess, cursor: RelayCursor?, now: UInt64) {
    if let box = boxes[access.mailbox], box.access.role != access.role, let channel = box.channel {
      // A mailbox that is open for reading is reopened for writing, and vice versa.
      boxes[access.mailbox]?.close()
      if isReady { send(.close(channel: channel), .close, now: now) }
    }
    if var box = boxes[access.mailbox] {
      if box.access.keys != access.keys {
        box.pairs = [:]
        box.isBarred = false
        box.isUnfit = false
        if case .access(let place)? = box.opening?.key, place < box.access.keys.count {
          let key = box.access.keys[place]
          box.opening?.key = .access(access.keys.firstIndex(of: key) ?? access.keys.count)
        }
      }
      box.access = access
      box.cursor = cursor ?? box.cursor
      boxes[access.mailbox] = box
    } else {
      boxes[access.mailbox] = Box(access: access, cursor: cursor)
    }
    pump(now: now)
  }

  /// Starts or stops the pushes of a known mailbox.
  package mutating func listen(to mailbox: Identifier, _ wantsNews: Bool, now: UInt64) {
    boxes[mailbox]?.wantsNews = wantsNews
    pump(now: now)
  }

  /// Prefetches known mailboxes: opens all of them at the same time.
  package mutating func prefetch(_ mailboxes: [Identifier], now: UInt64) {
    for mailbox in mailboxes where boxes[mailbox]?.stage == .closed {
      boxes[mailbox]?.isPrefetched = true
    }
    pump(now: now)
  }

  /// Asks a question about a known mailbox; the ticket must be new.
  package mutating func ask(
    _ ticket: UInt64, _ mailbox: Identifier, _ question: RelayQuestion, now: UInt64
  ) {
    precondition(tasks[ticket] == nil, "ticket \(ticket) is in use")
    tasks[ticket] = Task(
      mailbox: mailbox, question: question, deadline: now + timing.patienceMilliseconds)
    // A question does not wait for a long pause to end.
    if case .pausing(let until) = phase {
      let soon = (lastAttempt ?? 0) + timing.leastPauseMilliseconds
      phase = .pausing(until: min(until, max(now, soon)))
    }
    pump(now: now)
  }

  /// Forgets a question: nobody waits for its answer any more.
  package mutating func abandon(_ ticket: UInt64) { tasks[ticket] = nil }

  /// Ends the session; every question fails.
  package mutating func end(now: UInt64) {
    failAll(.unreachable("the connection was closed here"))
    for mailbox in boxes.keys { boxes[mailbox]?.wantsNews = false }
    if phase != .idle { effects.append(.disconnect) }
    reset()
    phase = .idle
  }

  /// Returns the actions since the last call, in order.
  package mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  /// Whether there is a connection on which a greeting was exchanged.
  package var isReady: Bool {
    if case .ready = phase { return true }
    return false
  }

  // MARK: Events from the shell

  /// Records that the connection is established, with the expected certificate.
  package mutating func connected(now: UInt64) {
    guard case .connecting(let since) = phase else { return }
    phase = .greeting(since: since)
    lastHeard = now
    send(
      .hello(minimumVersion: RelayLimits.version, maximumVersion: RelayLimits.version), .hello,
      now: now)
    // Prefetched mailboxes need not wait for the welcome.
    openPrefetched(now: now)
  }

  /// Processes bytes that were read.
  package mutating func received(_ bytes: [UInt8], now: UInt64) {
    guard phase != .idle else { return }
    lastHeard = now
    inbox.append(bytes)
    do {
      while let frame = try inbox.next() {
        take(try RelayFrame<RelayReply>(decoding: frame), now: now)
      }
    } catch {
      breakOff("it sent an invalid frame: \(error)", now: now)
    }
    pump(now: now)
  }

  /// Records that the network accepted some of the outgoing bytes.
  ///
  /// A relay cannot answer a request that it has not fully received. Over a slow network a batch
  /// takes longer than an answer may, so a connection that makes progress does not count as dead.
  package mutating func progressed(now: UInt64) {
    guard isReady else { return }
    lastHeard = max(lastHeard, now)
  }

  /// Records that connecting failed or that the connection was lost.
  package mutating func lost(_ failure: RelayFailure, now: UInt64) {
    switch phase {
    case .idle, .pausing: return
    case .ready(let since):
      losses = now >= since + timing.steadyMilliseconds ? 0 : losses + 1
      effects.append(.news(.lost))
    default: losses += 1
    }
    let wasReady = isReady
    reset()
    for ticket in tasks.keys.sorted() {
      guard var task = tasks[ticket] else { continue }
      if task.isSent || wasReady { task.tries += 1 }
      Probe.questionAskedAgain.hit(if: task.isSent)
      task.isSent = false
      tasks[ticket] = task
      let isLasting =
        switch failure {
        case .certificate, .untrusted, .fault: true
        default: false
        }
      // The patience limit is for an absent relay; on a connection, answers have their own time
      // limit.
      let isLate = !wasReady && now >= task.deadline
      if isLasting || !wasReached || isLate || task.tries >= timing.maximumTries {
        finish(ticket, .failure(failure))
      } else if wasReady {
        tasks[ticket]?.deadline = now + timing.patienceMilliseconds
      }
    }
    phase = .pausing(until: now + pause())
    pump(now: now)
  }

  /// Processes the passage of time.
  package mutating func tick(now: UInt64) {
    for ticket in tasks.keys.sorted() where tasks[ticket]?.notBefore ?? 0 <= now {
      tasks[ticket]?.notBefore = 0
    }
    switch phase {
    case .connecting(let since), .greeting(let since):
      if now >= since + timing.connectMilliseconds {
        effects.append(.disconnect)
        lost(.unreachable("it does not answer"), now: now)
      }
    case .ready: tickReady(now: now)
    case .idle, .pausing: break
    }
    if !isReady {
      for ticket in tasks.keys.sorted() where now >= tasks[ticket]?.deadline ?? .max {
        wasReached = false
        finish(ticket, .failure(.unreachable("the connection was lost and did not return in time")))
      }
    }
    pump(now: now)
  }

  private mutating func tickReady(now: UInt64) {
    let oldest = asked.values.map(\.since).min()
    if let oldest, now >= timing.answerDeadline(askedAt: oldest, heardAt: lastHeard) {
      // Half-open: the other side is gone without notice.
      Probe.connectionStale.hit()
      effects.append(.disconnect)
      lost(.unreachable("it stopped answering"), now: now)
      return
    }
    if let due = pingTime, now >= due { send(.ping, .ping, now: now) }
  }

  /// The time of the next ping; nil while a ping waits for its answer.
  ///
  /// That answer may take long if it is queued behind a batch on a slow network. A time in the past
  /// would wake the shell for ever.
  private var pingTime: UInt64? {
    let isAsked = asked.values.contains { $0.purpose == .ping }
    return isAsked ? nil : lastSent + UInt64(welcome?.heartbeatSeconds ?? 30) * 1_000
  }

  /// The next time at which ``tick(now:)`` has work; nil if there is none before the next event.
  package var wakeTime: UInt64? {
    var times: [UInt64] = []
    switch phase {
    case .idle: break
    case .pausing(let until): if isWanted { times.append(until) }
    case .connecting(let since), .greeting(let since):
      times.append(since + timing.connectMilliseconds)
    case .ready:
      if let pingTime {
        times.append(pingTime)
      } else if Mutant.wakesForUnansweredPing.isActive {
        times.append(lastSent)
      }
      if let oldest = asked.values.map(\.since).min() {
        times.append(timing.answerDeadline(askedAt: oldest, heardAt: lastHeard))
      }
      times += tasks.values.filter { !$0.isSent && $0.notBefore > 0 }.map(\.notBefore)
    }
    if !isReady { times += tasks.values.map(\.deadline) }
    return times.min()
  }

  // MARK: Connecting

  private var isWanted: Bool {
    !tasks.isEmpty || boxes.values.contains { $0.wantsNews && !$0.isBarred }
  }

  /// Does all work that is possible now.
  mutating func pump(now: UInt64) {
    switch phase {
    case .idle: if isWanted { connect(now: now) }
    case .pausing(let until): if isWanted, now >= until { connect(now: now) }
    case .connecting, .greeting: break
    case .ready: work(now: now)
    }
  }

  private mutating func connect(now: UInt64) {
    phase = .connecting(since: now)
    lastAttempt = now
    effects.append(.connect)
  }

  /// Returns a pause that doubles with every consecutive loss, with a random half.
  private func pause() -> UInt64 {
    let doubled = timing.firstPauseMilliseconds << UInt64(min(max(0, losses - 1), 20))
    let whole = max(1, min(timing.longestPauseMilliseconds, doubled))
    let random = chance(4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return whole / 2 + random % (whole / 2 + 1)
  }

  private mutating func reset() {
    welcome = nil
    manager = nil
    asked = [:]
    inbox = RelayFrameBuffer()
    lastRequest = 0
    for mailbox in boxes.keys.sorted() {
      boxes[mailbox]?.close()
      boxes[mailbox]?.isUnfit = false
    }
  }

  /// Ends a connection over which invalid data arrives.
  mutating func breakOff(_ words: String, now: UInt64) {
    guard phase != .idle else { return }
    Probe.brokenOff.hit()
    effects.append(.disconnect)
    lost(.protocolBroken(words), now: now)
  }

  // MARK: Sending

  mutating func send(_ request: RelayRequest, _ purpose: Purpose, now: UInt64) {
    lastRequest += 1
    asked[lastRequest] = Asked(purpose: purpose, since: now)
    lastSent = now
    effects.append(.send(RelayFrame(request: lastRequest, request).encoded))
  }

  mutating func finish(_ ticket: UInt64, _ result: Result<RelayOutcome, RelayFailure>) {
    tasks[ticket] = nil
    effects.append(.finish(ticket: ticket, result))
  }

  private mutating func failAll(_ failure: RelayFailure) {
    for ticket in tasks.keys.sorted() { finish(ticket, .failure(failure)) }
  }

  mutating func fail(_ mailbox: Identifier, _ failure: RelayFailure) {
    for ticket in tasks.keys.sorted() where tasks[ticket]?.mailbox == mailbox {
      finish(ticket, .failure(failure))
    }
  }
}

extension RelayClientSession.Box {
  /// Discards the channel.
  mutating func close() {
    stage = .closed
    channel = nil
    hasTriedCreating = false
    hasTriedOwnKey = false
    isTokenUsedUp = false
    opening = nil
    isSubscribed = false
    pushed = RelayPushedBlobs()
    lastPut = RelayPackingBase()
    told = RelayToldLast()
    end = RelayLogEnd()
    isForChild = false
  }
}

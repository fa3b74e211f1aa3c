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
  private enum Phase: Equatable {
    case idle
    case pausing(until: UInt64)
    case connecting(since: UInt64)
    case greeting(since: UInt64)
    case ready(since: UInt64)
  }

  private(set) var state: RelayClientState
  private var phase = Phase.idle
  private var inbox = RelayFrameBuffer()
  private var lastHeard: UInt64 = 0
  private var lastAttempt: UInt64?
  /// Whether the relay answered recently, so that waiting for it is worthwhile.
  private var wasReached = false

  private var timing: RelayClientTiming { state.timing }

  /// - Parameters:
  ///   - pin: the digest of the relay's certificate, which the shell has checked.
  ///   - credential: the registration token; empty if the relay needs none.
  ///   - managerPair: this device's key pair for a relay, by the relay's id.
  ///   - random: random bytes, for nonces and jitter.
  package init(
    pin: Bytes32, timing: RelayClientTiming = RelayClientTiming(), credential: [UInt8] = [],
    managerPair: @escaping @Sendable ([UInt8]) throws -> SigningKeyPair,
    random: @escaping @Sendable (Int) -> [UInt8]
  ) {
    state = RelayClientState(
      pin: pin, timing: timing, credential: credential, managerPair: managerPair,
      random: random)
  }

  // MARK: Calls by the owner

  /// Records the relay's certificate if none was pinned.
  ///
  /// Call this before `connected`.
  package mutating func saw(pin: Bytes32) {
    state.pin = pin
  }

  /// Registers a mailbox's keys and the known end of its log.
  ///
  /// New keys are tried at once.
  package mutating func know(_ access: MailboxAccess, cursor: RelayCursor?, now: UInt64) {
    let name = access.mailbox
    if let known = state.mailboxes[name], known.access.role != access.role,
      let channel = known.channel
    {
      // A mailbox that is open for reading is reopened for writing, and vice versa.
      state.mailboxes[name]?.close()
      if isReady { state.send(.close(channel: channel), .close, now: now) }
    }
    if state.mailboxes[name] == nil {
      state.mailboxes[name] = RelayClientMailbox(access, cursor: cursor)
    } else {
      state.mailboxes[name]?.know(access, cursor: cursor)
    }
    pump(now: now)
  }

  /// Starts or stops the pushes of a known mailbox.
  package mutating func listen(to mailbox: Identifier, _ wantsNews: Bool, now: UInt64) {
    state.mailboxes[mailbox]?.wantsNews = wantsNews
    pump(now: now)
  }

  /// Prefetches known mailboxes: opens all of them at the same time.
  package mutating func prefetch(_ mailboxes: [Identifier], now: UInt64) {
    for mailbox in mailboxes where state.mailboxes[mailbox]?.stage == .closed {
      state.mailboxes[mailbox]?.isPrefetched = true
    }
    pump(now: now)
  }

  /// Asks a question about a known mailbox; the ticket must be new.
  package mutating func ask(
    _ ticket: UInt64, _ mailbox: Identifier, _ question: RelayQuestion, now: UInt64
  ) {
    precondition(state.questions[ticket] == nil, "ticket \(ticket) is in use")
    state.questions[ticket] = RelayPendingQuestions.Pending(
      mailbox: mailbox, question: question, deadline: now + timing.patienceMilliseconds)
    // A question does not wait for a long pause to end.
    if case .pausing(let until) = phase {
      let soon = (lastAttempt ?? 0) + timing.leastPauseMilliseconds
      phase = .pausing(until: min(until, max(now, soon)))
    }
    pump(now: now)
  }

  /// Forgets a question: nobody waits for its answer any more.
  package mutating func abandon(_ ticket: UInt64) { state.questions[ticket] = nil }

  /// Ends the session; every question fails.
  package mutating func end(now: UInt64) {
    for ticket in state.questions.tickets {
      state.finish(ticket, .failure(.unreachable("the connection was closed here")))
    }
    state.mailboxes.stopListening()
    if phase != .idle { state.effects.append(.disconnect) }
    reset()
    phase = .idle
  }

  /// Returns the actions since the last call, in order.
  package mutating func takeEffects() -> [RelayClientEffect] {
    defer { state.effects = [] }
    return state.effects
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
    state.send(
      .hello(minimumVersion: RelayLimits.version, maximumVersion: RelayLimits.version), .hello,
      now: now)
    // Prefetched mailboxes need not wait for the welcome.
    RelayClientOpening.openPrefetched(in: &state, now: now)
  }

  /// Processes bytes that were read.
  package mutating func received(_ bytes: [UInt8], now: UInt64) {
    guard phase != .idle else { return }
    lastHeard = now
    inbox.append(bytes)
    do {
      while let frame = try inbox.next() {
        try take(RelayFrame<RelayReply>(decoding: frame), now: now)
      }
    } catch let end as RelayConnectionEnd {
      disconnect(end.failure, now: now)
    } catch {
      disconnect(.protocolBroken("it sent an invalid frame: \(error)"), now: now)
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
      state.losses = now >= since + timing.steadyMilliseconds ? 0 : state.losses + 1
      state.effects.append(.news(.lost))
    default: state.losses += 1
    }
    let wasReady = isReady
    reset()
    for ticket in state.questions.tickets {
      returnToQueue(ticket, after: failure, wasReady: wasReady, now: now)
    }
    phase = .pausing(until: now + pause())
    pump(now: now)
  }

  /// Makes a question wait for the next connection, or ends it.
  private mutating func returnToQueue(
    _ ticket: UInt64, after failure: RelayFailure, wasReady: Bool, now: UInt64
  ) {
    guard var pending = state.questions[ticket] else { return }
    if pending.isSent || wasReady { pending.tries += 1 }
    Probe.questionAskedAgain.hit(if: pending.isSent)
    pending.isSent = false
    state.questions[ticket] = pending
    let isLasting =
      switch failure {
      case .certificate, .untrusted, .fault: true
      default: false
      }
    // The patience limit is for an absent relay; on a connection, answers have their own time
    // limit.
    let isLate = !wasReady && now >= pending.deadline
    if isLasting || !wasReached || isLate || pending.tries >= timing.maximumTries {
      state.finish(ticket, .failure(failure))
    } else if wasReady {
      let deadline = now + timing.patienceMilliseconds
      state.questions[ticket]?.deadline = deadline
    }
  }

  /// Processes the passage of time.
  package mutating func tick(now: UInt64) {
    state.questions.wake(at: now)
    switch phase {
    case .connecting(let since), .greeting(let since):
      if now >= since + timing.connectMilliseconds {
        disconnect(.unreachable("it does not answer"), now: now)
      }
    case .ready: tickReady(now: now)
    case .idle, .pausing: break
    }
    if !isReady {
      for ticket in state.questions.tickets
      where now >= state.questions[ticket]?.deadline ?? .max {
        wasReached = false
        state.finish(
          ticket, .failure(.unreachable("the connection was lost and did not return in time")))
      }
    }
    pump(now: now)
  }

  private mutating func tickReady(now: UInt64) {
    if let oldest = state.requests.oldest,
      now >= timing.answerDeadline(askedAt: oldest, heardAt: lastHeard)
    {
      // Half-open: the other side is gone without notice.
      Probe.connectionStale.hit()
      disconnect(.unreachable("it stopped answering"), now: now)
      return
    }
    if let due = pingTime, now >= due { state.send(.ping, .ping, now: now) }
  }

  /// The time of the next ping; nil while a ping waits for its answer.
  ///
  /// That answer may take long if it is queued behind a batch on a slow network. A time in the past
  /// would wake the shell for ever.
  private var pingTime: UInt64? {
    state.requests.hasPing
      ? nil
      : state.requests.lastSent + UInt64(state.welcome?.heartbeatSeconds ?? 30) * 1_000
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
        times.append(state.requests.lastSent)
      }
      if let oldest = state.requests.oldest {
        times.append(timing.answerDeadline(askedAt: oldest, heardAt: lastHeard))
      }
      times += state.questions.delays
    }
    if !isReady { times += state.questions.deadlines }
    return times.min()
  }

  // MARK: Connecting

  private var isWanted: Bool { !state.questions.isEmpty || state.mailboxes.wantNews }

  /// Does all work that is possible now.
  private mutating func pump(now: UInt64) {
    switch phase {
    case .idle: if isWanted { connect(now: now) }
    case .pausing(let until): if isWanted, now >= until { connect(now: now) }
    case .connecting, .greeting: break
    case .ready: RelayClientQuestions.work(in: &state, now: now)
    }
  }

  private mutating func connect(now: UInt64) {
    phase = .connecting(since: now)
    lastAttempt = now
    state.effects.append(.connect)
  }

  /// Returns a pause that doubles with every consecutive loss, with a random half.
  private func pause() -> UInt64 {
    let doubled =
      timing.firstPauseMilliseconds << UInt64(min(max(0, state.losses - 1), 20))
    let whole = max(1, min(timing.longestPauseMilliseconds, doubled))
    let random = state.random(4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return whole / 2 + random % (whole / 2 + 1)
  }

  private mutating func reset() {
    state.reset()
    inbox = RelayFrameBuffer()
  }

  /// Ends a connection that is of no more use.
  private mutating func disconnect(_ failure: RelayFailure, now: UInt64) {
    guard phase != .idle else { return }
    if case .protocolBroken = failure { Probe.brokenOff.hit() }
    state.effects.append(.disconnect)
    lost(failure, now: now)
  }

  // MARK: Answers

  private mutating func take(
    _ frame: RelayFrame<RelayReply>, now: UInt64
  ) throws(RelayConnectionEnd) {
    if frame.message.isPush {
      try RelayClientQuestions.take(push: frame.message, in: &state)
      return
    }
    guard let request = state.requests.take(frame.request) else {
      throw RelayConnectionEnd(violation: "it answered a request that was not sent")
    }
    switch request.purpose {
    case .hello: try take(welcome: frame.message, now: now)
    case .ping, .close: break
    case .open(let mailbox):
      try RelayClientOpening.take(
        challenge: frame.message, of: mailbox, in: &state, now: now)
    case .prove(let mailbox):
      try RelayClientOpening.take(
        opened: frame.message, of: mailbox, askedAt: request.since, in: &state, now: now)
    case .subscribe(let mailbox):
      try RelayClientQuestions.take(subscribed: frame.message, of: mailbox, in: &state)
    case .question(let ticket):
      try RelayClientQuestions.take(
        answer: frame.message, to: ticket, askedAt: request.since, in: &state, now: now)
    }
  }

  private mutating func take(
    welcome reply: RelayReply, now: UInt64
  ) throws(RelayConnectionEnd) {
    switch reply {
    case .welcome(let welcome) where welcome.version == RelayLimits.version:
      state.welcome = welcome
      phase = .ready(since: now)
      wasReached = true
    case .fault(let fault): throw RelayConnectionEnd(.fault(fault))
    default: throw RelayConnectionEnd(violation: "it does not greet as a relay does")
    }
  }
}

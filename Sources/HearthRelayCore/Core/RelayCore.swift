import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// The relay as a value: events in, effects out; no clock, no randomness, no socket, no file.
///
/// It holds sessions, their open mailboxes, and pending requests to the log. All state of a mailbox
/// is in the log, so memory depends on connections alone. Not thread-safe: one owner calls
/// ``handle(_:now:day:)``.
package struct RelayCore {
  /// What the relay knows between two events.
  private(set) var state: RelayState
  private let admission: RelayAdmission
  private let requests: RelayMailboxRequests
  private let answers: RelayLogAnswers
  private var isDraining = false

  /// Creates a relay without sessions.
  ///
  /// - Parameters:
  ///   - configuration: the bounds.
  ///   - identity: the relay's identity.
  ///   - random: returns a number of unpredictable bytes.
  package init(
    configuration: RelayConfiguration, identity: RelayIdentity,
    random: @escaping @Sendable (Int) -> [UInt8]
  ) {
    state = RelayState(configuration)
    admission = RelayAdmission(identity, random: random)
    requests = RelayMailboxRequests(random: random)
    answers = RelayLogAnswers(admission: admission, requests: requests)
  }

  /// The bounds.
  package var configuration: RelayConfiguration { state.configuration }
  /// The counts so far.
  package var counters: RelayCounters { state.counters }
  /// The session of a pending request to the log; nil for an unknown ticket.
  package func session(of ticket: UInt64) -> RelaySessionID? { state.logRequests[ticket]?.session }
  /// The number of sessions.
  package var sessionCount: Int { state.sessions.count }
  /// The number of sessions that have never opened a mailbox.
  package var strangerCount: Int { state.sessions.strangers.count }
  /// The mailboxes that are open in some session, sorted.
  package var openMailboxes: [Identifier] { state.subscribers.names }
  /// The number of mailboxes that are open in some session.
  package var openMailboxCount: Int { state.subscribers.count }
  /// Whether draining is complete.
  package var isDrained: Bool {
    isDraining && state.sessions.count == 0 && state.logRequests.isEmpty
  }

  /// Whether a mailbox is open in some session.
  package func isOpen(_ mailbox: Identifier) -> Bool {
    state.subscribers.generation(of: mailbox) != nil
  }

  /// The earliest position up to which a mailbox's subscribers are informed; nil without
  /// subscribers.
  package func reportedHead(of mailbox: Identifier) -> UInt64? {
    RelayPush.reportedHead(of: mailbox, in: state)
  }

  /// Processes one event.
  ///
  /// - Parameters:
  ///   - event: the event.
  ///   - now: milliseconds of a monotonic clock.
  ///   - day: days since 1970, for the log's record of last use.
  /// - Returns: the resulting actions, in order.
  package mutating func handle(_ event: RelayEvent, now: UInt64, day: UInt32) -> [RelayEffect] {
    state.now = max(state.now, now)
    state.day = day
    switch event {
    case .connected(let id, let address): connect(id, address)
    case .received(let id, let frame, let count):
      receive(
        RelayCall(
          session: id, request: frame.request, message: frame.message, byteCount: count))
    case .malformed(let id, let fault):
      guard state.sessions[id] != nil else { break }
      state.counters.malformed += 1
      state.end(id, RelayFault(.malformed, String(fault.prefix(120))))
    case .arriving(let id): state.sessions[id]?.heardAt = state.now
    case .holding(let id, let byteCount): hold(id, byteCount)
    case .disconnected(let id): state.forget(id)
    case .congested(let id, let isCongested): congest(id, isCongested)
    case .draining(let id):
      if state.sessions[id]?.congestedAt != nil { state.sessions[id]?.congestedAt = state.now }
    case .written(let ticket, let result): finish(written: ticket, result)
    case .answered(let ticket, let result): finish(answered: ticket, result)
    case .appended(let mailbox, let head):
      RelayPush.deliver(mailbox, [], head: head, author: nil, in: &state)
    case .news(let news): RelayPush.take(news, in: &state)
    case .replaced:
      // A client that reopens a mailbox sees whether the log has changed.
      for mailbox in openMailboxes { state.cut(mailbox) }
    case .tick: tick()
    case .drain: drain()
    }
    defer { state.effects.removeAll(keepingCapacity: true) }
    return state.effects
  }

  // MARK: Sessions

  private mutating func connect(_ id: RelaySessionID, _ address: [UInt8]) {
    guard state.sessions.hasRoom(for: address), makeRoomForStranger(of: address), !isDraining
    else {
      state.counters.limited += 1
      state.effects.append(.close(id))
      return
    }
    state.counters.sessionsEver += 1
    state.sessions.add(id, address, now: state.now)
  }

  /// Ends a stranger's connection if that is needed to make room for a newcomer.
  ///
  /// Returns false if no stranger gives way.
  private mutating func makeRoomForStranger(of address: [UInt8]) -> Bool {
    guard state.sessions.areStrangersFull else { return true }
    guard let id = state.sessions.strangerGivingWay(to: address, now: state.now)
    else { return false }
    state.counters.timeouts += 1
    state.end(id, RelayFault(.idle, "others wait: open a mailbox sooner"))
    return true
  }

  private mutating func congest(_ id: RelaySessionID, _ isCongested: Bool) {
    guard state.sessions[id] != nil else { return }
    state.sessions.setCongested(id, isCongested, now: state.now)
    guard isCongested else {
      RelayPush.sendMissedHints(id, in: &state)
      pump(id)
      return
    }
    guard let slowest = state.sessions.slowestReaderIfTooMany() else { return }
    state.counters.slowReaders += 1
    state.end(
      slowest, RelayFault(.slowReader, "too many sessions read slowly: read faster"))
  }

  /// Records how much of a session's next frame is buffered, and ends sessions if the total is too
  /// much.
  private mutating func hold(_ id: RelaySessionID, _ byteCount: Int) {
    state.sessions.hold(id, byteCount, now: state.now)
    while let longest = state.sessions.longestHolderIfTooMuch() {
      state.counters.limited += 1
      state.end(
        longest, RelayFault(.unavailable, "too much arrives at once", retryAfterMilliseconds: 5_000)
      )
    }
  }

  private mutating func tick() {
    for (id, reason) in state.sessions.overdue(now: state.now) {
      switch reason {
      case .unread:
        state.counters.slowReaders += 1
        state.end(id, RelayFault(.slowReader, "the client does not read what was sent"))
      case .unopened:
        state.counters.timeouts += 1
        state.end(id, RelayFault(.idle, "no mailbox was opened in time"))
      case .silent:
        state.counters.timeouts += 1
        state.end(id, RelayFault(.idle, "nothing was heard: ping more often"))
      }
    }
    state.pruneRateLimits()
  }

  private mutating func drain() {
    guard !isDraining else { return }
    isDraining = true
    for id in state.sessions.ids {
      state.sessions[id]?.isEnding = true
      endIfDone(id)
    }
  }

  /// Ends a session that is to end and has no pending requests to the log.
  private mutating func endIfDone(_ id: RelaySessionID) {
    guard let session = state.sessions[id], session.isEnding, session.flights == 0
    else { return }
    // Spread, so that not all clients come back at once.
    let wait = 500 + Int(id.number % 64) * 70
    state.end(
      id, RelayFault(.goingAway, "the relay is being stopped", retryAfterMilliseconds: wait))
  }

  // MARK: Queued requests

  private mutating func receive(_ packed: RelayCall) {
    let id = packed.session
    guard let session = state.sessions[id] else { return }
    state.counters.framesReceived += 1
    state.sessions[id]?.heardAt = state.now
    guard let call = RelayPackedFrames.unpacked(packed, in: &state) else { return }
    if case .ping = call.message, session.isGreeted {
      ping(call)
      return
    }
    if let fault = refusalToQueue(call, of: session) {
      state.fail(id, call.request, fault)
      return
    }
    state.sessions.queue(call)
    pump(id)
    weigh(id)
  }

  private mutating func ping(_ call: RelayCall) {
    let now = state.now
    guard state.sessions[call.session]?.pings.take(1, now: now) == 0 else {
      state.counters.limited += 1
      state.fail(call.session, call.request, RelayFault(.tooMany, "too many pings"))
      return
    }
    state.send(call.session, call.request, .pong)
  }

  private mutating func refusalToQueue(
    _ call: RelayCall, of session: RelaySession
  ) -> RelayFault? {
    guard !session.isEnding else {
      return RelayFault(.goingAway, "the relay is being stopped")
    }
    guard session.queue.count + session.flights < configuration.maximumUnanswered else {
      state.counters.limited += 1
      return RelayFault(.tooMany, "too many requests without an answer")
    }
    guard state.sessions.canQueue(call.byteCount) else {
      state.counters.limited += 1
      return RelayFault(
        .unavailable, "the relay has too much to do", retryAfterMilliseconds: 1_000)
    }
    return nil
  }

  /// Starts all requests that may start: writes together, a read alone, in the order of arrival.
  private mutating func pump(_ id: RelaySessionID) {
    while let session = state.sessions[id], session.congestedAt == nil,
      let next = session.queue.first
    {
      guard session.flights == 0 || (next.isWrite && !session.isReading) else { return }
      state.sessions[id]?.queue.removeFirst()
      let flights = session.flights
      begin(next)
      if let after = state.sessions[id], after.flights > flights {
        state.sessions[id]?.isReading = !next.isWrite
      } else {
        state.sessions.release(id, next.byteCount)
      }
    }
  }

  /// Stops reading from a session with much to answer, or continues.
  private mutating func weigh(_ id: RelaySessionID) {
    guard let session = state.sessions[id] else { return }
    let isHeavy = session.pendingBytes >= configuration.pausingBytes
    guard isHeavy != session.isPaused else { return }
    state.sessions[id]?.isPaused = isHeavy
    state.effects.append(.pause(id, isHeavy))
  }

  /// Works on a request, which may ask the log.
  private mutating func begin(_ call: RelayCall) {
    let id = call.session
    if case .hello(let least, let most) = call.message {
      admission.greet(call, least, most, in: &state)
      return
    }
    guard state.sessions[id]?.isGreeted == true else {
      state.end(id, RelayFault(.wrongState, "a session begins with a hello"))
      return
    }
    switch call.message {
    case .hello: break
    case .ping: state.send(id, call.request, .pong)
    case .goodbye:
      state.send(id, call.request, .done)
      state.effects.append(.close(id))
      state.forget(id)
    case .open(let channel, let mailbox): admission.challenge(call, channel, mailbox, in: &state)
    case .close(let channel):
      guard state.sessions[id]?.channels[channel] != nil else {
        state.fail(id, call.request, RelayFault(.wrongState, "the channel is not in use"))
        return
      }
      state.close(id, channel)
      state.send(id, call.request, .done)
    case .prove(let proof): admission.prove(call, proof, in: &state)
    case .create(let creation): admission.create(call, creation, in: &state)
    case .openPublic(let channel, let mailbox):
      admission.openPublic(call, channel, mailbox, in: &state)
    default:
      guard let open = state.sessions[id]?.channels[call.message.channel ?? 0]?.open else {
        state.fail(
          id, call.request, RelayFault(.wrongState, "no mailbox is open on the channel"))
        return
      }
      guard RelayCatalogueAccess.permits(call, open, in: &state) else { return }
      requests.perform(call, open, in: &state)
    }
  }

  // MARK: The log

  private mutating func finish(
    written number: UInt64, _ result: Result<RelayWritten, RelayError>
  ) {
    guard let ticket = state.logRequests.take(number) else { return }
    switch result {
    case .success(let written): answers.take(written, for: ticket, in: &state)
    case .failure(let error): answers.fail(ticket, error, in: &state)
    }
    land(ticket)
  }

  private mutating func finish(
    answered number: UInt64, _ result: Result<RelayAnswer, RelayError>
  ) {
    guard let ticket = state.logRequests.take(number) else { return }
    switch result {
    case .success(let answer): answers.take(answer, for: ticket, in: &state)
    case .failure(let error): answers.fail(ticket, error, in: &state)
    }
    land(ticket)
  }

  private mutating func land(_ ticket: RelayTicket) {
    let id = ticket.session
    state.sessions.release(id, ticket.byteCount)
    guard state.sessions[id] != nil else { return }
    state.sessions[id]?.flights -= 1
    endIfDone(id)
    pump(id)
    weigh(id)
  }
}

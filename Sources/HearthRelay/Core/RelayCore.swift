import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The relay as a value: events in, effects out; no clock, no randomness, no socket, no file.
///
/// It holds sessions, their open mailboxes, and pending requests to the log. All state of a mailbox
/// is in the log, so memory depends on connections alone. Not thread-safe: one owner calls
/// ``handle(_:now:)``.
package struct RelayCore {
  let configuration: RelayConfiguration
  let identity: RelayIdentity
  private let random: @Sendable (Int) -> [UInt8]
  var sessions: [RelaySessionID: RelaySession] = [:]
  var strangers: Set<RelaySessionID> = []
  var readers: Set<RelaySessionID> = []
  var congested: Set<RelaySessionID> = []
  /// The sessions with much of an incomplete frame buffered.
  var holding: Set<RelaySessionID> = []
  /// The buffered bytes of incomplete frames.
  var heldBytes = 0
  var rooms: [Identifier: RelayRoom] = [:]
  var tickets: [UInt64: RelayTicket] = [:]
  var effects: [RelayEffect] = []
  var now: UInt64 = 0
  var day: UInt32 = 0
  var waitingBytes = 0
  private var sessionsByAddress: [[UInt8]: Int] = [:]
  private var refusals: [[UInt8]: RelayBucket] = [:]
  private var catalogueWork: [[UInt8]: RelayBucket] = [:]
  private var nextTicket: UInt64 = 0
  private var isDraining = false
  /// The counts so far.
  package internal(set) var counters = RelayCounters()

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
    self.configuration = configuration
    self.identity = identity
    self.random = random
  }

  /// The session of a pending request to the log; nil for an unknown ticket.
  package func session(of ticket: UInt64) -> RelaySessionID? { tickets[ticket]?.session }

  /// The number of sessions.
  package var sessionCount: Int { sessions.count }
  /// The number of sessions that have never opened a mailbox.
  package var strangerCount: Int { strangers.count }
  /// The number of mailboxes that are open in some session.
  package var roomCount: Int { rooms.count }
  /// Whether draining is complete.
  package var isDrained: Bool { isDraining && sessions.isEmpty && tickets.isEmpty }

  /// Processes one event.
  ///
  /// - Parameters:
  ///   - event: the event.
  ///   - now: milliseconds of a monotonic clock.
  ///   - day: days since 1970, for the log's record of last use.
  /// - Returns: the resulting actions, in order.
  package mutating func handle(_ event: RelayEvent, now: UInt64, day: UInt32) -> [RelayEffect] {
    self.now = max(self.now, now)
    self.day = day
    switch event {
    case .connected(let id, let address): connect(id, address)
    case .received(let id, let frame, let count): receive(id, frame, count)
    case .malformed(let id, let fault):
      guard sessions[id] != nil else { break }
      counters.malformed += 1
      end(id, RelayFault(.malformed, String(fault.prefix(120))))
    case .arriving(let id): sessions[id]?.heardAt = self.now
    case .holding(let id, let byteCount): hold(id, byteCount)
    case .disconnected(let id): forget(id)
    case .congested(let id, let isCongested): congest(id, isCongested)
    case .draining(let id):
      if sessions[id]?.congestedAt != nil { sessions[id]?.congestedAt = self.now }
    case .written(let ticket, let result): finish(written: ticket, result)
    case .answered(let ticket, let result): finish(answered: ticket, result)
    case .appended(let mailbox, let head): deliver(mailbox, [], head: head, author: nil)
    case .news(let news): take(news)
    case .replaced: reopenAll()
    case .tick: tick()
    case .drain: drain()
    }
    defer { effects.removeAll(keepingCapacity: true) }
    return effects
  }

  // MARK: Sessions

  private mutating func connect(_ id: RelaySessionID, _ address: [UInt8]) {
    let isTooMany =
      sessions.count >= configuration.maximumSessions
      || sessionsByAddress[address, default: 0] >= configuration.maximumSessionsPerAddress
      || (strangers.count >= configuration.maximumStrangers && !makeRoomForStranger(of: address))
    guard !isTooMany, !isDraining else {
      counters.limited += 1
      effects.append(.close(id))
      return
    }
    counters.sessionsEver += 1
    sessions[id] = RelaySession(address: address, now: now, configuration)
    sessionsByAddress[address, default: 0] += 1
    strangers.insert(id)
  }

  /// Forgets a session that is gone.
  ///
  /// Its requests to the log continue.
  mutating func forget(_ id: RelaySessionID) {
    guard let session = sessions.removeValue(forKey: id) else { return }
    strangers.remove(id)
    readers.remove(id)
    congested.remove(id)
    holding.remove(id)
    heldBytes -= session.heldBytes
    waitingBytes -= session.queue.reduce(0) { $0 + $1.byteCount }
    let left = sessionsByAddress[session.address, default: 1] - 1
    sessionsByAddress[session.address] = left > 0 ? left : nil
    // Once for each mailbox: a session may have one open on all its channels, beside thousands of
    // others.
    for mailbox in Set(session.channels.values.compactMap { $0.open?.mailbox }) {
      rooms[mailbox]?.members.removeAll { $0.session == id }
      if rooms[mailbox]?.members.isEmpty == true { rooms[mailbox] = nil }
    }
  }

  /// Ends a session for a reason.
  mutating func end(_ id: RelaySessionID, _ fault: RelayFault) {
    send(id, push: .farewell(fault))
    effects.append(.close(id))
    forget(id)
  }

  private mutating func tick() {
    let silence = UInt64(configuration.heartbeatSeconds) * 3_000
    var ending: [(RelaySessionID, RelayFault)] = []
    for (id, session) in sessions {
      if let since = session.congestedAt, now >= since + configuration.slowReaderMilliseconds {
        counters.slowReaders += 1
        ending.append((id, RelayFault(.slowReader, "the client does not read what was sent")))
      } else if !session.isTrusted, !session.isReader,
        now >= session.connectedAt + configuration.handshakeMilliseconds
      {
        counters.timeouts += 1
        ending.append((id, RelayFault(.idle, "no mailbox was opened in time")))
      } else if now >= session.heardAt + silence, session.flights == 0 {
        counters.timeouts += 1
        ending.append((id, RelayFault(.idle, "nothing was heard: ping more often")))
      }
    }
    for (id, fault) in ending.sorted(by: { $0.0 < $1.0 }) { end(id, fault) }
    for (address, bucket) in refusals {
      var bucket = bucket
      if bucket.isFull(now: now) { refusals[address] = nil }
    }
    for (address, bucket) in catalogueWork {
      var bucket = bucket
      if bucket.isFull(now: now) { catalogueWork[address] = nil }
    }
  }

  private mutating func drain() {
    guard !isDraining else { return }
    isDraining = true
    for id in sessions.keys.sorted() {
      sessions[id]?.isEnding = true
      endIfDone(id)
    }
  }

  /// Ends a session that is to end and has no pending requests to the log.
  private mutating func endIfDone(_ id: RelaySessionID) {
    guard let session = sessions[id], session.isEnding, session.flights == 0 else { return }
    // Spread, so that not all clients come back at once.
    let wait = 500 + Int(id.number % 64) * 70
    end(id, RelayFault(.goingAway, "the relay is being stopped", retryAfterMilliseconds: wait))
  }

  // MARK: Queued requests

  private mutating func receive(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int
  ) {
    guard let session = sessions[id] else { return }
    counters.framesReceived += 1
    sessions[id]?.heardAt = now
    guard let (frame, byteCount) = plain(id, frame, byteCount) else { return }
    if case .ping = frame.message, session.isGreeted {
      guard sessions[id]?.pings.take(1, now: self.now) == 0 else {
        counters.limited += 1
        fail(id, frame.request, RelayFault(.tooMany, "too many pings"))
        return
      }
      send(id, frame.request, .pong)
      return
    }
    guard !session.isEnding else {
      fail(id, frame.request, RelayFault(.goingAway, "the relay is being stopped"))
      return
    }
    guard session.queue.count + session.flights < configuration.maximumUnanswered else {
      counters.limited += 1
      fail(id, frame.request, RelayFault(.tooMany, "too many requests without an answer"))
      return
    }
    guard waitingBytes + byteCount <= configuration.maximumWaitingBytes else {
      counters.limited += 1
      fail(
        id, frame.request,
        RelayFault(.unavailable, "the relay has too much to do", retryAfterMilliseconds: 1_000))
      return
    }
    waitingBytes += byteCount
    sessions[id]?.pendingBytes += byteCount
    sessions[id]?.queue.append(RelaySession.Waiting(frame: frame, byteCount: byteCount))
    pump(id)
    weigh(id)
  }

  /// Starts all requests that may start: writes together, a read alone, in the order of arrival.
  mutating func pump(_ id: RelaySessionID) {
    while let session = sessions[id], session.congestedAt == nil, let next = session.queue.first {
      let isWrite = next.frame.message.isWrite
      guard session.flights == 0 || (isWrite && !session.isReading) else { return }
      sessions[id]?.queue.removeFirst()
      let flights = session.flights
      begin(id, next.frame, next.byteCount)
      guard let after = sessions[id] else {
        waitingBytes -= next.byteCount
        return
      }
      if after.flights > flights {
        sessions[id]?.isReading = !isWrite
      } else {
        release(id, next.byteCount)
      }
    }
  }

  private mutating func release(_ id: RelaySessionID, _ byteCount: Int) {
    waitingBytes -= byteCount
    sessions[id]?.pendingBytes -= byteCount
  }

  private mutating func weigh(_ id: RelaySessionID) {
    guard let session = sessions[id] else { return }
    let isHeavy = session.pendingBytes >= configuration.pausingBytes
    guard isHeavy != session.isPaused else { return }
    sessions[id]?.isPaused = isHeavy
    effects.append(.pause(id, isHeavy))
  }

  // MARK: The log

  mutating func ask(
    _ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>, _ byteCount: Int,
    _ mailbox: Identifier, _ purpose: RelayTicket.Purpose
  ) -> UInt64 {
    nextTicket += 1
    tickets[nextTicket] = RelayTicket(
      session: id, request: frame.request, byteCount: byteCount, mailbox: mailbox,
      channel: frame.message.channel ?? 0, purpose: purpose)
    sessions[id]?.flights += 1
    return nextTicket
  }

  private mutating func finish(written number: UInt64, _ result: Result<RelayWritten, RelayError>) {
    guard let ticket = tickets.removeValue(forKey: number) else { return }
    switch result {
    case .success(let written): complete(ticket, written)
    case .failure(let error): failed(ticket, error)
    }
    land(ticket)
  }

  private mutating func finish(answered number: UInt64, _ result: Result<RelayAnswer, RelayError>) {
    guard let ticket = tickets.removeValue(forKey: number) else { return }
    switch result {
    case .success(let answer): complete(ticket, answer)
    case .failure(let error): failed(ticket, error)
    }
    land(ticket)
  }

  private mutating func failed(_ ticket: RelayTicket, _ error: RelayError) {
    counters.logFailures += 1
    Probe.logFailed.hit()
    switch ticket.purpose {
    case .challenge, .prove, .create, .openPublic:
      sessions[ticket.session]?.channels[ticket.channel] = nil
    case .subscribe: update(ticket.session, ticket.channel) { $0.subscription = .none }
    default: break
    }
    // Spread, so that not all clients come back at once.
    let spread = Int(ticket.session.number % 64) * 16
    let (words, wait) =
      switch error.code {
      case .unavailable: ("the relay cannot reach its database: nothing was stored", 500 + spread)
      case .unknownOutcome:
        ("the relay cannot tell whether this was stored: do it again", 500 + spread)
      default: ("the relay's disk failed: nothing was stored", 5_000)
      }
    fail(
      ticket.session, ticket.request,
      RelayFault(.unavailable, words, retryAfterMilliseconds: wait))
  }

  private mutating func land(_ ticket: RelayTicket) {
    guard sessions[ticket.session] != nil else {
      waitingBytes -= ticket.byteCount
      return
    }
    release(ticket.session, ticket.byteCount)
    sessions[ticket.session]?.flights -= 1
    endIfDone(ticket.session)
    pump(ticket.session)
    weigh(ticket.session)
  }

  // MARK: Utilities

  /// Returns random bytes.
  func chance(_ count: Int) -> [UInt8] { random(count) }

  mutating func send(_ id: RelaySessionID, _ request: UInt32, _ reply: RelayReply) {
    guard sessions[id] != nil else { return }
    effects.append(.send(id, RelayFrame(request: request, reply).encoded))
  }

  mutating func send(_ id: RelaySessionID, push: RelayReply) {
    send(id, 0, push)
  }

  mutating func fail(_ id: RelaySessionID, _ request: UInt32, _ fault: RelayFault) {
    send(id, request, .fault(fault))
    // A correct client receives such a fault now and then. A client that receives them all the time
    // costs others the relay's time.
    guard fault.code == .wrongState || fault.code == .tooMany else { return }
    sessions[id]?.faults += 1
    if let count = sessions[id]?.faults, count > configuration.maximumFaults {
      counters.limited += 1
      end(id, RelayFault(.tooMany, "too many requests that cannot be answered: connect again"))
    }
  }

  /// How many milliseconds the session's address has to wait before it may try a mailbox.
  mutating func attemptWait(_ id: RelaySessionID) -> Int {
    guard let address = sessions[id]?.address, var bucket = refusals[address] else { return 0 }
    let wait = bucket.take(1, now: now)
    if wait > 0 { counters.limited += 1 }
    return wait
  }

  /// Counts a refusal or a new mailbox against the session's address.
  mutating func countAttempt(_ id: RelaySessionID) {
    guard let address = sessions[id]?.address,
      refusals[address] != nil || refusals.count < configuration.maximumAddresses
    else { return }
    var bucket =
      refusals[address] ?? RelayBucket(perMinute: configuration.refusalsPerMinute, now: now)
    _ = bucket.take(1, now: now)
    refusals[address] = bucket
  }

  /// Counts work on catalogues against the session's address.
  ///
  /// Returns 0, or the milliseconds to wait.
  mutating func catalogueWait(_ id: RelaySessionID, _ work: Int) -> Int {
    guard let own = sessions[id]?.address else { return 0 }
    // Addresses beyond the remembered ones share one allowance.
    let isKept = catalogueWork[own] != nil || catalogueWork.count < configuration.maximumAddresses
    let address = isKept ? own : []
    var bucket =
      catalogueWork[address]
      ?? RelayBucket(perMinute: configuration.catalogueWorkPerMinute, now: now)
    let wait = bucket.take(work, now: now)
    catalogueWork[address] = bucket
    if wait > 0 { counters.limited += 1 }
    return wait
  }

  mutating func update(
    _ id: RelaySessionID, _ channel: Int, _ change: (inout RelayChannel.Open) -> Void
  ) {
    guard var open = sessions[id]?.channels[channel]?.open else { return }
    change(&open)
    sessions[id]?.channels[channel] = .open(open)
  }
}

extension RelayRequest {
  /// Whether the request changes the log.
  ///
  /// Several such requests may be with the log at once.
  var isWrite: Bool {
    switch self {
    case .put, .putPacked, .remove: true
    default: false
    }
  }
}

import HearthCRDT
import HearthRelayProtocol

/// What the parts of a relay work on: sessions, subscribers, rate limits, requests to the log, and
/// the effects of the current event.
struct RelayState {
  let configuration: RelayConfiguration
  var sessions: RelaySessions
  var subscribers: RelaySubscribers
  var logRequests = RelayLogRequests()
  var counters = RelayCounters()
  /// The resulting actions so far, in order.
  var effects: [RelayEffect] = []
  /// Milliseconds of a monotonic clock.
  var now: UInt64 = 0
  /// Days since 1970.
  var day: UInt32 = 0
  private var rateLimits: RelayRateLimits

  init(_ configuration: RelayConfiguration) {
    self.configuration = configuration
    sessions = RelaySessions(configuration)
    subscribers = RelaySubscribers(configuration)
    rateLimits = RelayRateLimits(configuration)
  }

  // MARK: Output

  /// Answers a request, unless its session is gone.
  mutating func send(_ id: RelaySessionID, _ request: UInt32, _ reply: RelayReply) {
    guard sessions[id] != nil else { return }
    effects.append(.send(id, RelayFrame(request: request, reply).encoded))
  }

  /// Sends a message that no request asked for.
  mutating func send(_ id: RelaySessionID, push: RelayReply) {
    send(id, 0, push)
  }

  /// Answers a request with a fault, and ends a session that has received too many faults.
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

  /// Sends the single refusal that unknown and forbidden mailboxes share.
  mutating func refuse(_ id: RelaySessionID, _ request: UInt32) {
    counters.refusals += 1
    countAttempt(id)
    fail(id, request, .refused)
  }

  // MARK: Sessions and channels

  /// Ends a session for a reason.
  mutating func end(_ id: RelaySessionID, _ fault: RelayFault) {
    send(id, push: .farewell(fault))
    effects.append(.close(id))
    forget(id)
  }

  /// Forgets a session that is gone.
  ///
  /// Its requests to the log continue.
  mutating func forget(_ id: RelaySessionID) {
    guard let session = sessions.remove(id) else { return }
    // Once for each mailbox: a session may have one open on all its channels, beside thousands of
    // others.
    for mailbox in Set(session.channels.values.compactMap { $0.open?.mailbox }) {
      subscribers.leave(mailbox, session: id)
    }
  }

  /// Closes a channel on the relay's side.
  mutating func close(_ id: RelaySessionID, _ channel: Int) {
    if let open = sessions[id]?.channels[channel]?.open {
      subscribers.leave(open.mailbox, RelayPushTarget(session: id, channel: channel))
    }
    sessions[id]?.channels[channel] = nil
  }

  /// Closes at once every channel of a mailbox whose right is gone.
  mutating func cut(
    _ mailbox: Identifier, sparing ticket: RelayTicket? = nil,
    where isGone: (RelayChannel.Open) -> Bool = { _ in true }
  ) {
    for member in subscribers.members(of: mailbox) {
      let isSpared = member.session == ticket?.session && member.channel == ticket?.channel
      guard !isSpared, let open = sessions[member.session]?.channels[member.channel]?.open,
        isGone(open)
      else { continue }
      if Mutant.relaySparesOldKeys.isActive { continue }
      Probe.closedByRotation.hit()
      close(member.session, member.channel)
      send(member.session, push: .closed(channel: member.channel, .accessChanged))
    }
  }

  // MARK: The log

  /// Asks the log for a read, and keeps a ticket until the answer.
  mutating func read(
    _ call: RelayCall, _ mailbox: Identifier, _ authority: RelayAuthority?,
    _ question: RelayRead.Question, for purpose: RelayTicket.Purpose
  ) {
    let ticket = ticket(call, mailbox, purpose)
    let read = RelayRead(mailbox: mailbox, authority: authority, question: question)
    effects.append(.read(ticket: ticket, RelayReadBox(read: read)))
  }

  /// Asks the log for a write, and keeps a ticket until the result.
  mutating func write(
    _ call: RelayCall, _ mailbox: Identifier, _ authority: RelayAuthority?, _ author: [UInt8],
    _ action: RelayWrite.Action, for purpose: RelayTicket.Purpose
  ) {
    let ticket = ticket(call, mailbox, purpose)
    let write = RelayWrite(
      mailbox: mailbox, authority: authority, author: author, action: action,
      quota: configuration.quota, day: day)
    effects.append(.write(ticket: ticket, RelayWriteBox(write: write)))
  }

  private mutating func ticket(
    _ call: RelayCall, _ mailbox: Identifier, _ purpose: RelayTicket.Purpose
  ) -> UInt64 {
    sessions[call.session]?.flights += 1
    return logRequests.add(
      RelayTicket(
        session: call.session, request: call.request, byteCount: call.byteCount,
        mailbox: mailbox, channel: call.message.channel ?? 0, purpose: purpose))
  }

  // MARK: Rate limits

  /// How many milliseconds the session's address has to wait before it may try a mailbox.
  mutating func attemptWait(_ id: RelaySessionID) -> Int {
    guard let address = sessions[id]?.address else { return 0 }
    let wait = rateLimits.attemptWait(address, now: now)
    if wait > 0 { counters.limited += 1 }
    return wait
  }

  /// Counts a refusal or a new mailbox against the session's address.
  mutating func countAttempt(_ id: RelaySessionID) {
    guard let address = sessions[id]?.address else { return }
    rateLimits.countAttempt(address, now: now)
  }

  /// Counts work on catalogues against the session's address.
  ///
  /// Returns 0, or the milliseconds to wait.
  mutating func catalogueWait(_ id: RelaySessionID, _ work: Int) -> Int {
    guard let address = sessions[id]?.address else { return 0 }
    let wait = rateLimits.catalogueWait(address, work, now: now)
    if wait > 0 { counters.limited += 1 }
    return wait
  }

  /// Forgets addresses that have caused nothing for a while.
  mutating func pruneRateLimits() {
    rateLimits.prune(now: now)
  }
}

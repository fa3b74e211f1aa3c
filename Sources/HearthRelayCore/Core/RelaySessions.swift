/// The relay's sessions, and who gives way under scarcity.
///
/// A large crowd never displaces a single client.
struct RelaySessions {
  /// Why a session ends by time alone.
  enum Overdue {
    /// The client takes nothing of what was sent.
    case unread
    /// No mailbox was opened in time.
    case unopened
    /// Nothing was heard.
    case silent
  }

  private let configuration: RelayConfiguration
  private var sessions: [RelaySessionID: RelaySession] = [:]
  private var countByAddress: [[UInt8]: Int] = [:]
  /// The sessions that have never opened a mailbox.
  private(set) var strangers: Set<RelaySessionID> = []
  /// The sessions that have opened only catalogues.
  private var readers: Set<RelaySessionID> = []
  private var congested: Set<RelaySessionID> = []
  /// The sessions with much of an incomplete frame buffered.
  private var holding: Set<RelaySessionID> = []
  /// The buffered bytes of incomplete frames.
  private(set) var heldBytes = 0
  /// The bytes of all queued and running requests.
  private(set) var waitingBytes = 0

  init(_ configuration: RelayConfiguration) {
    self.configuration = configuration
  }

  /// The session of an id; sessions come and go by ``add(_:_:now:)`` and ``remove(_:)`` alone.
  subscript(id: RelaySessionID) -> RelaySession? {
    get { sessions[id] }
    _modify { yield &sessions[id] }
  }

  /// The number of sessions.
  var count: Int { sessions.count }

  /// All sessions, sorted.
  var ids: [RelaySessionID] { sessions.keys.sorted() }

  // MARK: Coming and going

  /// Whether one more session of an address is within the limits of all sessions.
  func hasRoom(for address: [UInt8]) -> Bool {
    sessions.count < configuration.maximumSessions
      && countByAddress[address, default: 0] < configuration.maximumSessionsPerAddress
  }

  /// Adds a session, which is a stranger at first.
  mutating func add(_ id: RelaySessionID, _ address: [UInt8], now: UInt64) {
    sessions[id] = RelaySession(address: address, now: now, configuration)
    countByAddress[address, default: 0] += 1
    strangers.insert(id)
  }

  /// Removes a session and returns it; nil if there is none.
  mutating func remove(_ id: RelaySessionID) -> RelaySession? {
    guard let session = sessions.removeValue(forKey: id) else { return nil }
    strangers.remove(id)
    readers.remove(id)
    congested.remove(id)
    holding.remove(id)
    heldBytes -= session.heldBytes
    waitingBytes -= session.queue.reduce(0) { $0 + $1.byteCount }
    let left = countByAddress[session.address, default: 1] - 1
    countByAddress[session.address] = left > 0 ? left : nil
    return session
  }

  /// Records that a session has opened a mailbox; returns false if it had before.
  mutating func trust(_ id: RelaySessionID) -> Bool {
    guard sessions[id]?.isTrusted == false else { return false }
    sessions[id]?.isTrusted = true
    strangers.remove(id)
    readers.remove(id)
    return true
  }

  /// Records that a session reads catalogues; returns false if there are too many such sessions.
  mutating func admitReader(_ id: RelaySessionID) -> Bool {
    guard let session = sessions[id], !session.isTrusted, !session.isReader else { return true }
    guard readers.count < configuration.maximumReaders else { return false }
    // Frames stay short, because a reader has nothing long to send.
    sessions[id]?.isReader = true
    readers.insert(id)
    strangers.remove(id)
    return true
  }

  /// The sessions that end by time alone, sorted.
  func overdue(now: UInt64) -> [(id: RelaySessionID, reason: Overdue)] {
    let silence = UInt64(configuration.heartbeatSeconds) * 3_000
    var found: [(id: RelaySessionID, reason: Overdue)] = []
    for (id, session) in sessions {
      if let since = session.congestedAt, now >= since + configuration.slowReaderMilliseconds {
        found.append((id, .unread))
      } else if !session.isTrusted, !session.isReader,
        now >= session.connectedAt + configuration.handshakeMilliseconds
      {
        found.append((id, .unopened))
      } else if now >= session.heardAt + silence, session.flights == 0 {
        found.append((id, .silent))
      }
    }
    return found.sorted { $0.id < $1.id }
  }

  // MARK: Requests and channels

  /// Whether a request fits the bytes that may wait.
  func canQueue(_ byteCount: Int) -> Bool {
    waitingBytes + byteCount <= configuration.maximumWaitingBytes
  }

  /// Adds a request to its session's queue.
  mutating func queue(_ call: RelayCall) {
    waitingBytes += call.byteCount
    sessions[call.session]?.pendingBytes += call.byteCount
    sessions[call.session]?.queue.append(call)
  }

  /// Records that a request is answered, whether its session is still there or not.
  mutating func release(_ id: RelaySessionID, _ byteCount: Int) {
    waitingBytes -= byteCount
    sessions[id]?.pendingBytes -= byteCount
  }

  /// Changes an open channel.
  mutating func update(
    _ id: RelaySessionID, _ channel: Int, _ change: (inout RelayChannel.Open) -> Void
  ) {
    guard var open = sessions[id]?.channels[channel]?.open else { return }
    change(&open)
    sessions[id]?.channels[channel] = .open(open)
  }

  // MARK: Strangers

  /// Whether there are as many strangers as there may be.
  var areStrangersFull: Bool { strangers.count >= configuration.maximumStrangers }

  /// Returns the stranger whose connection ends to make room for a newcomer; nil if none has to.
  ///
  /// It is one of an address that has clearly more strangers, so that no address keeps out others.
  /// Otherwise it is the oldest stranger if that one had a fair time. A home, an office or a mobile
  /// network has some strangers behind one address when all reconnect at once. Only a number above
  /// that is a crowd.
  func strangerGivingWay(to address: [UInt8], now: UInt64) -> RelaySessionID? {
    let own = strangers.count { sessions[$0]?.address == address }
    if let crowd = crowd(of: strangers), crowd.count > own + 1,
      crowd.count > configuration.fairStrangersPerAddress, let oldest = crowd.members.min()
    {
      return oldest
    }
    guard let oldest = strangers.min(), let session = sessions[oldest],
      now >= session.connectedAt + configuration.handshakeMilliseconds / 10
    else { return nil }
    return oldest
  }

  /// Returns the sessions of the addresses that have most of some sessions, and how many each has.
  private func crowd(
    of ids: Set<RelaySessionID>
  ) -> (members: [RelaySessionID], count: Int)? {
    var counts: [[UInt8]: Int] = [:]
    for id in ids { counts[sessions[id]?.address ?? [], default: 0] += 1 }
    guard let most = counts.values.max() else { return nil }
    return (ids.filter { counts[sessions[$0]?.address ?? []] == most }, most)
  }

  // MARK: Slow readers

  /// Records that a session's output queue is too long, or is no longer.
  mutating func setCongested(_ id: RelaySessionID, _ isCongested: Bool, now: UInt64) {
    guard isCongested else {
      congested.remove(id)
      sessions[id]?.congestedAt = nil
      return
    }
    if sessions[id]?.congestedAt == nil {
      sessions[id]?.congestedAt = now
      sessions[id]?.congestedSince = now
    }
    congested.insert(id)
  }

  /// Returns the session that has been congested longest; nil unless too many are.
  ///
  /// If one address has a quarter of all congested sessions, only its sessions are considered. A
  /// client that reads a little now and then to stay gains nothing. A client that has been
  /// connected long loses nothing.
  func slowestReaderIfTooMany() -> RelaySessionID? {
    guard congested.count > configuration.maximumCongested, let crowd = crowd(of: congested)
    else { return nil }
    let isMany = crowd.count > 1 && crowd.count * 4 >= congested.count
    return (isMany ? crowd.members : Array(congested)).min { left, right in
      let times = (sessions[left]?.congestedSince ?? 0, sessions[right]?.congestedSince ?? 0)
      return times.0 != times.1 ? times.0 < times.1 : left < right
    }
  }

  // MARK: Incomplete frames

  /// Records how much of a session's next frame is buffered.
  mutating func hold(_ id: RelaySessionID, _ byteCount: Int, now: UInt64) {
    guard let session = sessions[id] else { return }
    heldBytes += byteCount - session.heldBytes
    if byteCount < session.heldBytes || session.heldBytes == 0 { sessions[id]?.heldSince = now }
    sessions[id]?.heldBytes = byteCount
    if byteCount > 0 { holding.insert(id) } else { holding.remove(id) }
  }

  /// Returns the session whose incomplete frame gives way; nil unless too much is buffered.
  ///
  /// That session belongs to the address with most buffered bytes, and its frame has been arriving
  /// longest.
  func longestHolderIfTooMuch() -> RelaySessionID? {
    guard heldBytes > configuration.maximumHeldBytes else { return nil }
    var held: [[UInt8]: Int] = [:]
    for id in holding {
      held[sessions[id]?.address ?? [], default: 0] += sessions[id]?.heldBytes ?? 0
    }
    let most = held.values.max() ?? 0
    return holding.filter { held[sessions[$0]?.address ?? []] == most }.min { left, right in
      let times = (sessions[left]?.heldSince ?? 0, sessions[right]?.heldSince ?? 0)
      return times.0 != times.1 ? times.0 < times.1 : left < right
    }
  }
}

import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// What holds of an honest relay, seen from outside: by what goes over its lines and what its log
/// answered, never by what it remembers.
struct RelayRules {
  /// How far a mailbox's log was acknowledged.
  private struct Promise {
    let generation: Identifier
    var position: UInt64
    var chain: Bytes32
  }

  /// What a session has said about itself.
  private struct Session {
    var mailboxes: [Int: Identifier] = [:]
    var channels: [UInt32: Int] = [:]
    /// Channels opened by a manager's key, which stays good.
    var managed: Set<Int> = []
  }

  private var promises: [Identifier: Promise] = [:]
  /// What belongs to a mailbox as the same, in the order in which it was made.
  private var children: [RelayParent: [Identifier]] = [:]
  private var sessions: [RelaySessionID: Session] = [:]
  /// Who was left out when a mailbox's access key was changed.
  private var banned: [Identifier: Set<DeviceID>] = [:]

  // MARK: What is acknowledged stays

  /// The log answered a write.
  ///
  /// - Returns: what is wrong with the answer.
  mutating func written(_ write: RelayWrite, _ answer: RelayWritten) -> String? {
    let appended: [RelayHeader]
    switch answer {
    case .created(let mailbox):
      begin(mailbox.name, mailbox.head.generation)
      if let parent = mailbox.parent { makeRoom(for: mailbox.name, of: parent) }
      return nil
    case .reset(let cursor):
      begin(write.mailbox, cursor.generation)
      return nil
    case .stored(_, let headers, _), .removed(_, let headers, _): appended = headers
    default: return nil
    }
    guard var promise = promises[write.mailbox] else { return nil }
    for header in appended {
      guard header.position == promise.position + 1 else {
        return "left a gap: after \(promise.position) comes \(header.position)"
      }
      promise.position = header.position
      promise.chain = RelayChain.next(promise.chain, header)
    }
    promises[write.mailbox] = promise
    return nil
  }

  /// A mailbox's log begins, or begins anew.
  private mutating func begin(_ mailbox: Identifier, _ generation: Identifier) {
    promises[mailbox] = Promise(
      generation: generation, position: 0,
      chain: RelayChain.start(mailbox: mailbox, generation: generation))
  }

  /// One handoff more than may be takes the place of the oldest: that one is owed no more.
  private mutating func makeRoom(for name: Identifier, of parent: RelayParent) {
    children[parent, default: []].removeAll { $0 == name }
    children[parent, default: []].append(name)
    guard parent.child == .handoff, let handoffs = children[parent],
      handoffs.count > RelayLimits.maximumHandoffs
    else { return }
    promises[handoffs[0]] = nil
    children[parent]?.removeFirst()
  }

  func follows(_ mailbox: Identifier) -> Bool { promises[mailbox] != nil }

  mutating func follow(_ mailbox: RelayMailbox) {
    promises[mailbox.name] = Promise(
      generation: mailbox.head.generation, position: mailbox.head.position, chain: mailbox.chain)
  }

  /// What was acknowledged before a start and is not there after it; nil where all is.
  ///
  /// More may be there: a batch whose commit was told as failed can have reached the disk.
  mutating func brokenPromise(of relay: SimRelay) throws -> String? {
    guard let log = relay.log else { return nil }
    for mailbox in promises.keys.sorted() {
      guard let promise = promises[mailbox] else { continue }
      let read = RelayRead(
        mailbox: mailbox, authority: nil, question: .find(chainAt: promise.position))
      guard case .found(let found, let chain) = try log.read(read) else { continue }
      guard let found, found.head.generation == promise.generation else {
        return "lost a mailbox that it had told of"
      }
      guard found.head.position >= promise.position, chain == promise.chain else {
        return "lost what it had acknowledged: its log ends at \(found.head.position), "
          + "not at \(promise.position)"
      }
      follow(found)
    }
    return nil
  }

  /// A fault took the log: nothing of before is owed, and a log of before knows keys of before
  /// until the next member looks in and changes them.
  mutating func forget() {
    promises = [:]
    children = [:]
    banned = [:]
  }

  mutating func forget(_ mailbox: Identifier) { promises[mailbox] = nil }

  // MARK: Who is out is out

  /// A device asks something.
  mutating func asked(_ id: RelaySessionID, _ frame: RelayFrame<RelayRequest>) {
    guard let channel = frame.message.channel else { return }
    if case .open(_, let mailbox) = frame.message {
      sessions[id, default: Session()].mailboxes[channel] = mailbox
      sessions[id]?.managed.remove(channel)
    }
    sessions[id, default: Session()].channels[frame.request] = channel
  }

  mutating func closed(_ id: RelaySessionID) { sessions[id] = nil }

  /// A member has changed a mailbox's access key.
  mutating func rotated(_ mailbox: Identifier, by device: SimDevice) {
    banned[mailbox] = device.leftOut
    SimProbe.relayBanned.hit(if: !device.leftOut.isEmpty)
  }

  /// Somebody counts as a member again in somebody's eyes, or was given the keys once more.
  mutating func pardon(_ devices: some Sequence<DeviceID>) {
    for mailbox in Array(banned.keys) { banned[mailbox]?.subtract(devices) }
  }

  /// The relay tells something; what is wrong with that, nil if nothing.
  mutating func answered(
    _ id: RelaySessionID, _ bytes: [UInt8], to device: SimDevice
  ) -> String? {
    guard
      let frame = try? RelayFrame<RelayReply>(
        decoding: Array(bytes.dropFirst(RelayFraming.lengthBytes)))
    else { return nil }
    var channel = sessions[id]?.channels.removeValue(forKey: frame.request)
    switch frame.message {
    case .opened(let opened):
      if opened.rank == .manager, let channel { sessions[id]?.managed.insert(channel) }
    case .pushed(let number, _), .pushedPacked(let number, _, _): channel = number
    case .listing, .blobs, .entries: break
    default: return nil
    }
    guard let channel, let mailbox = sessions[id]?.mailboxes[channel],
      sessions[id]?.managed.contains(channel) != true,
      banned[mailbox]?.contains(device.deviceID) == true
    else { return nil }
    return "the relay tells it of a mailbox whose key was changed to leave it out"
  }
}

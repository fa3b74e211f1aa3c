import HearthCRDT
import HearthCrypto

/// The state of one mailbox in a client's session.
struct RelayClientMailbox: Sendable {
  enum Stage: Equatable {
    case closed
    case asked
    case proving(RelayOpening.Key)
    case creating
    case open
  }

  private(set) var access: MailboxAccess
  private(set) var cursor: RelayCursor?
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
  private(set) var openedAt: UInt64 = 0
  /// Whether to prefetch the mailbox: open it together with the others.
  var isPrefetched = false
  /// Whether pushes are wanted, and whether this session has requested them.
  var wantsNews = false
  var isSubscribed = false
  /// Pushed blobs that nobody has asked for yet.
  var pushed = RelayPushedBlobs()
  /// The bases for packing the next put and unpacking the next packed push.
  private(set) var lastPut = RelayPackingBase()
  private(set) var lastReported = RelayLastReported()
  /// The end of the log, as far as it is known without asking.
  var end = RelayLogEnd()
  /// Whether the mailbox is not opened until it is asked for again or its keys change.
  var isBarred = false
  private var pairs: [Int: SigningKeyPair] = [:]
  /// Whether the mailbox is being opened only as the parent of another.
  var isForChild = false
  /// Whether such an opening failed, so that no child waits for another attempt.
  var isUnfit = false

  init(_ access: MailboxAccess, cursor: RelayCursor?) {
    self.access = access
    self.cursor = cursor
  }

  // MARK: Keys

  /// Takes over keys and the known end of the log; new keys are tried at once.
  mutating func know(_ access: MailboxAccess, cursor: RelayCursor?) {
    if self.access.keys != access.keys {
      pairs = [:]
      isBarred = false
      isUnfit = false
      if case .access(let place)? = opening?.key, place < self.access.keys.count {
        let key = self.access.keys[place]
        opening?.key = .access(access.keys.firstIndex(of: key) ?? access.keys.count)
      }
    }
    self.access = access
    self.cursor = cursor ?? self.cursor
  }

  /// Returns the key pair of one of the keys at a relay.
  mutating func pair(_ place: Int, relayID: Bytes32) -> SigningKeyPair? {
    guard place < access.keys.count else { return nil }
    if let known = pairs[place] { return known }
    let pair = try? access.keys[place].root.pair(
      mailbox: access.mailbox.bytes, relayID: relayID.array)
    pairs[place] = pair
    return pair
  }

  // MARK: Opening and closing

  /// Records how the relay opened the mailbox.
  mutating func open(_ opening: RelayOpening, askedAt: UInt64, now: UInt64) {
    stage = .open
    isBarred = false
    openedAt = now
    end.confirm(opening.opened.head.position, opening.opened.chain, askedAt: askedAt)
    self.opening = opening
  }

  /// Records that the access key is now the first of the keys.
  mutating func rotated(to generation: UInt64, relayID: Bytes32?) {
    guard let before = opening else { return }
    opening?.key = before.key == .own ? .own : .access(0)
    opening?.opened = before.opened.with(accessGeneration: generation)
    if let relayID, let key = pair(0, relayID: relayID) {
      opening?.wanted = RelayAccess.keyID(of: key.publicKey.bytes)
    }
  }

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
    lastReported = RelayLastReported()
    end = RelayLogEnd()
    isForChild = false
  }

  // MARK: The log

  /// Returns the request that stores items, packed against the previous put if packing is
  /// worthwhile.
  mutating func put(_ items: [RelayPut], _ channel: Int) -> RelayRequest {
    let base = lastPut
    lastPut = base.after(items)
    guard base.packs(items) else { return .put(channel: channel, items: items) }
    return .putPacked(channel: channel, items: base.pack(items))
  }

  /// Unpacks a packed push; nil if it does not match the previous report.
  func entries(of items: [RelayPackedItem], from first: UInt64) -> [RelayEntry]? {
    guard let puts = try? lastReported.base.unpack(items) else { return nil }
    return zip(first..., puts).map { position, put in
      RelayEntry(header: RelayHeader(of: put, at: position), blob: put.blob)
    }
  }

  /// Records the relay's answer to a question of this session, and when it was asked.
  mutating func take(_ question: RelayQuestion, _ reply: RelayReply, askedAt time: UInt64) {
    lastReported.take(question, reply)
    end.take(question, reply, askedAt: time)
  }

  /// Records that a subscription began at a head.
  mutating func subscribed(at head: UInt64) {
    lastReported = RelayLastReported()
    lastReported.skip(to: head)
    end.subscribed(at: head)
    reported(head)
  }

  /// Records pushed entries.
  mutating func take(_ entries: [RelayEntry]) {
    guard let last = entries.last else { return }
    pushed.append(entries)
    for entry in entries { end.append(entry.header) }
    lastReported.take(last.header.position, name: last.header.name, blob: last.blob)
    reported(last.header.position)
  }

  /// Records that the relay only hinted at a head.
  mutating func skip(to head: UInt64) {
    lastReported.skip(to: head)
    end.skip(to: head)
    reported(head)
  }

  /// The head of the opening is out of date once another is reported.
  private mutating func reported(_ head: UInt64) {
    if opening?.opened.head.position != head { opening?.isNew = false }
  }
}

extension RelayOpened {
  /// Returns the same state with another generation of the access key.
  func with(accessGeneration: UInt64) -> RelayOpened {
    RelayOpened(
      head: head, chain: chain, standing: standing, accessGeneration: accessGeneration,
      rank: rank, roster: roster, usedBytes: usedBytes, quotaBytes: quotaBytes)
  }
}

import HearthCRDT
import HearthCrypto

/// The end of a mailbox's log, as one connection has reported it.
///
/// A live subscription brings every entry that others store, in order, or hints at the head.
/// Answers report what this session stores. So a caller that knows the log up to a position can
/// receive the later entries without a question to the relay. This holds only for a while: a relay
/// may push entries that it does not list, so after ``RelayClientTiming/confirmedMilliseconds`` the
/// log is listed once more. It also holds only for callers that know the same past, by the chain
/// over the log.
struct RelayLogEnd: Sendable {
  private typealias Link = (header: RelayHeader, chain: Bytes32)

  /// Whether a subscription reports every new entry.
  private var isLive = false
  /// The last reported position.
  private var reported: UInt64 = 0
  /// A position with the chain there; nil if nothing is known.
  private var start: (position: UInt64, chain: Bytes32)?
  /// The entries that follow `start`, with the chain after each.
  private var links: [Link] = []
  /// When the relay was last asked for the chain at a head, and answered with this one.
  private var confirmedAt: UInt64 = 0

  /// The most entries to keep: about 100 KiB.
  static let maximumLinks = 512

  private var end: UInt64? { links.last?.header.position ?? start?.position }

  private func chain(at position: UInt64) -> Bytes32? {
    guard let start, position >= start.position else { return nil }
    let place = position - start.position
    guard place > 0 else { return start.chain }
    return place <= UInt64(links.count) ? links[Int(place) - 1].chain : nil
  }

  // MARK: Reports from the relay

  /// Records the chain that the relay reported for its head, and when it was asked.
  ///
  /// The head may be older than the last push if that push was already in transit.
  mutating func confirm(_ position: UInt64, _ chain: Bytes32, askedAt time: UInt64) {
    reported = max(reported, position)
    if let start, position < start.position {
      forget()
    } else if self.chain(at: position) == chain {
      confirmedAt = max(confirmedAt, time)
    } else {
      start = (position, chain)
      links = []
      confirmedAt = time
    }
  }

  /// Records that a subscription began.
  ///
  /// It reports every entry after the head.
  mutating func subscribed(at head: UInt64) {
    isLive = true
    reported = max(reported, head)
  }

  /// Records an entry that was pushed or that this session stored.
  mutating func append(_ header: RelayHeader) {
    reported = max(reported, header.position)
    guard let end else { return }
    guard header.position == end + 1, let last = chain(at: end) else {
      // An entry of this session may be reported twice, by a push and by the answer.
      if !links.contains(where: { $0.header == header }) { forget() }
      return
    }
    links.append((header, RelayChain.next(last, header)))
    guard links.count > RelayLogEnd.maximumLinks else { return }
    let half = links[links.count / 2 - 1]
    start = (half.header.position, half.chain)
    links.removeFirst(links.count / 2)
  }

  /// Records that the relay only hinted at new entries.
  mutating func skip(to position: UInt64) {
    reported = max(reported, position)
    forget()
  }

  /// Discards what is known after a refused request, so that the next question asks the relay.
  mutating func forget() {
    start = nil
    links = []
    confirmedAt = 0
  }

  /// Records the relay's answer to a question of this session, and when it was asked.
  mutating func take(_ question: RelayQuestion, _ reply: RelayReply, askedAt time: UInt64) {
    switch (question, reply) {
    case (.put(let items), .stored(let stored)):
      for (item, stored) in zip(items, stored) {
        if stored.outcome == .stored {
          append(RelayHeader(of: item, at: stored.position))
        } else {
          reported = max(reported, stored.position)
        }
      }
    case (.remove(let names), .removed(let positions)):
      for (name, position) in zip(names, positions) where position > 0 {
        append(RelayHeader(removing: name, at: position))
      }
    case (_, .listing(let page)) where page.through == page.head:
      confirm(page.head, page.chain, askedAt: time)
    default: break
    }
  }

  // MARK: Entries for callers

  /// Returns all entries after a position.
  ///
  /// Returns nil if they are not known to be complete, if the caller knows another past, or if the
  /// relay was not asked for some time.
  ///
  /// - Parameters:
  ///   - chain: the caller's chain at the position.
  ///   - time: the maximum time since the relay was last asked, in milliseconds (exclusive).
  func entries(
    after position: UInt64, chain: Bytes32, now: UInt64, within time: UInt64
  ) -> [RelayHeader]? {
    guard isLive, let start, reported == end, now < confirmedAt + time,
      self.chain(at: position) == chain
    else { return nil }
    return links.dropFirst(Int(position - start.position)).map(\.header)
  }
}

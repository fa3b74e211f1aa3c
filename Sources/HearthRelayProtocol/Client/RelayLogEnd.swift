import HearthCRDT
import HearthCrypto

/// The end of a mailbox's log, as one connection has told of it.
///
/// A live subscription brings every entry that others store, in order, or hints at the head; what
/// this session stores is told by the answers. So whoever knows the log up to a position can be
/// given what came since without asking. Only for a while: a relay may push what it does not show,
/// so after ``RelayClientTiming/confirmedMilliseconds`` the log is listed once more. And only to
/// who knows the same past, by the chain over the log.
struct RelayLogEnd: Sendable {
  private typealias Link = (header: RelayHeader, chain: Bytes32)

  /// Whether a subscription tells of everything that comes.
  private var isLive = false
  /// The last position that was heard of.
  private var told: UInt64 = 0
  /// A position with the chain there; nil where nothing is known.
  private var start: (position: UInt64, chain: Bytes32)?
  /// The entries that follow it, with the chain after each.
  private var links: [Link] = []
  /// When the relay was last asked for the chain at a head, and said this one.
  private var confirmedAt: UInt64 = 0

  /// How many entries are kept: about 100 KiB.
  static let maximumLinks = 512

  private var end: UInt64? { links.last?.header.position ?? start?.position }

  private func chain(at position: UInt64) -> Bytes32? {
    guard let start, position >= start.position else { return nil }
    let place = position - start.position
    guard place > 0 else { return start.chain }
    return place <= UInt64(links.count) ? links[Int(place) - 1].chain : nil
  }

  // MARK: What the relay says

  /// The relay said the chain at its head, when it was asked at some time.
  ///
  /// The head may be one of before the last push, which then was under way already.
  mutating func confirm(_ position: UInt64, _ chain: Bytes32, askedAt time: UInt64) {
    told = max(told, position)
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

  /// A subscription began; everything after the head is told of from here on.
  mutating func subscribed(at head: UInt64) {
    isLive = true
    told = max(told, head)
  }

  /// An entry was pushed, or stored by this session.
  mutating func append(_ header: RelayHeader) {
    told = max(told, header.position)
    guard let end else { return }
    guard header.position == end + 1, let last = chain(at: end) else {
      // One of this session's may be told twice, by a push and by the answer.
      if !links.contains(where: { $0.header == header }) { forget() }
      return
    }
    links.append((header, RelayChain.next(last, header)))
    guard links.count > RelayLogEnd.maximumLinks else { return }
    let half = links[links.count / 2 - 1]
    start = (half.header.position, half.chain)
    links.removeFirst(links.count / 2)
  }

  /// The relay only hinted at what came.
  mutating func skip(to position: UInt64) {
    told = max(told, position)
    forget()
  }

  /// What this session asked for was refused: what is true of the log is asked next.
  mutating func forget() {
    start = nil
    links = []
    confirmedAt = 0
  }

  /// What the relay answered to a question of this session, asked at some time.
  mutating func take(_ question: RelayQuestion, _ reply: RelayReply, askedAt time: UInt64) {
    switch (question, reply) {
    case (.put(let items), .stored(let stored)):
      for (item, stored) in zip(items, stored) {
        if stored.outcome == .stored {
          append(RelayHeader(of: item, at: stored.position))
        } else {
          told = max(told, stored.position)
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

  // MARK: What is given

  /// All that came after a position; nil where that is not known to be all, where the asker knows
  /// another past, or where the relay was not asked for some time.
  ///
  /// - Parameters:
  ///   - chain: what the asker knows as the chain at the position.
  ///   - time: how long ago the relay may have been asked, in milliseconds: less than this.
  func entries(
    after position: UInt64, chain: Bytes32, now: UInt64, within time: UInt64
  ) -> [RelayHeader]? {
    guard isLive, let start, told == end, now < confirmedAt + time,
      self.chain(at: position) == chain
    else { return nil }
    return links.dropFirst(Int(position - start.position)).map(\.header)
  }
}

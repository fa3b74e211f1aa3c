import HearthCRDT
import HearthCrypto

/// The last entry that a relay told of on a channel, and what packed pushes may repeat of it.
///
/// The relay keeps the same, by what it said: a push tells of its entries, an answer of what this
/// session stored or removed, a hint of a position alone.
struct RelayToldLast: Sendable {
  private(set) var position: UInt64 = 0
  private(set) var base = RelayPackingBase()

  /// Only the position is known, and nothing may be repeated.
  mutating func skip(to position: UInt64) {
    guard position > self.position else { return }
    self.position = position
    base = RelayPackingBase()
  }

  /// An entry was told of whole.
  mutating func take(_ position: UInt64, name: [UInt8], blob: [UInt8]) {
    guard position > self.position else { return }
    self.position = position
    base = RelayPackingBase(name: name, blob: blob)
  }

  /// What the relay answered to a question of this session.
  mutating func take(_ question: RelayQuestion, _ reply: RelayReply) {
    switch (question, reply) {
    case (.put(let items), .stored(let stored)):
      for (item, stored) in zip(items, stored) where stored.outcome == .stored {
        take(stored.position, name: item.name, blob: item.blob)
      }
    case (.remove(let names), .removed(let positions)):
      for (name, position) in zip(names, positions) { take(position, name: name, blob: []) }
    default: break
    }
  }
}

// What was said before on the line, so that small changes need not say it again.
extension RelayClientSession {
  /// The request that stores items, packed after what was put before where that is shorter.
  mutating func put(_ items: [RelayPut], _ mailbox: Identifier, _ channel: Int) -> RelayRequest {
    let base = boxes[mailbox]?.lastPut ?? RelayPackingBase()
    boxes[mailbox]?.lastPut = base.after(items)
    guard base.packs(items) else { return .put(channel: channel, items: items) }
    return .putPacked(channel: channel, items: base.pack(items))
  }

  /// Takes a packed push; nil where it fits nothing that was told before.
  mutating func entries(
    of items: [RelayPackedItem], from first: UInt64, _ mailbox: Identifier
  ) -> [RelayEntry]? {
    guard let base = boxes[mailbox]?.told.base, let puts = try? base.unpack(items) else {
      return nil
    }
    return zip(first..., puts).map { position, put in
      RelayEntry(header: RelayHeader(of: put, at: position), blob: put.blob)
    }
  }
}

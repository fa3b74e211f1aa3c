import HearthCRDT
import HearthCrypto

/// The last entry that a relay reported on a channel, as the base of packed pushes.
///
/// The relay keeps the same state, based on its own messages. A push reports its entries, an answer
/// reports what this session stored or removed, and a hint reports only a position.
struct RelayToldLast: Sendable {
  private(set) var position: UInt64 = 0
  private(set) var base = RelayPackingBase()

  /// Advances to a position whose entry is unknown, so that nothing may be repeated.
  mutating func skip(to position: UInt64) {
    guard position > self.position else { return }
    self.position = position
    base = RelayPackingBase()
  }

  /// Records an entry that was reported completely.
  mutating func take(_ position: UInt64, name: [UInt8], blob: [UInt8]) {
    guard position > self.position else { return }
    self.position = position
    base = RelayPackingBase(name: name, blob: blob)
  }

  /// Records the relay's answer to a question of this session.
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

// Packing: small changes need not repeat earlier bytes of the connection.
extension RelayClientSession {
  /// Returns the request that stores items, packed against the previous put if packing is
  /// worthwhile.
  mutating func put(_ items: [RelayPut], _ mailbox: Identifier, _ channel: Int) -> RelayRequest {
    let base = boxes[mailbox]?.lastPut ?? RelayPackingBase()
    boxes[mailbox]?.lastPut = base.after(items)
    guard base.packs(items) else { return .put(channel: channel, items: items) }
    return .putPacked(channel: channel, items: base.pack(items))
  }

  /// Unpacks a packed push; nil if it does not match the previous report.
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

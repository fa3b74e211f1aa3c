/// The last entry that a relay reported on a channel, as the base of packed pushes.
///
/// The relay keeps the same state, based on its own messages. A push reports its entries, an answer
/// reports what this session stored or removed, and a hint reports only a position.
struct RelayLastReported: Sendable {
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

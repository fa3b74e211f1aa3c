import HearthCRDT

/// The opened segments of a call that wait for another log, as far as there is room.
///
/// Two logs can cite each other by turns, so that a long segment goes on by one change for each one
/// of the other log. Opening it again for each would cost the square of its length. What is not in
/// memory any more may be opened again only in proportion to what was received, unless it is
/// applied to its end by that: the rest waits for the next call.
struct OpenedMemory {
  private var segments: [Identifier: OpenedSegment] = [:]
  /// The segments in the order in which they came, with some that are gone.
  private var order: ArraySlice<Identifier> = []
  private var weight = 0
  /// The bytes of segments that may still be opened again.
  private var allowance = OpenedMemory.freeBytes
  /// The bytes of the segments that were opened again and are not applied to their ends.
  private var charged: [Identifier: Int] = [:]

  /// The declared work of the segments in memory: of some fronts of logs, some ten megabytes.
  private static var maximumWeight: Int { 1_200_000 }
  /// The bytes that each call may open again.
  private static var freeBytes: Int { 1 << 20 }
  /// The bytes that a call may open again for each byte that it received.
  private static var bytesPerByte: Int { 16 }

  /// Allows more for segments that were received.
  mutating func allow(forReceived bytes: Int) { allowance += Self.bytesPerByte * bytes }

  /// Whether a segment may be opened now: it is in memory, was never opened, or there is allowance.
  func mayOpen(_ entry: PendingEntry) -> Bool {
    entry.reason != .cause || segments[entry.digest] != nil || allowance > 0
  }

  /// Takes out a segment that is opened now; nil if it has to be opened again, which is charged.
  mutating func take(_ entry: PendingEntry) -> OpenedSegment? {
    guard entry.reason == .cause else { return nil }
    if let segment = segments.removeValue(forKey: entry.digest) {
      weight -= segment.weight
      return segment
    }
    allowance -= entry.byteCount
    charged[entry.digest, default: 0] += entry.byteCount
    return nil
  }

  /// Notes that a segment was applied to its end, which is worth any opening.
  mutating func noteComplete(_ digest: Identifier) {
    allowance += charged.removeValue(forKey: digest) ?? 0
  }

  /// Keeps a segment that waits, and drops those that came first if there is no room.
  mutating func keep(_ segment: OpenedSegment) {
    guard segment.weight <= Self.maximumWeight,
      segments.updateValue(segment, forKey: segment.digest) == nil
    else { return }
    order.append(segment.digest)
    weight += segment.weight
    while weight > Self.maximumWeight, let first = order.popFirst() {
      // A segment may be in the order twice, if it was taken out and kept again.
      guard first != segment.digest, let dropped = segments.removeValue(forKey: first) else {
        continue
      }
      weight -= dropped.weight
    }
  }
}

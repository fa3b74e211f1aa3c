import HearthCRDT

/// The opened segments of a call that wait for another log, as far as there is room.
///
/// Two logs can cite each other by turns, so that a long segment goes on by one change for each one
/// of the other log. Opening it again for each would cost the square of its length. What is not in
/// memory any more may be opened again only in proportion to what was received, unless it is
/// applied to its end by that: the rest waits for the next call. Each device has an allowance of
/// its own, so nobody keeps others' segments closed.
struct OpenedMemory {
  /// Whether segments may be opened again only as far as there is allowance.
  private let isBounded: Bool
  private var segments: [Identifier: OpenedSegment] = [:]
  /// The segments in the order in which they came, with some that are gone.
  private var order: ArraySlice<Identifier> = []
  private var weight = 0
  private var byteCount = 0
  /// The bytes that each device's segments may be opened again.
  private let allowance: Int
  /// The bytes of each device's segments that were opened again and are not applied to their ends.
  private var spent: [Identifier: Int] = [:]
  /// The bytes of the segments that were opened again and are not applied to their ends.
  private var charged: [Identifier: (device: Identifier, bytes: Int)] = [:]

  /// The declared work of the segments in memory: of some fronts of logs, some ten megabytes.
  private static var maximumWeight: Int { 1_200_000 }
  /// The sealed bytes of the segments in memory: long values weigh little, and take much.
  private static var maximumBytes: Int { 4 << 20 }
  /// The bytes that each call may open again of each device.
  private static var freeBytes: Int { 1 << 20 }
  /// The bytes that a call may open again for each byte that it received.
  private static var bytesPerByte: Int { 16 }

  /// - Parameters:
  ///   - received: the bytes that the call received.
  ///   - isBounded: false for a rebuild, which has to end with what was applied before.
  init(received: Int, isBounded: Bool) {
    allowance = OpenedMemory.freeBytes + OpenedMemory.bytesPerByte * received
    self.isBounded = isBounded
  }

  /// Whether a segment may be opened now: it is in memory, was never opened, or there is allowance.
  func mayOpen(_ entry: PendingEntry) -> Bool {
    !isBounded || entry.reason != .cause || segments[entry.digest] != nil
      || spent[entry.authorTag] ?? 0 < allowance
  }

  /// Whether a segment can be taken out without being opened again.
  func contains(_ digest: Identifier) -> Bool { segments[digest] != nil }

  /// Takes out a segment that is opened now; nil if it has to be opened again, which is charged.
  mutating func take(_ entry: PendingEntry) -> OpenedSegment? {
    guard entry.reason == .cause else { return nil }
    if let segment = take(entry.digest) { return segment }
    spent[entry.authorTag, default: 0] += entry.byteCount
    charged[entry.digest, default: (entry.authorTag, 0)].bytes += entry.byteCount
    return nil
  }

  /// Takes out a segment that is opened now; nil if it is not in memory.
  mutating func take(_ digest: Identifier) -> OpenedSegment? {
    guard let segment = segments.removeValue(forKey: digest) else { return nil }
    weight -= segment.weight
    byteCount -= segment.bytes.count
    return segment
  }

  /// Notes that a segment was applied to its end, which is worth any opening.
  mutating func noteComplete(_ digest: Identifier) {
    guard let charge = charged.removeValue(forKey: digest) else { return }
    spent[charge.device, default: 0] -= charge.bytes
  }

  /// Keeps a segment that waits, and drops those that came first if there is no room.
  mutating func keep(_ segment: OpenedSegment) {
    guard segment.weight <= Self.maximumWeight, segment.bytes.count <= Self.maximumBytes,
      segments.updateValue(segment, forKey: segment.digest) == nil
    else { return }
    order.append(segment.digest)
    weight += segment.weight
    byteCount += segment.bytes.count
    while weight > Self.maximumWeight || byteCount > Self.maximumBytes,
      let first = order.popFirst()
    {
      // A segment may be in the order twice, if it was taken out and kept again.
      guard first != segment.digest, let dropped = segments.removeValue(forKey: first) else {
        continue
      }
      weight -= dropped.weight
      byteCount -= dropped.bytes.count
    }
  }
}

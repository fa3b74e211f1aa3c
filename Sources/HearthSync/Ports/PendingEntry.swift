import HearthCRDT
import HearthCrypto

/// The facts about a pending segment that are known without opening it again.
package struct PendingEntry: Equatable, Sendable {
  /// BLAKE2b-128 of the bytes.
  package let digest: Identifier
  /// The reason why the segment is pending.
  package var reason: PendingReason
  /// What the segment lacks and what its author had seen, as far as that is known.
  package var wait: PendingWait
  /// The opaque tag of the claimed author.
  package let authorTag: Identifier
  /// The claimed incarnation of that device.
  package let incarnation: UInt64
  /// The first change that the segment claims to contain.
  package let first: UInt64
  /// The last change that the segment claims to contain.
  package let last: UInt64
  /// The opaque tag of the segment's epoch key; meaningless in an unknown suite.
  package let epochTag: Identifier
  /// The segment's size in bytes.
  package let byteCount: Int

  package init(
    digest: Identifier, reason: PendingReason, wait: PendingWait, authorTag: Identifier,
    incarnation: UInt64, first: UInt64, last: UInt64, epochTag: Identifier, byteCount: Int
  ) {
    self.digest = digest
    self.reason = reason
    self.wait = wait
    self.authorTag = authorTag
    self.incarnation = incarnation
    self.first = first
    self.last = last
    self.epochTag = epochTag
    self.byteCount = byteCount
  }

  /// The log that the segment claims to belong to.
  package var tagAuthor: TagAuthor { TagAuthor(tag: authorTag, incarnation: incarnation) }

  /// The claimed author; nil if no known device of the zone has the tag.
  package func author(in zone: ZoneState) -> Author? {
    zone.deviceByTag[authorTag].map { Author(device: $0, incarnation: incarnation) }
  }

  /// Reads the clear part of a segment; fields are zero if it has none.
  init(_ segment: PendingSegment) {
    let frame = try? EnvelopeFrame(segment.bytes)
    let none = Identifier(high: 0, low: 0)
    self.init(
      digest: segment.digest, reason: segment.reason, wait: segment.wait,
      authorTag: frame.map { Identifier($0.authorTag) } ?? none,
      incarnation: frame?.incarnation ?? 0, first: frame?.firstSeq ?? 0,
      last: frame?.lastSeq ?? 0, epochTag: frame.map { Identifier($0.epochTag) } ?? none,
      byteCount: segment.bytes.count)
  }

  /// Orders segments of one log for retries: by first change, the longest first.
  static func isBefore(_ left: PendingEntry, _ right: PendingEntry) -> Bool {
    if left.authorTag != right.authorTag { return left.authorTag < right.authorTag }
    if left.incarnation != right.incarnation { return left.incarnation < right.incarnation }
    if left.first != right.first { return left.first < right.first }
    if left.last != right.last { return left.last > right.last }
    return left.digest < right.digest
  }
}

extension PendingSegment {
  /// The facts about the segment that are known without opening it.
  package var entry: PendingEntry { PendingEntry(self) }
}

extension FalseClaim {
  /// The claims for which logs are held back, taken from the pending entries that carry one.
  static func claims(in entries: [PendingEntry]) -> [Author: FalseClaim] {
    Dictionary(
      entries.compactMap { $0.wait.claim.map { ($0.author, $0) } },
      uniquingKeysWith: { $0.sequence <= $1.sequence ? $0 : $1 })
  }
}

import HearthCRDT
import HearthCrypto

/// What is known of a waiting segment without opening it again.
package struct PendingEntry: Equatable, Sendable {
  /// BLAKE2b-128 of the bytes.
  package let digest: Identifier
  /// What it waits for.
  package var reason: PendingReason
  /// What it waits for, and what its author had seen, as far as that is known.
  package var wait: PendingWait
  /// The opaque tag of who it claims to be of.
  package let authorTag: Identifier
  /// Which life of that device.
  package let incarnation: UInt64
  /// The first change that it claims to hold.
  package let first: UInt64
  /// The last one.
  package let last: UInt64
  /// The opaque tag of the key that it is under; of no meaning in a suite that is not known.
  package let epochTag: Identifier
  /// How many bytes it has.
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

  /// Who it claims to be of; nil where no device of the zone is known by that tag.
  package func author(in zone: ZoneState) -> Author? {
    zone.deviceByTag[authorTag].map { Author(device: $0, incarnation: incarnation) }
  }

  /// Reads the clear part of a segment; zeros where there is none.
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

  /// The order in which segments of one log are tried: by first change, the longest first.
  static func isBefore(_ left: PendingEntry, _ right: PendingEntry) -> Bool {
    if left.authorTag != right.authorTag { return left.authorTag < right.authorTag }
    if left.incarnation != right.incarnation { return left.incarnation < right.incarnation }
    if left.first != right.first { return left.first < right.first }
    if left.last != right.last { return left.last > right.last }
    return left.digest < right.digest
  }
}

extension PendingSegment {
  /// What is known of it without opening it.
  package var entry: PendingEntry { PendingEntry(self) }
}

extension FalseClaim {
  /// The claims for which logs are held back, by what waits for that reason.
  static func claims(in entries: [PendingEntry]) -> [Author: FalseClaim] {
    Dictionary(
      entries.compactMap { $0.wait.claim.map { ($0.author, $0) } },
      uniquingKeysWith: { $0.sequence <= $1.sequence ? $0 : $1 })
  }
}

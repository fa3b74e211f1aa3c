import HearthCRDT

/// The name of one sealed segment on every transport; it reveals neither author nor content.
///
/// Tags are keyed hashes that only members can compute. The digest is that of the sealed bytes, so
/// a truncated, damaged or exchanged file is detected before it is opened.
package struct SegmentName: Hashable, Comparable, Sendable {
  /// The zone's opaque tag.
  package let zoneTag: Identifier
  /// The author's opaque tag within the zone.
  package let authorTag: Identifier
  /// The author's incarnation.
  package let incarnation: UInt64
  /// The first change in the segment.
  package let first: UInt64
  /// The last change in the segment.
  package let last: UInt64
  /// BLAKE2b-128 of the sealed bytes.
  package let digest: Identifier

  package init(
    zoneTag: Identifier, authorTag: Identifier, incarnation: UInt64, first: UInt64, last: UInt64,
    digest: Identifier
  ) {
    self.zoneTag = zoneTag
    self.authorTag = authorTag
    self.incarnation = incarnation
    self.first = first
    self.last = last
    self.digest = digest
  }

  /// The log that the segment claims to belong to.
  package var tagAuthor: TagAuthor { TagAuthor(tag: authorTag, incarnation: incarnation) }

  package static func < (left: SegmentName, right: SegmentName) -> Bool {
    if left.zoneTag != right.zoneTag { return left.zoneTag < right.zoneTag }
    if left.authorTag != right.authorTag { return left.authorTag < right.authorTag }
    if left.incarnation != right.incarnation { return left.incarnation < right.incarnation }
    if left.first != right.first { return left.first < right.first }
    if left.last != right.last { return left.last < right.last }
    return left.digest < right.digest
  }
}

extension StoredSegment {
  /// The segment's name on every transport.
  func name(in zone: ZoneState) -> SegmentName {
    SegmentName(
      zoneTag: zone.tag, authorTag: zone.authorTag(of: author.device),
      incarnation: author.incarnation, first: first, last: last, digest: digest)
  }
}

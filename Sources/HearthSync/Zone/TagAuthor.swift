import HearthCRDT

/// An author as segment names identify it: by opaque tag and incarnation.
struct TagAuthor: Hashable, Comparable {
  let tag: Identifier
  let incarnation: UInt64

  static func < (left: TagAuthor, right: TagAuthor) -> Bool {
    left.tag != right.tag ? left.tag < right.tag : left.incarnation < right.incarnation
  }
}

extension SegmentName {
  /// The log that the segment claims to belong to.
  var tagAuthor: TagAuthor { TagAuthor(tag: authorTag, incarnation: incarnation) }
}

extension PendingEntry {
  /// The log that the segment claims to belong to.
  var tagAuthor: TagAuthor { TagAuthor(tag: authorTag, incarnation: incarnation) }
}

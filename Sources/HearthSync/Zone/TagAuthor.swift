import HearthCRDT

/// An author as names tell it.
struct TagAuthor: Hashable, Comparable {
  let tag: Identifier
  let incarnation: UInt64

  static func < (left: TagAuthor, right: TagAuthor) -> Bool {
    left.tag != right.tag ? left.tag < right.tag : left.incarnation < right.incarnation
  }
}

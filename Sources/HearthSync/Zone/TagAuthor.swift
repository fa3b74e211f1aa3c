import HearthCRDT

/// An author as segment names identify it: by opaque tag and incarnation.
struct TagAuthor: Hashable, Comparable {
  let tag: Identifier
  let incarnation: UInt64

  static func < (left: TagAuthor, right: TagAuthor) -> Bool {
    left.tag != right.tag ? left.tag < right.tag : left.incarnation < right.incarnation
  }
}

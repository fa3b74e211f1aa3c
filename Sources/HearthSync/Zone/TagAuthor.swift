import HearthCRDT

/// An author as segment names identify it: by opaque tag and incarnation.
package struct TagAuthor: Hashable, Comparable, Sendable {
  package let tag: Identifier
  package let incarnation: UInt64

  package init(tag: Identifier, incarnation: UInt64) {
    self.tag = tag
    self.incarnation = incarnation
  }

  package static func < (left: TagAuthor, right: TagAuthor) -> Bool {
    left.tag != right.tag ? left.tag < right.tag : left.incarnation < right.incarnation
  }
}

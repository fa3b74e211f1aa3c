import HearthCRDT

/// The place of a completion in the order in which a chore is folded: by version, then by id.
struct FoldOrder: Comparable {
  let version: Version
  let event: RecordID

  static func < (left: FoldOrder, right: FoldOrder) -> Bool {
    (left.version, left.event) < (right.version, right.event)
  }
}

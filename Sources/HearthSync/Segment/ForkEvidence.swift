import HearthCRDT
import HearthMembership

/// Two segments of one author that contradict each other.
struct ForkEvidence: Sendable {
  let zone: ZoneID
  let author: Author
  let first: [UInt8]
  let second: [UInt8]

  /// Orders the two segments by digest, so that their order of arrival does not matter.
  init(
    _ zone: ZoneID, _ author: Author, _ one: (digest: Identifier, bytes: [UInt8]),
    _ other: (digest: Identifier, bytes: [UInt8])
  ) {
    self.zone = zone
    self.author = author
    (first, second) =
      one.digest < other.digest ? (one.bytes, other.bytes) : (other.bytes, one.bytes)
  }
}

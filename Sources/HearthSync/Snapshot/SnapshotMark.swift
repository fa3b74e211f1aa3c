import HearthCRDT
import HearthCrypto
import HearthMembership

/// A mark of the point that a zone has reached.
enum SnapshotMark {
  /// A mark of the end of every log: its author, number and chain hash, and the held-back changes.
  static func mark(of heads: [LogHead], _ heldBack: [Dot]) -> Identifier {
    var writer = ByteWriter(capacity: heads.count * 64)
    for head in heads.filter({ $0.sequence > 0 }).sorted(by: { $0.author < $1.author }) {
      writer.author(head.author)
      writer.varint(head.sequence)
      writer.raw(head.hash)
    }
    for change in heldBack.sorted(by: { $0.author < $1.author }) {
      writer.author(change.author)
      writer.varint(change.sequence)
    }
    return derivedIdentifier("HRTH/point/v1", writer.bytes)
  }
}

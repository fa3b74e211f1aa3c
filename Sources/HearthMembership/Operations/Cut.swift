import HearthCRDT

/// The logs of the removed person or device, as far as the remover had them.
package struct Cut: ControlCodable {
  /// One author's log in one zone.
  package struct Entry: ControlCodable {
    package let zone: ZoneID
    package let author: Author
    /// The last change that counts, at least 1; no change of an unlisted log counts.
    package let sequence: UInt64
    /// The author's chain hash after it.
    package let hash: [UInt8]

    package init(zone: ZoneID, author: Author, sequence: UInt64, hash: [UInt8]) {
      self.zone = zone
      self.author = author
      self.sequence = sequence
      self.hash = hash
    }

    package static let codec = ControlCodec(
      Self.init, (\.zone, .identifier("zone of a cut")), (\.author, .author("author of a cut")),
      (\.sequence, .sequence("sequence of a cut")), (\.hash, .raw(32, "hash of a cut")))

    static let list: ControlCodec<[Entry]> = .sorted("cut", itemBytes: 73, of: codec) {
      ($0.zone, $0.author) < ($1.zone, $1.author)
    }
  }

  /// In order of zone and author.
  package let entries: [Entry]

  package init(entries: [Entry]) { self.entries = entries }

  /// The last change of an author's log that counts in a zone; 0 if none counts.
  package func sequence(of author: Author, in zone: ZoneID) -> UInt64 {
    entries.first { $0.zone == zone && $0.author == author }?.sequence ?? 0
  }

  package static let codec = ControlCodec(Self.init, (\.entries, Entry.list))
}

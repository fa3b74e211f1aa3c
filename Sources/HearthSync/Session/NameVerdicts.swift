import HearthCRDT

/// What a file under a name proved to be, when it was looked into.
enum NameVerdict: UInt8 {
  /// Not the changes of which its name speaks, or not those that are here.
  case wrong = 0
  /// The changes that its name says, the same that are here.
  case right = 1
  /// Its author has signed that it holds the changes that its name says, under a key that is not
  /// here, but with somebody of the group. Whoever lies so hides only what it wrote itself.
  case signed = 2
  /// The same, under a key that is with nobody of the group: as good as not there.
  case closed = 3

  /// Whether the changes count as there.
  var isBelieved: Bool { self == .right || self == .signed }

  /// Whether it was found without opening the file.
  fileprivate var isOfClosed: Bool { self == .signed || self == .closed }
}

/// What is remembered of a zone's files, by a hash of the whole name.
///
/// It is asked several times in every round and seldom grows, so it stays as it is stored: sorted
/// rows of 17 bytes. Looking up costs O(log n) and no memory, noting O(n).
struct NameVerdicts {
  /// How many files of a zone are remembered; beyond, those that are gone are forgotten first.
  static let maximumCount = 16_384
  private static let rowBytes = Identifier.byteCount + 1
  private var rows: [UInt8] = []

  /// Nothing is remembered.
  init() {}

  /// Reads what ``encoded(atMost:preferring:)`` wrote.
  ///
  /// - Throws: `CodecError` for bytes that are not whole rows in order.
  init(decoding bytes: [UInt8]) throws {
    var reader = ByteReader(bytes)
    let count = try reader.count(
      "names", itemBytes: NameVerdicts.rowBytes, atMost: NameVerdicts.maximumCount)
    rows = Array(try reader.raw(count * NameVerdicts.rowBytes, "names"))
    try reader.finish()
  }

  var isEmpty: Bool { rows.isEmpty }

  private var count: Int { rows.count / NameVerdicts.rowBytes }

  /// The verdict on the file under a name's key; nil if it was not looked into.
  subscript(key: Identifier) -> NameVerdict? {
    get {
      let place = place(of: key)
      guard place < count, self.key(at: place) == key else { return nil }
      return verdict(at: place)
    }
    set {
      let place = place(of: key)
      let isPresent = place < count && self.key(at: place) == key
      let start = place * NameVerdicts.rowBytes
      let row = newValue.map { key.bytes + [$0.rawValue] } ?? []
      rows.replaceSubrange(start..<(isPresent ? start + NameVerdicts.rowBytes : start), with: row)
    }
  }

  /// Whether there is any file that could not be opened.
  var hasClosed: Bool { (0..<count).contains { verdict(at: $0).isOfClosed } }

  /// Forgets the files that could not be opened.
  mutating func forgetClosed() {
    let kept = (0..<count).filter { !verdict(at: $0).isOfClosed }
    rows = kept.flatMap {
      rows[($0 * NameVerdicts.rowBytes)..<(($0 + 1) * NameVerdicts.rowBytes)]
    }
  }

  private func verdict(at place: Int) -> NameVerdict {
    NameVerdict(rawValue: rows[(place + 1) * NameVerdicts.rowBytes - 1]) ?? .wrong
  }

  /// The bytes to store; beyond a number of names, those that are not listed are left out first.
  func encoded(atMost limit: Int = maximumCount, preferring listing: TransportListing) -> [UInt8] {
    var kept = rows
    if count > limit {
      let listed = Set(listing.segments.map { NameVerdicts.key(of: $0) })
      let places = (0..<count).filter { listed.contains(key(at: $0)) }.prefix(limit)
      kept = places.flatMap {
        rows[($0 * NameVerdicts.rowBytes)..<(($0 + 1) * NameVerdicts.rowBytes)]
      }
    }
    var writer = ByteWriter(capacity: kept.count + 4)
    writer.varint(kept.count / NameVerdicts.rowBytes)
    writer.raw(kept)
    return writer.bytes
  }

  /// The first row whose key is not less.
  private func place(of key: Identifier) -> Int {
    (0..<count).partitionPoint { self.key(at: $0) >= key }
  }

  private func key(at place: Int) -> Identifier {
    rows.withUnsafeBytes { rows in
      let start = place * NameVerdicts.rowBytes
      return Identifier(
        high: UInt64(bigEndian: rows.loadUnaligned(fromByteOffset: start, as: UInt64.self)),
        low: UInt64(bigEndian: rows.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self)))
    }
  }

  /// What is remembered of a name: a hash of all of it.
  static func key(of name: SegmentName) -> Identifier {
    var writer = ByteWriter(capacity: 64)
    writer.identifier(name.authorTag)
    writer.fixed64(name.incarnation)
    writer.fixed64(name.first)
    writer.fixed64(name.last)
    writer.identifier(name.digest)
    return segmentDigest(writer.bytes)
  }
}

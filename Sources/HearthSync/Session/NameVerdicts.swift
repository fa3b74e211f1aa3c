import HearthCRDT

/// The verdict about a file under a name, after its examination.
enum NameVerdict: UInt8 {
  /// The file holds other changes than its name says, or others than those that are here.
  case wrong = 0
  /// The file holds the changes that its name says, and they equal those that are here.
  case right = 1
  /// The author has signed that the file holds the changes that its name says, under a key that is
  /// not here but that a member has. An author who lies so hides only its own changes.
  case signed = 2
  /// The same, under a key that no member has; the file counts as missing.
  case closed = 3

  /// Whether the changes count as there.
  var isBelieved: Bool { self == .right || self == .signed }

  /// Whether the verdict was reached without opening the file.
  fileprivate var isOfClosed: Bool { self == .signed || self == .closed }
}

/// The stored verdicts about a zone's files, by a hash of the whole name.
///
/// They are looked up several times in every round and seldom grow, so they stay as they are
/// stored: sorted rows of 17 bytes. A lookup costs O(log n) and no memory, an addition O(n).
struct NameVerdicts {
  /// The most files of a zone with a stored verdict; beyond that, those that are gone are forgotten
  /// first.
  static let maximumCount = 16_384
  private static let rowBytes = Identifier.byteCount + 1
  private var rows: [UInt8] = []

  /// Creates an empty collection.
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

  /// The verdict about the file under a name's key; nil if it was not examined.
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

  /// Whether any file could not be opened.
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

  /// The key of a name: a hash of all of it.
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

import HearthCRDT
import HearthCrypto

/// A blob with its name in a packed frame: in pieces that may repeat earlier bytes.
///
/// The name and the first bytes of a blob are its *text*. Each piece adds bytes to the text: new
/// ones, or some that are already in the text or in the ``RelayPackingBase``.
package struct RelayPackedItem: Hashable, Sendable {
  /// A part of a text.
  package enum Piece: Hashable, Sendable {
    /// New bytes; never directly after another literal.
    case literal([UInt8])
    /// A number of bytes from an offset in the base, followed by the text so far.
    case copy(offset: Int, count: Int)
  }

  /// Whether a later put of the name may replace it.
  package let isReplaceable: Bool
  /// The length of the name, which ends the text.
  package let nameCount: Int
  /// The length of the blob.
  package let blobCount: Int
  /// The pieces of the text.
  package let pieces: [Piece]
  /// The part of the blob that follows the text.
  package let rest: [UInt8]
  /// The first bytes of a digest of name and blob.
  ///
  /// They reveal if the two sides have different bases.
  package let check: [UInt8]

  package init(
    isReplaceable: Bool, nameCount: Int, blobCount: Int, pieces: [Piece], rest: [UInt8],
    check: [UInt8]
  ) {
    self.isReplaceable = isReplaceable
    self.nameCount = nameCount
    self.blobCount = blobCount
    self.pieces = pieces
    self.rest = rest
    self.check = check
  }

  /// The maximum number of a blob's first bytes in the text: the header of a segment has 166.
  package static let maximumHeadBytes = 192
  /// The longest text.
  static let maximumTextBytes = maximumHeadBytes + RelayLimits.maximumNameBytes
  /// The shortest copy.
  package static let minimumCopyBytes = 4
  /// The length of ``check``.
  package static let checkBytes = 4
  /// The fewest bytes that an encoded item can have: flag, lengths, a piece, the check.
  static let minimumBytes = 3 + 2 + checkBytes

  var headCount: Int { min(blobCount, RelayPackedItem.maximumHeadBytes) }

  /// The ``check`` of a name and a blob.
  static func check(name: [UInt8], blob: [UInt8]) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: 16)
    hasher.update("HRTH/relay-packed/v1" as Domain)
    hasher.updateDelimited(name)
    hasher.update(blob)
    return Array(hasher.finalize().prefix(checkBytes))
  }

  /// The text of an item: the blob's first bytes, then the name.
  static func text(name: [UInt8], blob: [UInt8]) -> [UInt8] {
    blob.prefix(maximumHeadBytes) + name
  }

  // MARK: Bytes

  var byteCountHint: Int { 24 + nameCount + blobCount }

  func encode(into writer: inout ByteWriter) {
    writer.byte(isReplaceable ? 1 : 0)
    writer.varint(nameCount)
    writer.varint(blobCount)
    for piece in pieces {
      switch piece {
      case .literal(let bytes):
        writer.varint((bytes.count - 1) << 1)
        writer.raw(bytes)
      case .copy(let offset, let count):
        writer.varint((count - RelayPackedItem.minimumCopyBytes) << 1 | 1)
        writer.varint(offset)
      }
    }
    writer.raw(rest)
    writer.raw(check)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    isReplaceable = try reader.flag("put flags")
    nameCount = try RelayFields.limit(
      from: &reader, "name length", atMost: RelayLimits.maximumNameBytes)
    blobCount = try reader.varint("blob length", atMost: RelayLimits.maximumBlobBytes)
    let headCount = min(blobCount, RelayPackedItem.maximumHeadBytes)
    pieces = try RelayPackedItem.pieces(from: &reader, of: headCount + nameCount)
    rest = try reader.raw(blobCount - headCount, "blob")
    check = try reader.raw(RelayPackedItem.checkBytes, "check")
  }

  /// Writes the number of items, and the items.
  static func encode(_ items: [RelayPackedItem], into writer: inout ByteWriter) {
    writer.varint(items.count)
    for item in items { item.encode(into: &writer) }
  }

  /// Reads items, at least one, whose names and blobs together fit a batch.
  static func decodeBatch(
    from reader: inout ByteReader
  ) throws(CodecError) -> [RelayPackedItem] {
    let start = reader.offset
    let number = try RelayFields.itemCount(
      from: &reader, itemBytes: RelayPackedItem.minimumBytes)
    var items: [RelayPackedItem] = []
    items.reserveCapacity(number)
    var byteCount = 0
    for _ in 0..<number {
      let item = try RelayPackedItem(from: &reader)
      byteCount += item.nameCount + item.blobCount
      guard byteCount <= RelayLimits.maximumBatchBytes else {
        throw CodecError(.beyondLimit, "batch", offset: start)
      }
      items.append(item)
    }
    return items
  }

  /// Reads the pieces of a text of a known length, without knowing the length of the base.
  private static func pieces(
    from reader: inout ByteReader, of textCount: Int
  ) throws(CodecError) -> [Piece] {
    var pieces: [Piece] = []
    var built = 0
    while built < textCount {
      let start = reader.offset
      let control = try reader.varint("piece", atMost: maximumTextBytes << 1)
      if control & 1 == 0 {
        if case .literal? = pieces.last { throw CodecError(.notCanonical, "piece", offset: start) }
        let count = (control >> 1) + 1
        guard count <= textCount - built else {
          throw CodecError(.beyondLimit, "piece", offset: start)
        }
        pieces.append(.literal(try reader.raw(count, "piece")))
        built += count
      } else {
        let count = (control >> 1) + minimumCopyBytes
        guard count <= textCount - built else {
          throw CodecError(.beyondLimit, "piece", offset: start)
        }
        let most = RelayPackingBase.maximumBytes + built - count
        guard most >= 0 else { throw CodecError(.beyondLimit, "piece", offset: start) }
        pieces.append(.copy(offset: try reader.varint("offset", atMost: most), count: count))
        built += count
      }
    }
    return pieces
  }
}

/// The bytes that packed items of one direction of a channel may repeat: the start of the last
/// item's text.
///
/// Both sides derive it from the bytes on the connection alone, so that it is the same on both.
package struct RelayPackingBase: Hashable, Sendable {
  /// How much of a text to keep: all of a segment's, which has 250 bytes.
  package static let maximumBytes = 256
  /// The most bytes of blobs that a frame packs: a small change gains a third, a large one nothing.
  package static let maximumPackedBytes = 16 << 10

  /// The kept bytes; none before the first item.
  package let bytes: [UInt8]

  /// Creates an empty base.
  package init() { bytes = [] }

  /// Creates the base that an item leaves.
  package init(name: [UInt8], blob: [UInt8]) {
    bytes = Array(
      RelayPackedItem.text(name: name, blob: blob).prefix(RelayPackingBase.maximumBytes))
  }

  /// The base after some items: that of the last item, or this one if there is none.
  package func after(_ items: [RelayPut]) -> RelayPackingBase {
    items.last.map { RelayPackingBase(name: $0.name, blob: $0.blob) } ?? self
  }

  /// Whether packing is worthwhile: there is a base, and the blobs are small.
  package func packs(_ items: [RelayPut]) -> Bool {
    !bytes.isEmpty
      && items.reduce(0) { $0 + $1.blob.count } <= RelayPackingBase.maximumPackedBytes
  }

  // MARK: Packing

  /// Packs items, each against the one before it.
  package func pack(_ items: [RelayPut]) -> [RelayPackedItem] {
    var base = self
    return items.map { item in
      defer { base = RelayPackingBase(name: item.name, blob: item.blob) }
      return base.pack(item)
    }
  }

  private func pack(_ item: RelayPut) -> RelayPackedItem {
    RelayPackedItem(
      isReplaceable: item.isReplaceable, nameCount: item.name.count,
      blobCount: item.blob.count,
      pieces: pieces(of: RelayPackedItem.text(name: item.name, blob: item.blob)),
      rest: Array(item.blob.dropFirst(RelayPackedItem.maximumHeadBytes)),
      check: RelayPackedItem.check(name: item.name, blob: item.blob))
  }

  /// The shortest match that is copied: a copy takes up to three bytes, and ends a literal.
  private static let worthwhileBytes = 6

  /// Splits a text greedily: takes from the front the longest match among the latest candidates.
  private func pieces(of text: [UInt8]) -> [RelayPackedItem.Piece] {
    let window = bytes + text
    var places = RecentPlaces(window)
    for place in bytes.indices { places.note(place, in: window) }
    var pieces: [RelayPackedItem.Piece] = []
    var pending: [UInt8] = []
    var place = bytes.count
    while place < window.count {
      let (offset, count) = places.match(place, in: window)
      guard count >= RelayPackingBase.worthwhileBytes else {
        pending.append(window[place])
        places.note(place, in: window)
        place += 1
        continue
      }
      if !pending.isEmpty { pieces.append(.literal(pending)) }
      pending = []
      pieces.append(.copy(offset: offset, count: count))
      for passed in place..<place + count { places.note(passed, in: window) }
      place += count
    }
    if !pending.isEmpty { pieces.append(.literal(pending)) }
    return pieces
  }

  // MARK: Unpacking

  /// Unpacks items that were packed against this base.
  ///
  /// - Throws: `CodecError` if a piece lies outside the available bytes, if the check fails, or if
  ///   the items together exceed what a frame may carry.
  package func unpack(_ items: [RelayPackedItem]) throws(CodecError) -> [RelayPut] {
    var base = self
    var puts: [RelayPut] = []
    puts.reserveCapacity(items.count)
    for item in items {
      let put = try base.unpack(item)
      puts.append(put)
      base = RelayPackingBase(name: put.name, blob: put.blob)
    }
    return puts
  }

  private func unpack(_ item: RelayPackedItem) throws(CodecError) -> RelayPut {
    var window = bytes
    for piece in item.pieces {
      switch piece {
      case .literal(let new): window += new
      case .copy(let offset, let count):
        guard offset >= 0, count >= 0, offset <= window.count, count <= window.count - offset
        else { throw CodecError(.beyondLimit, "offset", offset: offset) }
        window += window[offset..<offset + count]
      }
    }
    let text = window.dropFirst(bytes.count)
    guard text.count == item.headCount + item.nameCount,
      item.rest.count == item.blobCount - item.headCount
    else { throw CodecError(.notCanonical, "text", offset: text.count) }
    let put = RelayPut(
      name: Array(text.suffix(item.nameCount)), isReplaceable: item.isReplaceable,
      blob: text.prefix(item.headCount) + item.rest)
    guard RelayPackedItem.check(name: put.name, blob: put.blob) == item.check else {
      throw CodecError(.notCanonical, "check", offset: text.count)
    }
    return put
  }
}

/// The places of four-byte sequences, by their hash, the latest first.
private struct RecentPlaces {
  private static let bits = 9
  /// The most places to examine for one match.
  private static let tries = 4
  private var latest = [Int16](repeating: -1, count: 1 << bits)
  /// For each place, the previous one with the same hash.
  private var earlier: [Int16]

  init(_ window: [UInt8]) {
    earlier = [Int16](repeating: -1, count: window.count)
  }

  private func slot(_ place: Int, _ window: [UInt8]) -> Int {
    var word: UInt32 = 0
    for next in 0..<4 { word = word << 8 | UInt32(window[place + next]) }
    return Int((word &* 0x9e37_79b1) >> (32 - UInt32(RecentPlaces.bits)))
  }

  mutating func note(_ place: Int, in window: [UInt8]) {
    guard place + 4 <= window.count else { return }
    let slot = slot(place, window)
    earlier[place] = latest[slot]
    latest[slot] = Int16(place)
  }

  /// Returns the longest match among the latest recorded places with the same hash.
  func match(_ place: Int, in window: [UInt8]) -> (offset: Int, count: Int) {
    guard place + 4 <= window.count else { return (0, 0) }
    var best = (offset: 0, count: 0)
    var offset = Int(latest[slot(place, window)])
    for _ in 0..<RecentPlaces.tries where offset >= 0 {
      var count = 0
      while offset + count < place, place + count < window.count,
        window[offset + count] == window[place + count]
      { count += 1 }
      if count > best.count { best = (offset, count) }
      offset = Int(earlier[offset])
    }
    return best
  }
}

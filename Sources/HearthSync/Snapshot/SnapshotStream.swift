import HearthCRDT
import HearthCrypto

/// Writes a zone's whole state in canonical order, piece by piece.
///
/// Equal frontiers give equal bytes on every replica, so the digest of the stream is the zone's
/// digest. Layout, in `docs/reference/snapshot-format.md`: version, zone, authors, heads, records
/// in order of type and id, each with its length, and an end mark.
struct SnapshotWriter {
  /// The version of the stream.
  static let version: UInt8 = 1

  private let zone: ZoneState
  private let table: AuthorTable

  init(zone: ZoneState) {
    self.zone = zone
    var authors = Set(zone.heads.map(\.author))
    for head in zone.heads {
      authors.formUnion(head.controlSeen.entries.map(\.author))
      authors.formUnion(head.seen.entries.map(\.author))
    }
    table = AuthorTable(authors.sorted())
  }

  /// Writes the stream, handing over pieces of about `pieceBytes`.
  func write(
    from store: some Store, pieceBytes: Int, _ emit: ([UInt8]) throws -> Void
  ) throws {
    var writer = ByteWriter(capacity: pieceBytes + 4096)
    writeHeads(into: &writer)
    var state = ByteWriter(capacity: 1024)
    try store.forEachRecord(in: zone.id) { key, record in
      state.removeAll()
      switch record {
      case .record(let record): record.encode(into: &state, authors: table, values: .all)
      case .event(let event): event.encode(into: &state, authors: table, type: key.type)
      }
      writer.varint(UInt64(key.type.rawValue))
      writer.identifier(key.id)
      writer.blob(state.bytes)
      if writer.count >= pieceBytes {
        try emit(writer.bytes)
        writer.removeAll()
      }
    }
    writer.varint(0)
    try emit(writer.bytes)
  }

  private func writeHeads(into writer: inout ByteWriter) {
    writer.byte(SnapshotWriter.version)
    writer.identifier(zone.id)
    writer.varint(table.authors.count)
    for author in table.authors { writer.author(author) }
    let heads = zone.heads.filter { $0.sequence > 0 }
    writer.varint(heads.count)
    for head in heads {
      writer.varint(table.number(of: head.author))
      writer.varint(head.sequence)
      writer.raw(head.hash)
      writer.fixed64(head.time.rawValue)
      writer.frontier(head.seen, table)
      writer.frontier(head.controlSeen, table)
    }
  }
}

/// Reads the stream of a snapshot; its bytes come from outside and are not trusted.
struct SnapshotReader {
  let heads: [LogHead]
  private let table: AuthorTable
  private var reader: ByteReader
  /// Every author that the snapshot names.
  var authors: [Author] { table.authors }
  private var last: RecordKey?

  init(_ bytes: [UInt8], zone: ZoneID) throws {
    var reader = ByteReader(bytes)
    guard try reader.byte("snapshot version") == SnapshotWriter.version else {
      throw SyncError(.malformed, "the snapshot has a newer format: update this program")
    }
    guard try reader.identifier("zone") == zone else {
      throw SyncError(.notAuthentic, "the snapshot is of another zone")
    }
    var authors: [Author] = []
    for _ in 0..<(try reader.count("authors", itemBytes: 24, atMost: Limits.maximumAuthors)) {
      let author = try reader.author("author")
      guard authors.last.map({ $0 < author }) ?? true else {
        throw CodecError(.notCanonical, "authors", offset: reader.offset)
      }
      authors.append(author)
    }
    table = AuthorTable(authors)
    heads = try SnapshotReader.heads(from: &reader, table)
    self.reader = reader
  }

  private static func heads(
    from reader: inout ByteReader, _ table: AuthorTable
  ) throws -> [LogHead] {
    var heads: [LogHead] = []
    let number = try reader.count("heads", itemBytes: 44, atMost: Limits.maximumAuthors)
    for _ in 0..<number {
      let place = try reader.varint("head", atMost: max(0, table.authors.count - 1))
      guard place < table.authors.count,
        heads.last.map({ $0.author < table.authors[place] }) ?? true
      else { throw CodecError(.notCanonical, "heads", offset: reader.offset) }
      var head = LogHead(author: table.authors[place])
      head.sequence = try reader.varint("sequence")
      guard (1...Frontier.maximumSequence).contains(head.sequence) else {
        throw CodecError(.beyondLimit, "sequence", offset: reader.offset)
      }
      head.hash = try reader.raw(32, "head hash")
      head.time = HybridTime(rawValue: try reader.fixed64("head time"))
      head.seen = try reader.frontier("seen", table)
      head.controlSeen = try reader.frontier("control seen", table)
      heads.append(head)
    }
    return heads
  }

  /// The next record; nil after the last, when nothing may follow.
  mutating func next() throws -> (RecordKey, StoredRecord)? {
    let type = TypeID(
      rawValue: UInt16(try reader.varint("type", atMost: Int(UInt16.max))))
    guard type.rawValue != 0 else {
      try reader.finish()
      return nil
    }
    let key = RecordKey(type: type, id: try reader.identifier("record"))
    guard last.map({ $0 < key }) ?? true else {
      throw CodecError(.notCanonical, "records", offset: reader.offset)
    }
    last = key
    let length = try reader.count("state")
    let end = reader.offset + length
    let record: StoredRecord
    if type.isEvent {
      record = .event(try EventState(from: &reader, authors: table, type: type))
    } else {
      record = .record(try RecordState(from: &reader, authors: table, values: .all))
    }
    guard reader.offset == end else {
      throw CodecError(.notCanonical, "state", offset: reader.offset)
    }
    return (key, record)
  }
}

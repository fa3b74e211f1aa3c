import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private func marks(_ pairs: [(Author, UInt64)]) -> Frontier { Frontier(pairs) }

/// Bytes that must never change: the zone's digest is a hash over them.
///
/// A failure here means a new format version, not new vectors.
@Suite("Golden bytes of a snapshot")
struct SnapshotGoldenTests {
  static let ben = Author(
    device: Identifier(high: repeated(0x11), low: repeated(0x11)),
    incarnation: 1 << 32 | 0xaaaa_aaaa)
  static let ada = Author(
    device: Identifier(high: repeated(0x22), low: repeated(0x22)),
    incarnation: 2 << 32 | 0xbbbb_bbbb)
  static let chore = RecordKey(
    type: .record(1), id: Identifier(high: repeated(0x33), low: repeated(0x33)))
  static let done = RecordKey(
    type: .event(2, keepsCause: true), id: Identifier(high: repeated(0x44), low: repeated(0x44)))

  /// A chore that two people named concurrently, and a completion.
  static func shelf() -> RecordShelf {
    let title = FieldID(.register, 1)
    var state = RecordState()
    let first = Version(
      dot: Dot(author: ben, sequence: 1), time: HybridTime(milliseconds: 1_790_000_000_000))
    let second = Version(
      dot: Dot(author: ada, sequence: 1), time: HybridTime(milliseconds: 1_790_000_001_000))
    state.apply(.assign(title, .text("Bad")), version: first, past: Frontier())
    state.apply(.assign(title, .text("Küche")), version: second, past: Frontier())
    state.apply(.assign(FieldID(.history, 3), .int(5)), version: first, past: Frontier())
    let event = EventState(
      version: Version(
        dot: Dot(author: ben, sequence: 2), time: HybridTime(milliseconds: 1_790_000_002_000)),
      cause: marks([(ben, 1), (ada, 1)]),
      fields: [EventField(FieldID(.register, 1), .int(7))])
    return RecordShelf([(chore, .record(state)), (done, .event(event))])
  }

  static func zone() throws -> ZoneState {
    let stored = StoredZone(
      id: GoldenHousehold.zone, group: .zero, kind: .data, database: .shared, name: "Home",
      wrappedSecret: [], wrappedEpochs: [])
    let heads = [
      LogHead(
        author: ada, sequence: 1, hash: [UInt8](repeating: 0xe2, count: 32),
        time: HybridTime(milliseconds: 1_790_000_001_000), seen: Frontier(),
        controlSeen: marks([(ben, 3)]), forkedAt: nil),
      LogHead(
        author: ben, sequence: 2, hash: [UInt8](repeating: 0xe1, count: 32),
        time: HybridTime(milliseconds: 1_790_000_002_000), seen: marks([(ada, 1)]),
        controlSeen: marks([(ben, 3)]), forkedAt: nil),
    ]
    return ZoneState(
      stored, secret: try ZoneSecret(secret: GoldenHousehold.key(3)), epochs: [], heads: heads)
  }

  private func stream() throws -> [UInt8] {
    var stream: [UInt8] = []
    try SnapshotWriter(zone: SnapshotGoldenTests.zone(), heldBack: [])
      .write(from: SnapshotGoldenTests.shelf()) { stream += $0 }
    return stream
  }

  @Test("the stream and its digest have the bytes of the page")
  func golden() throws {
    let golden = try GoldenFile("snapshot-stream")
    let stream = try stream()
    #expect(hex(stream) == golden.hex)
    #expect(golden.hasTrueOffsets)
    #expect(try golden.isQuoted(in: "reference/snapshot-format.md"))
    let digest = try GoldenFile("snapshot-digest")
    #expect(hex(Blake2b.hash(Array("HRTH/digest/v1".utf8) + stream)) == digest.hex)
    #expect(try digest.isQuoted(in: "reference/snapshot-format.md"))
  }

  @Test("the stream is read back as it was written")
  func roundTrip() throws {
    let zone = try SnapshotGoldenTests.zone()
    var reader = try SnapshotReader(try stream(), zone: zone.id)
    #expect(reader.heads == zone.heads)
    var records: [RecordKey: StoredRecord] = [:]
    while let block = try reader.nextBlock() {
      for (key, record) in block { records[key] = record }
    }
    let expected = Dictionary(
      uniqueKeysWithValues: SnapshotGoldenTests.shelf().records.map { ($0.key, $0.record) })
    #expect(records == expected)
  }

  @Test("changes held back are read as they were written, and none of them is here")
  func heldBack() throws {
    let zone = try SnapshotGoldenTests.zone()
    let (first, second) = (zone.heads[0].author, zone.heads[1].author)
    func read(_ heldBack: [Dot]) throws -> [Dot] {
      var stream: [UInt8] = []
      try SnapshotWriter(zone: zone, heldBack: heldBack)
        .write(from: SnapshotGoldenTests.shelf()) { stream += $0 }
      return try SnapshotReader(stream, zone: zone.id).heldBack
    }
    let stranger = Author(device: Identifier(high: .max, low: .max), incarnation: 1)
    let changes = [
      Dot(author: first, sequence: 3), Dot(author: second, sequence: 9),
      Dot(author: stranger, sequence: 1),
    ]
    #expect(try read(changes) == changes)
    #expect(throws: CodecError.self) { try read([Dot(author: first, sequence: 2)]) }
  }

  /// The stream of a zone with a given table of authors, written by hand.
  private static func handWritten(
    _ zone: ZoneState, _ table: AuthorTable, _ shelf: RecordShelf
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(SnapshotWriter.version)
    writer.identifier(zone.id)
    writer.varint(table.authors.count)
    for author in table.authors { writer.author(author) }
    writer.varint(zone.heads.count)
    for head in zone.heads {
      writer.varint(table.number(of: head.author))
      writer.varint(head.sequence)
      writer.raw(head.hash)
      writer.fixed64(head.time.rawValue)
      table.encode(head.seen, into: &writer)
      table.encode(head.controlSeen, into: &writer)
    }
    writer.varint(0)
    var records: [(id: RecordID, state: RecordState)] = []
    for (key, record) in shelf.records {
      if case .record(let state) = record, key.type == .record(1) {
        records.append((key.id, state))
      }
    }
    if !records.isEmpty {
      writer.varint(1)
      var encoder = RecordBlockEncoder(authors: table)
      for record in records { encoder.append(record.id, record.state) }
      encoder.finish(into: &writer)
    }
    writer.varint(0)
    return writer.bytes
  }

  @Test("a table with an author too many, and a change beyond the heads, are refused")
  func strangers() throws {
    let zone = try SnapshotGoldenTests.zone()
    let stranger = Author(device: Identifier(high: .max, low: .max), incarnation: 1)
    func stream(_ authors: [Author], _ shelf: RecordShelf) throws -> [UInt8] {
      SnapshotGoldenTests.handWritten(zone, AuthorTable(authors), shelf)
    }
    func read(_ bytes: [UInt8]) throws {
      var reader = try SnapshotReader(bytes, zone: zone.id)
      while try reader.nextBlock() != nil {}
    }
    func shelf(_ sequence: UInt64) -> RecordShelf {
      var state = RecordState()
      let head = zone.heads[0]
      state.apply(
        .insert,
        version: Version(
          dot: Dot(author: head.author, sequence: sequence), time: HybridTime(milliseconds: 9)),
        past: Frontier())
      return RecordShelf([(RecordKey(type: .record(1), id: .zero), .record(state))])
    }
    let authors = SnapshotWriter.authors(of: zone.heads, [])
    let last = zone.heads[0].sequence
    try read(try stream(authors, RecordShelf([])))
    try read(try stream(authors, shelf(last)))
    for bytes in [
      try stream(authors + [stranger], RecordShelf([])), try stream(authors, shelf(last + 1)),
    ] {
      let error = #expect(throws: CodecError.self) { try read(bytes) }
      #expect(error?.code == .notCanonical)
    }
  }

  @Test("every truncation and every trailing byte is refused")
  func truncation() throws {
    let whole = try stream()
    for bytes in whole.indices.map({ Array(whole.prefix($0)) }) + [whole + [0]] {
      #expect(throws: (any Error).self, "\(bytes.count) of \(whole.count) bytes") {
        var reader = try SnapshotReader(bytes, zone: GoldenHousehold.zone)
        while try reader.nextBlock() != nil {}
      }
    }
  }
}

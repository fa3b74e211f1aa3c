import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthSync

@Suite("Blocks of a snapshot")
struct SnapshotBlockTests {
  private let type = TypeID.record(1)

  /// Records that one change wrote, with a text of a length.
  private func shelf(_ count: Int, type: TypeID = .record(1), textBytes: Int = 1) -> RecordShelf {
    let version = Version(
      dot: Dot(author: SnapshotGoldenTests.ben, sequence: 1), time: HybridTime(milliseconds: 9))
    var state = RecordState()
    state.apply(
      .assign(FieldID(.register, 1), .text(String(repeating: "a", count: textBytes))),
      version: version, past: Frontier())
    return RecordShelf(
      (0..<count).map {
        (RecordKey(type: type, id: Identifier(high: 0, low: UInt64($0))), .record(state))
      })
  }

  private func stream(_ shelf: RecordShelf) throws -> [UInt8] {
    var stream: [UInt8] = []
    try SnapshotWriter(zone: SnapshotGoldenTests.zone(), heldBack: [])
      .write(from: shelf) { stream += $0 }
    return stream
  }

  private func blockSizes(_ stream: [UInt8]) throws -> [Int] {
    var reader = try SnapshotReader(stream, zone: GoldenHousehold.zone)
    var sizes: [Int] = []
    while let block = try reader.nextBlock() { sizes.append(block.count) }
    return sizes
  }

  @Test("a block ends at 2,000 records, at 1 MiB, and where the type changes")
  func ends() throws {
    #expect(try blockSizes(try stream(shelf(0))) == [])
    #expect(try blockSizes(try stream(shelf(2_000))) == [2_000])
    #expect(try blockSizes(try stream(shelf(2_001))) == [2_000, 1])
    // Each weighs 32, the text, and 16 for the units that it uses up: 16 are exactly 1 MiB, and
    // then one byte less each.
    #expect(try blockSizes(try stream(shelf(20, textBytes: 65_536 - 48))) == [16, 4])
    #expect(try blockSizes(try stream(shelf(20, textBytes: 65_536 - 49))) == [17, 3])
    let both = RecordShelf(
      (shelf(3).records + shelf(2, type: .record(2)).records).map { ($0.key, $0.record) })
    #expect(try blockSizes(try stream(both)) == [3, 2])
  }

  /// The stream's heads, then blocks as they are given, then the end.
  private func stream(blocks: [ArraySlice<(key: RecordKey, record: StoredRecord)>]) throws
    -> [UInt8]
  {
    var writer = ByteWriter()
    writer.raw(Array(try stream(RecordShelf([])).dropLast()))
    let zone = try SnapshotGoldenTests.zone()
    let table = AuthorTable(zone.heads.map(\.author).sorted())
    for block in blocks {
      writer.varint(UInt64(block.first?.key.type.rawValue ?? 0))
      var encoder = RecordBlockEncoder(authors: table)
      for case (let key, .record(let state)) in block { encoder.append(key.id, state) }
      encoder.finish(into: &writer)
    }
    writer.varint(0)
    return writer.bytes
  }

  @Test("blocks that end too soon or too late, or are out of order, are refused")
  func wrongEnds() throws {
    let few = shelf(5).records
    #expect(try blockSizes(try stream(blocks: [few[...]])) == [5])
    for wrong in [[few[..<2], few[2...]], [few[2...], few[..<2]], [few[...], few[...]]] {
      #expect(throws: CodecError.self) { _ = try blockSizes(try stream(blocks: wrong)) }
    }
    let heavy = shelf(20, textBytes: 65_536 - 32).records
    #expect(try blockSizes(try stream(blocks: [heavy[..<16], heavy[16...]])) == [16, 4])
    for wrong in [[heavy[..<15], heavy[15...]], [heavy[..<17], heavy[17...]], [heavy[...]]] {
      #expect(throws: CodecError.self) { _ = try blockSizes(try stream(blocks: wrong)) }
    }
  }

  private typealias Reading = (
    heads: [LogHead], authors: [Author], records: [(key: RecordKey, record: StoredRecord)]
  )

  private func read(_ stream: [UInt8]) throws -> Reading {
    var reader = try SnapshotReader(stream, zone: GoldenHousehold.zone)
    var records: [(key: RecordKey, record: StoredRecord)] = []
    while let block = try reader.nextBlock() { records += block }
    return (reader.heads, reader.authors, records)
  }

  @Test("a flipped bit of a stream is refused or makes another state")
  func flips() throws {
    let shelf = SnapshotGoldenTests.shelf()
    let stream = try stream(shelf)
    let zone = try SnapshotGoldenTests.zone()
    var accepted = 0
    for bit in 0..<8 * stream.count {
      var flipped = stream
      flipped[bit / 8] ^= 1 << UInt8(bit % 8)
      guard let reading = try? read(flipped) else { continue }
      accepted += 1
      let isSame =
        reading.heads == zone.heads && reading.authors == zone.heads.map(\.author).sorted()
        && reading.records.count == shelf.records.count
        && zip(reading.records, shelf.records).allSatisfy { $0 == $1 }
      #expect(!isSame, "bit \(bit)")
    }
    #expect(accepted > 0)
  }
}

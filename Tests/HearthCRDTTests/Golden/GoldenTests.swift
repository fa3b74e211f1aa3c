import HearthCRDT
import TestSupport
import Testing

/// Two digits a byte.
private func hex(_ bytes: [UInt8]) -> String {
  bytes.map { byte in
    let digits = String(byte, radix: 16)
    return digits.count == 1 ? "0" + digits : digits
  }.joined()
}

/// A citation of the other author.
private func cited(_ sequence: UInt64, _ hash: UInt64) -> FrontierDifference {
  FrontierDifference(
    heads: [CitedHead(author: GoldenTests.ada, sequence: sequence, hash: hash)])
}

private func marks(_ pairs: (Author, UInt64)...) -> Frontier {
  Frontier(pairs)
}

/// Bytes that must never change: logs on disk and chain hashes depend on them.
///
/// A failure here means a new format version, not new vectors.
@Suite("Golden bytes")
struct GoldenTests {
  static let ben = Author(
    device: DeviceID(high: 0x1111_1111_1111_1111, low: 0x1111_1111_1111_1111),
    incarnation: 1 << 32 | 0xaaaa_aaaa)
  static let ada = Author(
    device: DeviceID(high: 0x2222_2222_2222_2222, low: 0x2222_2222_2222_2222),
    incarnation: 2 << 32 | 0xbbbb_bbbb)
  static let chore = RecordKey(
    type: .record(1), id: RecordID(high: 0x3333_3333_3333_3333, low: 0x3333_3333_3333_3333))
  static let done = RecordKey(
    type: .event(2, keepsCause: true),
    id: RecordID(high: 0x4444_4444_4444_4444, low: 0x4444_4444_4444_4444))

  /// Two changes with every kind of operation and value.
  static let changes = [
    Change(
      dot: Dot(author: ben, sequence: 300), previousHash: [UInt8](repeating: 0xcc, count: 32),
      seen: cited(5, 0xe1e2_e3e4_e5e6_e7e8),
      time: HybridTime(milliseconds: 1_790_000_000_000, counter: 1), schemaVersion: 3,
      operations: [
        Operation(chore, .insert),
        Operation(chore, .assign(FieldID(.register, 1), .text("Küche"))),
        Operation(chore, .assign(FieldID(.register, 2), .null)),
        Operation(chore, .assign(FieldID(.history, 3), .int(-5))),
        Operation(chore, .count(FieldID(.counter, 4), 200)),
        Operation(chore, .include(FieldID(.set, 5), .bytes([1, 2, 255]))),
        Operation(chore, .exclude(FieldID(.set, 5), .bool(true))),
      ]),
    Change(
      dot: Dot(author: ben, sequence: 301), previousHash: [UInt8](repeating: 0xdd, count: 32),
      controlSeen: cited(1, 0xd1d2_d3d4_d5d6_d7d8),
      time: HybridTime(milliseconds: 1_790_000_001_000), schemaVersion: 3,
      operations: [
        Operation(
          done,
          .event([
            EventField(FieldID(.register, 1), .int(7)),
            EventField(FieldID(.register, 2), .bool(false)),
          ])),
        Operation(chore, .delete),
      ]),
  ]

  @Test("the canonical bytes of changes are those of format 2")
  func canonicalChanges() throws {
    for (change, golden) in zip(GoldenTests.changes, GoldenBytes.changes) {
      #expect(hex(canonical(change)) == golden)
      #expect(try Change(decoding: canonical(change)) == change)
    }
  }

  @Test("the columns of a batch are those of format 1")
  func batch() throws {
    let bytes = ChangeBatch.encode(GoldenTests.changes)
    #expect(hex(bytes) == GoldenBytes.batch)
    var again = try ChangeBatch.decode(
      bytes, incarnation: GoldenTests.ben.incarnation, first: 300)
    again[1].previousHash = GoldenTests.changes[1].previousHash
    #expect(again == GoldenTests.changes)
  }

  @Test("the bytes of a record's state are those of format 1")
  func state() throws {
    var state = RecordState()
    var past = marks((GoldenTests.ada, 5), (GoldenTests.ben, 299))
    for change in GoldenTests.changes {
      let version = Version(dot: change.dot, time: change.time)
      for operation in change.operations where operation.key == GoldenTests.chore {
        state.apply(operation.body, version: version, past: past)
      }
      past.advance(change.dot.author, to: change.dot.sequence)
    }
    let concurrent = Version(
      dot: Dot(author: GoldenTests.ada, sequence: 6), time: HybridTime(milliseconds: 5))
    state.apply(
      .assign(FieldID(.register, 1), .text("Bad")), version: concurrent, past: Frontier())
    var writer = ByteWriter()
    state.encode(
      into: &writer, authors: AuthorTable([GoldenTests.ben, GoldenTests.ada]), values: .all)
    #expect(hex(writer.bytes) == GoldenBytes.state)
    #expect(state.shown(FieldID(.register, 1)) == .text("Küche"))
    #expect(state.life.isDeleted == false)
  }
}

import HearthCRDT
import TestSupport
import Testing

@Suite("The columns of a batch")
struct ChangeBatchTests {
  func decoded(_ bytes: [UInt8], like change: Change) throws(CodecError) -> [Change] {
    try ChangeBatch.decode(
      bytes, incarnation: change.dot.author.incarnation, first: change.dot.sequence)
  }

  @Test("a decoded batch has the canonical bytes of every change, and encodes to itself")
  func roundTrip() throws {
    for seed in 0..<400 {
      var random = SplitMix64(seed: UInt64(seed))
      let changes = random.batch(count: random.below(random.oneIn(10) ? 200 : 12) + 1)
      let bytes = ChangeBatch.encode(changes)
      var again = try decoded(bytes, like: changes[0])
      #expect(again.count == changes.count, "seed \(seed)")
      #expect(again.dropFirst().allSatisfy { $0.previousHash.isEmpty }, "seed \(seed)")
      #expect(again[0].previousHash == changes[0].previousHash, "seed \(seed)")
      #expect(ChangeBatch.encode(again) == bytes, "seed \(seed)")
      for place in again.indices {
        again[place].previousHash = changes[place].previousHash
        #expect(canonical(again[place]) == canonical(changes[place]), "seed \(seed)")
      }
    }
  }

  @Test("a thousand field writes of a household take at most 18.4 bytes each")
  func size() throws {
    let changes = householdBatch(fieldWrites: 1_000)
    let bytes = ChangeBatch.encode(changes)
    #expect(Double(bytes.count) / 1_000 <= 18.4)
    #expect(try decoded(bytes, like: changes[0]).flatMap(\.operations).count == 1_000)
  }

  @Test("every truncation and every trailing byte is refused")
  func truncation() {
    for seed in 0..<40 {
      var random = SplitMix64(seed: UInt64(seed))
      let changes = random.batch(count: random.below(4) + 1)
      let bytes = ChangeBatch.encode(changes)
      for count in 0..<bytes.count {
        let error = codecError { _ = try decoded(Array(bytes.prefix(count)), like: changes[0]) }
        #expect(error != nil, "seed \(seed), \(count) bytes")
      }
      for extra in [0, 1, 0x80, 0xff] as [UInt8] {
        #expect(codecError { _ = try decoded(bytes + [extra], like: changes[0]) } != nil)
      }
    }
  }

  @Test("mutated batches never trap, and what is accepted has no other spelling")
  func mutations() {
    var random = SplitMix64(seed: 99)
    let sources = (0..<60).map { _ in random.batch(count: random.below(5) + 1) }
    let encoded = sources.map(ChangeBatch.encode)
    var accepted = 0
    for round in 0..<100_000 {
      let number = random.below(sources.count)
      let bytes = random.mutated(encoded[number])
      guard let changes = try? decoded(bytes, like: sources[number][0]) else { continue }
      accepted += 1
      // Versions differ in their first byte and what they declare, so each has one spelling.
      if ChangeBatch.encode(changes).dropFirst() != bytes.dropFirst() {
        Issue.record("a second spelling in round \(round)")
      }
    }
    #expect(accepted > 1_000)
  }

  /// A batch of one author written by hand: the head, then what follows the change count.
  func body(changes: Int, _ columns: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(ChangeBatch.formatVersion)
    writer.raw([UInt8](repeating: 0, count: 32))
    writer.identifier(.zero)
    writer.varint(changes)
    writer.fixed64(0)
    for _ in 1..<changes { writer.signed(1) }
    columns(&writer)
    return writer.bytes
  }

  /// A run of at least two.
  func run(_ value: Int, _ count: Int, _ writer: inout ByteWriter) {
    writer.varint(value << 1 | 1)
    writer.varint(count - 2)
  }

  func code(_ bytes: [UInt8], first: UInt64 = 1) -> CodecError.Code? {
    codecError { _ = try ChangeBatch.decode(bytes, incarnation: 1, first: first) }?.code
  }

  @Test("runs that stand for more than 400,000 operations and event fields are refused")
  func itemBomb() {
    // 100 changes of 1,000 events; the fields of one event make the sum pass the limit.
    func bomb(events: Int, fields: Int, extra: Int = 0) -> [UInt8] {
      body(changes: 100) { writer in
        run(1, 100, &writer)
        writer.varint(0)
        run(0, 100, &writer)
        run(0, 100, &writer)
        run(events, 100, &writer)
        run(6, 100 * events, &writer)
        run(0x8001, 100 * events, &writer)
        writer.varint(2)
        run(0, 100 * events - 1, &writer)
        writer.identifier(.zero)
        if extra == 0 {
          run(fields, 100 * events, &writer)
        } else {
          run(fields, 100 * events - 1, &writer)
          writer.varint((fields + extra) << 1)
        }
        run(4, 100 * events * fields, &writer)
        run(0, 100 * events * fields, &writer)
        writer.byte(0)
      }
    }
    #expect(Limits.maximumSegmentItems == 400_000)
    #expect(code(bomb(events: 2_000, fields: 1)) == nil)
    let oneMore = bomb(events: 2_000, fields: 1, extra: 1)
    let error = codecError { _ = try ChangeBatch.decode(oneMore, incarnation: 1, first: 1) }
    #expect(error?.code == .beyondLimit && error?.item == "event fields")
    #expect(code(bomb(events: 4_001, fields: 1)) == .beyondLimit)
    #expect(code(bomb(events: 10_000, fields: 1)) == .beyondLimit)
    // Fields of one event must rise, so a run of two of them is refused as well.
    #expect(code(bomb(events: 10, fields: 2)) == .notCanonical)
    #expect(code(bomb(events: 10, fields: 65)) == .beyondLimit)
  }

  @Test("a segment holds 10,000 changes and not one more; none at all is refused")
  func changeLimit() {
    func empty(_ count: Int) -> [UInt8] {
      body(changes: count) { writer in
        run(1, count, &writer)
        writer.varint(0)
        for _ in 0..<3 { run(0, count, &writer) }
        writer.byte(0)
      }
    }
    #expect(code(empty(10_000)) == nil)
    #expect(code(empty(10_001)) == .beyondLimit)
    #expect(code(empty(10_000), first: Frontier.maximumSequence - 9_999) == nil)
    #expect(code(empty(10_000), first: Frontier.maximumSequence - 9_998) == .beyondLimit)
    #expect(code(empty(10_000), first: .max) == .beyondLimit)
    #expect(code(empty(10_000), first: 0) == .beyondLimit)
    var none = [UInt8](repeating: 0, count: 70)
    none[0] = ChangeBatch.formatVersion
    #expect(code(none) == .notCanonical)
  }

  @Test("a batch longer than a mebibyte is refused unread")
  func byteLimit() {
    #expect(code([UInt8](repeating: 1, count: Limits.maximumSegmentBytes + 1)) == .beyondLimit)
    #expect(code([UInt8](repeating: 9, count: Limits.maximumSegmentBytes)) == .unknown)
  }

  @Test("the largest change in its worst shape still fits a segment")
  func worstCase() throws {
    let fields = (1...64).map { number in
      EventField(FieldID(.register, UInt16(number + 63)), .bool(number % 2 == 0))
    }
    var change = Change(
      dot: Dot(author: author(1), sequence: 1), previousHash: [UInt8](repeating: 0, count: 32),
      time: HybridTime(rawValue: 1), operations: [])
    let operations = (0..<5_000).map { (number: UInt64) in
      Operation(RecordKey(type: .event(1), id: RecordID(high: number, low: 0)), .event(fields))
    }
    let empty = canonical(change).count + 1
    change.operations = [operations[0]]
    let each = canonical(change).count - empty + 1
    change.operations = Array(operations.prefix((Limits.maximumChangeBytes - empty) / each))
    #expect(canonical(change).count > Limits.maximumChangeBytes - 2 * each)
    let bytes = ChangeBatch.encode([change])
    #expect(bytes.count <= Limits.maximumSegmentBytes)
    #expect(try decoded(bytes, like: change) == [change])
  }

  @Test("whole numbers are plain where deltas would be longer, and the other choice is refused")
  func numberSpelling() throws {
    func changes(_ numbers: [Int64]) -> [Change] {
      [
        Change(
          dot: Dot(author: author(1), sequence: 1), previousHash: [UInt8](repeating: 0, count: 32),
          time: HybridTime(rawValue: 1),
          operations: numbers.map {
            Operation(
              RecordKey(type: .record(1), id: .zero), .assign(FieldID(.register, 1), .int($0)))
          })
      ]
    }
    let close = changes([1_000_000, 1_000_001, 1_000_002])
    let wide = changes([.max, 0, .max, 0])
    for batch in [close, wide] {
      let bytes = ChangeBatch.encode(batch)
      #expect(try decoded(bytes, like: batch[0]) == batch)
    }
    // Plain: 0 and -1 take a byte each. As deltas too; the flag may not say so.
    var bytes = ChangeBatch.encode(changes([0, -1]))
    #expect(Array(bytes.suffix(3)) == [0, 0, 1])
    bytes[bytes.count - 3] = 1
    #expect(codecError { _ = try decoded(bytes, like: close[0]) }?.code == .notCanonical)
  }
}

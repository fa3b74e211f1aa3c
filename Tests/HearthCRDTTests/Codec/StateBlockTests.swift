import TestSupport
import Testing

@testable import HearthCRDT

@Suite("Blocks of states")
struct StateBlockTests {
  static let table = AuthorTable((1...3).map(author).sorted())

  typealias Records = [(id: RecordID, state: RecordState)]
  typealias Events = [(id: RecordID, event: EventState)]

  /// Records with a few writes of each kind by three authors whose changes write several records.
  func randomRecords(_ random: inout SplitMix64, count: Int, writes: Int = 12) -> Records {
    var time: UInt64 = 1_790_000_000_000 << 16
    let times = (0...40).map { _ -> UInt64 in
      time = random.oneIn(20) ? random.next() : time &+ UInt64(random.below(90_000)) << 16
      return time
    }
    var records: Records = []
    for place in 0..<count {
      var state = RecordState()
      var known = [Frontier](repeating: Frontier(), count: 4)
      for _ in 0..<random.below(writes) {
        let number = random.below(3) + 1
        let sequence = known[number][author(number)] + UInt64(random.below(3)) + 1
        let version = Version(
          dot: Dot(author: author(number), sequence: sequence),
          time: HybridTime(rawValue: times[min(40, number * 7 + Int(sequence))]))
        state.apply(randomBody(&random), version: version, past: known[number])
        known[number].advance(author(number), to: sequence)
        if random.oneIn(3) { known[number] = known[number].joined(with: known[random.below(4)]) }
      }
      records.append((id: Identifier(high: random.next() & 7, low: UInt64(place)), state: state))
    }
    return records.sorted { $0.id < $1.id }
  }

  func randomBody(_ random: inout SplitMix64) -> Operation.Body {
    switch random.below(12) {
    case 10: .edit(FieldID(.text, 1), random.ownEdit())
    case 11: .edit(random.field(.text), random.ownEdit())
    case 0: .delete
    case 1: .insert
    case 2: .assign(FieldID(.history, 1), random.value())
    case 3: .assign(random.field(.history), random.value())
    case 4: .count(random.field(.counter), Int64(random.below(9)) - 4)
    case 5: .include(FieldID(.set, 1), random.value())
    case 6: .exclude(FieldID(.set, 1), random.value())
    case 7: .assign(random.field(.register), random.value())
    default: .assign(FieldID(.register, UInt16(random.below(3)) + 1), random.value())
    }
  }

  func encoded(_ records: Records) -> [UInt8] {
    var writer = ByteWriter()
    var block = RecordBlockEncoder(authors: StateBlockTests.table)
    for record in records { block.append(record.id, record.state) }
    block.finish(into: &writer)
    return writer.bytes
  }

  func decoded(_ bytes: [UInt8]) throws(CodecError) -> Records {
    var reader = ByteReader(bytes)
    let records = try StateBlock.decodeRecords(from: &reader, authors: StateBlockTests.table)
    try reader.finish()
    return records
  }

  func randomEvents(_ random: inout SplitMix64, count: Int, keepsCause: Bool) -> Events {
    (0..<count).map { place in
      let numbers = Set((0..<random.below(5)).map { _ in UInt16(random.below(6)) + 1 }).sorted()
      let event = EventState(
        version: Version(
          dot: Dot(author: author(random.below(3) + 1), sequence: UInt64(random.below(90)) + 1),
          time: HybridTime(rawValue: random.next())),
        cause: keepsCause ? frontier((random.below(3) + 1, 9)) : nil,
        fields: numbers.map { EventField(FieldID(.register, $0), random.value()) })
      return (id: Identifier(high: 5, low: UInt64(place)), event: event)
    }
  }

  func encoded(_ events: Events, _ type: TypeID) -> [UInt8] {
    var writer = ByteWriter()
    var block = EventBlockEncoder(of: type, authors: StateBlockTests.table)
    for event in events { block.append(event.id, event.event) }
    block.finish(into: &writer)
    return writer.bytes
  }

  func decodedEvents(_ bytes: [UInt8], _ type: TypeID) throws(CodecError) -> Events {
    var reader = ByteReader(bytes)
    let events = try StateBlock.decodeEvents(
      of: type, from: &reader, authors: StateBlockTests.table)
    try reader.finish()
    return events
  }

  @Test("records of every kind of field, deleted ones and siblings come back")
  func roundTrip() throws {
    var siblings = 0
    var deleted = 0
    for seed in 0..<300 {
      var random = SplitMix64(seed: UInt64(seed))
      let records = randomRecords(&random, count: random.below(20) + 1)
      let again = try decoded(encoded(records))
      #expect(again.map(\.id) == records.map(\.id), "seed \(seed)")
      #expect(again.map(\.state) == records.map(\.state), "seed \(seed)")
      for record in records {
        if record.state.life.isDeleted { deleted += 1 }
        for case .register(let register) in record.state.entries.map(\.field) {
          siblings += register.others.count
        }
      }
    }
    #expect(siblings > 100 && deleted > 100, "\(siblings) siblings, \(deleted) deleted")
  }

  @Test("events of both sorts come back")
  func events() throws {
    for seed in 0..<200 {
      var random = SplitMix64(seed: UInt64(seed))
      let type = TypeID.event(3, keepsCause: seed.isMultiple(of: 2))
      let events = randomEvents(
        &random, count: random.below(20) + 1, keepsCause: type.keepsCause)
      let again = try decodedEvents(encoded(events, type), type)
      #expect(again.map(\.id) == events.map(\.id), "seed \(seed)")
      #expect(again.map(\.event) == events.map(\.event), "seed \(seed)")
    }
  }

  @Test("every truncation is refused, and a flipped bit is refused or says something else")
  func damage() {
    for seed in 0..<12 {
      var random = SplitMix64(seed: UInt64(seed))
      let bytes = encoded(randomRecords(&random, count: random.below(4) + 1))
      for count in 0..<bytes.count {
        let error = codecError { _ = try decoded(Array(bytes.prefix(count))) }
        #expect(error != nil, "seed \(seed), \(count) bytes")
      }
      #expect(codecError { _ = try decoded(bytes + [0]) }?.code == .trailingBytes)
      for bit in 0..<8 * bytes.count {
        var flipped = bytes
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        guard let records = try? decoded(flipped) else { continue }
        if encoded(records) != flipped { Issue.record("seed \(seed), bit \(bit)") }
      }
    }
  }

  @Test("mutated blocks never trap, and what is accepted has no other spelling")
  func mutations() {
    var random = SplitMix64(seed: 4)
    let sources = (0..<60).map { _ in encoded(randomRecords(&random, count: 3)) }
    var accepted = 0
    for round in 0..<20_000 {
      let bytes = random.mutated(random.pick(sources))
      guard let records = try? decoded(bytes) else { continue }
      accepted += 1
      if encoded(records) != bytes { Issue.record("a second spelling in round \(round)") }
    }
    #expect(accepted > 500)
    let type = TypeID.event(3, keepsCause: true)
    let events = (0..<60).map { _ in
      encoded(randomEvents(&random, count: 3, keepsCause: true), type)
    }
    for round in 0..<10_000 {
      let bytes = random.mutated(random.pick(events))
      guard let again = try? decodedEvents(bytes, type) else { continue }
      if encoded(again, type) != bytes { Issue.record("a second event in round \(round)") }
    }
  }

  @Test("a block of 2,000 is read, one more is refused before its ids are")
  func recordLimit() throws {
    let most = (0..<Limits.maximumBlockRecords).map {
      (id: Identifier(high: 0, low: UInt64($0)), state: RecordState())
    }
    #expect(Limits.maximumBlockRecords == 2_000)
    #expect(try decoded(encoded(most)).count == 2_000)
    var writer = ByteWriter()
    writer.varint(Limits.maximumBlockRecords + 1)
    #expect(codecError { _ = try decoded(writer.bytes) }?.code == .beyondLimit)
    #expect(codecError { _ = try decoded([0]) }?.code == .notCanonical)
  }

  @Test("a block is full at 2,000 records and at a weight of 1 MiB, not before")
  func full() {
    #expect(!StateBlock.isFull(records: 1_999, weight: 1024 * 1024 - 1))
    #expect(StateBlock.isFull(records: 2_000, weight: 0))
    #expect(StateBlock.isFull(records: 1, weight: 1024 * 1024))
  }

  @Test("an event has at most 64 fields")
  func eventFields() throws {
    let type = TypeID.event(3)
    for (count, code) in [(64, nil), (65, CodecError.Code.beyondLimit)] {
      let fields = (1...count).map { EventField(FieldID(.register, UInt16($0)), .null) }
      let version = Version(
        dot: Dot(author: author(1), sequence: 1), time: HybridTime(rawValue: 1))
      let bytes = encoded(
        [(id: .zero, event: EventState(version: version, cause: nil, fields: fields))], type)
      #expect(codecError { _ = try decodedEvents(bytes, type) }?.code == code)
    }
  }

  @Test("length bombs are refused before memory is asked for")
  func bombs() {
    let huge: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0x7f]
    let id = [UInt8](repeating: 0, count: 16)
    // No changes and no versions; then a field whose counts are huge.
    let start = [1] + id + [0, 0]
    let bombs: [[UInt8]] = [
      [1] + id + huge, [1] + id + [0] + huge, start + huge, start + [1, 1, 2] + huge,
      start + [1, 0x81, 0x80, 0x01, 2] + huge, start + [1, 0x81, 0x80, 0x02, 2] + huge,
      start + [1, 0x81, 0x80, 0x03, 2] + huge, start + [1, 0x81, 0xc0, 0x03, 2, 0] + huge,
    ]
    for bomb in bombs {
      let error = codecError { _ = try decoded(bomb) }
      #expect(error?.code == .truncated || error?.code == .beyondLimit, "\(bomb) \(error as Any)")
    }
  }
}

@Suite("Columns")
struct ColumnTests {
  private func column(_ numbers: [Int64]) -> [UInt8] {
    var writer = ByteWriter()
    NumberColumn.encode(numbers, into: &writer)
    return writer.bytes
  }

  private func column(_ values: [Value]) -> [UInt8] {
    var writer = ByteWriter()
    var column = ValueColumn()
    for value in values { column.append(value) }
    column.finish(into: &writer)
    return writer.bytes
  }

  @Test("numbers at every edge come back, multiples of a step in few bytes")
  func numbers() throws {
    let columns: [[Int64]] = [
      [], [0], [.min, .max], [.max, .min, 0], [-1, 0, 1], [7, 7, 7], [.max], [.min],
      (0..<300).map { 1_790_000_000_000 + 86_400_000 * ($0 % 90) },
      [0, 256], [0, 255], [3, 3 + 256 * 5, 8], [.min, .min + 1], [.min, 0],
    ]
    for numbers in columns {
      var reader = ByteReader(column(numbers))
      let decoded = try NumberColumn.decode(from: &reader, "test", count: numbers.count)
      #expect(decoded == numbers)
      try reader.finish()
    }
    #expect(column(columns[8]).count < 300 + 15)
  }

  @Test("a second spelling of a column of numbers is refused")
  func spellings() {
    // Least, step, width, multiples: a least that is not there, a step that divides the multiples,
    // a step of equal numbers, a byte too many, a step of 0, and numbers beyond 64 bits.
    let wrong: [[UInt8]] = [
      [0, 1, 1, 1, 2], [0, 1, 1, 0, 2], [0, 2, 1, 0, 0], [0, 1, 2, 0, 1, 0, 0], [0, 0, 1, 0, 1],
      [0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, 1], [0, 1, 9, 0, 1],
    ]
    for bytes in wrong {
      let error = codecError {
        var reader = ByteReader(bytes)
        _ = try NumberColumn.decode(from: &reader, "test", count: 2)
      }
      #expect(error?.code == .notCanonical || error?.code == .beyondLimit, "\(bytes)")
    }
  }

  @Test("texts of which at most half and at most 256 differ are numbered, others are not")
  func numberedTexts() throws {
    for (different, count, isNumbered) in [
      (1, 2, true), (1, 1, false), (2, 3, false), (2, 4, true), (256, 512, true),
      (257, 600, false), (256, 511, false),
    ] {
      let values = (0..<count).map { Value.text("text \($0 % different)") }
      let bytes = column(values)
      var reader = ByteReader(bytes)
      let decoded = try ValueColumn.decode(from: &reader, "test", count: count)
      #expect(decoded == values)
      try reader.finish()
      // The tags take two bytes where they are a run of more than one.
      let place = count == 1 ? 1 : (count - 2 < 128 ? 2 : 3)
      #expect((bytes[place] == 1) == isNumbered, "\(different) of \(count)")
    }
  }

  @Test("texts that are numbered against the rule are refused")
  func wrongSpelling() {
    // Two texts, both "a": numbered they must be; then two entries alike, one unused, one too many.
    let wrong: [[UInt8]] = [
      [9, 0, 0, 2, 1, 1, 0, 0, 0x61, 0x61],
      [9, 2, 1, 1, 2, 1, 1, 0, 0, 0x61, 0x61, 0, 1, 0, 1],
      [9, 2, 1, 1, 2, 1, 1, 0, 0, 0x61, 0x62, 0, 0, 0, 0],
      [9, 2, 1, 1, 2, 1, 1, 0, 0, 0x61, 0x62, 1, 0, 0, 1],
    ]
    let counts = [2, 4, 4, 4]
    for (bytes, count) in zip(wrong, counts) {
      let error = codecError {
        var reader = ByteReader(bytes)
        _ = try ValueColumn.decode(from: &reader, "test", count: count)
      }
      #expect(error?.code == .notCanonical, "\(bytes)")
    }
    var right = ByteReader([9, 2, 1, 1, 2, 1, 1, 0, 0, 0x61, 0x62, 0, 1, 1, 0])
    let decoded = try? ValueColumn.decode(from: &right, "test", count: 4)
    #expect(decoded?.count == 4)
  }

  @Test("a text of half a mebibyte is read, one byte more is refused")
  func longTexts() throws {
    for (extra, code) in [(0, nil), (1, CodecError.Code.beyondLimit)] {
      let text = String(repeating: "a", count: Limits.maximumValueBytes + extra)
      let bytes = column([Value.text(text)])
      let error = codecError {
        var reader = ByteReader(bytes)
        _ = try ValueColumn.decode(from: &reader, "test", count: 1)
      }
      #expect(error?.code == code)
    }
  }
}

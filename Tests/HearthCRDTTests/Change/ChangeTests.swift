import HearthCRDT
import TestSupport
import Testing

private let voidOperations: [Operation] = {
  let record = RecordKey(type: .record(1), id: .zero)
  let event = RecordKey(type: .event(1), id: .zero)
  let none = RecordKey(type: TypeID(rawValue: 0), id: .zero)
  let noEvent = RecordKey(type: TypeID(rawValue: 0xc000), id: .zero)
  let (register, counter) = (FieldID(.register, 1), FieldID(.counter, 1))
  return [
    Operation(none, .insert), Operation(none, .delete), Operation(noEvent, .event([])),
    Operation(record, .event([])), Operation(event, .insert), Operation(event, .delete),
    Operation(event, .assign(register, .null)), Operation(record, .assign(counter, .null)),
    Operation(record, .count(register, 1)), Operation(record, .include(register, .null)),
    Operation(record, .exclude(counter, .null)), Operation(event, .count(counter, 1)),
    Operation(event, .event([EventField(counter, .int(1))])),
    Operation(event, .event([EventField(FieldID(rawValue: 0), .int(1))])),
    Operation(record, .assign(FieldID(rawValue: 0), .null)),
    Operation(record, .include(FieldID(rawValue: 0xc000), .null)),
  ]
}()

@Suite("Canonical bytes of a change")
struct ChangeTests {
  @Test("every random change comes back from its bytes")
  func roundTrip() throws {
    for seed in 0..<300 {
      var random = SplitMix64(seed: UInt64(seed))
      for change in random.batch(count: 3) {
        let bytes = canonical(change)
        let again = try Change(decoding: bytes)
        #expect(again == change, "seed \(seed)")
        #expect(canonical(again) == bytes, "seed \(seed)")
      }
    }
  }

  @Test("every truncation and every trailing byte is refused")
  func truncation() {
    for seed in 0..<60 {
      var random = SplitMix64(seed: UInt64(seed))
      let bytes = canonical(random.batch(count: 1)[0])
      for count in 0..<bytes.count {
        #expect(
          codecError { _ = try Change(decoding: Array(bytes.prefix(count))) } != nil, "seed \(seed)"
        )
      }
      for extra in [0, 1, 0x80, 0xff] as [UInt8] {
        let code = codecError { _ = try Change(decoding: bytes + [extra]) }?.code
        #expect(code == .trailingBytes, "seed \(seed)")
      }
    }
  }

  @Test("mutated bytes never trap, and what is accepted has no other spelling")
  func mutations() throws {
    var random = SplitMix64(seed: 20_260_101)
    let sources = (0..<50).map { _ in canonical(random.batch(count: 1)[0]) }
    for round in 0..<50_000 {
      let bytes = random.mutated(random.pick(sources))
      guard let change = try? Change(decoding: bytes) else { continue }
      if canonical(change) != bytes { Issue.record("a second spelling in round \(round)") }
    }
  }

  @Test("a change of 10,000 operations is read, one more is refused")
  func operationLimit() throws {
    for (count, code) in [(10_000, nil), (10_001, CodecError.Code.beyondLimit)] {
      #expect(count <= Limits.maximumOperations || code != nil)
      let change = Change(
        dot: Dot(author: author(1), sequence: 1), previousHash: [UInt8](repeating: 0, count: 32),
        time: HybridTime(rawValue: 1),
        operations: [Operation](
          repeating: Operation(RecordKey(type: .record(1), id: .zero), .insert), count: count))
      #expect(codecError { _ = try Change(decoding: canonical(change)) }?.code == code)
    }
  }

  @Test("a change of 640 KiB is read and fits a segment, a byte more is refused")
  func byteLimit() throws {
    for (extra, code) in [(0, nil), (1, CodecError.Code.beyondLimit)] {
      var change = large(contentBytes: 0)
      // Both lengths take three bytes: the content fills what is left exactly.
      change = large(contentBytes: Limits.maximumChangeBytes - canonical(change).count - 4 + extra)
      let bytes = canonical(change)
      #expect(bytes.count == Limits.maximumChangeBytes + extra)
      #expect(codecError { _ = try Change(decoding: bytes) }?.code == code)
      let batch = ChangeBatch.encode([change])
      let read = { _ = try ChangeBatch.decode(batch, incarnation: 1, first: 1) }
      #expect(codecError(read)?.code == code)
    }
  }

  private func large(contentBytes: Int) -> Change {
    let half = contentBytes / 2
    let contents = [half, contentBytes - half].map { [UInt8](repeating: 1, count: $0) }
    return Change(
      dot: Dot(author: Author(device: .zero, incarnation: 1), sequence: 1),
      previousHash: [UInt8](repeating: 0, count: 32), time: HybridTime(rawValue: 1),
      operations: contents.map {
        Operation(
          RecordKey(type: .record(1), id: .zero), .assign(FieldID(.register, 1), .bytes($0)))
      })
  }

  @Test("operations that fit no type or field are void", arguments: voidOperations)
  func void(operation: Operation) {
    #expect(!operation.isWellFormed)
  }
}

extension SplitMix64 {
  /// The bytes with a few of them changed, removed, doubled or cut off.
  mutating func mutated(_ source: [UInt8]) -> [UInt8] {
    var bytes = source
    for _ in 0...below(3) where !bytes.isEmpty {
      let place = below(bytes.count)
      switch below(7) {
      case 0: bytes[place] = UInt8(truncatingIfNeeded: next())
      case 1: bytes[place] ^= 1 << UInt8(below(8))
      case 2: bytes[place] &+= 1
      case 3: bytes[place] = pick([0, 0x7f, 0x80, 0xff])
      case 4: bytes.remove(at: place)
      case 5: bytes.insert(pick([0, 1, 0x80, 0xff]), at: place)
      default: bytes.removeSubrange(place...)
      }
    }
    return bytes
  }
}

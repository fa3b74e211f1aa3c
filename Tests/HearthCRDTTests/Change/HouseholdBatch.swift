import HearthCRDT
import TestSupport

private let words = [
  "dishes", "laundry", "bins", "water", "plants", "kitchen", "floor", "window", "garden", "dog",
  "walk", "shopping", "bath", "vacuum", "table", "beds", "school", "lunch", "cat", "post",
]

/// A day's typing in a household: two thirds new records of five fields, one third later edits.
///
/// Half of the values are numbers, half texts of three words; ten writes a change, half a minute
/// apart, and every third change has seen somebody else's news.
func householdBatch(fieldWrites: Int, seed: UInt64 = 1) -> [Change] {
  var random = SplitMix64(seed: seed)
  func text() -> Value {
    .text((0..<3).map { _ in random.pick(words) }.joined(separator: " "))
  }
  func value(_ number: Int) -> Value {
    number % 2 == 0 ? text() : .int(Int64(random.below(20)) * 5)
  }
  var records: [RecordKey] = []
  var operations: [Operation] = []
  while operations.count < fieldWrites {
    if random.oneIn(3), !records.isEmpty {
      for _ in 0..<5 {
        let number = random.below(5)
        operations.append(
          Operation(
            random.pick(records), .assign(FieldID(.register, UInt16(number) + 1), value(number))))
      }
    } else {
      let id = RecordID(high: random.next(), low: random.next())
      records.append(RecordKey(type: .record(2), id: id))
      for number in 0..<5 {
        operations.append(
          Operation(
            RecordKey(type: .record(2), id: id),
            .assign(FieldID(.register, UInt16(number) + 1), value(number))))
      }
    }
  }
  operations.removeSubrange(fieldWrites...)
  var time = HybridTime(milliseconds: 1_790_000_000_000)
  var seen: UInt64 = 0
  return stride(from: 0, to: fieldWrites, by: 10).enumerated().map { place, start in
    time = HybridTime(milliseconds: time.milliseconds + UInt64(random.below(60_000)))
    let isNews = random.oneIn(3)
    if isNews { seen += UInt64(random.below(4)) + 1 }
    let news = CitedHead(author: author(2), sequence: max(1, seen), hash: random.next())
    return Change(
      dot: Dot(author: author(1), sequence: UInt64(place) + 1),
      previousHash: [UInt8](repeating: 9, count: 32),
      seen: isNews ? FrontierDifference(heads: [news]) : .none, time: time, schemaVersion: 1,
      operations: Array(operations[start..<min(start + 10, fieldWrites)]))
  }
}

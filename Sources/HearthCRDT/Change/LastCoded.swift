/// Remembers the last whole number of each field, so that the next one is coded as a difference.
///
/// The table has a fixed size. Fields that share a slot share their memory, in the same manner on
/// both sides. A collision costs a little size but never correctness, and no input makes the table
/// grow.
struct LastNumbers {
  private var slots = [Int64](repeating: 0, count: 256)

  /// The wrapping difference from the field's last number; updates the last number.
  mutating func delta(to number: Int64, type: TypeID, field: FieldID) -> Int64 {
    let slot = LastNumbers.slot(type, field)
    defer { slots[slot] = number }
    return number &- slots[slot]
  }

  /// The number that is `delta` beyond the field's last number; updates the last number.
  mutating func number(beyond delta: Int64, type: TypeID, field: FieldID) -> Int64 {
    let slot = LastNumbers.slot(type, field)
    slots[slot] &+= delta
    return slots[slot]
  }

  private static func slot(_ type: TypeID, _ field: FieldID) -> Int {
    Int(type.rawValue &* 37 &+ field.rawValue &+ field.rawValue >> 14 &* 64) & 255
  }
}

/// Remembers the last citation of each author in a batch, so that the next one is coded as a
/// difference.
struct LastCited {
  /// The last citations, by the author's number in the batch.
  private var sequences: [UInt64] = []

  /// The wrapping difference from the author's last citation; updates the last citation.
  mutating func increment(of number: Int, to sequence: UInt64) -> UInt64 {
    makeRoom(for: number)
    defer { sequences[number] = sequence }
    return sequence &- sequences[number]
  }

  /// The citation that is `increment` beyond the author's last one; updates the last citation.
  ///
  /// Nil beyond the greatest number.
  mutating func sequence(of number: Int, beyondBy increment: UInt64) -> UInt64? {
    makeRoom(for: number)
    let (sequence, overflows) = sequences[number].addingReportingOverflow(increment)
    guard !overflows, sequence <= Frontier.maximumSequence else { return nil }
    sequences[number] = sequence
    return sequence
  }

  private mutating func makeRoom(for number: Int) {
    while sequences.count <= number { sequences.append(0) }
  }
}

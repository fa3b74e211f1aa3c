/// Remembers the last whole number of each field, for coding the next as a difference.
///
/// A table of fixed size: fields that share a slot share their memory, alike on both sides, so it
/// costs a little size and never correctness, and no input makes it grow.
struct LastNumbers {
  private var slots = [Int64](repeating: 0, count: 256)

  /// The wrapping difference from the field's last number, which this becomes.
  mutating func delta(to number: Int64, type: TypeID, field: FieldID) -> Int64 {
    let slot = LastNumbers.slot(type, field)
    defer { slots[slot] = number }
    return number &- slots[slot]
  }

  /// The number that lies `delta` beyond the field's last number, which it becomes.
  mutating func number(beyond delta: Int64, type: TypeID, field: FieldID) -> Int64 {
    let slot = LastNumbers.slot(type, field)
    slots[slot] &+= delta
    return slots[slot]
  }

  private static func slot(_ type: TypeID, _ field: FieldID) -> Int {
    Int(type.rawValue &* 37 &+ field.rawValue &+ field.rawValue >> 14 &* 64) & 255
  }
}

/// How far each author was cited in a batch, for coding the next citation as a difference.
struct LastCited {
  /// By the author's number in the batch.
  private var sequences: [UInt64] = []

  /// How far a citation is beyond the last one of the author, which it becomes; wraps where it is
  /// not beyond.
  mutating func increment(of number: Int, to sequence: UInt64) -> UInt64 {
    makeRoom(for: number)
    defer { sequences[number] = sequence }
    return sequence &- sequences[number]
  }

  /// The citation that lies so far beyond the author's last one, which it becomes; nil beyond the
  /// greatest number.
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

/// A 128-bit identifier, ordered as the number it is.
package struct ModelID: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let high: UInt64
  package let low: UInt64

  /// Takes the two halves.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Order by the high half, then the low one.
  package static func < (left: ModelID, right: ModelID) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  /// Both halves in hexadecimal.
  package var description: String {
    String(high, radix: 16) + ":" + String(low, radix: 16)
  }
}

/// Who writes one log: a device in one of its lives.
package struct ModelAuthor: Hashable, Comparable, Sendable {
  package let high: UInt64
  package let low: UInt64
  package let incarnation: UInt64

  /// Takes the device's id in two halves, and its life.
  package init(high: UInt64, low: UInt64, incarnation: UInt64) {
    self.high = high
    self.low = low
    self.incarnation = incarnation
  }

  /// Order by device, then by life.
  package static func < (left: ModelAuthor, right: ModelAuthor) -> Bool {
    (left.high, left.low, left.incarnation) < (right.high, right.low, right.incarnation)
  }
}

/// When and by whom a change was made: the total order `<` of all rules.
///
/// `time` is the hybrid time as replicated, milliseconds since 1970 in the upper 48 bits and the
/// counter in the lower 16. All facts of one change have one stamp.
package struct ModelStamp: Hashable, Comparable, Sendable {
  package let time: UInt64
  package let author: ModelAuthor
  package let sequence: UInt64

  /// Takes the parts in the order in which they decide.
  package init(
    time: UInt64, authorHigh: UInt64, authorLow: UInt64, incarnation: UInt64, sequence: UInt64
  ) {
    self.time = time
    self.author = ModelAuthor(high: authorHigh, low: authorLow, incarnation: incarnation)
    self.sequence = sequence
  }

  /// The milliseconds since 1970 of the time.
  package var milliseconds: UInt64 { time >> 16 }

  /// Time decides, then the author, then the author's count.
  package static func < (left: ModelStamp, right: ModelStamp) -> Bool {
    if left.time != right.time { return left.time < right.time }
    if left.author != right.author { return left.author < right.author }
    return left.sequence < right.sequence
  }
}

/// What an author had seen: of each author's log, how far without a gap.
package struct ModelPast: Hashable, Sendable {
  private var heads: [ModelAuthor: UInt64]

  /// Takes the last sequence seen of each author.
  package init(_ heads: [ModelAuthor: UInt64] = [:]) { self.heads = heads }

  /// How many changes were seen; whoever saw another one's fact saw more than that one.
  var size: UInt64 { heads.values.reduce(0) { $0 &+ $1 } }

  /// Whether a change was seen.
  package func contains(_ stamp: ModelStamp) -> Bool {
    stamp.sequence <= heads[stamp.author, default: 0]
  }
}

import HearthCRDT

/// Which of a group's mailboxes at a relay a device uses: the first, or such as were made anew.
///
/// Members find others by their numbers, and anybody who knows the zone can make some. So a device
/// never leaves a number for good: it looks at the lower ones again at each round, and at higher
/// ones where the present ones are not in order.
package struct RelayMoves: Hashable, Sendable {
  /// The greatest number under which mailboxes are made or looked for.
  package static let maximum: UInt64 = 16
  /// How many numbers beyond the present one are looked at, or tried to make mailboxes under.
  package static let maximumAhead: UInt64 = 2

  /// The number that is used.
  package private(set) var current: UInt64 = 0
  /// The greatest number that was used.
  package private(set) var furthest: UInt64 = 0

  package init() {}

  /// The numbers that are looked at before the present one: somebody may have led the device away.
  package var lower: Range<UInt64> { 0..<current }

  /// The numbers that were used before, above the present one.
  package var higher: [UInt64] { current < furthest ? Array(current + 1...furthest) : [] }

  /// The numbers that are looked at where the present one is of no use.
  package var ahead: [UInt64] {
    let last = min(RelayMoves.maximum, max(furthest, current + RelayMoves.maximumAhead))
    return current < last ? Array(current + 1...last) : []
  }

  /// Goes to a number; one beyond the greatest is none.
  package mutating func go(to number: UInt64) {
    current = min(number, RelayMoves.maximum)
    furthest = max(furthest, current)
  }

  /// How it is kept.
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.varint(current)
    writer.varint(furthest)
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    let current = try reader.varint("moves", atMost: Int(RelayMoves.maximum))
    let furthest = try reader.varint("moves", atMost: Int(RelayMoves.maximum))
    try reader.finish()
    go(to: UInt64(furthest))
    go(to: UInt64(current))
  }
}

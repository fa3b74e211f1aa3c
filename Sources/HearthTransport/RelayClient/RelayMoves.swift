import HearthCRDT

/// Which generation of a group's mailboxes at a relay a device uses: the first one or a recreated
/// one.
///
/// Members find recreated mailboxes by their numbers, and anybody who knows the zone can create
/// some. So a device never leaves a number for good: it checks the lower ones again each round, and
/// higher ones if the current mailboxes are not in order.
package struct RelayMoves: Hashable, Sendable {
  /// The greatest number under which mailboxes are created or searched.
  package static let maximum: UInt64 = 16
  /// How many numbers beyond the current one are searched, or tried for new mailboxes.
  package static let maximumAhead: UInt64 = 2

  /// The number in use.
  package private(set) var current: UInt64 = 0
  /// The greatest number that was ever in use.
  package private(set) var furthest: UInt64 = 0

  package init() {}

  /// The numbers to check before the current one, because somebody may have led the device away.
  package var lower: Range<UInt64> { 0..<current }

  /// The previously used numbers above the current one.
  package var higher: [UInt64] { current < furthest ? Array(current + 1...furthest) : [] }

  /// The numbers to check if the current one is of no use.
  package var ahead: [UInt64] {
    let last = min(RelayMoves.maximum, max(furthest, current + RelayMoves.maximumAhead))
    return current < last ? Array(current + 1...last) : []
  }

  /// Switches to a number, at most to the maximum.
  package mutating func go(to number: UInt64) {
    current = min(number, RelayMoves.maximum)
    furthest = max(furthest, current)
  }

  /// The stored form.
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

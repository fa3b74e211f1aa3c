import HearthCRDT

/// How many of a transport's files a round reads again, to see whether they are still whole.
package enum FileCheck: Sendable {
  /// A few, others in each round, so that damage is found in time and a round stays quick.
  case some
  /// All.
  case all

  /// How many files are read again in a round that checks some.
  package static var checkedFiles: Int { 8 }
  /// After so many bytes such a round reads no further file.
  package static var checkedBytes: Int { 256 * 1024 }

  /// Which of so many files are read: all, or a few from a place that differs from round to round.
  static func places(
    of count: Int, _ check: FileCheck, _ zone: ZoneID, _ nowMilliseconds: UInt64
  ) -> [Int] {
    guard check == .some, count > checkedFiles else { return Array(0..<count) }
    // The finaliser of SplitMix64: successive rounds begin at places that have nothing in common.
    var mixed = (nowMilliseconds ^ zone.low) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 31) &* 0x94d0_49bb_1331_11eb
    let start = Int((mixed ^ mixed >> 29) % UInt64(count))
    return (0..<checkedFiles).map { (start + $0) % count }
  }
}

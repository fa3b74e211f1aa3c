import HearthCRDT

/// A small generator of numbers: equal seeds give equal numbers on every machine.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Starts from a seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  /// Returns a number from 0 up to but not including a bound; 0 for a bound below 1.
  public mutating func below(_ bound: Int) -> Int {
    Int(next().multipliedFullWidth(by: UInt64(max(1, bound))).high)
  }

  /// Returns an element of a collection; nil if there is none.
  public mutating func pick<Items: Collection>(_ items: Items) -> Items.Element? {
    guard !items.isEmpty else { return nil }
    return items[items.index(items.startIndex, offsetBy: below(items.count))]
  }

  /// Returns a key that follows from the seed.
  mutating func identifier() -> Identifier {
    Identifier(high: next(), low: next())
  }
}

/// A small seeded generator: equal seeds give equal runs on every machine.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
public struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  /// Starts from a seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// The next 64 random bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  /// A number from 0 up to but not including `bound`.
  public mutating func below(_ bound: Int) -> Int {
    Int.random(in: 0..<bound, using: &self)
  }

  /// True once in `n` times.
  public mutating func oneIn(_ n: Int) -> Bool {
    below(n) == 0
  }

  /// One element of a collection that is not empty.
  public mutating func pick<Items: Collection>(_ items: Items) -> Items.Element {
    items[items.index(items.startIndex, offsetBy: below(items.count))]
  }
}

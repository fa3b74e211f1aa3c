/// A stream of chance of its own: SplitMix64 from a key.
///
/// Every domain, node and link draws from a stream keyed by what it is, never from a shared one, so
/// that taking one event out of a plan leaves the dice of all others as they were.
struct Chance: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64, _ keys: UInt64...) {
    state = Chance.mix(seed &+ 0x9e37_79b9_7f4a_7c15)
    for key in keys { state = Chance.mix(state ^ Chance.mix(key &+ 0x9e37_79b9_7f4a_7c15)) }
  }

  init(_ seed: UInt64, domain: StaticString, _ keys: UInt64...) {
    self.init(seed, Chance.hash(domain))
    for key in keys { state = Chance.mix(state ^ Chance.mix(key &+ 0x9e37_79b9_7f4a_7c15)) }
  }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    return Chance.mix(state)
  }

  /// True with a probability given in thousandths.
  mutating func happens(perMille: Int) -> Bool {
    perMille > 0 && Int(next() % 1000) < perMille
  }

  /// A whole number of a range.
  mutating func within(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  /// A whole number below a bound.
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }

  /// One of several; the list is not empty.
  mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

  static func mix(_ value: UInt64) -> UInt64 {
    var z = value
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// FNV-1a, for keys and traces; not for anything an adversary chooses.
  static func hash(_ bytes: some Sequence<UInt8>, from start: UInt64 = 0xcbf2_9ce4_8422_2325)
    -> UInt64
  {
    var hash = start
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return hash
  }

  private static func hash(_ text: StaticString) -> UInt64 {
    text.withUTF8Buffer { hash($0) }
  }
}

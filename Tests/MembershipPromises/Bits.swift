/// A set of small numbers, up to 256, and the random numbers of this library.
struct Bits: Equatable, Sendable {
  static let limit = 256
  private var a: UInt64 = 0, b: UInt64 = 0, c: UInt64 = 0, d: UInt64 = 0

  subscript(_ place: Int) -> Bool {
    get {
      let bit = UInt64(1) << UInt64(place & 63)
      switch place >> 6 {
      case 0: return a & bit != 0
      case 1: return b & bit != 0
      case 2: return c & bit != 0
      default: return d & bit != 0
      }
    }
    set {
      let bit = UInt64(1) << UInt64(place & 63)
      switch place >> 6 {
      case 0: a = newValue ? a | bit : a & ~bit
      case 1: b = newValue ? b | bit : b & ~bit
      case 2: c = newValue ? c | bit : c & ~bit
      default: d = newValue ? d | bit : d & ~bit
      }
    }
  }

  mutating func add(_ other: Bits) {
    a |= other.a
    b |= other.b
    c |= other.c
    d |= other.d
  }

  func isInside(_ other: Bits) -> Bool {
    a & ~other.a == 0 && b & ~other.b == 0 && c & ~other.c == 0 && d & ~other.d == 0
  }

  /// Calls the body for every member, the smallest first.
  func forEach(_ body: (Int) -> Void) {
    var base = 0
    for word in [a, b, c, d] {
      var rest = word
      while rest != 0 {
        body(base + rest.trailingZeroBitCount)
        rest &= rest - 1
      }
      base += 64
    }
  }

  func contains(where test: (Int) -> Bool) -> Bool {
    var found = false
    forEach { if !found && test($0) { found = true } }
    return found
  }
}

/// Deterministic random numbers.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A number below `end`, which is at least 1.
  mutating func below(_ end: Int) -> Int { Int(next() % UInt64(max(1, end))) }

  /// True in `percent` of the cases.
  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  mutating func pick<T>(_ list: [T]) -> T? { list.isEmpty ? nil : list[below(list.count)] }

  mutating func shuffled<T>(_ list: [T]) -> [T] {
    var result = list
    for place in stride(from: result.count - 1, to: 0, by: -1) {
      result.swapAt(place, below(place + 1))
    }
    return result
  }
}

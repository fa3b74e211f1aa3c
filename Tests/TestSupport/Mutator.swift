/// Damages of bytes, as a decoder meets them: from bits to whole parts.
package struct Mutator {
  private var random: SplitMix64
  /// Good inputs.
  private let corpus: [[UInt8]]

  /// Starts from a seed and good inputs.
  package init(seed: UInt64, corpus: [[UInt8]]) {
    random = SplitMix64(seed: seed)
    self.corpus = corpus
  }

  /// One to three damages of one of the inputs.
  package mutating func next() -> [UInt8] {
    var bytes = random.pick(corpus)
    for _ in 0...random.below(3) { damage(&bytes) }
    return bytes
  }

  private mutating func damage(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else {
      bytes = (0..<random.below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      return
    }
    let place = random.below(bytes.count)
    switch random.below(9) {
    case 0: bytes[place] ^= 1 << UInt8(random.below(8))
    case 1: bytes[place] = random.pick([0, 1, 0x7f, 0x80, 0xff])
    case 2: bytes.removeSubrange(place..<min(bytes.count, place + 1 + random.below(9)))
    case 3: bytes = Array(bytes[..<place])
    case 4: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
    case 5:
      // A number that promises much.
      let huge: [UInt8] = random.pick([
        [0xff, 0xff, 0xff, 0xff, 0x0f], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2], [0xa0, 0x9c, 1], [0x80, 0],
        [0xff, 0xff, 3], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
      ])
      bytes.replaceSubrange(place..<min(bytes.count, place + random.below(4)), with: huge)
    case 6:
      let end = min(bytes.count, place + 1 + random.below(40))
      bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count))
    case 7:
      let other = random.pick(corpus)
      guard !other.isEmpty else { return }
      let start = random.below(other.count)
      bytes = Array(bytes[..<place] + other[start...])
    default:
      for place in place..<min(bytes.count, place + 1 + random.below(8)) {
        bytes[place] = UInt8(truncatingIfNeeded: random.next())
      }
    }
  }
}

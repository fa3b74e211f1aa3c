import HearthCRDT
import TestSupport
import Testing

@Suite("Keys of manual order")
struct OrderKeyTests {
  @Test("a key between two others is strictly between, for every pair of a growing random list")
  func between() throws {
    for seed in 0..<20 {
      var random = SplitMix64(seed: UInt64(seed))
      var keys: [OrderKey] = []
      for _ in 0..<400 {
        let place = random.oneIn(3) ? keys.count / 2 : random.below(keys.count + 1)
        let lower = place > 0 ? keys[place - 1] : nil
        let upper = place < keys.count ? keys[place] : nil
        let key = try OrderKey.between(lower, upper)
        #expect(lower.map { $0 < key } ?? true, "seed \(seed)")
        #expect(upper.map { key < $0 } ?? true, "seed \(seed)")
        #expect(OrderKey(bytes: key.bytes) == key, "seed \(seed)")
        #expect(OrderKey(text: key.text) == key, "seed \(seed)")
        #expect(key == (try OrderKey.between(lower, upper)))
        keys.insert(key, at: place)
      }
      #expect(keys.map(\.text) == keys.map(\.text).sorted(), "seed \(seed)")
    }
  }

  @Test("every pair of short keys with the digits 0, 1, 2, 127, 254, 255 has a key between")
  func exhaustive() throws {
    let digits: [UInt8] = [0, 1, 2, 127, 254, 255]
    var keys: [OrderKey] = []
    for a in digits {
      if let key = OrderKey(bytes: [a]) { keys.append(key) }
      for b in digits {
        if let key = OrderKey(bytes: [a, b]) { keys.append(key) }
        for c in digits {
          if let key = OrderKey(bytes: [a, b, c]) { keys.append(key) }
        }
      }
    }
    keys.sort()
    for (place, lower) in keys.enumerated() {
      #expect(lower < (try OrderKey.between(lower, nil)))
      #expect((try OrderKey.between(nil, lower)) < lower)
      for upper in keys[(place + 1)...] {
        let key = try OrderKey.between(lower, upper)
        #expect(lower < key && key < upper)
      }
    }
  }

  @Test("ten thousand appended or prepended keys take two bytes, a hundred thousand four")
  func growth() throws {
    var last = OrderKey.first
    var front = OrderKey.first
    for count in 1...100_000 {
      let next = try OrderKey.between(last, nil)
      let previous = try OrderKey.between(nil, front)
      guard last < next, previous < front else {
        Issue.record("not rising at \(count): \(last) \(next), \(previous) \(front)")
        return
      }
      (last, front) = (next, previous)
      if count == 10_000 { #expect(last.bytes.count <= 2 && front.bytes.count <= 2) }
    }
    #expect(last.bytes.count <= 4 && front.bytes.count <= 4)
  }

  @Test("a key at the limit of 64 bytes is made, one of 65 is refused")
  func limit() throws {
    let lower = try #require(OrderKey(bytes: [UInt8](repeating: 7, count: 63)))
    let upper = try #require(OrderKey(bytes: [UInt8](repeating: 7, count: 62) + [8]))
    let between = try OrderKey.between(lower, upper)
    #expect(between.bytes.count == 64)
    let full = try #require(OrderKey(bytes: [UInt8](repeating: 7, count: 63) + [255]))
    #expect(throws: OrderKeyError.self) { try OrderKey.between(full, upper) }
    do {
      _ = try OrderKey.between(full, upper)
    } catch {
      #expect(error.code == .beyondLimit)
    }
    #expect(OrderKey(bytes: [UInt8](repeating: 7, count: 64)) != nil)
    #expect(OrderKey(bytes: [UInt8](repeating: 7, count: 65)) == nil)
    let rest = [UInt8](repeating: 255, count: 63) + [1]
    let longest = try #require(OrderKey(bytes: rest))
    #expect(throws: OrderKeyError.self) { try OrderKey.between(longest, nil) }
  }

  @Test("equal or swapped bounds are refused")
  func notAscending() throws {
    let key = try #require(OrderKey(text: "8001"))
    #expect(throws: OrderKeyError.self) { try OrderKey.between(key, key) }
    #expect(throws: OrderKeyError.self) { try OrderKey.between(key, .first) }
  }

  @Test(
    "texts that no key makes are refused", arguments: ["", "8", "80a", "8000", "8A", "0x", "g1"])
  func malformed(text: String) {
    #expect(OrderKey(text: text) == nil)
  }

  @Test("spread keys rise and are as short as their number allows")
  func spread() {
    for (count, length) in [(0, 1), (1, 1), (254, 1), (255, 2), (256, 2), (65_534, 2), (70_000, 3)]
    {
      let keys = OrderKey.spread(count)
      #expect(keys.count == count)
      #expect(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }, "\(count)")
      #expect(keys.allSatisfy { $0.bytes.count <= length }, "\(count)")
    }
    #expect(OrderKey.spread(1) == [.first])
  }
}

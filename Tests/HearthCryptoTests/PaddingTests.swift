import Testing

@testable import HearthCrypto

@Suite("Padding and compression")
struct PaddingTests {
  @Test("padded lengths are canonical, at least 256, and cost at most 12 % above the floor")
  func overhead() {
    var lengths = Set<Int>()
    var previous = 0
    for count in 0...(1 << 20) {
      let padded = Padding.paddedCount(count)
      if padded == previous, count < padded { continue }
      lengths.insert(padded)
      #expect(padded > count && padded >= previous && Padding.isPaddedCount(padded))
      if padded > Padding.floorBytes {
        #expect(Double(padded) <= Double(count + 1) * 1.12, "\(count) → \(padded)")
      }
      previous = padded
    }
    #expect(lengths.count < 300)
    #expect(!Padding.isPaddedCount(255) && Padding.isPaddedCount(256))
    #expect(!Padding.isPaddedCount(264) && Padding.isPaddedCount(272))
  }

  @Test("bodies of 0 to 5,000 bytes come back, compressible or not")
  func roundTrip() throws {
    let noise = Fixture.noise(5000)
    let text = (0..<5000).map { UInt8($0 / 7 % 26 + 97) }
    for count in 0...5000 {
      for source in [noise, text] {
        let body = Array(source[..<count])
        let plaintext = try body.withUnsafeBytes { try Payload.encode($0) }
        #expect(Padding.isPaddedCount(plaintext.count))
        #expect(try plaintext.withUnsafeBytes { try Payload.decode($0).body } == body, "\(count)")
      }
    }
  }

  @Test("compression is used exactly when it makes the padded result smaller")
  func compressionChoice() throws {
    let zeros = [UInt8](repeating: 0, count: 200)
    #expect(try zeros.withUnsafeBytes { try Payload.encode($0) }[0] == 0)
    let long = [UInt8](repeating: 0, count: 2000)
    let packed = try long.withUnsafeBytes { try Payload.encode($0) }
    #expect(packed[0] == 1 && packed.count == 256)
    let noise = Fixture.noise(2000)
    #expect(try noise.withUnsafeBytes { try Payload.encode($0) }[0] == 0)
  }

  @Test("an envelope has a byte for each unit of work that it declares, and a 16th of its body")
  func costs() throws {
    let noise = Fixture.noise(3_000)
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    for weight in [0, 1, 200, 255, 256, 5_000, 400_000] {
      for body in [Array(noise[..<40]), noise, zeros] {
        let plaintext = try body.withUnsafeBytes { try Payload.encode($0, weight: weight) }
        #expect(plaintext.count > weight && plaintext.count > body.count / 16)
        let content = try plaintext.withUnsafeBytes { try Payload.decode($0) }
        #expect(content.body == body && content.weight == weight)
      }
    }
    let packed = try zeros.withUnsafeBytes { try Payload.encode($0) }
    #expect(packed.count == Padding.paddedCount(zeros.count / 16))
    func decode(_ content: [UInt8], to count: Int) -> CryptoError.Code? {
      let plaintext =
        content + [0x80] + [UInt8](repeating: 0, count: count - content.count - 1)
      return code { _ = try plaintext.withUnsafeBytes { try Payload.decode($0) } }
    }
    // 255 fit into the shortest plaintext, with room for the marker; 256 take the next length.
    #expect(decode([2, 0, 0, 0, 255, 7], to: 256) == nil)
    #expect(decode([2, 0, 0, 1, 0, 7], to: 256) == .malformed)
    #expect(decode([2, 0, 0, 1, 0, 7], to: 272) == nil)
    #expect(decode([2, 0, 0, 1, 1, 7], to: 256) == .tooLarge)
    #expect(decode([2, 0, 0, 0, 0, 7], to: 256) == .malformed)
    #expect(decode([2, 0, 0, 0], to: 256) == .malformed)
    #expect(decode([4, 7], to: 256) == .malformed)
  }

  @Test("every padding but the canonical one is refused")
  func canonicalPadding() throws {
    func decode(_ plaintext: [UInt8]) -> CryptoError.Code? {
      code { _ = try plaintext.withUnsafeBytes { try Payload.decode($0) } }
    }
    func padded(_ content: [UInt8], to count: Int, marker: UInt8 = 0x80) -> [UInt8] {
      content + [marker] + [UInt8](repeating: 0, count: count - content.count - 1)
    }
    #expect(decode(padded([0, 1, 2], to: 256)) == nil)
    #expect(decode(padded([0, 1, 2], to: 272)) == .malformed)
    #expect(decode(padded([0, 1, 2], to: 255)) == .malformed)
    #expect(decode(padded([0, 1, 2], to: 256, marker: 0x81)) == .malformed)
    #expect(decode([UInt8](repeating: 0, count: 256)) == .malformed)
    #expect(decode(padded([], to: 256)) == .malformed)
    #expect(decode(padded([2, 1], to: 256)) == .malformed)
    #expect(decode(padded([1, 0, 0, 0], to: 256)) == .malformed)
    #expect(decode([]) == .malformed)
  }
}

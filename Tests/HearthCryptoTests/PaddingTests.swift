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
        #expect(try plaintext.withUnsafeBytes { try Payload.decode($0) } == body, "\(count)")
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

import Testing

@testable import HearthCrypto

@Suite("The key of an attachment")
struct AttachmentKeyTests {
  private func key(_ byte: UInt8 = 7) throws -> AttachmentKey {
    try AttachmentKey([UInt8](repeating: byte, count: AttachmentKey.count))
  }

  @Test(
    "What was sealed opens again, whatever its length",
    arguments: [0, 1, 254, 255, 256, 257, 10_000, AttachmentKey.chunkBytes])
  func lengths(count: Int) throws {
    let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let sealed = try key().seal(content[...], at: 2, of: 5)
    #expect(try key().open(sealed, at: 2, of: 5) == content)
    #expect(sealed.count <= AttachmentKey.sealedBytes)
    #expect(sealed.count == Padding.paddedCount(count) + AEAD.overheadBytes)
  }

  @Test("Content of similar lengths takes the same number of bytes")
  func padding() throws {
    let sizes = try Set(
      (0..<200).map {
        try key().seal([UInt8](repeating: 1, count: 100_000 + $0)[...], at: 0, of: 1)
      }
      .map(\.count))
    #expect(sizes.count == 1)
  }

  @Test("A chunk opens only at its place, with its key, and unchanged")
  func bound() throws {
    let content = Array("a photo of the cat".utf8)
    let sealed = try key().seal(content[...], at: 1, of: 3)
    for (index, count) in [(0, 3), (2, 3), (1, 2), (1, 4), (3, 1)] {
      #expect(throws: CryptoError.self) { try key().open(sealed, at: index, of: count) }
    }
    #expect(throws: CryptoError.self) { try key(8).open(sealed, at: 1, of: 3) }
    for place in stride(from: 0, to: sealed.count, by: 7) {
      var changed = sealed
      changed[place] ^= 1
      #expect(throws: CryptoError.self) { try key().open(changed, at: 1, of: 3) }
    }
    for count in [0, 1, AEAD.overheadBytes, sealed.count - 1] {
      #expect(throws: CryptoError.self) {
        try key().open(Array(sealed.prefix(count)), at: 1, of: 3)
      }
    }
  }

  @Test("A writer who pads otherwise is refused")
  func strange() throws {
    var context = Array("HRTH/attachment/v1".utf8)
    context += [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    func open(_ padded: [UInt8]) throws -> [UInt8] {
      var bytes = [UInt8](repeating: 7, count: AttachmentKey.count)
      let secret = try SecretKey(consuming: &bytes)
      return try key().open(AEAD.seal(padded, associatedData: context, key: secret), at: 0, of: 1)
    }
    #expect(try open([5, 0x80] + [UInt8](repeating: 0, count: 254)) == [5])
    for padded in [
      [], [0x80], [5, 0x80] + [UInt8](repeating: 0, count: 253), [UInt8](repeating: 0, count: 256),
      [5, 0x81] + [UInt8](repeating: 0, count: 254), [UInt8](repeating: 0x80, count: 255),
    ] {
      #expect(throws: CryptoError.self) { try open(padded) }
    }
  }

  @Test("Equal content sealed twice has nothing in common, and no key is printed")
  func secret() throws {
    let content = [UInt8](repeating: 9, count: 300)
    #expect(try key().seal(content[...], at: 0, of: 1) != key().seal(content[...], at: 0, of: 1))
    #expect(try AttachmentKey.random() != AttachmentKey.random())
    #expect("\(try key())" == "AttachmentKey(redacted)")
    #expect(throws: CryptoError.self) { try AttachmentKey([1, 2, 3]) }
  }
}

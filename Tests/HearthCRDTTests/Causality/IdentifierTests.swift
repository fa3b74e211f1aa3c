import HearthCRDT
import Testing

@Suite("Identifiers")
struct IdentifierTests {
  private let bytes: [UInt8] = [
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF,
  ]

  @Test("Bytes give one identifier whether they lie together or not, and only sixteen of them do")
  func bytesOfAnyCollection() {
    let expected = Identifier(hex: "00112233445566778899aabbccddeeff")
    #expect(expected != nil)
    #expect(Identifier(bytes: bytes) == expected)
    #expect(Identifier(bytes: ([9] + bytes + [9])[1...16]) == expected)
    // These have no storage of their own, so they are read one by one.
    #expect(Identifier(bytes: Array(bytes.reversed()).reversed()) == expected)
    #expect(Identifier(bytes: bytes.lazy.map { $0 }) == expected)
    for count in [0, 15, 17] {
      #expect(Identifier(bytes: [UInt8](repeating: 1, count: count)) == nil)
      #expect(Identifier(bytes: repeatElement(UInt8(1), count: count)) == nil)
    }
  }
}

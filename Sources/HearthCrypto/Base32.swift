/// Base 32 text in lower case, without letters that resemble digits (Crockford's alphabet).
///
/// The alphabet has digits and letters without i, l, o and u. Each character has five bits, the
/// most significant first. The last character is filled with zero bits.
package enum Base32 {
  static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

  /// The text of some bytes: ⌈8n/5⌉ characters.
  package static func encode(_ bytes: [UInt8]) -> String {
    String(decoding: symbols(bytes).map { alphabet[Int($0)] }, as: UTF8.self)
  }

  /// Reads the output of ``encode(_:)``, strictly: lower case, no separators, zero fill bits.
  /// - Throws: `malformed`, with the position of the first wrong character.
  package static func decode(_ text: String) throws -> [UInt8] {
    var symbols = [UInt8]()
    for (index, unit) in text.utf8.enumerated() {
      guard let symbol = alphabet.firstIndex(of: unit) else {
        throw CryptoError(
          .malformed,
          "Character \(index + 1) is not in the alphabet 0-9, a-z without i, l, o, u.")
      }
      symbols.append(UInt8(symbol))
    }
    return try bytes(symbols)
  }

  /// The five-bit groups of some bytes.
  static func symbols(_ bytes: [UInt8]) -> [UInt8] {
    var symbols = [UInt8]()
    symbols.reserveCapacity((bytes.count * 8 + 4) / 5)
    var buffer: UInt32 = 0
    var bitCount = 0
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bitCount += 8
      while bitCount >= 5 {
        bitCount -= 5
        symbols.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bitCount)) & 31)
      }
    }
    if bitCount > 0 {
      symbols.append(UInt8(truncatingIfNeeded: buffer << UInt32(5 - bitCount)) & 31)
    }
    return symbols
  }

  /// The bytes of five-bit groups.
  /// - Throws: `malformed` if the number of groups fits no whole number of bytes, or if fill bits
  ///   are set.
  static func bytes(_ symbols: [UInt8]) throws -> [UInt8] {
    let count = symbols.count * 5 / 8
    guard (count * 8 + 4) / 5 == symbols.count else {
      throw CryptoError(.malformed, "\(symbols.count) base 32 characters hold no whole bytes.")
    }
    var bytes = [UInt8]()
    bytes.reserveCapacity(count)
    var buffer: UInt32 = 0
    var bitCount = 0
    for symbol in symbols {
      buffer = buffer << 5 | UInt32(symbol)
      bitCount += 5
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bitCount)))
      }
    }
    guard buffer & ((1 << UInt32(bitCount)) - 1) == 0 else {
      throw CryptoError(
        .malformed, "The last base 32 character cannot be at the end.")
    }
    return bytes
  }
}

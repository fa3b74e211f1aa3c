/// Sixteen bytes as 28 characters that can be read aloud safely: 26 of base 32 and 2 check
/// characters.
///
/// The check characters are a Reed–Solomon code over GF(32) with generator (x - α)(x - α²). One or
/// two wrong characters, or two swapped ones, are always detected; other damage is detected with
/// probability 1023/1024. The position of a single wrong character can be determined.
package enum InviteText {
  /// The length of the text without separators.
  package static let characters = 28
  private static let checkCharacters = 2
  private static let seedBytes = 16
  /// The most text that is examined before it is rejected.
  private static let maximumTextBytes = 256

  /// The text of 16 bytes, in lower case without separators.
  static func encode(_ bytes: [UInt8]) -> String {
    let data = Base32.symbols(bytes)
    let symbols = data + GF32.checkSymbols(data)
    return String(decoding: symbols.map { Base32.alphabet[Int($0)] }, as: UTF8.self)
  }

  /// Reads a text in any case, with spaces and dashes; o counts as 0, i and l as 1.
  /// - Throws: `badLength` for too few or too many characters, `malformed` for a character outside
  ///   the alphabet or a wrong check, each with what and where.
  static func decode(_ text: String) throws -> [UInt8] {
    guard text.utf8.count <= maximumTextBytes else {
      throw CryptoError(
        .badLength, "The invite has more than \(maximumTextBytes) characters; it needs 28.")
    }
    let symbols = try symbols(text)
    guard symbols.count == characters else {
      let change = symbols.count < characters ? "missing" : "too many"
      throw CryptoError(
        .badLength,
        "The invite has \(symbols.count) characters, \(abs(characters - symbols.count)) \(change); "
          + "it needs \(characters).")
    }
    try check(symbols)
    do {
      return try Base32.bytes(Array(symbols.dropLast(checkCharacters)))
    } catch {
      throw CryptoError(.malformed, "Character 26 of the invite is mistyped.", cause: error)
    }
  }

  private static func symbols(_ text: String) throws -> [UInt8] {
    var symbols = [UInt8]()
    for character in text {
      if character.isWhitespace || character == "-" { continue }
      guard let symbol = symbol(character) else {
        throw CryptoError(
          .malformed,
          "Character \(symbols.count + 1) of the invite, \"\(character)\", is never used; "
            + "only digits and letters without u are.")
      }
      symbols.append(symbol)
    }
    return symbols
  }

  private static func symbol(_ character: Character) -> UInt8? {
    switch character {
    case "o", "O": return 0
    case "i", "I", "l", "L": return 1
    default:
      guard let ascii = character.asciiValue else { return nil }
      let isUpper = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= ascii
      return Base32.alphabet.firstIndex(of: isUpper ? ascii | 0x20 : ascii).map { UInt8($0) }
    }
  }

  private static func check(_ symbols: [UInt8]) throws {
    let first = GF32.evaluate(symbols, at: 1)
    let second = GF32.evaluate(symbols, at: 2)
    if first == 0, second == 0 { return }
    var hint = "compare it with the original"
    if first != 0, second != 0 {
      let power = (GF32.logarithm(second) - GF32.logarithm(first) + GF32.order) % GF32.order
      if power < characters { hint = "look at character \(characters - power) first" }
    }
    throw CryptoError(.malformed, "The invite contains a typing mistake; \(hint).")
  }
}

/// Arithmetic in the field of 32 elements, x⁵ + x² + 1, α = x.
enum GF32 {
  /// The order of the multiplicative group.
  static let order = 31
  private static let powers: [UInt8] = {
    var powers = [UInt8]()
    var value: UInt8 = 1
    for _ in 0..<order {
      powers.append(value)
      value <<= 1
      if value & 32 != 0 { value ^= 0b10_0101 }
    }
    return powers
  }()

  /// The exponent of a non-zero element to the base α.
  static func logarithm(_ value: UInt8) -> Int {
    guard let exponent = powers.firstIndex(of: value) else {
      preconditionFailure("\(value) has no logarithm in GF(32)")
    }
    return exponent
  }

  static func multiply(_ left: UInt8, _ right: UInt8) -> UInt8 {
    if left == 0 || right == 0 { return 0 }
    return powers[(logarithm(left) + logarithm(right)) % order]
  }

  /// The value at α^power of the polynomial with these coefficients, highest first.
  static func evaluate(_ coefficients: [UInt8], at power: Int) -> UInt8 {
    coefficients.reduce(0) { multiply($0, powers[power]) ^ $1 }
  }

  /// The two symbols that make data and check a multiple of (x - α)(x - α²).
  static func checkSymbols(_ data: [UInt8]) -> [UInt8] {
    let linear = powers[1] ^ powers[2]
    let constant = powers[3]
    var remainder: (UInt8, UInt8) = (0, 0)
    for symbol in data {
      let lead = remainder.0 ^ symbol
      remainder = (remainder.1 ^ multiply(lead, linear), multiply(lead, constant))
    }
    return [remainder.0, remainder.1]
  }
}

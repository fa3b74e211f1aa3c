/// Thirty decimal digits that represent some bytes, for people to compare by eye or voice.
///
/// Digest₀ = BLAKE2b-512(domain ‖ bytes), digestᵢ = BLAKE2b-512(domain ‖ digestᵢ₋₁), with 8,192
/// rounds after the first. The digits are six groups of five, each the next five bytes as a
/// big-endian number modulo 100,000.
///
/// *Reason for the rounds:* thirty digits are 99 bits. That suffices against an attacker who must
/// hit a given number. An attacker who controls *both* inputs (a member who shows two people
/// different content) needs only any matching pair, about 2^50 trials, which is within reach. 8,192
/// rounds make it 2^63 hashes. They cost a few milliseconds, once per comparison.
enum ComparisonDigits {
  /// The number of digits.
  static let count = 30
  static let groupDigits = 5
  static let rounds = 8192
  private static let groupBytes = 5
  private static let modulus: UInt64 = 100_000

  /// The digits of length-delimited parts.
  static func make(_ domain: Domain, _ parts: [[UInt8]]) -> String {
    var first = Blake2b.Hasher(count: 64)
    first.update(domain)
    for part in parts { first.updateDelimited(part) }
    var digest = first.finalize()
    for _ in 0..<rounds { digest = Blake2b.hash(domain.bytes + digest, count: 64) }
    var text = ""
    for group in 0..<(count / groupDigits) {
      let bytes = digest[(group * groupBytes)..<((group + 1) * groupBytes)]
      let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % modulus
      text += padded(value, digits: groupDigits)
    }
    return text
  }

  /// A number with leading zeros.
  static func padded(_ value: UInt64, digits: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }

  /// Digits in groups with a space between them.
  static func grouped(_ digits: String, by size: Int) -> String {
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, index.isMultiple(of: size) { text += " " }
      text.append(digit)
    }
    return text
  }

  /// The digits of a typed text, without spaces, dashes and line breaks; nil for any other text.
  static func read(_ text: String, count: Int) -> String? {
    guard text.utf8.count <= count * 4 else { return nil }
    var digits = ""
    for character in text where !character.isWhitespace && character != "-" {
      guard let ascii = character.asciiValue, UInt8(ascii: "0")...UInt8(ascii: "9") ~= ascii else {
        return nil
      }
      digits.append(character)
    }
    return digits.utf8.count == count ? digits : nil
  }
}

/// The purpose of a hash, key or signature: an ASCII text `HRTH/<purpose>/v<digit>`.
///
/// Every hash and every signature starts with a domain, so that bytes made for one purpose can
/// never be presented for another. The strict form (no second slash in the purpose, one digit of
/// version) makes the set of domains prefix-free.
package struct Domain: ExpressibleByStringLiteral, Sendable {
  /// The bytes that precede the message.
  package let bytes: [UInt8]

  /// Takes a literal of the form `HRTH/<purpose>/v<digit>`.
  ///
  /// Any other literal is a mistake in the program, not in its input, and traps.
  package init(stringLiteral value: StaticString) {
    bytes = value.withUTF8Buffer { [UInt8]($0) }
    precondition(Self.isWellFormed(bytes), "not a domain: \(value)")
  }

  private static func isWellFormed(_ bytes: [UInt8]) -> Bool {
    let prefix = Array("HRTH/".utf8)
    let tailCount = 3
    guard bytes.count > prefix.count + tailCount, bytes.starts(with: prefix) else { return false }
    let purpose = bytes[prefix.count..<(bytes.count - tailCount)]
    let tail = Array(bytes.suffix(tailCount))
    let lower = UInt8(ascii: "a")...UInt8(ascii: "z")
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return purpose.allSatisfy {
      lower.contains($0) || digits.contains($0) || $0 == UInt8(ascii: "-")
    } && tail[0] == UInt8(ascii: "/") && tail[1] == UInt8(ascii: "v") && digits.contains(tail[2])
  }
}

/// A cursor over ASCII bytes for the strict small grammars of this module.
///
/// It never backtracks and never allocates. Every method either consumes exactly what it names, or
/// consumes nothing and returns nil or false.
struct ASCIIReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }

  /// Consumes exactly `count` decimal digits (at most nine, so the value fits).
  mutating func digits(_ count: Int) -> Int? {
    precondition((1...9).contains(count), "asked for \(count) digits")
    guard rest.count >= count else { return nil }
    var value = 0
    for byte in rest.prefix(count) {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    rest = rest.dropFirst(count)
    return value
  }

  /// Returns the digits of a whole slice as a number without sign and leading zeros, or nil.
  static func number(_ bytes: ArraySlice<UInt8>, maximumDigits: Int) -> Int? {
    guard !bytes.isEmpty, bytes.count <= maximumDigits else { return nil }
    if bytes.first == UInt8(ascii: "0"), bytes.count > 1 { return nil }
    var reader = ASCIIReader(bytes)
    return reader.digits(bytes.count)
  }
}

/// Returns `value` in decimal, padded with zeros on the left to at least `width` characters.
func zeroPadded(_ value: Int, _ width: Int) -> String {
  let digits = String(value)
  guard digits.count < width else { return digits }
  return String(repeating: "0", count: width - digits.count) + digits
}

/// Returns at most `limit` bytes of outside text, made safe to show inside an error message.
func quoted(_ text: some StringProtocol, limit: Int = 60) -> String {
  var shown = ""
  for scalar in text.unicodeScalars.prefix(limit) {
    shown.unicodeScalars.append(
      scalar.value < 0x20 || scalar.value == 0x7f ? Unicode.Scalar(UInt8(ascii: "?")) : scalar)
  }
  return text.unicodeScalars.count > limit ? "\"\(shown)…\"" : "\"\(shown)\""
}

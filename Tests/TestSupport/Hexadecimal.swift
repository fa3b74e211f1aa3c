/// Two digits a byte.
package func hex(_ bytes: [UInt8]) -> String {
  bytes.map { byte in
    let digits = String(byte, radix: 16)
    return digits.count == 1 ? "0" + digits : digits
  }.joined()
}

/// The bytes of pairs of digits; nil for anything else.
package func bytes(_ hex: String) -> [UInt8]? {
  let digits = Array(hex.utf8)
  guard digits.count.isMultiple(of: 2) else { return nil }
  var bytes: [UInt8] = []
  for place in stride(from: 0, to: digits.count, by: 2) {
    guard let byte = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16)
    else { return nil }
    bytes.append(byte)
  }
  return bytes
}

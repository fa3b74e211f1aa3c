/// Hexadecimal text of bytes, lower case.
package enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Two lower-case digits per byte.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text = [UInt8]()
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads text of digit pairs, in either case, and nothing else.
  ///
  /// It is not constant-time: use it for ids and public values.
  /// - Throws: `malformed`, with the position of the first wrong character.
  package static func decode(_ text: String) throws -> [UInt8] {
    let units = Array(text.utf8)
    guard units.count.isMultiple(of: 2) else {
      throw CryptoError(
        .malformed, "Hexadecimal text has an odd number of digits (\(units.count)).")
    }
    var bytes = [UInt8]()
    bytes.reserveCapacity(units.count / 2)
    for index in stride(from: 0, to: units.count, by: 2) {
      bytes.append(try value(units, index) << 4 | value(units, index + 1))
    }
    return bytes
  }

  private static func value(_ units: [UInt8], _ index: Int) throws -> UInt8 {
    switch units[index] {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return units[index] - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): return units[index] - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): return units[index] - UInt8(ascii: "A") + 10
    default:
      throw CryptoError(
        .malformed, "Character \(index + 1) is not a hexadecimal digit (0-9, a-f).")
    }
  }

  /// The bytes of a constant in the source.
  static func literal(_ text: String) -> [UInt8] {
    guard let bytes = try? decode(text) else { preconditionFailure("not hexadecimal: \(text)") }
    return bytes
  }
}

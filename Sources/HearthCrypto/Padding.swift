/// Padding that hides lengths: ISO/IEC 7816-4 up to a length from a short list.
///
/// The list is a floor of 256 bytes and above it PADMÉ (Nikitin et al., "Reducing Metadata Leakage
/// from Encrypted Files and Communication with PURBs"): lengths whose binary form has a mantissa no
/// longer than its exponent needs digits. The overhead above the floor stays below 12 %.
package enum Padding {
  /// The shortest padded length.
  package static let floorBytes = 256
  static let marker: UInt8 = 0x80

  /// The smallest PADMÉ length for `length` bytes.
  package static func padme(_ length: Int) -> Int {
    guard length > 1 else { return length }
    let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
    let exponentBits = Int.bitWidth - exponent.leadingZeroBitCount
    let mask = (1 << (exponent - exponentBits)) - 1
    return (length + mask) & ~mask
  }

  /// The padded length for `count` bytes of content: the content and the marker byte.
  package static func paddedCount(_ count: Int) -> Int { max(floorBytes, padme(count + 1)) }

  /// Whether ``paddedCount(_:)`` can return a length.
  static func isPaddedCount(_ count: Int) -> Bool {
    count >= floorBytes && padme(count) == count
  }

  /// The number of content bytes before the padding.
  /// - Parameters:
  ///   - plaintext: The padded bytes.
  ///   - expectedCount: The required padded length for a given content length.
  /// - Throws: `malformed` if the marker is missing or the padding is not canonical.
  static func contentCount(
    _ plaintext: UnsafeRawBufferPointer, expectedCount: (Int) -> Int = Padding.paddedCount
  ) throws -> Int {
    guard let last = plaintext.lastIndex(where: { $0 != 0 }), plaintext[last] == marker,
      expectedCount(last) == plaintext.count
    else {
      throw CryptoError(.malformed, "The padding inside the sealed data is not canonical.")
    }
    return last
  }
}

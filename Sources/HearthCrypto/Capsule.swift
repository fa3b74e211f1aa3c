/// A sealed bundle, safe for readers whose key may come from a stranger.
///
/// It is XChaCha20-Poly1305 behind a commitment to the key, with the padding of envelopes. The
/// invitation bundle at a rendezvous is one; an invitation's holder can open it.
package enum Capsule {
  /// The longest bundle.
  package static let maximumCapsuleBytes = 256 << 10
  /// The length without the padded body: header, commitment, nonce, tag.
  package static let overheadBytes = 5 + Commitment.count + AEAD.overheadBytes

  private static let header = Array("HRC1".utf8) + [1]
  private static let commitmentRange = 5..<37
  private static let sealedOffset = 37
  private static let contextDomain: Domain = "HRTH/capsule/v1"
  private static let commitmentDomain: Domain = "HRTH/capsule-commit/v1"

  /// Seals a body under a key and a context that the reader must know too.
  /// - Throws: `tooLarge`.
  package static func seal(_ body: [UInt8], key: SecretKey, associatedData: [UInt8] = []) throws
    -> [UInt8]
  {
    try seal(body, key, associatedData, random: RandomBytes.make(AEAD.randomCount))
  }

  static func seal(
    _ body: [UInt8], _ key: SecretKey, _ associatedData: [UInt8], random: [UInt8]
  ) throws -> [UInt8] {
    let paddedCount = Padding.paddedCount(body.count)
    guard paddedCount + overheadBytes <= maximumCapsuleBytes else {
      throw CryptoError(
        .tooLarge, "A body of \(body.count) bytes exceeds a bundle of \(maximumCapsuleBytes).")
    }
    var plaintext = body + [Padding.marker]
    plaintext.append(contentsOf: repeatElement(0, count: paddedCount - plaintext.count))
    defer { zeroise(&plaintext) }
    let context = context(associatedData)
    let sealed = plaintext.withUnsafeBytes { AEAD.seal($0, context, key, random: random) }
    return header + commitment(key, context, sealed) + sealed
  }

  /// Opens a sealed bundle.
  /// - Throws: `authenticationFailed` if the commitment or the encryption does not match,
  ///   `malformed`, `unsupportedType`, `tooLarge`.
  package static func open(_ bytes: [UInt8], key: SecretKey, associatedData: [UInt8] = []) throws
    -> [UInt8]
  {
    try checkFrame(bytes)
    let context = context(associatedData)
    return try bytes.withUnsafeBytes { bytes in
      let sealed = bytes.part(sealedOffset..<bytes.count)
      let isCommitted = key.withUnsafeBytes {
        Commitment.isValid(
          bytes.part(commitmentRange), commitmentDomain, key: $0, associatedData: context,
          sealed: sealed)
      }
      guard isCommitted else { throw CryptoError.authentication }
      var plaintext = try AEAD.open(sealed, associatedData: context, key: key)
      defer { zeroise(&plaintext) }
      return try plaintext.withUnsafeBytes {
        [UInt8]($0[..<(try Padding.contentCount($0))])
      }
    }
  }

  private static func checkFrame(_ bytes: [UInt8]) throws {
    guard bytes.count <= maximumCapsuleBytes else {
      throw CryptoError(
        .tooLarge, "A bundle of \(bytes.count) bytes exceeds \(maximumCapsuleBytes).")
    }
    guard bytes.count > 4, bytes[..<4] == header[..<4] else {
      throw CryptoError(.malformed, "These bytes are not a bundle (no HRC1 in front).")
    }
    guard bytes[4] == header[4] else {
      throw CryptoError(
        .unsupportedType, "The bundle has version \(bytes[4]); use a newer program.")
    }
    guard Padding.isPaddedCount(bytes.count - overheadBytes) else {
      throw CryptoError(
        .malformed, "A bundle cannot have \(bytes.count) bytes; it was cut or extended.")
    }
  }

  static func context(_ associatedData: [UInt8]) -> [UInt8] {
    contextDomain.bytes + header + associatedData
  }

  static func commitment(_ key: SecretKey, _ context: [UInt8], _ sealed: [UInt8]) -> [UInt8] {
    key.withUnsafeBytes { key in
      sealed.withUnsafeBytes {
        Commitment.make(commitmentDomain, key: key, associatedData: context, sealed: $0)
      }
    }
  }
}

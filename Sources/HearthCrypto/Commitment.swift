/// A hash that commits a ciphertext to its key: H(key, nonce ‖ ad ‖ ciphertext).
///
/// With XChaCha20-Poly1305 alone, an attacker who chooses keys can build one ciphertext for several
/// of them. This turns a passphrase check into an oracle for many passphrases at once. The
/// commitment is verified before decryption.
enum Commitment {
  static let count = 32

  static func make(
    _ domain: Domain, key: UnsafeRawBufferPointer, associatedData: [UInt8],
    sealed: UnsafeRawBufferPointer
  ) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: count, rawKey: key)
    hasher.update(domain)
    hasher.updateDelimited(associatedData)
    hasher.update(sealed)
    return hasher.finalize()
  }

  /// Whether a stored commitment is correct, in constant time.
  static func isValid(
    _ commitment: UnsafeRawBufferPointer, _ domain: Domain, key: UnsafeRawBufferPointer,
    associatedData: [UInt8], sealed: UnsafeRawBufferPointer
  ) -> Bool {
    make(domain, key: key, associatedData: associatedData, sealed: sealed)
      .withUnsafeBytes { constantTimeEquals($0, commitment) }
  }
}

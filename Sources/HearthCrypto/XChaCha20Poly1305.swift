import CSodium

/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) over memory, without framing.
enum XChaCha20Poly1305 {
  /// The length of a key.
  static let keyCount = 32
  /// The length of a nonce.
  static let nonceCount = 24
  /// The length of an authentication tag.
  static let tagCount = 16

  /// Encrypts without framing; `out` has room for exactly the plaintext and the tag.
  static func encrypt(
    _ plaintext: UnsafeRawBufferPointer, _ context: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
    into out: UnsafeMutableRawBufferPointer
  ) {
    precondition(out.count == plaintext.count + tagCount, "ciphertext memory \(out.count)")
    precondition(nonce.count == nonceCount && key.count == keyCount, "nonce or key length")
    let status = crypto_aead_xchacha20poly1305_ietf_encrypt(
      out.unsignedBytes, nil, plaintext.unsignedBytes, UInt64(plaintext.count),
      context.unsignedBytes, UInt64(context.count), nil, nonce.unsignedBytes, key.unsignedBytes)
    precondition(status == 0, "XChaCha20-Poly1305 refused \(plaintext.count) bytes")
  }

  /// Decrypts without framing; `out` has room for exactly the plaintext.
  static func decrypt(
    _ sealed: UnsafeRawBufferPointer, _ context: UnsafeRawBufferPointer,
    nonce: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer,
    into out: UnsafeMutableRawBufferPointer
  ) throws {
    precondition(nonce.count == nonceCount && key.count == keyCount, "nonce or key length")
    guard sealed.count == out.count + tagCount else { throw CryptoError.authentication }
    let status = crypto_aead_xchacha20poly1305_ietf_decrypt(
      out.unsignedBytes, nil, nil, sealed.unsignedBytes, UInt64(sealed.count),
      context.unsignedBytes, UInt64(context.count), nonce.unsignedBytes, key.unsignedBytes)
    guard status == 0 else { throw CryptoError.authentication }
  }
}

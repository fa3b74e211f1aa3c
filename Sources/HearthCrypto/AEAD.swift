/// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) with random, hedged 24-byte nonces.
///
/// It is not key-committing: one ciphertext can be built to open under two chosen keys. Use it with
/// keys that are themselves committed (epoch keys), and use ``Capsule`` for all other keys.
package enum AEAD {
  /// The number of random bytes in the input of a nonce.
  static let randomCount = 32
  /// The number of bytes that ``seal(_:associatedData:key:)`` adds to a message: nonce and tag.
  package static let overheadBytes = XChaCha20Poly1305.nonceCount + XChaCha20Poly1305.tagCount

  /// Encrypts a message under a key and a context.
  /// - Parameters:
  ///   - plaintext: The message; its length stays visible.
  ///   - associatedData: The context. It is not stored, and opening needs the same context again.
  ///   - key: The key.
  /// - Returns: Nonce (24 bytes), ciphertext, tag (16 bytes).
  package static func seal(
    _ plaintext: UnsafeRawBufferPointer, associatedData: [UInt8], key: SecretKey
  ) -> [UInt8] {
    seal(plaintext, associatedData, key, random: RandomBytes.make(randomCount))
  }

  /// Encrypts a message under a key and a context.
  package static func seal(_ plaintext: [UInt8], associatedData: [UInt8], key: SecretKey)
    -> [UInt8]
  {
    plaintext.withUnsafeBytes { seal($0, associatedData: associatedData, key: key) }
  }

  static func seal(
    _ plaintext: UnsafeRawBufferPointer, _ associatedData: [UInt8], _ key: SecretKey,
    random: [UInt8]
  ) -> [UInt8] {
    key.withUnsafeBytes { key in
      associatedData.withUnsafeBytes { context in
        Blake2b.array(plaintext.count + overheadBytes) { out in
          let nonce = out.part(0..<XChaCha20Poly1305.nonceCount)
          hedgedNonce(key: key, random: random, context, plaintext, into: nonce)
          XChaCha20Poly1305.encrypt(
            plaintext, context, nonce: UnsafeRawBufferPointer(nonce), key: key,
            into: out.part(XChaCha20Poly1305.nonceCount..<out.count))
        }
      }
    }
  }

  /// Decrypts the output of ``seal(_:associatedData:key:)``.
  /// - Throws: `authenticationFailed` for every kind of mismatch.
  package static func open(
    _ sealed: UnsafeRawBufferPointer, associatedData: [UInt8], key: SecretKey
  ) throws -> [UInt8] {
    guard sealed.count >= overheadBytes else { throw CryptoError.authentication }
    return try Blake2b.array(sealed.count - overheadBytes) {
      try open(sealed, associatedData: associatedData, key: key, into: $0)
    }
  }

  /// Decrypts the output of ``seal(_:associatedData:key:)``.
  package static func open(_ sealed: [UInt8], associatedData: [UInt8], key: SecretKey) throws
    -> [UInt8]
  {
    try sealed.withUnsafeBytes { try open($0, associatedData: associatedData, key: key) }
  }

  /// Decrypts into memory of the plaintext's exact length.
  static func open(
    _ sealed: UnsafeRawBufferPointer, associatedData: [UInt8], key: SecretKey,
    into out: UnsafeMutableRawBufferPointer
  ) throws {
    guard sealed.count == out.count + overheadBytes else { throw CryptoError.authentication }
    try key.withUnsafeBytes { key in
      try associatedData.withUnsafeBytes { context in
        try XChaCha20Poly1305.decrypt(
          sealed.part(XChaCha20Poly1305.nonceCount..<sealed.count), context,
          nonce: sealed.part(0..<XChaCha20Poly1305.nonceCount),
          key: key, into: out)
      }
    }
  }

  /// Makes a nonce that repeats only if randomness, context and plaintext all repeat.
  ///
  /// It is BLAKE2b-24(key, random 32 ‖ context ‖ BLAKE2b-256(plaintext)). A restored disk image or
  /// a cloned machine may repeat its random numbers. It then repeats a nonce only for the identical
  /// message.
  static func hedgedNonce(
    key: UnsafeRawBufferPointer, random: [UInt8], _ context: UnsafeRawBufferPointer,
    _ plaintext: UnsafeRawBufferPointer, into nonce: UnsafeMutableRawBufferPointer
  ) {
    precondition(random.count == randomCount, "\(random.count) random bytes for a nonce")
    withZeroisedMemory(32) { digest in
      Blake2b.hash(plaintext, into: digest)
      var hasher = Blake2b.Hasher(count: XChaCha20Poly1305.nonceCount, rawKey: key)
      hasher.update(random)
      hasher.update(context)
      hasher.update(UnsafeRawBufferPointer(digest))
      hasher.finalize(into: nonce)
      #if HEARTH_SIMULATION
        if repeatsNonce { nonce.initializeMemory(as: UInt8.self, repeating: 0) }
      #endif
    }
  }

  #if HEARTH_SIMULATION
    /// A seeded bug: every message gets the same nonce.
    ///
    /// Set before a run, from its only thread.
    nonisolated(unsafe) package static var repeatsNonce = false
  #endif
}

import CSodium

/// An Ed25519 key pair in guarded memory.
package final class SigningKeyPair: Sendable, Redacted {
  /// The public half.
  package let publicKey: SigningPublicKey
  private let secret: GuardedMemory
  /// Whether the secret is a scalar with a nonce key, instead of a seed with the public key.
  private let isBlinded: Bool

  /// Derives the pair from a seed (RFC 8032 private key).
  /// - Throws: `outOfMemory`.
  package init(seed: SecretKey) throws {
    var publicBytes = [UInt8](repeating: 0, count: SigningPublicKey.count)
    secret = try GuardedMemory(count: Int(crypto_sign_SECRETKEYBYTES)) { out in
      _ = seed.withUnsafeBytes {
        crypto_sign_seed_keypair(&publicBytes, out.unsignedBytes, $0.unsignedBytes)
      }
    }
    publicKey = SigningPublicKey(derived: publicBytes)
    isBlinded = false
  }

  /// Makes the pair whose public key is another pair's public key times a factor
  /// (``RelayPseudonym``).
  /// - Throws: `outOfMemory`, `badKey` for a factor that is not a scalar.
  init(blinding pair: SigningKeyPair, by factor: [UInt8]) throws {
    var publicBytes = [UInt8](repeating: 0, count: SigningPublicKey.count)
    secret = try GuardedMemory(count: Ed25519Scalar.expandedBytes) { out in
      try pair.secret.withUnsafeBytes {
        try Ed25519Scalar.blind($0, by: factor, into: out, publicKey: &publicBytes)
      }
    }
    publicKey = SigningPublicKey(derived: publicBytes)
    isBlinded = true
  }

  /// Signs the concatenation of the parts: Ed25519 over `domain ‖ BLAKE2b-512(parts)`.
  ///
  /// Deterministic, 64 bytes, about 80 µs. The parts are joined without lengths, so they must
  /// together be one canonical encoding.
  package func sign(domain: Domain, _ parts: [UInt8]...) -> [UInt8] {
    Blake2b.array(Signature.count) { sign(domain, digest: Signature.digest(parts), into: $0) }
  }

  /// Signs a certificate's bytes as X.509 requires: without a domain, and therefore only with TLS
  /// keys.
  func signCertificate(_ bytes: [UInt8]) -> [UInt8] {
    Blake2b.array(Signature.count) { sign(bytes, into: $0) }
  }

  func sign(_ domain: Domain, digest: [UInt8], into out: UnsafeMutableRawBufferPointer) {
    precondition(out.count == Signature.count, "signature memory of \(out.count) bytes")
    sign(domain.bytes + digest, into: out)
  }

  private func sign(_ message: [UInt8], into out: UnsafeMutableRawBufferPointer) {
    secret.withUnsafeBytes {
      if isBlinded {
        Ed25519Scalar.sign(message, with: $0, publicKey: publicKey.bytes, into: out)
      } else {
        _ = crypto_sign_detached(
          out.unsignedBytes, nil, message, UInt64(message.count), $0.unsignedBytes)
      }
    }
  }
}

/// An X25519 key pair in guarded memory, for opening sealed boxes.
package final class BoxKeyPair: Sendable, Redacted {
  /// The public half.
  package let publicKey: BoxPublicKey
  private let secret: GuardedMemory

  /// Derives the pair from a seed (libsodium `crypto_box_seed_keypair`).
  /// - Throws: `outOfMemory`.
  package init(seed: SecretKey) throws {
    var publicBytes = [UInt8](repeating: 0, count: BoxPublicKey.count)
    secret = try GuardedMemory(count: Int(crypto_box_SECRETKEYBYTES)) { out in
      _ = seed.withUnsafeBytes {
        crypto_box_seed_keypair(&publicBytes, out.unsignedBytes, $0.unsignedBytes)
      }
    }
    publicKey = BoxPublicKey(derived: publicBytes)
  }

  /// Opens a sealed box into memory of the message's exact length.
  func open(_ sealed: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer) throws {
    guard sealed.count == out.count + SealedBox.overheadBytes else {
      throw CryptoError.authentication
    }
    let status = secret.withUnsafeBytes { key in
      crypto_box_seal_open(
        out.unsignedBytes, sealed.unsignedBytes, UInt64(sealed.count), publicKey.bytes,
        key.unsignedBytes)
    }
    guard status == 0 else { throw CryptoError.authentication }
  }
}

/// Anonymous encryption to a public key (libsodium `crypto_box_seal`).
///
/// The sender is not authenticated. Authenticity must come from the signed message that contains
/// the box. The correctness of a key inside must come from the key's commitment.
package enum SealedBox {
  /// The number of bytes that sealing adds to a message: an ephemeral key and a tag.
  package static let overheadBytes = 48

  /// Encrypts bytes so that only the holder of the key pair can read them; about 0.35 ms.
  /// - Throws: `badKey` if the key gives an all-zero shared secret.
  package static func seal(_ message: [UInt8], to key: BoxPublicKey) throws -> [UInt8] {
    try message.withUnsafeBytes { try seal($0, to: key) }
  }

  /// Encrypts bytes, for example of a secret, without copying them.
  package static func seal(_ message: UnsafeRawBufferPointer, to key: BoxPublicKey) throws
    -> [UInt8]
  {
    try Sodium.initialise()
    return try Blake2b.array(message.count + overheadBytes) { out in
      let status = crypto_box_seal(
        out.unsignedBytes, message.unsignedBytes, UInt64(message.count), key.bytes)
      guard status == 0 else {
        throw CryptoError(.badKey, "This X25519 key cannot receive sealed data; refuse its owner.")
      }
    }
  }

  /// Opens a sealed box whose content is not secret to this process.
  /// - Throws: `authenticationFailed`.
  package static func open(_ sealed: [UInt8], with pair: BoxKeyPair) throws -> [UInt8] {
    try sealed.withUnsafeBytes { sealed in
      guard sealed.count >= overheadBytes else { throw CryptoError.authentication }
      return try Blake2b.array(sealed.count - overheadBytes) { try pair.open(sealed, into: $0) }
    }
  }

  /// Opens a sealed box with a symmetric key, directly into guarded memory.
  /// - Throws: `authenticationFailed`, also if the content is not 32 bytes.
  package static func openKey(_ sealed: [UInt8], with pair: BoxKeyPair) throws -> SecretKey {
    try sealed.withUnsafeBytes { sealed in try SecretKey { try pair.open(sealed, into: $0) } }
  }

  /// Opens a sealed box with other secrets, directly into guarded memory.
  /// - Throws: `authenticationFailed`.
  package static func openSecret(_ sealed: [UInt8], with pair: BoxKeyPair) throws -> SecretBytes {
    try sealed.withUnsafeBytes { sealed in
      guard sealed.count >= overheadBytes else { throw CryptoError.authentication }
      return try SecretBytes(count: sealed.count - overheadBytes) {
        try pair.open(sealed, into: $0)
      }
    }
  }
}

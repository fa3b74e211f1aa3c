import CSodium

/// Arithmetic with Ed25519 scalars for blinded keys.
enum Ed25519Scalar {
  /// The length of a scalar and its nonce key.
  static let expandedBytes = 64

  /// 64 bytes as a number below the order of the group.
  static func reduce(_ wide: [UInt8]) -> [UInt8] {
    precondition(wide.count == 64, "a wide scalar of \(wide.count) bytes")
    var scalar = [UInt8](repeating: 0, count: 32)
    crypto_core_ed25519_scalar_reduce(&scalar, wide)
    return scalar
  }

  /// A point of the large prime order times a scalar.
  /// - Throws: `badKey` if the point is invalid, or if the product is zero.
  static func multiply(_ point: [UInt8], by scalar: [UInt8]) throws -> [UInt8] {
    precondition(point.count == 32 && scalar.count == 32, "lengths of a point and a scalar")
    var product = [UInt8](repeating: 0, count: 32)
    guard crypto_scalarmult_ed25519_noclamp(&product, scalar, point) == 0 else {
      throw CryptoError(.badKey, "An Ed25519 key cannot be blinded; refuse its owner.")
    }
    return product
  }

  /// Derives the blinded secret of a libsodium key pair, and its public key.
  /// - Throws: `badKey`.
  static func blind(
    _ secret: UnsafeRawBufferPointer, by factor: [UInt8],
    into out: UnsafeMutableRawBufferPointer, publicKey: inout [UInt8]
  ) throws {
    precondition(
      secret.count == Int(crypto_sign_SECRETKEYBYTES) && out.count == expandedBytes
        && factor.count == 32, "lengths of a pair and a factor")
    var status: CInt = 0
    withZeroisedMemory(64) { expanded in
      // RFC 8032, 5.1.5: the seed comes first in libsodium's secret key.
      crypto_hash_sha512(expanded.unsignedBytes, secret.unsignedBytes, 32)
      expanded[0] &= 248
      expanded[31] &= 127
      expanded[31] |= 64
      crypto_core_ed25519_scalar_mul(out.unsignedBytes, expanded.unsignedBytes, factor)
      status = crypto_scalarmult_ed25519_base_noclamp(&publicKey, out.unsignedBytes)
      var hasher = Blake2b.Hasher(
        count: 32, rawKey: UnsafeRawBufferPointer(expanded).part(32..<64))
      hasher.update("HRTH/relay-nonce/v1" as Domain)
      hasher.update(factor)
      hasher.finalize(into: out.part(32..<64))
    }
    guard status == 0 else {
      throw CryptoError(.badKey, "An Ed25519 key cannot be blinded; refuse its owner.")
    }
  }

  /// Signs like Ed25519, with a scalar and its nonce key.
  static func sign(
    _ message: [UInt8], with secret: UnsafeRawBufferPointer, publicKey: [UInt8],
    into out: UnsafeMutableRawBufferPointer
  ) {
    withZeroisedMemory(128) { memory in
      let (wide, nonce) = (memory.part(0..<64), memory.part(64..<96))
      var hasher = Blake2b.Hasher(count: 64, rawKey: secret.part(32..<64))
      hasher.update(message)
      hasher.finalize(into: wide)
      crypto_core_ed25519_scalar_reduce(nonce.unsignedBytes, wide.unsignedBytes)
      _ = crypto_scalarmult_ed25519_base_noclamp(out.unsignedBytes, nonce.unsignedBytes)
      let hashed = Array(out.part(0..<32)) + publicKey + message
      crypto_hash_sha512(wide.unsignedBytes, hashed, UInt64(hashed.count))
      let challenge = memory.part(96..<128)
      crypto_core_ed25519_scalar_reduce(challenge.unsignedBytes, wide.unsignedBytes)
      crypto_core_ed25519_scalar_mul(
        challenge.unsignedBytes, challenge.unsignedBytes, secret.part(0..<32).unsignedBytes)
      crypto_core_ed25519_scalar_add(
        out.part(32..<64).unsignedBytes, challenge.unsignedBytes, nonce.unsignedBytes)
    }
  }
}

import CSodium

/// The bare operations on Ed25519 and X25519, for the self test and the known-answer tests.
///
/// Production code signs and verifies through ``SigningKeyPair`` and ``Signature``, which add
/// domain, hash and the rules on points.
enum Curve25519 {
  /// The key of a seed and its signature of a message.
  static func sign(seed: [UInt8], message: [UInt8]) -> (key: [UInt8], signature: [UInt8]) {
    var key = [UInt8](repeating: 0, count: 32)
    var secret = [UInt8](repeating: 0, count: 64)
    var signature = [UInt8](repeating: 0, count: 64)
    defer { zeroise(&secret) }
    _ = crypto_sign_seed_keypair(&key, &secret, seed)
    _ = crypto_sign_detached(&signature, nil, message, UInt64(message.count), secret)
    return (key, signature)
  }

  /// Whether the library accepts a signature, without our additional check.
  static func verifies(_ signature: [UInt8], message: [UInt8], key: [UInt8]) -> Bool {
    guard signature.count == 64, key.count == 32 else { return false }
    return crypto_sign_verify_detached(signature, message, UInt64(message.count), key) == 0
  }

  /// Whether 32 bytes are the canonical encoding of a point of the large prime order.
  static func isPoint(_ bytes: [UInt8]) -> Bool {
    guard bytes.count == 32 else { return false }
    #if HEARTH_SIMULATION
      return CurveMemo.answer(to: bytes) { crypto_core_ed25519_is_valid_point(bytes) == 1 }
    #else
      return crypto_core_ed25519_is_valid_point(bytes) == 1
    #endif
  }

  /// The X25519 function; nil if the result would be all zero.
  static func multiply(scalar: [UInt8], point: [UInt8]) -> [UInt8]? {
    guard scalar.count == 32, point.count == 32 else { return nil }
    var shared = [UInt8](repeating: 0, count: 32)
    return crypto_scalarmult_curve25519(&shared, scalar, point) == 0 ? shared : nil
  }
}

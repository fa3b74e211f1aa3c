import CSodium

/// An Ed25519 public key, verified to be a canonical point of the large prime order.
///
/// A value can only be made by checking it, so its holder may verify signatures with it. With such
/// a key, all verification rules in use (with and without cofactor) agree for honest signatures.
package struct SigningPublicKey: Hashable, Sendable {
  /// The length of the key.
  package static let count = 32
  /// The 32 bytes of RFC 8032.
  package let bytes: [UInt8]

  /// Checks a key: length, canonical encoding, on the curve, neither small nor mixed order.
  ///
  /// The check takes about 0.2 ms; keep the value instead of the bytes.
  /// - Throws: `badKey`, or `badLength`.
  package init(validating bytes: [UInt8]) throws {
    try Sodium.initialise()
    try CryptoError.require("An Ed25519 public key", bytes.count, equals: Self.count)
    guard Curve25519.isPoint(bytes) else {
      throw CryptoError(
        .badKey, "The Ed25519 public key is not a valid point of prime order; refuse its owner.")
    }
    self.bytes = bytes
  }

  /// Takes a key that this module has just derived.
  init(derived bytes: [UInt8]) { self.bytes = bytes }
}

/// An X25519 public key that is canonical and not of small order.
package struct BoxPublicKey: Hashable, Sendable {
  /// The length of the key.
  package static let count = 32
  /// The 32 bytes of RFC 7748, little-endian and below 2^255 - 19.
  package let bytes: [UInt8]

  /// Checks a key: length, canonical encoding (one form per key), no all-zero shared secrets.
  /// - Throws: `badKey`, or `badLength`.
  package init(validating bytes: [UInt8]) throws {
    try Sodium.initialise()
    try CryptoError.require("An X25519 public key", bytes.count, equals: Self.count)
    guard Self.isCanonical(bytes), Self.hasLargeOrder(bytes) else {
      throw CryptoError(
        .badKey, "The X25519 public key is not canonical or of small order; refuse its owner.")
    }
    self.bytes = bytes
  }

  /// Takes a key that this module has just derived.
  init(derived bytes: [UInt8]) { self.bytes = bytes }

  /// Whether a multiple of the point is not zero.
  ///
  /// It is zero for every point of small order.
  private static func hasLargeOrder(_ bytes: [UInt8]) -> Bool {
    let probe = [UInt8](repeating: 0x40, count: 32)
    #if HEARTH_SIMULATION
      return CurveMemo.answer(to: probe + bytes) {
        Curve25519.multiply(scalar: probe, point: bytes) != nil
      }
    #else
      return Curve25519.multiply(scalar: probe, point: bytes) != nil
    #endif
  }

  /// Whether the little-endian number is below 2^255 - 19.
  private static func isCanonical(_ bytes: [UInt8]) -> Bool {
    if bytes[31] != 0x7f { return bytes[31] < 0x7f }
    return bytes[0] < 0xed || bytes[1..<31].contains { $0 != 0xff }
  }
}

/// The public half of a device: a verification key, an encryption key, and the id derived from
/// both.
package struct DevicePublicKeys: Hashable, Sendable {
  /// The key that verifies the device's signatures.
  package let signingKey: SigningPublicKey
  /// The key to which secrets are sealed.
  package let boxKey: BoxPublicKey
  /// BLAKE2b-128("HRTH/device/v1" ‖ sign ‖ box): 16 bytes that name the device everywhere.
  package let deviceID: [UInt8]

  /// The 32 bytes of the Ed25519 key.
  package var sign: [UInt8] { signingKey.bytes }
  /// The 32 bytes of the X25519 key.
  package var box: [UInt8] { boxKey.bytes }

  /// Checks both keys (see ``SigningPublicKey`` and ``BoxPublicKey``); about 0.4 ms.
  /// - Throws: `badKey`, `badLength`.
  package init(validating sign: [UInt8], box: [UInt8]) throws {
    self.init(try SigningPublicKey(validating: sign), try BoxPublicKey(validating: box))
  }

  init(_ signingKey: SigningPublicKey, _ boxKey: BoxPublicKey) {
    self.signingKey = signingKey
    self.boxKey = boxKey
    deviceID = Self.id("HRTH/device/v1", signingKey, boxKey)
  }

  /// BLAKE2b-128 of a domain and two keys.
  static func id(_ domain: Domain, _ sign: SigningPublicKey, _ box: BoxPublicKey) -> [UInt8] {
    Blake2b.hash(domain.bytes + sign.bytes + box.bytes, count: 16)
  }
}

/// Verification of `Ed25519(domain ‖ BLAKE2b-512(message))`.
package enum Signature {
  /// The length of a signature.
  package static let count = 64

  /// Verifies a signature over the concatenation of the parts.
  ///
  /// The parts are joined without lengths: they are one canonical message, split to save a copy. It
  /// takes about 0.2 ms.
  /// - Throws: `badSignature`, also for a signature that is not 64 bytes.
  package static func verify(
    _ signature: [UInt8], domain: Domain, _ parts: [UInt8]..., by key: SigningPublicKey
  ) throws {
    try signature.withUnsafeBytes {
      try verify($0, domain, digest: digest(parts), key)
    }
  }

  static func digest(_ parts: [[UInt8]]) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: 64)
    for part in parts { hasher.update(part) }
    return hasher.finalize()
  }

  static func verify(
    _ signature: UnsafeRawBufferPointer, _ domain: Domain, digest: [UInt8],
    _ key: SigningPublicKey
  ) throws {
    let findings = try Sodium.findings()
    guard signature.count == count else { throw CryptoError.signature }
    let message = domain.bytes + digest
    let isAccepted = accepts(
      signature, message, key: key.bytes, checksPoint: findings.checksSignaturePoint)
    guard isAccepted else { throw CryptoError.signature }
  }

  /// Whether the library accepts the signature, with a check of R if the library lacks it.
  static func accepts(
    _ signature: UnsafeRawBufferPointer, _ message: [UInt8], key: [UInt8], checksPoint: Bool
  ) -> Bool {
    precondition(signature.count == count && key.count == 32, "signature or key length")
    #if HEARTH_SIMULATION
      let question = key + Array(signature) + message + [checksPoint ? 1 : 0]
      return CurveMemo.answer(to: question) {
        isRight(signature, message, key: key, checksPoint: checksPoint)
      }
    #else
      return isRight(signature, message, key: key, checksPoint: checksPoint)
    #endif
  }

  private static func isRight(
    _ signature: UnsafeRawBufferPointer, _ message: [UInt8], key: [UInt8], checksPoint: Bool
  ) -> Bool {
    crypto_sign_verify_detached(
      signature.unsignedBytes, message, UInt64(message.count), key) == 0
      && (!checksPoint || crypto_core_ed25519_is_valid_point(signature.unsignedBytes) == 1)
  }
}

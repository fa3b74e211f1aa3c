/// Known answers, checked once per process before any key is used.
///
/// Sources: RFC 7693 appendix A, draft-irtf-cfrg-xchacha-03 A.3.1, RFC 8032 section 7.1, RFC 7748
/// section 6.1. The torsion vectors are our own. Each is an honest Ed25519 signature with a point
/// of order 2, 4 or 8 added to R and with S recomputed, so that only the cofactor makes a
/// difference.
enum SelfTest {
  /// The findings of start-up about the linked library.
  struct Findings: Sendable {
    /// Whether signatures need a separate check that R is in the prime-order subgroup.
    ///
    /// libsodium 1.0.18 verifies without the cofactor and so rejects R + small order by itself.
    /// Later development versions accept it, and one member could then make two replicas disagree
    /// about one signature. The extra check gives every version the rule of 1.0.18.
    let checksSignaturePoint: Bool
  }

  /// Runs every check and returns the additional checks that signatures need.
  static func run() throws(CryptoError) -> Findings {
    try check("BLAKE2b", blake2b())
    try check("XChaCha20-Poly1305", xchacha20poly1305())
    try check("Ed25519", ed25519())
    try check("X25519", x25519())
    let accepted = torsion.filter {
      Curve25519.verifies($0, message: torsionMessage, key: torsionKey)
    }
    for signature in accepted {
      try check("the Ed25519 point check", !Curve25519.isPoint(Array(signature.prefix(32))))
    }
    return Findings(checksSignaturePoint: !accepted.isEmpty)
  }

  private static func check(_ name: String, _ passed: Bool) throws(CryptoError) {
    guard passed else {
      throw CryptoError(
        .selfTestFailed,
        "libsodium returns a wrong result for \(name); install the distribution's libsodium again.")
    }
  }

  private static func blake2b() -> Bool {
    Blake2b.hash(Array("abc".utf8), count: 64)
      == Hex.literal(
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
          + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
  }

  private static func xchacha20poly1305() -> Bool {
    let key = [UInt8](0x80...0x9f)
    let nonce = [UInt8](0x40...0x57)
    let context = Hex.literal("50515253c0c1c2c3c4c5c6c7")
    let plaintext = Array(
      ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
        + "future, sunscreen would be it.").utf8)
    let sealed = key.withUnsafeBytes { key in
      nonce.withUnsafeBytes { nonce in
        context.withUnsafeBytes { context in
          plaintext.withUnsafeBytes { text in
            Blake2b.array(text.count + XChaCha20Poly1305.tagCount) {
              XChaCha20Poly1305.encrypt(text, context, nonce: nonce, key: key, into: $0)
            }
          }
        }
      }
    }
    return sealed
      == Hex.literal(
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
          + "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
          + "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
          + "21f9664c97637da9768812f615c68b13b52e"
          + "c0875924c1c7987947deafd8780acf49")
  }

  private static func ed25519() -> Bool {
    let seed = Hex.literal("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    let key = Hex.literal("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    let expected = Hex.literal(
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
    let message: [UInt8] = [0x72]
    let made = Curve25519.sign(seed: seed, message: message)
    var wrong = expected
    wrong[40] ^= 1
    return made.key == key && made.signature == expected
      && Curve25519.verifies(expected, message: message, key: key)
      && !Curve25519.verifies(wrong, message: message, key: key)
  }

  private static func x25519() -> Bool {
    let alice = Hex.literal("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    let bob = Hex.literal("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
    return Curve25519.multiply(scalar: alice, point: bob)
      == Hex.literal("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
  }

  /// The public key of the torsion vectors: RFC 8032 key of the seed 00 01 … 1f.
  static let torsionKey = Hex.literal(
    "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8")
  /// The message of the torsion vectors.
  static let torsionMessage = Array("HRTH torsion self test".utf8)
  /// Signatures with R + a point of order 2, 4 and 8.
  static let torsion = [
    Hex.literal(
      "783a1f996bcc2f76c2c9190c2d77e57fd522c32a2f18c485c7ea1b359fc61484"
        + "3e43995eb81f00922bfa5a07339642f6d4b0e51329af4feb098ad0de5206b306"),
    Hex.literal(
      "78dd0da0fa8ef659fe833c2b20032b98e8631c3f0b607f0b5195bbcf6c6b9440"
        + "e3961dcd4648eedd1a5f9dea0ad18353d63d649e9034b1eca5def8e53f5f730e"),
    Hex.literal(
      "0907f802f6df81a7bbb5a4a0780906b0d62851f4dbbc0f7020f7dfb2f42ebe63"
        + "fe96f79cf1866ec51895dc8a2f90714fd45eac2ef0795b54a9ff8a86da5e0e05"),
  ]
}

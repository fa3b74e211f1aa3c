import CSodium

/// The keys of a relay: its identity, its TLS certificate, and the secret of its decoys.
///
/// All of them are derived from one master secret, so the certificate need not be stored: the same
/// secret gives the same bytes, and thus the same pin. The certificate is self-signed and reveals
/// nothing about the relay. Clients compare its pin and ask no authority.
package final class RelayServerIdentity: Sendable, Redacted {
  /// The relay's id, which stays the same with another certificate.
  package let relayID: Bytes32
  /// The certificate in DER (X.509 v3, Ed25519, RFC 8410), about 240 bytes.
  package let certificate: [UInt8]
  /// The secret from which the key ids of nonexistent mailboxes are derived.
  package let decoySecret: SecretKey
  /// A public key whose private half nobody has.
  package let decoyKey: SigningPublicKey
  private let tlsSeed: SecretKey

  /// The pin of the relay's own certificate.
  package var pin: Bytes32 { RelayAccess.pin(ofCertificate: certificate) }

  /// Derives all keys of a relay.
  /// - Throws: `outOfMemory`.
  package init(master: SecretKey) throws {
    let identity = try SigningKeyPair(seed: master.derive(id: 1, context: "HRTHrsid"))
    tlsSeed = try master.derive(id: 2, context: "HRTHrtls")
    decoySecret = try master.derive(id: 3, context: "HRTHrdec")
    decoyKey = try SigningKeyPair(seed: master.derive(id: 4, context: "HRTHrdky")).publicKey
    relayID = RelayAccess.relayID(ofIdentity: identity.publicKey)
    certificate = try SelfSignedCertificate.make(SigningKeyPair(seed: tlsSeed))
  }

  /// Provides the certificate's private key in DER (PKCS #8, RFC 8410) to a closure.
  ///
  /// The TLS library copies it into its own memory; the bytes are zeroed afterwards.
  package func withPrivateKey<Result>(_ body: ([UInt8]) throws -> Result) rethrows -> Result {
    var bytes = tlsSeed.withUnsafeBytes { seed in
      DER.sequence(
        DER.integer([0]), DER.sequence(DER.ed25519),
        DER.element(0x04, DER.element(0x04, Array(seed))))
    }
    defer { zeroise(&bytes) }
    return try body(bytes)
  }
}

/// The smallest X.509 certificate that TLS libraries accept.
enum SelfSignedCertificate {
  /// Makes a self-signed certificate, valid from 2000 to the end of 9999 (RFC 5280, 4.1.2.5).
  static func make(_ pair: SigningKeyPair) -> [UInt8] {
    let key = pair.publicKey.bytes
    // The serial number is positive, not zero, and the same for the same key.
    let serial = [0x01] + Blake2b.hash(key, count: 16).prefix(15)
    let commonName: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]
    let name = DER.sequence(
      DER.element(
        0x31, DER.sequence(commonName, DER.element(0x0c, Array("hearth-relay".utf8)))))
    let validity = DER.sequence(
      DER.element(0x17, Array("000101000000Z".utf8)),
      DER.element(0x18, Array("99991231235959Z".utf8)))
    let signed = DER.sequence(
      DER.element(0xa0, DER.integer([2])), DER.integer(serial), DER.sequence(DER.ed25519), name,
      validity, name, DER.sequence(DER.sequence(DER.ed25519), DER.bits(key)))
    return DER.sequence(
      signed, DER.sequence(DER.ed25519), DER.bits(pair.signCertificate(signed)))
  }
}

/// The few forms of DER (ITU-T X.690) that a certificate needs.
private enum DER {
  /// The object identifier 1.3.101.112.
  static let ed25519: [UInt8] = [0x06, 0x03, 0x2b, 0x65, 0x70]

  static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let count = content.count
    if count < 0x80 { return [tag, UInt8(count)] + content }
    if count < 0x100 { return [tag, 0x81, UInt8(count)] + content }
    precondition(count < 0x10000, "DER element of \(count) bytes")
    return [tag, 0x82, UInt8(count >> 8), UInt8(count & 0xff)] + content
  }

  static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap { $0 }) }

  /// A number of big-endian bytes whose first bit is clear.
  static func integer(_ bytes: [UInt8]) -> [UInt8] { element(0x02, bytes) }

  static func bits(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0] + bytes) }
}

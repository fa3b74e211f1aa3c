/// The key that distinguishes a device at a relay.
///
/// Only the device's household can link it to the device.
///
/// It is the device's Ed25519 key times a factor derived from that key and the relay's id (key
/// blinding). Everybody with the device's public key, as every member has from the log, can compute
/// the pseudonym; only the device can sign with it. A relay knows neither the key nor the factor:
/// two relays cannot discover that they serve one device. No list of pseudonyms needs to be
/// distributed.
package enum RelayPseudonym {
  /// The pseudonym of the device with a signing key; about 0.3 ms.
  /// - Throws: `badKey`.
  package static func key(of device: SigningPublicKey, relayID: [UInt8]) throws -> [UInt8] {
    try Ed25519Scalar.multiply(device.bytes, by: factor(of: device, relayID: relayID))
  }

  /// BLAKE2b-512("HRTH/relay-key/v2" ‖ relay's id ‖ key) as a scalar; each part is preceded by its
  /// length.
  static func factor(of device: SigningPublicKey, relayID: [UInt8]) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: 64)
    hasher.update("HRTH/relay-key/v2" as Domain)
    hasher.updateDelimited(relayID)
    hasher.updateDelimited(device.bytes)
    return Ed25519Scalar.reduce(hasher.finalize())
  }
}

extension DeviceIdentity {
  /// The pseudonymous pair that authenticates this device to one relay.
  /// - Throws: `outOfMemory`.
  package func relayPair(relayID: [UInt8]) throws -> SigningKeyPair {
    try SigningKeyPair(
      blinding: signingPair,
      by: RelayPseudonym.factor(of: publicKeys.signingKey, relayID: relayID))
  }
}

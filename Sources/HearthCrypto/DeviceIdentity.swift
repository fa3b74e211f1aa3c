/// The keys of a device: a pair to sign, a separate pair to receive keys, and a key for nonces.
///
/// All of them are derived from one master secret, the only content that a key file needs.
package final class DeviceIdentity: Sendable, Redacted {
  /// The public half, with the device id.
  package let publicKeys: DevicePublicKeys
  /// The Ed25519 pair.
  package let signingPair: SigningKeyPair
  /// The X25519 pair.
  package let boxPair: BoxKeyPair
  /// The key of hedged nonces.
  let nonceKey: SecretKey
  /// The key that seals keys in this device's own database.
  let localKey: SecretKey

  /// Derives every key of a device from its master secret.
  /// - Throws: `outOfMemory`, or an error of start-up.
  package init(master: SecretKey) throws {
    signingPair = try SigningKeyPair(seed: master.derive(id: 1, context: "HRTHsign"))
    boxPair = try BoxKeyPair(seed: master.derive(id: 2, context: "HRTHbox1"))
    nonceKey = try master.derive(id: 3, context: "HRTHnonc")
    localKey = try master.derive(id: 5, context: "HRTHlocl")
    publicKeys = DevicePublicKeys(signingPair.publicKey, boxPair.publicKey)
  }

  /// Makes a new device, and the master secret to store for it.
  /// - Throws: `outOfMemory`, or an error of start-up.
  package static func generate() throws -> (identity: DeviceIdentity, master: SecretKey) {
    let master = try SecretKey.random()
    return (try DeviceIdentity(master: master), master)
  }

  /// Signs one canonical message, given in parts (see ``SigningKeyPair/sign(domain:_:)``).
  package func sign(domain: Domain, _ parts: [UInt8]...) -> [UInt8] {
    Blake2b.array(Signature.count) {
      signingPair.sign(domain, digest: Signature.digest(parts), into: $0)
    }
  }

  /// Opens a box sealed to this device.
  /// - Throws: `authenticationFailed`.
  package func openSealed(_ sealed: [UInt8]) throws -> [UInt8] {
    try SealedBox.open(sealed, with: boxPair)
  }
}

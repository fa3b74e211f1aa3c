/// The public half of a person's recovery root, which the control log names.
package struct RecoveryPublicKeys: Hashable, Sendable {
  /// The key that verifies signatures by the recovery words (URK_sign).
  package let signingKey: SigningPublicKey
  /// The key to which every epoch is wrapped, in addition to the devices' keys (URK_box).
  package let boxKey: BoxPublicKey
  /// BLAKE2b-128("HRTH/recovery-id/v1" ‖ sign ‖ box), 16 bytes: identifies the recovery words.
  package let recoveryID: [UInt8]

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
    recoveryID = DevicePublicKeys.id("HRTH/recovery-id/v1", signingKey, boxKey)
  }
}

/// A person's recovery root: every key derived from the twelve words.
///
/// It is never stored on a device. A device makes it when words are drawn, keeps ``publicKeys`` and
/// ``capsuleAccess``, and discards it. Entering the words makes it again.
package final class RecoveryRoot: Sendable, Redacted {
  /// The length of the secret that the words encode.
  package static let entropyBytes = 16
  /// The public half.
  package let publicKeys: RecoveryPublicKeys
  /// The pair to which epochs and zone secrets are sealed (URK_box).
  package let boxPair: BoxKeyPair
  /// The location and the key of the recovery bundle; devices may keep this.
  package let capsuleAccess: RecoveryCapsuleAccess
  private let signingPair: SigningKeyPair

  /// Derives the keys from 16 secret bytes.
  /// - Throws: `badLength`, `outOfMemory`.
  package init(entropy: SecretBytes) throws {
    try CryptoError.require("A recovery secret", entropy.count, equals: Self.entropyBytes)
    let root = try SecretKey { out in
      var hasher = Blake2b.Hasher(count: SecretKey.count)
      hasher.update("HRTH/recovery/v1" as Domain)
      entropy.withUnsafeBytes { hasher.update($0) }
      hasher.finalize(into: out)
    }
    signingPair = try SigningKeyPair(seed: root.derive(id: 1, context: "HRTHrecs"))
    boxPair = try BoxKeyPair(seed: root.derive(id: 2, context: "HRTHrecb"))
    capsuleAccess = try RecoveryCapsuleAccess(secret: root.derive(id: 4, context: "HRTHrecc"))
    publicKeys = RecoveryPublicKeys(signingPair.publicKey, boxPair.publicKey)
  }

  /// The recovery bundle's location on every transport: 16 bytes without meaning to the transport.
  package var locator: [UInt8] { capsuleAccess.locator }

  /// Signs one canonical message, given in parts (see ``SigningKeyPair/sign(domain:_:)``).
  package func sign(domain: Domain, _ parts: [UInt8]...) -> [UInt8] {
    Blake2b.array(Signature.count) {
      signingPair.sign(domain, digest: Signature.digest(parts), into: $0)
    }
  }

  /// Opens a box sealed to these words.
  /// - Throws: `authenticationFailed`.
  package func openSealed(_ sealed: [UInt8]) throws -> [UInt8] {
    try SealedBox.open(sealed, with: boxPair)
  }

  /// Opens an epoch's key that ``EpochKey/sealKey(to:)`` wrapped to these words, and checks that it
  /// is the announced one.
  /// - Throws: `authenticationFailed` if the box is for somebody else or contains another key.
  package func openEpochKey(
    _ sealed: [UInt8], expectingID id: [UInt8], groupID: [UInt8], zoneID: [UInt8]
  ) throws -> EpochKey {
    try EpochKey.openKey(
      sealed, with: boxPair, expectingID: id, groupID: groupID, zoneID: zoneID)
  }

  /// Opens a zone's secret that ``ZoneSecret/seal(to:)`` sealed to these words.
  /// - Throws: `authenticationFailed` if the box is for somebody else or of another zone.
  package func openZoneSecret(_ sealed: [UInt8], expectingTag zoneTag: Bytes16) throws
    -> ZoneSecret
  {
    try ZoneSecret.open(sealed, with: boxPair, expectingTag: zoneTag)
  }

  /// The pseudonymous pair that authenticates the recovery words to one relay.
  ///
  /// The household's managers list it while devices still exist. Two relays cannot discover that
  /// they serve the same person.
  /// - Throws: `outOfMemory`.
  package func relayPair(relayID: [UInt8]) throws -> SigningKeyPair {
    try SigningKeyPair(
      blinding: signingPair,
      by: RelayPseudonym.factor(of: publicKeys.signingKey, relayID: relayID))
  }
}

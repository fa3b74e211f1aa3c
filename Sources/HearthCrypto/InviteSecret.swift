/// The public half of an invite, which the household's control log names.
package struct InvitePublicKeys: Hashable, Sendable {
  /// The key that verifies a joiner's request.
  package let signingKey: SigningPublicKey
  /// The key to which an `auto` invite's grant is sealed.
  package let boxKey: BoxPublicKey
  /// BLAKE2b-128("HRTH/invite-id/v1" ‖ sign ‖ box), 16 bytes.
  package let inviteID: [UInt8]

  /// Checks both keys.
  /// - Throws: `badKey`, `badLength`.
  package init(validating sign: [UInt8], box: [UInt8]) throws {
    self.init(try SigningPublicKey(validating: sign), try BoxPublicKey(validating: box))
  }

  init(_ signingKey: SigningPublicKey, _ boxKey: BoxPublicKey) {
    self.signingKey = signingKey
    self.boxKey = boxKey
    inviteID = DevicePublicKeys.id("HRTH/invite-id/v1", signingKey, boxKey)
  }

  /// Verifies that whoever holds the invite made this request.
  /// - Throws: `badSignature`.
  package func verifyJoin(_ signature: [UInt8], _ joinHash: [UInt8]) throws {
    try Signature.verify(signature, domain: InviteSecret.joinDomain, joinHash, by: signingKey)
  }
}

/// The secret of an invite: a seed of 16 bytes, and the keys that follow from it.
///
/// Whoever holds the seed can join, while every other device is offline. The seed travels in a
/// link or a QR code; nothing derived from it tells it.
package final class InviteSecret: Sendable, Redacted {
  /// The length of a seed.
  package static let seedBytes = 16
  static let joinDomain: Domain = "HRTH/join/v1"

  /// The public half.
  package let publicKeys: InvitePublicKeys
  /// The pair to which grants are sealed.
  package let boxPair: BoxKeyPair
  /// Where the capsule lies at a relay: 16 bytes that mean nothing to the relay.
  package let rendezvousID: [UInt8]
  /// The key of the capsule.
  package let capsuleKey: SecretKey
  /// The root of the access key to the mailbox in which the capsule lies.
  package let relayAccessRoot: RelayAccessRoot
  private let signingPair: SigningKeyPair
  private let seed: SecretBytes

  /// Derives the keys of a seed.
  /// - Throws: `badLength` unless the seed has 16 bytes, `outOfMemory`.
  package init(seed: SecretBytes) throws {
    try CryptoError.require("An invite seed", seed.count, equals: Self.seedBytes)
    let root = try SecretKey { out in
      var hasher = Blake2b.Hasher(count: SecretKey.count)
      hasher.update("HRTH/invite/v1" as Domain)
      seed.withUnsafeBytes { hasher.update($0) }
      hasher.finalize(into: out)
    }
    self.seed = seed
    signingPair = try SigningKeyPair(seed: root.derive(id: 1, context: "HRTHinvs"))
    boxPair = try BoxKeyPair(seed: root.derive(id: 2, context: "HRTHinvb"))
    rendezvousID = root.withUnsafeBytes { root in
      Blake2b.array(16) { KDF.derive(from: root, 3, "HRTHinvr", into: $0) }
    }
    capsuleKey = try root.derive(id: 4, context: "HRTHinvc")
    relayAccessRoot = try root.withUnsafeBytes { try RelayAccessRoot(from: $0, id: 5) }
    publicKeys = InvitePublicKeys(signingPair.publicKey, boxPair.publicKey)
  }

  /// A new random invite.
  /// - Throws: `outOfMemory`.
  package static func random() throws -> InviteSecret {
    try InviteSecret(seed: .random(count: seedBytes))
  }

  /// The secret of the invite that goes with this one, to the private database of the person whose
  /// further device this one lets in.
  ///
  /// Whoever has the link has both; neither tells the other to those who read a group's log.
  /// - Throws: `outOfMemory`.
  package func companion() throws -> InviteSecret {
    try InviteSecret(
      seed: SecretBytes(count: Self.seedBytes) { out in
        var hasher = Blake2b.Hasher(count: Self.seedBytes)
        hasher.update("HRTH/invite-companion/v1" as Domain)
        seed.withUnsafeBytes { hasher.update($0) }
        hasher.finalize(into: out)
      })
  }

  /// Reads an invite as typed or scanned (see ``InviteText``).
  /// - Throws: `badLength`, `malformed`, with words that help a person to find the mistake.
  package convenience init(text: String) throws {
    var bytes = try InviteText.decode(text)
    try self.init(seed: SecretBytes(consuming: &bytes))
  }

  /// The 28 characters of the invite.
  ///
  /// Necessarily an ordinary string, since it goes to a screen or into a link: show it, then let
  /// go of it.
  package var text: String {
    var bytes = seed.withUnsafeBytes { [UInt8]($0) }
    defer { zeroise(&bytes) }
    return InviteText.encode(bytes)
  }

  /// Signs the hash of a whole join request, the joiner's keys included.
  ///
  /// A proof over less could be seen and presented again with other keys.
  package func sign(_ joinHash: [UInt8]) -> [UInt8] {
    signingPair.sign(domain: Self.joinDomain, joinHash)
  }
}

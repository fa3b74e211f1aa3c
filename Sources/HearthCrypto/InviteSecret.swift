/// The public half of an invitation, which the household's control log names.
package struct InvitePublicKeys: Hashable, Sendable {
  /// The key that verifies a joiner's request.
  package let signingKey: SigningPublicKey
  /// The key to which an `auto` invitation's grant is sealed.
  package let boxKey: BoxPublicKey
  /// BLAKE2b-128("HRTH/invite-id/v1" ‖ sign ‖ box), 16 bytes.
  package let inviteID: [UInt8]
  /// The domain in which the location of an invitation's bundle is derived from the invite id.
  package static let placeDomain: Domain = "HRTH/invite-place/v1"

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

  /// Verifies that the invitation's holder made this request.
  /// - Throws: `badSignature`.
  package func verifyJoin(_ signature: [UInt8], _ joinHash: [UInt8]) throws {
    try Signature.verify(signature, domain: InviteSecret.joinDomain, joinHash, by: signingKey)
  }
}

/// The secret of an invitation: a seed of 16 bytes, and the keys derived from it.
///
/// A person with the seed can join while every other device is offline. The seed travels in a link
/// or a QR code. Nothing derived from it reveals it.
package final class InviteSecret: Sendable, Redacted {
  /// The length of a seed.
  package static let seedBytes = 16
  static let joinDomain: Domain = "HRTH/join/v1"

  /// The public half.
  package let publicKeys: InvitePublicKeys
  /// The pair to which grants are sealed.
  package let boxPair: BoxKeyPair
  /// The location of the invitation bundle: 16 bytes without meaning to a folder or relay.
  ///
  /// It follows from the invite id. So whoever reads the control log can find the bundle of each of
  /// its invitations, and can name no other file as one.
  package let rendezvousID: [UInt8]
  /// The key of the invitation bundle.
  package let capsuleKey: SecretKey
  /// The root of the access key to the mailbox of the invitation bundle.
  package let relayAccessRoot: RelayAccessRoot
  private let signingPair: SigningKeyPair
  private let seed: SecretBytes

  /// Derives the keys from a seed.
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
    capsuleKey = try root.derive(id: 4, context: "HRTHinvc")
    relayAccessRoot = try root.withUnsafeBytes { try RelayAccessRoot(from: $0, id: 5) }
    publicKeys = InvitePublicKeys(signingPair.publicKey, boxPair.publicKey)
    rendezvousID = DerivedID.make(domain: InvitePublicKeys.placeDomain, publicKeys.inviteID)
  }

  /// Makes a new random invitation.
  /// - Throws: `outOfMemory`.
  package static func random() throws -> InviteSecret {
    try InviteSecret(seed: .random(count: seedBytes))
  }

  /// The secret of the companion invitation to the private database of a person, whose further
  /// device this invitation admits.
  ///
  /// Everybody with the link has both. Readers of one group's log cannot derive the other
  /// invitation.
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

  /// Reads a typed or scanned invitation (see ``InviteText``).
  /// - Throws: `badLength`, `malformed`, with a message that helps a person to find the mistake.
  package convenience init(text: String) throws {
    var bytes = try InviteText.decode(text)
    try self.init(seed: SecretBytes(consuming: &bytes))
  }

  /// The 28 characters of the invitation.
  ///
  /// They are necessarily an ordinary string, since they go to a screen or into a link. Show the
  /// string, then release it.
  package var text: String {
    var bytes = seed.withUnsafeBytes { [UInt8]($0) }
    defer { zeroise(&bytes) }
    return InviteText.encode(bytes)
  }

  /// Signs the hash of a whole join request, including the joiner's keys.
  ///
  /// A proof over less could be intercepted and presented again with other keys.
  package func sign(_ joinHash: [UInt8]) -> [UInt8] {
    signingPair.sign(domain: Self.joinDomain, joinHash)
  }
}

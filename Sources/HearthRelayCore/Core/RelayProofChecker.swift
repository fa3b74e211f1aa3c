import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// Checks proofs of keys against mailboxes, so that refusals take as long as admissions.
struct RelayProofChecker {
  /// What a proof gives its session.
  struct Right {
    /// The right by which the session works on the mailbox.
    let authority: RelayAuthority
    /// The own key that was proven; empty for none.
    let author: [UInt8]
  }

  /// A key of a mailbox.
  private struct Found {
    let key: [UInt8]
    /// The authority that the key gives.
    let authority: RelayAuthority
    /// The same key if it is a device's own; else empty.
    let own: [UInt8]
  }

  private let identity: RelayIdentity

  init(_ identity: RelayIdentity) {
    self.identity = identity
  }

  /// The id of the key that a challenge names; a decoy's if there is no mailbox.
  func challengedKeyID(of mailbox: RelayMailbox?, named name: Identifier) -> Bytes16 {
    // Both ids are computed, whichever is sent, so that both cases take equally long.
    let decoy = RelayAccess.decoyKeyID(mailbox: name.bytes, secret: identity.decoySecret)
    let real = RelayAccess.keyID(of: mailbox?.accessKey ?? identity.decoyKey)
    return mailbox == nil ? decoy : real
  }

  /// Returns what a proof gives; nil if it proves nothing, or if there is no mailbox.
  func right(
    of proof: RelayProof, nonce: Bytes32, to mailbox: RelayMailbox?, named name: Identifier
  ) -> Right? {
    let found = mailbox.flatMap { key(proof.keyID, of: $0) }
    let binding = binding(relayNonce: nonce, clientNonce: proof.clientNonce)
    let isAuthor = isProof(of: proof.author, name, binding)
    // Without a key, the proof is checked against a decoy, so that a refusal takes equally long.
    let isProven = isProof(proof.signature, of: found?.key ?? identity.decoyKey, name, binding)
    guard isProven, isAuthor, let found else { return nil }
    return Right(authority: found.authority, author: proof.author?.key ?? found.own)
  }

  /// Whether a creation is signed by both of its keys, and its creator may use the mailbox's name.
  func isProven(_ creation: RelayCreation, nonce: Bytes32, of mailbox: Identifier) -> Bool {
    guard isOwnName(mailbox, creation) else { return false }
    let binding = binding(relayNonce: nonce, clientNonce: creation.clientNonce)
    let signatures = [
      (creation.accessSignature, creation.accessKey),
      (creation.managerSignature, creation.managerKey),
    ]
    return signatures.allSatisfy { signature, key in
      guard let key = try? SigningPublicKey(validating: key) else { return false }
      return
        (try? RelayAccess.verifyCreation(
          signature, creation.signed, mailbox: mailbox.bytes, binding: binding, key: key)) != nil
    }
  }

  /// Whether the creator may use the mailbox's name.
  ///
  /// A catalogue's name derives from the publisher's key, so that nobody takes another's.
  private func isOwnName(_ mailbox: Identifier, _ creation: RelayCreation) -> Bool {
    creation.kind != .catalogue
      || mailbox
        == CatalogueReference.id(publisher: creation.managerKey, name: creation.catalogueName)
  }

  private func binding(relayNonce: Bytes32, clientNonce: Bytes32) -> RelayAccess.Binding {
    RelayAccess.Binding(
      relayID: identity.relayID, pin: identity.pin, relayNonce: relayNonce,
      clientNonce: clientNonce)
  }

  /// Returns the key with an id.
  ///
  /// A removed key is accepted as a proof all the same, so that its holder is notified of the
  /// removal.
  private func key(_ keyID: Bytes16, of mailbox: RelayMailbox) -> Found? {
    if RelayAccess.keyID(of: mailbox.accessKey) == keyID {
      return Found(
        key: mailbox.accessKey, authority: .access(generation: mailbox.accessGeneration), own: [])
    }
    let seats = mailbox.roster.seats + (mailbox.parentRoster?.seats ?? [])
    guard let key = seats.first(where: { RelayAccess.keyID(of: $0.seat.key) == keyID })?.seat.key
    else { return nil }
    switch mailbox.rank(of: key) {
    case .manager: return Found(key: key, authority: .manager(key), own: key)
    case .author, .struck: return Found(key: key, authority: .author(key), own: key)
    case .guest: return nil
    }
  }

  private func isProof(
    of author: RelayAuthorProof?, _ mailbox: Identifier, _ binding: RelayAccess.Binding
  ) -> Bool {
    guard let author else { return true }
    guard let key = try? SigningPublicKey(validating: author.key) else { return false }
    return
      (try? RelayAccess.verifyAuthor(
        author.signature, mailbox: mailbox.bytes, binding: binding, key: key)) != nil
  }

  private func isProof(
    _ signature: [UInt8], of key: [UInt8], _ mailbox: Identifier, _ binding: RelayAccess.Binding
  ) -> Bool {
    guard let key = try? SigningPublicKey(validating: key) else { return false }
    return
      (try? RelayAccess.verify(signature, mailbox: mailbox.bytes, binding: binding, key: key))
      != nil
  }
}

/// Registration tokens: 16 random bytes that the operator distributes.
///
/// The log stores digests.
package enum RelayToken {
  /// The length of a token.
  package static let byteCount = 16

  /// BLAKE2b-256("HRTH/relay-token/v1" ‖ token).
  package static func digest(of token: [UInt8]) -> Bytes32 {
    Bytes32(exactly: Blake2b.hash(("HRTH/relay-token/v1" as Domain).bytes + token))
  }
}

/// The secret from which the access keys of mailboxes at relays are derived.
///
/// Everybody with the same epoch, invitation or recovery words derives the same secret. A pair
/// belongs to one mailbox at one relay only. No relay can therefore see from the keys which
/// mailboxes belong together, and a proof to one relay is worthless at another.
package final class RelayAccessRoot: Sendable, Redacted {
  private let secret: SecretKey

  init(secret: SecretKey) { self.secret = secret }

  init(from key: UnsafeRawBufferPointer, id: UInt64) throws {
    secret = try SecretKey { KDF.derive(from: key, id, "HRTHracc", into: $0) }
  }

  /// The Ed25519 pair that opens one mailbox at one relay.
  ///
  /// - Parameters:
  ///   - mailbox: The mailbox's name, 16 bytes.
  ///   - relayID: The relay's id, 32 bytes.
  /// - Throws: `badLength`, `outOfMemory`.
  package func pair(mailbox: [UInt8], relayID: [UInt8]) throws -> SigningKeyPair {
    try CryptoError.require("A mailbox name", mailbox.count, equals: RelayAccess.mailboxBytes)
    try CryptoError.require("A relay id", relayID.count, equals: RelayAccess.relayIDBytes)
    let seed = try SecretKey { out in
      var hasher = Blake2b.Hasher(count: SecretKey.count, key: secret)
      hasher.update("HRTH/relay-access-key/v1" as Domain)
      hasher.updateDelimited(relayID)
      hasher.updateDelimited(mailbox)
      hasher.finalize(into: out)
    }
    return try SigningKeyPair(seed: seed)
  }

  /// The root of the mailbox for requests to join by one invitation.
  ///
  /// The invitation's holder and the readers of the group's log know its public keys; nobody else
  /// does. The root keeps strangers out; the mailbox's content is also sealed.
  /// - Throws: `outOfMemory`.
  package static func ofJoinRequests(sign: [UInt8], box: [UInt8]) throws -> RelayAccessRoot {
    let secret = try SecretKey { out in
      var hasher = Blake2b.Hasher(count: SecretKey.count)
      hasher.update("HRTH/relay-joins/v1" as Domain)
      hasher.updateDelimited(sign)
      hasher.updateDelimited(box)
      hasher.finalize(into: out)
    }
    return RelayAccessRoot(secret: secret)
  }

  /// Seals this root, with the 32 bytes of its epoch's id, to a permitted reader without that
  /// epoch's key; 112 bytes.
  /// - Throws: `badKey`, `badLength`.
  package func seal(epoch id: [UInt8], to key: BoxPublicKey) throws -> [UInt8] {
    try CryptoError.require("An epoch id", id.count, equals: 32)
    return try withZeroisedMemory(2 * SecretKey.count) { memory in
      secret.withUnsafeBytes { memory.part(0..<SecretKey.count).copyMemory(from: $0) }
      memory.part(SecretKey.count..<memory.count).copyBytes(from: id)
      return try SealedBox.seal(UnsafeRawBufferPointer(memory), to: key)
    }
  }

  /// Opens the output of ``seal(epoch:to:)``.
  /// - Throws: `authenticationFailed`, `badLength`.
  package static func open(_ sealed: [UInt8], with pair: BoxKeyPair) throws -> (
    root: RelayAccessRoot, epoch: [UInt8]
  ) {
    let opened = try SealedBox.openSecret(sealed, with: pair)
    try CryptoError.require("A granted key", opened.count, equals: 2 * SecretKey.count)
    return try opened.withUnsafeBytes { bytes in
      let secret = try SecretKey { $0.copyMemory(from: bytes.part(0..<SecretKey.count)) }
      return (
        RelayAccessRoot(secret: secret),
        Array(bytes.part(SecretKey.count..<bytes.count))
      )
    }
  }
}

extension EpochKey {
  /// The root of the access keys that holders of this control epoch share.
  /// - Throws: `outOfMemory`.
  package func relayAccessRoot() throws -> RelayAccessRoot {
    try withRoot { try RelayAccessRoot(from: $0, id: 6) }
  }
}

extension RecoveryCapsuleAccess {
  /// The root of the access key to the mailbox of the recovery bundle.
  /// - Throws: `outOfMemory`.
  package func relayAccessRoot() throws -> RelayAccessRoot {
    try withSecret { try RelayAccessRoot(from: $0, id: 3) }
  }
}

/// The proof by which a client shows a relay that it holds a mailbox's key.
///
/// The proof is Ed25519 over its own domain, the relay's id, the digest of the certificate in the
/// client's TLS handshake, one-use nonces of both sides, and the mailbox. (RFC 8446 gives no
/// exporter through swift-nio-ssl, so the proof is bound to the certificate.) A captured proof fits
/// no other relay, certificate, mailbox or moment.
package enum RelayAccess {
  /// The length of a mailbox's name.
  package static let mailboxBytes = 16
  /// The length of a relay's id.
  package static let relayIDBytes = 32
  /// The length of each side's nonce.
  package static let nonceBytes = 32
  /// The length of a certificate's digest.
  package static let pinBytes = 32
  /// The length of the id of an access key.
  package static let keyIDBytes = 16

  static let proofDomain: Domain = "HRTH/relay-access/v1"
  static let authorDomain: Domain = "HRTH/relay-author/v1"
  static let creationDomain: Domain = "HRTH/relay-create/v1"

  /// The context that a proof is bound to, apart from the mailbox.
  package struct Binding: Hashable, Sendable {
    /// The relay's id, from its welcome.
    package let relayID: Bytes32
    /// ``RelayAccess/pin(ofCertificate:)`` of the certificate that the client saw or the relay
    /// presented.
    package let pin: Bytes32
    /// The relay's one-use nonce, from its challenge.
    package let relayNonce: Bytes32
    /// The client's nonce.
    package let clientNonce: Bytes32

    package init(relayID: Bytes32, pin: Bytes32, relayNonce: Bytes32, clientNonce: Bytes32) {
      self.relayID = relayID
      self.pin = pin
      self.relayNonce = relayNonce
      self.clientNonce = clientNonce
    }

    fileprivate var bytes: [UInt8] {
      relayID.array + pin.array + relayNonce.array + clientNonce.array
    }
  }

  /// The permanent properties of a mailbox, set at its creation.
  package struct Creation: Hashable, Sendable {
    /// The kind of mailbox.
    package let kind: UInt8
    /// The first access key.
    package let accessKey: [UInt8]
    /// The first manager's key.
    package let managerKey: [UInt8]
    /// The registration credential; empty if none is needed.
    package let credential: [UInt8]
    /// The mailbox's relation to a parent mailbox, and the parent's name; empty without a parent.
    package let parent: [UInt8]

    package init(
      kind: UInt8, accessKey: [UInt8], managerKey: [UInt8], credential: [UInt8],
      parent: [UInt8] = []
    ) {
      self.kind = kind
      self.accessKey = accessKey
      self.managerKey = managerKey
      self.credential = credential
      self.parent = parent
    }

    fileprivate var digest: [UInt8] {
      var hasher = Blake2b.Hasher(count: 32)
      hasher.update(UInt64(kind))
      hasher.updateDelimited(accessKey)
      hasher.updateDelimited(managerKey)
      hasher.updateDelimited(credential)
      hasher.updateDelimited(parent)
      return hasher.finalize()
    }
  }

  /// BLAKE2b-256("HRTH/relay-pin/v1" ‖ DER): the pin in a relay address.
  package static func pin(ofCertificate der: [UInt8]) -> Bytes32 {
    digest("HRTH/relay-pin/v1", der)
  }

  /// BLAKE2b-256("HRTH/relay-id/v1" ‖ identity key): the name of a relay, independent of its
  /// certificate.
  package static func relayID(ofIdentity key: SigningPublicKey) -> Bytes32 {
    digest("HRTH/relay-id/v1", key.bytes)
  }

  /// BLAKE2b-128("HRTH/relay-key-id/v1" ‖ key): the name of the requested key in a challenge.
  package static func keyID(of key: [UInt8]) -> Bytes16 {
    short(Blake2b.hash(("HRTH/relay-key-id/v1" as Domain).bytes + key, count: keyIDBytes))
  }

  /// The key id that a relay returns for a mailbox that does not exist.
  ///
  /// It is always the same for one name. Without the relay's secret it looks like any other key id.
  package static func decoyKeyID(mailbox: [UInt8], secret: SecretKey) -> Bytes16 {
    short(secret.mac(count: keyIDBytes, domain: "HRTH/relay-decoy/v1", mailbox))
  }

  /// Proves possession of a mailbox's key; 64 bytes.
  package static func prove(
    _ pair: SigningKeyPair, mailbox: [UInt8], binding: Binding
  ) -> [UInt8] {
    let key = keyID(of: pair.publicKey.bytes).array
    return pair.sign(domain: proofDomain, binding.bytes, mailbox, key)
  }

  /// Verifies a proof of ``prove(_:mailbox:binding:)``.
  /// - Throws: `badSignature`.
  package static func verify(
    _ proof: [UInt8], mailbox: [UInt8], binding: Binding, key: SigningPublicKey
  ) throws {
    try Signature.verify(
      proof, domain: proofDomain, binding.bytes, mailbox, keyID(of: key.bytes).array, by: key)
  }

  /// Proves possession of a device's own key, in addition to a mailbox's access key; 64 bytes.
  package static func proveAuthor(
    _ pair: SigningKeyPair, mailbox: [UInt8], binding: Binding
  ) -> [UInt8] {
    pair.sign(domain: authorDomain, binding.bytes, mailbox, pair.publicKey.bytes)
  }

  /// Verifies a proof of ``proveAuthor(_:mailbox:binding:)``.
  /// - Throws: `badSignature`.
  package static func verifyAuthor(
    _ proof: [UInt8], mailbox: [UInt8], binding: Binding, key: SigningPublicKey
  ) throws {
    try Signature.verify(
      proof, domain: authorDomain, binding.bytes, mailbox, key.bytes, by: key)
  }

  /// Signs the creation of a mailbox, once with each of the two keys; 64 bytes.
  package static func signCreation(
    _ creation: Creation, with pair: SigningKeyPair, mailbox: [UInt8], binding: Binding
  ) -> [UInt8] {
    let key = keyID(of: pair.publicKey.bytes).array
    return pair.sign(domain: creationDomain, binding.bytes, mailbox, key, creation.digest)
  }

  /// Verifies a signature of ``signCreation(_:with:mailbox:binding:)``.
  /// - Throws: `badSignature`.
  package static func verifyCreation(
    _ signature: [UInt8], _ creation: Creation, mailbox: [UInt8], binding: Binding,
    key: SigningPublicKey
  ) throws {
    try Signature.verify(
      signature, domain: creationDomain, binding.bytes, mailbox, keyID(of: key.bytes).array,
      creation.digest, by: key)
  }

  private static func digest(_ domain: Domain, _ bytes: [UInt8]) -> Bytes32 {
    var hasher = Blake2b.Hasher(count: Bytes32.count)
    hasher.update(domain)
    hasher.update(bytes)
    return hasher.finalize().withUnsafeBytes { Bytes32(loading: $0) }
  }

  private static func short(_ bytes: [UInt8]) -> Bytes16 {
    bytes.withUnsafeBytes { Bytes16(loading: $0) }
  }
}

/// The keys of a publisher of catalogues: a signing pair, and the root of the keys to the
/// mailboxes.
///
/// All of them are derived from one master secret, the only part that must be kept.
package final class PublisherIdentity: Sendable, Redacted {
  /// The Ed25519 pair; readers trust its public half.
  package let signingPair: SigningKeyPair
  /// The root of the keys that open this publisher's mailboxes for writing.
  package let accessRoot: RelayAccessRoot
  private let master: SecretKey

  private static let localDomain: Domain = "HRTH/local-publisher/v1"
  private static let recordDomain: Domain = "HRTH/public-record/v1"
  private static let headDomain: Domain = "HRTH/public-head/v1"

  /// The public half.
  package var publicKey: SigningPublicKey { signingPair.publicKey }

  /// Derives a publisher's keys from its master secret.
  /// - Throws: `outOfMemory`.
  package init(master: SecretKey) throws {
    self.master = master
    signingPair = try SigningKeyPair(seed: master.derive(id: 1, context: "HRTHpubl"))
    accessRoot = RelayAccessRoot(secret: try master.derive(id: 2, context: "HRTHpubl"))
  }

  /// Makes a new publisher.
  /// - Throws: `outOfMemory`.
  package static func generate() throws -> PublisherIdentity {
    try PublisherIdentity(master: .random())
  }

  /// The master secret, for a key file.
  /// - Throws: `outOfMemory`.
  package func secretBytes() throws -> SecretBytes { try SecretBytes(master) }

  /// Seals the master secret for a device's own database; 72 bytes.
  package func protected(by device: DeviceIdentity) -> [UInt8] {
    master.withUnsafeBytes {
      AEAD.seal(
        $0, associatedData: PublisherIdentity.localDomain.bytes, key: device.localKey)
    }
  }

  /// Opens the output of ``protected(by:)``.
  /// - Throws: `authenticationFailed` for another device or altered bytes.
  package static func recovered(
    _ bytes: [UInt8], by device: DeviceIdentity
  ) throws -> PublisherIdentity {
    guard bytes.count == SecretKey.count + AEAD.overheadBytes else {
      throw CryptoError.authentication
    }
    let master = try bytes.withUnsafeBytes { sealed in
      try SecretKey {
        try AEAD.open(
          sealed, associatedData: localDomain.bytes, key: device.localKey, into: $0)
      }
    }
    return try PublisherIdentity(master: master)
  }

  /// Signs one record of a catalogue, 64 bytes.
  ///
  /// - Parameters:
  ///   - record: The record's canonical bytes.
  ///   - catalogue: The catalogue's id, 16 bytes.
  package func sign(record: [UInt8], of catalogue: [UInt8]) -> [UInt8] {
    signingPair.sign(domain: PublisherIdentity.recordDomain, catalogue, record)
  }

  /// Signs a version of a catalogue, 64 bytes.
  ///
  /// - Parameters:
  ///   - head: The head's canonical bytes.
  ///   - catalogue: The catalogue's id, 16 bytes.
  package func sign(head: [UInt8], of catalogue: [UInt8]) -> [UInt8] {
    signingPair.sign(domain: PublisherIdentity.headDomain, catalogue, head)
  }

  /// Verifies a signature of ``sign(record:of:)``; about 0.2 ms.
  /// - Throws: `badSignature`.
  package static func verify(
    _ signature: [UInt8], record: [UInt8], of catalogue: [UInt8], by key: SigningPublicKey
  ) throws {
    try Signature.verify(signature, domain: recordDomain, catalogue, record, by: key)
  }

  /// Verifies a signature of ``sign(head:of:)``; about 0.2 ms.
  /// - Throws: `badSignature`.
  package static func verify(
    _ signature: [UInt8], head: [UInt8], of catalogue: [UInt8], by key: SigningPublicKey
  ) throws {
    try Signature.verify(signature, domain: headDomain, catalogue, head, by: key)
  }
}

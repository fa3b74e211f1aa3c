/// The constant secret of a zone.
///
/// It names the zone and its authors to outsiders, and keys the hash chains.
///
/// The names and hashes have no meaning to anybody without the secret. It lives as long as the
/// zone, so it gives no secrecy against former members. Epochs give that secrecy, and chain hashes
/// are masked in headers for this reason (see ``EpochKey/link(_:)``).
package final class ZoneSecret: Sendable, Redacted {
  /// BLAKE2b-128(tag key, "HRTH/zone-tag/v1"): the zone's opaque name on a relay.
  package let zoneTag: Bytes16
  private let root: SecretKey
  private let memory: GuardedMemory
  private static let authorRange = 0..<SecretKey.count
  private static let chainRange = SecretKey.count..<(2 * SecretKey.count)

  /// Makes the zone secret from a known key.
  /// - Throws: `outOfMemory`.
  package init(secret: SecretKey) throws {
    root = secret
    memory = try GuardedMemory(count: 2 * SecretKey.count) { all in
      secret.withUnsafeBytes { key in
        KDF.derive(from: key, 1, "HRTHtag1", into: all.part(Self.authorRange))
        KDF.derive(from: key, 2, "HRTHchn1", into: all.part(Self.chainRange))
      }
    }
    zoneTag = memory.withUnsafeBytes { Self.tag($0.part(Self.authorRange), "HRTH/zone-tag/v1", []) }
  }

  /// Makes a new random zone secret.
  /// - Throws: `outOfMemory`.
  package static func random() throws -> ZoneSecret { try ZoneSecret(secret: .random()) }

  /// The opaque wire name of a device in this zone: BLAKE2b-128(tag key, "HRTH/author-tag/v1" ‖
  /// device id).
  /// - Throws: `badLength` unless the id has 16 bytes.
  package func authorTag(deviceID: [UInt8]) throws -> Bytes16 {
    try CryptoError.require("A device id", deviceID.count, equals: 16)
    return memory.withUnsafeBytes {
      Self.tag($0.part(Self.authorRange), "HRTH/author-tag/v1", deviceID)
    }
  }

  /// The hash that chains an author's log: BLAKE2b-256(chain key, "HRTH/change/v1" ‖ bytes).
  ///
  /// The change bytes contain the preceding hash, so one hash commits to the whole log. About 1 µs
  /// for 300 bytes.
  package func chainHash(of changeBytes: UnsafeRawBufferPointer) -> [UInt8] {
    Blake2b.array(32) { out in chainHash(of: changeBytes, into: out) }
  }

  /// The chain hash of a change in an array.
  package func chainHash(of changeBytes: [UInt8]) -> [UInt8] {
    changeBytes.withUnsafeBytes { chainHash(of: $0) }
  }

  /// Writes the chain hash into 32 bytes of the caller, without allocation.
  package func chainHash(
    of changeBytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
  ) {
    memory.withUnsafeBytes { all in
      var hasher = Blake2b.Hasher(count: 32, rawKey: all.part(Self.chainRange))
      hasher.update(Self.changeDomain)
      hasher.update(changeBytes)
      hasher.finalize(into: out)
    }
  }

  private static let changeDomain: Domain = "HRTH/change/v1"

  private static func tag(
    _ key: UnsafeRawBufferPointer, _ domain: Domain, _ message: [UInt8]
  ) -> Bytes16 {
    var hasher = Blake2b.Hasher(count: 16, rawKey: key)
    hasher.update(domain)
    hasher.update(message)
    return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { out in
      hasher.finalize(into: out)
      return Bytes16(loading: UnsafeRawBufferPointer(out))
    }
  }

  // MARK: Handing over

  /// Seals the secret to a device or a person; 80 bytes.
  /// - Throws: `badKey`.
  package func seal(to key: BoxPublicKey) throws -> [UInt8] {
    try root.withUnsafeBytes { try SealedBox.seal($0, to: key) }
  }

  /// Opens a secret sealed by ``seal(to:)``.
  /// - Parameter zoneTag: The zone's known tag, which commits to the secret.
  /// - Throws: `authenticationFailed` if the box is for somebody else or of another zone.
  package static func open(_ sealed: [UInt8], with pair: BoxKeyPair, expectingTag zoneTag: Bytes16)
    throws -> ZoneSecret
  {
    let secret = try ZoneSecret(secret: SealedBox.openKey(sealed, with: pair))
    guard secret.zoneTag == zoneTag else { throw CryptoError.authentication }
    return secret
  }

  /// A copy of the secret, for a key file or a sealed grant.
  /// - Throws: `outOfMemory`.
  package func secretBytes() throws -> SecretBytes { try SecretBytes(root) }
}

/// The constant secret of a zone: it names the zone and its authors to outsiders and keys the
/// hash chains, all without meaning to whoever lacks it.
///
/// It lives as long as the zone, so it gives no secrecy against former members; that is the
/// business of epochs (and why chain hashes are masked in headers, see ``EpochKey/link(_:)``).
package final class ZoneSecret: Sendable, Redacted {
  /// BLAKE2b-128(tag key, "HRTH/zone-tag/v1"): the zone's opaque name on a relay.
  package let zoneTag: Bytes16
  private let root: SecretKey
  private let memory: GuardedMemory
  private static let authorRange = 0..<SecretKey.count
  private static let chainRange = SecretKey.count..<(2 * SecretKey.count)

  /// Makes the zone secret of a known key.
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

  /// A new random zone secret.
  /// - Throws: `outOfMemory`.
  package static func random() throws -> ZoneSecret { try ZoneSecret(secret: .random()) }

  /// The opaque name of a device inside this zone, on the wire: BLAKE2b-128(tag key,
  /// "HRTH/author-tag/v1" ‖ device id).
  /// - Throws: `badLength` unless the id has 16 bytes.
  package func authorTag(deviceID: [UInt8]) throws -> Bytes16 {
    try CryptoError.require("A device id", deviceID.count, equals: 16)
    return memory.withUnsafeBytes {
      Self.tag($0.part(Self.authorRange), "HRTH/author-tag/v1", deviceID)
    }
  }

  /// The hash that chains an author's log: BLAKE2b-256(chain key, "HRTH/change/v1" ‖ bytes).
  ///
  /// The change bytes hold the hash before them, so one hash commits to the whole log. About
  /// 1 µs for 300 bytes.
  package func chainHash(of changeBytes: UnsafeRawBufferPointer) -> [UInt8] {
    Blake2b.array(32) { out in chainHash(of: changeBytes, into: out) }
  }

  /// The same for an array.
  package func chainHash(of changeBytes: [UInt8]) -> [UInt8] {
    changeBytes.withUnsafeBytes { chainHash(of: $0) }
  }

  /// The same into 32 bytes of the caller, without allocation.
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
  /// - Throws: `authenticationFailed` when the box is for others or of another zone.
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

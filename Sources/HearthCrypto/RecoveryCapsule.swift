/// The location and the key of a person's recovery bundle, without the recovery words.
///
/// Devices keep it so that they can rewrite the bundle when the person joins a group, without the
/// words. It opens the bundle. Content that must stay closed to a lost device (epoch keys) is
/// therefore also sealed to the words inside the bundle.
package final class RecoveryCapsuleAccess: Sendable, Redacted {
  /// The bundle's location on every transport: 16 bytes without meaning to the transport.
  package let locator: [UInt8]
  let capsuleKey: SecretKey
  private let secret: SecretKey

  /// Derives the location and key from a stored secret (see ``secretBytes()``).
  /// - Throws: `outOfMemory`.
  package init(secret: SecretKey) throws {
    self.secret = secret
    locator = secret.withUnsafeBytes { secret in
      Blake2b.array(16) { KDF.derive(from: secret, 1, "HRTHrloc", into: $0) }
    }
    capsuleKey = try secret.derive(id: 2, context: "HRTHrcap")
  }

  /// A copy of the 32 secret bytes, for a key file or the private database.
  /// - Throws: `outOfMemory`.
  package func secretBytes() throws -> SecretBytes { try SecretBytes(secret) }

  func withSecret<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try secret.withUnsafeBytes(body)
  }
}

/// The recovery bundle: sealed bytes from which a new machine with the recovery words can restore
/// everything that the person had.
///
/// It is a ``Capsule`` (committing, so it opens under one key only), bound to its location and
/// padded to one of three sizes. It therefore reveals almost nothing about the number of groups.
/// Everybody with the access can write it, so a reader trusts only content that the groups' own
/// logs confirm.
package enum RecoveryCapsule {
  /// The sizes of the padded body; the sealed bundle is longer by ``Capsule/overheadBytes``.
  package static let sizeClasses = [4 << 10, 16 << 10, 64 << 10]
  /// The longest body: in the largest size, two bytes mark the start of the paddings.
  package static let maximumBodyBytes = (64 << 10) - 2
  private static let domain: Domain = "HRTH/recovery-capsule/v1"

  /// Seals a body.
  /// - Throws: `tooLarge` above ``maximumBodyBytes``.
  package static func seal(_ body: [UInt8], with access: RecoveryCapsuleAccess) throws -> [UInt8] {
    try seal(body, access, random: RandomBytes.make(AEAD.randomCount))
  }

  static func seal(
    _ body: [UInt8], _ access: RecoveryCapsuleAccess, random: [UInt8]
  ) throws -> [UInt8] {
    guard let size = sizeClass(body.count) else {
      throw CryptoError(
        .tooLarge,
        "A body of \(body.count) bytes exceeds a recovery bundle of \(maximumBodyBytes) bytes.")
    }
    var padded = body + [Padding.marker]
    padded.append(contentsOf: repeatElement(0, count: size - 1 - padded.count))
    defer { zeroise(&padded) }
    return try Capsule.seal(padded, access.capsuleKey, context(access), random: random)
  }

  /// Opens a recovery bundle.
  /// - Throws: `authenticationFailed` if it is of other words, of another location or altered;
  ///   `malformed`, `unsupportedType`, `tooLarge`.
  package static func open(_ bytes: [UInt8], with access: RecoveryCapsuleAccess) throws -> [UInt8] {
    guard bytes.count <= (sizeClasses.last ?? 0) + Capsule.overheadBytes else {
      throw CryptoError(
        .tooLarge, "A recovery bundle of \(bytes.count) bytes exceeds the largest size.")
    }
    var padded = try Capsule.open(
      bytes, key: access.capsuleKey, associatedData: context(access))
    defer { zeroise(&padded) }
    return try padded.withUnsafeBytes { padded in
      let count = try Padding.contentCount(padded) { sizeClass($0).map { $0 - 1 } ?? 0 }
      return [UInt8](padded.part(0..<count))
    }
  }

  /// The smallest size for a body and the two markers.
  private static func sizeClass(_ bodyCount: Int) -> Int? {
    sizeClasses.first { $0 - 2 >= bodyCount }
  }

  private static func context(_ access: RecoveryCapsuleAccess) -> [UInt8] {
    domain.bytes + access.locator
  }
}

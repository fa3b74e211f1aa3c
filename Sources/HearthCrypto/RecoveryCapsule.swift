/// Where a person's recovery capsule lies and the key it is sealed with, without the words.
///
/// Devices keep it so that they can write the capsule anew when the person joins a group, which
/// the words need not be typed for. It opens the capsule, so what must stay closed to a lost device
/// (epoch keys) is in addition sealed to the words inside.
package final class RecoveryCapsuleAccess: Sendable, Redacted {
  /// Where the capsule lies on every transport: 16 bytes that mean nothing to it.
  package let locator: [UInt8]
  let capsuleKey: SecretKey
  private let secret: SecretKey

  /// Derives place and key of a secret kept earlier (see ``secretBytes()``).
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

/// The sealed bytes that lead a bare machine with the words to everything the person had.
///
/// A ``Capsule`` (committing, so it opens under one key only) that is bound to its place and padded
/// to one of three sizes, so that it tells next to nothing about the number of groups. Whoever has
/// the access can write it, so a reader believes only what the groups' own logs confirm.
package enum RecoveryCapsule {
  /// The sizes of the padded body; a capsule is ``Capsule/overheadBytes`` longer.
  package static let sizeClasses = [4 << 10, 16 << 10, 64 << 10]
  /// The longest body: two bytes of the largest size mark where paddings begin.
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
        "A body of \(body.count) bytes exceeds a recovery capsule of \(maximumBodyBytes) bytes.")
    }
    var padded = body + [Padding.marker]
    padded.append(contentsOf: repeatElement(0, count: size - 1 - padded.count))
    defer { zeroise(&padded) }
    return try Capsule.seal(padded, access.capsuleKey, context(access), random: random)
  }

  /// Opens a capsule.
  /// - Throws: `authenticationFailed` when it is of other words, of another place or altered;
  ///   `malformed`, `unsupportedType`, `tooLarge`.
  package static func open(_ bytes: [UInt8], with access: RecoveryCapsuleAccess) throws -> [UInt8] {
    guard bytes.count <= (sizeClasses.last ?? 0) + Capsule.overheadBytes else {
      throw CryptoError(
        .tooLarge, "A recovery capsule of \(bytes.count) bytes exceeds the largest size.")
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

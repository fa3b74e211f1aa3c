/// One generation of a zone's key, with its working subkeys.
///
/// The id commits to the key (BLAKE2b is collision resistant). It is checked at every unwrap and is
/// part of the associated data of every envelope, so no ciphertext opens differently for two
/// members. All keys of an epoch share one guarded allocation, and so do epochs that are recovered
/// together: an allocation costs 80 microseconds, and a zone has hundreds of epochs after years.
package final class EpochKey: Sendable, Redacted {
  /// The group (household or person) the epoch belongs to, 16 bytes.
  package let groupID: [UInt8]
  /// The zone the epoch belongs to, 16 bytes.
  package let zoneID: [UInt8]
  /// BLAKE2b-256("HRTH/epoch-commit/v1" ‖ group ‖ zone, key = K_e), 32 bytes.
  package let id: [UInt8]
  /// BLAKE2b-128("HRTH/epoch-tag/v1" ‖ id): the part of the id that a relay sees.
  package let tag: Bytes16

  private let memory: GuardedMemory
  /// Where this epoch's keys begin in the memory.
  private let start: Int

  private static let byteCount = Slot.allCases.count * SecretKey.count

  private enum Slot: Int, CaseIterable {
    case root
    case envelope
    case blob
    case history
    case link

    var range: Range<Int> {
      rawValue * SecretKey.count..<(rawValue + 1) * SecretKey.count
    }
  }

  /// Makes an epoch from a known key.
  /// - Throws: `badLength` for ids that are not 16 bytes, `outOfMemory`.
  package convenience init(secret: SecretKey, groupID: [UInt8], zoneID: [UInt8]) throws {
    let memory = try GuardedMemory(count: EpochKey.byteCount) { all in
      secret.withUnsafeBytes { all.part(Slot.root.range).copyMemory(from: $0) }
      EpochKey.deriveKeys(in: all)
    }
    try self.init(memory, start: 0, groupID: groupID, zoneID: zoneID)
  }

  /// Makes epochs whose keys share one guarded allocation.
  ///
  /// - Parameter fill: Writes the key of the epoch with a number from 0.
  /// - Throws: `badLength` for ids that are not 16 bytes, `outOfMemory`, and the closure's errors.
  static func sharing(
    _ count: Int, groupID: [UInt8], zoneID: [UInt8],
    _ fill: (Int, UnsafeMutableRawBufferPointer) throws -> Void
  ) throws -> [EpochKey] {
    guard count > 0 else { return [] }
    let memory = try GuardedMemory(count: count * byteCount) { all in
      for number in 0..<count {
        let own = all.part(number * byteCount..<(number + 1) * byteCount)
        try fill(number, own.part(Slot.root.range))
        deriveKeys(in: own)
      }
    }
    return try (0..<count).map {
      try EpochKey(memory, start: $0 * byteCount, groupID: groupID, zoneID: zoneID)
    }
  }

  private init(
    _ memory: GuardedMemory, start: Int, groupID: [UInt8], zoneID: [UInt8]
  ) throws {
    try CryptoError.require("A group id", groupID.count, equals: 16)
    try CryptoError.require("A zone id", zoneID.count, equals: 16)
    self.groupID = groupID
    self.zoneID = zoneID
    self.memory = memory
    self.start = start
    id = memory.withUnsafeBytes {
      let own = $0.part(start..<start + EpochKey.byteCount)
      return EpochKey.commitment(to: own.part(Slot.root.range), groupID, zoneID)
    }
    tag = try Self.tag(ofID: id)
  }

  /// Derives the working keys of an epoch from its root.
  private static func deriveKeys(in own: UnsafeMutableRawBufferPointer) {
    let root = UnsafeRawBufferPointer(own.part(Slot.root.range))
    KDF.derive(from: root, 1, "HRTHenv1", into: own.part(Slot.envelope.range))
    KDF.derive(from: root, 2, "HRTHblb1", into: own.part(Slot.blob.range))
    KDF.derive(from: root, 3, "HRTHhis1", into: own.part(Slot.history.range))
    KDF.derive(from: root, 5, "HRTHlnk1", into: own.part(Slot.link.range))
  }

  /// Makes a new random epoch.
  /// - Throws: `badLength`, `outOfMemory`.
  package static func random(groupID: [UInt8], zoneID: [UInt8]) throws -> EpochKey {
    try EpochKey(secret: .random(), groupID: groupID, zoneID: zoneID)
  }

  /// Makes an epoch from an unwrapped key, and rejects a key that is not the announced one.
  /// - Throws: `authenticationFailed` if the commitment differs, `badLength`, `outOfMemory`.
  package convenience init(
    unwrapping secret: SecretKey, expectingID id: [UInt8], groupID: [UInt8], zoneID: [UInt8]
  ) throws {
    try self.init(secret: secret, groupID: groupID, zoneID: zoneID)
    try require(id)
  }

  /// Rejects a key that is not the announced one.
  /// - Throws: `authenticationFailed` if the commitment differs.
  func require(_ expected: [UInt8]) throws {
    let isExpected = expected.withUnsafeBytes { expected in
      id.withUnsafeBytes { constantTimeEquals($0, expected) }
    }
    guard isExpected else { throw CryptoError.authentication }
  }

  /// Makes an epoch from unwrapped bytes, which are zeroed, and checks the commitment.
  /// - Throws: `authenticationFailed`, `badLength`, `outOfMemory`.
  package convenience init(
    unwrapping bytes: inout [UInt8], expectingID id: [UInt8], groupID: [UInt8], zoneID: [UInt8]
  ) throws {
    try self.init(
      unwrapping: SecretKey(consuming: &bytes), expectingID: id, groupID: groupID, zoneID: zoneID)
  }

  /// The wire tag of an epoch id.
  /// - Throws: `badLength` unless the id has 32 bytes.
  package static func tag(ofID id: [UInt8]) throws -> Bytes16 {
    try CryptoError.require("An epoch id", id.count, equals: 32)
    return try Bytes16(Blake2b.hash(("HRTH/epoch-tag/v1" as Domain).bytes + id, count: 16))
  }

  private static func commitment(
    to key: UnsafeRawBufferPointer, _ groupID: [UInt8], _ zoneID: [UInt8]
  ) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: 32, rawKey: key)
    hasher.update("HRTH/epoch-commit/v1" as Domain)
    hasher.update(groupID)
    hasher.update(zoneID)
    return hasher.finalize()
  }

  private func withKey<Result>(
    _ slot: Slot, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try memory.withUnsafeBytes { all in
      try body(all.part(start + slot.range.lowerBound..<start + slot.range.upperBound))
    }
  }

  /// The key itself, for sealing it within this module.
  func withRoot<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withKey(.root, body)
  }

  private func copy(_ slot: Slot) throws -> SecretKey {
    try SecretKey { out in withKey(slot) { out.copyMemory(from: $0) } }
  }

  // MARK: Links and blobs

  /// Masks a chain hash for a clear header: BLAKE2b-256(K_link, "HRTH/link/v1" ‖ hash).
  ///
  /// Chain hashes never appear unmasked. Their key lives as long as the zone, so a long removed
  /// member could otherwise confirm a guess of new content. The mask changes with every epoch.
  /// - Throws: `badLength` unless the hash has 32 bytes.
  package func link(_ chainHash: [UInt8]) throws -> Bytes32 {
    try CryptoError.require("A chain hash", chainHash.count, equals: 32)
    return withKey(.link) { key in
      var hasher = Blake2b.Hasher(count: 32, rawKey: key)
      hasher.update("HRTH/link/v1" as Domain)
      hasher.update(chainHash)
      return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { out in
        hasher.finalize(into: out)
        return Bytes32(loading: UnsafeRawBufferPointer(out))
      }
    }
  }

  /// A copy of the key for blobs of this epoch (K_blob).
  /// - Throws: `outOfMemory`.
  package func blobKey() throws -> SecretKey { try copy(.blob) }

  /// Provides the envelope key of one author: BLAKE2b-256(K_env, author tag ‖ incarnation).
  func withEnvelopeKey<Result>(
    author: Bytes16, incarnation: UInt64, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withZeroisedMemory(SecretKey.count + 24) { memory in
      let input = memory.part(SecretKey.count..<memory.count)
      author.store(into: input.part(0..<16))
      input.storeBigEndian(incarnation, at: 16)
      let key = memory.part(0..<SecretKey.count)
      withKey(.envelope) { Blake2b.hash(UnsafeRawBufferPointer(input), into: key, key: $0) }
      return try body(UnsafeRawBufferPointer(key))
    }
  }

  /// The key pair that lets anybody with only the public half write to the group.
  ///
  /// Everybody with the epoch's key can open messages sealed to it, including later members.
  /// - Throws: `outOfMemory`.
  package func inbox() throws -> BoxKeyPair {
    let seed = try SecretKey { out in
      withKey(.root) { KDF.derive(from: $0, 6, "HRTHinb1", into: out) }
    }
    return try BoxKeyPair(seed: seed)
  }

  // MARK: Wrapping

  /// Seals this epoch's key to a device or a person; 80 bytes.
  /// - Throws: `badKey`.
  package func sealKey(to key: BoxPublicKey) throws -> [UInt8] {
    try withKey(.root) { try SealedBox.seal($0, to: key) }
  }

  /// Opens a key sealed by ``sealKey(to:)`` and checks that it is the announced one.
  /// - Throws: `authenticationFailed` if the box is for somebody else or contains another key.
  package static func openKey(
    _ sealed: [UInt8], with pair: BoxKeyPair, expectingID id: [UInt8], groupID: [UInt8],
    zoneID: [UInt8]
  ) throws -> EpochKey {
    try EpochKey(
      unwrapping: SealedBox.openKey(sealed, with: pair), expectingID: id, groupID: groupID,
      zoneID: zoneID)
  }

  /// Seals the key of an earlier epoch under this one (K_hist); 72 bytes.
  ///
  /// A newcomer with the newest key can thus open the earlier ones, if the policy allows history.
  /// - Throws: `outOfMemory`.
  package func wrapHistory(previous: EpochKey) throws -> [UInt8] {
    let key = try copy(.history)
    let context = historyContext(previous.id)
    return previous.withKey(.root) { AEAD.seal($0, associatedData: context, key: key) }
  }

  /// Opens an earlier epoch's key sealed by ``wrapHistory(previous:)``.
  /// - Throws: `authenticationFailed` if it is damaged, of other epochs, or another key.
  package func unwrapHistory(_ wrapped: [UInt8], expectingID previousID: [UInt8]) throws
    -> EpochKey
  {
    let key = try copy(.history)
    let context = historyContext(previousID)
    let secret = try wrapped.withUnsafeBytes { wrapped in
      try SecretKey { try AEAD.open(wrapped, associatedData: context, key: key, into: $0) }
    }
    return try EpochKey(
      unwrapping: secret, expectingID: previousID, groupID: groupID, zoneID: zoneID)
  }

  private func historyContext(_ previousID: [UInt8]) -> [UInt8] {
    ("HRTH/epoch-history/v1" as Domain).bytes + id + previousID
  }
}

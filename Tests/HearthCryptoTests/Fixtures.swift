import Testing

@testable import HearthCrypto

/// Fixed keys and ids, so that every run makes the same bytes.
enum Fixture {
  static let groupID = [UInt8](repeating: 0xa0, count: 16)
  static let zoneID = [UInt8](repeating: 0xb0, count: 16)
  static let otherID = [UInt8](repeating: 0xb1, count: 16)
  static let random = [UInt8](repeating: 0xc0, count: 32)
  static let chainBefore = [UInt8](repeating: 0xd0, count: 32)
  static let chainAfter = [UInt8](repeating: 0xe0, count: 32)

  static func key(_ byte: UInt8) throws -> SecretKey {
    var bytes = [UInt8](repeating: byte, count: 32)
    return try SecretKey(consuming: &bytes)
  }

  static func secret(_ bytes: [UInt8]) throws -> SecretBytes {
    var bytes = bytes
    return try SecretBytes(consuming: &bytes)
  }

  static func passphrase(_ text: String) throws -> Passphrase {
    var bytes = Array(text.utf8)
    return try Passphrase(consuming: &bytes)
  }

  static func device(_ byte: UInt8 = 1) throws -> DeviceIdentity {
    try DeviceIdentity(master: key(byte))
  }

  static func epoch(_ byte: UInt8 = 2) throws -> EpochKey {
    try EpochKey(secret: key(byte), groupID: groupID, zoneID: zoneID)
  }

  static func zone(_ byte: UInt8 = 3) throws -> ZoneSecret { try ZoneSecret(secret: key(byte)) }

  static func header(
    type: EnvelopeType = .segment, incarnation: UInt64 = 1, firstSeq: UInt64 = 5,
    lastSeq: UInt64 = 7
  ) throws -> EnvelopeHeader {
    let epoch = try epoch()
    let zone = try zone()
    return try EnvelopeHeader(
      type: type, zoneTag: zone.zoneTag,
      authorTag: zone.authorTag(deviceID: device().publicKeys.deviceID), incarnation: incarnation,
      epochTag: epoch.tag, firstSeq: firstSeq, lastSeq: lastSeq,
      linkBefore: epoch.link(chainBefore), linkAfter: epoch.link(chainAfter))
  }

  /// An envelope with fixed randomness.
  static func envelope(_ body: [UInt8], header: EnvelopeHeader? = nil) throws -> [UInt8] {
    let header = try header ?? self.header()
    return try body.withUnsafeBytes {
      try Envelope.seal(
        header, zoneID: zoneID, device: device(), epoch: epoch(), body: $0, random: random)
    }
  }

  /// An envelope around a plaintext that no writer would make.
  static func envelope(plaintext: [UInt8]) throws -> [UInt8] {
    try Envelope.seal(
      header(), zoneID: zoneID, device: device(), epoch: epoch(), plaintext: plaintext,
      random: random)
  }

  /// An envelope by the public call, with fresh randomness.
  static func sealFresh(_ body: [UInt8], firstSeq: UInt64 = 5, lastSeq: UInt64 = 7) throws
    -> [UInt8]
  {
    try Envelope.seal(
      type: .segment, zoneID: zoneID, device: device(), incarnation: 1, epoch: epoch(),
      zone: zone(), firstSeq: firstSeq, lastSeq: lastSeq, chainBefore: chainBefore,
      chainAfter: chainAfter, body: body)
  }

  static func read(_ bytes: [UInt8]) throws -> [UInt8] {
    try Envelope.verifyAndOpen(
      bytes, zoneID: zoneID, keys: device().publicKeys, epoch: epoch())
  }

  /// Bytes that do not compress, the same for the same seed.
  static func noise(_ count: Int, seed: UInt8 = 9) -> [UInt8] {
    var bytes = [UInt8]()
    var block = [UInt8](repeating: seed, count: 64)
    while bytes.count < count {
      block = Blake2b.hash(block, count: 64)
      bytes.append(contentsOf: block)
    }
    return Array(bytes.prefix(count))
  }
}

/// The code of the error that a closure throws, or nil.
func code(_ body: () throws -> Void) -> CryptoError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? CryptoError)?.code
  }
}

extension SecretKey {
  var copied: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}

extension SecretBytes {
  var copied: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}

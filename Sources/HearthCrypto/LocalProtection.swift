// Keys at rest in the node's own database, sealed under a key that is only available with the key
// file.

extension ZoneSecret {
  /// Seals the secret for this device's own database.
  ///
  /// - Parameter zoneID: The zone, 16 bytes. It is bound to the ciphertext, so that rows cannot be
  ///   exchanged.
  package func protected(by device: DeviceIdentity, zoneID: [UInt8]) throws -> [UInt8] {
    try secretBytes().withUnsafeBytes {
      AEAD.seal(
        $0, associatedData: LocalProtection.zoneDomain.bytes + zoneID, key: device.localKey)
    }
  }

  /// Opens the output of ``protected(by:zoneID:)``.
  /// - Throws: `authenticationFailed` for another device, another zone or altered bytes.
  package static func recovered(
    _ bytes: [UInt8], by device: DeviceIdentity, zoneID: [UInt8]
  ) throws -> ZoneSecret {
    try ZoneSecret(
      secret: LocalProtection.open(
        bytes, LocalProtection.zoneDomain.bytes + zoneID, device.localKey))
  }
}

extension EpochKey {
  /// Seals the key for this device's own database: the epoch's id, then the sealed key.
  package func protected(by device: DeviceIdentity) throws -> [UInt8] {
    let context = LocalProtection.epochDomain.bytes + groupID + zoneID + id
    return withRoot { id + AEAD.seal($0, associatedData: context, key: device.localKey) }
  }

  /// Opens the output of ``protected(by:)`` and checks the commitment.
  /// - Throws: `authenticationFailed` for another device, zone or altered bytes.
  package static func recovered(
    _ bytes: [UInt8], by device: DeviceIdentity, groupID: [UInt8], zoneID: [UInt8]
  ) throws -> EpochKey {
    guard bytes.count > 32 else { throw CryptoError.authentication }
    let id = Array(bytes.prefix(32))
    let context = LocalProtection.epochDomain.bytes + groupID + zoneID + id
    let secret = try LocalProtection.open(Array(bytes.dropFirst(32)), context, device.localKey)
    return try EpochKey(unwrapping: secret, expectingID: id, groupID: groupID, zoneID: zoneID)
  }
}

/// The common parts of both kinds of protected keys.
private enum LocalProtection {
  static let zoneDomain: Domain = "HRTH/local-zone/v1"
  static let epochDomain: Domain = "HRTH/local-epoch/v1"

  static func open(_ bytes: [UInt8], _ context: [UInt8], _ key: SecretKey) throws -> SecretKey {
    guard bytes.count == SecretKey.count + AEAD.overheadBytes else {
      throw CryptoError.authentication
    }
    return try bytes.withUnsafeBytes { sealed in
      try SecretKey { try AEAD.open(sealed, associatedData: context, key: key, into: $0) }
    }
  }
}

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
    try recovered([bytes], by: device, groupID: groupID, zoneID: zoneID)[0]
  }

  /// Opens several outputs of ``protected(by:)``, into one guarded allocation.
  /// - Throws: `authenticationFailed` for another device, zone or altered bytes.
  package static func recovered(
    _ all: [[UInt8]], by device: DeviceIdentity, groupID: [UInt8], zoneID: [UInt8]
  ) throws -> [EpochKey] {
    guard all.allSatisfy({ $0.count > 32 }) else { throw CryptoError.authentication }
    let ids = all.map { Array($0.prefix(32)) }
    let epochs = try sharing(all.count, groupID: groupID, zoneID: zoneID) { number, out in
      let context = LocalProtection.epochDomain.bytes + groupID + zoneID + ids[number]
      try LocalProtection.open(
        Array(all[number].dropFirst(32)), context, device.localKey, into: out)
    }
    for (epoch, id) in zip(epochs, ids) { try epoch.require(id) }
    return epochs
  }
}

/// The common parts of both kinds of protected keys.
private enum LocalProtection {
  static let zoneDomain: Domain = "HRTH/local-zone/v1"
  static let epochDomain: Domain = "HRTH/local-epoch/v1"

  static func open(_ bytes: [UInt8], _ context: [UInt8], _ key: SecretKey) throws -> SecretKey {
    try SecretKey { try open(bytes, context, key, into: $0) }
  }

  static func open(
    _ bytes: [UInt8], _ context: [UInt8], _ key: SecretKey, into out: UnsafeMutableRawBufferPointer
  ) throws {
    guard bytes.count == SecretKey.count + AEAD.overheadBytes else {
      throw CryptoError.authentication
    }
    try bytes.withUnsafeBytes { sealed in
      try AEAD.open(sealed, associatedData: context, key: key, into: out)
    }
  }
}

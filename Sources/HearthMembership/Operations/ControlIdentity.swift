import HearthCRDT
import HearthCrypto

/// The ids of groups, devices and persons: each is a hash of public content.
package enum ControlIdentity {
  /// The id of the group that a genesis creates.
  package static func groupID(of genesis: ControlOperation.Genesis) -> GroupID {
    derivedIdentifier("HRTH/group/v1", ControlOperation.genesis(genesis).encoded)
  }

  /// The id of the device with these keys; nil if the keys are invalid.
  package static func deviceID(of card: DeviceCard) -> DeviceID? {
    guard let keys = try? DevicePublicKeys(validating: card.signKey, box: card.boxKey) else {
      return nil
    }
    return Identifier(bytes: keys.deviceID)
  }

  /// The id of the device with these keys, whether the keys are valid or not.
  package static func cardID(of card: DeviceCard) -> DeviceID {
    let domain: Domain = "HRTH/device/v1"
    return Identifier(bytes: Blake2b.hash(domain.bytes + card.signKey + card.boxKey, count: 16))
      ?? Identifier(high: 0, low: 0)
  }
}

/// Makes the id of the person of a device that is nobody's yet.
///
/// No other device leads to this id, so the id shows which device made it.
package func personID(madeBy device: DeviceID) -> PersonID {
  derivedIdentifier("HRTH/person/v1", device.bytes)
}

/// Derives an identifier from public parts: BLAKE2b-128 over a domain and the parts.
package func derivedIdentifier(_ domain: Domain, _ parts: [UInt8]...) -> Identifier {
  guard let identifier = Identifier(bytes: DerivedID.make(domain: domain, parts: parts)) else {
    preconditionFailure("a derived id has 16 bytes")
  }
  return identifier
}

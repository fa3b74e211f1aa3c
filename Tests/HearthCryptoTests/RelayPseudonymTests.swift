import Testing

@testable import HearthCrypto

@Suite("Pseudonyms at relays")
struct RelayPseudonymTests {
  @Test("members compute the key that only the device signs with, and any Ed25519 verifies it")
  func blinded() throws {
    let (device, master) = try DeviceIdentity.generate()
    let relay = [UInt8](repeating: 7, count: 32)
    let pair = try device.relayPair(relayID: relay)
    let key = try RelayPseudonym.key(of: device.publicKeys.signingKey, relayID: relay)
    #expect(key == pair.publicKey.bytes)
    #expect(try SigningPublicKey(validating: key) == pair.publicKey)
    let signature = pair.sign(domain: "HRTH/test/v1", [1, 2, 3])
    try Signature.verify(signature, domain: "HRTH/test/v1", [1, 2, 3], by: pair.publicKey)
    #expect(throws: CryptoError.self) {
      try Signature.verify(signature, domain: "HRTH/test/v1", [1, 2, 4], by: pair.publicKey)
    }
    #expect(throws: CryptoError.self) {
      try Signature.verify(
        signature, domain: "HRTH/test/v1", [1, 2, 3], by: device.publicKeys.signingKey)
    }
    let again = try DeviceIdentity(master: master).relayPair(relayID: relay)
    #expect(again.sign(domain: "HRTH/test/v1", [1, 2, 3]) == signature)
    #expect(pair.sign(domain: "HRTH/test/v1", [9])[..<32] != signature[..<32], "a nonce twice")
  }

  @Test("the key is another one at every relay and of every device")
  func unlinkable() throws {
    let devices = try (0..<4).map { _ in try DeviceIdentity.generate().identity }
    var keys: Set<[UInt8]> = []
    for device in devices {
      keys.insert(device.publicKeys.sign)
      for relay in UInt8(0)..<4 {
        keys.insert(
          try RelayPseudonym.key(of: device.publicKeys.signingKey, relayID: [relay]))
      }
    }
    #expect(keys.count == devices.count * 5)
  }
}

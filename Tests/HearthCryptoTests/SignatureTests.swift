import Testing

@testable import HearthCrypto

@Suite("Signatures and public keys")
struct SignatureTests {
  /// The eight points of small order and two encodings that are not canonical.
  private let smallOrder = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0100000000000000000000000000000000000000000000000000000000000080",
  ].map { Hex.literal($0) }

  /// The torsion vectors' key plus a point of order 8 and of order 2.
  private let mixedOrder = [
    "b502ff3d92e31d8190b4aa4ea0414005167fad089c4de9dac8a2fc850fed4f58",
    "ea5ef8400c31ef41e28f22e718b43f66981b29cf645af2a0e223799bedaace47",
  ].map { Hex.literal($0) }

  /// A signature under the first mixed-order key that satisfies the cofactorless equation.
  private let mixedOrderSignature = Hex.literal(
    "9599999999999999999999999999999999999999999999999999999999999999"
      + "4fa28f5dab0b69f7dd9063aff604c6c0"
      + "c824f27d41022766620442891df2340b")

  @Test("negative 23: R plus torsion is refused on this libsodium and by the point check")
  func torsionR() {
    for signature in SelfTest.torsion {
      #expect(
        !Curve25519.verifies(
          signature, message: SelfTest.torsionMessage, key: SelfTest.torsionKey))
      #expect(!Curve25519.isPoint(Array(signature.prefix(32))))
    }
  }

  @Test("negative 23: the honest torsion signature is accepted, S + L is not")
  func malleableS() {
    let made = Curve25519.sign(seed: [UInt8](0..<32), message: SelfTest.torsionMessage)
    #expect(made.key == SelfTest.torsionKey)
    #expect(
      Curve25519.verifies(made.signature, message: SelfTest.torsionMessage, key: made.key))
    var shifted = made.signature
    let order = Hex.literal("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
    var carry = 0
    for index in 0..<32 {
      carry += Int(shifted[32 + index]) + Int(order[index])
      shifted[32 + index] = UInt8(truncatingIfNeeded: carry)
      carry >>= 8
    }
    #expect(!Curve25519.verifies(shifted, message: SelfTest.torsionMessage, key: made.key))
  }

  @Test("negative 23: signing keys of small order, mixed order or second encoding are refused")
  func badSigningKeys() {
    for key in smallOrder + mixedOrder {
      #expect(code { _ = try SigningPublicKey(validating: key) } == .badKey, "\(key)")
      #expect(
        code {
          _ = try DevicePublicKeys(validating: key, box: [9] + [UInt8](repeating: 0, count: 31))
        }
          == .badKey)
    }
    #expect(code { _ = try SigningPublicKey(validating: [1, 2]) } == .badLength)
  }

  @Test("negative 23: a mixed-order key that the bare library would verify with is refused")
  func mixedOrderKey() {
    #expect(
      Curve25519.verifies(
        mixedOrderSignature, message: SelfTest.torsionMessage, key: mixedOrder[0]))
    #expect(code { _ = try SigningPublicKey(validating: mixedOrder[0]) } == .badKey)
  }

  @Test("negative 23: the additional check refuses an R that the bare library accepts")
  func additionalPointCheck() {
    let honest = Curve25519.sign(seed: [UInt8](0..<32), message: SelfTest.torsionMessage)
    for (signature, key, isGood) in [
      (mixedOrderSignature, mixedOrder[0], false), (honest.signature, honest.key, true),
    ] {
      signature.withUnsafeBytes {
        let message = SelfTest.torsionMessage
        #expect(Signature.accepts($0, message, key: key, checksPoint: false))
        #expect(Signature.accepts($0, message, key: key, checksPoint: true) == isGood)
      }
    }
  }

  @Test("negative 23: box keys of small order or with a second encoding are refused")
  func badBoxKeys() throws {
    var second = [UInt8](repeating: 0, count: 32)
    second[0] = 9
    _ = try BoxPublicKey(validating: second)
    second[31] = 0x80
    #expect(code { _ = try BoxPublicKey(validating: second) } == .badKey)
    for key in [
      [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
      Hex.literal("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
      Hex.literal("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
      Hex.literal("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ] {
      #expect(code { _ = try BoxPublicKey(validating: key) } == .badKey)
    }
  }

  @Test("a signature holds for its domain, message and key only")
  func binding() throws {
    let device = try Fixture.device()
    let key = device.publicKeys.signingKey
    let signature = device.sign(domain: "HRTH/test/v1", [1, 2], [3])
    try Signature.verify(signature, domain: "HRTH/test/v1", [1, 2], [3], by: key)
    try Signature.verify(signature, domain: "HRTH/test/v1", [1, 2, 3], by: key)
    let wrong: [() throws -> Void] = [
      { try Signature.verify(signature, domain: "HRTH/test/v2", [1, 2, 3], by: key) },
      { try Signature.verify(signature, domain: "HRTH/test/v1", [1, 2, 4], by: key) },
      {
        try Signature.verify(
          signature, domain: "HRTH/test/v1", [1, 2, 3],
          by: Fixture.device(8).publicKeys.signingKey)
      },
      { try Signature.verify(signature + [0], domain: "HRTH/test/v1", [1, 2, 3], by: key) },
      { try Signature.verify([], domain: "HRTH/test/v1", [1, 2, 3], by: key) },
    ]
    for attempt in wrong { #expect(code(attempt) == .badSignature) }
  }

  @Test("a signature is Ed25519 over the domain and the BLAKE2b-512 of the message")
  func construction() throws {
    let device = try Fixture.device()
    let message = Fixture.noise(100)
    let plain = Array("HRTH/test/v1".utf8) + Blake2b.hash(message, count: 64)
    #expect(
      Curve25519.verifies(
        device.sign(domain: "HRTH/test/v1", message), message: plain,
        key: device.publicKeys.sign))
  }

  @Test("own public keys pass their own validation and name the device")
  func identity() throws {
    let (device, master) = try DeviceIdentity.generate()
    let again = try DeviceIdentity(master: master)
    let keys = try DevicePublicKeys(
      validating: device.publicKeys.sign, box: device.publicKeys.box)
    #expect(keys == device.publicKeys && again.publicKeys == keys)
    #expect(
      keys.deviceID
        == Blake2b.hash(Array("HRTH/device/v1".utf8) + keys.sign + keys.box, count: 16))
    let relay = try device.relayPair(relayID: [1])
    #expect(relay.publicKey != device.publicKeys.signingKey)
    #expect(try relay.publicKey != device.relayPair(relayID: [2]).publicKey)
    #expect(try relay.publicKey == again.relayPair(relayID: [1]).publicKey)
  }

  @Test("a sealed box opens for its recipient only, and no bit of it may change")
  func sealedBox() throws {
    let device = try Fixture.device()
    let sealed = try SealedBox.seal([1, 2, 3], to: device.publicKeys.boxKey)
    #expect(sealed.count == 3 + SealedBox.overheadBytes)
    #expect(try device.openSealed(sealed) == [1, 2, 3])
    #expect(code { _ = try Fixture.device(9).openSealed(sealed) } == .authenticationFailed)
    for bit in 0..<(sealed.count * 8) {
      var damaged = sealed
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(code { _ = try device.openSealed(damaged) } == .authenticationFailed, "bit \(bit)")
    }
    for count in 0..<sealed.count {
      #expect(
        code { _ = try device.openSealed(Array(sealed[..<count])) } == .authenticationFailed)
    }
    #expect(
      code { _ = try SealedBox.openKey(sealed, with: device.boxPair) } == .authenticationFailed)
  }
}

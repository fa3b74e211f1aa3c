import Testing

@testable import HearthCrypto

@Suite("Recovery root and capsule")
struct RecoveryRootTests {
  private func root(_ byte: UInt8 = 0x42) throws -> RecoveryRoot {
    try RecoveryRoot(entropy: Fixture.secret([UInt8](repeating: byte, count: 16)))
  }

  @Test("words typed on another machine give the same keys; other words give others")
  func derivation() throws {
    let words = try RecoveryWords.random()
    var text = words.withWords { Array($0.map(\.text).joined(separator: " ").utf8) }
    let again = try RecoveryWords(consuming: &text).root()
    let root = try words.root()
    #expect(again.publicKeys == root.publicKeys && again.locator == root.locator)
    let other = try self.root()
    #expect(root.publicKeys != other.publicKeys && root.locator != other.locator)
    #expect(root.locator.count == 16 && root.publicKeys.recoveryID.count == 16)
    #expect(
      try RecoveryPublicKeys(validating: root.publicKeys.sign, box: root.publicKeys.box)
        == root.publicKeys)
    #expect(code { _ = try RecoveryRoot(entropy: Fixture.secret([1])) } == .badLength)
    #expect("\(root)" == "RecoveryRoot(redacted)")
  }

  @Test("a signature of the words holds for its domain and message only")
  func signature() throws {
    let root = try root()
    let signature = root.sign(domain: "HRTH/test/v1", [1], [2])
    let key = root.publicKeys.signingKey
    try Signature.verify(signature, domain: "HRTH/test/v1", [1, 2], by: key)
    #expect(
      code { try Signature.verify(signature, domain: "HRTH/test/v2", [1, 2], by: key) }
        == .badSignature)
    let other = try self.root(1).publicKeys.signingKey
    #expect(
      code { try Signature.verify(signature, domain: "HRTH/test/v1", [1, 2], by: other) }
        == .badSignature)
  }

  @Test("an epoch and a zone sealed to the words open with the words, and only as announced")
  func wraps() throws {
    let root = try root()
    let epoch = try Fixture.epoch()
    let sealed = try epoch.sealKey(to: root.publicKeys.boxKey)
    let opened = try root.openEpochKey(
      sealed, expectingID: epoch.id, groupID: Fixture.groupID, zoneID: Fixture.zoneID)
    #expect(opened.id == epoch.id)
    func refused(_ root: RecoveryRoot, _ id: [UInt8], zone: [UInt8]) -> CryptoError.Code? {
      code {
        _ = try root.openEpochKey(
          sealed, expectingID: id, groupID: Fixture.groupID, zoneID: zone)
      }
    }
    #expect(try refused(self.root(1), epoch.id, zone: Fixture.zoneID) == .authenticationFailed)
    #expect(try refused(root, Fixture.epoch(5).id, zone: Fixture.zoneID) == .authenticationFailed)
    #expect(refused(root, epoch.id, zone: Fixture.otherID) == .authenticationFailed)
    let zone = try Fixture.zone()
    let box = try zone.seal(to: root.publicKeys.boxKey)
    #expect(try root.openZoneSecret(box, expectingTag: zone.zoneTag).zoneTag == zone.zoneTag)
    let otherTag = try Fixture.zone(9).zoneTag
    #expect(
      code { _ = try root.openZoneSecret(box, expectingTag: otherTag) } == .authenticationFailed)
    #expect(try root.openSealed(SealedBox.seal([7, 8], to: root.publicKeys.boxKey)) == [7, 8])
    #expect(code { _ = try root.openSealed([1, 2]) } == .authenticationFailed)
  }

  @Test("two relays see two keys, and the same one every time")
  func relays() throws {
    let first = try root().relayPair(relayID: [1]).publicKey
    #expect(try root().relayPair(relayID: [1]).publicKey == first)
    #expect(try root().relayPair(relayID: [2]).publicKey != first)
    #expect(try root().publicKeys.signingKey != first)
  }

  @Test("a device with the access kept apart writes a capsule that the words open")
  func capsule() throws {
    let root = try root()
    let kept = try RecoveryCapsuleAccess(secret: root.capsuleAccess.secretBytes().key())
    #expect(kept.locator == root.locator)
    let body = Array("groups and zones".utf8)
    let bytes = try RecoveryCapsule.seal(body, with: kept)
    #expect(try RecoveryCapsule.open(bytes, with: root.capsuleAccess) == body)
    let other = try self.root(1).capsuleAccess
    #expect(code { _ = try RecoveryCapsule.open(bytes, with: other) } == .authenticationFailed)
    for bit in stride(from: 0, to: bytes.count * 8, by: 41) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(code { _ = try RecoveryCapsule.open(damaged, with: kept) } != nil)
    }
    let plain = try Capsule.seal(body, key: kept.capsuleKey)
    #expect(code { _ = try RecoveryCapsule.open(plain, with: kept) } == .authenticationFailed)
  }

  @Test("capsules have three sizes, and the largest body is the limit")
  func sizes() throws {
    let access = try root().capsuleAccess
    for (count, size) in [
      (0, 4096), (4094, 4096), (4095, 16384), (16382, 16384), (16383, 65536), (65534, 65536),
    ] {
      let body = Fixture.noise(count)
      let bytes = try RecoveryCapsule.seal(body, with: access)
      #expect(bytes.count == size + Capsule.overheadBytes, "\(count) bytes")
      #expect(try RecoveryCapsule.open(bytes, with: access) == body)
    }
    let most = Fixture.noise(RecoveryCapsule.maximumBodyBytes + 1)
    #expect(code { _ = try RecoveryCapsule.seal(most, with: access) } == .tooLarge)
    let limit = 65536 + Capsule.overheadBytes
    let long = [UInt8](repeating: 0, count: limit + 1)
    #expect(code { _ = try RecoveryCapsule.open(long, with: access) } == .tooLarge)
    #expect(code { _ = try RecoveryCapsule.open(long.dropLast(), with: access) } == .malformed)
  }

  @Test("a body of a size that no writer makes is refused although it is authentic")
  func canonicalSize() throws {
    let access = try root().capsuleAccess
    let context = ("HRTH/recovery-capsule/v1" as Domain).bytes + access.locator
    for count in [255, 8191, 4096] {
      let body = [UInt8](repeating: 0, count: count - 1) + [0x80]
      let bytes = try Capsule.seal(body, key: access.capsuleKey, associatedData: context)
      #expect(code { _ = try RecoveryCapsule.open(bytes, with: access) } == .malformed)
    }
  }
}

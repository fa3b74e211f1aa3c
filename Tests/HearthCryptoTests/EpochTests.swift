import Testing

@testable import HearthCrypto

@Suite("Epochs and zone secrets")
struct EpochTests {
  @Test("the id commits to key, group and zone, and the tag to the id")
  func commitment() throws {
    let epoch = try Fixture.epoch()
    let expected = Blake2b.hash(
      Array("HRTH/epoch-commit/v1".utf8) + Fixture.groupID + Fixture.zoneID,
      key: [UInt8](repeating: 2, count: 32))
    #expect(epoch.id == expected)
    #expect(
      epoch.tag.array == Blake2b.hash(Array("HRTH/epoch-tag/v1".utf8) + expected, count: 16))
    #expect(try EpochKey.tag(ofID: expected) == epoch.tag)
    #expect(try Fixture.epoch(9).id != epoch.id)
    let random = try EpochKey.random(groupID: Fixture.groupID, zoneID: Fixture.zoneID)
    #expect(random.id != epoch.id)
  }

  @Test("a sealed epoch key opens for its device and no other")
  func sealedKey() throws {
    let epoch = try Fixture.epoch()
    let device = try Fixture.device()
    let sealed = try epoch.sealKey(to: device.publicKeys.boxKey)
    #expect(sealed.count == 80)
    let opened = try EpochKey.openKey(
      sealed, with: device.boxPair, expectingID: epoch.id, groupID: Fixture.groupID,
      zoneID: Fixture.zoneID)
    #expect(opened.id == epoch.id)
    let bytes = try Fixture.envelope([1, 2])
    #expect(try Envelope.open(bytes, zoneID: Fixture.zoneID, epoch: opened) == [1, 2])
    #expect(
      code {
        _ = try EpochKey.openKey(
          sealed, with: Fixture.device(9).boxPair, expectingID: epoch.id,
          groupID: Fixture.groupID, zoneID: Fixture.zoneID)
      } == .authenticationFailed)
  }

  @Test("negative 16: a wrap with a wrong key fails its commitment, for box, bytes and history")
  func wrongKeyInWrap() throws {
    let epoch = try Fixture.epoch()
    let wrong = try Fixture.epoch(9)
    let device = try Fixture.device()
    let sealed = try wrong.sealKey(to: device.publicKeys.boxKey)
    #expect(
      code {
        _ = try EpochKey.openKey(
          sealed, with: device.boxPair, expectingID: epoch.id, groupID: Fixture.groupID,
          zoneID: Fixture.zoneID)
      } == .authenticationFailed)
    let right = try epoch.sealKey(to: device.publicKeys.boxKey)
    for (group, zone) in [
      (Fixture.otherID, Fixture.zoneID), (Fixture.groupID, Fixture.otherID),
    ] {
      #expect(
        code {
          _ = try EpochKey.openKey(
            right, with: device.boxPair, expectingID: epoch.id, groupID: group, zoneID: zone)
        } == .authenticationFailed)
    }
    var bytes = [UInt8](repeating: 9, count: 32)
    #expect(
      code {
        _ = try EpochKey(
          unwrapping: &bytes, expectingID: epoch.id, groupID: Fixture.groupID,
          zoneID: Fixture.zoneID)
      } == .authenticationFailed)
    #expect(bytes.isEmpty)
    var shortID = [UInt8](repeating: 2, count: 32)
    #expect(
      code {
        _ = try EpochKey(
          unwrapping: &shortID, expectingID: Array(epoch.id.dropLast()), groupID: Fixture.groupID,
          zoneID: Fixture.zoneID)
      } == .authenticationFailed)
  }

  @Test("an earlier key opens under the next epoch only, and only as itself")
  func history() throws {
    let previous = try Fixture.epoch(2)
    let next = try Fixture.epoch(4)
    let wrapped = try next.wrapHistory(previous: previous)
    #expect(wrapped.count == 72)
    #expect(try next.unwrapHistory(wrapped, expectingID: previous.id).id == previous.id)
    let attempts: [() throws -> Void] = [
      { _ = try previous.unwrapHistory(wrapped, expectingID: previous.id) },
      { _ = try next.unwrapHistory(wrapped, expectingID: next.id) },
      { _ = try Fixture.epoch(5).unwrapHistory(wrapped, expectingID: previous.id) },
      { _ = try next.unwrapHistory(wrapped.dropLast(), expectingID: previous.id) },
      { _ = try next.unwrapHistory([], expectingID: previous.id) },
    ]
    for attempt in attempts { #expect(code(attempt) == .authenticationFailed) }
    for bit in 0..<(wrapped.count * 8) {
      var damaged = wrapped
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(
        code { _ = try next.unwrapHistory(damaged, expectingID: previous.id) }
          == .authenticationFailed)
    }
  }

  @Test("links, tags and chain hashes are the keyed hashes that the format states")
  func derivations() throws {
    let key = [UInt8](repeating: 2, count: 32)
    let link = try Fixture.key(2).derive(id: 5, context: "HRTHlnk1").copied
    #expect(
      try Fixture.epoch().link(Fixture.chainAfter).array
        == Blake2b.hash(Array("HRTH/link/v1".utf8) + Fixture.chainAfter, key: link))
    #expect(
      try Fixture.epoch().blobKey().copied
        == Fixture.key(2).derive(id: 2, context: "HRTHblb1").copied)
    #expect(key.count == 32)
    let zone = try Fixture.zone()
    let tagKey = try Fixture.key(3).derive(id: 1, context: "HRTHtag1").copied
    let chainKey = try Fixture.key(3).derive(id: 2, context: "HRTHchn1").copied
    #expect(
      zone.zoneTag.array == Blake2b.hash(Array("HRTH/zone-tag/v1".utf8), count: 16, key: tagKey))
    #expect(
      try zone.authorTag(deviceID: Fixture.otherID).array
        == Blake2b.hash(
          Array("HRTH/author-tag/v1".utf8) + Fixture.otherID, count: 16, key: tagKey))
    #expect(
      zone.chainHash(of: [1, 2, 3])
        == Blake2b.hash(Array("HRTH/change/v1".utf8) + [1, 2, 3], key: chainKey))
  }

  @Test("a zone secret travels in a sealed box and is checked against the zone's tag")
  func zoneSecret() throws {
    let zone = try ZoneSecret.random()
    let device = try Fixture.device()
    let sealed = try zone.seal(to: device.publicKeys.boxKey)
    let opened = try ZoneSecret.open(sealed, with: device.boxPair, expectingTag: zone.zoneTag)
    #expect(opened.chainHash(of: [1]) == zone.chainHash(of: [1]))
    #expect(
      code {
        _ = try ZoneSecret.open(
          sealed, with: device.boxPair, expectingTag: Fixture.zone().zoneTag)
      } == .authenticationFailed)
    #expect(try ZoneSecret(secret: zone.secretBytes().key()).zoneTag == zone.zoneTag)
  }

  @Test("fixed-size values keep bytes, order and length")
  func fixedBytes() throws {
    let low = try Bytes16([UInt8](0..<16))
    let high = try Bytes16([1] + [UInt8](repeating: 0, count: 15))
    #expect(low.array == [UInt8](0..<16) && low < high && low != high)
    #expect("\(low)" == "000102030405060708090a0b0c0d0e0f")
    let long = try Bytes32([UInt8](0..<32))
    #expect(long.array == [UInt8](0..<32))
    #expect(try long < Bytes32([UInt8](0..<31) + [32]))
    #expect(code { _ = try Bytes16([1]) } == .badLength)
    #expect(code { _ = try Bytes32([1]) } == .badLength)
  }
}

import Testing

@testable import HearthCrypto

/// Every format of ours against frozen bytes.
///
/// What was written once must be written and read for
/// ever. The formats are in `docs/reference/`.
@Suite("Golden bytes")
struct GoldenTests {
  private let body = Array("five points for the dishes".utf8)

  private func lockedFile() throws -> [UInt8] {
    try KeyFile.seal(
      [Fixture.secret([UInt8](repeating: 1, count: 32)), Fixture.secret([2, 3])],
      Fixture.passphrase("correct horse"), .testMinimum, .testing,
      salt: [UInt8](0..<16), random: Fixture.random)
  }

  private func plainFile() throws -> [UInt8] {
    try KeyFile.seal(
      [Fixture.secret([UInt8](repeating: 1, count: 32))], nil, .moderate, .production,
      salt: [UInt8](0..<16), random: Fixture.random)
  }

  private func invite() throws -> InviteSecret {
    try InviteSecret(seed: Fixture.secret([UInt8](0..<16)))
  }

  @Test("envelope: segment and snapshot chunk")
  func envelope() throws {
    let segment = try Fixture.envelope(body)
    #expect(Hex.encode(segment) == Golden.segment)
    #expect(try Fixture.read(Hex.decode(Golden.segment)) == body)
    let chunk = try Fixture.envelope(
      [], header: Fixture.header(type: .snapshotChunk, incarnation: .max, firstSeq: 1))
    #expect(Hex.encode(chunk) == Golden.snapshotChunk)
    #expect(try Fixture.read(Hex.decode(Golden.snapshotChunk)) == [])
  }

  @Test("envelope: a compressed body from zstd 1.5.4 is read; its writing depends on zstd")
  func compressedEnvelope() throws {
    let expected = [UInt8]((0..<3000).map { UInt8($0 / 100) })
    #expect(try Fixture.read(Hex.decode(Golden.compressedSegment)) == expected)
  }

  @Test("envelope id, device id, epoch id, tags, links and chain hashes")
  func identifiers() throws {
    let values = [
      try Envelope.id(Fixture.envelope(body)), try Fixture.device().publicKeys.deviceID,
      try Fixture.device().publicKeys.sign, try Fixture.device().publicKeys.box,
      try Fixture.epoch().id, try Fixture.epoch().tag.array,
      try Fixture.epoch().link(Fixture.chainAfter).array, try Fixture.zone().zoneTag.array,
      try Fixture.zone().authorTag(deviceID: Fixture.device().publicKeys.deviceID).array,
      try Fixture.zone().chainHash(of: [1, 2, 3]),
      try Fixture.device().relayPair(relayID: [9]).publicKey.bytes,
      DerivedID.make(domain: "HRTH/test/v1", [1], [], [2, 3]),
    ].map { Hex.encode($0) }
    #expect(values == Golden.identifiers)
  }

  @Test("signature over a domain and a message")
  func signature() throws {
    #expect(
      Hex.encode(try Fixture.device().sign(domain: "HRTH/test/v1", body)) == Golden.signature)
  }

  @Test("sealed epoch key and wrapped history")
  func wraps() throws {
    let device = try Fixture.device()
    let epoch = try EpochKey.openKey(
      Hex.decode(Golden.sealedEpochKey), with: device.boxPair,
      expectingID: Fixture.epoch().id, groupID: Fixture.groupID, zoneID: Fixture.zoneID)
    #expect(try epoch.id == Fixture.epoch().id)
    let next = try Fixture.epoch(4)
    let previous = try next.unwrapHistory(
      Hex.decode(Golden.wrappedHistory), expectingID: Fixture.epoch().id)
    #expect(try previous.id == Fixture.epoch().id)
  }

  @Test("key file with and without a passphrase")
  func keyFile() throws {
    #expect(Hex.encode(try lockedFile()) == Golden.lockedKeyFile)
    #expect(Hex.encode(try plainFile()) == Golden.plainKeyFile)
    let secrets = try KeyFile.open(
      Hex.decode(Golden.lockedKeyFile), passphrase: Fixture.passphrase("correct horse"),
      bounds: .testing)
    #expect(secrets.map(\.copied) == [[UInt8](repeating: 1, count: 32), [2, 3]])
    #expect(try KeyFile.open(Hex.decode(Golden.plainKeyFile), passphrase: nil).count == 1)
  }

  @Test("invite text and keys, join proof, capsule")
  func inviteAndCapsule() throws {
    let invite = try invite()
    let values = [
      invite.publicKeys.signingKey.bytes, invite.publicKeys.boxKey.bytes,
      invite.publicKeys.inviteID, invite.rendezvousID, invite.capsuleKey.copied,
      invite.sign(Blake2b.hash(body)),
    ].map { Hex.encode($0) }
    #expect([invite.text] + values == Golden.invite)
    let capsule = try Capsule.seal(body, invite.capsuleKey, [7], random: Fixture.random)
    #expect(Hex.encode(capsule) == Golden.capsule)
    #expect(
      try Capsule.open(
        Hex.decode(Golden.capsule), key: invite.capsuleKey, associatedData: [7]) == body)
  }

  @Test("keys of recovery words, and a recovery capsule")
  func recovery() throws {
    let root = try RecoveryRoot(entropy: Fixture.secret([UInt8](0..<16)))
    let capsule = try RecoveryCapsule.seal(body, root.capsuleAccess, random: Fixture.random)
    let values = [
      root.publicKeys.sign, root.publicKeys.box, root.publicKeys.recoveryID,
      try root.relayPair(relayID: [9]).publicKey.bytes, root.locator,
      try root.capsuleAccess.secretBytes().copied, root.capsuleAccess.capsuleKey.copied,
      root.sign(domain: "HRTH/test/v1", body), Blake2b.hash(capsule),
    ].map { Hex.encode($0) }
    #expect(values == Golden.recoveryRoot)
  }

  @Test("safety number, digits of a frontier, short authentication string")
  func comparison() throws {
    let keys = try [1, 2, 3].map { try Fixture.device($0).publicKeys }
    let number = SafetyNumber(
      try .init(id: [UInt8](repeating: 1, count: 16), devices: Array(keys[0...1])),
      try .init(id: [UInt8](repeating: 2, count: 16), devices: [keys[2]]))
    var first = try ShortAuthenticationString(
      role: .initiator, own: keys[0], peer: keys[1], context: [9],
      nonce: [UInt8](repeating: 1, count: 32))
    let commitment = try first.start()
    _ = try first.receive([2] + [UInt8](repeating: 2, count: 32))
    let values = [
      number.digits, FrontierFingerprint(canonicalBytes: body).digits, Hex.encode(commitment),
      first.digits?.replacing(" ", with: "") ?? "",
    ]
    #expect(values == Golden.comparison)
  }
}

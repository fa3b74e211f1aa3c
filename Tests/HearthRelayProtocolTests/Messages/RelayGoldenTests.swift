import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelayProtocol

/// Bytes that must never change: other versions and other programs speak them.
@Suite("Golden bytes of the relay protocol")
struct RelayGoldenTests {
  @Test("each request has its bytes and is read back the same")
  func requests() throws {
    let frames = try RelayFixture.requests()
    #expect(frames.map { hex($0.encoded) } == RelayGoldenBytes.requests)
    for frame in frames {
      let again = try RelayFrame<RelayRequest>(decoding: Array(frame.encoded.dropFirst(4)))
      #expect(again == frame)
    }
    // Every kind of request is among them.
    #expect(Set(frames.map(\.message.type)) == Set(0x01...0x13))
  }

  @Test("each answer and push has its bytes and is read back the same")
  func replies() throws {
    let frames = try RelayFixture.replies()
    #expect(frames.map { hex($0.encoded) } == RelayGoldenBytes.replies)
    for frame in frames {
      let again = try RelayFrame<RelayReply>(decoding: Array(frame.encoded.dropFirst(4)))
      #expect(again == frame && again.encoded == frame.encoded)
    }
    #expect(
      Set(frames.map(\.message.type)) == Set(0x41...0x4d).union([0x4f]).union(0x81...0x85))
  }

  @Test("keys, proofs, ids and chains have their bytes")
  func derived() throws {
    let relay = RelayFixture.run(0x20, 32)
    let mailbox = RelayFixture.mailbox.bytes
    let access = try RelayFixture.accessPair()
    #expect(hex(access.publicKey.bytes) == RelayGoldenBytes.epochAccessKey)
    let recovery = try RecoveryCapsuleAccess(secret: RelayFixture.secret(0).key())
    #expect(
      hex(try recovery.relayAccessRoot().pair(mailbox: mailbox, relayID: relay).publicKey.bytes)
        == RelayGoldenBytes.recoveryAccessKey)
    let invite = try InviteSecret(seed: RelayFixture.secret(0, 16))
    #expect(
      hex(try invite.relayAccessRoot.pair(mailbox: mailbox, relayID: relay).publicKey.bytes)
        == RelayGoldenBytes.inviteAccessKey)
    let binding = RelayFixture.binding
    #expect(RelayAccess.keyID(of: access.publicKey.bytes).description == RelayGoldenBytes.keyID)
    #expect(
      hex(RelayAccess.prove(access, mailbox: mailbox, binding: binding)) == RelayGoldenBytes.proof)
    let creation = try RelayFixture.creation()
    #expect(
      hex(RelayAccess.signCreation(creation, with: access, mailbox: mailbox, binding: binding))
        == RelayGoldenBytes.creationByAccessKey)
    let manager = try RelayFixture.managerPair()
    #expect(
      hex(RelayAccess.signCreation(creation, with: manager, mailbox: mailbox, binding: binding))
        == RelayGoldenBytes.creationByManager)
    let child = try RelayFixture.childCreation()
    #expect(
      hex(RelayAccess.signCreation(child, with: access, mailbox: mailbox, binding: binding))
        == RelayGoldenBytes.childCreationByAccessKey)
    #expect(
      hex(RelayAccess.signCreation(child, with: manager, mailbox: mailbox, binding: binding))
        == RelayGoldenBytes.childCreationByManager)
    #expect(
      RelayAccess.decoyKeyID(mailbox: mailbox, secret: try RelayFixture.secret(0).key())
        .description == RelayGoldenBytes.decoy)
    #expect(
      RelayAccess.pin(ofCertificate: [0x30, 3, 2, 1, 5]).description == RelayGoldenBytes.pin)
    #expect(
      RelayAccess.relayID(ofIdentity: access.publicKey).description == RelayGoldenBytes.relayID)
    #expect(RelayFixture.chainStart.description == RelayGoldenBytes.chainStart)
    #expect(RelayFixture.chain1.description == RelayGoldenBytes.chain1)
    #expect(RelayFixture.chain3.description == RelayGoldenBytes.chain3)
  }

  @Test("a proof holds for its relay, certificate, nonces, mailbox and key only")
  func proofs() throws {
    let access = try RelayFixture.accessPair()
    let key = access.publicKey
    let mailbox = RelayFixture.mailbox.bytes
    let good = RelayFixture.binding
    let proof = RelayAccess.prove(access, mailbox: mailbox, binding: good)
    try RelayAccess.verify(proof, mailbox: mailbox, binding: good, key: key)
    let other = RelayFixture.bytes32(0xee)
    let others = [
      RelayAccess.Binding(
        relayID: other, pin: good.pin, relayNonce: good.relayNonce, clientNonce: good.clientNonce),
      RelayAccess.Binding(
        relayID: good.relayID, pin: other, relayNonce: good.relayNonce,
        clientNonce: good.clientNonce),
      RelayAccess.Binding(
        relayID: good.relayID, pin: good.pin, relayNonce: other, clientNonce: good.clientNonce),
      RelayAccess.Binding(
        relayID: good.relayID, pin: good.pin, relayNonce: good.relayNonce, clientNonce: other),
    ]
    for binding in others {
      #expect(throws: CryptoError(.badSignature, "")) {
        try RelayAccess.verify(proof, mailbox: mailbox, binding: binding, key: key)
      }
    }
    #expect(throws: CryptoError(.badSignature, "")) {
      try RelayAccess.verify(
        proof, mailbox: RelayFixture.generation.bytes, binding: good, key: key)
    }
    #expect(throws: CryptoError(.badSignature, "")) {
      try RelayAccess.verify(
        proof, mailbox: mailbox, binding: good, key: RelayFixture.managerPair().publicKey)
    }
  }

  @Test("a proof is no creation, whose signature covers the credential and the parent")
  func creations() throws {
    let access = try RelayFixture.accessPair()
    let key = access.publicKey
    let mailbox = RelayFixture.mailbox.bytes
    let good = RelayFixture.binding
    let proof = RelayAccess.prove(access, mailbox: mailbox, binding: good)
    let creation = try RelayFixture.creation()
    #expect(throws: CryptoError(.badSignature, "")) {
      try RelayAccess.verifyCreation(
        proof, creation, mailbox: mailbox, binding: good, key: key)
    }
    let signature = RelayAccess.signCreation(
      creation, with: access, mailbox: mailbox, binding: good)
    let changed = RelayAccess.Creation(
      kind: 0, accessKey: creation.accessKey, managerKey: creation.managerKey, credential: [])
    #expect(throws: CryptoError(.badSignature, "")) {
      try RelayAccess.verifyCreation(
        signature, changed, mailbox: mailbox, binding: good, key: key)
    }
    let adopted = RelayAccess.Creation(
      kind: 0, accessKey: creation.accessKey, managerKey: creation.managerKey,
      credential: creation.credential, parent: RelayFixture.parent.bytes)
    #expect(throws: CryptoError(.badSignature, "")) {
      try RelayAccess.verifyCreation(
        signature, adopted, mailbox: mailbox, binding: good, key: key)
    }
  }

  @Test("access keys differ by mailbox, relay and epoch")
  func keys() throws {
    let root = try RelayFixture.epoch().relayAccessRoot()
    let mailbox = RelayFixture.run(1, 16)
    let relay = RelayFixture.run(2, 32)
    let keys = try [
      root.pair(mailbox: mailbox, relayID: relay),
      root.pair(mailbox: RelayFixture.run(2, 16), relayID: relay),
      root.pair(mailbox: mailbox, relayID: RelayFixture.run(3, 32)),
      EpochKey.random(groupID: mailbox, zoneID: mailbox).relayAccessRoot()
        .pair(mailbox: mailbox, relayID: relay),
    ].map(\.publicKey.bytes)
    #expect(Set(keys).count == keys.count)
    #expect(throws: CryptoError(.badLength, "")) { try root.pair(mailbox: [], relayID: relay) }
    #expect(throws: CryptoError(.badLength, "")) { try root.pair(mailbox: mailbox, relayID: []) }
    #expect("\(root)" == "RelayAccessRoot(redacted)")
  }
}

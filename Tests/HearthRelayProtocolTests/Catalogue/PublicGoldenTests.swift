import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync

/// Bytes that must never change: signatures are over them, and others keep them.
@Suite("Golden bytes of public catalogues")
struct PublicGoldenTests {
  @Test("keys, ids, records, head and pack have their bytes and are read back the same")
  func formats() throws {
    let publisher = try PublicFixture.publisher()
    let reference = try PublicFixture.reference()
    #expect(hex(publisher.publicKey.bytes) == PublicGoldenBytes.publisher)
    #expect(hex(reference.id.bytes) == PublicGoldenBytes.catalogue)
    let access = try publisher.accessRoot.pair(
      mailbox: reference.id.bytes, relayID: RelayFixture.run(0x20, 32))
    #expect(hex(access.publicKey.bytes) == PublicGoldenBytes.accessKey)
    let print = Base32.encode(try Hex.decode(PublicGoldenBytes.fingerprint)).prefix(16)
    #expect(reference.fingerprint.filter { $0 != "-" } == String(print))
    let challenge = try PublicFixture.signed(PublicFixture.challenge())
    let flag = try PublicFixture.signed(PublicFixture.flag())
    #expect(hex(challenge.bytes) == PublicGoldenBytes.challenge)
    #expect(hex(flag.bytes) == PublicGoldenBytes.flag)
    for record in [challenge, flag] {
      let again = try SignedPublicRecord(decoding: record.bytes)
      #expect(again == record && again.record.encoded + again.bytes.suffix(64) == record.bytes)
      try again.verify(of: reference.id, by: publisher.publicKey)
    }
    let head = try PublicFixture.head()
    #expect(head.head.root.description == PublicGoldenBytes.root)
    #expect(hex(head.bytes) == PublicGoldenBytes.head)
    #expect(try SignedPublicHead(decoding: head.bytes) == head)
    let pack = PublicPack(try PublicFixture.whole())
    #expect(hex(pack.encoded) == PublicGoldenBytes.pack)
    #expect(try PublicPack(decoding: pack.encoded) == pack)
  }

  @Test("each frame has its bytes and is read back the same")
  func frames() throws {
    let requests = try PublicFixture.requests()
    #expect(
      requests.map { hex($0.encoded) } == [
        PublicGoldenBytes.create, PublicGoldenBytes.openPublic, PublicGoldenBytes.query,
      ])
    for frame in requests {
      #expect(try RelayFrame(decoding: Array(frame.encoded.dropFirst(4))) == frame)
      // Strangers may send no longer frames.
      #expect(frame.encoded.count <= RelayLimits.maximumHandshakeFrameBytes)
    }
    let replies = try PublicFixture.replies()
    #expect(
      replies.map { hex($0.encoded) }
        == [PublicGoldenBytes.found, PublicGoldenBytes.foundNothing])
    for frame in replies {
      #expect(try RelayFrame(decoding: Array(frame.encoded.dropFirst(4))) == frame)
    }
  }

  @Test("an address has one spelling, with a relay and without")
  func address() throws {
    let reference = try PublicFixture.reference()
    let relay = try RelayAddress(host: "127.0.0.1", port: 7440, pin: RelayFixture.bytes32(0x40))
    let address = CatalogueAddress(relay: relay, catalogue: reference)
    #expect(address.description == PublicGoldenBytes.address)
    #expect(try CatalogueAddress(address.description) == address)
    let bare = CatalogueAddress(relay: nil, catalogue: reference)
    #expect(try CatalogueAddress(bare.description) == bare)
    let text = address.description
    let key = Base32.encode(reference.publisher.bytes)
    for wrong in [
      "", "hearth-catalogue://", text + "/", text + "X", text.uppercased(),
      String(text.dropLast(7)), "hearth-catalogue:///\(key)/", "hearth-catalogue:///\(key)",
      "hearth-catalogue:///\(key.dropLast())/hearth", "hearth-catalogue://x/\(key)/hearth",
      "hearth-catalogue:///\(String(repeating: "0", count: 52))/hearth",
      text.replacing("7440", with: "07440"), "https" + text,
      "hearth-catalogue:///\(key)/\(String(repeating: "a", count: 33))",
    ] {
      #expect(throws: SyncError(.malformed, ""), "\(wrong)") { try CatalogueAddress(wrong) }
    }
  }
}

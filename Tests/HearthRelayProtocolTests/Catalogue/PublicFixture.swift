import HearthCRDT
import HearthCrypto

@testable import HearthRelayProtocol

/// The catalogue that the golden bytes of public catalogues are made of.
enum PublicFixture {
  static func publisher(_ first: UInt8 = 0) throws -> PublisherIdentity {
    try PublisherIdentity(master: RelayFixture.secret(first).key())
  }

  static func reference(_ first: UInt8 = 0, name: String = "hearth") throws -> CatalogueReference {
    try CatalogueReference(publisher: publisher(first).publicKey, name: name)
  }

  static func challenge() throws -> PublicRecord {
    try PublicRecord(
      type: "challenge", id: "bench-test", revision: 1,
      fields: [
        PublicField("tags", .text("walking")), PublicField("tags", .text("games")),
        PublicField("minutes", .int(40)), PublicField("category", .text("calm")),
        PublicField("adultHelp", .bool(true)),
      ], body: #"{"id":"bench-test"}"#)
  }

  static func flag() throws -> PublicRecord {
    try PublicRecord(
      type: "flag", id: "ml_personalization", revision: 300,
      fields: [PublicField("value", .bool(false)), PublicField("version", .int(-2))], body: "{}")
  }

  static func signed(_ record: PublicRecord) throws -> SignedPublicRecord {
    SignedPublicRecord(record, of: try reference().id, by: try publisher())
  }

  static func head() throws -> SignedPublicHead {
    let records = [try signed(challenge()), try signed(flag())]
    let reference = try reference()
    let root = PublicHead.root(
      of: records.map { ($0.record.path, $0.digest) }, in: reference.id)
    return SignedPublicHead(
      PublicHead(
        of: reference, version: 300, previous: 1, count: 2, root: root,
        publishedAt: 1_763_683_200_000), by: try publisher())
  }

  static func whole() throws -> PublicCatalogue {
    try PublicCatalogue(
      of: reference(), head: head(), records: [signed(challenge()), signed(flag())])
  }

  static func query() throws -> PublicQuery {
    try PublicQuery(
      type: "challenge",
      conditions: [
        PublicCondition("category", .equals(.text("calm"))),
        PublicCondition("adultHelp", .equals(.bool(true))),
        PublicCondition("minutes", .range(least: 10, most: nil)),
        PublicCondition("minutes", .range(least: nil, most: 30)),
        PublicCondition("minutes", .range(least: -1, most: 300)),
      ], after: "bench-test")
  }

  static func creation() throws -> RelayFrame<RelayRequest> {
    let publisher = try publisher()
    let mailbox = try reference().id.bytes
    let binding = RelayFixture.binding
    let access = try publisher.accessRoot.pair(
      mailbox: mailbox, relayID: RelayFixture.run(0x20, 32))
    let signed = RelayAccess.Creation(
      kind: 1, accessKey: access.publicKey.bytes, managerKey: publisher.publicKey.bytes,
      credential: Array("token".utf8))
    let creation = RelayCreation(
      channel: 3, kind: .catalogue, accessKey: signed.accessKey, managerKey: signed.managerKey,
      credential: signed.credential, clientNonce: binding.clientNonce,
      accessSignature: RelayAccess.signCreation(
        signed, with: access, mailbox: mailbox, binding: binding),
      managerSignature: RelayAccess.signCreation(
        signed, with: publisher.signingPair, mailbox: mailbox, binding: binding),
      catalogueName: "hearth")
    return RelayFrame(request: 4, .create(creation))
  }

  static func requests() throws -> [RelayFrame<RelayRequest>] {
    [
      try creation(),
      RelayFrame(request: 2, .openPublic(channel: 3, mailbox: try reference().id)),
      RelayFrame(request: 7, .query(channel: 3, try query())),
    ]
  }

  static func replies() throws -> [RelayFrame<RelayReply>] {
    [
      RelayFrame(
        request: 7,
        .found(
          PublicAnswer(
            head: try head().bytes, records: [try signed(challenge()).bytes],
            next: "bench-test"))),
      RelayFrame(request: 8, .found(PublicAnswer(head: nil, records: [], next: nil))),
    ]
  }
}

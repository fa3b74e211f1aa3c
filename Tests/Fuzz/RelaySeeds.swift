import HearthCRDT
import HearthCrypto

@testable import HearthRelayProtocol
@testable import HearthSync

// One of each kind of frame; keys and signatures are any bytes, since decoders check none.

private let key = [UInt8](repeating: 0x11, count: 32)
private let digest = RelayChain.digest(of: key)
private let cursor = RelayCursor(generation: Identifier(high: 1, low: 2), position: 300)
private let fault = RelayFault(.rateLimited, "slow down", retryAfterMilliseconds: 1_500)

private func bare(_ encoded: [UInt8]) -> [UInt8] {
  Array(encoded.dropFirst(RelayFraming.lengthBytes))
}

private let query: PublicQuery = {
  let conditions = [
    PublicCondition("category", .equals(.text("calm"))),
    PublicCondition("adultHelp", .equals(.bool(true))),
    PublicCondition("minutes", .range(least: 10, most: nil)),
    PublicCondition("minutes", .range(least: -1, most: 300)),
  ]
  guard let query = try? PublicQuery(type: "challenge", conditions: conditions, after: "bench")
  else { preconditionFailure("no query") }
  return query
}()

private let catalogueCreation = RelayCreation(
  channel: 3, kind: .catalogue, accessKey: key, managerKey: key, credential: [],
  clientNonce: digest, accessSignature: key + key, managerSignature: key + key,
  catalogueName: "hearth")

/// After what packed items are unpacked here: a text as long as one that is kept.
let packingBase = RelayPackingBase(name: key + key + key, blob: key + (0..<160).map { UInt8($0) })

private let packedSeeds = packingBase.pack([
  RelayPut(name: key, blob: [1] + key + [2] + (0..<200).map { UInt8($0) }),
  RelayPut(name: [7] + key, isReplaceable: true, blob: key),
])

private let childCreation = RelayCreation(
  channel: 3, kind: .sealed, accessKey: key, managerKey: key, credential: [],
  parent: RelayParent(cursor.generation, .handoff), clientNonce: digest, accessSignature: key + key,
  managerSignature: key + key)

/// A catalogue of two records, as it is kept and handed on.
func publicSeeds() throws -> (records: [[UInt8]], head: [UInt8], pack: [UInt8]) {
  var master = [UInt8](repeating: 7, count: 32)
  let publisher = try PublisherIdentity(master: SecretKey(consuming: &master))
  let reference = try CatalogueReference(publisher: publisher.publicKey, name: "hearth")
  let fields = [
    PublicField("adultHelp", .bool(true)), PublicField("minutes", .int(-40)),
    PublicField("tags", .text("games")), PublicField("tags", .text("walking")),
  ]
  let whole = try PublicCatalogue.next(
    after: nil, of: reference,
    drafts: [
      PublicRecord(type: "challenge", id: "bench-test", revision: 1, fields: fields, body: "{}"),
      PublicRecord(type: "flag", id: "sharing", revision: 1, fields: [], body: ""),
    ], publishedAt: 1_763_683_200_000, by: publisher)
  return (whole.records.map(\.bytes), whole.head.bytes, PublicPack(whole).encoded)
}

let relayRequestSeeds: [[UInt8]] = {
  let name = Array("name".utf8)
  let proof = RelayProof(
    channel: 3, keyID: RelayAccess.keyID(of: key), clientNonce: digest, signature: key + key,
    cursor: cursor, author: RelayAuthorProof(key: key, signature: key + key))
  let creation = RelayCreation(
    channel: 3, kind: .sealed, accessKey: key, managerKey: key, credential: name,
    clientNonce: digest, accessSignature: key + key, managerSignature: key + key)
  let requests: [RelayRequest] = [
    .hello(minimumVersion: 1, maximumVersion: 300), .open(channel: 3, mailbox: cursor.generation),
    .prove(proof), .create(creation), .close(channel: 255),
    .put(
      channel: 3,
      items: [
        RelayPut(name: name, blob: key), RelayPut(name: key, isReplaceable: true, blob: []),
      ]), .remove(channel: 3, names: [name, key]),
    .list(channel: 3, after: 300, limit: 2_000, isLiveOnly: true),
    .fetch(channel: 3, names: [name]), .fetchAfter(channel: 3, after: 0, limit: 400),
    .subscribe(channel: 3), .unsubscribe(channel: 3),
    .rotate(channel: 3, generation: 1, accessKey: key),
    .setRank(channel: 3, key: key, rank: .author), .roster(channel: 3), .reset(channel: 3),
    .list(channel: 3, after: 300, limit: 1, isLiveOnly: true, author: key), .ping, .goodbye,
    .openPublic(channel: 3, mailbox: cursor.generation), .query(channel: 3, query),
    .create(catalogueCreation), .create(childCreation),
    .subscribe(channel: 3, takesPacked: true), .putPacked(channel: 3, items: packedSeeds),
  ]
  return requests.map { bare(RelayFrame(request: 300, $0).encoded) }
}()

let relayReplySeeds: [[UInt8]] = {
  let headers = [
    RelayHeader(
      position: 1, kind: .put, isReplaceable: true, isLive: true, name: [7], byteCount: 32,
      digest: digest),
    RelayHeader(
      position: 2, kind: .remove, isReplaceable: false, isLive: false, name: [8], byteCount: 0,
      digest: RelayChain.emptyDigest),
  ]
  let entries = [
    RelayEntry(header: headers[0], blob: key), RelayEntry(header: headers[1], blob: []),
  ]
  let replies: [RelayReply] = [
    .welcome(
      RelayWelcome(version: 1, relayID: digest, registration: .token, heartbeatSeconds: 30)),
    .challenge(keyID: RelayAccess.keyID(of: key), nonce: digest),
    .opened(
      RelayOpened(
        head: cursor, chain: digest, standing: .known(digest), accessGeneration: 2,
        rank: .manager, roster: Bytes16(exactly: Array(key.prefix(16))), usedBytes: 1_000,
        quotaBytes: 1 << 30)),
    .stored([RelayStored(.stored, position: 300), RelayStored(.conflict, position: 1)]),
    .removed([0, 300]),
    .listing(RelayListing(headers: headers, through: 2, head: 300, chain: digest)),
    .blobs([nil, key, []]), .entries(RelayPage(entries: entries, head: 300, chain: digest)),
    .subscribed(head: 300), .rotated(generation: 2), .done, .pong, .fault(fault),
    .pushed(channel: 3, entries: entries), .behind(channel: 3, head: 300),
    .closed(channel: 3, fault), .farewell(fault),
    .found(PublicAnswer(head: key, records: [key, []], next: "bench-test")),
    .pushedPacked(channel: 3, from: 300, items: packedSeeds),
    .roster(
      RelayRosterReport(
        seats: [RelaySeat(key: key, rank: .manager, usedBytes: 300, entries: 1)],
        guests: RelaySeat(key: [], rank: .guest))),
  ]
  return replies.map { bare(RelayFrame(request: $0.isPush ? 0 : 300, $0).encoded) }
}()

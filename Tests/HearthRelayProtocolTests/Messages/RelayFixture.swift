import HearthCRDT
import HearthCrypto

@testable import HearthRelayProtocol

/// The values that the golden bytes of the relay protocol are made of: runs of rising bytes.
enum RelayFixture {
  static let mailbox = Identifier(high: 0x1011_1213_1415_1617, low: 0x1819_1a1b_1c1d_1e1f)
  static let generation = Identifier(high: 0xc0c1_c2c3_c4c5_c6c7, low: 0xc8c9_cacb_cccd_cecf)
  static let fault = RelayFault(.rateLimited, "slow down", retryAfterMilliseconds: 1_500)
  static let binding = RelayAccess.Binding(
    relayID: bytes32(0x20), pin: bytes32(0x40), relayNonce: bytes32(0x60),
    clientNonce: bytes32(0x80))

  static func run(_ first: UInt8, _ count: Int) -> [UInt8] {
    (0..<count).map { first &+ UInt8($0) }
  }

  static func bytes32(_ first: UInt8) -> Bytes32 { Bytes32(exactly: run(first, 32)) }

  static func secret(_ first: UInt8, _ count: Int = 32) throws -> SecretBytes {
    var bytes = run(first, count)
    return try SecretBytes(consuming: &bytes)
  }

  static func epoch() throws -> EpochKey {
    try EpochKey(
      secret: secret(0).key(), groupID: run(1, 16), zoneID: run(2, 16))
  }

  static func accessPair() throws -> SigningKeyPair {
    try epoch().relayAccessRoot().pair(mailbox: mailbox.bytes, relayID: run(0x20, 32))
  }

  static func managerPair() throws -> SigningKeyPair {
    try SigningKeyPair(seed: secret(0xa0).key())
  }

  static func creation() throws -> RelayAccess.Creation {
    RelayAccess.Creation(
      kind: 0, accessKey: try accessPair().publicKey.bytes,
      managerKey: try managerPair().publicKey.bytes, credential: Array("token".utf8))
  }

  static let parent = RelayParent(
    Identifier(bytes: run(0xd0, Identifier.byteCount)) ?? .zero, .place)

  static func childCreation() throws -> RelayAccess.Creation {
    RelayAccess.Creation(
      kind: 0, accessKey: try accessPair().publicKey.bytes,
      managerKey: try managerPair().publicKey.bytes, credential: [], parent: parent.bytes)
  }

  static func create(
    _ signed: RelayAccess.Creation, _ parent: RelayParent?
  ) throws -> RelayFrame<RelayRequest> {
    RelayFrame(
      request: 4,
      .create(
        RelayCreation(
          channel: 3, kind: .sealed, accessKey: signed.accessKey, managerKey: signed.managerKey,
          credential: signed.credential, parent: parent, clientNonce: binding.clientNonce,
          accessSignature: RelayAccess.signCreation(
            signed, with: try accessPair(), mailbox: mailbox.bytes, binding: binding),
          managerSignature: RelayAccess.signCreation(
            signed, with: try managerPair(), mailbox: mailbox.bytes, binding: binding))))
  }

  static let first = RelayHeader(
    position: 1, kind: .put, isReplaceable: false, isLive: false, name: Array("a".utf8),
    byteCount: 2, digest: RelayChain.digest(of: Array("hi".utf8)))
  static let second = RelayHeader(
    position: 2, kind: .remove, isReplaceable: false, isLive: false, name: Array("a".utf8),
    byteCount: 0, digest: RelayChain.emptyDigest)
  static let third = RelayHeader(
    position: 3, kind: .put, isReplaceable: true, isLive: true, name: Array("bb".utf8),
    byteCount: 1, digest: RelayChain.digest(of: Array("!".utf8)))
  static let chainStart = RelayChain.start(mailbox: mailbox, generation: generation)
  static let chain1 = RelayChain.next(chainStart, first)
  static let chain3 = RelayChain.next(RelayChain.next(chain1, second), third)
  static let entries = [
    RelayEntry(header: first, blob: []), RelayEntry(header: second, blob: []),
    RelayEntry(header: third, blob: Array("!".utf8)),
  ]

  /// After what the packed items are packed, and what they are.
  static let packingBase = RelayPackingBase(name: Array("entry-00".utf8), blob: run(0, 200))
  static let packedPuts = [
    RelayPut(name: Array("entry-01".utf8), blob: run(0, 40) + Array("!!".utf8) + run(0x80, 160)),
    RelayPut(name: Array("entry-02".utf8), isReplaceable: true, blob: []),
  ]
  static let packed = [
    RelayPackedItem(
      isReplaceable: false, nameCount: 8, blobCount: 202,
      pieces: [
        .copy(offset: 0, count: 40), .literal(Array("!!".utf8)), .copy(offset: 128, count: 64),
        .literal(run(0xc0, 64)), .copy(offset: 200, count: 22), .copy(offset: 192, count: 7),
        .literal([UInt8(ascii: "1")]),
      ], rest: Array(packedPuts[0].blob.dropFirst(192)),
      check: RelayPackedItem.check(name: packedPuts[0].name, blob: packedPuts[0].blob)),
    RelayPackedItem(
      isReplaceable: true, nameCount: 8, blobCount: 0,
      pieces: [.copy(offset: 192, count: 7), .literal([UInt8(ascii: "2")])], rest: [],
      check: RelayPackedItem.check(name: packedPuts[1].name, blob: [])),
  ]

  static let roster = RelayRosterReport.digest(
    managers: [run(0, 32)], authors: [run(1, 32)])

  static func prove(
    _ cursor: RelayCursor?, author: RelayAuthorProof? = nil
  ) throws -> RelayFrame<RelayRequest> {
    let access = try accessPair()
    return RelayFrame(
      request: 3,
      .prove(
        RelayProof(
          channel: 3, keyID: RelayAccess.keyID(of: access.publicKey.bytes),
          clientNonce: binding.clientNonce,
          signature: RelayAccess.prove(access, mailbox: mailbox.bytes, binding: binding),
          cursor: cursor, author: author)))
  }

  static func requests() throws -> [RelayFrame<RelayRequest>] {
    let access = try accessPair()
    let manager = try managerPair()
    let cursor = RelayCursor(generation: generation, position: 300)
    let author = RelayAuthorProof(
      key: manager.publicKey.bytes,
      signature: RelayAccess.proveAuthor(manager, mailbox: mailbox.bytes, binding: binding))
    let names = [Array("a".utf8), Array("bb".utf8)]
    return [
      RelayFrame(request: 1, .hello(minimumVersion: 2, maximumVersion: 2)),
      RelayFrame(request: 2, .open(channel: 3, mailbox: mailbox)),
      try prove(cursor), try prove(nil),
      try create(creation(), nil), try create(childCreation(), parent),
      RelayFrame(request: 5, .close(channel: 3)),
      RelayFrame(
        request: 300,
        .put(
          channel: 255,
          items: [
            RelayPut(name: names[0], blob: Array("hi".utf8)),
            RelayPut(name: names[1], isReplaceable: true, blob: []),
          ])), RelayFrame(request: 7, .remove(channel: 3, names: [names[0]])),
      RelayFrame(request: 8, .list(channel: 3, after: 0, limit: 2_000, isLiveOnly: true)),
      RelayFrame(request: 9, .fetch(channel: 3, names: names)),
      RelayFrame(request: 10, .fetchAfter(channel: 3, after: 128, limit: 400)),
      RelayFrame(request: 11, .subscribe(channel: 3)),
      RelayFrame(request: 11, .subscribe(channel: 3, takesPacked: true)),
      RelayFrame(request: 12, .unsubscribe(channel: 3)),
      RelayFrame(
        request: 13, .rotate(channel: 3, generation: 1, accessKey: access.publicKey.bytes)),
      RelayFrame(
        request: 14, .setRank(channel: 3, key: manager.publicKey.bytes, rank: .manager)),
      RelayFrame(request: 15, .roster(channel: 3)),
      RelayFrame(
        request: 8,
        .list(
          channel: 3, after: 0, limit: 1, isLiveOnly: true, author: manager.publicKey.bytes)),
      try prove(nil, author: author),
      RelayFrame(request: 19, .reset(channel: 3)),
      RelayFrame(request: .max, .ping), RelayFrame(request: 17, .goodbye),
      RelayFrame(request: 18, .putPacked(channel: 3, items: packed)),
    ]
  }

  static let rosterReport = RelayRosterReport(
    seats: [
      RelaySeat(key: run(0, 32), rank: .manager, usedBytes: 300, entries: 2),
      RelaySeat(key: run(1, 32), rank: .author),
      RelaySeat(key: run(2, 32), rank: .struck, usedBytes: 1, entries: 1),
    ], guests: RelaySeat(key: [], rank: .guest, usedBytes: 128, entries: 1))

  static func replies() throws -> [RelayFrame<RelayReply>] {
    let keyID = RelayAccess.keyID(of: try accessPair().publicKey.bytes)
    let head = RelayCursor(generation: generation, position: 3)
    return [
      RelayFrame(
        request: 1,
        .welcome(
          RelayWelcome(
            version: 2, relayID: bytes32(0x20), registration: .token, heartbeatSeconds: 30))),
      RelayFrame(request: 2, .challenge(keyID: keyID, nonce: bytes32(0x60))),
      RelayFrame(
        request: 3,
        .opened(
          RelayOpened(
            head: head, chain: chain3, standing: .known(chain1), accessGeneration: 2,
            rank: .manager, roster: roster, usedBytes: 1_000, quotaBytes: 1 << 30))),
      RelayFrame(
        request: 3,
        .opened(
          RelayOpened(
            head: head, chain: chain3, standing: .otherGeneration, accessGeneration: 1,
            rank: .guest, roster: roster, usedBytes: 0, quotaBytes: 1))),
      RelayFrame(
        request: 6,
        .stored([
          RelayStored(.stored, position: 300), RelayStored(.present, position: 1),
          RelayStored(.conflict, position: 2),
        ])), RelayFrame(request: 7, .removed([0, 301])),
      RelayFrame(
        request: 8,
        .listing(RelayListing(headers: [first, second, third], through: 3, head: 4, chain: chain3))
      ), RelayFrame(request: 9, .blobs([nil, Array("hi".utf8)])),
      RelayFrame(request: 10, .entries(RelayPage(entries: entries, head: 3, chain: chain3))),
      RelayFrame(request: 11, .subscribed(head: 3)),
      RelayFrame(request: 13, .rotated(generation: 2)), RelayFrame(request: 5, .done),
      RelayFrame(request: 16, .pong), RelayFrame(request: 6, .fault(fault)),
      RelayFrame(request: 0, .pushed(channel: 3, entries: [entries[2]])),
      RelayFrame(request: 0, .behind(channel: 3, head: 9)),
      RelayFrame(request: 0, .closed(channel: 3, fault)),
      RelayFrame(request: 0, .farewell(fault)),
      RelayFrame(request: 0, .pushedPacked(channel: 3, from: 300, items: packed)),
      RelayFrame(request: 15, .roster(rosterReport)),
    ]
  }
}

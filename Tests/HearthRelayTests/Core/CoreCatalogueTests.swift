import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// A publisher and its catalogue for tests of the relay.
struct CatalogueShelf {
  let publisher: PublisherIdentity
  let reference: CatalogueReference
  var mailbox: Identifier { reference.id }

  init(_ byte: UInt8 = 0x31, name: String = "hearth") throws {
    publisher = try PublisherIdentity(master: CoreWorld.key(byte))
    reference = try CatalogueReference(publisher: publisher.publicKey, name: name)
  }

  func record(
    _ id: String, type: String = "challenge", _ fields: [PublicField] = [], body: String = "{}"
  ) throws -> SignedPublicRecord {
    SignedPublicRecord(
      try PublicRecord(type: type, id: id, revision: 1, fields: fields, body: body), of: mailbox,
      by: publisher)
  }

  static func put(_ record: SignedPublicRecord) -> RelayPut {
    RelayPut(name: record.entryName, isReplaceable: true, blob: record.bytes)
  }

  func head(_ records: [SignedPublicRecord] = []) throws -> RelayPut {
    let whole = try PublicCatalogue.next(
      after: nil, of: reference, drafts: records.map(\.record), publishedAt: 1, by: publisher)
    return RelayPut(name: PublicName.head, isReplaceable: true, blob: whole.head.bytes)
  }

  /// Makes the catalogue's mailbox, as its publisher does.
  func create(
    in world: CoreWorld, _ id: RelaySessionID, mailbox: Identifier? = nil,
    kind: RelayMailboxKind = .catalogue
  ) throws -> RelayReply? {
    let mailbox = mailbox ?? self.mailbox
    let identity = try #require(CoreWorld.identity)
    let access = try publisher.accessRoot.pair(
      mailbox: mailbox.bytes, relayID: identity.relayID.array)
    let (_, nonce) = try #require(world.challenge(id, 0, mailbox))
    return world.ask(
      id,
      .create(
        try CoreWorld.creation(
          0, mailbox, access: access, manager: publisher.signingPair, nonce, kind: kind,
          catalogueName: kind == .catalogue ? reference.name : "")))
  }
}

@Suite("Catalogues at the relay's core")
struct CoreCatalogueTests {
  private func made(
    _ change: (inout RelayConfiguration) -> Void = { _ in }
  ) throws -> (world: CoreWorld, shelf: CatalogueShelf, author: RelaySessionID) {
    let world = try CoreWorld(change)
    let shelf = try CatalogueShelf()
    let author = world.connect(2)
    #expect(try shelf.create(in: world, author).opened?.rank == .manager)
    return (world, shelf, author)
  }

  private func query(_ type: String = "challenge") throws -> RelayRequest {
    .query(channel: 0, try PublicQuery(type: type))
  }

  @Test("anybody reads what a publisher stored, and finds it by its fields")
  func reading() throws {
    let (world, shelf, author) = try made()
    let records = try ["a", "b"].map {
      try shelf.record($0, [PublicField("calm", .bool($0 == "b"))])
    }
    let items = records.map(CatalogueShelf.put) + [try shelf.head(records)]
    guard case .stored(let stored)? = world.ask(author, .put(channel: 0, items: items)) else {
      Issue.record("not stored")
      return
    }
    #expect(stored.map(\.position) == [1, 2, 3])
    let reader = world.connect()
    let opened = try #require(
      world.ask(reader, .openPublic(channel: 0, mailbox: shelf.mailbox)).opened)
    #expect(opened.head.position == 3 && opened.rank == .guest)
    guard
      case .entries(let page)? = world.ask(
        reader, .fetchAfter(channel: 0, after: 0, limit: 10)),
      case .found(let all)? = world.ask(reader, try query()),
      case .found(let calm)? = world.ask(
        reader,
        .query(
          channel: 0,
          try PublicQuery(
            type: "challenge",
            conditions: [PublicCondition("calm", .equals(.bool(true)))], limit: 1)))
    else {
      Issue.record("not read")
      return
    }
    #expect(page.entries.map(\.blob) == items.map(\.blob))
    #expect(all.records == records.map(\.bytes) && all.next == nil && all.head == items[2].blob)
    #expect(calm.records == [records[1].bytes])
    #expect(world.core.counters.queries == 2)
  }

  @Test("a reader writes nothing, changes nothing and is pushed nothing")
  func readers() throws {
    let (world, shelf, _) = try made()
    let reader = world.connect()
    _ = world.ask(reader, .openPublic(channel: 0, mailbox: shelf.mailbox))
    let key = [UInt8](shelf.publisher.publicKey.bytes)
    let put = CatalogueShelf.put(try shelf.record("a"))
    for request: RelayRequest in [
      .put(channel: 0, items: [put]), .remove(channel: 0, names: [put.name]),
      .rotate(channel: 0, generation: 1, accessKey: key), .subscribe(channel: 0),
      .setRank(channel: 0, key: key, rank: .manager), .roster(channel: 0), .reset(channel: 0),
    ] {
      #expect(world.ask(reader, request).faultCode == .notAllowed)
    }
    #expect(
      world.ask(reader, .openPublic(channel: 1, mailbox: shelf.mailbox)).opened?.head.position
        == 0)
    // Its frames stay short, and it is no stranger that is ended for its silence.
    #expect(
      !world.trusted.contains(reader) && !world.core.state.sessions.strangers.contains(reader))
    // The logs refuse it as well.
    let write = RelayWrite(
      mailbox: shelf.mailbox, authority: .reader, action: .put([put]), quota: RelayQuota(), day: 0)
    #expect(try world.log.write([write]) == [.refused(.forbidden)])
  }

  @Test("what is no catalogue is answered like what does not exist")
  func sealedMailboxes() throws {
    let world = try CoreWorld()
    let mailbox = Identifier(high: 1, low: 2)
    _ = try world.create(
      world.connect(2), mailbox, access: CoreWorld.pair(1), manager: CoreWorld.pair(3))
    let reader = world.connect()
    let known = world.ask(reader, .openPublic(channel: 0, mailbox: mailbox))
    let unknown = world.ask(
      reader, .openPublic(channel: 0, mailbox: Identifier(high: 9, low: 9)))
    #expect(known == unknown && known.faultCode == .refused)
    let read = RelayRead(mailbox: mailbox, authority: .reader, question: .head)
    #expect(try world.log.read(read) == .refused(.forbidden))
    // And a sealed mailbox is not asked by fields.
    let member = world.connect()
    _ = try world.open(member, mailbox, with: CoreWorld.pair(1))
    #expect(world.ask(member, try query()).faultCode == .unsupported)
  }

  @Test("nobody takes the name of a publisher's catalogue")
  func names() throws {
    let world = try CoreWorld()
    let mine = try CatalogueShelf()
    let thief = try CatalogueShelf(0x32)
    let id = world.connect()
    #expect(try thief.create(in: world, id, mailbox: mine.mailbox).faultCode == .refused)
    #expect(
      try thief.create(in: world, id, kind: RelayMailboxKind(rawValue: 2)).faultCode
        == .unsupported)
    #expect(try mine.create(in: world, id).opened != nil)
  }

  @Test("only what the publisher signed is stored, under its own name")
  func junk() throws {
    let (world, shelf, author) = try made()
    let good = CatalogueShelf.put(try shelf.record("a"))
    let stranger = try CatalogueShelf(0x32).record("b")
    for item in [
      CatalogueShelf.put(stranger),
      RelayPut(name: good.name, isReplaceable: false, blob: good.blob),
      RelayPut(name: Array("challenge/z".utf8), isReplaceable: true, blob: good.blob),
      RelayPut(name: good.name, isReplaceable: true, blob: good.blob + [0]),
      RelayPut(name: PublicName.head, isReplaceable: true, blob: good.blob),
    ] {
      // One bad entry refuses all.
      let reply = world.ask(author, .put(channel: 0, items: [good, item]))
      #expect(reply.faultCode == .notAllowed)
    }
    let many = [RelayPut](repeating: good, count: PublicLimits.maximumBatchItems)
    #expect(world.ask(author, .put(channel: 0, items: many + [good])).faultCode == .tooLarge)
    #expect(world.ask(author, .put(channel: 0, items: many)).faultCode == nil)
    // The publisher stays the one whose signatures are checked.
    let key = try CoreWorld.pair(5).publicKey.bytes
    #expect(
      world.ask(author, .setRank(channel: 0, key: key, rank: .manager)).faultCode == .notAllowed)
  }

  @Test("an address has so much work done a minute, and connections to read have their number")
  func limits() throws {
    let (world, shelf, _) = try made {
      $0.catalogueWorkPerMinute = 20
      $0.maximumReaders = 1
      $0.maximumStrangers = 2
    }
    let reader = world.connect()
    _ = world.ask(reader, .openPublic(channel: 0, mailbox: shelf.mailbox))
    #expect(world.ask(reader, try query()).faultCode == nil)
    #expect(world.ask(reader, try query()).faultCode == nil)
    #expect(world.ask(reader, try query()).faultCode == .rateLimited)
    let other = world.connect(7)
    #expect(
      world.ask(other, .openPublic(channel: 0, mailbox: shelf.mailbox)).faultCode == .tooMany)
    world.handle(.disconnected(reader))
    #expect(world.ask(other, .openPublic(channel: 0, mailbox: shelf.mailbox)).opened != nil)
    #expect(world.ask(other, try query()).faultCode == nil)
    world.now += 60_000
    world.handle(.tick)
    #expect(!world.closed.contains(other))
  }
}

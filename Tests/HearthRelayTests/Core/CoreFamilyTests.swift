import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// Who may make mailboxes that belong to another: at a relay that lets nobody register.
@Suite("Mailboxes that belong to one, at the relay's core")
struct CoreFamilyTests {
  let mailbox = Identifier(high: 1, low: 2)
  let access: SigningKeyPair
  let next: SigningKeyPair
  let manager: SigningKeyPair
  let stranger: SigningKeyPair

  init() throws {
    access = try CoreWorld.pair(1)
    next = try CoreWorld.pair(2)
    manager = try CoreWorld.pair(3)
    stranger = try CoreWorld.pair(4)
  }

  private func name(_ number: UInt64) -> Identifier { Identifier(high: 0x66, low: number) }

  /// A relay by list, at which one mailbox was made.
  private func made(_ policy: RelayRegistration = .allowList) throws -> CoreWorld {
    let log = MemoryRelayLog()
    log.list(managerKey: manager.publicKey.bytes)
    log.addToken(digest: RelayToken.digest(of: [7]), uses: 1)
    let world = try CoreWorld(log: log) { $0.registration = policy }
    let id = world.connect()
    let reply = try world.create(
      id, mailbox, access: access, manager: manager, credential: [7])
    #expect(reply.opened != nil)
    return world
  }

  private func child(
    _ world: CoreWorld, _ id: RelaySessionID, _ number: UInt64,
    _ child: RelayParent.Child = .place, of parent: Identifier? = nil, on channel: Int = 9,
    credential: [UInt8] = [], by maker: SigningKeyPair? = nil
  ) throws -> RelayReply? {
    let reply = try world.create(
      id, on: channel, name(number), access: stranger, manager: maker ?? stranger,
      credential: credential,
      parent: RelayParent(parent ?? mailbox, child))
    if reply.opened != nil { _ = world.ask(id, .close(channel: channel)) }
    return reply
  }

  @Test("a session that has it open as a member makes others; naming it alone helps nobody")
  func membership() throws {
    let world = try made()
    let id = world.connect()
    let unopened = try child(world, id, 1)
    let unknown = try child(world, id, 1, of: Identifier(high: 9, low: 9))
    let unregistered = try world.create(id, on: 9, name(1), access: stranger, manager: stranger)
    for reply in [unopened, unknown] {
      #expect(reply.faultCode == .refused)
      guard case .fault(let told)? = reply, case .fault(let usual)? = unregistered else { return }
      #expect(told.message == usual.message)
      #expect(told.retryAfterMilliseconds == usual.retryAfterMilliseconds)
    }
    // Another session's being in helps nobody either.
    let member = world.connect()
    #expect(try world.open(member, mailbox, with: access).opened != nil)
    #expect(try child(world, id, 1).faultCode == .refused)
    // Who made it is worth there what it is worth in the parent.
    #expect(try child(world, member, 1).opened?.rank == .guest)
    // By a manager's key it is open as well; once it is closed it is not.
    let other = world.connect()
    #expect(try world.open(other, mailbox, with: manager).opened != nil)
    #expect(try child(world, other, 2, by: manager).opened?.rank == .manager)
    #expect(world.ask(other, .close(channel: 0)) == .done)
    #expect(try child(world, other, 3).faultCode == .refused)
    // What belongs to another is no parent itself.
    #expect(try world.open(member, on: 1, name(1), with: stranger).opened != nil)
    #expect(try child(world, member, 3, of: name(1)).faultCode == .refused)
  }

  @Test("a channel that is asked for or challenged only is not open")
  func unfinished() throws {
    let world = try made()
    let id = world.connect()
    #expect(world.challenge(id, 0, mailbox) != nil)
    #expect(try child(world, id, 1).faultCode == .refused)
    let (_, nonce) = try #require(world.challenge(id, 1, mailbox))
    let proof = try CoreWorld.proof(1, mailbox, access, nonce)
    world.holdsLog = true
    _ = world.send(id, proof)
    world.release()
    #expect(try child(world, id, 1).opened != nil)
  }

  @Test("whoever was removed makes nothing once the key has turned over, also on its way")
  func removed() throws {
    let world = try made()
    let removed = world.connect()
    let member = world.connect()
    #expect(try world.open(removed, mailbox, with: access).opened != nil)
    #expect(try world.open(member, mailbox, with: access, author: manager).opened != nil)
    // Asked just before the key is changed, and done after.
    let (_, nonce) = try #require(world.challenge(removed, 9, name(1)))
    world.holdsLog = true
    let number = world.send(
      member, .rotate(channel: 0, generation: 1, accessKey: next.publicKey.bytes))
    let late = world.send(
      removed,
      .create(
        try CoreWorld.creation(
          9, name(1), access: stranger, manager: stranger, nonce,
          parent: RelayParent(mailbox, .handoff))))
    world.release()
    #expect(world.answer(member, number) == .rotated(generation: 2))
    #expect(world.answer(removed, late).faultCode == .refused)
    #expect(try child(world, removed, 1, .handoff).faultCode == .refused)
    #expect(try world.open(removed, on: 3, mailbox, with: access).faultCode == .refused)
    // Who changed the key goes on.
    #expect(try child(world, member, 1, .handoff).opened != nil)
  }

  @Test("a reader of a catalogue makes nothing by it, and a catalogue belongs to nothing")
  func catalogues() throws {
    let log = MemoryRelayLog()
    log.list(managerKey: manager.publicKey.bytes)
    let world = try CoreWorld(log: log) { $0.registration = .allowList }
    let id = world.connect()
    let catalogue = CatalogueReference.id(publisher: manager.publicKey.bytes, name: "offers")
    let (_, nonce) = try #require(world.challenge(id, 0, catalogue))
    let creation = try CoreWorld.creation(
      0, catalogue, access: access, manager: manager, nonce, kind: .catalogue,
      catalogueName: "offers")
    #expect(world.ask(id, .create(creation)).opened != nil)
    // Its publisher is a manager there, and still: a catalogue is no parent.
    #expect(try child(world, id, 1, of: catalogue).faultCode == .refused)
    let reader = world.connect()
    #expect(world.ask(reader, .openPublic(channel: 0, mailbox: catalogue)).opened != nil)
    #expect(try child(world, reader, 1, of: catalogue).faultCode == .refused)
  }

  @Test("limits are told: handoffs make room, meeting places have a fault of their own")
  func limits() throws {
    // By token, and it is used up: nothing but the parent gives a right.
    let world = try made(.token)
    let id = world.connect()
    #expect(try world.open(id, mailbox, with: access, author: manager).opened != nil)
    let handoffs = UInt64(RelayLimits.maximumHandoffs)
    for number in 1...(handoffs + 1) {
      world.now += 60_000
      #expect(try child(world, id, number, .handoff).opened != nil, "handoff \(number)")
    }
    #expect(try world.open(id, on: 4, name(1), with: stranger).faultCode == .refused)
    #expect(try world.open(id, on: 4, name(2), with: stranger).opened != nil)
    let places = UInt64(RelayLimits.maximumPlaces)
    _ = world.ask(id, .close(channel: 4))
    // Who is no manager makes half of them, and not one more.
    let guest = world.connect()
    #expect(try world.open(guest, mailbox, with: access).opened != nil)
    for number in 101...(100 + places / 2) {
      world.now += 60_000
      #expect(try child(world, guest, number).opened != nil, "place \(number)")
    }
    #expect(try child(world, guest, 200).faultCode == .tooManyChildren)
    // A manager makes the other half, then takes the places of the others' from the first on.
    for number in 201...(200 + places) {
      world.now += 60_000
      #expect(try child(world, id, number, by: manager).opened != nil, "place \(number)")
      let dropped = number - 200 > places / 2 ? number - 200 - places / 2 : 0
      for place in [dropped, dropped + 1] where (1...places / 2).contains(place) {
        let reply = try world.open(id, on: 4, name(100 + place), with: stranger)
        #expect((reply.opened == nil) == (place == dropped), "place \(place)")
        _ = world.ask(id, .close(channel: 4))
      }
    }
    for (session, number) in [(id, 301), (guest, 302)] as [(RelaySessionID, UInt64)] {
      let refused = try child(world, session, number, by: session == id ? manager : stranger)
      #expect(refused.faultCode == .tooManyChildren)
      guard case .fault(let fault)? = refused else { return }
      #expect(fault.message.contains("already has as many meeting places"))
    }
    // The channel is free again.
    #expect(try world.open(id, on: 9, name(2), with: stranger).opened != nil)
  }

  @Test("what belongs to another is told its own small quota")
  func quota() throws {
    let world = try made()
    let id = world.connect()
    #expect(try world.open(id, mailbox, with: access).opened?.quotaBytes == 1 << 30)
    #expect(try child(world, id, 1).opened?.quotaBytes == RelayLimits.maximumChildBytes)
  }

  @Test("a relay that is full says so with a fault of its own")
  func full() throws {
    let world = try CoreWorld { $0.quota.total = 200 }
    let id = world.connect()
    #expect(try world.create(id, mailbox, access: access, manager: manager).opened != nil)
    func put(_ count: Int) -> RelayReply? {
      world.ask(
        id,
        .put(
          channel: 0, items: [RelayPut(name: [1], blob: [UInt8](repeating: 1, count: count))]))
    }
    let room = 200 - Int(RelayQuota.cost(ofName: [1]))
    #expect(put(room + 1).faultCode == .relayFull)
    #expect(put(room).faultCode == nil)
  }

  @Test("a token that is used up says so, of free and taken names alike, and no other does")
  func usedUp() throws {
    let world = try made(.token)
    let id = world.connect()
    for name in [name(1), mailbox] {
      let used = try world.create(
        id, on: 1, name, access: stranger, manager: stranger, credential: [7])
      #expect(used.faultCode == .tokenUsedUp)
      let unknown = try world.create(
        id, on: 1, name, access: stranger, manager: stranger, credential: [8])
      #expect(unknown.faultCode == .refused)
    }
    // For a member it makes no difference.
    #expect(try world.open(id, mailbox, with: access).opened != nil)
    #expect(try child(world, id, 1, credential: [7]).opened != nil)
  }
}

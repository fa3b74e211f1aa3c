import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// What a client does to make mailboxes that belong to another.
@Suite("Mailboxes that belong to one, at the relay's client")
struct ClientFamilyTests {
  private let parent = Identifier(high: 7, low: 7)
  private let place = Identifier(high: 7, low: 8)

  private func child(_ key: UInt8, parents: [Identifier]) throws -> MailboxAccess {
    MailboxAccess(
      mailbox: place, keys: [try ClientWorld.key(key)], mayCreate: true, child: .place,
      parents: parents)
  }

  private func opening(_ result: Result<RelayOutcome, RelayFailure>) -> RelayOpening? {
    if case .success(.opened(let opening)) = result { opening } else { nil }
  }

  private func failure(_ result: Result<RelayOutcome, RelayFailure>) -> RelayFailure? {
    if case .failure(let failure) = result { failure } else { nil }
  }

  private func found(_ world: ClientWorld, _ name: Identifier) throws -> RelayMailbox? {
    let read = RelayRead(mailbox: name, authority: nil, question: .find(chainAt: nil))
    if case .found(let mailbox, _) = try world.core.log.read(read) { return mailbox }
    return nil
  }

  /// A relay by list at which the first of two clients made a mailbox.
  private func made() throws -> (ClientWorld, ClientWorld.Client) {
    let world = try ClientWorld { $0.registration = .allowList }
    world.core.log.list(managerKey: try CoreWorld.pair(0x31).publicKey.bytes)
    let owner = try world.client(0x31)
    let opened = world.ask(owner, try ClientWorld.access([1], mailbox: parent), .open)
    #expect(opening(opened)?.isCreated == true)
    return (world, try world.client(0x32))
  }

  @Test("the mailbox to which one is to belong is opened first, and nobody has to register")
  func opensFirst() throws {
    let (world, member) = try made()
    let access = try ClientWorld.access([1], mailbox: parent)
    member.session.know(access, cursor: nil, now: world.now)
    let opened = world.ask(member, try child(5, parents: [parent]), .open)
    #expect(opening(opened)?.isCreated == true)
    #expect(try found(world, place)?.parent == RelayParent(parent, .place))
    // It is there now, so another opens it without a parent.
    let guest = try world.client(0x33)
    #expect(opening(world.ask(guest, try child(5, parents: []), .open))?.isCreated == false)
    // After a loss the same holds on the new connection.
    world.cut(member)
    member.session.lost(.unreachable("reset"), now: world.now)
    #expect(opening(world.ask(member, try child(5, parents: [parent]), .open)) != nil)
  }

  @Test("whoever has none of them open is refused as before")
  func none() throws {
    let (world, member) = try made()
    let key = try CoreWorld.pair(0x32).publicKey.bytes
    #expect(
      failure(world.ask(member, try child(5, parents: [parent]), .open)) == .unlisted(key: key))
    // With keys of before the other is not opened, and it is not tried for ever.
    let old = try ClientWorld.access([2], mailbox: parent)
    member.session.know(old, cursor: nil, now: world.now)
    #expect(
      failure(world.ask(member, try child(5, parents: [parent]), .open)) == .unlisted(key: key))
    // With the right key, it is.
    let access = try ClientWorld.access([1], mailbox: parent)
    member.session.know(access, cursor: nil, now: world.now)
    #expect(opening(world.ask(member, try child(5, parents: [parent]), .open))?.isCreated == true)
  }

  @Test("of several the first that is open is taken, in the order in which they are preferred")
  func preferred() throws {
    let (world, member) = try made()
    let other = Identifier(high: 6, low: 6)
    let access = try ClientWorld.access([1], mailbox: parent)
    member.session.know(access, cursor: nil, now: world.now)
    member.session.know(
      try ClientWorld.access([3], mailbox: other), cursor: nil, now: world.now)
    let opened = world.ask(member, try child(5, parents: [other, parent]), .open)
    #expect(opening(opened)?.isCreated == true)
    #expect(try found(world, place)?.parent == RelayParent(parent, .place))
  }

  @Test("nothing is made only so that something can belong to it")
  func notMade() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1], mailbox: parent)
    client.session.know(access, cursor: nil, now: world.now)
    #expect(opening(world.ask(client, try child(5, parents: [parent]), .open))?.isCreated == true)
    #expect(try found(world, parent) == nil && found(world, place)?.parent == nil)
    // When it is asked for itself it is made, and said to be.
    #expect(opening(world.ask(client, access, .open))?.isCreated == true)
    // Asked for both at once, it is made first.
    let both = try world.client(0x32)
    let second = try ClientWorld.access([2], mailbox: Identifier(high: 9, low: 9))
    both.session.know(second, cursor: nil, now: world.now)
    var handoff = try child(6, parents: [second.mailbox])
    handoff = MailboxAccess(
      mailbox: Identifier(high: 9, low: 8), keys: handoff.keys, mayCreate: true, child: .handoff,
      parents: [second.mailbox])
    both.session.know(handoff, cursor: nil, now: world.now)
    let tickets = [
      world.begin(both, second.mailbox, .open), world.begin(both, handoff.mailbox, .open),
    ]
    world.run(upTo: 60_000) { tickets.allSatisfy { both.results[$0] != nil } }
    #expect(tickets.allSatisfy { both.results[$0].flatMap(opening)?.isCreated == true })
    #expect(try found(world, handoff.mailbox)?.parent == RelayParent(second.mailbox, .handoff))
  }

  @Test("a mailbox that made room for others while it was open is refused once, then made anew")
  func droppedWhileOpen() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1], mailbox: parent)
    #expect(opening(world.ask(client, access, .open))?.isCreated == true)
    func handoff(_ number: UInt64) throws -> MailboxAccess {
      MailboxAccess(
        mailbox: Identifier(high: 8, low: number), keys: [try ClientWorld.key(5)],
        mayCreate: true, child: .handoff, parents: [parent])
    }
    for number in 0...UInt64(RelayLimits.maximumHandoffs) {
      let opened = world.ask(client, try handoff(number), .open)
      #expect(opening(opened)?.isCreated == true, "handoff \(number)")
    }
    let first = try handoff(0)
    #expect(try found(world, first.mailbox) == nil)
    #expect(
      failure(world.ask(client, first, .fetch([[1]]))) == .fault(RelayFault(.refused, "")))
    #expect(opening(world.ask(client, first, .open))?.isCreated == true)
    #expect(try found(world, first.mailbox)?.parent == RelayParent(parent, .handoff))
  }

  @Test("a mailbox that was closed is opened again for the next question")
  func closed() throws {
    let (world, member) = try made()
    let access = try ClientWorld.access([1], mailbox: parent)
    let before = try #require(opening(world.ask(member, access, .open))?.number)
    guard case .success(.reply(.done)) = world.ask(member, access, .close) else {
      Issue.record("the mailbox was not closed")
      return
    }
    // Its channel is free for another.
    #expect(opening(world.ask(member, try child(5, parents: [parent]), .open))?.isCreated == true)
    let after = try #require(opening(world.ask(member, access, .open))?.number)
    #expect(after > before)
  }

  @Test("a token that is used up is told, unless a key opens the mailbox after all")
  func usedUp() throws {
    let world = try ClientWorld { $0.registration = .token }
    // The clients of this world have no token, which is one of no bytes.
    world.core.log.addToken(digest: RelayToken.digest(of: []), uses: 1)
    let owner = try world.client(0x31)
    let access = try ClientWorld.access([1], mailbox: parent)
    #expect(opening(world.ask(owner, access, .open))?.isCreated == true)
    let late = try world.client(0x32)
    #expect(failure(world.ask(late, try child(5, parents: []), .open)) == .tokenUsedUp)
    #expect(
      failure(world.ask(late, try ClientWorld.access([2], mailbox: parent), .open))
        == .tokenUsedUp)
    // The manager is let in though the key is none of its own, and its token used up.
    world.cut(owner)
    owner.session.lost(.unreachable("reset"), now: world.now)
    let other = try ClientWorld.access([3], mailbox: parent)
    #expect(opening(world.ask(owner, other, .open))?.key == .own)
  }
}

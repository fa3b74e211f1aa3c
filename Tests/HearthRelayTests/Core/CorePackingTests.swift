import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("The core and packed frames")
struct CorePackingTests {
  private let mailbox = Identifier(high: 1, low: 2)
  private let world: CoreWorld
  private let access: SigningKeyPair
  private let manager: SigningKeyPair

  init() throws {
    world = try CoreWorld()
    access = try CoreWorld.pair(1)
    manager = try CoreWorld.pair(2)
    _ = try world.create(world.connect(), mailbox, access: access, manager: manager)
  }

  /// A session with the mailbox open, of a manager, who may remove what others stored.
  private func member(_ takesPacked: Bool?) throws -> RelaySessionID {
    let id = world.connect()
    try #require(try world.open(id, mailbox, with: access, author: manager).opened != nil)
    if let takesPacked {
      let answer = world.ask(id, .subscribe(channel: 0, takesPacked: takesPacked))
      guard case .subscribed? = answer else { throw RelayError(.notFound, "no subscription") }
    }
    return id
  }

  private func item(_ number: Int, bytes: Int = 60) -> RelayPut {
    let blob = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7) } + [UInt8(number & 255)]
    return RelayPut(name: Array("the name of entry \(number)".utf8), blob: blob)
  }

  private func base(_ put: RelayPut) -> RelayPackingBase {
    RelayPackingBase(name: put.name, blob: put.blob)
  }

  private func stored(_ reply: RelayReply?) -> [RelayStored]? {
    if case .stored(let stored)? = reply { stored } else { nil }
  }

  @Test("A packed put stores what was packed, after whatever was put before and however it ended")
  func puts() throws {
    let id = try member(nil)
    let first = item(1)
    _ = world.ask(id, .put(channel: 0, items: [first]))
    let more = [item(2), item(3)]
    let packed = RelayRequest.putPacked(channel: 0, items: base(first).pack(more))
    #expect(stored(world.ask(id, packed))?.map(\.position) == [2, 3])
    // Other bytes under a name that is taken: nothing is stored, but the next follows it.
    let taken = RelayPut(name: first.name, blob: Array(first.blob.reversed()))
    let refused = RelayRequest.putPacked(channel: 0, items: base(more[1]).pack([taken]))
    #expect(stored(world.ask(id, refused))?.map(\.outcome) == [.conflict])
    let next = RelayRequest.putPacked(channel: 0, items: base(taken).pack([item(4)]))
    #expect(stored(world.ask(id, next))?.map(\.position) == [4])
    guard case .entries(let page)? = world.ask(id, .fetchAfter(channel: 0, after: 0, limit: 9))
    else {
      Issue.record("no page")
      return
    }
    #expect(page.entries.map(\.blob) == [first, more[0], more[1], item(4)].map(\.blob))
    #expect(page.entries.map(\.header.name) == [first, more[0], more[1], item(4)].map(\.name))
  }

  @Test("What follows a put that the relay had no time for follows it all the same")
  func limited() throws {
    let world = try CoreWorld { $0.sessionAppendsPerMinute = 1 }
    let manager = try CoreWorld.pair(2)
    let id = world.connect()
    _ = try world.create(id, mailbox, access: access, manager: manager)
    #expect(stored(world.ask(id, .put(channel: 0, items: [item(1)]))) != nil)
    let limited = RelayRequest.putPacked(channel: 0, items: base(item(1)).pack([item(2)]))
    #expect(world.ask(id, limited).faultCode == .rateLimited)
    world.now += 60_000
    let next = RelayRequest.putPacked(channel: 0, items: base(item(2)).pack([item(3)]))
    #expect(stored(world.ask(id, next))?.map(\.position) == [2])
  }

  @Test("A packed put that fits nothing ends the session, and stores nothing")
  func misfits() throws {
    let packed = base(item(1)).pack([item(2)])
    let other = RelayPut(name: [5], blob: [6])
    let wrong = RelayPackedItem(
      isReplaceable: false, nameCount: packed[0].nameCount, blobCount: packed[0].blobCount,
      pieces: packed[0].pieces, rest: packed[0].rest, check: packed[0].check.map { $0 ^ 1 })
    for (before, items) in [(nil, packed), (other, packed), (item(1), [wrong])] {
      let id = try member(nil)
      if let before { _ = world.ask(id, .put(channel: 0, items: [before])) }
      let malformed = world.core.counters.malformed
      _ = world.send(id, .putPacked(channel: 0, items: items))
      #expect(world.closed.contains(id) && world.core.counters.malformed == malformed + 1)
      guard case .farewell(let fault)? = world.pushes(id).last else {
        Issue.record("no farewell")
        return
      }
      #expect(fault.code == .malformed)
    }
    let id = try member(nil)
    guard
      case .listing(let page)? = world.ask(
        id, .list(channel: 0, after: 0, limit: 9, isLiveOnly: false))
    else {
      Issue.record("no listing")
      return
    }
    #expect(page.headers.map(\.name) == [other, item(1)].map(\.name))
  }

  @Test("Without an open mailbox a packed put is in the wrong state, and nothing is kept of it")
  func closed() throws {
    let id = try member(nil)
    #expect(stored(world.ask(id, .put(channel: 0, items: [item(1)]))) != nil)
    let packed = RelayRequest.putPacked(channel: 0, items: base(item(1)).pack([item(2)]))
    #expect(world.ask(id, .close(channel: 0)) == .done)
    #expect(world.ask(id, packed).faultCode == .wrongState)
    // The mailbox is open again, and nothing was said on the channel since.
    #expect(try world.open(id, mailbox, with: access).opened != nil)
    _ = world.send(id, packed)
    #expect(world.closed.contains(id))
    // One that came before the mailbox was open is not done after it.
    let early = world.connect()
    let nonce = try #require(world.challenge(early, 0, mailbox)).nonce
    world.holdsLog = true
    _ = world.send(early, try CoreWorld.proof(0, mailbox, access, nonce))
    let number = world.send(early, packed)
    world.release()
    #expect(world.answer(early, number).faultCode == .wrongState)
  }

  @Test("Packed puts count as what they are when they wait")
  func waiting() throws {
    let id = try member(nil)
    _ = world.ask(id, .put(channel: 0, items: [item(1, bytes: 190)]))
    world.holdsLog = true
    _ = world.send(
      id, .putPacked(channel: 0, items: base(item(1, bytes: 190)).pack([item(2, bytes: 190)])))
    #expect(world.core.state.sessions.waitingBytes >= 191 + item(2).name.count)
    world.release()
    #expect(world.core.state.sessions.waitingBytes == 0)
  }

  // MARK: Pushes

  private func isPacked(_ push: RelayReply?) -> Bool {
    if case .pushedPacked? = push { true } else { false }
  }

  @Test("Who was told of the last entry whole is pushed the next one packed, others as ever")
  func pushes() throws {
    let writer = try member(nil)
    let (packs, plain) = (try member(true), try member(false))
    _ = world.ask(writer, .put(channel: 0, items: [item(1)]))
    let late = try member(true)
    _ = world.ask(writer, .put(channel: 0, items: [item(2)]))
    _ = world.ask(writer, .put(channel: 0, items: [item(3), item(4)]))
    #expect(world.pushes(packs).map { isPacked($0) } == [false, true, true])
    #expect(world.pushes(late).map { isPacked($0) } == [false, true])
    #expect(world.pushes(plain).map { isPacked($0) } == [false, false, false])
    guard case .pushedPacked(0, let first, let items)? = world.pushes(packs).last,
      case .pushed(0, let entries)? = world.pushes(plain).last
    else {
      Issue.record("other pushes")
      return
    }
    #expect(first == 3 && entries.map(\.header.position) == [3, 4])
    #expect(try base(item(2)).unpack(items) == [item(3), item(4)])
    #expect(entries.map(\.blob) == [item(3).blob, item(4).blob])
  }

  @Test("Own puts and removals count as told; hints, slow reading and subscribing anew do not")
  func knowing() throws {
    let (reader, writer) = (try member(true), try member(nil))
    func next(_ number: Int, by id: RelaySessionID? = nil) -> Bool {
      _ = world.ask(id ?? writer, .put(channel: 0, items: [item(number)]))
      return isPacked(world.pushes(reader).last)
    }
    #expect(!next(1) && next(2))
    // The reader's own is not pushed to it, and the next follows it.
    #expect(next(3, by: reader) && world.pushes(reader).count == 2)
    #expect(next(4))
    guard case .pushedPacked(_, 4, let items)? = world.pushes(reader).last else {
      Issue.record("no packed push")
      return
    }
    #expect(try base(item(3)).unpack(items) == [item(4)])
    _ = world.ask(reader, .remove(channel: 0, names: [item(1).name]))
    #expect(next(5))
    if case .pushedPacked(_, 6, let items)? = world.pushes(reader).last {
      let removed = RelayPackingBase(name: item(1).name, blob: [])
      #expect(try removed.unpack(items) == [item(5)])
    } else {
      Issue.record("no packed push after a removal")
    }
    // A removal by another is pushed plain.
    _ = world.ask(writer, .remove(channel: 0, names: [item(2).name]))
    #expect(!isPacked(world.pushes(reader).last) && next(6))
    world.handle(.congested(reader, true))
    _ = next(7)
    world.handle(.congested(reader, false))
    #expect(world.pushes(reader).last == .behind(channel: 0, head: 9))
    #expect(!next(8) && next(9))
    // Too large to be pushed.
    _ = world.ask(writer, .put(channel: 0, items: [item(10, bytes: 1_000_000)]))
    #expect(world.pushes(reader).last == .behind(channel: 0, head: 12))
    #expect(!next(11) && next(12))
    // Large, but pushed: in its plain form, and the next after it packed.
    let most = RelayPackingBase.maximumPackedBytes
    _ = world.ask(writer, .put(channel: 0, items: [item(13, bytes: most)]))
    #expect(!isPacked(world.pushes(reader).last) && next(14))
    #expect(world.ask(reader, .unsubscribe(channel: 0)) == .done)
    _ = world.ask(reader, .subscribe(channel: 0, takesPacked: true))
    #expect(!next(15) && next(16))
  }

  @Test("Another relay's entries on the same log are a base only where they were pushed")
  func otherRelays() throws {
    let (reader, writer) = (try member(true), try member(nil))
    _ = world.ask(writer, .put(channel: 0, items: [item(1)]))
    world.handle(.appended(mailbox, head: 2))
    #expect(world.pushes(reader).last == .behind(channel: 0, head: 2))
    // The log has no second entry here, so the next put stands at 2, of which all were told.
    _ = world.ask(writer, .put(channel: 0, items: [item(2)]))
    _ = world.ask(writer, .put(channel: 0, items: [item(3)]))
    #expect(!isPacked(world.pushes(reader).last))
    _ = world.ask(writer, .put(channel: 0, items: [item(4)]))
    #expect(isPacked(world.pushes(reader).last))
  }

  @Test("Idle subscriptions keep nothing of their own: what pushes repeat is kept once a mailbox")
  func memory() throws {
    let readers = try (0..<4).map { _ in try member(true) }
    let writer = try member(nil)
    for number in 1...3 {
      _ = world.ask(writer, .put(channel: 0, items: [item(number, bytes: 500)]))
    }
    for reader in readers {
      let open = try #require(world.core.state.sessions[reader]?.channels[0]?.open)
      #expect(open.holdsLast && open.lastPut.bytes.isEmpty)
    }
    let last = try #require(world.core.state.subscribers.last(of: mailbox))
    #expect(last.position == 3)
    #expect(last.base.bytes.count <= RelayPackingBase.maximumBytes)
    let own = try #require(world.core.state.sessions[writer]?.channels[0]?.open)
    #expect((1...RelayPackingBase.maximumBytes).contains(own.lastPut.bytes.count))
  }
}

import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

@Suite("Limits, pushes and ends at the relay's core")
struct CoreLimitTests {
  let mailbox = Identifier(high: 1, low: 2)
  let pair: SigningKeyPair

  init() throws { pair = try CoreWorld.pair(1) }

  /// A world with one session that has made the mailbox, on channel 0.
  private func made(_ change: (inout RelayConfiguration) -> Void = { _ in }) throws
    -> (world: CoreWorld, writer: RelaySessionID)
  {
    let world = try CoreWorld(change)
    let id = world.connect()
    let reply = try world.create(id, mailbox, access: pair, manager: pair)
    #expect(reply.opened != nil)
    return (world, id)
  }

  private func put(_ name: UInt8, _ count: Int = 1, items: Int = 1) -> RelayRequest {
    .put(
      channel: 0,
      items: (0..<items).map {
        RelayPut(
          name: [name, UInt8($0 & 255), UInt8($0 >> 8)], blob: .init(repeating: 1, count: count))
      })
  }

  /// - Parameter author: The own key that it shows; without one it is a guest.
  private func subscriber(_ world: CoreWorld, author: SigningKeyPair? = nil) throws
    -> RelaySessionID
  {
    let id = world.connect()
    #expect(try world.open(id, mailbox, with: pair, author: author).opened != nil)
    #expect(world.ask(id, .subscribe(channel: 0)) != nil)
    return id
  }

  @Test("as many connections as allowed, in all and of one address, and not one more")
  func connections() throws {
    let world = try CoreWorld {
      $0.maximumSessions = 3
      $0.maximumSessionsPerAddress = 2
    }
    let ids = [world.connect(1), world.connect(1), world.connect(1), world.connect(2)]
    #expect(world.closed == [ids[2]] && world.core.sessionCount == 3)
    let more = world.connect(3)
    #expect(world.closed.contains(more) && world.core.sessionCount == 3)
    world.handle(.disconnected(ids[0]))
    #expect(world.admits(1))
  }

  @Test("strangers are bounded; the oldest gives way after a fair time")
  func strangers() throws {
    let world = try CoreWorld { $0.maximumStrangers = 2 }
    let first = world.connect(1)
    let second = world.connect(2)
    #expect(!world.admits(3))
    world.now += 2_999
    #expect(!world.admits(4))
    world.now += 1
    let late = world.connect(5)
    #expect(!world.closed.contains(late) && world.closed.contains(first))
    #expect(!world.closed.contains(second) && world.core.strangerCount == 2)
  }

  @Test("who has many strangers gives way at once to who has few; nobody else does")
  func crowdsOfStrangers() throws {
    let world = try CoreWorld {
      $0.maximumStrangers = 6
      $0.fairStrangersPerAddress = 2
    }
    let other = world.connect(1)
    let crowd = (0..<5).map { _ in world.connect(2) }
    // The crowd itself gains nothing by coming again.
    #expect(!world.admits(2))
    let late = [world.connect(3), world.connect(1)]
    #expect(world.closed.isSuperset(of: crowd.prefix(2)))
    #expect(world.closed.isDisjoint(with: crowd.dropFirst(2) + late + [other]))
    #expect(world.core.strangerCount == 6)
    // Three, two and one: who has one may have a second, and after that it is even.
    let second = world.connect(3)
    #expect(world.closed.contains(crowd[2]) && !world.closed.contains(second))
    #expect(!world.admits(3) && !world.admits(1))
  }

  @Test("a home with some strangers is no crowd where everybody else has one")
  func homes() throws {
    let world = try CoreWorld {
      $0.maximumStrangers = 12
      $0.fairStrangersPerAddress = 3
    }
    let home = (0..<3).map { _ in world.connect(1) }
    for address in 2..<11 as Range<UInt8> { _ = world.connect(address) }
    #expect(!world.admits(11), "nobody gives way before a fair time")
    #expect(world.closed.isDisjoint(with: home))
    // With one more it is one.
    world.handle(.disconnected(home[0]))
    let fourth = [world.connect(1)]
    #expect(world.closed.isDisjoint(with: home.dropFirst() + fourth))
    let world2 = try CoreWorld {
      $0.maximumStrangers = 12
      $0.fairStrangersPerAddress = 3
    }
    let crowd = (0..<4).map { _ in world2.connect(1) }
    for address in 2..<10 as Range<UInt8> { _ = world2.connect(address) }
    #expect(world2.admits(11) && world2.closed == [crowd[0]])
  }

  @Test("of many slow readers the one gives way that has been stuck longest, not connected longest")
  func stuckLongest() throws {
    let (world, first) = try made { $0.maximumCongested = 5 }
    let slow = (2..<7 as Range<UInt8>).map { world.connect($0) }
    for id in slow {
      world.handle(.congested(id, true))
      world.now += 1_000
    }
    // To take a little now and then is not to read.
    world.handle(.draining(slow[0]))
    world.handle(.congested(first, true))
    #expect(world.closed == [slow[0]])
    // Who caught up meanwhile has not been stuck.
    world.handle(.congested(slow[1], false))
    world.handle(.congested(slow[1], true))
    world.handle(.congested(world.connect(9), true))
    #expect(world.closed == [slow[0], slow[2]])
  }

  @Test("frames that do not become whole are bounded together; who holds most gives way")
  func heldFrames() throws {
    let (world, writer) = try made { $0.maximumHeldBytes = 100 }
    let others = [world.connect(2), world.connect(2), world.connect(3)]
    world.handle(.holding(others[2], byteCount: 40))
    world.handle(.holding(others[1], byteCount: 20))
    world.now += 1
    world.handle(.holding(others[0], byteCount: 25))
    world.handle(.holding(writer, byteCount: 15))
    #expect(world.closed.isEmpty, "as much as there may be")
    world.handle(.holding(writer, byteCount: 16))
    #expect(world.closed == [others[1]], "of the address with most the one that began first")
    // What becomes whole, or is gone, is held no longer.
    world.handle(.holding(others[2], byteCount: 0))
    world.handle(.disconnected(others[0]))
    world.handle(.holding(writer, byteCount: 100))
    #expect(world.closed == [others[1]])
    world.handle(.holding(writer, byteCount: 101))
    #expect(world.closed.contains(writer) && world.core.state.sessions.heldBytes == 0)
  }

  @Test("those to whom much waits to be sent are bounded; an address with many of them gives way")
  func congestion() throws {
    let (world, reader) = try made { $0.maximumCongested = 3 }
    let crowd = (0..<3).map { _ in world.connect(2) }
    for id in [crowd[2], reader, crowd[1]] { world.handle(.congested(id, true)) }
    #expect(world.closed.isEmpty)
    world.handle(.congested(crowd[0], true))
    #expect(world.closed == [crowd[0]])
    #expect(world.core.counters.slowReaders == 1)
    // Whoever reads again, or is gone, leaves a place.
    world.handle(.congested(crowd[1], false))
    let more = [world.connect(3), world.connect(4)]
    world.handle(.congested(more[0], true))
    world.handle(.disconnected(reader))
    world.handle(.congested(more[1], true))
    #expect(world.closed == [crowd[0]])
  }

  @Test("1000 requests in a wrong state or beyond a limit are answered; one more ends the session")
  func faults() throws {
    let (world, id) = try made { $0.pingsPerMinute = 400 }
    for _ in 0..<400 { #expect(world.ask(id, .ping) == .pong) }
    for _ in 0..<500 { #expect(world.ask(id, .ping).faultCode == .tooMany) }
    for _ in 0..<500 { #expect(world.ask(id, .subscribe(channel: 9)).faultCode == .wrongState) }
    #expect(world.closed.isEmpty)
    _ = world.ask(id, .subscribe(channel: 9))
    #expect(world.closed == [id] && world.core.sessionCount == 0)
    // Refusals and full mailboxes are no such faults, and pings come back with time.
    let calm = world.connect(2)
    world.now += 60_000
    for _ in 0..<400 { #expect(world.ask(calm, .ping) == .pong) }
  }

  @Test("a stranger has 30 seconds, a silent member three heartbeats, to the millisecond")
  func deadlines() throws {
    let (world, member) = try made()
    let stranger = world.connect()
    world.now += 29_999
    world.handle(.tick)
    #expect(world.closed.isEmpty)
    world.now += 1
    world.handle(.tick)
    #expect(world.closed == [stranger])
    #expect(world.ask(member, .ping) == .pong)
    world.now += 89_999
    world.handle(.tick)
    #expect(!world.closed.contains(member))
    world.now += 1
    world.handle(.tick)
    #expect(world.closed.contains(member) && world.core.sessionCount == 0)
    #expect(world.core.openMailboxCount == 0)
  }

  @Test("64 requests may wait for answers, the 65th is refused, and all are answered in order")
  func unanswered() throws {
    let (world, id) = try made()
    world.holdsLog = true
    let numbers = (0..<65).map { world.send(id, put(UInt8($0))) }
    #expect(world.answer(id, numbers[64]).faultCode == .tooMany)
    #expect(world.held.count == 64)
    world.release()
    for (place, number) in numbers.dropLast().enumerated() {
      #expect(
        world.answer(id, number)
          == .stored([RelayStored(.stored, position: UInt64(place + 1))]))
    }
  }

  @Test("a read waits for the writes before it, and what follows waits for the read")
  func order() throws {
    let (world, id) = try made()
    world.holdsLog = true
    let first = world.send(id, put(1))
    let second = world.send(id, put(2))
    let page = world.send(id, .fetchAfter(channel: 0, after: 0, limit: 9))
    let third = world.send(id, put(3))
    #expect(world.held.count == 2)
    world.release()
    for number in [first, second, third] {
      guard case .stored? = world.answer(id, number) else {
        Issue.record("not stored")
        return
      }
    }
    if case .entries(let found)? = world.answer(id, page) { #expect(found.head == 2) }
  }

  @Test("a session with much under way is read no further; all together are bounded too")
  func bytes() throws {
    let size = RelayFrame(request: 1, put(1, 10_000)).encoded.count
    let (world, id) = try made {
      $0.pausingBytes = 2 * size
      $0.maximumWaitingBytes = 3 * size + 16
    }
    world.holdsLog = true
    _ = world.send(id, put(1, 10_000))
    #expect(world.paused.isEmpty)
    _ = world.send(id, put(2, 10_000))
    #expect(world.paused == [id])
    _ = world.send(id, put(3, 10_000))
    let refused = world.send(id, put(4, 10_000))
    #expect(world.answer(id, refused).faultCode == .unavailable)
    world.release()
    #expect(world.paused.isEmpty && world.core.state.sessions.waitingBytes == 0)
    guard case .stored? = world.ask(id, put(4, 10_000)) else {
      Issue.record("not stored")
      return
    }
    // Also when the session is gone before its answers.
    world.holdsLog = true
    for place in 5..<8 { _ = world.send(id, put(UInt8(place), 100)) }
    _ = world.send(id, .fetchAfter(channel: 0, after: 0, limit: 1))
    world.handle(.disconnected(id))
    world.release()
    #expect(world.core.state.sessions.waitingBytes == 0 && world.core.state.logRequests.isEmpty)
  }

  @Test("appends a minute are bounded for a session and for a mailbox")
  func rates() throws {
    let (world, id) = try made {
      $0.sessionAppendsPerMinute = 10
      $0.mailboxAppendsPerMinute = 15
    }
    guard case .stored? = world.ask(id, put(1, items: 10)) else { return }
    guard case .fault(let fault)? = world.ask(id, put(2)) else {
      Issue.record("not limited")
      return
    }
    #expect(fault.code == .rateLimited && fault.retryAfterMilliseconds == 6_000)
    let other = world.connect(2)
    #expect(try world.open(other, mailbox, with: pair).opened != nil)
    #expect(world.ask(other, put(3, items: 6)).faultCode == .rateLimited)
    guard case .stored? = world.ask(other, put(3, items: 4)) else {
      Issue.record("not stored")
      return
    }
    world.now += 6_000
    guard case .stored? = world.ask(id, put(2)) else {
      Issue.record("not stored after the time it was told to wait")
      return
    }
  }

  @Test("refusals of one address are bounded, and other addresses do not feel it")
  func refusals() throws {
    let (world, _) = try made { $0.refusalsPerMinute = 4 }
    let stranger = try CoreWorld.pair(7)
    let id = world.connect(9)
    for _ in 0..<4 { #expect(try world.open(id, mailbox, with: stranger).faultCode == .refused) }
    #expect(try world.open(id, mailbox, with: stranger).faultCode == .rateLimited)
    #expect(try world.open(id, mailbox, with: pair).faultCode == .rateLimited)
    let honest = world.connect(8)
    #expect(try world.open(honest, mailbox, with: pair).opened != nil)
    world.now += 15_000
    #expect(try world.open(id, mailbox, with: pair).opened != nil)
  }

  @Test("as many sessions have a mailbox open as may")
  func members() throws {
    let (world, _) = try made { $0.maximumMembers = 2 }
    let id = world.connect()
    #expect(try world.open(id, mailbox, with: pair).opened != nil)
    #expect(try world.open(id, on: 1, mailbox, with: pair).faultCode == .tooMany)
    _ = world.ask(id, .close(channel: 0))
    #expect(try world.open(id, on: 1, mailbox, with: pair).opened != nil)
  }

  @Test("everybody who subscribed gets what the others store, once and in order")
  func pushes() throws {
    let (world, writer) = try made()
    let left = try subscriber(world, author: pair)
    let right = try subscriber(world)
    let silent = world.connect()
    #expect(try world.open(silent, mailbox, with: pair).opened != nil)
    _ = world.ask(writer, .subscribe(channel: 0))
    _ = world.ask(writer, put(1))
    // A guest takes nothing of another away, so nobody hears of it.
    let removal = RelayRequest.remove(channel: 0, names: [[1, 0, 0]])
    #expect(world.ask(right, removal) == .removed([0]))
    #expect(world.ask(left, removal) == .removed([2]))
    _ = world.ask(writer, put(1))
    func positions(_ id: RelaySessionID) -> [UInt64] {
      world.pushes(id).flatMap { push -> [UInt64] in
        if case .pushed(_, let entries) = push { entries.map(\.header.position) } else { [] }
      }
    }
    #expect(positions(right) == [1, 2, 3] && positions(left) == [1, 3])
    #expect(positions(writer) == [2] && positions(silent).isEmpty)
    _ = world.ask(right, .unsubscribe(channel: 0))
    // What is there already is not pushed again.
    _ = world.ask(writer, put(1))
    _ = world.ask(writer, put(2))
    #expect(positions(right) == [1, 2, 3] && positions(left) == [1, 3, 4])
  }

  @Test("a push has at most its bytes; more is a hint")
  func largePushes() throws {
    let (world, writer) = try made { $0.maximumPushBytes = 103 }
    let reader = try subscriber(world)
    _ = world.ask(writer, put(1, 100))
    _ = world.ask(writer, put(2, 101))
    #expect(world.pushes(reader).count == 2)
    #expect(world.pushes(reader).last == .behind(channel: 0, head: 2))
    world.handle(.appended(mailbox, head: 7))
    #expect(world.pushes(reader).last == .behind(channel: 0, head: 7))
  }

  @Test("nothing falls between the head that is told and the first push")
  func subscribing() throws {
    let (world, writer) = try made()
    let reader = world.connect()
    #expect(try world.open(reader, mailbox, with: pair).opened != nil)
    world.holdsLog = true
    let number = world.send(reader, .subscribe(channel: 0))
    guard case .read(let ticket, _) = world.held.removeFirst() else { return }
    world.holdsLog = false
    _ = world.ask(writer, put(1))
    // The log was asked before the put, and its answer comes after it.
    world.handle(.answered(ticket: ticket, .success(.head(0))))
    #expect(world.answer(reader, number) == .subscribed(head: 1))
    #expect(world.pushes(reader).isEmpty)
    _ = world.ask(writer, put(2))
    #expect(world.pushes(reader).count == 1)
  }

  @Test("a slow reader gets one hint for all it missed, and is sent away after 30 seconds")
  func slowReaders() throws {
    let (world, writer) = try made()
    let slow = try subscriber(world)
    let quick = try subscriber(world)
    world.handle(.congested(slow, true))
    for name in 1..<50 { _ = world.ask(writer, put(UInt8(name))) }
    #expect(world.pushes(slow).isEmpty && world.pushes(quick).count == 49)
    // What it asks waits too.
    #expect(world.ask(slow, .fetchAfter(channel: 0, after: 0, limit: 400)) == nil)
    world.handle(.congested(slow, false))
    #expect(world.pushes(slow) == [.behind(channel: 0, head: 49)])
    world.handle(.congested(slow, true))
    world.now += 29_999
    world.handle(.tick)
    #expect(!world.closed.contains(slow))
    world.now += 1
    world.handle(.tick)
    #expect(world.closed.contains(slow) && world.core.counters.slowReaders == 1)
  }

  @Test("over a slow line nobody is sent away who reads or sends a little at a time")
  func slowLines() throws {
    let (world, writer) = try made()
    let slow = try subscriber(world)
    world.handle(.congested(slow, true))
    for _ in 0..<20 {
      world.now += 25_000
      world.handle(.draining(slow))
      world.handle(.arriving(slow))
      world.handle(.arriving(writer))
      world.handle(.tick)
    }
    #expect(!world.closed.contains(slow) && !world.closed.contains(writer))
    world.handle(.congested(slow, false))
    world.handle(.draining(slow))
    world.now += 90_000
    world.handle(.tick)
    #expect(world.closed.contains(slow) && world.closed.contains(writer))
    #expect(world.core.counters.slowReaders == 0 && world.core.counters.timeouts == 2)
    // Who is gone is not made anew by what arrives late.
    world.handle(.arriving(slow))
    #expect(world.core.sessionCount == 0)
  }

  @Test("a log that fails is told as such, and nobody is pushed what is not stored")
  func failures() throws {
    let (world, writer) = try made()
    let reader = try subscriber(world)
    world.log.setFailing(true)
    #expect(world.ask(writer, put(1)).faultCode == .unavailable)
    #expect(world.ask(writer, .fetch(channel: 0, names: [[1]])).faultCode == .unavailable)
    let other = world.connect()
    #expect(world.ask(other, .open(channel: 0, mailbox: mailbox)).faultCode == .unavailable)
    #expect(world.pushes(reader).isEmpty)
    world.log.setFailing(false)
    #expect(world.ask(writer, put(1)) == .stored([RelayStored(.stored, position: 1)]))
    #expect(try world.open(other, mailbox, with: pair).opened != nil)
  }

  @Test("draining answers what is under way, takes nothing new, and sends everybody away")
  func draining() throws {
    let (world, writer) = try made()
    let reader = try subscriber(world)
    world.holdsLog = true
    let number = world.send(writer, put(1))
    world.handle(.drain)
    #expect(world.closed == [reader] && !world.core.isDrained)
    #expect(world.ask(writer, put(2)).faultCode == .goingAway)
    #expect(!world.admits(1))
    world.release()
    #expect(world.answer(writer, number) == .stored([RelayStored(.stored, position: 1)]))
    #expect(world.closed.contains(writer) && world.core.isDrained)
    if case .farewell(let fault)? = world.pushes(writer).last {
      #expect(fault.code == .goingAway && fault.retryAfterMilliseconds > 0)
    }
  }
}

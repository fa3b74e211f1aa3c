import HearthCRDT
import HearthCrypto
import HearthSync
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

@Suite("A client's session")
struct ClientSessionTests {
  private let mailbox = Identifier(high: 7, low: 7)

  private func put(_ name: String, _ bytes: [UInt8] = [1]) -> RelayQuestion {
    .put([RelayPut(name: Array(name.utf8), blob: bytes)])
  }

  private func stored(_ result: Result<RelayOutcome, RelayFailure>) -> RelayStored? {
    guard case .success(.reply(.stored(let stored))) = result else { return nil }
    return stored.first
  }

  private func opening(_ result: Result<RelayOutcome, RelayFailure>) -> RelayOpening? {
    guard case .success(.opened(let opening)) = result else { return nil }
    return opening
  }

  private func failure(_ result: Result<RelayOutcome, RelayFailure>) -> RelayFailure? {
    guard case .failure(let failure) = result else { return nil }
    return failure
  }

  private func code(_ result: Result<RelayOutcome, RelayFailure>) -> RelayFault.Code? {
    guard case .failure(.fault(let fault)) = result else { return nil }
    return fault.code
  }

  private func isUnreachable(_ failure: RelayFailure?) -> Bool {
    if case .unreachable? = failure { return true }
    return false
  }

  @Test("a mailbox that nobody has is made; the next session opens it and learns how it stands")
  func making() throws {
    let world = try ClientWorld()
    let first = try world.client(0x31)
    let access = try ClientWorld.access([1])
    #expect(opening(world.ask(first, access, .open))?.isCreated == true)
    #expect(stored(world.ask(first, access, put("a"))) == RelayStored(.stored, position: 1))
    #expect(first.attempts.count == 1)
    let second = try world.client(0x32)
    let made = opening(world.ask(second, access, .open))
    let head = try #require(made?.opened.head)
    #expect(made?.key == .access(0) && head.position == 1)
    #expect(made?.isNew == true)
    #expect(opening(world.ask(second, access, .open))?.isNew == false)
    let third = try world.client(0x33)
    let again = opening(world.ask(third, access, .open, cursor: head))
    #expect(again?.opened.standing == .known(try #require(made).opened.chain))
    // Who may not make it is told nothing by the answer for a mailbox that is not there.
    let other = try ClientWorld.access([1], mailbox: Identifier(high: 1, low: 2), mayCreate: false)
    #expect(failure(world.ask(third, other, .open)) == .refused)
  }

  @Test("who waits for an answer is not woken before there is something to do")
  func sleeping() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    #expect(opening(world.ask(client, try ClientWorld.access([1]), .open)) != nil)
    world.isMute = true
    _ = world.begin(client, mailbox, put("a"))
    _ = world.begin(client, mailbox, put("b"))
    world.run(upTo: 10)
    for _ in 0..<3 {
      let wake = try #require(client.session.wakeTime)
      #expect(wake > world.now + 1_000)
      client.session.tick(now: world.now)
    }
  }

  @Test("a log that ends before what is asked for is an answer: it was set back")
  func beyondTheHead() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1])
    _ = world.ask(client, access, put("a"))
    let result = world.ask(client, access, .list(after: 7, limit: 10))
    guard case .success(.reply(.listing(let page))) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(page.headers.isEmpty && page.through == 1 && page.head == 1)
    #expect(client.attempts.count == 1)
  }

  @Test("a long request over a slow line is not given up while the network takes it")
  func slowUploads() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1])
    #expect(opening(world.ask(client, access, .open)) != nil)
    world.isMute = true
    let ticket = world.begin(client, mailbox, put("a"))
    // Longer than an answer may take, shorter than the relay of this world waits for a word.
    for _ in 0..<5 {
      world.run(upTo: 10_000)
      client.session.progressed(now: world.now)
    }
    #expect(client.attempts.count == 1 && client.results[ticket] == nil)
    // When nothing moves any more it is.
    world.run(upTo: 16_000) { client.news.contains(.lost) }
    #expect(client.news.contains(.lost))
    world.isMute = false
    world.run(upTo: 60_000) { client.results[ticket] != nil }
    #expect(client.attempts.count == 2)
    #expect(
      client.results[ticket].flatMap { stored($0) }?.position == 1,
      "\(String(describing: client.results[ticket]))")
  }

  @Test("a ping that waits behind a long request wakes nobody until its answer is overdue")
  func pingBehindUpload() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    #expect(opening(world.ask(client, try ClientWorld.access([1]), .open)) != nil)
    world.isMute = true
    _ = world.begin(client, mailbox, put("a"))
    // The network takes the request for longer than two pauses between pings.
    for _ in 0..<31 {
      world.run(upTo: 2_000)
      client.session.progressed(now: world.now)
    }
    #expect(client.attempts.count == 1)
    let wake = try #require(client.session.wakeTime)
    #expect(wake > world.now + 1_000, "woken at \(wake), now \(world.now)")
  }

  @Test("lines that break at any byte: every put is stored once and answered", arguments: 0..<40)
  func breaking(seed: UInt64) throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    var random = SplitMix64(seed: seed)
    world.breaksAfter = { Int(random.next() % 1_600) + 200 }
    let access = try ClientWorld.access([1])
    for number in 0..<12 {
      var result = world.ask(client, access, put("\(number)"))
      // A person tries again after a while.
      for _ in 0..<20 where stored(result) == nil {
        world.run(upTo: 1_000)
        result = world.ask(client, access, put("\(number)"))
      }
      #expect(stored(result) != nil, "seed \(seed): put \(number): \(result)")
    }
    world.breaksAfter = nil
    guard
      case .success(.reply(.listing(let page))) = world.ask(
        client, access, .list(after: 0, limit: 100))
    else {
      Issue.record("no listing")
      return
    }
    #expect(page.headers.map(\.position) == Array(1...12), "seed \(seed)")
  }

  @Test("a half-open connection is given up, and the question is asked over a new one")
  func halfOpen() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1])
    #expect(opening(world.ask(client, access, .open)) != nil)
    world.isMute = true
    let ticket = world.begin(client, mailbox, put("a"))
    let began = world.now
    world.run(upTo: 15_000)
    world.isMute = false
    world.run(upTo: 5_000) { client.results[ticket] != nil }
    #expect(client.results[ticket].flatMap { stored($0) } != nil)
    #expect(client.attempts.count == 2)
    #expect(world.now - began <= 16_000)
    // A connection that is idle is kept alive by pings.
    let requests = client.sent
    world.run(upTo: 95_000)
    #expect(client.session.isReady && client.attempts.count == 2)
    #expect(client.sent == requests + 3)
  }

  @Test("a relay that is down fails a question at once, and is tried ever more rarely")
  func down() throws {
    let world = try ClientWorld()
    world.isDown = true
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1])
    let began = world.now
    #expect(isUnreachable(failure(world.ask(client, access, put("a")))))
    #expect(world.now - began < 100)
    client.session.listen(to: mailbox, true, now: world.now)
    world.run(upTo: 600_000)
    #expect((12...40).contains(client.attempts.count), "\(client.attempts.count) attempts")
    let pauses = zip(client.attempts.dropFirst(), client.attempts).map { $0 - $1 }
    #expect((pauses.max() ?? 0) <= 60_000)
    #expect(Set(pauses.suffix(6)).count > 1, "pauses are jittered")
    // It comes back: who listens hears of it without asking.
    world.isDown = false
    world.run(upTo: 61_000) { client.session.isReady && client.news.count > 0 }
    #expect(client.news.contains(.stored(mailbox: mailbox, head: 0)))
  }

  @Test("a relay that is lost is waited for a few seconds, then questions fail")
  func lost() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1])
    #expect(stored(world.ask(client, access, put("a"))) != nil)
    // Killed and back within a second: nobody notices.
    world.isDown = true
    world.cut(client)
    client.session.lost(.unreachable("reset"), now: world.now)
    let ticket = world.begin(client, mailbox, put("b"))
    world.run(upTo: 1_000)
    #expect(client.results[ticket] == nil)
    world.isDown = false
    world.run(upTo: 5_000) { client.results[ticket] != nil }
    #expect(client.results[ticket].flatMap { stored($0) } != nil)
    world.isDown = true
    world.cut(client)
    client.session.lost(.unreachable("reset"), now: world.now)
    let began = world.now
    #expect(isUnreachable(failure(world.ask(client, access, put("c")))))
    #expect((4_000...6_500).contains(world.now - began), "\(world.now - began) ms")
    #expect(client.attempts.count < 30)
  }

  @Test("a question that is on its way while the key is changed is asked again")
  func crossing() throws {
    let world = try ClientWorld()
    let manager = try world.client(0x31)
    let member = try world.client(0x32)
    let old = try ClientWorld.access([1])
    #expect(opening(world.ask(manager, old, .open))?.isCreated == true)
    #expect(opening(world.ask(member, old, .open))?.key == .access(0))
    let new = try ClientWorld.access([2, 1])
    for client in [manager, member] { client.session.know(new, cursor: nil, now: world.now) }
    let rotation = world.begin(manager, mailbox, .rotate)
    let ticket = world.begin(member, mailbox, put("x"))
    member.session.listen(to: mailbox, true, now: world.now)
    world.run(upTo: 10_000) { member.results[ticket] != nil }
    #expect(manager.results[rotation].map { failure($0) == nil } == true)
    #expect(member.results[ticket].flatMap { stored($0) } != nil)
    // What else was on its way is asked again too: news come.
    world.run(upTo: 10)
    member.news = []
    #expect(stored(world.ask(manager, new, put("y"))) != nil)
    world.run(upTo: 10)
    #expect(member.news.contains(.stored(mailbox: mailbox, head: 2)))
  }

  @Test("an older key opens, the newest is set, and who has only the old one is out at once")
  func rotation() throws {
    let world = try ClientWorld()
    let member = try world.client(0x31)
    let removed = try world.client(0x32)
    let old = try ClientWorld.access([1])
    #expect(opening(world.ask(member, old, .open))?.isCreated == true)
    #expect(opening(world.ask(removed, old, .open))?.key == .access(0))
    removed.session.listen(to: mailbox, true, now: world.now)
    world.run(upTo: 10)
    // The member learns of a newer epoch while the mailbox is open.
    let new = try ClientWorld.access([2, 1])
    member.session.know(new, cursor: nil, now: world.now)
    let later = try world.client(0x33)
    #expect(opening(world.ask(later, new, .open))?.key == .access(1))
    // Nobody but managers sets a key, and who made the mailbox lists another manager.
    #expect(code(world.ask(later, new, .rotate)) == .notAllowed)
    let key = try CoreWorld.pair(0x33).publicKey.bytes
    #expect(failure(world.ask(member, old, .setRank(key: key, .manager))) == nil)
    member.session.know(new, cursor: nil, now: world.now)
    #expect(failure(world.ask(later, new, .rotate)) == nil)
    world.run(upTo: 10)
    #expect(removed.news.contains(.closed(mailbox: mailbox)))
    // It may make mailboxes, and had made none: neither way helps.
    #expect(failure(world.ask(removed, old, put("x"))) == .refused)
    #expect(stored(world.ask(later, new, put("y"))) != nil)
    // The one with the old session goes on with the new key.
    #expect(stored(world.ask(member, new, put("z"))) != nil)
    // Its session was spared, as a manager's; that another was first it learns by trying.
    #expect(failure(world.ask(member, new, .rotate)) == .fault(RelayFault(.conflict, "")))
    #expect(opening(world.ask(member, new, .open))?.key == .access(0))
    // Setting what is set already closes nobody's session.
    #expect(failure(world.ask(member, new, .rotate)) == nil)
    #expect(opening(world.ask(later, new, .open))?.opened.accessGeneration == 2)
  }

  @Test("where the operator lists keys, who is refused is told its own")
  func unlisted() throws {
    let world = try ClientWorld { $0.registration = .allowList }
    let key = try CoreWorld.pair(0x31).publicKey.bytes
    let newcomer = try world.client(0x31)
    let access = try ClientWorld.access([1])
    #expect(failure(world.ask(newcomer, access, put("x"))) == .unlisted(key: key))
    // Who would not make the mailbox has nothing to be listed for.
    let member = try ClientWorld.access([1], mayCreate: false)
    let other = try world.client(0x32)
    #expect(failure(world.ask(other, member, .open)) == .refused)
    // And where tokens are given out, a list does not help: a token does.
    let tokens = try ClientWorld { $0.registration = .token }
    #expect(failure(tokens.ask(try tokens.client(0x31), access, .open)) == .unregistered)
    #expect(failure(tokens.ask(try tokens.client(0x32), member, .open)) == .refused)
  }

  @Test("only managers set keys, and one puts right a key that another set and nobody knows")
  func manager() throws {
    let world = try ClientWorld()
    let owner = try world.client(0x31)
    let vandal = try world.client(0x32)
    let access = try ClientWorld.access([1])
    #expect(opening(world.ask(owner, access, .open))?.isCreated == true)
    let junk = try ClientWorld.access([9, 1])
    #expect(code(world.ask(vandal, junk, .rotate)) == .notAllowed)
    let member = try world.client(0x33)
    #expect(opening(world.ask(member, access, .open))?.key == .access(0))
    // One whom the owner made a manager, and who means harm.
    let key = try CoreWorld.pair(0x32).publicKey.bytes
    #expect(failure(world.ask(owner, access, .setRank(key: key, .manager))) == nil)
    #expect(failure(world.ask(vandal, junk, .rotate)) == nil)
    #expect(failure(world.ask(member, access, .open)) == .refused)
    world.cut(owner)
    owner.session.lost(.unreachable("reset"), now: world.now)
    #expect(opening(world.ask(owner, access, .open))?.key == .own)
    #expect(failure(world.ask(owner, access, .rotate)) == nil)
    #expect(opening(world.ask(member, access, .open))?.key == .access(0))
    #expect(failure(world.ask(owner, access, .setRank(key: key, .struck))) == nil)
    #expect(
      failure(world.ask(vandal, try ClientWorld.access([9], mayCreate: false), .open)) == .refused)
    // By its own key and by the right access key it is told that it was struck off.
    for keys in [[9], [1]] as [[UInt8]] {
      #expect(failure(world.ask(vandal, try ClientWorld.access(keys), .open)) == .struckOff)
    }
  }

  @Test("what others store is told to those who listen, also after a lost connection")
  func listening() throws {
    let world = try ClientWorld()
    let writer = try world.client(0x31)
    let reader = try world.client(0x32)
    let access = try ClientWorld.access([1])
    #expect(opening(world.ask(writer, access, .open)) != nil)
    reader.session.know(access, cursor: nil, now: world.now)
    reader.session.listen(to: mailbox, true, now: world.now)
    world.run(upTo: 10)
    #expect(reader.news == [.stored(mailbox: mailbox, head: 0)])
    #expect(stored(world.ask(writer, access, put("a"))) != nil)
    world.run(upTo: 10)
    #expect(reader.news.last == .stored(mailbox: mailbox, head: 1))
    world.cut(reader)
    reader.session.lost(.unreachable("reset"), now: world.now)
    #expect(stored(world.ask(writer, access, put("b"))) != nil)
    world.run(upTo: 1_000)
    #expect(reader.news.last == .stored(mailbox: mailbox, head: 2))
    // A push makes what was said at the opening old.
    world.cut(reader)
    reader.session.lost(.unreachable("reset"), now: world.now)
    world.run(upTo: 500) {
      reader.news.last == .stored(mailbox: mailbox, head: 2) && reader.session.isReady
        && reader.news.count(where: { $0 == .lost }) == 2
    }
    #expect(stored(world.ask(writer, access, put("c"))) != nil)
    world.run(upTo: 1)
    #expect(reader.news.last == .stored(mailbox: mailbox, head: 3))
    #expect(opening(world.ask(reader, access, .open))?.isNew == false)
    #expect(!writer.news.contains(.stored(mailbox: mailbox, head: 1)))
  }

  @Test("mailboxes that will be asked for are opened in two flights, however many they are")
  func wishing() throws {
    let world = try ClientWorld()
    let client = try world.client(0x31)
    let accesses = try (1...6).map {
      try ClientWorld.access([1], mailbox: Identifier(high: 3, low: $0))
    }
    for access in accesses { client.session.know(access, cursor: nil, now: world.now) }
    client.session.prefetch(accesses.map(\.mailbox), now: world.now)
    let ticket = world.begin(client, accesses[0].mailbox, .open)
    world.run(upTo: 100) { client.results[ticket] != nil }
    world.run(upTo: 1)
    // A hello, six questions for a mailbox, six proofs.
    #expect(client.sent == 13)
    #expect(client.flights == 2)
    for access in accesses.dropFirst(2) {
      #expect(opening(world.ask(client, access, .open))?.isNew == true)
    }
    // What was said of the head a while ago is worth nothing.
    world.run(upTo: 2_000)
    #expect(opening(world.ask(client, accesses[1], .open))?.isNew == false)
    #expect(client.sent == 13)
  }

  @Test("a relay that says wait is waited for if that is short, and reported if it is long")
  func limits() throws {
    let world = try ClientWorld { $0.sessionAppendsPerMinute = 60 }
    let client = try world.client(0x31)
    let access = try ClientWorld.access([1])
    for number in 0..<62 {
      #expect(stored(world.ask(client, access, put("\(number)"))) != nil, "put \(number)")
    }
    let many = RelayQuestion.put((0..<60).map { RelayPut(name: [UInt8($0)], blob: []) })
    guard case .fault(let fault)? = failure(world.ask(client, access, many)) else {
      Issue.record("no fault")
      return
    }
    #expect(fault.code == .rateLimited && fault.retryAfterMilliseconds > 5_000)
  }

  @Test(
    "answers that were not asked for, do not fit or are no frames end the connection, boundedly")
  func nonsense() throws {
    let identity = try #require(CoreWorld.identity)
    let welcome = RelayReply.welcome(
      RelayWelcome(
        version: RelayLimits.version, relayID: identity.relayID, registration: .open,
        heartbeatSeconds: 30))
    let nonsense: [[UInt8]] = [
      [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 2, 0x99, 1],
      RelayFrame(request: 77, RelayReply.done).encoded,
      RelayFrame(request: 2, RelayReply.pong).encoded,
      RelayFrame(
        request: 2,
        RelayReply.listing(
          RelayListing(headers: [], through: 0, head: 0, chain: identity.pin))
      ).encoded,
    ]
    for bytes in nonsense {
      var session = RelayClientSession(
        pin: identity.pin, managerPair: { _ in try CoreWorld.pair(1) },
        random: { [UInt8](repeating: 3, count: $0) })
      var now: UInt64 = 1_000
      session.know(try ClientWorld.access([1]), cursor: nil, now: now)
      session.ask(1, mailbox, .open, now: now)
      var result: RelayFailure?
      var connections = 0
      for _ in 0..<1_000 where result == nil {
        for effect in session.takeEffects() {
          switch effect {
          case .connect:
            connections += 1
            session.connected(now: now)
            session.received(RelayFrame(request: 1, welcome).encoded, now: now)
            session.received(bytes, now: now)
          case .finish(_, .failure(let failure)): result = failure
          default: break
          }
        }
        now = max(now + 1, session.wakeTime ?? now)
        session.tick(now: now)
      }
      guard case .protocolBroken? = result else {
        Issue.record("\(bytes): \(String(describing: result))")
        continue
      }
      #expect(connections == RelayClientTiming().maximumTries)
    }
  }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("The end of a log, as a connection tells of it")
struct LogEndTests {
  private static let begin = RelayChain.start(
    mailbox: Identifier(high: 7, low: 7), generation: Identifier(high: 8, low: 8))
  private static let minute: UInt64 = 60_000

  private func put(_ position: UInt64) -> RelayPut {
    RelayPut(name: Array("n\(position)".utf8), blob: [UInt8(truncatingIfNeeded: position)])
  }

  private func header(_ position: UInt64) -> RelayHeader {
    RelayHeader(of: put(position), at: position)
  }

  /// The chain of a log of such entries.
  private func chain(_ position: UInt64) -> Bytes32 {
    guard position > 0 else { return LogEndTests.begin }
    return (1...position).reduce(LogEndTests.begin) { RelayChain.next($0, header($1)) }
  }

  /// The end of a log that was opened at a head and listened to, at time 0.
  private func end(at head: UInt64) -> RelayLogEnd {
    var end = RelayLogEnd()
    end.confirm(head, chain(head), askedAt: 0)
    end.subscribed(at: head)
    return end
  }

  /// The positions that are given to somebody who knows the same log.
  private func given(
    _ end: RelayLogEnd, after position: UInt64, now: UInt64 = 1
  ) -> [UInt64]? {
    end.entries(after: position, chain: chain(position), now: now, within: LogEndTests.minute)?
      .map(\.position)
  }

  @Test("What came is given whole and in order; what is not known to be all is not given")
  func gaps() {
    var end = end(at: 3)
    #expect(given(end, after: 3) == [])
    #expect(given(end, after: 2) == nil, "what came before is not known")
    #expect(given(end, after: 4) == nil, "somebody knows more than was told")
    end.append(header(4))
    end.append(header(5))
    #expect(given(end, after: 3) == [4, 5] && given(end, after: 4) == [5])
    end.append(header(7))
    for position: UInt64 in 3...7 { #expect(given(end, after: position) == nil, "a gap") }
    // A listing tells of the head, if it is as new as what was pushed.
    end.confirm(6, chain(6), askedAt: 1)
    #expect(given(end, after: 6) == nil)
    end.confirm(7, chain(7), askedAt: 1)
    #expect(given(end, after: 7) == [])
    end.skip(to: 9)
    #expect(given(end, after: 7) == nil)
    end.confirm(9, chain(9), askedAt: 1)
    end.append(header(10))
    #expect(given(end, after: 9) == [10])
    end.forget()
    #expect(given(end, after: 9) == nil && given(end, after: 10) == nil)
  }

  @Test("Without a subscription, or with one that began later, nothing is given")
  func listening() {
    var end = RelayLogEnd()
    end.confirm(3, chain(3), askedAt: 0)
    #expect(given(end, after: 3) == nil)
    end.subscribed(at: 4)
    #expect(given(end, after: 3) == nil, "the fourth was never told")
    end.append(header(5))
    #expect(given(end, after: 3) == nil)
    end.confirm(5, chain(5), askedAt: 0)
    #expect(given(end, after: 5) == [])
  }

  @Test("A minute after the relay was asked for the log, nothing is given before it is asked again")
  func time() {
    let minute = RelayClientTiming().confirmedMilliseconds
    #expect(minute == LogEndTests.minute)
    var end = end(at: 3)
    end.append(header(4))
    #expect(given(end, after: 3, now: minute - 1) == [4])
    #expect(given(end, after: 3, now: minute) == nil)
    // A push says nothing of the log, and the answer to an older question nothing new.
    end.append(header(5))
    #expect(given(end, after: 3, now: minute) == nil)
    end.confirm(4, chain(4), askedAt: 10)
    #expect(given(end, after: 3, now: minute + 9) == [4, 5])
    #expect(given(end, after: 3, now: minute + 10) == nil)
    end.confirm(5, chain(5), askedAt: 5)
    #expect(given(end, after: 3, now: minute + 9) == [4, 5])
  }

  @Test("Who knows another past is given nothing; a relay that shows another log is believed anew")
  func otherPast() {
    var end = end(at: 3)
    end.append(header(4))
    for position: UInt64 in 3...4 {
      let known = end.entries(
        after: position, chain: chain(position - 1), now: 1, within: LogEndTests.minute)
      #expect(known == nil)
    }
    // It says another chain where one is known: who knows the former has to list, and sees it.
    end.confirm(4, chain(7), askedAt: 1)
    #expect(given(end, after: 3) == nil && given(end, after: 4) == nil)
    #expect(end.entries(after: 4, chain: chain(7), now: 1, within: 60_000) == [])
    // Its head is before what was known: nothing is known.
    var setBack = self.end(at: 3)
    setBack.confirm(2, chain(2), askedAt: 1)
    #expect(given(setBack, after: 2) == nil && given(setBack, after: 3) == nil)
  }

  @Test("Own entries count, also where they were pushed before; what was refused is no entry")
  func own() {
    var end = end(at: 0)
    let items = [put(1), put(9), put(2)]
    end.take(
      .put(items),
      .stored([
        RelayStored(.stored, position: 1), RelayStored(.present, position: 1),
        RelayStored(.stored, position: 2),
      ]), askedAt: 0)
    #expect(given(end, after: 0) == [1, 2])
    end.append(header(3))
    end.take(.put([put(3)]), .stored([RelayStored(.stored, position: 3)]), askedAt: 0)
    #expect(given(end, after: 2) == [3])
    let removal = RelayHeader(removing: put(1).name, at: 4)
    end.take(.remove([[7], put(1).name]), .removed([0, 4]), askedAt: 0)
    let after = end.entries(after: 3, chain: chain(3), now: 1, within: LogEndTests.minute)
    #expect(after == [removal])
    // Other bytes at a position that was told already.
    end.take(.put([put(8)]), .stored([RelayStored(.stored, position: 3)]), askedAt: 0)
    #expect(given(end, after: 3) == nil)
    // What is there lies behind the end: something was missed.
    var missed = self.end(at: 3)
    missed.take(.put([put(5)]), .stored([RelayStored(.present, position: 5)]), askedAt: 0)
    #expect(given(missed, after: 3) == nil)
    // Only a listing to the head says what the head is.
    for (through, head) in [(UInt64(4), UInt64(5)), (5, 5)] {
      let page = RelayListing(headers: [], through: through, head: head, chain: chain(through))
      missed.take(.list(after: 3, limit: 1), .listing(page), askedAt: 0)
      #expect(given(missed, after: 5) == (through == head ? [] : nil))
    }
  }

  @Test("Memory is bounded: at the limit everything is given, above it the older half goes")
  func bounds() {
    let most = UInt64(RelayLogEnd.maximumLinks)
    var end = end(at: 0)
    for position in 1...most { end.append(header(position)) }
    #expect(given(end, after: 0)?.count == Int(most))
    end.append(header(most + 1))
    #expect(given(end, after: 0) == nil && given(end, after: most / 2 - 1) == nil)
    #expect(given(end, after: most / 2)?.count == Int(most / 2) + 1)
  }

  @Test("Whatever comes in whatever order, only what is whole is given", arguments: 0..<50)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var end = end(at: 0)
    var told: UInt64 = 0
    var gifts = 0
    for _ in 0..<60 {
      switch Int.random(in: 0..<7, using: &random) {
      case 0...2:
        let first = UInt64.random(in: (told > 0 ? told : 1)...told + 2, using: &random)
        for position in first...first + UInt64.random(in: 0...3, using: &random) {
          end.append(header(position))
          told = max(told, position)
        }
      case 3:
        told += 1
        end.skip(to: told)
      case 4: end.forget()
      case 5:
        let head = UInt64.random(in: (told > 2 ? told - 2 : 0)...told + 1, using: &random)
        end.confirm(head, chain(head), askedAt: 0)
        told = max(told, head)
      default:
        let after = UInt64.random(in: 0...told + 1, using: &random)
        if let given = given(end, after: after) {
          #expect(given == (after < told ? Array(after + 1...told) : []), "seed \(seed)")
          gifts += 1
        }
      }
    }
    if seed == 0 { #expect(gifts > 0) }
  }

  // MARK: With a relay

  private func question(_ name: String) -> RelayQuestion {
    .put([RelayPut(name: Array(name.utf8), blob: Array(name.utf8))])
  }

  private func names(_ result: Result<RelayOutcome, RelayFailure>) -> [String]? {
    guard case .success(.announced(let entries)) = result else { return nil }
    return entries.map { String(decoding: $0.name, as: UTF8.self) }
  }

  /// The position to which a listing went, with the chain there; nil if it was no listing.
  private func listed(
    _ result: Result<RelayOutcome, RelayFailure>
  ) -> (position: UInt64, chain: Bytes32)? {
    guard case .success(.reply(.listing(let page))) = result else { return nil }
    return (page.through, page.chain)
  }

  @Test("Who listens is told what came without asking, for a minute; losses begin anew")
  func sessions() throws {
    let world = try ClientWorld()
    let (reader, writer) = (try world.client(0x31), try world.client(0x32))
    let access = try ClientWorld.access([1])
    func news(_ known: (position: UInt64, chain: Bytes32)) -> RelayQuestion {
      .news(after: known.position, chain: known.chain, limit: 100)
    }
    func list() throws -> (position: UInt64, chain: Bytes32) {
      try #require(listed(world.ask(writer, access, .list(after: 0, limit: 100))))
    }
    // Without a subscription it is listed.
    let nothing = (position: UInt64(0), chain: LogEndTests.begin)
    let start = try #require(listed(world.ask(reader, access, news(nothing))))
    #expect(start.position == 0)
    reader.session.listen(to: access.mailbox, true, now: world.now)
    world.run(upTo: 100)
    _ = world.ask(writer, access, question("a"))
    _ = world.ask(writer, access, question("b"))
    world.run(upTo: 100)
    var sent = reader.sent
    #expect(names(world.ask(reader, access, news(start))) == ["a", "b"])
    // Its own is told too, and what was pushed before and after it.
    _ = world.ask(reader, access, question("c"))
    _ = world.ask(writer, access, question("d"))
    world.run(upTo: 100)
    #expect(names(world.ask(reader, access, news(start))) == ["a", "b", "c", "d"])
    #expect(reader.sent == sent + 1, "something was asked")
    // Who knows another past has to list, and sees it.
    #expect(listed(world.ask(reader, access, news(nothing))) != nil)
    // That listing began a minute.
    world.run(upTo: 59_000)
    sent = reader.sent
    #expect(names(world.ask(reader, access, news(try list()))) == [])
    #expect(reader.sent == sent)
    world.run(upTo: 2_000)
    #expect(listed(world.ask(reader, access, news(try list()))) != nil)
    #expect(names(world.ask(reader, access, news(try list()))) == [])
    // After a loss nothing is known until it listens again, and then only what comes.
    let before = try list()
    world.cut(reader)
    reader.session.lost(.unreachable("cut"), now: world.now)
    _ = world.ask(writer, access, question("e"))
    world.run(upTo: 30_000)
    #expect(listed(world.ask(reader, access, news(before)))?.position == 5)
    #expect(names(world.ask(reader, access, news(try list()))) == [])
  }

  @Test("A put that was refused, and a hint, are followed by a listing")
  func refusals() throws {
    let world = try ClientWorld {
      $0.quota.bytes = 2_000
      $0.maximumPushBytes = 500
    }
    let (reader, writer) = (try world.client(0x31), try world.client(0x32))
    let access = try ClientWorld.access([1])
    func put(_ client: ClientWorld.Client, _ name: String, _ bytes: Int) -> Bool {
      let item = RelayPut(name: Array(name.utf8), blob: [UInt8](repeating: 1, count: bytes))
      defer { world.run(upTo: 100) }
      if case .success = world.ask(client, access, .put([item])) { return true }
      return false
    }
    func news() throws -> Result<RelayOutcome, RelayFailure> {
      let known = try #require(listed(world.ask(writer, access, .list(after: 0, limit: 100))))
      return world.ask(
        reader, access, .news(after: known.position, chain: known.chain, limit: 100))
    }
    // The writer makes it, so all of the mailbox is its own to fill.
    _ = world.ask(writer, access, .open)
    _ = world.ask(reader, access, .open)
    reader.session.listen(to: access.mailbox, true, now: world.now)
    world.run(upTo: 100)
    #expect(put(writer, "a", 10))
    #expect(names(try news()) == [])
    #expect(!put(reader, "b", 3_000))
    #expect(try listed(news()) != nil && names(news()) == [])
    #expect(put(writer, "c", 1_000))
    #expect(try listed(news()) != nil && names(news()) == [])
  }
}

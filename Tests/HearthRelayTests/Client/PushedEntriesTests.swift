import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthSync

@Suite("What a subscription brought")
struct PushedEntriesTests {
  private static let start = RelayChain.start(
    mailbox: Identifier(high: 7, low: 7), generation: Identifier(high: 8, low: 8))

  private func entry(_ position: UInt64, bytes: Int = 4) -> RelayEntry {
    let blob = [UInt8](repeating: UInt8(truncatingIfNeeded: position), count: bytes)
    let put = RelayPut(name: Array("n\(position)".utf8), blob: blob)
    return RelayEntry(header: RelayHeader(of: put, at: position), blob: blob)
  }

  /// The chain of a log of such entries.
  private func chain(_ position: UInt64) -> Bytes32 {
    guard position > 0 else { return PushedEntriesTests.start }
    return (1...position).reduce(PushedEntriesTests.start) {
      RelayChain.next($0, entry($1).header)
    }
  }

  private func pushed(from head: UInt64) -> RelayPushedEntries {
    RelayPushedEntries(head: head, known: (head, chain(head)))
  }

  /// The positions that are given to somebody who knows the same log.
  private func given(_ pushed: inout RelayPushedEntries, after position: UInt64) -> [UInt64]? {
    pushed.take(after: position, chain: chain(position))?.map(\.header.position)
  }

  @Test("What came is given whole and in order, also twice; a gap or a hint gives nothing")
  func gaps() {
    var pushed = pushed(from: 3)
    #expect(given(&pushed, after: 3) == [])
    #expect(given(&pushed, after: 2) == nil, "what came before the subscription is not known")
    #expect(given(&pushed, after: 4) == nil, "somebody knows more than the relay told")
    pushed.append([entry(4), entry(5)])
    for _ in 0..<2 { #expect(given(&pushed, after: 3) == [4, 5]) }
    #expect(given(&pushed, after: 4) == [5])
    #expect(given(&pushed, after: 3) == nil, "it was let go")
    pushed.skip(to: 7)
    #expect(given(&pushed, after: 5) == nil)
    pushed.append([entry(8)])
    #expect(given(&pushed, after: 5) == nil)
    #expect(given(&pushed, after: 7) == nil, "no chain is known behind a hint")
    // A listing to the head tells it.
    pushed.rebase(to: (7, chain(7)))
    #expect(given(&pushed, after: 7) == nil)
    pushed.rebase(to: (8, chain(8)))
    pushed.append([entry(9)])
    #expect(given(&pushed, after: 8) == [9])
  }

  @Test("Who knows another past is given nothing, wherever it ends")
  func otherPast() {
    var pushed = pushed(from: 3)
    pushed.append([entry(4)])
    for position: UInt64 in 3...4 {
      #expect(pushed.take(after: position, chain: chain(position - 1)) == nil)
    }
    #expect(given(&pushed, after: 3) == [4])
    var unknown = RelayPushedEntries(head: 3, known: (2, chain(2)))
    #expect(given(&unknown, after: 3) == nil, "stored between the opening and the subscription")
    #expect(given(&unknown, after: 2) == nil)
  }

  @Test("Own entries are stepped over; behind those of others nothing is given but a listing")
  func own() {
    var pushed = pushed(from: 0)
    pushed.appended(entry(1).header)
    #expect(given(&pushed, after: 1) == [])
    pushed.append([entry(2)])
    pushed.appended(entry(3).header)
    // Who has not taken 2 yet cannot be given 3.
    #expect(given(&pushed, after: 1) == nil)
    #expect(given(&pushed, after: 3) == [])
    // Between this and the last lies what is still under way.
    pushed.appended(entry(6).header)
    #expect(pushed.head == 3)
    pushed.append([entry(4), entry(5), entry(6)])
    #expect(given(&pushed, after: 3) == [4, 5, 6])
  }

  @Test("Memory is bounded: at the limit everything is given, above it a listing is needed")
  func bounds() {
    let names = "n1".utf8.count + "n2".utf8.count
    for excess in [0, 1] {
      var pushed = pushed(from: 0)
      pushed.append([entry(1, bytes: 1)])
      pushed.append([entry(2, bytes: RelayPushedEntries.maximumBytes - 1 - names + excess)])
      let all = pushed.take(after: 0, chain: chain(0))
      #expect(all?.count == (excess == 0 ? 2 : nil))
      #expect(pushed.head == 2)
    }
    var many = pushed(from: 0)
    var last = chain(0)
    for position in 1...UInt64(RelayPushedEntries.maximumLinks) {
      let header = entry(position).header
      many.appended(header)
      last = RelayChain.next(last, header)
    }
    #expect(many.take(after: 0, chain: chain(0)) == nil, "the oldest positions were let go")
    #expect(many.take(after: many.head, chain: last)?.isEmpty == true)
  }

  @Test("Whatever comes in whatever order, only what is whole is given", arguments: 0..<50)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var pushed = pushed(from: 0)
    var gifts = 0
    for _ in 0..<60 {
      switch Int.random(in: 0..<7, using: &random) {
      case 0...2:
        let first = UInt64.random(in: 1...pushed.head + 1, using: &random)
        pushed.append((first...first + UInt64.random(in: 0...3, using: &random)).map { entry($0) })
      case 3: pushed.appended(entry(UInt64.random(in: 1...pushed.head + 2, using: &random)).header)
      case 4: if Bool.random(using: &random) { pushed.skip(to: pushed.head + 1) }
      case 5: pushed.rebase(to: (pushed.head, chain(pushed.head)))
      default:
        let after = UInt64.random(in: 0...pushed.head + 1, using: &random)
        let expected = after < pushed.head ? Array(after + 1...pushed.head) : []
        if let given = given(&pushed, after: after) {
          #expect(given == expected, "seed \(seed)")
          gifts += 1
        }
      }
    }
    if seed == 0 { #expect(gifts > 0) }
  }

  // MARK: With a relay

  private func put(_ name: String) -> RelayQuestion {
    .put([RelayPut(name: Array(name.utf8), blob: Array(name.utf8))])
  }

  private func names(_ result: Result<RelayOutcome, RelayFailure>) -> [String]? {
    guard case .success(.pushed(let entries)) = result else { return nil }
    return entries.map { String(decoding: $0.header.name, as: UTF8.self) }
  }

  /// The position to which a listing went, with the chain there; nil if it was no listing.
  private func listed(
    _ result: Result<RelayOutcome, RelayFailure>
  ) -> (position: UInt64, chain: Bytes32)? {
    guard case .success(.reply(.listing(let page))) = result else { return nil }
    return (page.through, page.chain)
  }

  @Test("Who listens is given what came without asking; own entries, losses and closing are known")
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
    let begin = (position: UInt64(0), chain: PushedEntriesTests.start)
    let start = try #require(listed(world.ask(reader, access, news(begin))))
    #expect(start.position == 0)
    reader.session.listen(to: access.mailbox, true, now: world.now)
    world.run(upTo: 100)
    _ = world.ask(writer, access, put("a"))
    _ = world.ask(writer, access, put("b"))
    world.run(upTo: 100)
    let sent = reader.sent
    #expect(names(world.ask(reader, access, news(start))) == ["a", "b"])
    #expect(reader.sent == sent, "something was asked")
    // Who knows another past has to list, and sees it.
    #expect(listed(world.ask(reader, access, news(begin))) != nil)
    // After some silence a listing finds out whether the line still holds.
    world.run(upTo: 5_000)
    #expect(listed(world.ask(reader, access, news(try list()))) != nil)
    // Its own is not brought to it, and no gap either.
    _ = world.ask(reader, access, put("c"))
    #expect(names(world.ask(reader, access, news(try list()))) == [])
    // After a loss nothing is known until it listens again, and then only what comes.
    let before = try list()
    world.cut(reader)
    reader.session.lost(.unreachable("cut"), now: world.now)
    _ = world.ask(writer, access, put("d"))
    world.run(upTo: 30_000)
    #expect(listed(world.ask(reader, access, news(before)))?.position == 4)
    #expect(names(world.ask(reader, access, news(try list()))) == [])
  }
}

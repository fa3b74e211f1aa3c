import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthSync

@Suite("What a subscription brought")
struct PushedEntriesTests {
  private func entry(_ position: UInt64, bytes: Int = 4) -> RelayEntry {
    let blob = [UInt8](repeating: UInt8(truncatingIfNeeded: position), count: bytes)
    return RelayEntry(
      header: RelayHeader(
        position: position, kind: .put, isReplaceable: false, isLive: true,
        name: Array("n\(position)".utf8), byteCount: bytes, digest: RelayChain.digest(of: blob)),
      blob: blob)
  }

  @Test("What came is given whole and in order, also twice; a gap or a hint gives nothing")
  func gaps() {
    var pushed = RelayPushedEntries(head: 3)
    #expect(pushed.take(after: 3)?.isEmpty == true)
    #expect(pushed.take(after: 2) == nil, "what came before the subscription is not known")
    #expect(pushed.take(after: 4) == nil, "somebody knows more than the relay told")
    pushed.append([entry(4), entry(5)])
    for _ in 0..<2 { #expect(pushed.take(after: 3)?.map(\.header.position) == [4, 5]) }
    #expect(pushed.take(after: 4)?.map(\.header.position) == [5])
    #expect(pushed.take(after: 3) == nil, "it was let go")
    pushed.skip(to: 7)
    #expect(pushed.take(after: 5) == nil)
    pushed.append([entry(8)])
    #expect(pushed.take(after: 5) == nil)
    #expect(pushed.take(after: 7)?.map(\.header.position) == [8])
  }

  @Test("Own entries are stepped over; behind those of others nothing is given but a listing")
  func own() {
    var pushed = RelayPushedEntries(head: 0)
    pushed.appended(at: 1)
    #expect(pushed.take(after: 1)?.isEmpty == true)
    #expect(pushed.take(after: 0) == nil)
    pushed.append([entry(2)])
    pushed.appended(at: 3)
    // Who has not taken 2 yet cannot be given 3.
    #expect(pushed.take(after: 1) == nil)
    #expect(pushed.take(after: 3)?.isEmpty == true)
    // Between this and the last lies what is still under way.
    pushed.appended(at: 6)
    #expect(pushed.head == 3)
    pushed.append([entry(4), entry(5), entry(6)])
    #expect(pushed.take(after: 3)?.count == 3)
  }

  @Test("Memory is bounded: at the limit everything is given, above it a listing is needed")
  func bounds() {
    let names = "n1".utf8.count + "n2".utf8.count
    for excess in [0, 1] {
      var pushed = RelayPushedEntries(head: 0)
      pushed.append([entry(1, bytes: 1)])
      pushed.append([entry(2, bytes: RelayPushedEntries.maximumBytes - 1 - names + excess)])
      #expect(pushed.take(after: 0)?.count == (excess == 0 ? 2 : nil))
      #expect(pushed.head == 2)
    }
  }

  @Test("Whatever comes in whatever order, only what is whole is given", arguments: 0..<50)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var pushed = RelayPushedEntries(head: 0)
    for _ in 0..<200 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0...2:
        let first = UInt64.random(in: 1...pushed.head + 2, using: &random)
        pushed.append((first...first + UInt64.random(in: 0...3, using: &random)).map { entry($0) })
      case 3: pushed.appended(at: UInt64.random(in: 1...pushed.head + 2, using: &random))
      case 4: pushed.skip(to: UInt64.random(in: 1...pushed.head + 2, using: &random))
      default:
        let after = UInt64.random(in: 0...pushed.head + 1, using: &random)
        let expected = after < pushed.head ? Array(after + 1...pushed.head) : []
        if let given = pushed.take(after: after) {
          #expect(given.map(\.header.position) == expected, "seed \(seed)")
        }
      }
    }
  }

  private func put(_ name: String) -> RelayQuestion {
    .put([RelayPut(name: Array(name.utf8), blob: Array(name.utf8))])
  }

  private func names(_ result: Result<RelayOutcome, RelayFailure>) -> [String]? {
    guard case .success(.pushed(let entries)) = result else { return nil }
    return entries.map { String(decoding: $0.header.name, as: UTF8.self) }
  }

  @Test("Who listens is given what came without asking; own entries, losses and closing are known")
  func sessions() throws {
    let world = try ClientWorld()
    let (reader, writer) = (try world.client(0x31), try world.client(0x32))
    let access = try ClientWorld.access([1])
    let news = RelayQuestion.news(after: 0, limit: 100)
    // Without a subscription it is listed.
    guard case .success(.reply(.listing)) = world.ask(reader, access, news) else {
      Issue.record("not listed")
      return
    }
    reader.session.listen(to: access.mailbox, true, now: world.now)
    world.run(upTo: 100)
    _ = world.ask(writer, access, put("a"))
    _ = world.ask(writer, access, put("b"))
    world.run(upTo: 100)
    let sent = reader.sent
    #expect(names(world.ask(reader, access, news)) == ["a", "b"])
    #expect(reader.sent == sent, "something was asked")
    // Its own is not brought to it, and no gap either.
    _ = world.ask(reader, access, put("c"))
    #expect(names(world.ask(reader, access, .news(after: 3, limit: 100))) == [])
    // After a loss nothing is known until it listens again, and then only what comes.
    world.cut(reader)
    reader.session.lost(.unreachable("cut"), now: world.now)
    _ = world.ask(writer, access, put("d"))
    world.run(upTo: 30_000)
    guard
      case .success(.reply(.listing(let page))) = world.ask(
        reader, access, .news(after: 3, limit: 100))
    else {
      Issue.record("not listed after a loss")
      return
    }
    #expect(page.headers.count == 1)
    #expect(names(world.ask(reader, access, .news(after: 4, limit: 100))) == [])
  }
}

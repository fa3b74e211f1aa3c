import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

@Suite("The core and other relays of the same log")
struct CoreNewsTests {
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

  private func subscriber() throws -> RelaySessionID {
    let id = world.connect()
    try #require(try world.open(id, mailbox, with: access).opened != nil)
    try #require(world.ask(id, .subscribe(channel: 0)) != nil)
    return id
  }

  /// Puts as another relay does: in the log alone.
  private func putElsewhere(_ name: String) throws {
    let found = try stored()
    _ = try world.log.write([
      RelayWrite(
        mailbox: mailbox, authority: .access(generation: found.accessGeneration),
        action: .put([RelayPut(name: Array(name.utf8), blob: [1])]), quota: RelayQuota(), day: 1)
    ])
  }

  private func put(_ id: RelaySessionID, _ name: String) -> RelayReply? {
    world.ask(id, .put(channel: 0, items: [RelayPut(name: Array(name.utf8), blob: [2])]))
  }

  private func stored() throws -> RelayMailbox {
    let read = RelayRead(mailbox: mailbox, authority: nil, question: .find(chainAt: nil))
    guard case .found(let mailbox?, _) = try world.log.read(read) else {
      throw RelayError(.notFound, "no mailbox")
    }
    return mailbox
  }

  /// What the shell hands over after a notification.
  private func news(after position: UInt64) throws -> RelayLogNews {
    let found = try stored()
    let read = RelayRead(
      mailbox: mailbox, authority: .access(generation: found.accessGeneration),
      question: .page(after: position, limit: 400, byteLimit: 1 << 20))
    guard case .page(let page) = try world.log.read(read) else {
      throw RelayError(.notFound, "no page")
    }
    return RelayLogNews(name: mailbox, mailbox: found, entries: page.entries)
  }

  private func pushed(_ id: RelaySessionID) -> [[UInt64]] {
    world.pushes(id).map { push in
      switch push {
      case .pushed(_, let entries): entries.map(\.header.position)
      case .behind(_, let head): [0, head]
      case .closed: [0, 0, 0]
      default: []
      }
    }
  }

  @Test("what another relay appended is pushed once, in order, whoever tells of it first")
  func order() throws {
    let reader = try subscriber()
    let writer = try subscriber()
    try putElsewhere("a")
    try putElsewhere("b")
    #expect(world.core.reportedHead(of: mailbox) == 0)
    world.handle(.news(try news(after: 0)))
    #expect(put(writer, "c") == .stored([.init(.stored, position: 3)]))
    // The same news once more, and the news of what was told already, say nothing.
    world.handle(.news(try news(after: 0)))
    world.handle(.appended(mailbox, head: 3))
    #expect(pushed(reader) == [[1, 2], [3]])
    #expect(pushed(writer) == [[1, 2]] && world.core.reportedHead(of: mailbox) == 3)
  }

  @Test("who would miss an entry of another relay gets a hint, the writer too")
  func gap() throws {
    let reader = try subscriber()
    let writer = try subscriber()
    try putElsewhere("a")
    #expect(put(writer, "b") == .stored([.init(.stored, position: 2)]))
    world.handle(.news(try news(after: 0)))
    #expect(pushed(reader) == [[0, 2]] && pushed(writer) == [[0, 2]])
    #expect(put(writer, "c") == .stored([.init(.stored, position: 3)]))
    #expect(pushed(reader) == [[0, 2], [3]] && pushed(writer) == [[0, 2]])
  }

  @Test("news that do not reach the head, and comparisons without entries, become hints")
  func hints() throws {
    let reader = try subscriber()
    try putElsewhere("a")
    try putElsewhere("b")
    var part = try news(after: 0)
    part.entries.removeLast()
    world.handle(.news(part))
    #expect(pushed(reader) == [[0, 2]])
    try putElsewhere("c")
    var compared = try news(after: 2)
    compared.entries = []
    world.handle(.news(compared))
    #expect(pushed(reader) == [[0, 2], [0, 3]])
  }

  @Test("a subscriber who came later is told of what is new to it alone")
  func later() throws {
    let early = try subscriber()
    try putElsewhere("a")
    let late = try subscriber()
    try putElsewhere("b")
    world.handle(.news(try news(after: 0)))
    #expect(pushed(early) == [[1, 2]] && pushed(late) == [[2]])
  }

  @Test("a key that was changed elsewhere ends the sessions of the old one, and no newer ones")
  func rotation() throws {
    let old = try subscriber()
    let chief = world.connect()
    try #require(try world.open(chief, mailbox, with: manager).opened != nil)
    let before = try news(after: 0)
    let next = try CoreWorld.pair(3)
    _ = try world.log.write([
      RelayWrite(
        mailbox: mailbox, authority: .access(generation: 1), author: manager.publicKey.bytes,
        action: .rotate(generation: 1, accessKey: next.publicKey.bytes), quota: RelayQuota(),
        day: 1)
    ])
    world.handle(.news(try news(after: 0)))
    #expect(pushed(old) == [[0, 0, 0]] && pushed(chief) == [])
    #expect(put(old, "a").faultCode == .wrongState)
    let new = world.connect()
    try #require(try world.open(new, mailbox, with: next).opened != nil)
    // News that were read before the key was changed come late.
    world.handle(.news(before))
    #expect(pushed(new) == [])
    #expect(put(new, "a") == .stored([.init(.stored, position: 1)]))
  }

  @Test("a mailbox that is gone or begun anew elsewhere, and another database, close it for all")
  func replaced() throws {
    for round in 0..<3 {
      let ids = [try subscriber(), try subscriber()]
      var gone = try news(after: 0)
      switch round {
      case 0:
        gone.mailbox = nil
        world.handle(.news(gone))
      case 1:
        gone.mailbox?.head = RelayCursor(generation: Identifier(high: 9, low: 9), position: 0)
        world.handle(.news(gone))
      default: world.handle(.replaced)
      }
      for id in ids { #expect(pushed(id) == [[0, 0, 0]], "round \(round)") }
      #expect(world.core.openMailboxCount == 0)
    }
  }

  @Test("a database that is away, and a commit nobody knows of, are faults to try again after")
  func faults() throws {
    let id = try subscriber()
    for code in [RelayError.Code.unavailable, .unknownOutcome] {
      world.holdsLog = true
      let number = world.send(
        id, .put(channel: 0, items: [RelayPut(name: [1], blob: [1])]))
      guard case .write(let ticket, _)? = world.held.last else {
        Issue.record("nothing was written")
        return
      }
      world.held = []
      world.holdsLog = false
      world.handle(.written(ticket: ticket, .failure(RelayError(code, "a secret host"))))
      guard case .fault(let fault)? = world.answer(id, number) else {
        Issue.record("no fault")
        return
      }
      #expect(fault.code == .unavailable && (500...2_000).contains(fault.retryAfterMilliseconds))
      #expect(!fault.message.contains("secret"))
    }
  }
}

import HearthCRDT
import HearthCrypto
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync
@testable import HearthTransport

/// A relay's log, and what a connection says of it.
private final class SaidLine: RelayClientConnection {
  let address: RelayAddress
  let generation = Identifier(high: 8, low: 8)
  var log: [RelayHeader] = []
  /// What is told without asking; nil where the log is listed.
  var told: [RelayHeader]?
  var listings = 0
  /// What is stored whenever the log is listed, by position.
  var more: ((UInt64) -> RelayHeader)?
  /// The head that is claimed; nil for the true one.
  var claimed: UInt64?

  init() throws {
    address = try RelayAddress(
      host: "relay", port: 1, pin: Bytes32(exactly: [UInt8](repeating: 7, count: 32)))
  }

  func know(_ access: MailboxAccess, cursor: RelayCursor?) {}
  func prefetch(_ accesses: [(access: MailboxAccess, cursor: RelayCursor?)]) {}

  func chain(_ mailbox: Identifier, _ count: Int) -> Bytes32 {
    log.prefix(count).reduce(RelayChain.start(mailbox: mailbox, generation: generation)) {
      RelayChain.next($0, $1)
    }
  }

  func ask(_ mailbox: Identifier, _ question: RelayQuestion) throws -> RelayOutcome {
    switch question {
    case .open:
      let opened = RelayOpened(
        head: RelayCursor(generation: generation, position: UInt64(log.count)),
        chain: chain(mailbox, log.count), standing: .none, accessGeneration: 1, rank: .guest,
        roster: Bytes16(exactly: [UInt8](repeating: 0, count: 16)), usedBytes: 0, quotaBytes: 1)
      var opening = RelayOpening(
        opened: opened, key: .access(0), isCreated: false, number: 1,
        wanted: RelayAccess.keyID(of: []), cursor: nil)
      opening.isNew = false
      return .opened(opening)
    case .news(let after, _, _):
      if let told { return .announced(told) }
      return list(mailbox, after: after)
    case .list(let after, _): return list(mailbox, after: after)
    default: throw RelayFailure.refused
    }
  }

  private func list(_ mailbox: Identifier, after: UInt64) -> RelayOutcome {
    listings += 1
    if let more, log.count < 1_000 {
      for _ in 0..<2 { log.append(more(UInt64(log.count) + 1)) }
    }
    // A page of two at a time.
    let page = log.dropFirst(Int(after)).prefix(2)
    let through = Int(after) + page.count
    return .reply(
      .listing(
        RelayListing(
          headers: Array(page), through: UInt64(through), head: claimed ?? UInt64(log.count),
          chain: chain(mailbox, through))))
  }
}

private final class NoMemory: RelayMemory {
  /// Why nothing can be stored.
  struct IsFull: Error {}

  var kept: [String: [UInt8]] = [:]
  var isFull = false

  func load(_ name: String) throws -> [UInt8]? { kept[name] }
  func save(_ name: String, _ bytes: [UInt8]) throws {
    guard !isFull else { throw IsFull() }
    kept[name] = bytes
  }
}

@Suite("What a transport makes of what a connection tells of a log")
struct RelayNewsTests {
  private let zone = Identifier(high: 1, low: 2)
  private let line: SaidLine
  private let memory = NoMemory()
  private let transport: RelayTransport

  init() throws {
    line = try SaidLine()
    transport = RelayNewsTests.transport(of: zone, over: line, memory)
  }

  private static func transport(
    of zone: Identifier, over line: SaidLine, _ memory: NoMemory
  ) -> RelayTransport {
    var directory = RelayDirectory()
    directory.zones[zone] = MailboxAccess(mailbox: zone, keys: [], mayCreate: false)
    return RelayTransport(
      over: line, memory: memory, directory: directory, digest: { _ in .zero })
  }

  private func header(_ position: UInt64) -> RelayHeader {
    let name = RelayName.segment(
      SegmentName(
        zoneTag: zone, authorTag: zone, incarnation: 1, first: position, last: position,
        digest: .zero))
    return RelayHeader(of: RelayPut(name: name.bytes, blob: [1]), at: position)
  }

  private func listed() async throws -> [UInt64] {
    let listing = try await transport.list(zoneTag: zone)
    #expect(listing.problems.isEmpty)
    return listing.segments.map(\.first)
  }

  @Test("What is told is taken for the log's end without a listing; pages are followed to the end")
  func told() async throws {
    line.log = (1...5).map { header($0) }
    #expect(try await listed() == [1, 2, 3, 4, 5] && line.listings == 3)
    line.told = [header(6), header(7)]
    #expect(try await listed() == [1, 2, 3, 4, 5, 6, 7] && line.listings == 3)
    line.told = []
    #expect(try await listed().count == 7 && line.listings == 3)
    line.told = nil
    line.log += [header(6), header(7)]
    #expect(try await listed().count == 7 && line.listings == 4)
  }

  @Test("What does not follow is nothing, and the log is listed")
  func gap() async throws {
    line.log = [header(1)]
    #expect(try await listed() == [1])
    line.log.append(header(2))
    line.told = [header(3)]
    #expect(try await listed() == [1, 2] && line.listings == 2)
  }

  @Test("What was told and is not in the log is noticed at the next listing")
  func lie() async throws {
    line.log = [header(1)]
    #expect(try await listed() == [1])
    line.told = [header(9)].map { RelayHeader(of: RelayPut(name: $0.name, blob: [1]), at: 2) }
    #expect(try await listed() == [1, 9])
    line.told = nil
    line.log += [header(2), header(3)]
    let listing = try await transport.list(zoneTag: zone)
    #expect(listing.problems.count == 1 && listing.segments.map(\.first) == [1, 2, 3])
  }

  @Test("A log that grows as fast as it is listed ends where it ended when the listing began")
  func growing() async throws {
    line.log = (1...3).map { header($0) }
    line.more = { self.header($0) }
    let first = try await listed()
    #expect(first == Array(1...UInt64(first.count)) && first.count <= 10)
    #expect(try await listed().count > first.count)
    #expect(line.log.count < 40)
  }

  @Test("A log that is longer than any relay keeps is refused in words")
  func endless() async throws {
    line.log = [header(1)]
    line.claimed = RelayMailboxIndex.maximumEntries + 1
    do {
      _ = try await listed()
      Issue.record("an endless log was listed")
    } catch let error as TransportError {
      #expect(error.code == .relayInconsistent && error.message.contains("no relay keeps"))
    }
  }

  @Test("What could not be stored of a log is stored by a later round that learns nothing new")
  func storedLater() async throws {
    line.log = [header(1), header(2)]
    memory.isFull = true
    do {
      _ = try await listed()
      Issue.record("nothing could be stored")
    } catch is NoMemory.IsFull {}
    memory.isFull = false
    #expect(try await listed() == [1, 2])
    // A later program knows the log without a listing.
    line.told = []
    let listings = line.listings
    let later = RelayNewsTests.transport(of: zone, over: line, memory)
    #expect(try await later.list(zoneTag: zone).segments.map(\.first) == [1, 2])
    #expect(line.listings == listings)
  }
}

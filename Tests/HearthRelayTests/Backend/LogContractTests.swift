import HearthCRDT
import HearthCrypto
import HearthSync
import TestSupport
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// What every log promises; the core and the clients rest on it.
@Suite("Contract of relay logs")
struct LogContractTests {
  private func put(_ name: String, _ text: String, isReplaceable: Bool = false) -> RelayPut {
    RelayPut(name: Array(name.utf8), isReplaceable: isReplaceable, blob: Array(text.utf8))
  }

  private func outcomes(_ written: RelayWritten) -> [RelayStored]? {
    if case .stored(let outcomes, _, _) = written { outcomes } else { nil }
  }

  @Test(
    "positions are free of gaps, puts idempotent, removals keep a trace",
    arguments: LogKind.allCases)
  func life(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    #expect(try shelf.found() == nil)
    #expect(try shelf.write(.put([put("a", "1")])) == .refused(.forbidden))
    guard case .created(let made) = try shelf.write(LogShelf.creation, nil) else {
      Issue.record("not made")
      return
    }
    #expect(try shelf.found() == made)
    #expect(try shelf.write(LogShelf.creation, nil) == .refused(.forbidden))
    #expect(
      outcomes(try shelf.write(.put([put("a", "1"), put("b", "2"), put("a", "1")])))
        == [.init(.stored, position: 1), .init(.stored, position: 2), .init(.present, position: 1)])
    #expect(outcomes(try shelf.write(.put([put("a", "other")]))) == [.init(.conflict, position: 1)])
    #expect(
      outcomes(try shelf.write(.put([put("b", "other", isReplaceable: true)])))
        == [.init(.conflict, position: 2)])
    guard
      case .removed(let positions, let appended, let head) =
        try shelf.write(.remove([Array("a".utf8), Array("none".utf8)]))
    else { return }
    #expect(positions == [3, 0] && appended.map(\.kind) == [.remove] && head == 3)
    // A removed name may come back, at a new position.
    #expect(outcomes(try shelf.write(.put([put("a", "1")]))) == [.init(.stored, position: 4)])
    guard case .page(let page) = try shelf.read(.page(after: 0, limit: 400, byteLimit: 1 << 20))
    else { return }
    #expect(page.entries.map(\.header.position) == [1, 2, 3, 4])
    #expect(page.entries.map(\.header.isLive) == [false, true, false, true])
    #expect(page.entries.map(\.blob) == [[], Array("2".utf8), [], Array("1".utf8)])
    var chain = RelayChain.start(mailbox: LogShelf.mailbox, generation: LogShelf.generation)
    for (place, entry) in page.entries.enumerated() {
      chain = RelayChain.next(chain, entry.header)
      #expect(
        try shelf.read(.find(chainAt: UInt64(place + 1)), nil)
          == .found(try shelf.found(), chain: chain))
    }
    #expect(page.chain == chain && page.head == 4)
    #expect(try shelf.read(.find(chainAt: 5), nil) == .found(try shelf.found(), chain: nil))
  }

  @Test("a replaceable blob gives way to a replaceable one", arguments: LogKind.allCases)
  func replacing(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    let first = try shelf.write(.put([put("c", "one", isReplaceable: true)]))
    #expect(outcomes(first) == [.init(.stored, position: 1)])
    #expect(outcomes(try shelf.write(.put([put("c", "two")]))) == [.init(.conflict, position: 1)])
    #expect(
      outcomes(try shelf.write(.put([put("c", "two", isReplaceable: true)])))
        == [.init(.stored, position: 2)])
    #expect(
      try shelf.read(.fetch([Array("c".utf8), Array("d".utf8)], byteLimit: 10))
        == .blobs([Array("two".utf8), nil]))
    let cost = 2 * RelayQuota.cost(ofName: [0])
    #expect(try shelf.found()?.usedBytes == cost + 3)
  }

  @Test(
    "a quota lets its last byte in and no more, and refuses a batch whole",
    arguments: LogKind.allCases)
  func quotas(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    let cost = RelayQuota.cost(ofName: [0])
    let quota = RelayQuota(bytes: cost + 4, entries: 2)
    #expect(try shelf.write(.put([put("a", "12345")]), quota: quota) == .refused(.quota))
    #expect(
      try shelf.write(.put([put("a", "1"), put("b", "2")]), quota: quota) == .refused(.quota))
    #expect(try shelf.found()?.head.position == 0)
    #expect(outcomes(try shelf.write(.put([put("a", "1234")]), quota: quota)) != nil)
    // What is there is still acknowledged, and a removal is let through.
    #expect(
      outcomes(try shelf.write(.put([put("a", "1234")]), quota: quota))
        == [.init(.present, position: 1)])
    guard case .removed = try shelf.write(.remove([[UInt8(ascii: "a")]]), quota: quota) else {
      Issue.record("the removal was refused")
      return
    }
    let wide = RelayQuota(bytes: 1 << 20, entries: 2)
    #expect(try shelf.write(.put([put("b", "")]), quota: wide) == .refused(.quota))
  }

  @Test(
    "only the current access key and managers work, and rotation compares",
    arguments: LogKind.allCases)
  func authority(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    let key = [UInt8](repeating: 9, count: 32)
    #expect(
      try shelf.write(.rotate(generation: 2, accessKey: key)) == .refused(.conflict))
    #expect(try shelf.write(.rotate(generation: 1, accessKey: key)) == .rotated(generation: 2))
    #expect(try shelf.found()?.accessKey == key)
    #expect(try shelf.write(.put([put("a", "1")])) == .refused(.accessChanged))
    #expect(try shelf.read(.head) == .refused(.accessChanged))
    #expect(try shelf.read(.head, .access(generation: 2)) == .head(0))
    #expect(try shelf.read(.head, .manager(key)) == .refused(.accessChanged))
    // One batch does one thing after the other.
    let batch = try shelf.log.write([
      LogShelf.write(.setRank(key, .manager), LogShelf.manager),
      LogShelf.write(.put([put("a", "1")]), .manager(key)),
      LogShelf.write(.setRank(LogShelf.managerKey, .struck), .manager(key)),
      LogShelf.write(.put([put("b", "1")]), LogShelf.manager),
      LogShelf.write(.setRank(key, .struck), .manager(key)),
    ])
    #expect(batch[0] == .done && batch[2] == .done && outcomes(batch[1]) != nil)
    #expect(batch[3] == .refused(.accessChanged) && batch[4] == .refused(.managers))
    for place in 1..<RelayLimits.maximumManagers {
      let other = [UInt8](repeating: UInt8(100 + place), count: 32)
      #expect(try shelf.write(.setRank(other, .manager), .manager(key)) == .done)
    }
    let last = [UInt8](repeating: 99, count: 32)
    #expect(try shelf.write(.setRank(last, .manager), .manager(key)) == .refused(.managers))
    #expect(try shelf.found()?.managers.count == RelayLimits.maximumManagers)
  }

  @Test("pages end at their limits, and hold one entry at least", arguments: LogKind.allCases)
  func pages(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    _ = try shelf.write(.put((0..<10).map { put("\($0)", "123456789") }))
    _ = try shelf.write(.remove([[UInt8(ascii: "3")]]))
    func page(_ after: UInt64, _ limit: Int, _ bytes: Int) throws -> [UInt64] {
      guard
        case .page(let page) = try shelf.read(
          .page(after: after, limit: limit, byteLimit: bytes))
      else { return [] }
      return page.entries.map(\.header.position)
    }
    #expect(try page(0, 400, 20) == [1, 2] && page(0, 400, 19) == [1] && page(0, 400, 1) == [1])
    #expect(try page(8, 400, 1 << 20) == [9, 10, 11] && page(11, 1, 1).isEmpty)
    #expect(try page(99, 1, 1).isEmpty && page(0, 3, 1 << 20) == [1, 2, 3])
    guard case .listing(let live) = try shelf.read(.list(after: 2, limit: 2, isLiveOnly: true)),
      case .listing(let rest) = try shelf.read(.list(after: 9, limit: 9, isLiveOnly: true))
    else { return }
    #expect(live.headers.map(\.position) == [3, 5] && live.through == 5 && live.head == 11)
    #expect(rest.headers.map(\.position) == [10] && rest.through == 11)
    let names = (0..<4).map { Array("\($0)".utf8) }
    guard case .blobs(let blobs) = try shelf.read(.fetch(names, byteLimit: 18)) else { return }
    #expect(blobs.count == 2)
  }

  @Test(
    "all logs say the same to ten thousand random requests", arguments: LogKind.durable)
  func agreement(_ kind: LogKind) throws {
    let memory = try LogShelf(.memory)
    let other = try LogShelf(kind)
    let seed: UInt64 = 0x5eed
    var random = SplitMix64(seed: seed)
    for round in 0..<400 {
      let batch = (0..<25).map { _ in LogContractTests.anyWrite(&random) }
      #expect(
        try memory.log.write(batch) == other.log.write(batch), "seed \(seed), round \(round)")
      let authority = LogContractTests.anyAuthority(&random)
      let after = UInt64(random.below(300))
      for question: RelayRead.Question in [
        .find(chainAt: after), .head,
        .list(after: after, limit: 1 + random.below(40), isLiveOnly: random.oneIn(2)),
        .page(after: after, limit: 1 + random.below(40), byteLimit: 1 + random.below(200)),
        .fetch((0..<4).map { _ in [UInt8(random.below(12))] }, byteLimit: 1 + random.below(60)),
      ] {
        #expect(
          try memory.read(question, authority) == other.read(question, authority),
          "seed \(seed), round \(round), \(question)")
      }
    }
    #expect(try (memory.found()?.head.position ?? 0) > 300)
  }

  private static func anyAuthority(_ random: inout SplitMix64) -> RelayAuthority {
    random.oneIn(3)
      ? .access(generation: UInt64(1 + random.below(3)))
      : random.oneIn(8) ? .manager([UInt8](repeating: 7, count: 32)) : LogShelf.manager
  }

  private static func anyWrite(_ random: inout SplitMix64) -> RelayWrite {
    let authority = anyAuthority(&random)
    let quota = RelayQuota(bytes: UInt64(40_000 + random.below(40_000)), entries: 1 << 40)
    let key = [UInt8](repeating: UInt8(random.below(4)), count: 32)
    switch random.below(40) {
    case 0: return LogShelf.write(LogShelf.creation, nil)
    case 1: return LogShelf.write(.rotate(generation: 1, accessKey: key), authority)
    case 2: return LogShelf.write(.setRank(key, .manager), authority)
    case 3 where random.oneIn(4):
      return LogShelf.write(.setRank(key, .struck), .manager([UInt8](repeating: 7, count: 32)))
    case 4...12:
      let names = (0..<random.below(4)).map { _ in [UInt8(random.below(12))] }
      return LogShelf.write(.remove(names), authority, quota: quota)
    default:
      let items = (0..<1 + random.below(4)).map { _ in
        RelayPut(
          name: [UInt8(random.below(12))], isReplaceable: random.oneIn(2),
          blob: [UInt8](repeating: UInt8(random.below(3)), count: random.below(40)))
      }
      return LogShelf.write(.put(items), authority, quota: quota)
    }
  }

  @Test("what was acknowledged is there after the file is opened again")
  func reopening() throws {
    let shelf = try LogShelf(.sqlite)
    _ = try shelf.write(LogShelf.creation, nil)
    _ = try shelf.write(.put([put("a", "1"), put("b", "2")]))
    _ = try shelf.write(.remove([[UInt8(ascii: "a")]]))
    // Opened beside the first, which is not closed, as after the end of a process.
    let again = try SQLiteRelayLog(folder: shelf.folder.path)
    for question: RelayRead.Question in [
      .find(chainAt: 2), .page(after: 0, limit: 9, byteLimit: 99),
    ] {
      let read = RelayRead(
        mailbox: LogShelf.mailbox, authority: LogShelf.access, question: question)
      #expect(try again.read(read) == shelf.log.read(read))
    }
  }

  @Test("SQLite syncs each commit, and refuses a newer or foreign file")
  func durability() throws {
    let folder = try TestFolder()
    do {
      let log = try SQLiteRelayLog(folder: folder.path)
      let settings = try log.administer { database throws(RelayError) in
        [
          try database.text("PRAGMA journal_mode"), try database.text("PRAGMA synchronous"),
          try database.text("PRAGMA user_version"), try database.text("PRAGMA auto_vacuum"),
        ]
      }
      #expect(settings == ["wal", "3", "\(RelayMigrations.steps.count)", "2"])
    }
    let path = "\(folder.path)/\(SQLiteRelayLog.fileName)"
    try RelayDatabase(path: path).execute("PRAGMA user_version = 99")
    #expect(throws: RelayError(.newer, "")) { try SQLiteRelayLog(folder: folder.path) }
    let foreign = try RelayDatabase(path: path)
    try foreign.execute("PRAGMA user_version = 1")
    try foreign.execute("PRAGMA application_id = 7")
    #expect(throws: RelayError(.corrupt, "")) { try SQLiteRelayLog(folder: folder.path) }
    #expect(throws: RelayError(.inputOutput, "")) { try SQLiteRelayLog(folder: "/none/there") }
  }
}

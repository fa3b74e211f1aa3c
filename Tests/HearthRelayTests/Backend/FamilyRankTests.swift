import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// What a key is worth in mailboxes that belong to another, and whose entries are told, in every
/// log alike.
@Suite("Ranks in what belongs to a mailbox, in relay logs")
struct FamilyRankTests {
  private let guest = [UInt8](repeating: 3, count: 32)
  private let second = [UInt8](repeating: 4, count: 32)

  private func name(_ number: UInt64) -> Identifier { Identifier(high: 0x78, low: number) }

  private func shelf(_ kind: LogKind) throws -> LogShelf {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    return shelf
  }

  private func make(
    _ number: UInt64, _ child: RelayParent.Child, by maker: [UInt8], day: UInt32 = 20_000
  ) -> RelayWrite {
    RelayWrite(
      mailbox: name(number), authority: nil,
      action: .create(
        kind: .sealed, generation: LogShelf.generation, accessKey: LogShelf.accessKey,
        managerKey: maker, right: .listed,
        adoption: RelayAdoption(
          RelayParent(LogShelf.mailbox, child), by: LogShelf.access, author: maker)),
      quota: RelayQuota(), day: day)
  }

  private func find(_ shelf: LogShelf, _ name: Identifier) throws -> RelayMailbox? {
    let question = RelayRead(mailbox: name, authority: nil, question: .find(chainAt: nil))
    if case .found(let mailbox, _) = try shelf.log.read(question) { return mailbox }
    return nil
  }

  private func isMade(_ written: RelayWritten?) -> Bool {
    if case .created? = written { true } else { false }
  }

  private func stores(_ written: RelayWritten?) -> Bool {
    if case .stored? = written { true } else { false }
  }

  @Test(
    "nobody passes its places off as a manager's, and managers always find one",
    arguments: LogKind.allCases, [RelayParent.Child.place, .words])
  func falseColours(_ kind: LogKind, _ child: RelayParent.Child) throws {
    let shelf = try shelf(kind)
    let half = UInt64(RelayRegistrar.most(of: child)) / 2
    for number in 1...half {
      let put = RelayWrite.Action.put([RelayPut(name: [1], blob: [1])])
      let results = try shelf.log.write([
        make(number, child, by: guest),
        LogShelf.write(put, author: guest, mailbox: name(number)),
        LogShelf.write(
          .setRank(LogShelf.managerKey, .manager), author: guest, mailbox: name(number)),
        LogShelf.write(
          .setRank(LogShelf.managerKey, .manager), .manager(guest), mailbox: name(number)),
      ])
      #expect(isMade(results[0]) && stores(results[1]))
      #expect(results[2] == .refused(.notManager))
      guard case .refused = results[3] else {
        Issue.record("it manages what it made: \(results[3])")
        return
      }
    }
    // So they count for what they are, and half is for managers.
    #expect(
      try shelf.log.write([make(half + 1, child, by: guest)])[0] == .refused(.children))
    for number in half + 1...2 * half {
      #expect(isMade(try shelf.log.write([make(number, child, by: LogShelf.managerKey)]).first))
    }
    #expect(isMade(try shelf.log.write([make(999, child, by: LogShelf.managerKey)]).first))
    #expect(try find(shelf, name(1)) == nil && find(shelf, name(half + 1)) != nil)
    if let log = shelf.log as? any RelayOperatorLog { #expect(try log.verify() == []) }
  }

  @Test(
    "a manager lists nobody in what belongs to a mailbox either: its list is the parent's",
    arguments: LogKind.allCases)
  func noList(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    _ = try shelf.log.write([make(1, .place, by: LogShelf.managerKey)])
    let listing = LogShelf.write(.setRank(guest, .author), LogShelf.manager, mailbox: name(1))
    #expect(try shelf.log.write([listing])[0] == .refused(.notManager))
    #expect(try find(shelf, name(1))?.rank(of: LogShelf.managerKey) == .manager)
  }

  @Test(
    "whoever is struck off manages nothing any more that it made, handoffs among it",
    arguments: LogKind.allCases)
  func struckMaker(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    #expect(try shelf.write(.setRank(second, .manager)) == .done)
    let children: [RelayParent.Child] = [.handoff, .place]
    for (number, child) in zip(UInt64(1)..., children) {
      guard case .created(let made) = try shelf.log.write([make(number, child, by: second)])[0]
      else {
        Issue.record("a manager makes no \(child)")
        return
      }
      #expect(made.rank(of: second) == .manager)
      let rotate = RelayWrite.Action.rotate(generation: 1, accessKey: guest)
      let rotated = try shelf.log.write([
        LogShelf.write(rotate, .manager(second), mailbox: name(number))
      ])
      #expect(rotated == [.rotated(generation: 2)])
    }
    #expect(try shelf.write(.setRank(second, .struck)) == .done)
    for (number, child) in zip(UInt64(1)..., children) {
      let actions: [RelayWrite.Action] = [
        .rotate(generation: 2, accessKey: second), .reset(generation: .zero),
        .setRank(guest, .manager), .put([RelayPut(name: [9], blob: [9])]),
      ]
      let results = try shelf.log.write(
        actions.map { LogShelf.write($0, .manager(second), mailbox: name(number)) })
      #expect(results.allSatisfy { $0 == .refused(.accessChanged) }, "\(child): \(results)")
      // With the access key it is a guest, who may not fill a handoff.
      let put = LogShelf.write(
        actions[3], .access(generation: 2), author: second, mailbox: name(number))
      let isStored = stores(try shelf.log.write([put]).first)
      #expect(isStored == (child == .place))
      // The manager who is left puts right what it left.
      let rotate = RelayWrite.Action.rotate(generation: 2, accessKey: LogShelf.accessKey)
      let rotated = try shelf.log.write([
        LogShelf.write(rotate, LogShelf.manager, mailbox: name(number))
      ])
      #expect(rotated == [.rotated(generation: 3)])
    }
  }

  // MARK: Whose entries are told

  private func list(
    _ shelf: LogShelf, of author: [UInt8]?, after: UInt64 = 0, limit: Int = 100
  ) throws -> RelayListing {
    let answer = try shelf.read(
      .list(after: after, limit: limit, isLiveOnly: author != nil, author: author))
    guard case .listing(let page) = answer else { throw RelayError(.corrupt, "\(answer)") }
    return page
  }

  @Test(
    "what a forgotten seat stored is told as the guests', whose share it counts to",
    arguments: LogKind.allCases)
  func forgotten(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    _ = try shelf.write(.setRank(guest, .author))
    _ = try shelf.write(.put([RelayPut(name: [1], blob: [1])]), author: guest)
    _ = try shelf.write(.put([RelayPut(name: [2], blob: [1])]), author: [])
    _ = try shelf.write(.put([RelayPut(name: [3], blob: [1])]))
    #expect(try list(shelf, of: []).headers.map(\.name) == [[2]])
    _ = try shelf.write(.setRank(guest, .struck))
    // The seats that are remembered are so many that the first one struck off is forgotten.
    var writes: [RelayWrite] = []
    for number in 0..<RelayLimits.maximumSeats {
      let key = [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 7, count: 30)
      writes += [.author, .struck].map { LogShelf.write(.setRank(key, $0)) }
    }
    _ = try shelf.log.write(writes)
    #expect(try #require(try shelf.found()).roster.rank(of: guest) == .guest)
    #expect(try list(shelf, of: []).headers.map(\.name) == [[1], [2]])
    #expect(try list(shelf, of: guest).headers.map(\.name) == [[1], [2]])
    #expect(try list(shelf, of: LogShelf.managerKey).headers.map(\.name) == [[3]])
    let all = try list(shelf, of: nil)
    #expect(all.headers.count == 3 && all.through == 3)
  }

  @Test(
    "one question about an author looks at so many entries, and the next one goes on",
    arguments: LogKind.allCases)
  func looks(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let most = RelayLogLook.maximumEntries
    func put(_ range: Range<UInt64>, _ author: [UInt8]) throws {
      let items = range.map { RelayPut(name: [UInt8($0 >> 8), UInt8($0 & 255)], blob: []) }
      #expect(stores(try shelf.write(.put(items), author: author)))
    }
    for start in stride(from: UInt64(0), to: most, by: 2_048) {
      try put(start..<start + 2_048, LogShelf.managerKey)
    }
    // As many as may be: the whole log in one look.
    var page = try list(shelf, of: [])
    #expect(page.headers.isEmpty && page.through == most && page.head == most)
    try put(most..<most + 1, [])
    page = try list(shelf, of: [])
    #expect(page.headers.isEmpty && page.through == most && page.head == most + 1)
    let whole = try list(shelf, of: nil, limit: Int(most))
    #expect(whole.through == most && page.chain == whole.chain)
    page = try list(shelf, of: [], after: page.through)
    #expect(page.headers.map(\.position) == [most + 1] && page.through == most + 1)
    #expect(page.chain == (try #require(try shelf.found())).chain)
    // A full page ends where its last entry is.
    page = try list(shelf, of: LogShelf.managerKey, limit: 5)
    #expect(page.headers.count == 5 && page.through == 5)
  }
}

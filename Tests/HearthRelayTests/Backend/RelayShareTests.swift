import HearthCRDT
import HearthCrypto
import HearthSync
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayProtocol

/// Who may hold how much of a mailbox and take away what, in every log alike.
@Suite("Shares of a mailbox")
struct RelayShareTests {
  private static let limit: UInt64 = 80_000
  private let quota = RelayQuota(bytes: limit, entries: 80)
  private let member = [UInt8](repeating: 3, count: 32)
  private let other = [UInt8](repeating: 4, count: 32)
  private let nobody: [UInt8] = []

  private func shelf(_ kind: LogKind) throws -> LogShelf {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    for key in [member, other] { #expect(try shelf.write(.setRank(key, .author)) == .done) }
    return shelf
  }

  /// An item whose row and blob count so many bytes.
  private func item(_ number: UInt8, costing bytes: UInt64) -> RelayPut {
    let name = [number]
    let blob = Int(bytes - RelayQuota.cost(ofName: name))
    return RelayPut(name: name, blob: [UInt8](repeating: number, count: blob))
  }

  private func put(
    _ shelf: LogShelf, _ author: [UInt8], _ number: UInt8, _ bytes: UInt64
  ) throws -> RelayRefusal? {
    let written = try shelf.write(
      .put([item(number, costing: bytes)]), author: author, quota: quota)
    if case .refused(let refusal) = written { return refusal }
    return nil
  }

  @Test(
    "an author holds a quarter and not a byte more, and others still have room",
    arguments: LogKind.allCases)
  func author(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let share = Self.limit / RelayLimits.authorsShare
    #expect(try put(shelf, member, 1, share + 1) == .share)
    #expect(try put(shelf, member, 1, share) == nil)
    #expect(try put(shelf, member, 2, 97) == .share)
    #expect(try put(shelf, other, 2, share) == nil)
    // Nor does anybody get round it by keys that nobody has listed.
    let guests = Self.limit / RelayLimits.guestsShare
    #expect(try put(shelf, nobody, 3, guests / 2) == nil)
    #expect(try put(shelf, [UInt8](repeating: 9, count: 32), 4, guests / 2 + 1) == .share)
    #expect(try put(shelf, [UInt8](repeating: 8, count: 32), 4, guests / 2) == nil)
    // What is left is for managers; one alone has all of it, one of two leaves room.
    #expect(try put(shelf, LogShelf.managerKey, 5, Self.limit - 2 * share - guests) == nil)
    #expect(try put(shelf, LogShelf.managerKey, 6, 97) == .quota)
    let report = try shelf.read(.roster)
    guard case .roster(let roster) = report else {
      Issue.record("\(report)")
      return
    }
    #expect(roster.seats.first { $0.key == member }?.usedBytes == share)
    #expect(roster.guests.usedBytes == guests && roster.guests.entries == 2)
    if let log = shelf.log as? any RelayOperatorLog { #expect(try log.verify() == []) }
  }

  @Test("one of several managers leaves a quarter to the others", arguments: LogKind.allCases)
  func managers(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    #expect(try shelf.write(.setRank(other, .manager)) == .done)
    let most = Self.limit - Self.limit / RelayLimits.managersReserve
    #expect(try put(shelf, other, 1, most + 1) == .share)
    #expect(try put(shelf, other, 1, most) == nil)
    #expect(try put(shelf, LogShelf.managerKey, 2, Self.limit - most) == nil)
  }

  @Test("entries are shared as bytes are", arguments: LogKind.allCases)
  func entries(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    for number in UInt8(0)..<20 { #expect(try put(shelf, member, number, 97) == nil) }
    #expect(try put(shelf, member, 20, 97) == .share)
    #expect(try put(shelf, other, 20, 97) == nil)
  }

  @Test("only managers take away what others stored", arguments: LogKind.allCases)
  func removals(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    #expect(try put(shelf, member, 1, 200) == nil)
    #expect(try put(shelf, other, 2, 200) == nil)
    #expect(try put(shelf, nobody, 3, 200) == nil)
    func remove(_ author: [UInt8]) throws -> [UInt64] {
      let written = try shelf.write(.remove([[1], [2], [3]]), author: author)
      guard case .removed(let positions, _, _) = written else { return [] }
      return positions.map { $0 > 0 ? 1 : 0 }
    }
    #expect(try remove(nobody) == [0, 0, 0])
    #expect(try remove(member) == [1, 0, 0])
    guard
      case .listing(let page) = try shelf.read(
        .list(after: 0, limit: 9, isLiveOnly: true, author: other))
    else { return }
    #expect(page.headers.map(\.name) == [[2]])
    #expect(try remove(LogShelf.managerKey) == [0, 1, 1])
    #expect(
      try shelf.write(.rotate(generation: 1, accessKey: member), author: member)
        == .refused(.notManager))
    #expect(try shelf.write(.setRank(member, .manager), author: member) == .refused(.notManager))
    #expect(
      try shelf.write(.reset(generation: .zero), author: member) == .refused(.notManager))
  }

  @Test(
    "what may be replaced anybody with the key replaces until somebody is listed, then managers do",
    arguments: LogKind.allCases)
  func replacing(_ kind: LogKind) throws {
    let shelf = try LogShelf(kind)
    _ = try shelf.write(LogShelf.creation, nil)
    func lay(_ byte: UInt8, _ author: [UInt8]) throws -> [RelayStored.Outcome] {
      let item = RelayPut(name: [1], isReplaceable: true, blob: [byte])
      guard case .stored(let stored, _, _) = try shelf.write(.put([item]), author: author) else {
        return []
      }
      return stored.map(\.outcome)
    }
    #expect(try lay(1, LogShelf.managerKey) == [.stored])
    // Made while nothing was there to which it could belong, as for recovery words.
    #expect(try lay(2, nobody) == [.stored])
    #expect(try put(shelf, LogShelf.managerKey, 2, 200) == nil)
    guard case .removed(let positions, _, _) = try shelf.write(.remove([[2]]), author: nobody)
    else {
      Issue.record("a guest's removal is refused whole")
      return
    }
    #expect(positions == [0])
    #expect(try shelf.write(.setRank(member, .author)) == .done)
    #expect(try lay(3, nobody) == [.conflict] && lay(3, member) == [.conflict])
    #expect(try lay(3, LogShelf.managerKey) == [.stored])
  }

  @Test(
    "a log that begins anew holds nothing, keeps its list and has all its room",
    arguments: LogKind.allCases)
  func reset(_ kind: LogKind) throws {
    let shelf = try shelf(kind)
    let share = Self.limit / RelayLimits.authorsShare
    #expect(try put(shelf, member, 1, share) == nil)
    let generation = Identifier(high: 9, low: 9)
    let cursor = RelayCursor(generation: generation, position: 0)
    #expect(try shelf.write(.reset(generation: generation)) == .reset(cursor))
    let found = try #require(try shelf.found())
    #expect(found.head == cursor && found.usedBytes == 0)
    #expect(found.roster.rank(of: member) == .author && found.roster.report.seats.count == 3)
    #expect(try put(shelf, member, 1, share) == nil)
    #expect(try put(shelf, member, 2, 97) == .share)
    if let log = shelf.log as? any RelayOperatorLog { #expect(try log.verify() == []) }
  }

  @Test("a list takes so many authors and not one more, and remembers so many keys")
  func bounds() throws {
    func key(_ number: Int) -> [UInt8] {
      [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 7, count: 30)
    }
    var roster = RelayRoster(managers: [LogShelf.managerKey])
    for number in 0..<RelayLimits.maximumAuthors {
      let isListed = roster.set(key(number), to: .author)
      #expect(isListed)
    }
    var isListed = roster.set(key(9_000), to: .author)
    #expect(!isListed)
    // Whoever is struck off makes room, and the oldest of those is forgotten in the end.
    for number in 0..<RelayLimits.maximumSeats {
      isListed = roster.set(key(number), to: .struck)
      #expect(isListed)
      isListed = roster.set(key(number + RelayLimits.maximumAuthors), to: .author)
      #expect(isListed)
    }
    #expect(roster.seats.count == RelayLimits.maximumSeats)
    #expect(roster.rank(of: key(0)) == .guest)
    #expect(roster.encoded.count <= RelayRoster.maximumBytes)
    #expect(try RelayRoster(decoding: roster.encoded) == roster)
    for cut in [0, 1, 40, roster.encoded.count - 1] {
      #expect(throws: CodecError.self) {
        try RelayRoster(decoding: Array(roster.encoded.prefix(cut)))
      }
    }
    isListed = roster.set(LogShelf.managerKey, to: .author)
    #expect(!isListed, "the last manager went")
  }

  @Test("a full list takes no manager down to an author, and one more is struck off all the same")
  func demotion() throws {
    func key(_ number: Int) -> [UInt8] {
      [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 7, count: 30)
    }
    let other = [UInt8](repeating: 9, count: 32)
    var roster = RelayRoster(managers: [LogShelf.managerKey])
    var isSet = roster.set(other, to: .manager)
    for number in 0..<RelayLimits.maximumAuthors {
      let isListed = roster.set(key(number), to: .author)
      isSet = isSet && isListed
    }
    #expect(isSet)
    isSet = roster.set(other, to: .author)
    #expect(!isSet && roster.rank(of: other) == .manager)
    isSet = roster.set(key(0), to: .struck)
    #expect(isSet)
    isSet = roster.set(other, to: .author)
    #expect(isSet && roster.rank(of: other) == .author)
    isSet = roster.set(key(1), to: .manager)
    #expect(isSet)
    isSet = roster.set(key(0), to: .author)
    #expect(isSet)
    isSet = roster.set(key(1), to: .author)
    #expect(!isSet)
    isSet = roster.set(key(1), to: .struck)
    #expect(isSet && roster.rank(of: key(1)) == .struck)
  }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Heartbeats without news are no operations of the control log")
struct DeviceReportsTests {
  private let anna = 0
  private let ben = 1
  private let cleo = 2
  private let now = EngineFamily.now

  /// Three people who have everything of each other.
  private func family() throws -> EngineFamily {
    var family = try EngineFamily(3)
    try family.meet([0, 1, 2])
    return family
  }

  private func beat(_ member: Int, _ family: inout EngineFamily, at later: UInt64 = 0) throws {
    try MemberChanges.heartbeat(
      in: family.group, by: &family.members[member], nowMilliseconds: now + later)
  }

  private func reports(_ seen: Int, _ family: EngineFamily) throws -> DeviceReports {
    try DeviceReports.stored(of: family.control, in: family.members[seen].store)
  }

  /// What a member knows of another one's last report about the records.
  private func reported(
    of member: Int, to seen: Int, _ family: EngineFamily
  ) throws -> Frontier? {
    try reports(seen, family).frontiers(
      of: family.members[member].device, in: family.membership(seen)
    ).first { $0.zone == family.zone }?.frontier
  }

  private func count(_ seen: Int, _ family: EngineFamily) -> Int {
    family.membership(seen).items.count
  }

  @Test("Only the last report of a device is kept, here and on every replica")
  func keepsTheLast() throws {
    var family = try family()
    // The first one shows what Ben had seen of the others' operations.
    try beat(ben, &family)
    let before = count(ben, family)
    for round in 1...5 {
      try family.set(anna, round, Int64(round))
      try family.send(anna, to: [ben])
      try beat(ben, &family, at: UInt64(round))
    }
    #expect(count(ben, family) == before)
    let reached = try family.members[ben].zone(family.zone).frontier
    #expect(try reported(of: ben, to: ben, family) == reached)
    let sequence = try family.members[ben].controlZone(of: family.group)
      .head(of: family.members[ben].author).sequence
    try family.meet([anna, ben, cleo])
    for member in [anna, cleo] {
      #expect(count(member, family) == before)
      #expect(try reported(of: ben, to: member, family) == reached)
      #expect(try reports(member, family) == (try reports(ben, family)))
      #expect(
        try family.members[member].controlZone(of: family.group)
          .head(of: family.members[ben].author).sequence == sequence)
    }
    #expect(try family.areEqual([anna, ben, cleo]))
  }

  @Test("The order of arrival does not matter, nor do a rebuild and a start")
  func doesNotDependOnArrival() throws {
    var family = try family()
    try beat(ben, &family)
    var blobs = try family.published(ben, family.control)
    for round in 1...3 {
      try beat(ben, &family, at: UInt64(round))
      // Each report has a segment of its own.
      blobs = try family.published(ben, family.control)
    }
    for order in [blobs, blobs.reversed()] {
      var reader = try EngineFamily.copied(family.members[anna])
      for blob in order {
        _ = try reader.receive([blob], in: family.control, nowMilliseconds: now)
      }
      let membership = reader.membership(of: family.group)
      #expect(membership.items.count == count(ben, family))
      let stored = try DeviceReports.stored(of: family.control, in: reader.store)
      #expect(stored == (try reports(ben, family)))
      try Rebuild.rebuild(family.control, in: &reader, nowMilliseconds: now)
      #expect(reader.membership(of: family.group).items.count == membership.items.count)
      #expect(try DeviceReports.stored(of: family.control, in: reader.store) == stored)
      let reopened = try EngineFamily.reopened(reader)
      #expect(reopened.membership(of: family.group).items.count == membership.items.count)
      #expect(try ZoneAudit(engine: reader).audit(family.control).findings.isEmpty)
    }
  }

  @Test("A heartbeat with news shows what its author had seen, and stays an operation")
  func keepsNews() throws {
    var family = try family()
    try beat(ben, &family)
    try family.setRole(cleo, .child, by: anna)
    try family.send(anna, to: [ben])
    let before = count(ben, family)
    try beat(ben, &family, at: 1)
    #expect(count(ben, family) == before + 1)
  }

  @Test("Only a heartbeat alone and without news is no operation, and a long one is ignored")
  func keepsOthers() throws {
    let author = runAuthor(1)
    func change(
      _ operations: [ControlOperation], sequence: UInt64 = 2, seen: FrontierDifference = .none,
      fields: [EventField] = []
    ) -> Change {
      Change(
        dot: Dot(author: author, sequence: sequence), previousHash: [], seen: seen,
        time: HybridTime(rawValue: 7),
        operations: operations.map {
          Operation(
            RecordKey(type: ControlOperation.type, id: .zero),
            .event([EventField(ControlOperation.bodyField, .bytes($0.encoded))] + fields))
        })
    }
    func report(_ authors: Int) -> ControlOperation {
      let frontier = Frontier(
        (0..<authors).map {
          (Author(device: Identifier(high: 1, low: UInt64($0)), incarnation: 1 << 32), UInt64(1))
        })
      return .heartbeat([ControlOperation.ZoneFrontier(zone: .zero, frontier: frontier)])
    }
    let head = CitedHead(author: runAuthor(2), sequence: 1, hash: 0)
    let more = EventField(ControlOperation.citationField, .bytes([]))
    #expect(DeviceReports.heartbeat(in: change([report(3)])) != nil)
    #expect(DeviceReports.heartbeat(in: change([.heartbeat([])])) == [22, 0])
    for other in [
      change([report(3)], sequence: 1), change([report(3), report(3)]), change([]),
      change([report(3)], seen: FrontierDifference(heads: [head])), change([.confirm([])]),
      change([report(3)], fields: [more]), change([.unknown(kind: 99)]),
    ] {
      #expect(DeviceReports.heartbeat(in: other) == nil)
    }
    // One that names a thousand authors is neither an operation nor kept.
    var kept = DeviceReports()
    let long = try #require(DeviceReports.heartbeat(in: change([report(1_000)])))
    kept.note(
      long, by: Version(dot: Dot(author: author, sequence: 2), time: HybridTime(rawValue: 7)))
    #expect(kept.isEmpty)
  }

  @Test("Reports of a device that does not belong to the group do not count")
  func forgetsTheRemoved() throws {
    var family = try family()
    for round in 0..<3 { try beat(ben, &family, at: UInt64(round)) }
    try family.meet([anna, ben])
    #expect(try reported(of: ben, to: anna, family) != nil)
    try family.remove(ben, by: anna)
    #expect(try reported(of: ben, to: anna, family) == nil)
  }

  @Test("Stored reports are read as they were written, and damaged ones are none")
  func survivesDamage() throws {
    var family = try family()
    for member in [anna, ben] {
      for round in 0..<2 { try beat(member, &family, at: UInt64(round)) }
    }
    try family.meet([anna, ben])
    let all = try reports(anna, family)
    #expect(all == (try reports(ben, family)))
    #expect(try reported(of: ben, to: anna, family) == (try reported(of: ben, to: ben, family)))
    let store = family.members[anna].store
    let bytes = Fact<[UInt8]>(bytes: "reports.\(family.control.hex)").asCache
    var damaged = try #require(try store.facts.value(of: bytes))
    damaged.removeLast()
    try store.transaction { try store.facts.set(bytes, to: damaged) }
    #expect(throws: (any Error).self) {
      try DeviceReports.stored(of: family.control, in: store)
    }
  }
}

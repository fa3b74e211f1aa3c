import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("A zone whose log is damaged")
struct DamagedLogTests {
  private let now = EngineFamily.now
  private let anna = 0
  private let ben = 1
  private let cleo = 2

  @Test("It keeps its records, the members' news arrives, and the next start judges anew")
  func news() throws {
    var family = try EngineFamily(3)
    let (zone, control) = (family.zone, family.control)
    try family.set(anna, 1, 1)
    try family.set(ben, 2, 2)
    try family.settle()
    // Ben's last change reaches Cleo alone, before Anna removes him.
    try family.set(ben, 2, 22)
    let late = try family.published(ben, zone)
    _ = try family.members[cleo].receive(late, in: zone, nowMilliseconds: now)
    try family.remove(ben, by: anna)
    let store = family.members[cleo].store
    let lost = try #require(
      try store.log.segments(of: zone).first { $0.author == family.members[anna].author })
    let bytes = try #require(try store.log.bytes(of: lost.digest, in: zone))
    try store.transaction { try store.log.removeSegment(lost.digest, in: zone) }

    let news = try family.published(anna, control)
    _ = try family.members[cleo].receive(news, in: control, nowMilliseconds: now)
    #expect(!family.membership(cleo).isActive(family.members[ben].device))
    let told = store.notices.all().filter { $0.kind == .damage }
    #expect(told.count == 1 && told.allSatisfy { $0.text.contains("hearth verify") })
    #expect(try family.shown(cleo, 2) == .int(22))

    try store.transaction { try store.log.save(lost, bytes: bytes, in: zone) }
    try MembershipRules.followMembershipRules(in: &family.members[cleo], nowMilliseconds: now)
    #expect(try family.shown(cleo, 2) == .int(2))
    _ = try family.members[anna].receive(late, in: zone, nowMilliseconds: now)
    #expect(try family.members[anna].digest(of: zone) == family.members[cleo].digest(of: zone))
  }

  @Test(
    "Records that name changes of no log are told, and the log gives them back",
    arguments: [false, true])
  func foreignRecord(isOfNobody: Bool) throws {
    var family = try EngineFamily(2)
    let zone = family.zone
    try family.set(anna, 1, 1)
    try family.settle()
    let good = try family.members[ben].digest(of: zone)
    let key = RecordKey(type: .record(7), id: EngineFamily.id(1))
    let store = family.members[ben].store
    var state = try #require(try store.records.states(of: [key], in: zone)[0])
    let author =
      isOfNobody
      ? Author(device: EngineFamily.id(999), incarnation: 1) : family.members[anna].author
    let past = try family.members[ben].zone(zone).frontier
    state.apply(
      .assign(EngineFamily.register, .int(666)),
      version: Version(
        dot: Dot(author: author, sequence: past[author] + 5), time: HybridTime(rawValue: 1 << 50)),
      past: past)
    let changed = state
    try store.transaction {
      try store.records.save(
        [RecordChange(key: key, state: changed, isNew: false)], in: zone)
    }
    #expect {
      _ = try family.members[ben].digest(of: zone)
    } throws: {
      ($0 as? SyncError)?.code == .corrupt
    }
    try Rebuild.rebuild(zone, in: &family.members[ben], nowMilliseconds: now)
    #expect(try family.members[ben].digest(of: zone) == good)
  }
}

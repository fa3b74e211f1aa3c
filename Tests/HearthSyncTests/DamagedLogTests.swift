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
}

import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@Suite struct ArrivalTests {
  private let now = EngineFamily.now

  @Test("A newcomer takes in one go what people wrote in later lives, each seen by the next joiner")
  func livesAndJoins() throws {
    var family = try EngineFamily(1)
    for number in 1...4 {
      try family.join(number)
      try NewIncarnation.begin(
        reason: "a test", in: &family.members[number], nowMilliseconds: now)
      let blobs = try family.published(number, family.control)
      _ = try family.members[0].receive(blobs, in: family.control, nowMilliseconds: now)
    }
    let all = try family.published(0, family.control)
    var late = try EngineFamily.engine()
    _ = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &late, nowMilliseconds: now)
    let report = try late.receive(all, in: family.control, nowMilliseconds: now)
    #expect(report.waiting.isEmpty)
    #expect(
      try late.zone(family.control).frontier == family.members[0].zone(family.control).frontier)
    #expect(late.membership(of: family.group).devices.count == 5)
    #expect(report.applied == Int(try late.zone(family.control).heads.map(\.sequence).reduce(0, +)))
  }
}

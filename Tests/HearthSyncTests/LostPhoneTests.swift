import HearthCRDT
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("What was written on a phone that is gone")
struct LostPhoneTests {
  /// What is done to somebody whose second device was revoked before.
  enum Deed: CaseIterable {
    case reader, removed, left
  }

  @Test("goes on counting when its person is demoted, removed or leaves", arguments: Deed.allCases)
  func counts(_ deed: Deed) throws {
    var family = try EngineFamily(3)
    let second = try family.join(by: 2, role: .member, person: try family.person(2))
    let everybody = [0, 1, 2, second]
    try family.meet(everybody)
    try family.set(second, 1, 7)
    try family.meet(everybody)
    try family.members[2].revoke(
      family.members[second].device, from: family.group, nowMilliseconds: now)
    try family.meet([0, 1, 2])
    switch deed {
    case .reader: try family.setRole(2, .reader, by: 0)
    case .removed: try family.remove(2, by: 0)
    case .left: try family.members[2].leave(family.group, nowMilliseconds: now)
    }
    try family.meet([0, 1, 2])
    for member in [0, 1] {
      #expect(try family.shown(member, 1) == .int(7), "member \(member)")
    }
    #expect(try family.members[0].quarantined(in: family.group).isEmpty)
    #expect(try family.areEqual([0, 1]))
    // Built anew from the log it is the same.
    try family.members[1].rebuild(family.zone, nowMilliseconds: now)
    #expect(try family.shown(1, 1) == .int(7))
  }
}

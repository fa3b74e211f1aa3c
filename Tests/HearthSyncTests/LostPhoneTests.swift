import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
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
    try MemberChanges.revoke(
      family.members[second].device, from: family.group, in: &family.members[2],
      nowMilliseconds: now)
    try family.meet([0, 1, 2])
    switch deed {
    case .reader: try family.setRole(2, .reader, by: 0)
    case .removed: try family.remove(2, by: 0)
    case .left: try MemberChanges.leave(family.group, in: &family.members[2], nowMilliseconds: now)
    }
    try family.meet([0, 1, 2])
    for member in [0, 1] {
      #expect(try family.shown(member, 1) == .int(7), "member \(member)")
    }
    #expect(try VoidChanges(engine: family.members[0]).quarantined(in: family.group).isEmpty)
    #expect(try family.areEqual([0, 1]))
    // Built anew from the log it is the same.
    try Rebuild.rebuild(family.zone, in: &family.members[1], nowMilliseconds: now)
    #expect(try family.shown(1, 1) == .int(7))
  }

  @Test(
    "counts as far as the larger of two cuts reaches, whichever was known first",
    arguments: [false, true])
  func largerCut(isLargerFirst: Bool) throws {
    var family = try EngineFamily(2)
    let ben = try family.join(by: 0, role: .admin)
    try family.meet([0, 1, ben])
    try family.set(1, 1, 7)
    try family.send(1, to: [0])
    try family.remove(1, by: 0)
    try family.remove(1, by: ben)
    if isLargerFirst {
      try family.send(0, to: [ben])
    } else {
      // The change itself comes before anything that says that it counts.
      let blobs = try family.published(0, family.zone)
      _ = try family.members[ben].receive(blobs, in: family.zone, nowMilliseconds: now)
      #expect(try family.shown(ben, 1) == nil)
    }
    try family.meet([0, ben])
    for member in [0, ben] { #expect(try family.shown(member, 1) == .int(7)) }
    #expect(try family.areEqual([0, ben]))
  }
}

@Suite("Keys among the devices of a reader")
struct ReaderKeyTests {
  @Test("A reader hands a key to its further devices, and to nobody else whom others can give it")
  func own() throws {
    var family = try EngineFamily(3)
    let reader = try family.join(by: 0, role: .reader)
    let person = try family.person(reader)
    let capsule = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .reader, person: person, maximumUses: 1,
      expiresMilliseconds: EngineFamily.now * 2, in: &family.members[reader], nowMilliseconds: now)
    try family.meet([0, 1, 2, reader])
    // The keys change after the link was made, and nobody else is there when it is used.
    try family.remove(2, by: 0)
    try family.set(0, 1, 1)
    try family.meet([0, 1, reader])
    let tablet = try family.arrive(
      by: capsule.capsule, with: capsule.secret, meeting: reader, as: person)
    for _ in 0..<2 {
      for member in [reader, tablet] {
        try Maintenance.maintain(in: &family.members[member], nowMilliseconds: now)
      }
      try family.meet([reader, tablet])
    }
    #expect(try family.shown(tablet, 1) == .int(1))
    let membership = family.members[reader].membership(of: family.group)
    let resolver = membership.resolver
    let recipients = resolver.findings.index[.wrapAdd].flatMap { place -> [DeviceID] in
      guard case .wrapAdd(_, _, let wraps) = resolver.findings.log.items[place].operation else {
        return []
      }
      return wraps.map(\.recipient)
    }
    #expect(Set(recipients) == [family.members[tablet].device])
  }
}

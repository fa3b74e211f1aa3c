import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// The rest of what rows of the security contract promise.
extension MembershipNegativeTests {
  @Test(
    "Negative 17: who has cited a removal does not unsee it: citing less is refused by everybody")
  func olderHeads() throws {
    var family = try EngineFamily(4)
    let old = try #require(try family.members[0].zone(family.zone).currentEpoch)
    let before = try family.members[1].controlZone(of: family.group).frontier
    try family.remove(2, by: 0)
    try family.meet([0, 1, 3])
    var forge = try Forge(family.members[1], family.zone)
    let citing = try forge.seal([forge.change(record: 4)])
    for member in [0, 3] {
      let report = try family.members[member].receive(
        [citing], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 1)
    }
    // The next one cites nothing, or only what was there before, under the key of before.
    var silent = forge
    let next = silent.change(controlSeen: Frontier(), record: 5)
    var earlier = forge
    let back = earlier.change(controlSeen: before, record: 5)
    for (change, name) in [(next, "nothing"), (back, "less")] {
      let bytes = try forge.seal([change], .init(epoch: old))
      for member in [0, 3] {
        let report = try family.members[member].receive(
          [bytes], in: family.zone, nowMilliseconds: now)
        #expect(report.applied == 0, "cites \(name), member \(member)")
        #expect(try family.shown(member, 5) == nil)
        let head = try family.members[member].zone(family.zone).head(of: forge.author)
        #expect(head.sequence == 1, "cites \(name), member \(member)")
      }
    }
    // Nor does a count go round: a citation that would wrap to a smaller one is none that can be.
    var wrapping = forge
    let control = try family.members[0].controlZone(of: family.group).frontier
    let entry = try #require(control.entries.first)
    let around = Frontier([(entry.author, Frontier.maximumSequence)])
    let bytes = try forge.seal(
      [wrapping.change(controlSeen: around, record: 6)], .init(epoch: old))
    for member in [0, 3] {
      let report = try? family.members[member].receive(
        [bytes], in: family.zone, nowMilliseconds: now)
      #expect(report?.applied ?? 0 == 0)
      #expect(try family.shown(member, 6) == nil)
    }
  }

  /// The join of an engine of its own, by a patched program that asks nobody whether it may.
  private func forgedJoin(
    by made: MadeInvitation, person: Int, _ family: inout EngineFamily
  ) throws -> (device: DeviceID, bytes: [UInt8]) {
    var thief = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &thief, nowMilliseconds: now)
    _ = try thief.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    var join = ControlOperation.Join(
      invite: try #require(Identifier(bytes: made.secret.publicKeys.inviteID)),
      person: EngineFamily.id(person), personName: "Eve",
      device: OwnCards(engine: thief).card(named: "eve"),
      proof: [])
    join.proof = made.secret.sign(ControlSignature.joinHash(of: join, group: opened.group))
    var eve = family
    eve.members.append(thief)
    let bytes = try forged([.join(join)], by: eve.members.count - 1, eve)
    return (thief.device, bytes)
  }

  @Test(
    "Negative 20: a patched joiner is nobody after the time, and beside a closing, in every order",
    arguments: [false, true])
  func lateJoins(joinComesFirst: Bool) throws {
    // Late by its own clock: nobody has closed the invitation.
    var family = try EngineFamily(2)
    let short = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 2, expiresMilliseconds: now,
      in: &family.members[0], nowMilliseconds: now)
    let late = try forgedJoin(by: short, person: 90, &family)
    try family.meet([0, 1])
    try take(late.bytes, [0, 1], &family)
    for member in [0, 1] {
      #expect(!family.membership(member).isActive(late.device))
      #expect(family.membership(member).voided.map(\.reason) == [.expired])
      #expect(family.membership(member).people.count == 2)
    }
    // With a clock set back: an admin's own clock closes the invitation, with new keys.
    for isRevoked in [false, true] {
      var family = try EngineFamily(2)
      let made = try InvitationMaking.invite(
        to: family.group, named: "Home", role: .member, maximumUses: 2,
        expiresMilliseconds: now + 1_000, in: &family.members[0], nowMilliseconds: now)
      try family.meet([0, 1])
      let thief = try forgedJoin(by: made, person: 91, &family)
      if joinComesFirst { try take(thief.bytes, [1], &family) }
      let keys = try family.members[0].zone(family.zone).currentEpoch?.id
      if isRevoked {
        let id = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
        try GroupPolicy.closeInvitation(
          id, of: family.group, in: &family.members[0], nowMilliseconds: now)
      } else {
        try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now + 1_000)
        #expect(family.membership(0).invites.allSatisfy { $0.usesLeft == 0 || !$0.isClosed })
        try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now + 1_001)
      }
      #expect(try family.members[0].zone(family.zone).currentEpoch?.id != keys)
      try take(thief.bytes, [0], &family)
      try family.meet([0, 1])
      if !joinComesFirst { try take(thief.bytes, [1], &family) }
      for member in [0, 1] {
        let name = "revoked \(isRevoked), member \(member)"
        #expect(!family.membership(member).isActive(thief.device), "\(name)")
        #expect(family.membership(member).people.count == 2, "\(name)")
        #expect(
          family.membership(member).voided.contains {
            if case .overruled(_, .invitationClosed) = $0.reason { return true }
            return $0.reason == .closed
          }, "\(name)")
      }
      try onlyAPersonLetsIn(thief.device, &family, "revoked \(isRevoked)")
    }
  }

  /// Upkeep lets nobody in who waits, whatever time they claim: a person does.
  private func onlyAPersonLetsIn(
    _ device: DeviceID, _ family: inout EngineFamily, _ name: String
  ) throws {
    for member in [0, 1] {
      try Maintenance.maintain(in: &family.members[member], nowMilliseconds: now + 1_002)
    }
    try family.meet([0, 1])
    for member in [0, 1] {
      #expect(!family.membership(member).isActive(device), "\(name), member \(member)")
      #expect(family.membership(member).people.count == 2, "\(name), member \(member)")
      #expect(family.membership(member).entries.waiting.map(\.device) == [device], "\(name)")
    }
    let entry = try #require(family.membership(0).entries.waiting.first)
    try EntranceUpkeep.confirm(
      entry.id, in: family.group, by: &family.members[0], nowMilliseconds: now + 1_003)
    try family.meet([0, 1])
    for member in [0, 1] {
      #expect(family.membership(member).isActive(device), "\(name), member \(member)")
    }
  }

  @Test("Negative 22: the least suite only rises; an unknown type is not read as a known one")
  func neverDowngraded() throws {
    var family = try EngineFamily(2)
    try family.setRole(1, .admin, by: 0)
    try family.meet([0, 1])
    // As a newer program would, which knows a third suite.
    try GroupOperations.perform(
      [.setPolicy(minimumSuite: 3, newcomers: .full)], in: family.group,
      by: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1])
    for (step, suite) in [2 as UInt8, 1, 0].enumerated() {
      let lower = try forged(
        [.setPolicy(minimumSuite: suite, newcomers: .full)], by: 1, family, beyond: step)
      try take(lower, [0], &family)
      #expect(family.membership(0).voided.count == step + 1, "suite \(suite)")
      #expect(family.membership(0).voided.allSatisfy { $0.reason == .grantsTooMuch })
      #expect(family.membership(0).minimumSuite == 3, "suite \(suite)")
    }
    // Types that nobody knows, and a known one in the wrong place.
    // The taker's own node never saw what was forged in its name, so that is not cited.
    var forge = try Forge(family.members[0], family.zone)
    try forge.look(through: family.members[1])
    let fine = try forge.seal([forge.change()])
    let known = fine[5]
    for type in UInt8.min...UInt8.max where type != known {
      var other = fine
      other[5] = type
      let report = try family.members[1].receive(
        [other], in: family.zone, nowMilliseconds: now)
      // A known one is in the wrong place; an unknown one may be a newer program's: it is not read.
      let isKnown = EnvelopeType(rawValue: type) != nil
      #expect(report.applied == 0 && (report.refused.count == 1) == isKnown, "type \(type)")
      #expect(try family.shown(1, 1) == nil, "type \(type)")
    }
    // Signed as what it is: a snapshot's type is no segment's, whoever signs it.
    let asSnapshot = try forge.seal(
      [forge.change(record: 2)], .init(type: .snapshotChunk))
    let report = try family.members[1].receive(
      [asSnapshot], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 0 && report.refused.count == 1)
    #expect(
      try family.members[1].receive([fine], in: family.zone, nowMilliseconds: now).applied == 1)
  }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// The negative tests of the security contract that concern the engine, by their numbers.
@Suite("Membership: what must not work")
struct MembershipNegativeTests {
  /// Seals control operations as a patched client would: without asking whether they may be.
  func forged(
    _ operations: [ControlOperation], by member: Int, _ family: EngineFamily,
    seen: Frontier? = nil, beyond forgeries: Int = 0
  ) throws -> [UInt8] {
    // As if what it forged before were here: in its own log, which only others hold.
    let source = forgeries > 0 ? 0 : member
    var forge = try Forge(family.members[member], family.control)
    forge.head = try family.members[source].zone(family.control).head(of: forge.author)
    let dot = Dot(author: forge.author, sequence: forge.head.sequence + 1)
    let events = operations.enumerated().map { index, operation in
      Operation(
        RecordKey(
          type: ControlOperation.type,
          id: eventID(
            in: family.control, type: ControlOperation.type, dot: dot, index: index)),
        .event([EventField(ControlOperation.bodyField, .bytes(operation.encoded))]))
    }
    let past = seen ?? forge.zone.frontier
    var others = past
    others = Frontier(
      others.entries.filter { $0.author != forge.author }.map { ($0.author, $0.sequence) })
    var known = forge.head.seen
    known = Frontier(
      known.entries.filter { $0.author != forge.author }.map { ($0.author, $0.sequence) })
    let change = Change(
      dot: dot, previousHash: forge.head.hash,
      seen: others.covers(known) ? others.difference(from: known) : .none, controlSeen: .none,
      time: HybridTime(milliseconds: now + 1), operations: events)
    forge.head.sequence += 1
    return try forge.seal([change])
  }

  func take(_ bytes: [UInt8], _ members: [Int], _ family: inout EngineFamily) throws {
    for member in members {
      _ = try family.members[member].receive(
        [bytes], in: family.control, nowMilliseconds: now)
    }
  }

  @Test("Negative 4: a dropped segment of a log is a gap, and nothing beyond it is applied")
  func gap() throws {
    var family = try EngineFamily(2)
    var forge = try Forge(family.members[1], family.zone)
    let parts = try (1...3).map { try forge.seal([forge.change(record: $0)]) }
    let report = try family.members[0].receive(
      [parts[0], parts[2]], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 1 && report.waiting == [.gap: 1])
    let rest = try family.members[0].receive(
      [parts[1]], in: family.zone, nowMilliseconds: now)
    #expect(rest.applied == 2)
  }

  @Test("Negative 8: two segments under one number are proven to all, and all end equal")
  func fork() throws {
    for order in 0..<2 {
      var family = try EngineFamily(4)
      let base = try Forge(family.members[1], family.zone)
      var (left, right) = (base, base)
      let sides = [
        try left.seal([left.change([.assign(EngineFamily.register, .int(1))])]),
        try right.seal([
          right.change([.assign(EngineFamily.register, .int(2))]), right.change(record: 9),
        ]),
      ]
      let firsts = order == 0 ? [0, 1] : [1, 0]
      for (member, side) in zip([0, 2], firsts) {
        _ = try family.members[member].receive(
          [sides[side]], in: family.zone, nowMilliseconds: now)
      }
      _ = try family.members[0].receive(sides, in: family.zone, nowMilliseconds: now)
      try family.send(0, to: [2, 3])
      _ = try family.members[3].receive(sides, in: family.zone, nowMilliseconds: now)
      for member in [0, 2, 3] {
        #expect(try family.shown(member, 1) == nil, "member \(member), order \(order)")
        let head = try family.members[member].zone(family.zone).head(of: base.author)
        #expect(head.sequence == 0)
        #expect(try family.members[member].zone(family.zone).forkEnds[base.author] == 1)
      }
      #expect(try family.areEqual([0, 2, 3]))
      #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
      // And after opening again.
      let again = try EngineFamily.reopened(family.members[2])
      #expect(try again.zone(family.zone).forkEnds[base.author] == 1)
    }
  }

  @Test("Negative 11: back-dated changes of a removed member are void in every order of arrival")
  func backDated() throws {
    for order in 0..<3 {
      var family = try EngineFamily(4)
      try family.set(2, 1, 1)
      try family.meet([0, 1, 2, 3])
      var forge = try Forge(family.members[2], family.zone)
      // Beyond the cut, with old heads and an old clock; and under a life that no cut names.
      let later = try forge.seal([
        forge.change(
          controlSeen: nil, time: 1_000, [.assign(EngineFamily.register, .int(66))])
      ])
      var other = try Forge(family.members[2], family.zone, incarnation: 77 << 32)
      let announcement = try other.announce(family.members[2])
      for member in [0, 1, 3] {
        _ = try family.members[member].receive(
          [announcement], in: family.control, nowMilliseconds: now)
      }
      let life = try other.seal([
        other.change([.assign(EngineFamily.register, .int(77))], record: 2)
      ])
      let send = { (family: inout EngineFamily) throws in
        for member in [0, 1, 3] {
          _ = try family.members[member].receive(
            [later, life], in: family.zone, nowMilliseconds: now)
        }
      }
      if order == 0 {
        _ = try family.members[3].receive([later, life], in: family.zone, nowMilliseconds: now)
      }
      try family.remove(2, by: 0)
      if order == 1 { try send(&family) }
      try family.meet([0, 1, 3])
      if order != 1 { try send(&family) }
      for member in [0, 1, 3] {
        #expect(try family.shown(member, 1) == .int(1), "member \(member), order \(order)")
        #expect(try family.shown(member, 2) == nil, "member \(member), order \(order)")
      }
      #expect(try family.areEqual([0, 1, 3]))
      #expect(try VoidChanges(engine: family.members[1]).quarantined(in: family.group).count == 2)
    }
  }

  @Test("Negative 12: whom a removed admin let in at the same time is nobody, and keys are new")
  func removedAdminsInvite() throws {
    var family = try EngineFamily(3)
    try family.setRole(2, .admin, by: 0)
    try family.meet([0, 1, 2])
    let guest = try family.join(by: 2, role: .member)
    try family.set(guest, 7, 7)
    let before = try family.members[0].zone(family.zone).currentEpoch?.id
    try family.remove(2, by: 0)
    try family.send(guest, to: [0, 1])
    try family.send(2, to: [0, 1])
    try family.send(guest, to: [0, 1])
    try family.meet([0, 1])
    for member in [0, 1] {
      #expect(!family.membership(member).isActive(family.members[guest].device))
      #expect(try family.shown(member, 7) == nil)
      let voided = family.membership(member).voided
      #expect(
        voided.contains {
          if case .overruled(_, .authorRemoved) = $0.reason { return true }
          return false
        })
      #expect(
        voided.map { family.membership(member).words(for: $0) }.contains {
          $0.contains("whose rank is higher")
        })
    }
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id != before)
    #expect(try family.areEqual([0, 1]))
  }

  @Test("Negative 13: two devices of one person that revoke each other are out; words bring back")
  func mutual() throws {
    var family = try EngineFamily(3)
    let second = try family.join(by: 1, role: .reader, person: try family.person(1))
    try family.meet([0, 1, 2, second])
    let words = try family.nameWords(of: 1)
    try family.meet([0, 1, 2, second])
    let (one, other) = (family.members[1].device, family.members[second].device)
    try MemberChanges.revoke(
      other, from: family.group, in: &family.members[1], nowMilliseconds: now)
    try MemberChanges.revoke(
      one, from: family.group, in: &family.members[second], nowMilliseconds: now)
    let both = [
      try family.published(1, family.control), try family.published(second, family.control),
    ]
    for member in [0, 2] {
      for blobs in both {
        _ = try family.members[member].receive(
          blobs, in: family.control, nowMilliseconds: now)
      }
      let membership = family.membership(member)
      #expect(!membership.isActive(one) && !membership.isActive(other))
      #expect(membership.person(try family.person(0))?.role == .owner)
      #expect(membership.people.count == 3)
    }
    // A bare device with the words, and the log.
    let person = try family.person(1)
    var fresh = try family.bareDevice()
    #expect(throws: SyncError(.notAllowed, "")) {
      let wrong = try SigningKeyPair(seed: SecretKey.random())
      try RecoveryKeys.recover(
        person, in: family.group, deviceName: "new", revokingOthers: true,
        signing: { wrong.sign(domain: $0, $1) }, by: &fresh, nowMilliseconds: now)
    }
    try RecoveryKeys.recover(
      person, in: family.group, deviceName: "new", revokingOthers: true,
      signing: { words.sign(domain: $0, $1) }, by: &fresh, nowMilliseconds: now)
    family.members.append(fresh)
    try family.send(4, to: [0, 2])
    #expect(family.membership(0).role(of: fresh.device) == .member)
  }

  @Test("Negative 14: an admin that grants or removes admins, or raises itself, does nothing")
  func ranks() throws {
    var family = try EngineFamily(3)
    try family.setRole(1, .admin, by: 0)
    try family.setRole(2, .admin, by: 0)
    try family.meet([0, 1, 2])
    let none = Cut(entries: [])
    let people = try (0..<3).map { try family.person($0) }
    #expect(throws: SyncError(.notAllowed, "")) { try family.remove(2, by: 1) }
    let bytes = try forged(
      [
        .setRole(person: people[1], role: .owner, cut: none),
        .removeMember(person: people[2], cut: none),
        .removeMember(person: people[0], cut: none),
        .setRole(person: people[2], role: .member, cut: none),
        .transferOwner(to: people[1], signature: [UInt8](repeating: 7, count: 64)),
      ], by: 1, family)
    try take(bytes, [0, 2], &family)
    for member in [0, 2] {
      let membership = family.membership(member)
      #expect(
        membership.people.map(\.role).sorted { $0.rank < $1.rank } == [.admin, .admin, .owner])
      #expect(membership.owner == people[0])
      #expect(membership.voided.count == 5)
    }
  }

  @Test("Negative 15: an epoch with a recipient too many or too few is never written under")
  func recipients() throws {
    for isMissing in [false, true] {
      var family = try EngineFamily(3)
      try family.remove(2, by: 0)
      try family.meet([0, 1])
      let good = try family.members[0].zone(family.zone).currentEpoch?.id
      let epoch = try EpochKey.random(groupID: family.group.bytes, zoneID: family.zone.bytes)
      let all = isMissing ? [0] : [0, 1, 2]
      let wraps = try all.map { member in
        ControlOperation.Wrap(
          recipient: family.members[member].device,
          sealed: try epoch.sealKey(to: family.members[member].identity.publicKeys.boxKey))
      }.sorted { $0.recipient < $1.recipient }
      let bytes = try forged(
        [
          .epoch(
            .init(
              zone: family.zone, epoch: epoch.id, previous: [try #require(good)], wraps: wraps))
        ], by: 1, family)
      try take(bytes, [0], &family)
      #expect(try family.members[0].zone(family.zone).epoch(id: epoch.id) != nil)
      #expect(try family.members[0].zone(family.zone).currentEpoch?.id == good)
      try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
      #expect(try family.members[0].zone(family.zone).currentEpoch?.id != epoch.id)
    }
  }

  /// A key, sealed for a member.
  private func wrap(
    _ key: EpochKey, for member: Int, _ family: EngineFamily
  ) throws -> ControlOperation.Wrap {
    ControlOperation.Wrap(
      recipient: family.members[member].device,
      sealed: try key.sealKey(to: family.members[member].identity.publicKeys.boxKey))
  }

  @Test("Negative 16: a wrong key in one wrap is found, complained about and healed")
  func wrongWrap() throws {
    var family = try EngineFamily(3)
    let epoch = try EpochKey.random(groupID: family.group.bytes, zoneID: family.zone.bytes)
    let wrong = try EpochKey.random(groupID: family.group.bytes, zoneID: family.zone.bytes)
    let previous = try #require(try family.members[0].zone(family.zone).currentEpoch?.id)
    let wraps = try (0..<3).map { try wrap($0 == 2 ? wrong : epoch, for: $0, family) }
      .sorted { $0.recipient < $1.recipient }
    let bytes = try forged(
      [.epoch(.init(zone: family.zone, epoch: epoch.id, previous: [previous], wraps: wraps))],
      by: 1, family)
    try take(bytes, [0, 2], &family)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id == epoch.id)
    #expect(try family.members[2].zone(family.zone).epoch(id: epoch.id) == nil)
    #expect(try family.members[2].zone(family.zone).epoch(id: wrong.id) == nil)
    try family.set(0, 4, 4)
    try family.send(0, to: [2])
    #expect(try family.shown(2, 4) == nil)
    // The victim holds nothing that does not keep the promise of the id, and says which it is.
    try Maintenance.maintain(in: &family.members[2], nowMilliseconds: now)
    let complaints = family.membership(2).audit().compactMap { entry in
      if case .complaint(_, let epoch, _) = entry.operation { epoch } else { nil }
    }
    #expect(complaints == [epoch.id])
    try family.send(2, to: [0])
    // Whoever made it answers with another wrong one: it does not silence the complaint.
    let answer = try wrap(wrong, for: 2, family)
    let bogus = try forged(
      [.wrapAdd(zone: family.zone, epoch: epoch.id, wraps: [answer])], by: 1, family,
      beyond: 1)
    try take(bogus, [0, 2], &family)
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
    try Maintenance.maintain(in: &family.members[2], nowMilliseconds: now)
    try family.send(2, to: [0])
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
    try family.send(0, to: [2])
    #expect(try family.shown(2, 4) == .int(4))
    #expect(try family.members[2].zone(family.zone).epoch(id: epoch.id)?.id == epoch.id)
    #expect(try family.members[2].zone(family.zone).epoch(id: wrong.id) == nil)
    let healers = family.membership(2).audit().filter {
      if case .wrapAdd(_, epoch.id, _) = $0.operation { true } else { false }
    }.map(\.device)
    #expect(healers.contains(family.members[0].device))
    // Said twice, once about each, and no more when it is well.
    try Maintenance.maintain(in: &family.members[2], nowMilliseconds: now)
    let said = family.membership(2).audit().count { $0.operation.kind == 19 }
    #expect(said == 2)
  }

  @Test("Negative 17: a segment that cites a removal under a key of before is refused by everybody")
  func overEpoch() throws {
    var family = try EngineFamily(4)
    let old = try #require(try family.members[0].zone(family.zone).currentEpoch)
    try family.remove(2, by: 0)
    try family.meet([0, 1, 3])
    var forge = try Forge(family.members[1], family.zone)
    let change = forge.change([.assign(EngineFamily.register, .int(5))])
    let bytes = try forge.seal([change], .init(epoch: old))
    for member in [0, 3] {
      let report = try family.members[member].receive(
        [bytes], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 0 && report.refused.count == 1)
      #expect(report.refused.first?.reason.contains("had seen the removal") == true)
      #expect(try family.shown(member, 1) == nil)
    }
    // Sealed under the new key the same change is taken.
    let fine = try forge.seal([change])
    let report = try family.members[0].receive([fine], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 1)
    // What was written before the removal was known may come under the old key.
    let offlineMember = family.members[3]
    var offline = try Forge(offlineMember, family.zone, incarnation: 9 << 32)
    try offline.look(through: family.members[2])
    _ = try family.members[0].receive(
      [try offline.announce(offlineMember)], in: family.control, nowMilliseconds: now)
    let early = try offline.seal([offline.change(record: 3)], .init(epoch: old))
    let taken = try family.members[0].receive([early], in: family.zone, nowMilliseconds: now)
    #expect(taken.applied == 1)
  }

  @Test("Negative 17: in the members' log every device takes such a segment, in whatever order")
  func overEpochInControlZone() throws {
    var family = try EngineFamily(5)
    let old = try #require(try family.members[1].zone(family.control).currentEpoch)
    try family.remove(2, by: 0)
    let removal = try family.published(0, family.control)
    _ = try family.members[1].receive(removal, in: family.control, nowMilliseconds: now)
    var forge = try Forge(family.members[1], family.zone, incarnation: 9 << 32)
    let bytes = try forge.announce(family.members[1], under: old)
    for (member, batches) in [
      (0, [[bytes]]), (3, [removal + [bytes]]), (4, [[bytes], removal]),
    ] {
      for batch in batches {
        let report = try family.members[member].receive(
          batch, in: family.control, nowMilliseconds: now)
        #expect(report.refused.isEmpty)
      }
      #expect(try family.members[member].zone(family.control).head(of: forge.author).sequence == 1)
    }
  }

  @Test("Negative 17: a removal counts against a key only with all that its author had seen")
  func overEpochByVoidRemoval() throws {
    var family = try EngineFamily(5)
    try family.setRole(1, .admin, by: 0)
    try family.meet([0, 1, 2, 3, 4])
    let old = try #require(try family.members[3].zone(family.zone).currentEpoch)
    // The owner demotes an admin, who removes somebody meanwhile.
    try family.remove(2, by: 1)
    try family.setRole(1, .member, by: 0)
    let removal = try family.published(1, family.control)
    let demotion = try family.published(0, family.control)
    _ = try family.members[3].receive(
      removal + demotion, in: family.control, nowMilliseconds: now)
    #expect(family.membership(3).isActive(family.members[2].device))
    var forge = try Forge(family.members[3], family.zone)
    let bytes = try forge.seal(
      [forge.change([.assign(EngineFamily.register, .int(5))])], .init(epoch: old))
    _ = try family.members[4].receive(removal, in: family.control, nowMilliseconds: now)
    #expect(!family.membership(4).isActive(family.members[2].device))
    let early = try family.members[4].receive([bytes], in: family.zone, nowMilliseconds: now)
    #expect(early.refused.isEmpty && early.waiting[.cause] == 1)
    _ = try family.members[4].receive(demotion, in: family.control, nowMilliseconds: now)
    let taken = try family.members[4].receive([], in: family.zone, nowMilliseconds: now)
    #expect(taken.applied == 1)
  }

  @Test("Negative 19: a proof of an invitation serves for no other keys and no other group")
  func replayedProof() throws {
    var family = try EngineFamily(2)
    let other = try EngineFamily(1)
    var thief = try EngineFamily.engine()
    let invite = family.secret
    let opened = try JoiningByInvitation.begin(
      family.capsule, with: invite, in: &thief, nowMilliseconds: now)
    _ = try thief.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    let events = try family.members[0].store.records.events(
      of: ControlOperation.type, in: family.control)
    let joins = events.compactMap { _, event -> ControlOperation.Join? in
      guard case .join(let join)? = ControlOperation(event) else { return nil }
      return join
    }
    let seen = try #require(joins.first)
    for (proof, group) in [(seen.proof, family.group), (nil, other.group)] {
      var join = ControlOperation.Join(
        invite: seen.invite, person: EngineFamily.id(66), personName: "Eve",
        device: OwnCards(engine: thief).card(named: "eve"), proof: [])
      join.proof = proof ?? invite.sign(ControlSignature.joinHash(of: join, group: group))
      #expect(throws: SyncError(.notAllowed, "")) {
        try GroupOperations.perform(
          [.join(join)], in: opened.group, by: &thief, nowMilliseconds: now)
      }
      var eve = family
      eve.members.append(thief)
      let bytes = try forged([.join(join)], by: 2, eve)
      try take(bytes, [0, 1], &family)
      for member in 0...1 {
        #expect(family.membership(member).device(thief.device) == nil)
        // Nothing vouches for it, so that its log takes no place.
        let control = try family.members[member].zone(family.control)
        #expect(!control.heads.contains { $0.author.device == thief.device })
      }
    }
  }

  /// Lets somebody follow an invitation with a copy of the members' log, and returns what all then
  /// receive.
  private func follow(
    _ made: MadeInvitation, as number: Int, with log: [[UInt8]], _ family: inout EngineFamily
  ) throws -> [[UInt8]] {
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: now)
    _ = try engine.receive(log, in: family.control, nowMilliseconds: now)
    try JoiningByInvitation.finish(
      opened, with: made.secret, person: EngineFamily.id(50 + number), personName: "J\(number)",
      deviceName: "j\(number)", in: &engine, nowMilliseconds: now)
    family.members.append(engine)
    return try family.published(family.members.count - 1, family.control)
  }

  @Test(
    "Negative 20: an invitation admits no more than its uses, and none when closed; keys change")
  func invitationUses() throws {
    var family = try EngineFamily(2)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 2,
      expiresMilliseconds: now + 1_000, in: &family.members[0], nowMilliseconds: now)
    let log = try family.published(0, family.control)
    let joined = try (0..<3).map { try follow(made, as: $0, with: log, &family) }
    for blobs in joined + joined.reversed() {
      for member in 0..<5 {
        _ = try family.members[member].receive(
          blobs, in: family.control, nowMilliseconds: now)
      }
    }
    for member in 0..<5 { #expect(family.membership(member).people.count == 4) }
    // Late by its own clock.
    var late = try EngineFamily.engine()
    #expect(throws: SyncError(.expired, "")) {
      try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &late, nowMilliseconds: now + 1_001)
    }
    // Closed: the keys that it carried are over.
    let open = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 2,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    let before = try family.members[0].zone(family.zone).currentEpoch?.id
    let id = try #require(Identifier(bytes: open.secret.publicKeys.inviteID))
    try GroupPolicy.closeInvitation(
      id, of: family.group, in: &family.members[0], nowMilliseconds: now)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id != before)
    var tardy = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      open.capsule, with: open.secret, in: &tardy, nowMilliseconds: now)
    _ = try tardy.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    #expect(throws: SyncError.self) {
      try JoiningByInvitation.finish(
        opened, with: open.secret, person: EngineFamily.id(90), personName: "T", deviceName: "t",
        in: &tardy, nowMilliseconds: now)
    }
  }

  @Test("Negative 22: a suite below the group's least is refused, and nobody asks for one unknown")
  func leastSuite() throws {
    var family = try EngineFamily(2)
    #expect(throws: SyncError(.invalidOperation, "")) {
      try GroupPolicy.setPolicy(
        of: family.group, minimumSuite: EnvelopeFormat.suite + 1, newcomers: .full,
        in: &family.members[0], nowMilliseconds: now)
    }
    // A patched admin asks for what nobody has: it locks nobody out.
    let bytes = try forged(
      [.setPolicy(minimumSuite: 255, newcomers: .full)], by: 0, family)
    try take(bytes, [1], &family)
    #expect(family.membership(1).minimumSuite == 255)
    var forge = try Forge(family.members[0], family.zone)
    let fine = try forge.seal([forge.change()])
    for (suite, isRefused, waits) in [(0 as UInt8, true, 0), (2, false, 1)] {
      var other = fine
      other[4] = suite
      let report = try family.members[1].receive(
        [other], in: family.zone, nowMilliseconds: now)
      #expect(report.refused.isEmpty != isRefused, "suite \(suite)")
      #expect(report.waiting[.format] ?? 0 == waits && report.applied == 0, "suite \(suite)")
    }
    let report = try family.members[1].receive([fine], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 1)
  }
}

import Foundation
import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

@Suite("Membership in the engine")
struct MembershipEngineTests {
  @Test("A removal makes new keys that the removed device cannot open, and others can")
  func rotation() throws {
    var family = try EngineFamily(3)
    let before = try family.members[0].zone(family.zone).currentEpoch?.id
    try family.remove(2, by: 0)
    let after = try family.members[0].zone(family.zone).currentEpoch?.id
    #expect(before != after)
    try family.set(0, 5, 1)
    try family.meet([0, 1])
    #expect(try family.shown(1, 5) == .int(1))
    #expect(try family.members[1].zone(family.zone).currentEpoch?.id == after)
    try family.send(0, to: [2])
    #expect(try family.shown(2, 5) == nil)
    #expect(try family.members[2].zone(family.zone).epoch(id: after ?? []) == nil)
    #expect(try family.members[2].store.pending.segments(in: family.zone).map(\.reason) == [.epoch])
    #expect(!family.membership(2).isActive(family.members[2].device))
    // The removed device is told, and writes nothing more.
    #expect(throws: SyncError(.notAllowed, "")) { try family.set(2, 5, 9) }
  }

  @Test("Who joins by an invitation that is older than the keys is given them")
  func oldInvitation() throws {
    var family = try EngineFamily(3)
    let invitation = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    // New keys of both zones, which the invitation does not carry.
    try family.remove(2, by: 0)
    try family.set(0, 1, 7)
    var newcomer = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      invitation.capsule, with: invitation.secret, in: &newcomer, nowMilliseconds: now)
    _ = try newcomer.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    try JoiningByInvitation.finish(
      opened, with: invitation.secret, person: EngineFamily.id(99), personName: "Late",
      deviceName: "late", in: &newcomer, nowMilliseconds: now)
    // Before it says anything it makes keys of its own: the removed device has those it was given.
    try Maintenance.maintain(in: &newcomer, nowMilliseconds: now)
    family.members.append(newcomer)
    try family.meet([0, 1, 3])
    #expect(try family.shown(3, 1) == nil)
    #expect(family.membership(0).isActive(family.members[3].device))
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1, 3])
    #expect(try family.shown(3, 1) == .int(7))
    #expect(try family.areEqual([0, 1, 3]))
  }

  @Test("What a removed device wrote beyond the cut counts nowhere, whatever the order")
  func cut() throws {
    for removalFirst in [false, true] {
      var family = try EngineFamily(4)
      try family.set(2, 1, 1)
      try family.meet([0, 1, 2, 3])
      // Unknown to the remover: one change that another has, one that nobody has yet.
      try family.set(2, 1, 2)
      try family.send(2, to: [3])
      #expect(try family.shown(3, 1) == .int(2))
      try family.set(2, 2, 3)
      try family.remove(2, by: 0)
      if removalFirst {
        try family.meet([0, 1, 3])
        try family.send(2, to: [0, 1, 3])
      } else {
        try family.send(2, to: [1, 3])
        try family.meet([0, 1, 3])
      }
      for member in [0, 1, 3] {
        #expect(try family.shown(member, 1) == .int(1), "member \(member) \(removalFirst)")
        #expect(try family.shown(member, 2) == nil, "member \(member) \(removalFirst)")
      }
      try family.meet([0, 1, 3])
      #expect(try family.areEqual([0, 1, 3]))
      let kept = try VoidChanges(engine: family.members[1]).quarantined(in: family.group)
      #expect(kept.map(\.changes) == [2...3])
      #expect(kept.first?.author.device == family.members[2].device)
      // An admin takes them over as its own.
      try Adoption.adopt(
        try #require(kept.first), in: family.group, by: &family.members[0], nowMilliseconds: now)
      try family.meet([0, 1, 3])
      for member in [0, 1, 3] {
        #expect(try family.shown(member, 1) == .int(2))
        #expect(try family.shown(member, 2) == .int(3))
      }
      #expect(try VoidChanges(engine: family.members[1]).quarantined(in: family.group).isEmpty)
      #expect(try family.areEqual([0, 1, 3]))
    }
  }

  @Test("A reader changes nothing anywhere, and a child only what the policy says")
  func roles() throws {
    var family = try EngineFamily(3)
    try family.setRole(2, .reader, by: 0)
    try family.meet([0, 1, 2])
    #expect(throws: SyncError(.notAllowed, "")) { try family.set(2, 1, 9) }
    // A patched client writes all the same.
    var forge = try Forge(family.members[2], family.zone)
    let bytes = try forge.seal([
      forge.change([.assign(EngineFamily.register, .int(9))], record: 1)
    ])
    for member in [0, 1] {
      let report = try family.members[member].receive(
        [bytes], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 1)
      #expect(try family.shown(member, 1) == nil)
    }
    #expect(try family.areEqual([0, 1]))
  }

  @Test("Two rotations at the same time are joined by the first that sees both")
  func concurrentRekeys() throws {
    var family = try EngineFamily(4)
    for member in [0, 1] {
      try Rekeying.rekey(
        [family.zone], of: family.group, in: &family.members[member], nowMilliseconds: now)
      try family.set(member, 10 + member, 1)
    }
    try family.meet([0, 1, 2, 3])
    #expect(family.membership(2).keys.newestEpochs(of: family.zone).count == 2)
    for member in 0..<4 {
      #expect(try family.shown(member, 10) == .int(1))
      #expect(try family.shown(member, 11) == .int(1))
      try Maintenance.maintain(in: &family.members[member], nowMilliseconds: now)
    }
    try family.meet([0, 1, 2, 3])
    for member in 0..<4 {
      let newest = family.membership(member).keys.newestEpochs(of: family.zone)
      #expect(newest.count == 1)
      #expect(newest.first?.grant.previous.count == 2)
      #expect(
        try family.members[member].zone(family.zone).currentEpoch?.id == newest.first?.grant.epoch)
    }
  }

  @Test("Rotations of the same time are joined by anybody, if their makers stay away")
  func joinedByAnybody() throws {
    var family = try EngineFamily(4)
    for member in [0, 1] {
      try Rekeying.rekey(
        [family.zone], of: family.group, in: &family.members[member], nowMilliseconds: now)
    }
    try family.meet([0, 1, 2, 3])
    let wait = RekeyNeed.joinMilliseconds
    for (moment, number) in [(now + wait - 1, 2), (now + wait, 1)] {
      try Maintenance.maintain(in: &family.members[2], nowMilliseconds: moment)
      #expect(family.membership(2).keys.newestEpochs(of: family.zone).count == number)
    }
    try family.meet([0, 1, 2, 3])
    for member in 0..<4 {
      #expect(family.membership(member).keys.newestEpochs(of: family.zone).count == 1)
    }
  }

  @Test("A closing without new keys leaves none to write under, and the next to write makes some")
  func closing() throws {
    var family = try EngineFamily(2)
    let id = try #require(Identifier(bytes: family.secret.publicKeys.inviteID))
    try GroupOperations.perform(
      [.inviteClose(invite: id)], in: family.group, by: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1])
    let before = try family.members[1].zone(family.zone).currentEpoch?.id
    for member in [0, 1] { #expect(try family.members[member].zone(family.zone).isEpochOver) }
    try family.set(1, 1, 1)
    #expect(try family.members[1].zone(family.zone).currentEpoch?.id != before)
    try family.meet([0, 1])
    #expect(try family.shown(0, 1) == .int(1))
  }

  @Test("A reader revokes the own lost device; the next who may makes the keys")
  func readerRevokes() throws {
    var family = try EngineFamily(3)
    try family.setRole(2, .reader, by: 0)
    try family.meet([0, 1, 2])
    let second = try family.join(by: 2, role: .reader, person: try family.person(2))
    try family.meet([0, 1, 2, second])
    let before = try family.members[1].zone(family.zone).currentEpoch?.id
    let lost = family.members[second].device
    try MemberChanges.revoke(lost, from: family.group, in: &family.members[2], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    for member in 0..<3 { #expect(!family.membership(member).isActive(lost)) }
    try family.set(1, 1, 1)
    let after = try family.members[1].zone(family.zone).currentEpoch?.id
    #expect(after != before)
    try family.meet([0, 1, 2])
    try family.send(1, to: [second])
    #expect(try family.shown(2, 1) == .int(1))
    #expect(try family.shown(second, 1) == nil)
  }

  @Test("Invitations do not outlive their device or their maker's rank, and keys change with them")
  func invitationsEnd() throws {
    for ending in 0..<4 {
      var family = try EngineFamily(3)
      try family.setRole(2, .admin, by: 0)
      try family.meet([0, 1, 2])
      let second = try family.join(by: 2, role: .reader, person: try family.person(2))
      try family.meet([0, 1, 2, second])
      let made = try InvitationMaking.invite(
        to: family.group, named: "Home", role: .member, maximumUses: 5,
        expiresMilliseconds: now * 2, in: &family.members[2], nowMilliseconds: now)
      try family.meet([0, 1, 2, second])
      let id = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
      let before = try family.members[0].zone(family.zone).currentEpoch?.id
      let device = family.members[2].device
      switch ending {
      case 0:
        try MemberChanges.revoke(
          device, from: family.group, in: &family.members[second], nowMilliseconds: now)
      case 1:
        try MemberChanges.revoke(
          device, from: family.group, in: &family.members[0], nowMilliseconds: now)
      case 2: try family.setRole(2, .member, by: 0)
      default: try MemberChanges.leave(family.group, in: &family.members[2], nowMilliseconds: now)
      }
      try family.meet([0, 1, 2, second])
      try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
      let invite = family.membership(0).invites.first { $0.operation.invite == id }
      #expect(invite?.isClosed == true, "\(ending)")
      #expect(try family.members[0].zone(family.zone).currentEpoch?.id != before, "\(ending)")
      var late = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &late, nowMilliseconds: now)
      _ = try late.receive(
        try family.published(0, family.control), in: family.control, nowMilliseconds: now)
      #expect(throws: SyncError.self, "\(ending)") {
        try JoiningByInvitation.finish(
          opened, with: made.secret, person: EngineFamily.id(90), personName: "T",
          deviceName: "t", in: &late, nowMilliseconds: now)
      }
    }
  }

  @Test("Who joins by an invitation that was closed under keys it does not have is told so")
  func closedLongAgo() throws {
    for (comesFirst, hasGap) in [(false, false), (false, true), (true, false), (true, true)] {
      var family = try EngineFamily(2)
      let made = try InvitationMaking.invite(
        to: family.group, named: "Home", role: .member, maximumUses: 1,
        expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
      let early = try family.published(0, family.control)
      try family.remove(1, by: 0)
      if hasGap {
        try MemberChanges.heartbeat(in: family.group, by: &family.members[0], nowMilliseconds: now)
      }
      let id = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
      try GroupPolicy.closeInvitation(
        id, of: family.group, in: &family.members[0], nowMilliseconds: now)
      let log = try family.published(0, family.control)
      var cleo = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &cleo, nowMilliseconds: now)
      _ = try cleo.receive(comesFirst ? early : log, in: family.control, nowMilliseconds: now)
      let join = {
        try JoiningByInvitation.finish(
          opened, with: made.secret, person: EngineFamily.id(90), personName: "Cleo",
          deviceName: "c", in: &cleo, nowMilliseconds: now)
      }
      guard comesFirst else {
        let error = #expect(throws: SyncError.self) { try join() }
        #expect(error?.code == .used)
        #expect(error?.message.contains("closed") == true)
        continue
      }
      try join()
      #expect(ClosedInvitations(engine: cleo).entryRefusal(to: family.group) == nil)
      _ = try cleo.receive(log, in: family.control, nowMilliseconds: now)
      #expect(
        ClosedInvitations(engine: cleo).entryRefusal(to: family.group)?.hasPrefix(
          "Anna closed the inv") == true)
      // The others take it for nobody.
      family.members.append(cleo)
      try family.send(2, to: [0])
      #expect(!family.membership(0).isActive(cleo.device))
      try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
      try family.send(0, to: [2])
      #expect(ClosedInvitations(engine: family.members[2]).entryRefusal(to: family.group) != nil)
    }
  }

  @Test("A key of thirty days is replaced, one of a millisecond less is not")
  func age() throws {
    var family = try EngineFamily(2)
    let age = RekeyNeed.epochMilliseconds
    let before = try family.members[0].zone(family.zone).currentEpoch?.id
    #expect(age == 30 * 86_400_000)
    let since = try #require(family.membership(0).keys.epochs(of: family.zone).last).since
      .milliseconds
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: since + age - 1)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id == before)
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: since + age)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id != before)
    // A clock that stood still over the moment comes to the same.
    let newer = try #require(family.membership(0).keys.epochs(of: family.zone).last).since
      .milliseconds
    let middle = try family.members[0].zone(family.zone).currentEpoch?.id
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: newer + age + 1)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id != middle)
  }

  @Test("Handing over, leaving and losing the last device go on with one owner")
  func ownership() throws {
    var family = try EngineFamily(3)
    let offer = try family.offer(to: 1, by: 0)
    try family.meet([0, 1, 2])
    #expect(family.membership(1).offers.map(\.id) == [offer])
    try OwnerTransfer.accept(
      of: family.group, offer: offer, in: &family.members[1], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    #expect(family.membership(2).owner == (try family.person(1)))
    #expect(family.membership(2).role(of: family.members[0].device) == .admin)
    #expect(throws: SyncError(.notAllowed, "")) {
      try MemberChanges.leave(family.group, in: &family.members[1], nowMilliseconds: now)
    }
    try family.set(0, 3, 3)
    try MemberChanges.leave(family.group, in: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    #expect(family.membership(2).people.count == 2)
    #expect(try family.shown(2, 3) == .int(3))
    // Whoever writes next makes new keys first.
    #expect(try family.members[2].zone(family.zone).isEpochOver)
    try family.set(2, 4, 4)
    #expect(try !family.members[2].zone(family.zone).isEpochOver)
    try family.send(2, to: [0, 1])
    #expect(try family.shown(1, 4) == .int(4))
    #expect(try family.shown(0, 4) == nil)
  }

  @Test("A person who was removed comes back with the same device, and only new work counts")
  func returning() throws {
    var family = try EngineFamily(3)
    try family.set(2, 1, 1)
    try family.meet([0, 1, 2])
    try family.set(2, 2, 2)
    try family.remove(2, by: 0)
    let invitation = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .child, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1])
    try family.send(0, to: [2])
    let opened = try JoiningByInvitation.begin(
      invitation.capsule, with: invitation.secret, in: &family.members[2], nowMilliseconds: now)
    try family.send(0, to: [2])
    try JoiningByInvitation.finish(
      opened, with: invitation.secret, person: EngineFamily.id(3), personName: "P2",
      deviceName: "device 2", in: &family.members[2], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    #expect(family.membership(1).role(of: family.members[2].device) == .child)
    try family.set(2, 3, 3)
    try family.meet([0, 1, 2])
    for member in [0, 1, 2] {
      #expect(try family.shown(member, 1) == .int(1))
      #expect(try family.shown(member, 2) == nil)
      #expect(try family.shown(member, 3) == .int(3))
    }
    #expect(try family.areEqual([0, 1, 2]))
  }

  @Test("A joiner whose keys were replaced meanwhile is given the new ones")
  func meanwhile() throws {
    var family = try EngineFamily(3)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    let log = try family.published(0, family.control)
    try family.remove(2, by: 0)
    try family.set(0, 1, 1)
    var joiner = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &joiner, nowMilliseconds: now)
    _ = try joiner.receive(log, in: family.control, nowMilliseconds: now)
    try JoiningByInvitation.finish(
      opened, with: made.secret, person: EngineFamily.id(41), personName: "Omar",
      deviceName: "phone", in: &joiner, nowMilliseconds: now)
    family.members.append(joiner)
    try family.meet([0, 1, 3])
    #expect(try family.shown(3, 1) == nil)
    try Maintenance.maintain(in: &family.members[1], nowMilliseconds: now)
    try family.meet([0, 1, 3])
    #expect(try family.shown(3, 1) == .int(1))
    #expect(family.membership(3).summary == family.membership(0).summary)
  }

  @Test("Several joiners whose keys were replaced meanwhile are given the new ones in one change")
  func severalMeanwhile() throws {
    var family = try EngineFamily(3)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 5,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    let log = try family.published(0, family.control)
    try family.remove(2, by: 0)
    try family.set(0, 1, 1)
    for number in 0..<5 {
      var joiner = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &joiner, nowMilliseconds: now)
      _ = try joiner.receive(log, in: family.control, nowMilliseconds: now)
      try JoiningByInvitation.finish(
        opened, with: made.secret, person: EngineFamily.id(41 + number), personName: "P\(number)",
        deviceName: "phone", in: &joiner, nowMilliseconds: now)
      family.members.append(joiner)
    }
    let everybody = [0, 1] + (3..<8)
    try family.meet(everybody)
    let author = family.members[1].author
    let before = try family.members[1].zone(family.control).head(of: author).sequence
    try Maintenance.maintain(in: &family.members[1], nowMilliseconds: now)
    let after = try family.members[1].zone(family.control).head(of: author).sequence
    // What the upkeep does beside fits into two more changes.
    #expect(after - before <= 3, "\(after - before) changes for five devices")
    try family.meet(everybody)
    for joiner in 3..<8 { #expect(try family.shown(joiner, 1) == .int(1), "joiner \(joiner)") }
  }

  @Test("A device whose segments all stay closed names its last key, and is given the others anew")
  func nothingOpens() throws {
    var family = try EngineFamily(3)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    let log = try family.published(0, family.control)
    try family.remove(2, by: 0)
    try family.set(0, 1, 1)
    var joiner = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &joiner, nowMilliseconds: now)
    _ = try joiner.receive(log, in: family.control, nowMilliseconds: now)
    try JoiningByInvitation.finish(
      opened, with: made.secret, person: EngineFamily.id(41), personName: "Omar",
      deviceName: "phone", in: &joiner, nowMilliseconds: now)
    family.members.append(joiner)
    try family.meet([0, 1])
    try family.send(3, to: [1])
    // A member says that the newcomer has the new keys, where the newcomer cannot read it.
    let card = try #require(family.membership(1).device(joiner.device)?.card)
    let sealed = try EpochKey.random(groupID: family.group.bytes, zoneID: family.zone.bytes)
      .sealKey(to: BoxPublicKey(validating: card.boxKey))
    let bogus = try [family.control, family.zone].map { zone in
      ControlOperation.wrapAdd(
        zone: zone,
        epoch: try #require(family.membership(1).keys.epochs(of: zone).last).grant.epoch,
        wraps: [.init(recipient: joiner.device, sealed: sealed)])
    }
    try GroupOperations.perform(
      bogus, in: family.group, by: &family.members[1], nowMilliseconds: now)
    try family.meet([0, 1])
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 3])
    #expect(try family.shown(3, 1) == nil)
    for _ in 0..<2 {
      try Maintenance.maintain(in: &family.members[3], nowMilliseconds: now)
      try family.meet([0, 3])
      try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
      try family.meet([0, 3])
    }
    #expect(try family.shown(3, 1) == .int(1))
    #expect(family.membership(3).summary == family.membership(0).summary)
    #expect(try family.members[3].store.pending.segments(in: family.control).isEmpty)
  }

  @Test("What a device counts under one key ends it at 10,000 changes, not one before")
  func count() throws {
    #expect(RekeyNeed.epochChanges == 10_000)
    for (written, isDue) in [(9_999 as UInt64, false), (10_000, true), (10_001, true)] {
      var family = try EngineFamily(1)
      try family.set(0, 1, 1)
      let epoch = try #require(try family.members[0].zone(family.zone).currentEpoch?.id)
      let total = try family.members[0].zone(family.zone).heads.reduce(UInt64(0)) {
        $0 + $1.sequence
      }
      // As if the zone had had so many changes less when the key was made.
      let start = total &- written
      try family.members[0].store.transaction {
        try family.members[0].store.facts.set(
          EpochKeys.epochFact(epoch), to: start)
      }
      try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
      #expect((try family.members[0].zone(family.zone).currentEpoch?.id != epoch) == isDue)
    }
  }

  @Test("Adding the 200th device costs a join and nothing else")
  func manyDevices() throws {
    var family = try EngineFamily(1)
    let most = ProcessInfo.isLong ? 200 : 24
    for number in 1..<most {
      var engine = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        family.capsule, with: family.secret, in: &engine, nowMilliseconds: now)
      _ = try engine.receive(
        try family.published(0, family.control), in: family.control, nowMilliseconds: now)
      try JoiningByInvitation.finish(
        opened, with: family.secret, person: EngineFamily.id(number + 500),
        personName: "P", deviceName: "d", in: &engine, nowMilliseconds: now)
      _ = try Sealing.seal(family.control, in: &engine)
      let own = try engine.store.log.segments(of: family.control).first {
        $0.author == engine.author
      }
      let bytes = try #require(
        try own.flatMap { try engine.store.log.bytes(of: $0.digest, in: family.control) })
      let start = ContinuousClock.now
      _ = try family.members[0].receive([bytes], in: family.control, nowMilliseconds: now)
      let taken = ContinuousClock.now - start
      if family.membership(0).devices.count == most {
        print("membership: one more device: \(bytes.count) bytes, \(taken)")
        #expect(bytes.count < 25_000)
      }
    }
    let size = family.membership(0).devices.count
    let start = ContinuousClock.now
    try Rekeying.rekey(
      [family.zone], of: family.group, in: &family.members[0], nowMilliseconds: now)
    #expect(size == most)
    print("membership: new key for \(size) devices: \(ContinuousClock.now - start)")
    _ = try Sealing.seal(family.control, in: &family.members[0])
    let last = try family.members[0].store.log.segments(of: family.control).filter {
      $0.author == family.members[0].author
    }.max { $0.last < $1.last }
    print("membership: in \(last?.byteCount ?? 0) bytes")
    #expect((last?.byteCount ?? .max) < 25_000)
  }

  @Test("A reader who joins by an invitation that is older than the keys is let in and given them")
  func readerUnderOldKeys() throws {
    var family = try EngineFamily(3)
    let invitation = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .reader, maximumUses: 1,
      expiresMilliseconds: EngineFamily.now * 2, in: &family.members[0], nowMilliseconds: now)
    try family.remove(2, by: 0)
    let late = try family.arrive(
      by: invitation.capsule, with: invitation.secret, meeting: 0, as: EngineFamily.id(9))
    try family.set(0, 1, 1)
    for _ in 0..<2 {
      for member in [0, 1, 3] {
        try Maintenance.maintain(in: &family.members[member], nowMilliseconds: now)
      }
      try family.meet([0, 1, 3])
    }
    #expect(family.membership(1).role(of: family.members[late].device) == .reader)
    #expect(try family.shown(3, 1) == .int(1))
  }

  @Test("What makes the next key is sealed under the one that others have, also after a restart")
  func restartUnderOldKeys() throws {
    var family = try EngineFamily(3)
    let invitation = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: EngineFamily.now * 2, in: &family.members[0],
      nowMilliseconds: EngineFamily.now)
    try family.remove(2, by: 0)
    let late = try family.arrive(
      by: invitation.capsule, with: invitation.secret, meeting: 0, as: EngineFamily.id(9))
    #expect(try family.members[late].zone(family.control).isEpochOver)
    family.members[late] = try EngineFamily.reopened(family.members[late])
    try Maintenance.maintain(in: &family.members[late], nowMilliseconds: now)
    try family.meet([0, 1, 3])
    #expect(family.membership(0).isActive(family.members[late].device))
    try family.set(3, 1, 1)
    try family.set(0, 2, 2)
    try family.meet([0, 1, 3])
    #expect(try family.shown(1, 1) == .int(1))
    #expect(try family.shown(3, 2) == .int(2))
  }
}

extension ProcessInfo {
  /// Whether long models are asked for.
  static var isLong: Bool { processInfo.environment["HEARTH_MEMBERSHIP_GRAPHS"] != nil }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

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
    #expect(try family.members[2].store.pending(in: family.zone).map(\.reason) == [.epoch])
    #expect(!family.membership(2).isActive(family.members[2].device))
    // The removed device is told, and writes nothing more.
    #expect(throws: SyncError(.notAllowed, "")) { try family.set(2, 5, 9) }
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
      let kept = try family.members[1].quarantined(in: family.group)
      #expect(kept.map(\.changes) == [2...3])
      #expect(kept.first?.author.device == family.members[2].device)
      // An admin takes them over as its own.
      try family.members[0].adopt(
        try #require(kept.first), in: family.group, nowMilliseconds: now)
      try family.meet([0, 1, 3])
      for member in [0, 1, 3] {
        #expect(try family.shown(member, 1) == .int(2))
        #expect(try family.shown(member, 2) == .int(3))
      }
      #expect(try family.members[1].quarantined(in: family.group).isEmpty)
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
      try family.members[member].rekey(
        [family.zone], of: family.group, nowMilliseconds: now)
      try family.set(member, 10 + member, 1)
    }
    try family.meet([0, 1, 2, 3])
    #expect(family.membership(2).newestEpochs(of: family.zone).count == 2)
    for member in 0..<4 {
      #expect(try family.shown(member, 10) == .int(1))
      #expect(try family.shown(member, 11) == .int(1))
      try family.members[member].maintain(nowMilliseconds: now)
    }
    try family.meet([0, 1, 2, 3])
    for member in 0..<4 {
      let newest = family.membership(member).newestEpochs(of: family.zone)
      #expect(newest.count == 1)
      #expect(newest.first?.grant.previous.count == 2)
      #expect(
        try family.members[member].zone(family.zone).currentEpoch?.id == newest.first?.grant.epoch)
    }
  }

  @Test("A key of thirty days is replaced, one of a day less is not")
  func age() throws {
    var family = try EngineFamily(2)
    let age = Engine<MemoryStore>.epochMilliseconds
    let before = try family.members[0].zone(family.zone).currentEpoch?.id
    try family.members[0].maintain(nowMilliseconds: now + age - 86_400_000)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id == before)
    try family.members[0].maintain(nowMilliseconds: now + age)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id != before)
  }

  @Test("Handing over, leaving and losing the last device go on with one owner")
  func ownership() throws {
    var family = try EngineFamily(3)
    let offer = try family.members[0].transferOwner(
      of: family.group, to: try family.person(1), nowMilliseconds: now)
    try family.meet([0, 1, 2])
    #expect(family.membership(1).offers.map(\.id) == [offer])
    try family.members[1].acceptOwner(of: family.group, offer: offer, nowMilliseconds: now)
    try family.meet([0, 1, 2])
    #expect(family.membership(2).owner == (try family.person(1)))
    #expect(family.membership(2).role(of: family.members[0].device) == .admin)
    #expect(throws: SyncError(.notAllowed, "")) {
      try family.members[1].leave(family.group, nowMilliseconds: now)
    }
    try family.set(0, 3, 3)
    try family.members[0].leave(family.group, nowMilliseconds: now)
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
    let invitation = try family.members[0].invite(
      to: family.group, named: "Home", role: .child, maximumUses: 1,
      expiresMilliseconds: now * 2, nowMilliseconds: now)
    try family.meet([0, 1])
    try family.send(0, to: [2])
    let opened = try family.members[2].beginJoining(
      invitation.capsule, with: invitation.secret, nowMilliseconds: now)
    try family.send(0, to: [2])
    try family.members[2].finishJoining(
      opened, with: invitation.secret, person: EngineFamily.id(3), personName: "P2",
      deviceName: "device 2", nowMilliseconds: now)
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
}

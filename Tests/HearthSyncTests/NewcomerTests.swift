import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Newcomers who read from their joining on")
struct NewcomerTests {
  private let now = EngineFamily.now

  @Test("The rule makes new keys that lead nowhere, and closes links that carry keys of before")
  func rule() throws {
    var world = try NewcomerWorld()
    #expect(world.family.membership(0).openInvites.count == 1)
    let asking = try world.invite(admission: .approve)
    let before = world.epochs(0)
    #expect(throws: SyncError(.notAllowed, "")) { try world.setRule(.fromJoin, by: 1) }
    try world.setRule(.fromJoin, by: 2)
    try world.sync(all: [2, 0, 1])
    let made = try #require(world.epochs(0).last)
    #expect(world.epochs(0).count == before.count + 1)
    #expect(made.grant.history.isEmpty && !made.grant.previous.isEmpty)
    for member in 0..<3 {
      #expect(world.family.membership(member).newcomers == .fromJoin)
      #expect(try world.zone(member).writeEpoch == made.grant.epoch)
      #expect(world.family.membership(member).voided.isEmpty)
    }
    // The one that carries nothing stays open.
    #expect(world.family.membership(0).openInvites.isEmpty)
    let left = world.family.membership(0).invites.filter { !$0.isClosed }
    #expect(
      left.map(\.operation.invite)
        == [try Identifier(checking: asking.secret.publicKeys.inviteID)])
    // Saying it again changes nothing.
    try world.setRule(.fromJoin)
    #expect(world.epochs(0).count == before.count + 1)
  }

  @Test(
    "Who comes, at once or by approval, begins from a snapshot and opens nothing of before",
    arguments: [ControlOperation.Admission.auto, .approve])
  func coming(admission: ControlOperation.Admission) throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    try world.sync(all: [0, 1, 2])
    try world.family.set(1, 3, 77)
    try world.sync(all: [1, 0, 2])
    // Written on the inviting device, and given to nobody yet.
    try world.family.set(0, 5, 78)
    let made = try world.invite(admission: admission)
    try world.sync(0)
    var before = try world.names
    let nina: Int
    if admission == .auto {
      nina = try world.follow(made)
    } else {
      try world.family.set(0, 6, 79)
      nina = try world.askAndEnter(made, approvedBy: 0)
      before = try world.names
    }
    #expect(try world.digest(nina) == world.digest(0))
    #expect(try world.family.shown(nina, 5) == .int(78))
    #expect(world.reports[nina]?.problems.isEmpty == true)
    #expect(try world.family.members[nina].store.snapshots.base(of: world.family.zone) != nil)
    #expect(try world.openable(by: nina).isDisjoint(with: before))
    #expect(try !world.waits(nina))
    // From here on everybody reads everybody.
    for member in [0, 1, 2, nina] {
      try world.sync(member)
      try world.family.set(member, 7, Int64(member))
    }
    try world.sync(all: [nina, 1, 2, 0])
    for member in [1, 2, nina] { #expect(try world.digest(member) == world.digest(0)) }
    #expect(try world.openable(by: nina).isDisjoint(with: before))
    #expect(try world.openable(by: 0) == world.names)
    #expect(
      try ZoneAudit(engine: world.family.members[nina]).audit(world.family.zone).findings.isEmpty)
    let membership = world.family.membership(nina)
    #expect(membership.complaints(by: world.family.members[nina].device) == 0)
    #expect(membership.resolver.findings.index[.wrapAdd].isEmpty, "it had every key")
    for epoch in world.epochs(nina) { #expect(membership.keys.isValid(epoch)) }
  }

  @Test("A further device reads what its person reads, be it the founder's or a newcomer's")
  func furtherDevices() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    let made = try world.invite()
    try world.sync(all: [0, 1, 2])
    let nina = try world.follow(made)
    try world.family.set(nina, 1, 40)
    try world.sync(all: [nina, 0, 1, 2])
    for owner in [0, nina] {
      let person = try world.family.person(owner)
      let epochs = world.epochs(0).count
      let link = try world.invite(
        by: owner, role: try #require(world.family.membership(0).person(person)).role,
        person: person)
      #expect(world.epochs(owner).count == epochs, "its person reads it already")
      try world.sync(owner)
      let device = try world.follow(link, as: person)
      #expect(try world.digest(device) == world.digest(0))
      #expect(try world.openable(by: device) == world.openable(by: owner))
      #expect(world.reports[device]?.problems.isEmpty == true)
      try world.family.set(device, 2, 41)
      try world.sync(all: [device, 0, 1, 2, nina])
      #expect(try world.digest(device) == world.digest(1))
      #expect(try world.openable(by: device) == world.openable(by: owner))
    }
  }

  @Test("Who was removed and comes again reads from the second coming on")
  func comingAgain() throws {
    var world = try NewcomerWorld()
    let cara = try world.family.person(1)
    try world.setRule(.fromJoin)
    try world.family.remove(1, by: 0)
    try world.sync(all: [0, 2])
    try world.family.set(0, 4, 55)
    try world.sync(all: [0, 2])
    let between = try world.names.subtracting(world.openable(by: 1))
    #expect(!between.isEmpty)
    let made = try world.invite(person: cara)
    try world.sync(0)
    let again = try world.follow(made, as: cara)
    try world.sync(all: [0, 2, again])
    #expect(try world.digest(again) == world.digest(0))
    #expect(try world.openable(by: again).isDisjoint(with: between))
    #expect(try world.family.person(again) == cara)
  }

  @Test("Changes that come late under an old key reach a newcomer with the next snapshot")
  func late() throws {
    var world = try NewcomerWorld()
    try world.sealLateChange()
    try world.setRule(.fromJoin)
    let made = try world.invite()
    try world.sync(all: [0, 2])
    let nina = try world.follow(made)
    try world.family.set(nina, 4, 67)
    try world.sync(1)
    try world.family.set(1, 5, 68)
    try world.sync(1)
    let late = try world.names.subtracting(world.openable(by: nina))
    try world.family.set(nina, 6, 69)
    try world.sync(nina)
    // Nothing of Ben's counts there yet, and Nina's own is not lost.
    #expect(try world.waits(nina))
    #expect(try world.family.shown(nina, 5) == .int(5))
    try world.family.set(nina, 8, 70)
    try world.sync(0)
    #expect(world.reports[0]?.publishedSnapshots == 1)
    try world.sync(nina)
    #expect(world.reports[nina]?.begunFromSnapshots == 1)
    #expect(try !world.waits(nina))
    #expect(try world.family.members[nina].store.pending.segments(in: world.family.zone).isEmpty)
    try world.sync(all: [0, 1, 2, nina])
    for member in [1, 2, nina] { #expect(try world.digest(member) == world.digest(0)) }
    for (record, value) in [(3, 66), (4, 67), (5, 68), (6, 69), (8, 70)] {
      #expect(try world.family.shown(nina, record) == .int(Int64(value)))
    }
    #expect(try world.openable(by: nina).isDisjoint(with: late))
    #expect(
      try ZoneAudit(engine: world.family.members[nina]).audit(world.family.zone).findings.isEmpty)
  }

  @Test("What a lost device had left under an old key comes to the same for a newcomer")
  func lostDevice() throws {
    var world = try NewcomerWorld()
    let stick = try world.sealLateChange()
    try world.setRule(.fromJoin)
    try MemberChanges.revoke(
      world.family.members[1].device, from: world.family.group, in: &world.family.members[0],
      nowMilliseconds: now)
    let made = try world.invite()
    try world.sync(all: [0, 2])
    let nina = try world.follow(made)
    // Somebody finds the stick: the change is beyond the cut, and counts for nothing.
    for (name, bytes) in stick.segments { world.shelf.segments[name] = bytes }
    try world.sync(nina)
    #expect(try world.waits(nina))
    try world.sync(all: [0, 2, nina])
    #expect(try !world.waits(nina))
    #expect(world.reports[nina]?.problems.isEmpty == true)
    #expect(try world.family.shown(nina, 3) == .int(3))
    for member in [2, nina] { #expect(try world.digest(member) == world.digest(0)) }
  }

  @Test("Who finds no snapshot waits, may write, and goes on when there is one")
  func withoutSnapshot() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    let made = try world.invite()
    try world.sync(0)
    for name in world.shelf.blobs.keys { world.shelf.remove(name) }
    let nina = try world.follow(made)
    #expect(try world.zone(nina).frontier.isEmpty)
    #expect(try world.waits(nina))
    try world.family.set(nina, 40, 41)
    try world.sync(nina)
    try world.family.set(nina, 41, 42)
    try world.sync(0)
    try world.sync(nina)
    #expect(try !world.waits(nina))
    #expect(try world.family.shown(nina, 41) == .int(42))
    try world.sync(all: [nina, 0, 1, 2])
    for member in [1, 2, nina] { #expect(try world.digest(member) == world.digest(0)) }
  }

  @Test("A later snapshot that lacks what is here is not taken, and not fetched again")
  func lacking() throws {
    var world = try NewcomerWorld()
    let stick = try world.sealLateChange()
    try world.setRule(.fromJoin)
    let made = try world.invite()
    try world.sync(all: [0, 2])
    // What the first snapshot holds of the owner's last changes the second admin has not got.
    let admin = world.family.members[2]
    try world.family.set(0, 9, 90)
    let again = try world.invite()
    try world.sync(0)
    let nina = try world.follow(again)
    let digest = try world.digest(nina)
    let other = MemoryShelf()
    other.segments = world.shelf.segments
    for (name, bytes) in stick.segments { other.segments[name] = bytes }
    world.family.members[2] = admin
    let known = Set(try admin.store.log.segments(of: world.family.zone).map(\.digest))
    let ahead = try world.names.filter { name in !known.contains(name.digest) }
    for name in ahead { other.segments[name] = nil }
    try world.sync(2, over: other)
    #expect(!other.snapshots.isEmpty)
    for (name, bytes) in world.shelf.segments { other.segments[name] = bytes }
    try world.sync(nina, over: other)
    #expect(world.reports[nina]?.begunFromSnapshots == 0)
    #expect(try world.digest(nina) == digest)
    #expect(try world.waits(nina))
    let bytes = world.reports[nina]?.receivedBytes ?? 0
    try world.sync(nina, over: other)
    #expect(bytes > 0 && world.reports[nina]?.receivedBytes == 0, "it is remembered")
    _ = made
  }
}

extension Membership {
  /// How often a device complained of a key.
  func complaints(by device: DeviceID) -> Int {
    resolver.findings.index[.complaint].count { resolver.findings.log.items[$0].device == device }
  }
}

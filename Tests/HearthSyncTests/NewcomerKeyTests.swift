import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Keys and snapshots where newcomers read from their joining on")
struct NewcomerKeyTests {
  private let now = EngineFamily.now

  @Test("Where newcomers read everything only a link that is used up makes a key")
  func unchanged() throws {
    var world = try NewcomerWorld()
    let names = try world.names
    let before = world.family.membership(0).audit().count
    try world.setRule(.full)
    let made = try world.invite()
    let asking = try world.invite(admission: .approve)
    try world.sync(0)
    let nina = try world.follow(made)
    let otto = try world.askAndEnter(asking, approvedBy: 0)
    try world.sync(all: [0, 1, 2, nina, otto])
    // The rule, two invitations, who joined and who was let in, the closing of the link that was
    // used up with the key that goes with it, the confirmation: and no other key.
    let kinds = world.family.membership(0).audit().dropFirst(before).map(\.operation.kind)
    #expect(kinds.sorted() == [2, 3, 3, 4, 5, 7, 21, 24])
    #expect(try world.names == names)
    #expect(world.shelf.snapshots.isEmpty)
    #expect(try world.openable(by: nina) == world.names)
    #expect(try world.digest(otto) == world.digest(0))
    #expect(try world.family.members[nina].store.snapshots.base(of: world.family.zone) == nil)
    let given = world.shelf.bytesGiven
    try world.sync(all: [0, 1, 2, nina, otto])
    #expect(world.shelf.bytesGiven == given)
  }

  @Test("Setting the rule back opens nothing that was closed, and later keys lead back to there")
  func setBack() throws {
    var world = try NewcomerWorld()
    let first = try world.names
    try world.setRule(.fromJoin)
    try world.family.set(0, 1, 31)
    try world.sync(all: [0, 1, 2])
    _ = try world.invite()
    try world.family.set(0, 2, 32)
    try world.sync(all: [0, 1, 2])
    let closed = try world.names
    try world.setRule(.full)
    #expect(try #require(world.epochs(0).last).grant.history.isEmpty)
    try world.family.set(1, 3, 33)
    try world.sync(all: [0, 1, 2])
    try Rekeying.rekey(
      [world.family.zone], of: world.family.group, in: &world.family.members[0],
      nowMilliseconds: now)
    let link = try #require(world.epochs(0).last).grant
    #expect(link.history.map(\.epoch) == link.previous)
    try world.family.set(2, 4, 34)
    try world.sync(all: [0, 2, 1])
    let opened = try world.names.subtracting(closed)
    #expect(first.isStrictSubset(of: closed) && opened.count > 1)
    for admission in [ControlOperation.Admission.auto, .approve] {
      let made = try world.invite(admission: admission)
      try world.sync(0)
      let nina =
        try admission == .auto ? world.follow(made) : world.askAndEnter(made, approvedBy: 0)
      try world.sync(all: [0, 1, 2, nina])
      #expect(try world.openable(by: nina) == world.names.subtracting(closed))
      #expect(try world.digest(nina) == world.digest(0))
      #expect(world.reports[nina]?.problems.isEmpty == true)
    }
    // Who reads from the joining on reads everything from there on, whatever the rule is later.
    #expect(try world.openable(by: 1) == world.names)
  }

  @Test("Merging small segments puts nothing of before under a key that newcomers get")
  func merging() throws {
    var world = try NewcomerWorld()
    for number in 0..<Compaction.compactionThreshold - 8 {
      try world.family.set(0, number % 7, Int64(number))
      _ = try Sealing.seal(world.family.zone, in: &world.family.members[0])
    }
    try world.sync(0)
    for rule in [ControlOperation.Newcomers.fromJoin, .full] {
      let last = try world.zone(0).head(of: world.family.members[0].author).sequence
      try world.setRule(rule)
      for number in 0..<Compaction.compactionThreshold + 4 {
        try world.family.set(0, number % 7, Int64(number))
        _ = try Sealing.seal(world.family.zone, in: &world.family.members[0])
      }
      try world.sync(0)
      let made = try world.invite()
      try world.sync(0)
      let nina = try world.follow(made)
      let own = try world.zone(0).authorTag(of: world.family.members[0].device)
      #expect(try world.openable(by: nina).allSatisfy { $0.authorTag != own || $0.first > last })
      #expect(try world.digest(nina) == world.digest(0))
    }
    // What is under one key was merged.
    let small = try world.family.members[0].store.log.segments(of: world.family.zone)
    #expect(small.count < 2 * Compaction.compactionThreshold)
  }

  @Test("A link that somebody put into a key against the rule is not followed")
  func patchedLink() throws {
    var world = try NewcomerWorld()
    let old = try world.names
    try world.setRule(.fromJoin)
    let made = try world.invite()
    try world.sync(all: [0, 1, 2])
    let nina = try world.follow(made)
    try world.sync(all: [0, 1, 2, nina])
    // Ben's patched program makes a key that tells all that it has.
    let zone = try world.zone(1)
    let key = try EpochKey.random(groupID: world.family.group.bytes, zoneID: zone.id.bytes)
    let readers = world.family.membership(1).devices.sorted { $0.id < $1.id }
    let grant = ControlOperation.EpochGrant(
      zone: zone.id, epoch: key.id,
      previous: world.family.membership(1).keys.newestEpochs(of: zone.id).map(\.grant.epoch),
      wraps: try readers.map {
        .init(
          recipient: $0.id, sealed: try key.sealKey(to: BoxPublicKey(validating: $0.card.boxKey)))
      },
      history: try zone.epochs.map {
        .init(epoch: $0.id, sealed: try key.wrapHistory(previous: $0))
      })
    _ = try GroupOperations.perform(
      [.epoch(grant)], in: world.family.group, by: &world.family.members[1], nowMilliseconds: now)
    try world.sync(all: [1, 0, 2, nina])
    #expect(try world.zone(nina).holdsEpoch(key.id))
    #expect(try world.openable(by: nina).isDisjoint(with: old))
    #expect(try world.openable(by: 0) == world.names)
  }

  @Test("A key that somebody made who had not heard of the rule is not written under")
  func unaware() throws {
    var world = try NewcomerWorld()
    let old = try world.names
    try Rekeying.rekey(
      [world.family.zone], of: world.family.group, in: &world.family.members[1],
      nowMilliseconds: now)
    let unaware = try #require(world.epochs(1).last)
    #expect(!unaware.grant.history.isEmpty)
    try world.setRule(.fromJoin)
    try world.sync(all: [0, 1, 2])
    for member in 0..<3 {
      #expect(try world.zone(member).writeEpoch != unaware.grant.epoch)
      #expect(try !world.zone(member).isEpochOver)
    }
    let made = try world.invite()
    try world.sync(0)
    let nina = try world.follow(made)
    try world.sync(all: [0, 1, 2, nina])
    #expect(try !world.zone(nina).holdsEpoch(unaware.grant.epoch))
    #expect(try world.openable(by: nina).isDisjoint(with: old))
    #expect(try world.digest(nina) == world.digest(1))
  }

  @Test(
    "Nobody writes under a key whose maker had not heard of who comes, however deep it is",
    arguments: [3, 7, 21] as [UInt8])
  func unheardOf(kind: UInt8) throws {
    var world = try NewcomerWorld()
    if kind != 21 { try world.setRule(.fromJoin) }
    let asking = try world.invite(admission: .approve)
    try world.sync(all: [0, 1, 2])
    switch kind {
    case 3: _ = try world.invite()
    case 7:
      var engine = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        asking.capsule, with: asking.secret, in: &engine, nowMilliseconds: now)
      let asked = try ApprovalRequests(engine: engine).requestToJoin(
        opened, with: asking.secret, person: EngineFamily.id(90), personName: "Otto",
        deviceName: "watch", slot: 0)
      let request = try ApprovalRequests(engine: world.family.members[0]).open(
        request: asked.bytes, to: world.family.group)
      _ = try Approval.approve(
        request, named: "Home", in: &world.family.members[0], nowMilliseconds: now)
    default: try world.setRule(.fromJoin)
    }
    let made = try #require(world.epochs(0).last).grant.epoch
    for _ in 0..<3 {
      try Rekeying.rekey(
        [world.family.zone], of: world.family.group, in: &world.family.members[1],
        nowMilliseconds: now)
    }
    // Each learns of the other, and nobody joins the two yet.
    try world.family.meet([0, 1, 2])
    for member in 0..<3 { #expect(try world.zone(member).writeEpoch == made) }
  }

  @Test("A later key leads to none whose maker had not heard of a change of the rule")
  func unheardOfLink() throws {
    var world = try NewcomerWorld()
    let old = try world.names
    try Rekeying.rekey(
      [world.family.zone], of: world.family.group, in: &world.family.members[1],
      nowMilliseconds: now)
    let unaware = try #require(world.epochs(1).last).grant.epoch
    try world.setRule(.fromJoin)
    try world.setRule(.full)
    try world.sync(all: [0, 1, 2])
    let joining = try #require(world.epochs(0).last).grant
    #expect(joining.previous.contains(unaware) && joining.previous.count == 2)
    #expect(joining.history.map(\.epoch) == joining.previous.filter { $0 != unaware })
    let made = try world.invite()
    try world.sync(0)
    let nina = try world.follow(made)
    #expect(try world.openable(by: nina).isDisjoint(with: old))
    #expect(try world.digest(nina) == world.digest(0))
  }

  @Test("An admin who came later sums up what was before the own coming, too")
  func laterAdmin() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    let made = try world.invite(role: .admin)
    try world.sync(all: [0, 1, 2])
    let nina = try world.follow(made)
    for name in world.shelf.blobs.keys { world.shelf.remove(name) }
    try world.sync(nina)
    #expect(world.reports[nina]?.publishedSnapshots == 1)
    let next = try world.invite(by: nina)
    try world.sync(nina)
    let otto = try world.follow(next)
    #expect(try world.digest(otto) == world.digest(0))
  }

  @Test("What waits behind a late change is judged like any other when a snapshot closes the gap")
  func judgedBehind() throws {
    var world = try NewcomerWorld(4)
    let stick = MemoryShelf()
    try world.family.set(1, 3, 66)
    try world.sync(1, over: stick)
    try world.setRule(.fromJoin)
    let made = try world.invite()
    try world.sync(all: [0, 2])
    let nina = try world.follow(made)
    try world.sync(all: [0, 1])
    let old = try #require(world.zone(1).writeEpoch)
    try world.family.remove(3, by: 0)
    try world.sync(all: [0, 1])
    // Ben's patched program seals under a key that the removed one has, whose removal it cites.
    try world.family.set(1, 4, 67)
    let patched = world.family.members[1]
    var zone = try world.zone(1)
    #expect(zone.writeEpoch != old)
    zone.writeEpoch = old
    let sealed = try patched.store.transaction { [zone] in
      try Sealing.sealChanges(of: patched.author, in: zone, by: patched)
    }
    #expect(sealed == 1)
    for (name, _) in world.shelf.blobs where name.kind == .snapshot { world.shelf.remove(name) }
    try world.sync(1)
    try world.sync(nina)
    #expect(try world.waits(nina))
    try world.sync(all: [0, nina])
    #expect(try !world.waits(nina))
    #expect(try world.family.shown(0, 4) == .int(4))
    #expect(try world.digest(nina) == world.digest(0))
  }

  @Test("Of the keys made between inviting and joining the newcomer gets all, of those before none")
  func handedOn() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    try world.sync(all: [0, 1, 2])
    let old = try world.names
    let made = try world.invite()
    try world.sync(all: [0, 1, 2])
    try Rekeying.rekey(
      [world.family.zone, world.family.control], of: world.family.group,
      in: &world.family.members[1], nowMilliseconds: now)
    try world.family.set(1, 2, 50)
    try world.sync(all: [1, 0, 2])
    let nina = try world.follow(made)
    try world.sync(all: [1, nina])
    #expect(try world.openable(by: nina) == world.names.subtracting(old))
    try world.sync(all: [0, 1, 2, nina])
    #expect(try world.digest(nina) == world.digest(1))
    // Of the members' log nobody can tell which key is lacking; of the records none is.
    let complaints = world.family.membership(nina).audit().filter { entry in
      if case .complaint(world.family.zone, _, _) = entry.operation { true } else { false }
    }
    #expect(complaints.isEmpty)
  }

  @Test("The snapshot that an open link leads to stays until the link is used")
  func promised() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    let made = try world.invite()
    try world.sync(all: [0, 1, 2])
    let digest = try world.digest(0)
    for number in 0..<4 {
      try Rekeying.rekey(
        [world.family.zone], of: world.family.group, in: &world.family.members[0],
        nowMilliseconds: now)
      try world.family.set(0, number, 60 + Int64(number))
      try world.sync(0)
    }
    let kept = SnapshotPlan.keptSnapshots + 1
    #expect(world.shelf.snapshots.count == kept)
    let nina = try world.follow(made)
    #expect(try world.digest(nina) == digest)
    #expect(try world.waits(nina) == false)
    try world.sync(all: [0, nina])
    #expect(try world.digest(nina) == world.digest(0))
    try Rekeying.rekey(
      [world.family.zone], of: world.family.group, in: &world.family.members[0],
      nowMilliseconds: now)
    try world.sync(0)
    #expect(world.shelf.snapshots.count == SnapshotPlan.keptSnapshots)
  }

  @Test("A snapshot that newcomers need is given once, and again where it is gone")
  func given() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    try world.sync(0)
    #expect(world.reports[0]?.publishedSnapshots == 1)
    for member in [0, 2, 1, 0, 2] {
      try world.sync(member)
      #expect(world.reports[member]?.publishedSnapshots == 0)
    }
    let first = world.shelf.snapshots
    // What is under the key of now needs none.
    try world.family.set(1, 1, 9)
    try world.sync(all: [1, 2, 0])
    #expect(world.shelf.snapshots == first)
    for name in world.shelf.blobs.keys where name.kind == .snapshot { world.shelf.remove(name) }
    try world.sync(1)
    #expect(world.shelf.snapshots.isEmpty, "a member's counts for nothing")
    try world.sync(2)
    #expect(world.shelf.snapshots.count == 1)
    // Over another way that never had one, and under the next key.
    let other = MemoryShelf()
    try world.sync(2, over: other)
    #expect(other.snapshots.count == 1)
    try Rekeying.rekey(
      [world.family.zone], of: world.family.group, in: &world.family.members[0],
      nowMilliseconds: now)
    try world.sync(0)
    #expect(world.reports[0]?.publishedSnapshots == 1)
  }

  @Test("A newcomer who rests on what a removal took back goes on from a later snapshot")
  func removal() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    try world.sync(all: [0, 1, 2])
    // The second admin removes Ben without his last change; the owner sums it up before that.
    let before = world.family.members[2]
    try world.family.set(1, 3, 91)
    let made = try world.invite()
    try world.sync(all: [1, 0])
    let nina = try world.follow(made)
    #expect(try world.family.shown(nina, 3) == .int(91))
    world.family.members[2] = before
    try world.family.remove(1, by: 2)
    try world.sync(2)
    try world.sync(nina)
    try world.sync(all: [0, 2])
    try world.sync(nina)
    #expect(world.reports[nina]?.problems.isEmpty == true)
    try world.sync(all: [0, 2, nina])
    #expect(try world.family.shown(0, 3) == .int(3))
    for member in [2, nina] { #expect(try world.digest(member) == world.digest(0)) }
  }

  @Test("A snapshot that cannot be replaced is not tried against the same log at every sync")
  func keptBase() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    try world.sync(all: [0, 1, 2])
    // What the admin sums up the owner cuts off, who has not seen it.
    try world.family.set(1, 3, 66)
    try world.sync(1)
    try world.sync(2)
    let made = try world.invite(by: 2)
    try world.sync(2)
    let nina = try world.follow(made)
    #expect(try world.family.shown(nina, 3) == .int(66))
    try world.family.remove(1, by: 0)
    try world.sync(0)
    for name in world.shelf.blobs.keys where name.kind == .snapshot { world.shelf.remove(name) }
    for round in 0..<3 {
      try world.sync(nina)
      let report = try #require(world.reports[nina])
      #expect(report.problems.contains { $0.fault.contains("still uses a wrong snapshot") })
      #expect((report.receivedBytes == 0) == (round > 0), "round \(round)")
    }
    // A snapshot of somebody who knows ends it.
    try world.sync(2)
    try world.sync(nina)
    #expect(world.reports[nina]?.begunFromSnapshots == 1)
    #expect(try world.digest(nina) == world.digest(2))
  }
}

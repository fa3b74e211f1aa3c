import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Snapshots that others attest, and whose word a newcomer from joining waits for")
struct AttestingTests {
  private let now = NewcomerWorld.now

  /// An owner and three admins, whose newcomers read from their joining on.
  private func world(_ rule: ControlOperation.Newcomers = .fromJoin) throws -> NewcomerWorld {
    var world = try NewcomerWorld(4)
    for member in [1, 2] { try world.family.setRole(member, .admin, by: 0) }
    if rule == .fromJoin { try world.setRule(rule) }
    try world.sync(all: [0, 1, 2, 3])
    return world
  }

  /// An invitation by a member whose own snapshot for it is gone.
  private func inviteAlone(_ world: inout NewcomerWorld, by member: Int) throws -> MadeInvitation {
    let made = try world.invite(by: member)
    try world.sync(member)
    // The others hear of the new key, and what they say of themselves goes again.
    for other in 0..<4 where other != member { try take(other, &world) }
    clear(world)
    return made
  }

  /// Something new, which all have who are named, and of which nobody has said anything yet.
  private func news(_ world: inout NewcomerWorld, _ record: Int, for members: [Int]) throws {
    try world.family.set(0, record, 70 + Int64(record))
    _ = try Sealing.seal(world.family.zone, in: &world.family.members[0])
    for blob in try world.family.published(0, world.family.zone) {
      for member in members where member != 0 {
        _ = try world.family.members[member].receive(
          [blob], in: world.family.zone, nowMilliseconds: now)
      }
    }
    try world.sync(0)
  }

  private func clear(_ world: NewcomerWorld) {
    for name in world.shelf.blobs.keys where name.kind == .snapshot { world.shelf.remove(name) }
  }

  private func take(_ member: Int, _ world: inout NewcomerWorld) throws {
    _ = try world.family.members[member].take(
      from: world.shelf, named: "shelf", anchorFile: ForgetfulAnchor(), nowMilliseconds: now)
  }

  private func publish(_ member: Int, in world: NewcomerWorld) throws {
    let chunks = try SnapshotMaking.snapshot(
      of: world.family.zone, in: world.family.members[member])
    let tag = try world.zone(0).tag
    for (name, chunk) in zip(SnapshotPlan.names(of: chunks, zoneTag: tag), chunks) {
      try world.shelf.publish(name, chunk)
    }
  }

  private func attested(by member: Int, as seen: Int, in world: NewcomerWorld) -> Int {
    let device = world.family.members[member].device
    return world.family.membership(seen).audit().count {
      guard case .snapshotAttest = $0.operation else { return false }
      return $0.device == device
    }
  }

  private func faults(_ member: Int, in world: NewcomerWorld) -> String {
    (world.reports[member]?.problems ?? []).map { "\($0.place): \($0.fault); \($0.remedy)" }
      .joined(separator: "\n")
  }

  @Test("Another admin's snapshot alone is not believed; the newcomer is told whom it waits for")
  func waits() throws {
    var world = try world()
    let truth = try world.digest(0)
    let made = try inviteAlone(&world, by: 1)
    try world.lie(3)
    try publish(3, in: world)
    let nina = try world.follow(made)
    #expect(world.reports[nina]?.begunFromSnapshots == 0)
    #expect(try world.waits(nina))
    #expect(try world.zone(nina).frontier.isEmpty)
    #expect(
      faults(nina, in: world).contains("P3 made this snapshot and did not let this device in"))
    #expect(faults(nina, in: world).contains("waits for a snapshot by P1, or a second person"))
    #expect(
      SnapshotTrust(engine: world.family.members[nina]).awaitedVoices(in: world.family.group).map(
        \.name) == ["P1"])
    // Who invited it sees the lie, names the liar, and gives its own word.
    try world.sync(1)
    #expect(faults(1, in: world).contains("P3 made this snapshot, but it does not match"))
    #expect(world.reports[1]?.publishedSnapshots == 1)
    try world.sync(nina)
    #expect(world.reports[nina]?.begunFromSnapshots == 1)
    #expect(try !world.waits(nina))
    #expect(try world.digest(nina) == truth)
  }

  @Test("Whoever let a newcomer in attests another admin's snapshot, once, and it is believed")
  func introducerAttests() throws {
    var world = try world()
    let truth = try world.digest(0)
    let made = try inviteAlone(&world, by: 1)
    try publish(3, in: world)
    let before = world.shelf.snapshots
    for _ in 0..<3 { try world.sync(1) }
    #expect(world.shelf.snapshots == before, "nobody repeats what is attested")
    #expect(attested(by: 1, as: 1, in: world) == 1)
    let nina = try world.follow(made)
    #expect(try world.family.members[nina].store.snapshots.base(of: world.family.zone) != nil)
    #expect(world.reports[nina]?.problems.isEmpty == true)
    #expect(try world.digest(nina) == truth)
  }

  /// A further person whom a member let in, or with depth 2 whom that person let in.
  private func puppet(of member: Int, depth: Int, _ world: inout NewcomerWorld) throws -> Int {
    let made = try world.invite(by: member, role: .member)
    try world.sync(member)
    let puppet = try world.follow(made)
    try world.sync(all: [0, puppet])
    guard depth > 1 else { return puppet }
    try world.family.setRole(puppet, .admin, by: 0)
    try world.sync(all: [0, puppet])
    let next = try world.invite(by: puppet)
    try world.sync(puppet)
    return try world.follow(next)
  }

  /// A puppet attests what its maker holds, and tells the maker alone.
  private func attest(for maker: Int, by puppet: Int, _ world: inout NewcomerWorld) throws {
    let zone = try world.family.members[maker].zone(world.family.zone)
    let attest = ControlOperation.ZoneDigest(
      zone: world.family.zone, mark: SnapshotMark.mark(of: zone.heads, []),
      digest: try world.digest(maker))
    try GroupOperations.perform(
      [.snapshotAttest(attest)], in: world.family.group, by: &world.family.members[puppet],
      nowMilliseconds: now)
    _ = try Sealing.seal(world.family.control, in: &world.family.members[puppet])
    for blob in try world.family.published(puppet, world.family.control) {
      let control = try world.family.members[maker].zone(world.family.control)
      _ = try world.family.members[maker].receive([blob], in: control.id, nowMilliseconds: now)
    }
    let pushed = try world.family.members[maker].store.log.segments(of: world.family.control)
    #expect(!pushed.isEmpty)
  }

  @Test("A second person who attests is enough, unless the maker let that person in")
  func secondPerson() throws {
    // By a member whom the owner let in; by a puppet of the maker; by a puppet's puppet.
    for (depth, isBelieved) in [(0, true), (1, false), (2, false)] {
      var world = try world(.full)
      try world.family.setRole(2, .member, by: 0)
      try world.sync(all: [0, 2, 3])
      let attester = depth == 0 ? 2 : try puppet(of: 3, depth: depth, &world)
      try world.setRule(.fromJoin)
      try world.sync(all: [0, 1, 2, 3])
      let made = try inviteAlone(&world, by: 1)
      try take(attester, &world)
      try news(&world, 7, for: [1, 2, 3, attester])
      clear(world)
      let before = attested(by: attester, as: attester, in: world)
      try world.lie(3)
      try publish(3, in: world)
      if depth == 0 {
        // Honest ones attest what they hold, so this one holds the lie.
        try world.lie(attester)
      }
      if depth > 0 {
        try attest(for: 3, by: attester, &world)
        try world.sync(3)
      } else {
        try world.sync(attester)
      }
      let seen = attested(by: attester, as: depth > 0 ? 3 : attester, in: world)
      #expect(seen == before + 1, "depth \(depth)")
      let nina = try world.follow(made)
      let base = try world.family.members[nina].store.snapshots.base(of: world.family.zone)
      #expect((base != nil) == isBelieved, "depth \(depth)")
    }
  }

  @Test("A snapshot that was believed and is wrong is told of, with the name of who made it")
  func wrongBase() throws {
    var world = try world()
    try news(&world, 7, for: [1, 2, 3])
    let truth = try world.digest(0)
    try world.lie(3)
    let made = try world.invite(by: 3)
    try world.sync(3)
    let nina = try world.follow(made)
    #expect(try world.digest(nina) != truth)
    #expect(
      try AttestationCheck(engine: world.family.members[nina]).refutedBase(of: world.family.zone)
        == nil)
    try world.sync(0)
    #expect(faults(0, in: world).contains("P3 made this snapshot, but it does not match"))
    try world.sync(nina)
    #expect(
      faults(nina, in: world).contains(
        "began from a snapshot by P3 that does not match the changes, as attested by Anna")
    )
    let refuted = try #require(
      try AttestationCheck(engine: world.family.members[nina]).refutedBase(of: world.family.zone))
    #expect(refuted.maker == "P3" && refuted.others == ["Anna"])
  }

  @Test("Who began from a snapshot attests nothing, as it knows only what was said")
  func noHearsay() throws {
    var world = try world()
    let made = try world.invite(by: 0, role: .admin)
    try world.sync(0)
    let nina = try world.follow(made)
    try world.sync(all: [nina, 0, 3])
    try news(&world, 7, for: [1, 2, 3, nina])
    clear(world)
    try publish(2, in: world)
    for _ in 0..<2 { try world.sync(nina) }
    #expect(attested(by: nina, as: nina, in: world) == 0)
    let before = attested(by: 1, as: 1, in: world)
    try world.sync(1)
    #expect(attested(by: 1, as: 1, in: world) == before + 1)
  }

  @Test("Where nobody who let a newcomer in is an admin any more, the owner's word counts")
  func ownerSpeaks() throws {
    var world = try world()
    let truth = try world.digest(0)
    let made = try inviteAlone(&world, by: 1)
    try publish(0, in: world)
    let nina = try world.follow(made)
    #expect(world.reports[nina]?.begunFromSnapshots == 0)
    // The owner hears of Nina before the inviter loses the rank.
    try take(0, &world)
    try Maintenance.maintain(in: &world.family.members[0], nowMilliseconds: now)
    try world.family.setRole(1, .member, by: 0)
    try world.sync(0)
    try world.sync(nina)
    #expect(
      SnapshotTrust(engine: world.family.members[nina]).awaitedVoices(in: world.family.group).map(
        \.name) == ["Anna"])
    #expect(try world.digest(nina) == truth)
  }

  @Test("Where newcomers read everything, an attested snapshot spares them the changes")
  func fullRule() throws {
    for isAttested in [false, true] {
      var world = try world(.full)
      try publish(3, in: world)
      if isAttested { try world.sync(1) }
      let made = try world.invite(by: 1)
      var family = world.family
      _ = try Sealing.seal(family.control, in: &family.members[1])
      world.family = family
      // The invitation goes up without a look at the snapshot.
      for blob in try world.family.published(1, world.family.control) {
        _ = try world.family.members[0].receive(
          [blob], in: world.family.control, nowMilliseconds: now)
      }
      clear(world)
      try world.sync(0)
      try publish(3, in: world)
      var nina = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &nina, nowMilliseconds: now)
      var report = TransportReport(setting: "shelf")
      try nina.pull(
        world.family.control, from: world.shelf, anchorFile: ForgetfulAnchor(),
        nowMilliseconds: now, &report)
      try JoiningByInvitation.finish(
        opened, with: made.secret, person: EngineFamily.id(900), personName: "Nina",
        deviceName: "tablet", in: &nina, nowMilliseconds: now)
      world.family.members.append(nina)
      try world.sync(4)
      #expect((world.reports[4]?.begunFromSnapshots == 1) == isAttested)
      #expect(try world.digest(4) == world.digest(0))
    }
  }

  @Test("An attestation has one spelling, and nothing may be missing or follow")
  func bytes() throws {
    let attest = ControlOperation.snapshotAttest(
      .init(
        zone: EngineFamily.id(1), mark: EngineFamily.id(2),
        digest: [UInt8](repeating: 7, count: 32)))
    let bytes = attest.encoded
    #expect(bytes.first == 25 && bytes.count == 65)
    #expect(try ControlOperation(decoding: bytes) == attest)
    for wrong in [Array(bytes.dropLast()), bytes + [0]] {
      #expect(throws: CodecError.self) { try ControlOperation(decoding: wrong) }
    }
  }
}

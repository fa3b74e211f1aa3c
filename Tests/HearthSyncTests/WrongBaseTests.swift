import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Own changes that cite a wrong snapshot")
struct WrongBaseTests {
  private let now = NewcomerWorld.now

  /// A household whose admin lets Nina in with a snapshot that misquotes the founder's log, on
  /// which she writes twice; then the founder goes on, which shows it.
  private func misled() throws -> (world: NewcomerWorld, nina: Int) {
    var world = try NewcomerWorld(3)
    let made = try world.invite(by: 2)
    try world.sync(2)
    let author = world.family.members[0].author
    try publish(2, in: world) { store in
      var head = try #require(
        try store.zones.heads(of: world.family.zone).first { $0.author == author })
      head.hash[0] ^= 1
      try store.zones.save([head], of: world.family.zone)
    }
    let nina = try world.beginFromSnapshot(made)
    for value in [500, 501] { try world.family.set(nina, value, Int64(value)) }
    try world.sync(nina)
    try world.sync(0)
    #expect(
      try FalseClaims(engine: world.family.members[0]).claims(in: world.family.zone).count == 1
    )
    try world.family.set(0, 3, 44)
    try world.sync(0)
    return (world, nina)
  }

  /// Publishes the snapshot of a copy of a member whose store was changed.
  private func publish(
    _ member: Int, in world: NewcomerWorld, after change: (MemoryStore) throws -> Void
  ) throws {
    let copy = try EngineFamily.copied(world.family.members[member])
    try copy.store.transaction { try change(copy.store) }
    let chunks = try SnapshotMaking.snapshot(of: world.family.zone, in: EngineFamily.copied(copy))
    let tag = try world.zone(0).tag
    for (name, chunk) in zip(SnapshotPlan.names(of: chunks, zoneTag: tag), chunks) {
      try world.shelf.publish(name, chunk)
    }
  }

  /// How many changes of a device count in a zone.
  private func count(
    of device: DeviceID, in engine: Engine<MemoryStore>, _ zone: ZoneID
  ) throws -> UInt64 {
    try engine.zone(zone).heads.filter { $0.author.device == device }
      .reduce(0) { $0 + $1.sequence }
  }

  private func checkRewritten(_ world: inout NewcomerWorld, _ nina: Int) throws {
    try world.sync(all: [nina, 0, 1, 2])
    let device = world.family.members[nina].device
    for member in world.family.members.indices {
      for value in [500, 501] {
        #expect(try world.family.shown(member, value) == .int(Int64(value)), "member \(member)")
      }
      #expect(
        try count(of: device, in: world.family.members[member], world.family.zone) == 2,
        "member \(member)")
    }
    #expect(try world.family.digests().count == 1)
  }

  @Test("They are written again in a new life, once the changes have taken the snapshot's place")
  func success() throws {
    var (world, nina) = try misled()
    let before = world.family.members[nina].incarnation
    try world.sync(nina)
    #expect(try world.family.members[nina].store.snapshots.base(of: world.family.zone) == nil)
    #expect(world.family.members[nina].incarnation != before)
    let after = world.family.members[nina].incarnation
    try checkRewritten(&world, nina)
    #expect(world.family.members[nina].incarnation == after)
  }

  @Test("What their author may not write any more is left out and told, and no sync fails")
  func refused() throws {
    var (world, nina) = try misled()
    try world.family.setRole(nina, .reader, by: 0)
    try world.sync(0)
    try world.sync(nina)
    let engine = world.family.members[nina]
    #expect(try engine.store.snapshots.base(of: world.family.zone) == nil)
    let told = engine.store.notices.all().filter { $0.kind == .reissued }
    #expect(told.count == 1 && told[0].text.hasPrefix("2 changes of this device"))
    try world.sync(all: [nina, 0, 1, 2])
    #expect(try world.family.digests().count == 1)
    #expect(try world.family.shown(nina, 500) == nil)
    #expect(world.family.members[nina].store.notices.all().filter { $0.kind == .reissued } == told)
  }

  @Test("Where the snapshot has to stay, nothing is written again, however often that is tried")
  func contradicted() throws {
    var (world, nina) = try misled()
    let founder = world.family.members[0].device
    let heads = try world.zone(nina).heads
    let life = world.family.members[nina].incarnation
    for record in 10..<13 {
      // A stick with the founder's files alone: what the others wrote cannot be taken from it.
      let stick = MemoryShelf()
      let tag = try world.zone(0).authorTag(of: founder)
      let zone = try world.zone(0).tag
      for (name, bytes) in world.shelf.segments
      where name.zoneTag != zone || name.authorTag == tag { stick.publish(name, bytes) }
      try world.sync(nina, over: stick)
      #expect(
        world.reports[nina]?.problems.contains { $0.fault.contains("still uses") } == true)
      #expect(try world.zone(nina).heads == heads)
      #expect(world.family.members[nina].incarnation == life)
      #expect(
        world.family.members[nina].store.notices.all().allSatisfy { $0.kind != .newLife })
      try world.family.set(0, record, 1)
      try world.sync(0)
    }
    try world.sync(nina)
    try checkRewritten(&world, nina)
  }

  @Test("A cut at any write loses none of them and doubles none")
  func cut() throws {
    let (world, nina) = try misled()
    var points = 0
    var place = 0
    var isDone = false
    while !isDone {
      var trial = world
      trial.shelf = MemoryShelf()
      trial.shelf.segments = world.shelf.segments
      trial.shelf.blobs = world.shelf.blobs
      trial.family.members = try world.family.members.map { try EngineFamily.copied($0) }
      let store = trial.family.members[nina].store
      store.writesUntilFailure = place
      do {
        _ = try trial.family.members[nina].exchange(
          over: trial.shelf, named: "shelf", anchorFile: ForgetfulAnchor(), nowMilliseconds: now)
        isDone = true
      } catch is MemoryStore.Misuse {
        points += 1
      }
      store.writesUntilFailure = nil
      trial.family.members[nina] = try EngineFamily.copied(trial.family.members[nina])
      try checkRewritten(&trial, nina)
      place += 3
    }
    #expect(points > 10)
  }

  /// A household that Nina has entered with a snapshot, and the segment that she has of the second
  /// member beyond it.
  private func entered() throws -> (world: NewcomerWorld, nina: Int, beyond: StoredSegment) {
    var world = try NewcomerWorld(3)
    let made = try world.invite(by: 2)
    try world.sync(2)
    try publish(2, in: world) { _ in }
    let nina = try world.beginFromSnapshot(made)
    try world.family.set(1, 1, 77)
    try world.sync(1)
    try world.sync(nina)
    let store = world.family.members[nina].store
    #expect(try store.snapshots.base(of: world.family.zone) != nil)
    let author = world.family.members[1].author
    let own = try store.log.segments(of: world.family.zone).filter { $0.author == author }
    #expect(own.count == 1 && own[0].first > 1)
    #expect(try head(of: author, at: nina, in: world) == own[0].last)
    return (world, nina, own[0])
  }

  private func head(of author: Author, at member: Int, in world: NewcomerWorld) throws -> UInt64 {
    try world.zone(member).head(of: author).sequence
  }

  /// Takes the snapshot from under a zone, whose log stays.
  private func takeBase(_ engine: inout Engine<MemoryStore>, _ beyond: StoredSegment) throws {
    let zone = try #require(engine.zones.first { $0.kind == .data }).id
    try engine.store.transaction {
      try engine.store.snapshots.removeBase(of: zone)
      try Rebuild.rebuildWithin(zone, in: &engine, nowMilliseconds: now)
    }
    #expect(try engine.zone(zone).head(of: beyond.author).sequence == 0)
    let waiting = try engine.store.pending.entries(in: zone).map(\.digest)
    #expect(waiting.contains(beyond.digest))
  }

  /// Takes all changes from the shelf, and checks that this one is among them.
  private func takeAll(
    _ engine: inout Engine<MemoryStore>, in world: NewcomerWorld, with beyond: StoredSegment
  ) throws {
    let zone = world.family.zone
    try engine.withTurns { turns in
      let ports = ExchangePorts(
        transport: world.shelf, turns: turns, anchorFile: ForgetfulAnchor(), nowMilliseconds: now)
      var report = TransportReport(setting: "shelf")
      try await SegmentFetch(ports: ports).takeAll(
        of: zone, holding: world.shelf.list(zoneTag: try world.zone(0).tag), &report)
    }
    #expect(try engine.zone(zone).head(of: beyond.author).sequence == beyond.last)
    #expect(try engine.store.log.segments(of: zone).contains { $0.digest == beyond.digest })
    #expect(try ZoneAudit(engine: engine).audit(zone).findings.isEmpty)
  }

  @Test("What a zone built anew cannot apply waits, also where its author was removed meanwhile")
  func unapplied() throws {
    for isRemoved in [false, true] {
      var (world, nina, beyond) = try entered()
      if isRemoved {
        // By somebody who does not know of that change.
        try world.family.remove(1, by: 0)
        try world.sync(0)
        try world.sync(nina)
        #expect(try head(of: beyond.author, at: nina, in: world) == beyond.last)
      }
      var engine = world.family.members[nina]
      try takeBase(&engine, beyond)
      try takeAll(&engine, in: world, with: beyond)
      if isRemoved {
        world.family.members[nina] = engine
        try world.sync(all: [nina, 0, 2])
        #expect(try Set([nina, 0, 2].map { try world.digest($0) }).count == 1)
      }
    }
  }

  @Test("What a log lists and neither counts nor waits is fetched again")
  func dropped() throws {
    let (world, nina, beyond) = try entered()
    var engine = world.family.members[nina]
    try takeBase(&engine, beyond)
    let store = engine.store
    // As where there is no room for it.
    try store.transaction { try store.pending.remove(beyond.digest, in: world.family.zone) }
    #expect(try store.log.segments(of: world.family.zone).contains { $0.digest == beyond.digest })
    try takeAll(&engine, in: world, with: beyond)
  }
}

import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// Turns between which something happens, as in a node whose process or disk has other work.
final class InterruptedTurns: ReplicaTurns {
  var engine: Engine<MemoryStore>
  /// How often others could have worked.
  private(set) var pauses = 0
  /// What happens in each pause.
  var meanwhile: (Int, InterruptedTurns) throws -> Void = { _, _ in }

  init(_ engine: Engine<MemoryStore>) { self.engine = engine }

  func turn<Result>(_ body: (inout Engine<MemoryStore>) throws -> Result) throws -> Result {
    try body(&engine)
  }

  func aside<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    pauses += 1
    try meanwhile(pauses, self)
    return try work()
  }

  /// Takes what a transport has of a zone.
  @discardableResult
  func pull(_ zone: ZoneID, from shelf: MemoryShelf) throws -> TransportReport {
    try runInline {
      var exchange = Exchange(
        over: shelf, named: "shelf", with: self, anchorFile: ForgetfulAnchor(),
        nowMilliseconds: EngineFamily.now)
      try await exchange.pull(zone)
      return exchange.report
    }
  }
}

@Suite("A snapshot that is loaded in slices")
struct SlicedBootstrapTests {
  private struct Crash: Error {}

  /// A household of a few slices of records on a shelf, with an owner's snapshot of them, and a
  /// newcomer who has only the control log.
  private struct World {
    var family: EngineFamily
    let shelf = MemoryShelf()
    let newcomer: Engine<MemoryStore>
    var zone: ZoneID { family.zone }

    /// - Parameter host: Who lets the newcomer in and makes the snapshot.
    init(_ records: Int = 700, host: Int = 0) throws {
      family = try EngineFamily(3)
      try family.setRole(1, .admin, by: 0)
      for start in stride(from: 0, to: records, by: 100) {
        let operations = (start..<min(start + 100, records)).map {
          Operation(
            RecordKey(type: .record(7), id: EngineFamily.id($0)),
            .assign(EngineFamily.register, .int(Int64($0))))
        }
        _ = try family.members[0].write(
          operations, to: family.zone, nowMilliseconds: EngineFamily.now)
      }
      try family.settle()
      for id in [family.control, family.zone] {
        for bytes in try family.published(0, id) { try shelf.put(bytes) }
      }
      let made = try InvitationMaking.invite(
        to: family.group, named: "Home", role: .member, maximumUses: 1,
        expiresMilliseconds: EngineFamily.now * 2, in: &family.members[host],
        nowMilliseconds: EngineFamily.now)
      _ = try family.arrive(
        by: made.capsule, with: made.secret, meeting: host, as: EngineFamily.id(77))
      newcomer = family.members.removeLast()
      try family.settle()
      try publish(by: host)
      for bytes in try World.sealed(family.control, by: newcomer) {
        _ = try family.members[0].receive(
          [bytes], in: family.control, nowMilliseconds: EngineFamily.now)
      }
    }

    static func sealed(_ zone: ZoneID, by engine: Engine<MemoryStore>) throws -> [[UInt8]] {
      var engine = engine
      _ = try Sealing.seal(zone, in: &engine)
      return try engine.store.log.segments(of: zone).compactMap {
        try engine.store.log.bytes(of: $0.digest, in: zone)
      }
    }

    func publish(by member: Int) throws {
      let chunks = try SnapshotMaking.snapshot(of: zone, in: family.members[member])
      let tag = try newcomer.zone(zone).tag
      for (name, chunk) in zip(SnapshotPlan.names(of: chunks, zoneTag: tag), chunks) {
        try shelf.publish(name, chunk)
      }
    }

    /// The newcomer over a copy of its store.
    func turns() throws -> InterruptedTurns {
      InterruptedTurns(try EngineFamily.copied(newcomer))
    }

    func truth() throws -> [UInt8] { try family.members[0].digest(of: zone) }
  }

  private func count(_ engine: Engine<MemoryStore>, _ zone: ZoneID) throws -> Int {
    var count = 0
    try engine.store.records.forEach(in: zone) { _, _ in count += 1 }
    return count
  }

  /// Nothing of a load is left that nobody reads.
  private func checkClean(_ engine: Engine<MemoryStore>, _ zone: ZoneID) throws {
    #expect(try engine.store.draftCount(of: zone) == 0)
    #expect(try !ZoneDraft.isLeft(of: zone, in: engine.store))
    // What is in memory is what is in the store.
    let stored = try EngineFamily.reopened(engine).zone(zone)
    #expect(try engine.zone(zone).heads == stored.heads)
  }

  @Test("The zone is what a load at once makes of the snapshot, and none of it is seen before")
  func whole() throws {
    let world = try World()
    let turns = try world.turns()
    turns.meanwhile = { _, turns in
      guard try turns.engine.zone(world.zone).frontier.isEmpty else { return }
      #expect(try count(turns.engine, world.zone) == 0)
      #expect(try turns.engine.store.snapshots.base(of: world.zone) == nil)
    }
    let report = try turns.pull(world.zone, from: world.shelf)
    #expect(report.begunFromSnapshots == 1)
    #expect(report.problems.isEmpty)
    #expect(turns.pauses >= 6, "the opening, the container, and a pause before each slice")
    #expect(try turns.engine.digest(of: world.zone) == world.truth())
    try checkClean(turns.engine, world.zone)
    var other = try EngineFamily.copied(world.newcomer)
    let chunks = try SnapshotMaking.snapshot(of: world.zone, in: world.family.members[0])
    try SnapshotLoading.bootstrap(
      world.zone, from: chunks, in: &other, nowMilliseconds: EngineFamily.now)
    #expect(try other.zone(world.zone).heads == turns.engine.zone(world.zone).heads)
    #expect(try other.digest(of: world.zone) == turns.engine.digest(of: world.zone))
  }

  @Test("A crash between two slices leaves the zone as before, and the next round loads it")
  func crash() throws {
    let world = try World()
    let whole = try world.turns()
    try whole.pull(world.zone, from: world.shelf)
    for pause in 1...whole.pauses {
      let turns = try world.turns()
      turns.meanwhile = { number, _ in if number == pause { throw Crash() } }
      #expect(throws: Crash.self) { try turns.pull(world.zone, from: world.shelf) }
      let again = InterruptedTurns(try EngineFamily.reopened(turns.engine))
      guard try again.engine.zone(world.zone).frontier.isEmpty else {
        // Only what the draft held before was still there.
        #expect(try again.engine.digest(of: world.zone) == world.truth())
        continue
      }
      #expect(try count(again.engine, world.zone) == 0)
      #expect(try again.engine.store.snapshots.base(of: world.zone) == nil)
      #expect(try again.pull(world.zone, from: world.shelf).begunFromSnapshots == 1)
      #expect(try again.engine.digest(of: world.zone) == world.truth(), "after \(pause)")
      try checkClean(again.engine, world.zone)
    }
  }

  @Test("Own changes that were made between two slices are kept, sealed or not")
  func ownChanges() throws {
    var world = try World()
    let (zone, control) = (world.zone, world.family.control)
    let turns = try world.turns()
    turns.meanwhile = { number, turns in
      guard try turns.engine.store.snapshots.base(of: zone) == nil else { return }
      let key = RecordKey(type: .record(7), id: EngineFamily.id(1_000 + number))
      let shared = RecordKey(type: .record(7), id: EngineFamily.id(3))
      _ = try turns.engine.write(
        [
          Operation(key, .assign(EngineFamily.register, .int(1))),
          Operation(shared, .assign(EngineFamily.register, .int(Int64(-number)))),
        ], to: zone, nowMilliseconds: EngineFamily.now + 5)
      if number == 2 { _ = try Sealing.seal(zone, in: &turns.engine) }
    }
    let report = try turns.pull(zone, from: world.shelf)
    #expect(report.begunFromSnapshots == 1)
    #expect(report.problems.isEmpty)
    let own = try turns.engine.zone(zone).head(of: turns.engine.author).sequence
    #expect(own >= 6)
    #expect(try turns.engine.store.snapshots.base(of: zone) != nil)
    try checkClean(turns.engine, zone)
    for id in [control, zone] {
      _ = try world.family.members[0].receive(
        World.sealed(id, by: turns.engine), in: id, nowMilliseconds: EngineFamily.now)
    }
    #expect(try world.family.members[0].zone(zone).head(of: turns.engine.author).sequence == own)
    #expect(try turns.engine.digest(of: zone) == world.truth())
  }

  @Test("A crash after an own change leaves both, and the next round still begins from a snapshot")
  func crashWithOwnChanges() throws {
    let world = try World()
    let turns = try world.turns()
    turns.meanwhile = { number, turns in
      if number == 3 {
        let key = RecordKey(type: .record(7), id: EngineFamily.id(1_000))
        _ = try turns.engine.write(
          [Operation(key, .assign(EngineFamily.register, .int(1)))], to: world.zone,
          nowMilliseconds: EngineFamily.now)
      }
      if number == 4 { throw Crash() }
    }
    #expect(throws: Crash.self) { try turns.pull(world.zone, from: world.shelf) }
    let again = InterruptedTurns(try EngineFamily.reopened(turns.engine))
    #expect(try count(again.engine, world.zone) == 1)
    #expect(try again.pull(world.zone, from: world.shelf).begunFromSnapshots == 1)
    #expect(try count(again.engine, world.zone) == 701)
    try checkClean(again.engine, world.zone)
  }

  @Test("Where somebody's changes arrive between two slices, they decide, and no draft is left")
  func othersChanges() throws {
    var world = try World()
    let blobs = try world.family.published(0, world.zone)
    for pause in [2, 4] {
      let turns = try world.turns()
      turns.meanwhile = { number, turns in
        guard number == pause else { return }
        _ = try turns.engine.receive(
          [blobs[0]], in: world.zone, nowMilliseconds: EngineFamily.now)
      }
      let report = try turns.pull(world.zone, from: world.shelf)
      #expect(report.begunFromSnapshots == 0)
      #expect(try turns.engine.store.snapshots.base(of: world.zone) == nil)
      #expect(try turns.engine.digest(of: world.zone) == world.truth())
      try checkClean(turns.engine, world.zone)
    }
  }

  @Test("What a crash left is removed once the zone has changes without it")
  func leftovers() throws {
    let world = try World()
    let turns = try world.turns()
    turns.meanwhile = { number, _ in if number == 4 { throw Crash() } }
    #expect(throws: Crash.self) { try turns.pull(world.zone, from: world.shelf) }
    turns.meanwhile = { _, _ in }
    #expect(try turns.engine.store.draftCount(of: world.zone) > 0)
    let changes = MemoryShelf()
    changes.copy(from: world.shelf) { _ in true }
    try turns.pull(world.zone, from: changes)
    #expect(try turns.engine.store.draftCount(of: world.zone) > 0, "somebody may be loading it")
    try turns.pull(world.zone, from: changes)
    #expect(try turns.engine.digest(of: world.zone) == world.truth())
    try checkClean(turns.engine, world.zone)
  }

  @Test(
    "Of two processes that load the same zone the later one does it, and the other ends",
    arguments: [false, true])
  func twoProcesses(laterCrashes: Bool) throws {
    let world = try World()
    for pause in 1...6 {
      let turns = try world.turns()
      turns.meanwhile = { number, turns in
        guard number == pause else { return }
        let other = InterruptedTurns(try EngineFamily.reopened(turns.engine))
        if laterCrashes {
          other.meanwhile = { number, _ in if number == 5 { throw Crash() } }
          #expect(throws: Crash.self) { try other.pull(world.zone, from: world.shelf) }
        } else {
          #expect(try other.pull(world.zone, from: world.shelf).begunFromSnapshots == 1)
        }
        turns.engine = try EngineFamily.reopened(turns.engine)
      }
      // In the first pause the load has not begun, so it is the later one.
      let report = try turns.pull(world.zone, from: world.shelf)
      #expect(report.begunFromSnapshots == (laterCrashes && pause == 1 ? 1 : 0), "\(pause)")
      #expect(report.problems.isEmpty)
      if laterCrashes, pause > 1 {
        #expect(try turns.engine.zone(world.zone).frontier.isEmpty, "the other may go on")
        turns.meanwhile = { _, _ in }
        try turns.pull(world.zone, from: world.shelf)
      }
      #expect(try turns.engine.digest(of: world.zone) == world.truth(), "\(pause)")
      try checkClean(turns.engine, world.zone)
    }
  }

  @Test("A maker who loses the right between two slices is not believed", arguments: [1, 2])
  func demoted(member: Int) throws {
    var world = try World(host: 1)
    let zone = world.zone
    try world.family.setRole(member, .reader, by: 0)
    let blobs = try world.family.published(0, world.family.control)
    let turns = try world.turns()
    turns.meanwhile = { number, turns in
      guard number == 4 else { return }
      #expect(try turns.engine.store.draftCount(of: zone) > 0)
      _ = try turns.engine.receive(
        blobs, in: world.family.control, nowMilliseconds: EngineFamily.now)
    }
    let report = try turns.pull(zone, from: world.shelf)
    // Where it is another member, the control log alone has moved.
    #expect(report.begunFromSnapshots == (member == 1 ? 0 : 1))
    #expect(
      report.problems.contains { $0.fault.contains("only snapshots by an owner or admin") }
        == (member == 1))
    #expect((try turns.engine.store.snapshots.base(of: zone) == nil) == (member == 1))
    #expect(try turns.engine.digest(of: zone) == world.truth())
    try checkClean(turns.engine, zone)
  }
}

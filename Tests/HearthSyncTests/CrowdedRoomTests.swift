import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// Somebody fills the space for what nobody can verify, so that what a newcomer says has none.
@Suite("Newcomers in a crowded waiting room")
struct CrowdedRoomTests {
  /// Files of devices that nobody knows, as whoever can write to a folder makes them.
  ///
  /// - Parameter isClosed: whether they are under a key that nobody knows either.
  private func rubbish(
    _ count: Int, like blob: [UInt8], isClosed: Bool, seed: UInt64
  ) -> [[UInt8]] {
    var random = SplitMix64(seed: seed)
    func noise(_ count: Int) -> [UInt8] {
      (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }
    return (0..<count).map { _ in
      var copy = blob
      // First of all in order, so that it takes the space.
      copy.replaceSubrange(22..<38, with: [0, 0, 0, 0] + noise(12))
      if isClosed { copy.replaceSubrange(46..<62, with: noise(16)) }
      return copy
    }
  }

  /// The smallest file on a shelf that begins a log of a zone.
  private func smallest(of zone: ZoneState, on shelf: MemoryShelf) throws -> [UInt8] {
    let blobs = shelf.segments.filter { $0.key.zoneTag == zone.tag && $0.key.first == 1 }.values
    return try #require(blobs.min { $0.count < $1.count })
  }

  /// Fills the space of a zone on a member's device by what lies on the usual shelf.
  private func fill(
    _ id: ZoneID, of member: Int, isClosed: Bool, seed: UInt64, in world: inout NewcomerWorld
  ) throws {
    let blob = try smallest(of: world.family.members[member].zone(id), on: world.shelf)
    for file in rubbish(600, like: blob, isClosed: isClosed, seed: seed) {
      try world.shelf.put(file)
    }
    // What it says of the rubbish itself moves the members' log once.
    for _ in 0..<4 { try world.sync(member) }
    let pending = try world.family.members[member].store.pending.entries(in: id)
    #expect(pending.count == WaitingRoom.maximumUnverifiedSegments, "seed \(seed)")
    #expect(world.reports[member]?.receivedBytes == 0, "seed \(seed): fetched again")
  }

  /// A newcomer by a link of Ann's, of whom only another shelf knows.
  private func newcomer(in world: inout NewcomerWorld) throws -> (number: Int, other: MemoryShelf) {
    let usual = world.shelf
    world.shelf = MemoryShelf()
    defer { world.shelf = usual }
    let made = try world.invite()
    for _ in 0..<2 { try world.sync(0) }
    let nina = try world.follow(made)
    return (nina, world.shelf)
  }

  private func isIn(_ nina: Int, for member: Int, _ world: NewcomerWorld) -> Bool {
    world.family.membership(member).isActive(world.family.members[nina].device)
  }

  @Test("A join that came before its invitation is taken with it, by all and in any order")
  func joinBeforeInvitation() throws {
    var world = try NewcomerWorld()
    let control = world.family.control
    let (nina, other) = try newcomer(in: &world)
    let zone = try world.family.members[1].zone(control)
    let tag = zone.authorTag(of: world.family.members[nina].device)
    try fill(control, of: 1, isClosed: true, seed: 11, in: &world)
    // Her joining alone: it has no space, and is not fetched again while nothing speaks for her.
    world.shelf.copy(from: other) { $0.zoneTag == zone.tag && $0.authorTag == tag }
    for _ in 0..<2 { try world.sync(1) }
    let pending = try world.family.members[1].store.pending.entries(in: control)
    #expect(!pending.contains { $0.authorTag == tag })
    #expect(world.reports[1]?.receivedBytes == 0)
    #expect(!isIn(nina, for: 1, world))
    // The invitation: the sync that brings it brings her.
    world.shelf.copy(from: other) { $0.zoneTag == zone.tag }
    try world.sync(1)
    #expect(isIn(nina, for: 1, world))
    // Who hears of all of it at once, and who knew the invitation before.
    try world.sync(2)
    try world.sync(0)
    try world.sync(all: [0, 1, 2, nina])
    for member in [0, 1, 2, nina] { #expect(isIn(nina, for: member, world), "member \(member)") }
    try world.family.set(nina, 5, 77)
    try world.sync(all: [nina, 0, 1, 2])
    for member in [0, 1, 2] {
      #expect(try world.family.shown(member, 5) == .int(77), "member \(member)")
    }
  }

  @Test("Records that came before their author was known are taken once the author is")
  func recordsBeforeJoin() throws {
    var world = try NewcomerWorld()
    let (id, control) = (world.family.zone, world.family.control)
    let (nina, other) = try newcomer(in: &world)
    let usual = world.shelf
    try world.family.set(nina, 5, 77)
    try world.sync(nina, over: other)
    let zone = try world.zone(1)
    let tag = zone.authorTag(of: world.family.members[nina].device)
    try fill(id, of: 1, isClosed: false, seed: 12, in: &world)
    usual.copy(from: other) { $0.zoneTag == zone.tag && $0.authorTag == tag }
    for _ in 0..<2 { try world.sync(1) }
    let pending = try world.family.members[1].store.pending.entries(in: id)
    #expect(!pending.contains { $0.authorTag == tag })
    #expect(world.reports[1]?.receivedBytes == 0)
    let controlTag = try world.family.members[1].zone(control).tag
    usual.copy(from: other) { $0.zoneTag == controlTag }
    try world.sync(1)
    #expect(try world.family.shown(1, 5) == .int(77))
    // Of those who stay unknown nothing is fetched again.
    let received = try #require(world.reports[1]?.receivedBytes)
    let given = other.segments.values.reduce(0) { $0 + $1.count }
    #expect(received <= given)
  }

  @Test("A joining that a member has seen is fetched, though the member's own word waits for it")
  func citedByWhatWaits() throws {
    var world = try NewcomerWorld()
    let control = world.family.control
    let made = try world.invite()
    try world.sync(all: [0, 1, 2])
    let (usual, other) = (world.shelf, MemoryShelf())
    try world.sync(2, over: other)
    world.shelf = other
    let nina = try world.follow(made)
    world.shelf = usual
    for _ in 0..<3 { try world.sync(1) }
    let zone = try world.family.members[1].zone(control)
    let tag = zone.authorTag(of: world.family.members[nina].device)
    // As if nothing had spoken for her when her joining came: dropped with what is known now.
    let knowledge = try PendingKnowledge.knowledge(of: zone, in: world.family.members[1])
    let store = world.family.members[1].store
    let joins = other.segments.keys.filter { $0.zoneTag == zone.tag && $0.authorTag == tag }
      .sorted()
    #expect(!joins.isEmpty)
    try store.transaction {
      try Refusals.add(
        joins.map { Refusals.Refused(digest: $0.digest, kind: .stranger) }, of: control, in: store
      ) { knowledge }
    }
    usual.copy(from: other) { joins.contains($0) }
    try world.sync(1)
    #expect(!isIn(nina, for: 1, world) && world.reports[1]?.receivedBytes == 0)
    // A member's next operation has seen her.
    try world.sync(2, over: other)
    try MemberChanges.heartbeat(
      in: world.family.group, by: &world.family.members[2], nowMilliseconds: now)
    try world.sync(2, over: other)
    let author = world.family.members[2].author
    let reached = try world.family.members[2].zone(control).head(of: author).sequence
    usual.copy(from: other) { $0.zoneTag == zone.tag && $0.authorTag != tag }
    try world.sync(1)
    #expect(isIn(nina, for: 1, world))
    #expect(try world.family.members[1].zone(control).head(of: author).sequence >= reached)
  }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("A log that forks below a newcomer's snapshot")
struct BaseForkTests {
  private let mallory = 3

  /// Nina begins from a snapshot with one history of Mallory's log, applies one more change of it,
  /// and then receives another history that parts from the first below the snapshot.
  ///
  /// The founder has received both histories and proven the fork.
  private func forked() throws -> (world: NewcomerWorld, nina: Int) {
    var world = try NewcomerWorld(4)
    var forge = try Forge(world.family.members[mallory], world.family.zone)
    var beside = forge
    try world.shelf.put(try forge.seal([forge.change([.insert], record: 20)]))
    try world.sync(0)
    let chunks = try SnapshotMaking.snapshot(of: world.family.zone, in: world.family.members[0])
    for (name, chunk) in zip(SnapshotPlan.names(of: chunks, zoneTag: try world.zone(0).tag), chunks)
    {
      try world.shelf.publish(name, chunk)
    }
    let invitation = try world.invite()
    try world.sync(0)
    let nina = try world.beginFromSnapshot(invitation)
    try world.shelf.put(try forge.seal([forge.change([.insert], record: 21)]))
    try world.sync(nina)
    let other = try beside.seal((22..<25).map { beside.change([.insert], record: $0) })
    // Others' changes are not on this stick, so nothing there can replace the snapshot.
    let stick = MemoryShelf()
    let control = try world.family.members[0].zone(world.family.control).tag
    stick.copy(from: world.shelf) { $0.zoneTag == control }
    try stick.put(other)
    try world.sync(nina, over: stick)
    #expect(try world.family.members[nina].store.snapshots.base(of: world.family.zone) != nil)
    try world.shelf.put(other)
    try world.sync(0)
    return (world, nina)
  }

  @Test("The newcomer receives the news of the members all the same, and the replicas are equal")
  func news() throws {
    var (world, nina) = try forked()
    try world.family.setRole(1, .reader, by: 0)
    try world.sync(0)
    try world.sync(nina)
    let (here, there) = (world.family.members[nina], world.family.members[0])
    #expect(
      try here.zone(world.family.control).frontier.covers(
        there.zone(world.family.control).frontier))
    try world.sync(all: [nina, 0, 1, 2])
    for member in [nina, 1, 2] {
      #expect(try world.digest(member) == world.digest(0), "member \(member)")
      #expect(
        try world.zone(member).forkEnds[world.family.members[mallory].author]
          == world.zone(0).forkEnds[world.family.members[mallory].author])
    }
  }
}

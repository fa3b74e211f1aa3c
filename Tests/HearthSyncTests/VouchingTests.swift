import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Whose snapshot a newcomer believes")
struct VouchingTests {
  private let now = NewcomerWorld.now

  /// An owner and three admins.
  private func world() throws -> NewcomerWorld {
    var world = try NewcomerWorld(4)
    for member in [1, 2] { try world.family.setRole(member, .admin, by: 0) }
    try world.sync(all: [0, 1, 2, 3])
    return world
  }

  private func publish(_ members: [Int], in world: NewcomerWorld) throws {
    for member in members {
      let chunks = try SnapshotMaking.snapshot(
        of: world.family.zone, in: world.family.members[member])
      let tag = try world.zone(0).tag
      for (name, chunk) in zip(SnapshotPlan.names(of: chunks, zoneTag: tag), chunks) {
        try world.shelf.publish(name, chunk)
      }
    }
  }

  /// Lets somebody in, who then takes what is on the shelf.
  ///
  /// - Parameter publish: what is published after the inviter was there, who would attest it.
  /// - Returns: whether it began from a snapshot, after seeing that it shows what is true.
  private func enter(
    _ world: inout NewcomerWorld, invitedBy member: Int,
    after publish: (NewcomerWorld) throws -> Void = { _ in }
  ) throws -> Bool {
    let truth = try world.digest(0)
    let made = try world.invite(by: member)
    try world.sync(member)
    try publish(world)
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: now)
    var report = TransportReport(setting: "shelf")
    try engine.pull(
      world.family.control, from: world.shelf, anchorFile: ForgetfulAnchor(),
      nowMilliseconds: now, &report)
    try JoiningByInvitation.finish(
      opened, with: made.secret, person: EngineFamily.id(900), personName: "Nina",
      deviceName: "tablet", in: &engine, nowMilliseconds: now)
    world.family.members.append(engine)
    let number = world.family.members.count - 1
    try world.sync(number)
    #expect(try world.digest(number) == truth)
    return world.reports[number]?.begunFromSnapshots == 1
  }

  @Test("The snapshot of who invited is believed, and nobody else's alone")
  func inviter() throws {
    for (makers, isBelieved) in [([1], true), ([0], false), ([3], false)] {
      var world = try world()
      let isBegun = try enter(&world, invitedBy: 1) { try publish(makers, in: $0) }
      #expect(isBegun == isBelieved, "by \(makers)")
    }
  }

  @Test("A lying admin's snapshot is passed over, alone and beside the inviter's")
  func liar() throws {
    for (honest, isBelieved) in [([], false), ([1], true), ([2], false)] {
      var world = try world()
      let isBegun = try enter(&world, invitedBy: 1) {
        try publish(honest, in: $0)
        try $0.lie(3)
        try publish([3], in: $0)
      }
      #expect(isBegun == isBelieved, "beside \(honest)")
    }
  }

  @Test("Two people who say the same are believed")
  func twoPeople() throws {
    var world = try world()
    #expect(try enter(&world, invitedBy: 1) { try publish([2, 3], in: $0) })
  }

  @Test("Two devices of one person that lie alike are not")
  func onePerson() throws {
    var world = try world()
    let person = try world.family.person(3)
    let made = try world.invite(by: 3, role: .admin, person: person)
    try world.sync(3)
    let second = try world.follow(made, as: person)
    try world.sync(all: [0, 1, 2, 3, second])
    for member in [3, second] { try world.lie(member) }
    #expect(try world.digest(3) == world.digest(second))
    #expect(try !enter(&world, invitedBy: 1) { try publish([3, second], in: $0) })
  }
}

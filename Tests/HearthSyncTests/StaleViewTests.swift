import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// A shelf behind a door: a relay that refuses some zones.
private final class GuardedShelf: Transport {
  let shelf = MemoryShelf()
  var refused: Set<Identifier> = []

  func place(of name: SegmentName) -> String { shelf.place(of: name) }
  func list(zoneTag: Identifier) throws -> TransportListing {
    guard !refused.contains(zoneTag) else {
      throw TransportError(
        .relayRefused, place: "relay", message: "it is shut", remedy: "ask somebody")
    }
    return shelf.list(zoneTag: zoneTag)
  }
  func fetch(_ name: SegmentName) throws -> [UInt8] { try shelf.fetch(name) }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) { shelf.publish(name, bytes) }
  func remove(_ name: SegmentName) { shelf.remove(name) }
  func fetch(_ name: BlobName) throws -> [UInt8]? { try shelf.fetch(name) }
  func publish(_ name: BlobName, _ bytes: [UInt8]) throws { try shelf.publish(name, bytes) }
  func remove(_ name: BlobName) { shelf.remove(name) }
}

/// What upkeep decides where not everything was read.
@Suite("Upkeep with a stale view")
struct StaleViewTests {
  private let now = EngineFamily.now

  /// An owner who knows of somebody's unconfirmed joining, and of an invitation that has expired.
  private func family() throws -> (family: EngineFamily, invite: Identifier) {
    var family = try EngineFamily(1)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 2,
      expiresMilliseconds: now + 1_000, in: &family.members[0], nowMilliseconds: now)
    _ = try family.arrive(
      by: made.capsule, with: made.secret, meeting: 0, as: EngineFamily.id(90))
    try family.send(1, to: [0])
    return (family, try #require(Identifier(bytes: made.secret.publicKeys.inviteID)))
  }

  private func hasDecided(_ family: EngineFamily, _ invite: Identifier) -> Bool {
    let membership = family.membership(0)
    let isClosed = membership.invites.contains { $0.operation.invite == invite && $0.isClosed }
    let isConfirmed = membership.entries.unconfirmed(by: family.members[0].device).isEmpty
    #expect(isClosed == isConfirmed)
    return isClosed
  }

  @Test("Nothing is confirmed or closed, and no usable key renewed, before all was read")
  func incomplete() throws {
    var (family, invite) = try family()
    let keys = try family.members[0].zone(family.zone).currentEpoch?.id
    let old = now + 1_001 + RekeyNeed.epochMilliseconds
    try Maintenance.maintain(isComplete: false, in: &family.members[0], nowMilliseconds: old)
    #expect(!hasDecided(family, invite))
    try Maintenance.maintain(unread: [family.group], in: &family.members[0], nowMilliseconds: old)
    #expect(!hasDecided(family, invite))
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id == keys)
    // What another group's transport refuses does not matter.
    try Maintenance.maintain(
      unread: [EngineFamily.id(7)], in: &family.members[0], nowMilliseconds: old)
    #expect(hasDecided(family, invite))
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id != keys)
  }

  @Test("A key that may not be used any more is replaced all the same, as the next write needs one")
  func overdue() throws {
    var family = try EngineFamily(3)
    let keys = try family.members[0].zone(family.zone).currentEpoch?.id
    try MemberChanges.leave(family.group, in: &family.members[2], nowMilliseconds: now)
    try family.send(2, to: [0])
    #expect(try family.members[0].zone(family.zone).isEpochOver)
    try Maintenance.maintain(isComplete: false, in: &family.members[0], nowMilliseconds: now)
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id != keys)
    #expect(try !family.members[0].zone(family.zone).isEpochOver)
  }

  @Test("A zone that a transport refuses counts as not read, until that has lasted for long")
  func refused() throws {
    for kind in [ZoneKind.control, .data] {
      var (family, invite) = try family()
      let relay = GuardedShelf()
      let zones = [family.control, family.zone]
      let tags = try zones.map { try family.members[0].zone($0) }.filter { $0.kind == kind }
        .map(\.tag)
      relay.refused = Set(tags)
      let taken = try family.members[0].take(
        from: relay, named: "relay", anchorFile: ForgetfulAnchor(), nowMilliseconds: now + 1_001)
      #expect(taken.unread == [family.group])
      let report = try family.members[0].exchange(
        over: relay, named: "relay", anchorFile: ForgetfulAnchor(), nowMilliseconds: now + 1_001)
      #expect(report.unread == [family.group] && report.failure == nil)
      #expect(!hasDecided(family, invite), "\(kind)")
      _ = try family.members[0].exchange(
        over: relay, named: "relay", anchorFile: ForgetfulAnchor(), holdsBack: false,
        nowMilliseconds: now + 1_001)
      #expect(hasDecided(family, invite), "\(kind)")
    }
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership
import TestSupport
import Testing

@testable import HearthSync

@Suite("How the audit tells why an invitation is over")
struct InvitationEndTests {
  private let now = EngineFamily.now

  private func invite(
    _ family: inout EngineFamily, uses: Int = 1, expires: UInt64
  ) throws -> (made: (capsule: [UInt8], secret: InviteSecret), id: Identifier) {
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: uses,
      expiresMilliseconds: expires, in: &family.members[0], nowMilliseconds: now)
    return (
      (made.capsule, made.secret), try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
    )
  }

  /// What the audit says of the closings of an invitation.
  private func ends(_ id: Identifier, _ family: EngineFamily) -> [AuditEntry.InvitationEnd?] {
    family.membership(0).audit().filter { $0.operation == .inviteClose(invite: id) }.map(\.end)
  }

  @Test("A link that was used up is closed by a device, and nobody is said to have revoked it")
  func usedUp() throws {
    var family = try EngineFamily(1)
    let (made, id) = try invite(&family, expires: now * 2)
    _ = try family.arrive(
      by: made.capsule, with: made.secret, meeting: 0, as: EngineFamily.id(90))
    try family.send(1, to: [0])
    #expect(ends(id, family).isEmpty)
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now)
    #expect(ends(id, family) == [.usedUp])
  }

  @Test("A link is closed as expired a millisecond after its expiry, and not at it")
  func expired() throws {
    var family = try EngineFamily(1)
    let (_, id) = try invite(&family, expires: now + 1_000)
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now + 1_000)
    #expect(ends(id, family).isEmpty)
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now + 1_001)
    #expect(ends(id, family) == [.expired])
  }

  @Test("A link by approval carried no keys: its end makes none")
  func byApproval() throws {
    var family = try EngineFamily(1)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, admission: .approve, maximumUses: 1,
      expiresMilliseconds: now + 1_000, in: &family.members[0], nowMilliseconds: now)
    let id = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
    let keys = try family.members[0].zone(family.zone).currentEpoch?.id
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now + 1_001)
    #expect(ends(id, family) == [.expired])
    #expect(try family.members[0].zone(family.zone).currentEpoch?.id == keys)
  }

  @Test("The name of a bundle follows from the invitation's id alone, on every device")
  func bundleName() throws {
    var family = try EngineFamily(1)
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: now + 1_000, in: &family.members[0], nowMilliseconds: now)
    let id = try #require(Identifier(bytes: made.secret.publicKeys.inviteID))
    #expect(made.capsuleName == .bundle(of: id))
    #expect(made.capsuleName.scope.bytes == made.secret.rendezvousID)
    #expect(EntranceDuties(engine: family.members[0]).closedInvites(in: family.group).isEmpty)
    try Maintenance.maintain(in: &family.members[0], nowMilliseconds: now + 1_001)
    #expect(EntranceDuties(engine: family.members[0]).closedInvites(in: family.group) == [id])
  }

  @Test("A link that somebody closes before it is over is revoked")
  func revoked() throws {
    var family = try EngineFamily(1)
    let (_, id) = try invite(&family, uses: 2, expires: now + 1_000)
    try GroupPolicy.closeInvitation(
      id, of: family.group, in: &family.members[0], nowMilliseconds: now + 1_000)
    #expect(ends(id, family) == [nil])
  }
}

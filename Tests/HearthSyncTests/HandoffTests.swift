import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Rekey handoffs at relays")
struct HandoffTests {
  @Test("A handoff holds a key for the device that fills it too: a backup of it may come that way")
  func ownKey() throws {
    let family = try EngineFamily(2)
    for engine in family.members {
      let recipients = try RekeyHandoffs(engine: engine).handoffRecipients(of: family.group).map(
        \.id)
      #expect(family.members.allSatisfy { recipients.contains($0.device) })
    }
  }

  @Test("A handoff holds no key for a device that was removed")
  func removed() throws {
    var family = try EngineFamily(3)
    try family.remove(2, by: 0)
    let handoffs = RekeyHandoffs(engine: family.members[0])
    let recipients = try handoffs.handoffRecipients(of: family.group).map(\.id)
    #expect(recipients.contains(family.members[1].device))
    #expect(!recipients.contains(family.members[2].device))
  }

  @Test("Whoever was not known to the maker of a key, nor knew of the key, was passed by")
  func passedBy() throws {
    var family = try EngineFamily(2)
    let invitation = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: EngineFamily.now * 2, in: &family.members[0],
      nowMilliseconds: EngineFamily.now)
    try family.remove(1, by: 0)
    let kim = try family.join(by: 0, role: .child, person: nil)
    let device = family.members[kim].device
    try family.send(kim, to: [0])
    #expect(
      try RekeyHandoffs(engine: family.members[0]).passedBy(in: family.group, latest: 64).isEmpty)
    // By a link from before the removal one reads nothing that was written since.
    let anna = try family.published(0, family.control)
    let cleo = try family.arrive(
      by: invitation.capsule, with: invitation.secret, meeting: 0, as: EngineFamily.id(200))
    _ = try family.members[cleo].receive(
      anna, in: family.control, nowMilliseconds: EngineFamily.now)
    try Maintenance.maintain(in: &family.members[cleo], nowMilliseconds: EngineFamily.now)
    #expect(family.membership(cleo).device(device) == nil)
    try family.send(cleo, to: [0])
    let epochs = family.membership(0).keys.epochs(of: family.control)
    let made = try #require(epochs.last { $0.maker == family.members[cleo].device })
    let held = try #require(
      epochs.last { $0.maker == family.members[0].device && $0.place < made.place })
    let found = try RekeyHandoffs(engine: family.members[0]).passedBy(in: family.group, latest: 64)
    #expect(
      found.contains(
        PassedBy(recipient: device, epoch: made.grant.epoch, behind: held.grant.epoch)))
    #expect(!found.contains { $0.recipient == family.members[1].device })
    #expect(found == found.sorted())
    // Who had seen the key, or was seen by its maker, is not.
    #expect(!found.contains { $0.recipient == family.members[cleo].device })
    // Whoever cannot find the handoff does nothing about it.
    #expect(
      try RekeyHandoffs(engine: family.members[cleo]).passedBy(in: family.group, latest: 64)
        .allSatisfy {
          $0.recipient != device
        })
  }
}

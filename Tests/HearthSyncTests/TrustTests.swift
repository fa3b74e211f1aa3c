import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// Attacks on who belongs that a patched engine carries out, by their numbers among the negative
/// tests.
@Suite("Trust: what a patched engine cannot do")
struct TrustTests {
  private let negative = MembershipNegativeTests()

  @Test(
    "Negative 36: who cites what somebody saw, and not what that one had seen, decides nothing",
    arguments: [false, true])
  func openCauses(isThiefFirst: Bool) throws {
    // Berta names words, and lets in a second device; its thief has taken over all that it holds.
    var family = try EngineFamily(3)
    let words = try family.nameWords(of: 1)
    try family.meet([0, 1, 2])
    let person = try family.person(1)
    let stolen = try family.join(by: 1, role: .reader, person: person)
    try family.meet([0, 1, 2, stolen])
    let before = try family.members[stolen].zone(family.control).frontier
    // She recovers on a new device and revokes the others; Anna has seen it and goes on.
    var fresh = try family.bareDevice()
    try RecoveryKeys.recover(
      person, in: family.group, deviceName: "new", revokingOthers: true,
      signing: { words.sign(domain: $0, $1) }, by: &fresh, nowMilliseconds: now)
    family.members.append(fresh)
    let recovered = family.members.count - 1
    try family.send(recovered, to: [0, 2])
    try MemberChanges.heartbeat(in: family.group, by: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 2, recovered])
    let anna = family.members[0].author
    // The thief claims to have seen Anna's latest, and nothing that she had seen of the recovery.
    var claimed = before
    claimed.advance(anna, to: try family.members[0].zone(family.control).frontier[anna])
    let device = family.members[recovered].device
    let forged = try negative.forged(
      [.revokeDevice(device: device, cut: Cut(entries: []))], by: stolen, family,
      seen: claimed)
    let honest = [0, 2, recovered]
    for member in isThiefFirst ? honest.reversed() : honest {
      try negative.take(forged, [member], &family)
      let membership = family.membership(member)
      #expect(membership.isActive(device), "member \(member)")
      #expect(!membership.isActive(family.members[stolen].device), "member \(member)")
      #expect(membership.voided.contains { $0.reason == .openCauses }, "member \(member)")
    }
    try family.meet(honest)
    #expect(Set(honest.map { family.membership($0).summary }).count == 1)
  }

  /// A further engine that joins with the stock program, by what it was given of the log.
  private func comer(
    _ name: String, by made: MadeInvitation, from log: [[UInt8]], as person: PersonID? = nil,
    into family: inout EngineFamily
  ) throws -> Int {
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      made.capsule, with: made.secret, in: &engine, nowMilliseconds: now)
    _ = try engine.receive(log, in: family.control, nowMilliseconds: now)
    try JoiningByInvitation.finish(
      opened, with: made.secret, person: person ?? personID(madeBy: engine.device),
      personName: name, deviceName: name, in: &engine, nowMilliseconds: now)
    family.members.append(engine)
    return family.members.count - 1
  }

  /// Lets an admin hear of nobody but one newcomer, and confirm the joining.
  private func confirm(_ comer: Int, by admin: Int, _ family: inout EngineFamily) throws {
    try family.send(comer, to: [admin])
    let device = family.members[comer].device
    let joining = family.membership(admin).items.last {
      guard case .join(let join) = $0.operation else { return false }
      return ControlIdentity.cardID(of: join.device) == device
    }
    try GroupOperations.perform(
      [.confirm([try #require(joining).id])], in: family.group, by: &family.members[admin],
      nowMilliseconds: now)
  }

  @Test(
    "Negative 35: the device that made a person's id keeps it, whatever a lying admin confirms",
    arguments: [false, true], [false, true])
  func takenID(isThiefFirst: Bool, isConfirmed: Bool) throws {
    var family = try EngineFamily(3)
    let (honest, liar) = (1, 2)
    for admin in [honest, liar] { try family.setRole(admin, .admin, by: 0) }
    let made = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 3,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    try family.meet([0, honest, liar])
    let early = try family.published(0, family.control)
    try MemberChanges.heartbeat(in: family.group, by: &family.members[0], nowMilliseconds: now)
    let late = try family.published(0, family.control)
    let ben = try comer("ben", by: made, from: isThiefFirst ? late : early, into: &family)
    try family.set(ben, 5, 5)
    if isConfirmed { try confirm(ben, by: honest, &family) }
    // An accomplice knows the link and Ben's id, and is given nothing newer than suits.
    let thief = try comer(
      "thief", by: made, from: isThiefFirst ? early : late, as: try family.person(ben),
      into: &family)
    try family.set(thief, 6, 6)
    try confirm(thief, by: liar, &family)
    #expect(family.membership(liar).isActive(family.members[thief].device))
    let others = [0, honest, liar, ben]
    try family.send(thief, to: others)
    try family.meet(others)
    try family.send(0, to: [thief])
    for member in family.members.indices {
      let membership = family.membership(member)
      #expect(membership.role(of: family.members[ben].device) == .member, "member \(member)")
      #expect(!membership.isActive(family.members[thief].device), "member \(member)")
    }
    for member in others {
      #expect(try family.shown(member, 5) == .int(5), "member \(member)")
      #expect(try family.shown(member, 6) == nil, "member \(member)")
    }
    #expect(Set(family.members.indices.map { family.membership($0).summary }).count == 1)
  }
}

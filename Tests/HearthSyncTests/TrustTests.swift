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
    try fresh.recover(
      person, in: family.group, deviceName: "new", revokingOthers: true,
      signing: { words.sign(domain: $0, $1) }, nowMilliseconds: now)
    family.members.append(fresh)
    let recovered = family.members.count - 1
    try family.send(recovered, to: [0, 2])
    try family.members[0].heartbeat(in: family.group, nowMilliseconds: now)
    try family.meet([0, 2, recovered])
    let anna = family.members[0].author
    // The thief claims to have seen Anna's latest, and nothing that she had seen of the recovery.
    var claimed = before
    claimed.advance(anna, to: try family.members[0].zone(family.control).frontier[anna])
    let device = family.members[recovered].device
    let forged = try negative.forged(
      [.revokeDevice(.init(device: device, cut: Cut(entries: [])))], by: stolen, family,
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
}

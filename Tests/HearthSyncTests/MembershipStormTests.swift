import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

@Suite("Membership: many people, at the same time")
struct MembershipStormTests {
  /// One random act of a member; what it may not do is refused and passes.
  private func act(_ family: inout EngineFamily, _ random: inout SplitMix64) throws {
    let member = random.below(family.members.count)
    let other = random.below(family.members.count)
    let group = family.group
    do {
      switch random.below(12) {
      case 0: try family.remove(other, by: member)
      case 1:
        try MemberChanges.revoke(
          family.members[other].device, from: group, in: &family.members[member],
          nowMilliseconds: now)
      case 2:
        try family.setRole(other, [.reader, .child, .member, .admin][random.below(4)], by: member)
      case 3 where random.oneIn(2):
        let offer = try family.offer(to: other, by: member)
        try family.send(member, to: [other])
        if random.oneIn(2) {
          try OwnerTransfer.accept(
            of: group, offer: offer, in: &family.members[other], nowMilliseconds: now)
        }
      case 4 where random.oneIn(3):
        try MemberChanges.leave(group, in: &family.members[member], nowMilliseconds: now)
      case 5 where family.members.count < 11:
        let isOwn = random.oneIn(3)
        _ = try family.join(
          by: member, role: .member, person: isOwn ? try family.person(member) : nil)
      case 6:
        try Rekeying.rekey(
          family.members[member].zoneIDs(of: group), of: group, in: &family.members[member],
          nowMilliseconds: now)
      default: try family.set(member, random.below(8), Int64(random.below(100)))
      }
    } catch let error as SyncError where error.code != .corrupt {
      // Refused: it is not allowed, or not there.
    }
  }

  @Test("After any of it everybody agrees, and who is out opens nothing new", arguments: 0..<10)
  func storm(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    var family = try EngineFamily(5)
    for _ in 0..<30 {
      try act(&family, &random)
      if random.oneIn(2) {
        try family.send(
          random.below(family.members.count),
          to: (0..<3).map { _ in random.below(family.members.count) })
      }
    }
    let everybody = Array(family.members.indices)
    try family.meet(everybody)
    for _ in 0..<3 {
      for member in everybody {
        try Maintenance.maintain(in: &family.members[member], nowMilliseconds: now)
      }
      try family.meet(everybody)
    }
    let owner = try #require(family.membership(0).owner)
    // Who was removed before it had the keys to read so knows nothing of it: the owner's view
    // counts.
    let first = try #require(
      everybody.first { member in
        let own = family.membership(member)
        return own.owner != nil && own.owner == own.person(of: family.members[member].device)?.id
          && own.isActive(family.members[member].device)
      })
    let membership = family.membership(first)
    let active = everybody.filter { membership.isActive(family.members[$0].device) }
    #expect(membership.owner != nil && owner == owner)
    for member in active {
      #expect(family.membership(member).summary == membership.summary, "seed \(seed)")
      #expect(
        try family.members[member].zone(family.zone).frontier
          == family.members[first].zone(family.zone).frontier, "seed \(seed), \(member)")
    }
    #expect(try family.areEqual(active), "seed \(seed)")
    // A fold of everything in another order, and a newcomer's, come to the same.
    for member in active.prefix(2) {
      let digest = try family.members[member].digest(of: family.zone)
      try Rebuild.rebuild(family.zone, in: &family.members[member], nowMilliseconds: now)
      #expect(try family.members[member].digest(of: family.zone) == digest, "seed \(seed)")
    }
    let writer = active.first { member in
      membership.role(of: family.members[member].device).map { $0 != .reader } ?? false
    }
    guard let writer else { return }
    try expectRead(byNoneBut: active, from: writer, "seed \(seed)", &family)
  }

  /// What a member writes is read by those who are in, and by nobody else.
  private func expectRead(
    byNoneBut active: [Int], from writer: Int, _ words: String, _ family: inout EngineFamily
  ) throws {
    let everybody = Array(family.members.indices)
    try family.set(writer, 99, 1)
    try family.meet(everybody)
    for member in everybody where !active.contains(member) {
      #expect(try family.shown(member, 99) == nil, "\(words): \(member) is out and reads")
    }
    for member in active {
      #expect(try family.shown(member, 99) == .int(1), "\(words): \(member) cannot read")
    }
  }
}

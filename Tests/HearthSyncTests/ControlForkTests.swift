import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

/// A device of the group that writes two histories of its log of the control zone.
@Suite("Forks of the control zone")
struct ControlForkTests {
  /// A household in which device 1 is an admin's and has a copy.
  ///
  /// Members 0 to 3; member 4 is the copy of member 1. Newcomer 5 comes by an invitation of the
  /// one, newcomer 6 by one of the other.
  private func forked() throws -> EngineFamily {
    var family = try EngineFamily(4)
    try family.setRole(1, .admin, by: 0)
    try family.meet([0, 1, 2, 3])
    try family.set(1, 1, 1)
    try family.meet([0, 1, 2, 3])
    family.members.append(try family.twin(of: 1))
    #expect(try family.join(by: 1, role: .member) == 5)
    #expect(try family.join(by: 4, role: .member) == 6)
    try family.set(5, 5, 5)
    try family.set(6, 6, 6)
    return family
  }

  @Test(
    "Negative 8: two histories in the control zone are proven to all, both count, and all end equal",
    arguments: 0..<6)
  func fork(order: Int) throws {
    var family = try forked()
    let end = try family.members[1].zone(family.control).head(of: family.members[1].author)
    let first = try family.members[0].zone(family.control).frontier[end.author] + 1
    // Each sees one history first; then everything meets.
    let (left, right) = order % 2 == 0 ? (0, 2) : (2, 0)
    try family.send(5, to: [left])
    try family.send(6, to: [right])
    for member in [left, right] {
      #expect(try family.members[member].zone(family.control).forkEnds.isEmpty)
    }
    #expect(family.membership(left).isActive(family.members[5].device))
    #expect(!family.membership(left).isActive(family.members[6].device))
    switch order / 2 {
    case 0: try family.send(left, to: [right])
    case 1: try family.send(right, to: [left])
    default: try family.send(6, to: [3, left])
    }
    for _ in 0..<2 { try family.meet([3, left, right, 5, 6]) }
    let those = [0, 2, 3, 5, 6]
    try family.expectEqual(those)
    for member in those {
      #expect(
        try family.members[member].zone(family.control).forkEnds == [end.author: first],
        "member \(member)")
      for newcomer in [5, 6] {
        #expect(
          family.membership(member).isActive(family.members[newcomer].device),
          "member \(member), newcomer \(newcomer)")
        #expect(try family.shown(member, newcomer) == .int(Int64(newcomer)))
      }
      #expect(family.membership(member).voided.isEmpty, "\(family.membership(member).summary)")
    }
    // Everybody goes on, the copies too, each in a life of its own.
    try family.meet(Array(family.members.indices))
    try family.meet(Array(family.members.indices))
    #expect(family.members[1].incarnation != family.members[4].incarnation)
    try family.set(1, 7, 7)
    try family.set(4, 8, 8)
    try family.set(2, 9, 9)
    try family.meet(Array(family.members.indices))
    try family.expectEqual(Array(family.members.indices))
    for member in family.members.indices {
      for record in 7...9 { #expect(try family.shown(member, record) == .int(Int64(record))) }
    }
  }
}

extension EngineFamily {
  /// The same device once more, as of a copied disk.
  func twin(of member: Int) throws -> Engine<MemoryStore> {
    let engine = members[member]
    return try Engine(
      store: engine.store.copied(), identity: engine.identity, incarnation: engine.incarnation,
      policy: RolePolicy(otherwise: .init(.writers)), nowMilliseconds: EngineFamily.now)
  }

  /// That some members agree on everything, and that it is the same after opening again and when
  /// it is built anew.
  mutating func expectEqual(
    _ those: [Int], _ name: String = "", location: SourceLocation = #_sourceLocation
  ) throws {
    let summary = membership(those[0]).summary
    for zone in [control, zone] {
      let digest = try members[those[0]].digest(of: zone)
      for member in those {
        #expect(
          try members[member].digest(of: zone) == digest, "\(name) member \(member)",
          sourceLocation: location)
        #expect(
          try members[member].audit(zone).findings.isEmpty, "\(name) member \(member)",
          sourceLocation: location)
        var again = try EngineFamily.reopened(members[member])
        #expect(
          again.membership(of: group).summary == summary, "\(name) member \(member), opened again",
          sourceLocation: location)
        try again.rebuild(zone, nowMilliseconds: EngineFamily.now)
        #expect(
          try again.digest(of: zone) == digest, "\(name) member \(member), built anew",
          sourceLocation: location)
      }
    }
    for member in those {
      #expect(membership(member).summary == summary, "\(name)", sourceLocation: location)
      #expect(
        try members[member].zone(zone).writeEpoch == members[those[0]].zone(zone).writeEpoch,
        "\(name) member \(member)", sourceLocation: location)
    }
  }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
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
    "Negative 8: two histories in the control zone are shown to all, both count, all end equal",
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
    // Nobody shows anything twice.
    let shown = try family.shownParts(0)
    let digests = shown.map { part -> Identifier? in
      if case .branch(_, let digest, _, _, _) = part { digest } else { nil }
    }
    #expect(Set(digests).count <= 4)
    let showings = try family.showings(0)
    #expect(showings.count == shown.count && showings.count <= 12, "\(showings)")
    try family.meet([0, 2, 3])
    #expect(try family.shownParts(0) == shown)
  }

  @Test("Both copies go on, each in a life of its own, and a newcomer sees what all see")
  func goingOn() throws {
    var family = try forked()
    let all = Array(family.members.indices)
    for _ in 0..<2 { try family.meet(all) }
    #expect(family.members[1].incarnation != family.members[4].incarnation)
    for (member, record) in [(1, 7), (4, 8), (2, 9)] {
      try family.set(member, record, Int64(record))
    }
    try family.meet(all)
    let late = try family.join(by: 0, role: .child)
    try family.send(0, to: [late])
    // And one that begins from a snapshot.
    let latest = try family.join(by: 0, role: .member)
    let control = try family.published(0, family.control)
    _ = try family.members[latest].receive(control, in: family.control, nowMilliseconds: now)
    try SnapshotLoading.bootstrap(
      family.zone, from: try SnapshotMaking.snapshot(of: family.zone, in: family.members[0]),
      in: &family.members[latest], nowMilliseconds: now)
    try family.meet([0, 1, 4, late, latest])
    try family.expectEqual([0, 1, 4, late, latest])
    for member in [0, 1, 4, late, latest] {
      for record in 7...9 {
        #expect(try family.shown(member, record) == .int(Int64(record)), "member \(member)")
      }
    }
    let audit = family.membership(late).audit()
    #expect(Set(audit.compactMap(\.history)) == [1, 2])
  }

  @Test("What a removed device shows as its second history counts nowhere", arguments: [0, 1])
  func removed(order: Int) throws {
    var family = try forked()
    try family.send(5, to: [0, 2])
    try family.remove(1, by: 0)
    try family.meet([0, 2, 5])
    let those = order == 0 ? [0, 2] : [2, 0]
    for member in those { try family.send(6, to: [member]) }
    for _ in 0..<3 {
      try family.meet([0, 2, 3, 5])
      // Whoever came by the second history has keys, so new ones are made.
      for member in [0, 2, 3, 5] {
        try Maintenance.maintain(in: &family.members[member], nowMilliseconds: now)
      }
    }
    try family.meet([0, 2, 3, 5])
    try family.expectEqual([0, 2, 3, 5])
    for member in [0, 2, 3, 5] {
      let membership = family.membership(member)
      #expect(!membership.isActive(family.members[1].device))
      #expect(!membership.isActive(family.members[6].device), "member \(member)")
      #expect(membership.isActive(family.members[5].device), "member \(member)")
      #expect(try family.shown(member, 5) == .int(5), "member \(member)")
      #expect(try family.shown(member, 1) == .int(1), "member \(member)")
      #expect(try family.shown(member, 6) == nil, "member \(member)")
    }
  }

  @Test("A device contradicts its joining: whom it let in, and what both wrote, stay")
  func joining() throws {
    var family = try EngineFamily(3)
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &engine, nowMilliseconds: now)
    _ = try engine.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    let twin = try Engine(
      store: engine.store.copied(), identity: engine.identity, incarnation: engine.incarnation,
      policy: RolePolicy(otherwise: .init(.writers)), nowMilliseconds: now)
    for (var copy, name) in [(engine, "one"), (twin, "two")] {
      try JoiningByInvitation.finish(
        opened, with: family.secret, person: EngineFamily.id(50), personName: "X",
        deviceName: name, in: &copy, nowMilliseconds: now)
      family.members.append(copy)
    }
    let life = engine.author
    try family.send(3, to: [0])
    try family.setRole(3, .admin, by: 0)
    try family.meet([0, 3])
    try family.set(3, 3, 3)
    try family.send(3, to: [0])
    #expect(try family.join(by: 3, role: .member) == 5)
    try family.set(5, 5, 5)
    try family.send(5, to: [0, 1])
    try family.send(4, to: [2])
    for _ in 0..<2 { try family.meet([0, 1, 2, 5]) }
    try family.expectEqual([0, 1, 2, 5])
    for member in [0, 1, 2, 5] {
      #expect(try family.members[member].zone(family.control).forkEnds == [life: 1])
      #expect(family.membership(member).isActive(family.members[3].device))
      #expect(family.membership(member).isActive(family.members[5].device), "member \(member)")
      for record in [3, 5] {
        #expect(try family.shown(member, record) == .int(Int64(record)), "member \(member)")
      }
    }
  }

  /// Segments of device 1's log that all begin with the same number.
  private func contradictions(
    _ count: Int, in family: EngineFamily, bytes: Int = 8
  ) throws -> [[UInt8]] {
    let base = try Forge(family.members[1], family.control)
    var random = SplitMix64(seed: 3)
    return try (0..<count).map { _ in
      var forge = base
      let content = (0..<bytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      return try forge.seal([
        forge.change(
          controlSeen: Frontier(), [.assign(FieldID(.register, 1), .bytes(content))])
      ])
    }
  }

  @Test("Many histories of one log do not fill the others' logs, and harm nobody")
  func many() throws {
    var family = try EngineFamily(3)
    let segments = try contradictions(20, in: family)
    for segment in segments {
      _ = try family.members[0].receive([segment], in: family.control, nowMilliseconds: now)
    }
    #expect(try family.shownParts(0).count == ShownTree.maximumHistories)
    for segment in segments.reversed() {
      _ = try family.members[2].receive([segment], in: family.control, nowMilliseconds: now)
    }
    try family.meet([0, 2])
    try family.expectEqual([0, 2])
    #expect(try family.shownParts(0).count <= 2 * ShownTree.maximumHistories)
    #expect(family.membership(0).devices.count == 3)
  }

  /// What a founder's stolen device publishes, which shows decoys of its own log.
  private func shownDecoys(
    _ count: Int, of early: Forge, in family: EngineFamily
  ) throws -> [[UInt8]] {
    var thief = try Engine(
      store: family.members[0].store.copied(), identity: family.members[0].identity,
      incarnation: Incarnations.next(after: family.members[0].incarnation),
      policy: RolePolicy(otherwise: .init(.writers)), nowMilliseconds: now)
    // Its program does not show what contradicts the decoys.
    thief.isShowing = true
    for number in 0..<count {
      var forge = early
      let decoy = try forge.seal([
        forge.change(
          controlSeen: Frontier(), [.assign(EngineFamily.register, .int(Int64(number)))])
      ])
      // Only what it shows is published, so that everybody learns of all of it at once.
      _ = try ControlWriting.write(
        [
          .branch(
            author: family.members[0].author, digest: segmentDigest(decoy), part: 0, parts: 1,
            bytes: decoy)
        ], group: family.group, in: &thief, nowMilliseconds: now)
    }
    _ = try Sealing.seal(family.control, in: &thief)
    return try thief.store.log.segments(of: family.control)
      .filter { $0.author == thief.author }
      .compactMap { try thief.store.log.bytes(of: $0.digest, in: family.control) }
  }

  @Test(
    "Decoys that a stolen founder's device shows of its own log take nothing from anybody",
    arguments: [1, 2, 9, 100])
  func decoys(count: Int) throws {
    // Everybody but the founder rests on what comes after this.
    var family = try EngineFamily(1)
    let early = try Forge(family.members[0], family.control)
    let guests = [
      try family.join(by: 0, role: .member), try family.join(by: 0, role: .member),
    ]
    try family.set(guests[1], 1, 1)
    try family.meet([0] + guests)
    let blobs = try shownDecoys(count, of: early, in: family)
    for guest in guests {
      _ = try family.members[guest].receive(blobs, in: family.control, nowMilliseconds: now)
      // One content alone contradicts nothing.
      #expect(try family.members[guest].zone(family.control).forkEnds.isEmpty == (count == 1))
    }
    for _ in 0..<2 { try family.meet(guests) }
    try family.expectEqual(guests)
    for (member, other) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
      let device = family.members[guests[other]].device
      #expect(
        family.membership(guests[member]).isActive(device),
        "\(member) sees \(other) with \(count) decoys")
    }
    for guest in guests { #expect(try family.shown(guest, 1) == .int(1)) }
    try family.set(guests[1], 2, 2)
    try family.meet(guests)
    #expect(try family.shown(guests[0], 2) == .int(2))
  }

  @Test("A second content of a change below what is here is found")
  func hidden() throws {
    var family = try EngineFamily(3)
    var left = try Forge(family.members[1], family.control)
    var right = left
    let change = { (forge: inout Forge, number: Int64) throws in
      try forge.seal([
        forge.change(controlSeen: Frontier(), [.assign(EngineFamily.register, .int(number))])
      ])
    }
    let segments = [try change(&left, 1), try change(&left, 2)]
    _ = try family.members[0].receive(segments, in: family.control, nowMilliseconds: now)
    _ = try family.members[0].receive(
      [try change(&right, 3)], in: family.control, nowMilliseconds: now)
    #expect(try family.members[0].zone(family.control).forkEnds.count == 1)
    #expect(try family.shownParts(0).count == 3)
  }

  @Test("A long segment is shown in parts")
  func parts() throws {
    var family = try EngineFamily(3)
    let segments = try contradictions(2, in: family, bytes: 400 * 1_024)
    for member in [0, 2] {
      _ = try family.members[member].receive(
        [segments[member / 2]], in: family.control, nowMilliseconds: now)
    }
    _ = try family.members[0].receive([segments[1]], in: family.control, nowMilliseconds: now)
    let counts = try family.shownParts(0).map { shown in
      if case .branch(_, _, _, let parts, _) = shown { parts } else { 0 }
    }
    #expect(counts == [2, 2, 2, 2])
    try family.meet([0, 2])
    try family.expectEqual([0, 2])
    let ends = try family.members[2].zone(family.control).forkEnds
    #expect(ends.count == 1)
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

  /// The parts of shown segments that a member has in its log.
  func shownParts(_ member: Int) throws -> [ControlOperation] {
    try members[member].store.records.events(of: ControlOperation.type, in: control).compactMap {
      guard let operation = ControlOperation($0.1), case .branch = operation else { return nil }
      return operation
    }
  }

  /// Which device shows which part of a history.
  func showings(_ member: Int) throws -> Set<[Identifier]> {
    let items = Membership.items(
      of: try members[member].store.records.events(of: ControlOperation.type, in: control))
    return Set(
      items.compactMap { item in
        guard case .branch(_, let digest, let part, _, _) = item.operation else { return nil }
        return [
          item.version.dot.author.device, digest, Identifier(high: 0, low: UInt64(part)),
        ]
      })
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
          try ZoneAudit(engine: members[member]).audit(zone).findings.isEmpty,
          "\(name) member \(member)",
          sourceLocation: location)
        var again = try EngineFamily.reopened(members[member])
        #expect(
          again.membership(of: group).summary == summary, "\(name) member \(member), opened again",
          sourceLocation: location)
        try Rebuild.rebuild(zone, in: &again, nowMilliseconds: EngineFamily.now)
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

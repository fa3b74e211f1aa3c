import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// A transaction counts as one: what somebody may not do in it takes the rest with it.
@Suite("Whole transactions")
struct WholeTransactionTests {
  /// Everybody who writes may write this.
  private static let work = TypeID.record(7)
  /// Members may, and children may not.
  private static let plan = TypeID.record(8)
  private static let policy = RolePolicy(
    [plan: .init(.members)], otherwise: .init(.writers))

  private func key(_ type: TypeID, _ record: Int = 1) -> RecordKey {
    RecordKey(type: type, id: EngineFamily.id(record))
  }

  private func assigning(_ type: TypeID, _ value: Int64, _ record: Int = 1) -> Operation {
    Operation(key(type, record), .assign(EngineFamily.register, .int(value)))
  }

  /// The owner, a member and another one, all of whom judge by roles.
  private func family() throws -> EngineFamily {
    var family = try EngineFamily(3)
    for member in family.members.indices {
      let engine = family.members[member]
      family.members[member] = try Engine(
        store: engine.store, identity: engine.identity, incarnation: engine.incarnation,
        policy: WholeTransactionTests.policy, nowMilliseconds: now)
    }
    return family
  }

  private func shown(
    _ type: TypeID, _ member: Int, _ family: EngineFamily, record: Int = 1
  ) throws -> Value? {
    let key = key(type, record)
    return try family.members[member].store.records.states(of: [key], in: family.zone)[0]?
      .shown(EngineFamily.register)
  }

  private func notices(_ member: Int, _ family: EngineFamily) -> [Notice] {
    family.members[member].store.notices.all().filter { $0.kind == .void }
  }

  @Test(
    "What was written at the time of a demotion is void, listed and taken over as a whole",
    arguments: [false, true])
  func demoted(isDemotionFirst: Bool) throws {
    var family = try family()
    _ = try family.members[2].write(
      [assigning(WholeTransactionTests.work, 5), assigning(WholeTransactionTests.plan, 6)],
      to: family.zone, nowMilliseconds: now)
    // What a child may do alone stands.
    _ = try family.members[2].write(
      [assigning(WholeTransactionTests.work, 7, 2)], to: family.zone, nowMilliseconds: now)
    if !isDemotionFirst { try family.send(2, to: [1]) }
    try family.setRole(2, .child, by: 0)
    try family.meet([0, 1, 2])
    for member in 0...2 {
      #expect(try shown(WholeTransactionTests.work, member, family) == nil, "member \(member)")
      #expect(try shown(WholeTransactionTests.plan, member, family) == nil, "member \(member)")
      #expect(try shown(WholeTransactionTests.work, member, family, record: 2) == .int(7))
      let held = try VoidChanges(engine: family.members[member]).quarantined(in: family.group)
      #expect(held.map(\.changes) == [1...1] && held.map(\.cause) == [.beyondRole])
      #expect(held.first?.author.device == family.members[2].device)
      let notice = try #require(notices(member, family).first)
      #expect(notices(member, family).count == 1 && notice.device == family.members[2].device)
      #expect(notice.text.contains("1 change") && notice.text.contains("hearth quarantine"))
      #expect(notice.text.contains(member == 2 ? "you are a child" : "device 2"))
    }
    #expect(try family.areEqual([0, 1, 2]))
    // Built anew it is the same, and nobody is told twice.
    try Rebuild.rebuild(family.zone, in: &family.members[1], nowMilliseconds: now)
    #expect(notices(1, family).count == 1)
    #expect(try VoidChanges(engine: family.members[1]).quarantined(in: family.group).count == 1)
    #expect(try family.areEqual([0, 1, 2]))

    let held = try #require(
      try VoidChanges(engine: family.members[0]).quarantined(in: family.group).first)
    try Adoption.adopt(held, in: family.group, by: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    for member in 0...2 {
      #expect(try shown(WholeTransactionTests.work, member, family) == .int(5))
      #expect(try shown(WholeTransactionTests.plan, member, family) == .int(6))
      #expect(try VoidChanges(engine: family.members[member]).quarantined(in: family.group).isEmpty)
    }
    #expect(try family.areEqual([0, 1, 2]))
  }

  @Test("Of a void stretch of which a part was taken over the rest is listed, and what comes later")
  func partlyTakenOver() throws {
    var family = try family()
    for value in 1...3 {
      _ = try family.members[2].write(
        [assigning(WholeTransactionTests.plan, Int64(value))], to: family.zone, nowMilliseconds: now
      )
    }
    try family.setRole(2, .child, by: 0)
    try family.meet([0, 1, 2])
    let held = try #require(
      try VoidChanges(engine: family.members[0]).quarantined(in: family.group).first)
    #expect(held.changes == 1...3)
    try Adoption.adopt(
      QuarantinedChanges(zone: held.zone, author: held.author, changes: 2...2, cause: held.cause),
      in: family.group, by: &family.members[0], nowMilliseconds: now)
    try family.meet([0, 1, 2])
    for member in 0...2 {
      let rest = try VoidChanges(engine: family.members[member]).quarantined(in: family.group).map(
        \.changes)
      #expect(rest == [1...1, 3...3], "member \(member)")
      #expect(try shown(WholeTransactionTests.plan, member, family) == .int(2))
    }
    #expect(throws: SyncError(.notAllowed, "")) {
      try Adoption.adopt(held, in: family.group, by: &family.members[1], nowMilliseconds: now)
    }
  }

  @Test("A changed program's transaction beyond its role leaves nothing, and those around it stand")
  func patched() throws {
    var family = try family()
    try family.setRole(2, .child, by: 0)
    try family.meet([0, 1, 2])
    #expect(throws: SyncError(.notAllowed, "")) {
      try family.members[2].write(
        [assigning(WholeTransactionTests.work, 1), assigning(WholeTransactionTests.plan, 1)],
        to: family.zone, nowMilliseconds: now)
    }
    var forge = try Forge(family.members[2], family.zone)
    let changes = [
      forge.change(operations: { _ in [assigning(WholeTransactionTests.work, 1, 1)] }),
      forge.change(operations: { _ in
        [
          assigning(WholeTransactionTests.work, 2, 2), assigning(WholeTransactionTests.plan, 2, 2),
        ]
      }),
      forge.change(operations: { _ in [assigning(WholeTransactionTests.work, 3, 3)] }),
    ]
    let bytes = try forge.seal(changes)
    for member in 0...1 {
      let report = try family.members[member].receive(
        [bytes], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 3 && report.refused.isEmpty)
      #expect(try shown(WholeTransactionTests.work, member, family, record: 1) == .int(1))
      #expect(try shown(WholeTransactionTests.work, member, family, record: 2) == nil)
      #expect(try shown(WholeTransactionTests.work, member, family, record: 3) == .int(3))
      #expect(
        try VoidChanges(engine: family.members[member]).quarantined(in: family.group).map(\.changes)
          == [2...2])
      #expect(notices(member, family).map(\.device) == [family.members[2].device])
      #expect(notices(member, family).first?.text.contains("a child may not write") == true)
    }
    #expect(try family.areEqual([0, 1]))
  }

  @Test(
    "One operation that no program writes takes its transaction with it, and cannot be taken over")
  func malformed() throws {
    var family = try family()
    var forge = try Forge(family.members[2], family.zone)
    let event = TypeID.event(9)
    let bad: [(Dot) -> Operation] = [
      { _ in Operation(key(WholeTransactionTests.work), .count(EngineFamily.register, 1)) },
      { _ in Operation(RecordKey(type: event, id: EngineFamily.id(9)), .event([])) },
      { _ in Operation(RecordKey(type: event, id: EngineFamily.id(9)), .insert) },
    ]
    let changes = bad.enumerated().map { place, operation in
      forge.change(operations: { dot in
        [assigning(WholeTransactionTests.work, 1, place + 1), operation(dot)]
      })
    }
    let bytes = try forge.seal(changes)
    for member in 0...1 {
      let report = try family.members[member].receive(
        [bytes], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == bad.count && report.refused.isEmpty)
      for place in bad.indices {
        #expect(
          try shown(WholeTransactionTests.work, member, family, record: place + 1) == nil,
          "operation \(place)")
      }
      #expect(try family.members[member].store.records.events(of: event, in: family.zone).isEmpty)
      #expect(try VoidChanges(engine: family.members[member]).quarantined(in: family.group).isEmpty)
      #expect(notices(member, family).first?.text.contains("no program writes") == true)
    }
    #expect(try family.areEqual([0, 1]))
  }

  @Test("Others' void changes are told of once a day for each device")
  func toldOnceADay() throws {
    var family = try family()
    try family.setRole(2, .child, by: 0)
    try family.meet([0, 1, 2])
    var forge = try Forge(family.members[2], family.zone)
    let span = StoredVoids.voidNoticeMilliseconds
    for (later, count) in [(UInt64(0), 1), (span - 1, 1), (span, 2)] {
      let change = forge.change(operations: { _ in [assigning(WholeTransactionTests.plan, 1)] })
      let bytes = try forge.seal([change])
      _ = try family.members[0].receive([bytes], in: family.zone, nowMilliseconds: now + later)
      #expect(notices(0, family).count == count, "after \(later)")
    }
    #expect(
      try VoidChanges(engine: family.members[0]).quarantined(in: family.group).map(\.changes) == [
        1...3
      ])
  }

  @Test("The list of void changes takes so many stretches of a log, and none beyond")
  func bound() throws {
    let author = Author(device: EngineFamily.id(1), incarnation: 1)
    var voids = RoleVoids()
    func isNew(_ author: Author, _ sequence: UInt64) -> Bool {
      voids.insert(Dot(author: author, sequence: sequence))
    }
    for number in 0..<UInt64(RoleVoids.maximumStretches) {
      #expect(isNew(author, 2 * number + 1))
    }
    let last = UInt64(2 * RoleVoids.maximumStretches - 1)
    #expect(!isNew(author, last + 2))
    #expect(voids.all.count == RoleVoids.maximumStretches)
    // The last stretch still grows, and other logs have room of their own.
    #expect(isNew(author, last + 1))
    #expect(!isNew(author, last + 1))
    #expect(isNew(Author(device: EngineFamily.id(2), incarnation: 1), 9))
    #expect(voids.all.count == RoleVoids.maximumStretches + 1)
    // A change that is void for another reason begins a stretch of its own.
    let third = Author(device: EngineFamily.id(3), incarnation: 1)
    #expect(isNew(third, 1))
    let isBeside = voids.insert(
      Dot(author: third, sequence: 2), overfull: key(WholeTransactionTests.work))
    #expect(isBeside)
    #expect(
      voids.all.suffix(2).map(\.stretch.overfull) == [nil, key(WholeTransactionTests.work)])
    #expect(try RoleVoids(voids.bytes) == voids)
    for bytes in [[], [1], voids.bytes + [0], [0xff, 0xff, 0xff, 0xff, 0x7f]] as [[UInt8]] {
      #expect(throws: CodecError.self) { try RoleVoids(bytes) }
    }
  }
}

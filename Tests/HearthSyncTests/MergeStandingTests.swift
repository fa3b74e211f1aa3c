import HearthCRDT
import HearthCrypto
import Household
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// Who may say that somebody counts as somebody else, whatever program says it.
@Suite("Merges of people count by rank and only of who has gone")
struct MergeStandingTests {
  private let person = FieldID(.register, 1)
  private let into = FieldID(.register, 2)

  /// A device that folds by the household's rules.
  private func judge(joining family: inout EngineFamily, _ number: Int) throws -> Int {
    let identity = try DeviceIdentity.generate().0
    var engine = try Engine(
      store: MemoryStore(), identity: identity,
      incarnation: Incarnations.first(of: identity),
      policy: HouseholdSchema.rolePolicy,
      nowMilliseconds: now)
    let opened = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &engine, nowMilliseconds: now)
    _ = try engine.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    try JoiningByInvitation.finish(
      opened, with: family.secret, person: EngineFamily.id(500 + number), personName: "Judge",
      deviceName: "judge", in: &engine, nowMilliseconds: now)
    family.members.append(engine)
    return family.members.count - 1
  }

  private func merge(
    _ ghost: PersonID, _ other: PersonID?, at dot: Dot, in family: EngineFamily
  ) -> [Operation] {
    let type = HouseholdSchema.personMerge
    let id = eventID(in: family.zone, type: type, dot: dot, index: 0)
    return [
      Operation(
        RecordKey(type: type, id: id),
        .event([
          EventField(person, .bytes(ghost.bytes)),
          EventField(into, other.map { .bytes($0.bytes) } ?? .null),
        ]))
    ]
  }

  /// How many merges a member holds that have effect.
  private func count(_ member: Int, _ family: EngineFamily) throws -> Int {
    try family.members[member].store.records.events(
      of: HouseholdSchema.personMerge, in: family.zone
    )
    .count
  }

  @Test("A forged merge has effect only of somebody gone and below its author, into somebody known")
  func forged() throws {
    // The founder, an admin who forges, a member who goes, an admin who goes, and one who stays.
    var family = try EngineFamily(5)
    for admin in [1, 3] { try family.setRole(admin, .admin, by: 0) }
    let judge = try judge(joining: &family, 0)
    try family.meet(Array(family.members.indices))
    for gone in [2, 3] { try family.remove(gone, by: 0) }
    try family.meet([0, 1, 4, judge])
    let people = try (0..<5).map { try family.person($0) }
    let stranger = EngineFamily.id(99)
    let cases: [(author: Int, ghost: PersonID, other: PersonID?, counts: Bool)] = [
      (1, people[2], people[4], true), (1, people[2], people[3], true), (1, people[2], nil, true),
      // Who is here, of whatever rank; the author itself too.
      (1, people[4], people[0], false), (1, people[0], people[4], false),
      (1, people[1], people[4], false), (0, people[4], people[1], false),
      // Who ranks as high.
      (1, people[3], people[4], false), (1, people[3], nil, false),
      // Nobody knows them.
      (1, stranger, people[4], false), (1, people[2], stranger, false),
      // The owner ranks above all; a member above nobody, as far as this goes.
      (0, people[3], people[4], true), (4, people[2], people[1], false),
    ]
    for (number, one) in cases.enumerated() {
      var forge = try Forge(family.members[one.author], family.zone)
      let change = forge.change(operations: { dot in
        self.merge(one.ghost, one.other, at: dot, in: family)
      })
      let before = try count(judge, family)
      var fresh = family.members[judge]
      let sealed = try forge.seal([change])
      let store = fresh.store
      struct Undo: Error {}
      #expect(throws: Undo.self, "case \(number)") {
        try store.transaction {
          let report = try fresh.receive([sealed], in: family.zone, nowMilliseconds: now)
          #expect(report.applied == 1 && report.refused.isEmpty, "case \(number)")
          #expect(
            try count(judge, family) - before == (one.counts ? 1 : 0), "case \(number)")
          throw Undo()
        }
      }
    }
  }

  @Test("An own merge of somebody who is here, or not below, is refused before it is written")
  func own() throws {
    var family = try EngineFamily(3)
    let admin = try judge(joining: &family, 0)
    try family.meet(Array(family.members.indices))
    try family.setRole(admin, .admin, by: 0)
    try family.setRole(1, .admin, by: 0)
    try family.meet(Array(family.members.indices))
    let dot = try family.members[admin].nextDot(in: family.zone)
    for ghost in [0, 1, 2] {
      let operations = merge(
        try family.person(ghost), try family.person(admin), at: dot, in: family)
      #expect {
        _ = try family.members[admin].write(
          operations, to: family.zone, nowMilliseconds: now)
      } throws: { error in
        (error as? SyncError)?.code == .notAllowed
          && "\(error)".contains("not rank below you, or still belongs to the group")
      }
    }
    try family.remove(2, by: admin)
    let next = try family.members[admin].nextDot(in: family.zone)
    let ghost = try #require(family.membership(admin).formerPeople.first).id
    _ = try family.members[admin].write(
      merge(ghost, try family.person(admin), at: next, in: family), to: family.zone,
      nowMilliseconds: now)
    #expect(try count(admin, family) == 1)
  }

  @Test("Where the removal turns out void, the merge that rested on it has no effect anywhere")
  func voidRemoval() throws {
    // The founder, the admin who removes, the admin who merges, and who is removed.
    var family = try EngineFamily(4)
    for admin in [1, 2] { try family.setRole(admin, .admin, by: 0) }
    let judges = [
      try judge(joining: &family, 0), try judge(joining: &family, 1),
    ]
    try family.meet(Array(family.members.indices))
    // The owner removes the remover, who removes somebody, at the same time.
    let ghost = try family.person(3)
    try family.remove(1, by: 0)
    let ending = try family.published(0, family.control)
    try family.remove(3, by: 1)
    try family.meet([1, 2])
    let dot = try family.members[2].nextDot(in: family.zone)
    _ = try family.members[2].write(
      merge(ghost, try family.person(2), at: dot, in: family), to: family.zone,
      nowMilliseconds: now)
    for (number, judge) in judges.enumerated() {
      let isFirst = number == 0
      if !isFirst {
        _ = try family.members[judge].receive(
          ending, in: family.control, nowMilliseconds: now)
      }
      try family.send(2, to: [judge])
      if isFirst {
        #expect(try count(judge, family) == 1)
        _ = try family.members[judge].receive(
          ending, in: family.control, nowMilliseconds: now)
      }
    }
    for judge in judges {
      #expect(family.membership(judge).people.contains { $0.id == ghost })
      #expect(try count(judge, family) == 0)
    }
    let digests = try judges.map { try family.members[$0].digest(of: family.zone) }
    #expect(digests[0] == digests[1])
  }
}

import HearthCRDT
import HearthCrypto
import Household
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// What programs without manners write, on the device of somebody who may do little.
@Suite("Patched clients of a child and of a reader")
struct PatchedClientTests {
  /// What a child may write, said once more and by hand; a reader may write nothing.
  private static let childMay: Set<TypeID> = [
    HouseholdSchema.completion, HouseholdSchema.retraction, HouseholdSchema.skip,
  ]

  private static let unknown = [
    RecordSchema(.record(999), "newer", [FieldSchema(FieldID(.register, 1), "x", .int)]),
    RecordSchema(.event(999), "newer_event", [FieldSchema(FieldID(.register, 1), "x", .int)]),
  ]

  /// A device that folds by the household's rules.
  private func judge(joining family: inout EngineFamily) throws -> Int {
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
      opened, with: family.secret, person: EngineFamily.id(500), personName: "Judge",
      deviceName: "judge", in: &engine, nowMilliseconds: now)
    family.members.append(engine)
    return family.members.count - 1
  }

  /// Every operation that a record of a type can undergo.
  private func bodies(of schema: RecordSchema) -> [Operation.Body] {
    [.insert]
      + schema.fields.map { field -> Operation.Body in
        switch field.id.kind {
        case .counter: .count(field.id, 66)
        case .set: .include(field.id, .int(66))
        default: .assign(field.id, .int(66))
        }
      } + [.delete]
  }

  /// An event of every type, and every operation on records of every type: on a person's own, on
  /// one that is there, and on one that is not.
  private func forgedChanges(
    of types: [RecordSchema], by own: PersonID, in zone: ZoneID, _ forge: inout Forge
  ) -> [Change] {
    var changes: [Change] = []
    for schema in types {
      if schema.id.isEvent {
        changes.append(
          forge.change(operations: { dot in
            let id = eventID(in: zone, type: schema.id, dot: dot, index: 0)
            return [
              Operation(
                RecordKey(type: schema.id, id: id),
                .event(
                  schema.fields.map { field in
                    // Of itself, as far as it tells of anybody.
                    EventField(field.id, field.name == "person" ? .bytes(own.bytes) : .int(66))
                  }))
            ]
          }))
        continue
      }
      for id in [own, EngineFamily.id(77), EngineFamily.id(88)] {
        let key = RecordKey(type: schema.id, id: id)
        for body in bodies(of: schema) {
          // With a clock ahead, so that it would win over what is there.
          changes.append(
            forge.change(operations: { _ in [Operation(key, body)] }, time: now + 60_000))
        }
      }
    }
    return changes
  }

  /// The records of types, in order, as a member holds them.
  private func records(
    _ keys: [RecordKey], of member: Int, _ family: EngineFamily
  ) throws -> [RecordKey: RecordState] {
    let states = try family.members[member].store.records.states(of: keys, in: family.zone)
    let found = zip(keys, states).compactMap { key, state in state.map { (key, $0) } }
    return Dictionary(uniqueKeysWithValues: found)
  }

  @Test(
    "A forged operation on any type of record changes nothing when folding, but what the role may",
    arguments: [Role.child, .reader])
  func folding(role: Role) throws {
    var family = try EngineFamily(1)
    let client = try family.join(by: 0, role: role)
    let judge = try judge(joining: &family)
    try family.meet([0, client, judge])
    let own = try family.person(client)
    let types = HouseholdSchema.all + PatchedClientTests.unknown
    let there = types.filter { !$0.id.isEvent }.map { RecordKey(type: $0.id, id: own) }
    let others = there.map { RecordKey(type: $0.type, id: EngineFamily.id(77)) }
    let missing = there.map { RecordKey(type: $0.type, id: EngineFamily.id(88)) }
    // What is there already, also under the id of the patched client's person.
    for key in there + others {
      _ = try family.members[0].write(
        [Operation(key, .insert), Operation(key, .assign(FieldID(.register, 1), .int(5)))],
        to: family.zone, nowMilliseconds: now)
    }
    try family.meet([0, client, judge])
    let before = try records(there + others + missing, of: judge, family)
    #expect(before.count == there.count + others.count)

    var forge = try Forge(family.members[client], family.zone)
    let changes = forgedChanges(of: types, by: own, in: family.zone, &forge)
    let report = try family.members[judge].receive(
      [try forge.seal(changes)], in: family.zone, nowMilliseconds: now)
    // It is a good log of a good device: taken, passed on, and without effect.
    #expect(report.applied == changes.count && report.refused.isEmpty && report.forks.isEmpty)

    let after = try records(there + others + missing, of: judge, family)
    for key in there + others + missing {
      // A child keeps its own name; it does not delete itself.
      let isOwnName = role == .child && key.type == HouseholdSchema.person && key.id == own
      #expect((after[key] == before[key]) == !isOwnName, "\(role): \(key)")
      if isOwnName {
        #expect(after[key]?.shown(FieldID(.register, 1)) == .int(66))
        #expect(after[key]?.life.isDeleted == false)
      }
    }
    for schema in types where schema.id.isEvent {
      let events = try family.members[judge].store.records.events(of: schema.id, in: family.zone)
      let isAllowed = role == .child && PatchedClientTests.childMay.contains(schema.id)
      #expect(events.count == (isAllowed ? 1 : 0), "\(role): \(schema.name)")
    }
  }

  @Test(
    "A forged closing or merge of people changes nothing when folding, unless an admin wrote it",
    arguments: [Role.member, .admin])
  func forAdmins(role: Role) throws {
    var family = try EngineFamily(1)
    let client = try family.join(by: 0, role: role)
    let judge = try judge(joining: &family)
    try family.meet([0, client, judge])
    let types = [HouseholdSchema.close, HouseholdSchema.personMerge]
    var forge = try Forge(family.members[client], family.zone)
    let changes = types.map { type in
      forge.change(operations: { dot in
        let id = eventID(in: family.zone, type: type, dot: dot, index: 0)
        return [
          Operation(
            RecordKey(type: type, id: id), .event([EventField(FieldID(.register, 1), .int(6))]))
        ]
      })
    }
    let report = try family.members[judge].receive(
      [try forge.seal(changes)], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == changes.count && report.refused.isEmpty)
    for type in types {
      let events = try family.members[judge].store.records.events(of: type, in: family.zone)
      #expect(events.count == (role == .admin ? 1 : 0), "\(role): \(type)")
    }
  }
}

import HearthCRDT
import HearthMembership
import HearthSync
import Testing

@testable import Household

@Suite("What each role may do in a household")
struct HouseholdRolePolicyTests {
  private static let own = Identifier(high: 1, low: 1)
  private static let other = Identifier(high: 1, low: 2)

  private func done(by person: PersonID) -> EventField {
    EventField(CompletionField.person, .bytes(person.bytes))
  }

  @Test("A child tells of its own work only; members tell of everybody's")
  func ofThemselves() {
    let (own, other) = (HouseholdRolePolicyTests.own, HouseholdRolePolicyTests.other)
    let type = HouseholdSchema.completion
    for fields in [
      [], [done(by: other)], [done(by: own), done(by: other)], [done(by: own), done(by: own)],
      [EventField(CompletionField.person, .null)],
    ] {
      #expect(!allows(.child, type, .event(fields)), "\(fields)")
      #expect(!allows(.reader, type, .event(fields)))
      for role in [Role.member, .admin, .owner] { #expect(allows(role, type, .event(fields))) }
    }
    let event = Operation(
      RecordKey(type: type, id: other), .event([done(by: own)]))
    #expect(HouseholdSchema.rolePolicy.allows(event, as: .child, by: own))
    #expect(!HouseholdSchema.rolePolicy.allows(event, as: .child, by: nil))
  }

  private func allows(
    _ role: Role, _ type: TypeID, _ body: Operation.Body, isOwn: Bool = true
  ) -> Bool {
    let own = HouseholdRolePolicyTests.own
    let key = RecordKey(type: type, id: isOwn ? own : HouseholdRolePolicyTests.other)
    return HouseholdSchema.rolePolicy.allows(Operation(key, body), as: role, by: own)
  }

  @Test("Challenges are those of a private database's person, who owns it")
  func challenges() {
    let bodies: [(TypeID, Operation.Body)] = [
      (HouseholdSchema.challengeAttempt, .event([])), (HouseholdSchema.challengeUndo, .event([])),
      (HouseholdSchema.dailyChallenge, .insert),
    ]
    for (type, body) in bodies {
      for role in [Role.reader, .child, .member, .admin] { #expect(!allows(role, type, body)) }
      #expect(allows(.owner, type, body))
    }
  }

  @Test("Children do chores and take back, and change no chore, points, archive or setting")
  func children() {
    for type in [HouseholdSchema.retraction, HouseholdSchema.skip] {
      #expect(allows(.child, type, .event([])))
    }
    #expect(
      allows(.child, HouseholdSchema.completion, .event([done(by: HouseholdRolePolicyTests.own)])))
    #expect(allows(.child, HouseholdSchema.person, .insert))
    #expect(!allows(.child, HouseholdSchema.close, .event([])))
    #expect(!allows(.child, HouseholdSchema.personMerge, .event([])))
    #expect(!allows(.child, HouseholdSchema.chore, .insert))
    #expect(!allows(.child, HouseholdSchema.chore, .assign(ChoreField.points, .int(99))))
    #expect(!allows(.child, HouseholdSchema.chore, .assign(ChoreField.archived, .bool(true))))
    #expect(!allows(.child, HouseholdSchema.setting, .assign(SettingField.value, .text("x"))))
    #expect(!allows(.child, HouseholdSchema.occurrence, .insert))
    #expect(!allows(.child, HouseholdSchema.person, .delete))
  }

  @Test("A child names itself and nobody else, and writes nothing of a type that nobody knows")
  func ownName() {
    let name = Operation.Body.assign(FieldID(.register, 1), .text("x"))
    #expect(allows(.child, HouseholdSchema.person, name))
    #expect(!allows(.child, HouseholdSchema.person, name, isOwn: false))
    #expect(!allows(.child, HouseholdSchema.person, .insert, isOwn: false))
    #expect(allows(.member, HouseholdSchema.person, name, isOwn: false))
    let key = RecordKey(type: HouseholdSchema.person, id: Identifier(high: 1, low: 1))
    #expect(!HouseholdSchema.rolePolicy.allows(Operation(key, name), as: .child, by: nil))
    for (type, body) in [(TypeID.record(999), name), (.event(999), .event([]))] {
      #expect(!allows(.child, type, body))
      #expect(allows(.member, type, body))
    }
  }

  @Test("Readers do nothing; members, admins and the owner everything")
  func others() {
    let challenges = [
      HouseholdSchema.challengeAttempt, HouseholdSchema.challengeUndo,
      HouseholdSchema.dailyChallenge,
    ]
    for schema in HouseholdSchema.all {
      let body: Operation.Body = schema.id.isEvent ? .event([]) : .insert
      #expect(!allows(.reader, schema.id, body))
      for role in [Role.member, .admin, .owner] {
        // What settles, and who counts as whom, is for admins.
        let isForAdmins = [HouseholdSchema.close, HouseholdSchema.personMerge].contains(schema.id)
        let isPrivate = challenges.contains(schema.id)
        let isAllowed = isPrivate ? role == .owner : role != .member || !isForAdmins
        #expect(allows(role, schema.id, body) == isAllowed)
      }
    }
  }
}

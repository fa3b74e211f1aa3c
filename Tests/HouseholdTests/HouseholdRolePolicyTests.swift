import HearthCRDT
import HearthSync
import Testing

@testable import Household

@Suite("What each role may do in a household")
struct HouseholdRolePolicyTests {
  private func allows(_ role: Role, _ type: TypeID, _ body: Operation.Body) -> Bool {
    let key = RecordKey(type: type, id: Identifier(high: 1, low: 1))
    return HouseholdSchema.rolePolicy.allows(Operation(key, body), as: role)
  }

  @Test("Children do chores and take back, and change no chore, points, archive or setting")
  func children() {
    for type in [HouseholdSchema.completion, HouseholdSchema.retraction, HouseholdSchema.skip] {
      #expect(allows(.child, type, .event([])))
    }
    #expect(allows(.child, HouseholdSchema.person, .insert))
    #expect(!allows(.child, HouseholdSchema.close, .event([])))
    #expect(!allows(.child, HouseholdSchema.chore, .insert))
    #expect(!allows(.child, HouseholdSchema.chore, .assign(ChoreField.points, .int(99))))
    #expect(!allows(.child, HouseholdSchema.chore, .assign(ChoreField.archived, .bool(true))))
    #expect(!allows(.child, HouseholdSchema.setting, .assign(SettingField.value, .text("x"))))
    #expect(!allows(.child, HouseholdSchema.occurrence, .insert))
    #expect(!allows(.child, HouseholdSchema.person, .delete))
  }

  @Test("Readers do nothing; members, admins and the owner everything")
  func others() {
    for schema in HouseholdSchema.all {
      let body: Operation.Body = schema.id.isEvent ? .event([]) : .insert
      #expect(!allows(.reader, schema.id, body))
      for role in [Role.member, .admin, .owner] { #expect(allows(role, schema.id, body)) }
    }
  }
}

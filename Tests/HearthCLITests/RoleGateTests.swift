import HearthCRDT
import HearthMembership
import HearthSync
import Household
import Testing

@testable import HearthCLI

@Suite("What roles may do, in words")
struct RoleGateTests {
  @Test(
    "Roles of the command line", arguments: [("child", Role.child), ("ADMIN", .admin)])
  func roles(word: String, role: Role) throws {
    #expect(try RoleWords.role(word) == role)
  }

  @Test("No word makes an owner, and a wrong one lists the others", arguments: ["owner", "king"])
  func notRoles(word: String) {
    let failure = #expect(throws: CommandFailure.self) { try RoleWords.role(word) }
    #expect(failure?.status == .usage && failure?.hint?.contains("reader, child") == true)
  }

  @Test("Names before the last are parted by commas")
  func names() {
    #expect(RoleGate.either([]) == "")
    #expect(RoleGate.either(["Ada"]) == "Ada")
    #expect(RoleGate.either(["Ada", "Ben"]) == "Ada or Ben")
    #expect(RoleGate.either(["Ada", "Ben", "Cleo"]) == "Ada, Ben or Cleo")
  }

  private func gate(_ role: Role?, ending: String? = nil) -> RoleGate {
    RoleGate(
      household: "Home", membership: Membership(),
      person: role.map {
        Member(
          id: Identifier(high: 2, low: 2), name: "Ben", role: $0, since: HybridTime(rawValue: 0))
      }, ending: ending)
  }

  private var newPoints: HearthCRDT.Operation {
    get throws {
      let schema = try #require(HouseholdSchema.all.first { $0.id == HouseholdSchema.chore })
      let points = try #require(schema.field(named: "points"))
      return Operation(
        RecordKey(type: HouseholdSchema.chore, id: Identifier(high: 3, low: 3)),
        .assign(points.id, .int(90)))
    }
  }

  @Test("A child that changes points is told so, a member is not")
  func points() throws {
    let operation = try newPoints
    let failure = #expect(throws: CommandFailure.self) { try gate(.child).check([operation]) }
    #expect(failure?.message == "Ben is a child and may not change points")
    #expect(failure?.status == .notAllowed)
    try gate(.member).check([operation])
    let reader = #expect(throws: CommandFailure.self) { try gate(.reader).check([operation]) }
    #expect(reader?.message == "Ben is a reader and may not change anything")
  }

  @Test("Whoever does not belong to the household is told how that ended")
  func ended() throws {
    let operation = try newPoints
    for (gate, words) in [
      (gate(.member, ending: "you have left Home"), "you have left Home"),
      (gate(nil), "does not belong to Home"),
    ] {
      let failure = #expect(throws: CommandFailure.self) { try gate.check([operation]) }
      #expect(failure?.message.contains(words) == true)
    }
  }

  @Test("Ranks: nobody acts on their own rank or above, nor gives it")
  func ranks() throws {
    let admin = gate(.admin)
    func person(_ role: Role) -> Member {
      Member(
        id: Identifier(high: 4, low: UInt64(role.rawValue)), name: "Dan", role: role,
        since: HybridTime(rawValue: 0))
    }
    try admin.requireAbove(person(.member), to: "remove Dan")
    try admin.requireGiving(.member)
    #expect(throws: CommandFailure.self) {
      try admin.requireAbove(person(.admin), to: "remove Dan")
    }
    #expect(throws: CommandFailure.self) {
      try admin.requireAbove(person(.owner), to: "remove Dan")
    }
    #expect(throws: CommandFailure.self) { try admin.requireGiving(.admin) }
    #expect(throws: CommandFailure.self) { try gate(.member).requireAdmin(to: "invite anybody") }
  }
}

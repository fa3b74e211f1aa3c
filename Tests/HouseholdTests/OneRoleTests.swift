import HearthCRDT
import HearthMembership
import HearthSync
import TestSupport
import Testing

@testable import Household

/// What the stock commands put into one transaction is for one role, so that no role's loss takes
/// away what another one may do.
@Suite("One transaction, one role")
struct OneRoleTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold(devices: 1) }

  /// The roles that may do each operation of what is written.
  private func roles(
    _ body: (HouseholdState, inout OperationBuilder) throws -> Void
  ) throws -> Set<[Role]> {
    let before = home.changes.count
    try home.write(0, body)
    let operations = try #require(home.changes.dropFirst(before).first).operations
    #expect(!operations.isEmpty)
    return Set(
      operations.map { operation in
        Role.allCases.filter {
          HouseholdSchema.rolePolicy.allows(operation, as: $0, by: home.people[0])
        }
      })
  }

  private let everybody: [Role] = [.child, .member, .admin, .owner]
  private let members: [Role] = [.member, .admin, .owner]
  private let admins: [Role] = [.admin, .owner]

  private func expect(
    _ wanted: [Role], _ name: String,
    _ body: (HouseholdState, inout OperationBuilder) throws -> Void
  ) throws {
    #expect(Set(try roles(body).map(Set.init)) == [Set(wanted)], "\(name)")
  }

  @Test("Each thing that the state writes is all for the same roles")
  func state() throws {
    let (me, other) = (home.people[0], home.people[1])
    let rule = try RecurrenceRule(.daily, from: home.date(-9))
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: rule))
    try expect(everybody, "own name") {
      try $0.people.create(me, name: "Ada", milliseconds: 1, in: &$1)
    }
    try expect(members, "others' name") {
      try $0.people.create(other, name: "Ben", email: "b@example.org", milliseconds: 1, in: &$1)
    }
    try expect(members, "add") { state, builder in
      let draft = ChoreDraft(
        title: "All", note: "n", points: 2, assignee: .person(other), due: try home.date(1),
        time: try CivilTime(hour: 8, minute: 0), rule: rule, tags: ["a"])
      _ = try state.chores.add(draft, milliseconds: 1, in: &builder)
    }
    try expect(members, "edit") { state, builder in
      var edit = ChoreEdit()
      (edit.title, edit.points, edit.assignee, edit.addTags) = ("C", 3, .nobody, ["b"])
      edit.rule = .some(rule)
      try state.chores.edit(chore, edit, in: &builder)
    }
    try expect(members, "assign once") { try $0.overrides.assign(chore, to: other, in: &$1) }
    try expect(members, "move") { try $0.overrides.move(chore, to: try home.date(1), in: &$1) }
    try expect(members, "setting") { try $0.storedSettings.set("duplicate", "each", in: &$1) }
    try expectRolesOfWork(on: chore, by: me, other)
    try expect(admins, "close") { state, builder in
      let days = try state.periods.days(of: .week, named: nil)
      try state.periods.close(.week, first: days.first, last: days.last, in: &builder)
    }
    try expect(admins, "merge") { try $0.people.merge(other, into: me, in: &$1) }
    try expect(admins, "part") { try $0.people.undoMerge(of: other, in: &$1) }
    try expect(members, "archive") { try $0.chores.archive(chore, in: &$1) }
    try expect(members, "restore") { try $0.chores.restore(chore, in: &$1) }
  }

  private func expectRolesOfWork(
    on chore: RecordID, by me: PersonID, _ other: PersonID
  ) throws {
    try expect(everybody, "own work") { state, builder in
      _ = try state.completions.add(
        chore, occurrence: nil, by: me, doneAt: (home.today, nil), milliseconds: home.milliseconds,
        in: &builder)
    }
    try expect(members, "others' work") { state, builder in
      _ = try state.completions.add(
        chore, occurrence: nil, by: other, doneAt: (home.today, nil),
        milliseconds: home.milliseconds, isEarly: true, in: &builder)
    }
    let event = try #require(try home.state().ledger.lastUndoable(by: me)).event
    try expect(everybody, "undo") { try $0.completions.undo(event, by: me, in: &$1) }
    try expect(everybody, "skip") { try $0.skips.add(chore, reason: "", in: &$1) }
    let skip = try #require(try home.state().skips.last(by: me)).event
    try expect(everybody, "undo a skip") { try $0.skips.undo(skip, by: me, in: &$1) }
  }
}

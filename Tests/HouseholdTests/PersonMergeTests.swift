import HearthCRDT
import HearthSync
import TestSupport
import Testing

@testable import Household

@Suite("Two people under one name become one")
struct PersonMergeTests {
  let home: TestHousehold
  /// Cleo lost her phone and is Ben now.
  private let ghost = 2
  private let now = 1

  init() throws { home = try TestHousehold(devices: 4) }

  private func merge(_ ghost: Int = 2, into person: Int = 1, on device: Int = 0) throws {
    try home.write(device) {
      try $0.people.merge(
        home.people[ghost], into: home.people[person], in: &$1)
    }
  }

  private func undo(_ ghost: Int = 2, on device: Int = 0) throws {
    try home.write(device) {
      try $0.people.undoMerge(of: home.people[ghost], in: &$1)
    }
  }

  private func daily(_ title: String = "Dishes", points: Int = 5) throws -> ChoreDraft {
    ChoreDraft(
      title: title, points: points, rule: try RecurrenceRule(.daily, from: home.date(0)))
  }

  /// All replicas agree, and agree with what is computed anew.
  private func expectAgreement(_ place: SourceLocation = #_sourceLocation) throws {
    try home.meet()
    let first = home.replicas[0].dump
    for replica in home.replicas {
      #expect(replica.dump == first, sourceLocation: place)
      try replica.rebuild()
      #expect(replica.dump == first, sourceLocation: place)
    }
  }

  @Test("Points, entries, badges and streaks of both are one person's, and the undoing parts them")
  func everythingCredited() throws {
    let chore = try home.add(try daily())
    try home.done(chore, by: ghost, on: 0)
    home.day += 1
    try home.done(chore, by: ghost, on: 0)
    home.day += 1
    try home.done(chore, by: now, on: 0)
    try home.meet()
    let before = home.replicas[0].dump
    #expect(try home.state().people.all().map(\.name) == ["Ada", "Ben", "Cleo"])

    try merge()
    try expectAgreement()
    for person in [ghost, now] {
      #expect(try home.total(person) == 15)
      #expect(try home.state().achievements.streak(of: home.people[person]) == 3)
      #expect(try home.state().ledger.entries(of: home.people[person]).count == 3)
      let badges = try home.state().achievements.badges(of: home.people[person])
      #expect(try badges.first { $0.badge.key == "streak_3" }?.earnedOn == home.date(2))
      #expect(
        try home.state().totals.periods(.month, of: home.people[person]).map(\.points) == [15])
    }
    #expect(try home.state().ledger.entries(of: nil).allSatisfy { $0.person == home.people[now] })
    #expect(try home.state().totals.leaderboard(.all).map(\.name) == ["Ben", "Ada"])

    try undo()
    try expectAgreement()
    #expect(home.replicas[0].dump == before)
    #expect(try [home.total(ghost), home.total(now)] == [10, 5])
    let said = try home.state().people.allMerges()
    #expect(said.map(\.into) == [home.people[now], nil])
    #expect(said.allSatisfy { $0.by == home.people[0] && $0.person == home.people[ghost] })
  }

  @Test(
    "One occurrence that both did is paid once, under every policy",
    arguments: ["first", "each", "split"])
  func noDoubleCount(policy: String) throws {
    try home.set("duplicate", policy)
    let chore = try home.add(ChoreDraft(title: "Windows", points: 7))
    try home.done(chore, by: ghost, on: 0)
    try home.done(chore, by: now, on: 1)
    try home.done(chore, by: 0, on: 2)
    try home.meet()
    try merge()
    try expectAgreement()
    #expect(try home.total(now) == (policy == "split" ? 4 : 7))
    #expect(try home.total(0) == ["first": 0, "each": 7, "split": 3][policy])
    #expect(try home.state().totals.leaderboard(.all).first?.completions == 1)
    let credited = try home.state().ledger.entries(of: nil).filter { $0.kind == .credited }
    #expect(credited.map(\.person) == [home.people[now]])
  }

  @Test("A rotation that lists both has one turn for the person, at the first place")
  func rotation() throws {
    for kind in RotationKind.allCases {
      var draft = try daily(kind.rawValue)
      let order = [ghost, 0, now].map { home.people[$0] }
      draft.assignee = .rotation(order, kind)
      let chore = try home.add(draft)
      try merge()
      let one = [now, 0].map { home.people[$0] }
      #expect(try home.state().chores.chore(chore)?.assignment == .rotation(one, kind))
      let turns = try home.state().occurrences.due(through: home.date(5))
        .filter { $0.chore == chore }.compactMap(\.assignee)
      #expect(turns.count == 6 && Set(turns).isSubset(of: one))
      if kind == .byDate { #expect(turns == one + one + one) }
      try undo()
      #expect(try home.state().chores.chore(chore)?.assignment == .rotation(order, kind))
    }
    try expectAgreement()
  }

  @Test("Who did it last by turn, and least, is told of the one person")
  func turns() throws {
    var draft = try daily()
    draft.assignee = .rotation([home.people[now], home.people[0]], .byTurn)
    let byTurn = try home.add(draft)
    draft.title = "Bins"
    draft.assignee = .rotation([home.people[now], home.people[0]], .leastDone)
    let least = try home.add(draft)
    // Each did both once; then the ghost did them again.
    try home.done(byTurn, by: 0, on: 0)
    try home.done(least, by: 0, on: 0)
    home.day += 1
    try home.done(byTurn, by: ghost, on: 0)
    try home.done(least, by: ghost, on: 0)
    home.day += 1
    try home.done(least, by: ghost, on: 0)
    try home.meet()
    #expect(try home.state().chores.chore(byTurn)?.next?.assignee == home.people[now])
    #expect(try home.state().chores.chore(least)?.next?.assignee == home.people[now])
    try merge()
    #expect(try home.state().chores.chore(byTurn)?.next?.assignee == home.people[0])
    #expect(try home.state().chores.chore(least)?.next?.assignee == home.people[0])
    try expectAgreement()
  }

  @Test(
    "Chores and days given to the one who has gone are the other's, also where that decides pay")
  func assignments() throws {
    try home.set("strict-assignee", "yes")
    let chore = try home.add(
      ChoreDraft(title: "Cat", points: 3, assignee: .person(home.people[ghost])))
    let once = try home.add(
      ChoreDraft(title: "Dog", points: 4, assignee: .person(home.people[0])))
    try home.write(0) { try $0.overrides.assign(once, to: home.people[ghost], in: &$1) }
    try home.meet()
    // Not assigned yet: it counts for nothing until the two are one.
    try home.done(chore, by: now, on: 1)
    #expect(try home.total(now, on: 1) == 0)
    try merge()
    #expect(try home.state().chores.chore(once)?.next?.assignee == home.people[now])
    try home.done(once, by: now, on: 0)
    try expectAgreement()
    #expect(try home.total(now) == 7)
  }

  @Test("The person takes back what they did and skipped when they were the other one")
  func takingBack() throws {
    let chore = try home.add(try daily())
    let event = try home.done(chore, by: ghost, on: 2)
    home.day += 1
    try home.write(2) { try $0.skips.add(chore, reason: "", in: &$1) }
    try home.meet()
    #expect(throws: HouseholdError(.notYours, "")) {
      try home.write(1) { try $0.completions.undo(event, by: home.people[now], in: &$1) }
    }
    try merge()
    try home.meet()
    let skip = try #require(try home.state(1).skips.last(by: home.people[now]))
    #expect(try home.state(1).ledger.lastUndoable(by: home.people[now])?.event == event)
    try home.write(1) { state, builder in
      try state.completions.undo(event, by: home.people[now], in: &builder)
      try state.skips.undo(skip.event, by: home.people[now], in: &builder)
    }
    try expectAgreement()
    #expect(try home.kinds() == [.undone])
    #expect(try home.total(now) == 0)
  }

  @Test("Closed weeks stay closed, go over to the one person, and add up to the total")
  func closedWeeks() throws {
    let chore = try home.add(try daily())
    let dog = try home.add(try daily("Dog", points: 7))
    try home.done(chore, by: ghost, on: 0)
    try home.done(chore, by: now, on: 1)
    try home.done(dog, by: ghost, on: 1)
    home.day += 3
    let days = try home.state().periods.days(of: .week, named: nil)
    try home.write(0) {
      try $0.periods.close(.week, first: days.first, last: days.last, in: &$1)
    }
    try home.meet()
    #expect(try home.state().totals.periods(.week, of: home.people[ghost]).map(\.points) == [5, 7])
    try merge()
    try expectAgreement()
    let periods = try home.state().totals.periods(.week, of: home.people[now])
    #expect(periods.map(\.points) == [5, 7] && periods.map(\.late) == [0, 7])
    #expect(periods.map(\.isClosed) == [true, false])
    #expect(try home.total(now) == 12)
    try undo()
    try expectAgreement()
    #expect(try home.state().totals.periods(.week, of: home.people[ghost]).map(\.points) == [5, 7])
  }

  @Test("Merges and undoings made apart come to the same in all orders of delivery")
  func concurrent() throws {
    let chore = try home.add(try daily())
    for (device, person) in [(0, 0), (1, 1), (2, 2)] {
      try home.done(chore, by: person, on: device)
    }
    try home.meet()
    try merge(2, into: 1)
    try home.meet()
    let known = home.changes.count
    // A chain, a circle, an undoing and more work, nobody knowing of the others'.
    try undo(2, on: 0)
    try merge(1, into: 0, on: 1)
    try merge(0, into: 1, on: 2)
    home.day += 1
    try home.done(chore, by: 2, on: 3)
    try home.meet()
    try expectAgreement()
    let expected = home.replicas[0].dump
    let late = Array(home.changes[known...])
    for first in late.indices {
      for second in late.indices where second != first {
        for third in late.indices where ![first, second].contains(third) {
          let replica = TestReplica(projection: HouseholdProjection())
          for change in home.changes[..<known] { try replica.apply(change) }
          let order = [first, second, third]
          for place in order + late.indices.filter({ !order.contains($0) }) {
            try replica.apply(late[place])
          }
          #expect(replica.dump == expected, "\(order)")
        }
      }
    }
    // Ben counts as Ada, as that came before the other half of the circle.
    let merges = try home.state().people.merges
    #expect(home.people.map { merges.one($0) } == [0, 0, 2].map { home.people[$0] })
  }

  @Test("Nobody is merged twice, into themselves, in a circle, or parted who is not merged")
  func refused() throws {
    #expect(throws: HouseholdError(.badMerge, "")) { try merge(2, into: 2) }
    #expect(throws: HouseholdError(.badMerge, "")) { try undo(2) }
    try merge(2, into: 1)
    #expect(throws: HouseholdError(.badMerge, "")) { try merge(2, into: 0) }
    #expect(throws: HouseholdError(.badMerge, "")) { try merge(1, into: 2) }
    try merge(1, into: 0)
    #expect(try home.state().people.merges.one(home.people[2]) == home.people[0])
    #expect(throws: HouseholdError(.badMerge, "")) { try merge(0, into: 2) }
  }
}

import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

@Suite("Closed weeks, undo, badges")
struct HouseholdPeriodTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold() }

  private func daily(_ title: String = "Cat", points: Int = 5) throws -> RecordID {
    try home.add(
      ChoreDraft(
        title: title, points: points, rule: try RecurrenceRule(.daily, from: home.date(0))))
  }

  private func close(_ kind: PeriodKind = .week, on device: Int = 0) throws {
    let days = try home.state(device).periods.days(of: kind, named: nil)
    try home.write(device) {
      try $0.periods.close(kind, first: days.first, last: days.last, in: &$1)
    }
  }

  private func weeks(_ person: Int, on device: Int = 0) throws -> [Int] {
    try home.state(device).totals.periods(.week, of: home.people[person]).map(\.points)
  }

  @Test("R5: a rule is one register, of which the later one shows whole")
  func oneRule() throws {
    let chore = try daily()
    let weekly = try RecurrenceRule(.weekly, every: 2, from: home.date(0))
    let monthly = try RecurrenceRule(.monthly, every: 3, from: home.date(1))
    var edit = ChoreEdit()
    edit.rule = .some(weekly)
    try home.write(0) { try $0.chores.edit(chore, edit, in: &$1) }
    edit.rule = .some(monthly)
    try home.write(1) { try $0.chores.edit(chore, edit, in: &$1) }
    try home.meet()
    for device in 0...1 {
      #expect(try home.state(device).chores.chore(chore)?.rule == monthly)
      #expect(try home.state(device).chores.chore(chore)?.concurrentValues ?? 0 > 0)
    }
  }

  @Test("R5: edits of two fields both hold, and of tags an addition beats a removal")
  func fieldsAndTags() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, tags: ["pets", "old"]))
    var edit = ChoreEdit()
    edit.title = "The cat"
    edit.removeTags = ["pets", "old"]
    try home.write(0) { try $0.chores.edit(chore, edit, in: &$1) }
    edit = ChoreEdit()
    edit.points = 9
    edit.addTags = ["pets"]
    try home.write(1) { try $0.chores.edit(chore, edit, in: &$1) }
    try home.meet()
    for device in 0...1 {
      let view = try #require(try home.state(device).chores.chore(chore))
      #expect(view.title == "The cat")
      #expect(view.points == 9)
      #expect(view.tags == ["pets"])
    }
  }

  @Test("R9: the week and the month are those of the day that the doer's device named")
  func ownDay() throws {
    let chore = try daily()
    home.day += 4  // Tuesday
    try home.done(chore, by: 0, on: 0, back: 3)  // Saturday, last week
    #expect(try home.state().totals.points(of: home.people[0]) == (5, 0, 5))
    #expect(try weeks(0) == [5])
    home.day += 27  // Monday, 4 November
    #expect(try home.state().totals.points(of: home.people[0]) == (5, 0, 0))
  }

  @Test("R10: work that a closing did not see is booked in the next open week, and says so")
  func late() throws {
    let chore = try daily()
    try home.done(chore, by: 0, on: 0)
    let unseen = try home.done(try daily("Dog", points: 7), by: 1, on: 1)
    home.day += 3  // Monday
    try close()
    #expect(try weeks(0) == [5])
    try home.meet()
    for device in 0...1 {
      #expect(try weeks(1, on: device) == [0, 7])
      let sums = try home.state(device).totals.periods(.week, of: home.people[1])
      #expect(sums.map(\.late) == [0, 7])
      #expect(sums.map(\.isClosed) == [true, false])
      let entry = try #require(try home.state(device).ledger.entry(unseen))
      #expect(entry.day == (try home.date(0)))
      #expect(entry.late.map(\.amount) == [7])
      #expect(entry.late.map(\.day) == [try home.date(3)])
      #expect(try home.state(device).totals.points(of: home.people[1]) == (7, 7, 7))
    }
    // The next week is closed with what it holds by then.
    home.day += 7
    try close()
    #expect(try weeks(1) == [0, 7])
    #expect(
      try home.state().totals.periods(.week, of: home.people[1]).map(\.isClosed) == [true, true])
  }

  @Test("R10: of two closings of a week the earlier holds on every device")
  func twoClosings() throws {
    let home = try TestHousehold(devices: 2)
    let chore = try home.add(
      ChoreDraft(title: "Cat", points: 5, rule: try RecurrenceRule(.daily, from: home.date(0))))
    home.day += 1
    try home.done(chore, by: 0, on: 0)
    home.day += 2
    let days = try home.state().periods.days(of: .week, named: nil)
    func close(_ device: Int) throws {
      try home.write(device) {
        try $0.periods.close(.week, first: days.first, last: days.last, in: &$1)
      }
    }
    // The owner's other device, which has not seen the work, closes first.
    home.replicas.forEach { $0.owners = [0, 1] }
    try close(1)
    try close(0)
    #expect(try home.state(0).totals.periods(.week, of: home.people[0]).map(\.points) == [5])
    try home.meet()
    for device in 0...1 {
      let periods = try home.state(device).totals.periods(.week, of: home.people[0])
      #expect(periods.map(\.points) == [0, 5])
    }
    #expect(home.replicas[0].dump == home.replicas[1].dump)
  }

  @Test("R10: a closing by somebody who may not, or before the end, is void")
  func voidClosings() throws {
    let chore = try daily()
    try home.done(chore, by: 0, on: 0)
    #expect(throws: HouseholdError(.badPeriod, "")) {
      let days = try home.state().periods.days(of: .month, named: "2024-10")
      try home.write(0) {
        try $0.periods.close(.month, first: days.first, last: days.last, in: &$1)
      }
    }
    home.day += 3
    try home.meet()
    try close(on: 1)
    try home.meet()
    #expect(try home.state().totals.periods(.week, of: home.people[0]).map(\.isClosed) == [false])
    try close()
    #expect(try home.state().totals.periods(.week, of: home.people[0]).map(\.isClosed) == [true])
    #expect(throws: HouseholdError(.badPeriod, "")) { try close() }
  }

  @Test("R10: another first day of the week, and another policy, change open weeks only")
  func relabelled() throws {
    let chore = try daily()
    for _ in 0..<10 {  // Friday to Sunday of the week after
      try home.done(chore, by: 0, on: 0)
      home.day += 1
    }
    #expect(try weeks(0) == [15, 35])
    try home.write(0) {
      try $0.periods.close(
        .week, first: home.date(-4), last: home.date(2), in: &$1)
    }
    try home.set("week-start", "sa")
    try home.set("duplicate", "each")
    let sums = try home.state().totals.periods(.week, of: home.people[0])
    #expect(sums.map(\.points) == [15, 25, 10])
    #expect(sums.map(\.first) == [try home.date(-4), try home.date(3), try home.date(8)])
  }

  @Test(
    "R11: after the week is closed the doer cannot undo; an administrator can, and it counts later")
  func undoAfterClosing() throws {
    let chore = try daily()
    let event = try home.done(chore, by: 1, on: 1)
    let other = try home.done(try daily("Dog"), by: 1, on: 1)
    home.day += 3
    try home.meet()
    try close()
    // The doer has not heard of the closing: the undo holds, and counts in the open week.
    try home.write(1) { try $0.completions.undo(other, by: home.people[1], in: &$1) }
    try home.meet()
    #expect(try weeks(1) == [10, -5])
    #expect(throws: HouseholdError(.periodClosed, "")) {
      try home.write(1) { try $0.completions.undo(event, by: home.people[1], in: &$1) }
    }
    // A device that does not refuse writes what every replica ignores.
    try home.write(1) {
      try $0.completions.undo(event, by: home.people[1], isAdministrator: true, in: &$1)
    }
    try home.meet()
    #expect(try home.state().ledger.entry(event)?.kind == .credited)
    try home.write(0) {
      try $0.completions.undo(event, by: home.people[0], isAdministrator: true, in: &$1)
    }
    try home.meet()
    for device in 0...1 {
      #expect(try home.state(device).ledger.entry(event)?.kind == .undone)
      #expect(try weeks(1, on: device) == [10, -10])
      #expect(try home.total(1, on: device) == 0)
    }
  }

  @Test("R11: somebody who neither did nor recorded an entry cannot take it back on any replica")
  func foreignUndo() throws {
    let event = try home.done(try daily(), by: 0, on: 0)
    try home.meet()
    try home.write(1) {
      try $0.completions.undo(event, by: home.people[1], isAdministrator: true, in: &$1)
    }
    try home.meet()
    #expect(try home.state().ledger.entry(event)?.kind == .credited)
  }

  @Test("R16: a badge is earned on the day of the n-th credited completion and goes with an undo")
  func badges() throws {
    let first = try #require(Badge.catalogue.first)
    #expect(first.key == "first_chore")
    #expect(first.name == "First Step")
    #expect(first.description == "Completed your first chore")
    #expect(first.icon == "1.circle.fill")
    #expect(first.color == "Primary")
    #expect(first.required == 1)
    #expect(Set(Badge.catalogue.map(\.key)).count == Badge.catalogue.count)
    func earned() throws -> [String: CivilDate] {
      let views = try home.state().achievements.badges(of: home.people[0])
      return Dictionary(
        uniqueKeysWithValues: views.compactMap { view in
          view.earnedOn.map { (view.badge.key, $0) }
        })
    }
    let chore = try daily()
    #expect(try earned().isEmpty)
    var last = RecordID.zero
    for _ in 0..<5 {
      last = try home.done(chore, by: 0, on: 0)
      home.day += 1
    }
    #expect(
      try earned() == [
        "first_chore": home.date(0), "chores_5": home.date(4), "streak_3": home.date(2),
      ])
    try home.write(0) { try $0.completions.undo(last, by: home.people[0], in: &$1) }
    #expect(try earned().keys.sorted() == ["first_chore", "streak_3"])
  }

  @Test("R17: a day with nothing due is neutral, a day missed breaks, and late news repairs")
  func streak() throws {
    let rule = try RecurrenceRule(.daily, every: 2, from: home.date(0))
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: rule))
    try home.done(chore, by: 0, on: 0)
    home.day += 2
    let between = try home.done(chore, by: 0, on: 1)
    home.day += 2
    try home.done(chore, by: 0, on: 0)
    #expect(try home.state().achievements.streak(of: home.people[0]) == 1)
    try home.meet()
    #expect(try home.state().achievements.streak(of: home.people[0]) == 3)
    home.day += 2  // due today, pending
    #expect(try home.state().achievements.streak(of: home.people[0]) == 3)
    home.day += 1
    #expect(try home.state().achievements.streak(of: home.people[0]) == 0)
    #expect(try home.state().ledger.entry(between)?.kind == .credited)
  }

  @Test("The same work told twice in a day is refused unless it is said to be early")
  func toldTwice() throws {
    let chore = try daily()
    func done(isEarly: Bool) throws {
      try home.write(0) { state, builder in
        _ = try state.completions.add(
          chore, occurrence: nil, by: home.people[0], doneAt: (home.today, nil),
          milliseconds: home.milliseconds, isEarly: isEarly,
          in: &builder)
      }
    }
    try done(isEarly: false)
    #expect(throws: HouseholdError(.doneThatDay, "")) { try done(isEarly: false) }
    try done(isEarly: true)
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(2))
  }

  @Test("Work of a past day closes the occurrence of that day, and leaves the later one open")
  func pastDay() throws {
    let rule = try RecurrenceRule(.weekly, from: home.date(0))
    let chore = try home.add(ChoreDraft(title: "Bins", points: 1, rule: rule))
    home.day += 8
    try home.done(chore, by: 0, on: 0, back: 5)
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(7))
    try home.done(chore, by: 0, on: 0, back: 1)
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(14))
  }

  @Test("R8: what was moved onto today is next, before an older one that is due tomorrow")
  func movedOntoToday() throws {
    let rule = try RecurrenceRule(.weekly, from: home.date(1))
    let chore = try home.add(ChoreDraft(title: "Bins", points: 1, rule: rule))
    let done = try home.done(chore, by: 0, on: 0)
    let second = try #require(try home.state().chores.chore(chore)?.next)
    #expect(second.due == (try home.date(8)))
    try home.write(0) { try $0.overrides.move(chore, to: home.date(0), in: &$1) }
    try home.write(0) { try $0.completions.undo(done, by: home.people[0], in: &$1) }
    let next = try #require(try home.state().chores.chore(chore)?.next)
    #expect(next.key == second.key)
    #expect(next.due == (try home.date(0)))
    let open = try home.state().occurrences.due(through: home.date(8))
    #expect(open.map(\.due) == [try home.date(0), try home.date(1)])
    // Tomorrow the older one has come due too, and the newer of the two stands (roll).
    home.day += 1
    #expect(try home.state().chores.chore(chore)?.next?.key == second.key)
    #expect(try home.state().chores.chore(chore)?.next?.missedBefore == 1)
  }

  @Test("R6: an occurrence that is moved keeps its name; its chore's other dates stay")
  func moved() throws {
    let rule = try RecurrenceRule(.weekly, from: home.date(0))
    let chore = try home.add(ChoreDraft(title: "Bins", points: 1, rule: rule))
    let before = try #require(try home.state().chores.chore(chore)?.next)
    try home.write(0) {
      try $0.overrides.move(chore, to: home.date(2), at: CivilTime(hour: 18, minute: 0), in: &$1)
    }
    try home.meet()
    for device in 0...1 {
      let open = try home.state(device).occurrences.due(through: home.date(7))
      #expect(open.map(\.due) == [try home.date(2), try home.date(7)])
      #expect(open.first?.key == before.key)
      #expect(open.map { $0.time?.iso } == ["18:00", nil])
    }
    #expect(throws: HouseholdError(.badDay, "")) {
      try home.write(0) { try $0.overrides.move(chore, to: home.date(367), in: &$1) }
    }
    try home.write(0) { try $0.overrides.move(chore, to: home.date(366), in: &$1) }
  }
}

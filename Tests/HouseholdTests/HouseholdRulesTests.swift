import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

@Suite("Rules over replicated records")
struct HouseholdRulesTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold() }

  private func daily(_ mode: RecurrenceRule.Mode = .calendar, every: Int = 1) throws
    -> RecurrenceRule
  {
    try RecurrenceRule(.daily, every: every, from: home.date(0), mode: mode)
  }

  @Test(
    "R1: of two completions made apart the earlier is credited; the policy says who is paid",
    arguments: [("first", 7, 0), ("each", 7, 7), ("split", 4, 3)])
  func duplicates(policy: String, first: Int, second: Int) throws {
    try home.set("duplicate", policy)
    let chore = try home.add(ChoreDraft(title: "Dishes", points: 7))
    try home.done(chore, by: 0, on: 0)
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    for device in 0...1 {
      #expect(try home.kinds(device) == [.credited, .alsoDone])
      #expect(try home.total(0, on: device) == first)
      #expect(try home.total(1, on: device) == second)
    }
  }

  @Test("R1: one person's two claims of one occurrence are one, under every policy")
  func sameClaim() throws {
    try home.set("duplicate", "each")
    let chore = try home.add(ChoreDraft(title: "Dishes", points: 7))
    try home.done(chore, by: 0, on: 0)
    try home.done(chore, by: 0, on: 1)
    try home.meet()
    #expect(try home.total(0) == 7)
  }

  @Test("R2: the doer is paid although the occurrence was given to somebody else meanwhile")
  func reassigned() throws {
    let chore = try home.add(
      ChoreDraft(title: "Bins", points: 5, assignee: .person(home.people[1])))
    try home.write(0) { try $0.overrides.assign(chore, to: home.people[2], in: &$1) }
    #expect(try home.state(0).chores.chore(chore)?.next?.assignee == home.people[2])
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.total(1) == 5)
  }

  @Test("R2: a strict household credits whom the doer saw assigned, and nobody else")
  func strict() throws {
    try home.set("strict-assignee", "yes")
    let chore = try home.add(
      ChoreDraft(title: "Bins", points: 5, assignee: .person(home.people[1])))
    var edit = ChoreEdit()
    edit.assignee = .person(home.people[2])
    try home.write(0) { try $0.chores.edit(chore, edit, in: &$1) }
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.total(1) == 5)
    let other = try home.add(
      ChoreDraft(title: "Lawn", points: 9, assignee: .person(home.people[1])))
    try home.done(other, by: 0, on: 0)
    #expect(try home.total(0) == 0)
    #expect(try home.kinds().last == .invalid)
  }

  @Test("R3: the award is what the doer saw, whatever was edited meanwhile or later")
  func award() throws {
    let chore = try home.add(ChoreDraft(title: "Windows", points: 10, rule: try daily()))
    var edit = ChoreEdit()
    edit.points = 50
    edit.title = "All windows"
    try home.write(0) { try $0.chores.edit(chore, edit, in: &$1) }
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.total(1) == 10)
    #expect(try home.state().ledger.entries(of: nil).first?.choreTitle == "Windows")
    home.day += 1
    try home.done(chore, by: 1, on: 1)
    #expect(try home.total(1, on: 1) == 60)
  }

  @Test("R4: work concurrent with archiving counts; work after seeing it is refused and invalid")
  func archive() throws {
    let chore = try home.add(ChoreDraft(title: "Leaves", points: 3, rule: try daily()))
    let completion = try home.write(1) { state, builder in
      try state.completions.add(
        chore, occurrence: nil, by: home.people[1], doneAt: (home.today, nil),
        milliseconds: home.milliseconds, in: &builder)
    }
    try home.write(0) { try $0.chores.archive(chore, in: &$1) }
    try home.meet()
    #expect(try home.total(1) == 3)
    #expect(try home.state().chores.all(includingArchived: false).isEmpty)
    #expect(try home.state().occurrences.due(through: home.date(30)).isEmpty)
    #expect(throws: HouseholdError(.choreArchived, "")) { try home.done(chore, by: 0, on: 0) }
    // A device that does not refuse: the same event again, now with the archive in its past.
    let key = RecordKey(type: HouseholdSchema.completion, id: completion)
    let fields = try #require(home.replicas[0].event(key)).fields
    try home.write(0) { _, builder in _ = builder.event(HouseholdSchema.completion, fields) }
    #expect(try home.kinds() == [.credited, .invalid])
    #expect(try home.total(1) == 3)
    try home.write(0) { try $0.chores.restore(chore, in: &$1) }
    #expect(try home.state().chores.chore(chore)?.isArchived == false)
    #expect(try home.total(1) == 3)
  }

  @Test("R6: both devices compute one occurrence; a new rule opens from its edit on")
  func oneOccurrence() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily()))
    try home.done(chore, by: 0, on: 0)
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    let open = try home.state(0).occurrences.due(through: home.date(1))
    #expect(open == (try home.state(1).occurrences.due(through: home.date(1))))
    #expect(open.map(\.due) == [try home.date(1)])
    home.day += 3
    var edit = ChoreEdit()
    edit.rule = .some(try RecurrenceRule(.weekly, from: home.date(0)))
    try home.write(0) { try $0.chores.edit(chore, edit, in: &$1) }
    let next = try #require(try home.state(0).chores.chore(chore)?.next)
    #expect(next.due == (try home.date(7)))
    #expect(next.missedBefore == 0)
  }

  @Test("R7: completions of a chain made apart are one link; knowing ones are two")
  func chain() throws {
    let chore = try home.add(
      ChoreDraft(title: "Filter", points: 4, rule: try daily(.afterCompletion, every: 10)))
    home.day += 2
    try home.done(chore, by: 0, on: 0)
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.kinds() == [.credited, .alsoDone])
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(12))
    home.day += 1
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.kinds() == [.credited, .alsoDone, .credited])
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(13))
    // Once more would be the third time in one interval.
    #expect(throws: HouseholdError(.tooEarly, "")) { try home.done(chore, by: 0, on: 0) }
    #expect(try home.total(0) == 4 && home.total(1) == 4)
    try home.write(0) { try $0.skips.add(chore, reason: "new one", in: &$1) }
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(23))
  }

  @Test("R7: within the hour, but knowing of the last one, is work of its own")
  func chainSoon() throws {
    let chore = try home.add(
      ChoreDraft(title: "Filter", points: 4, rule: try daily(.afterCompletion, every: 10)))
    try home.done(chore, by: 0, on: 0)
    try home.meet()
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.kinds() == [.credited, .credited])
    #expect(try home.total(0) == 4 && home.total(1) == 4)
  }

  @Test("R8: missed days roll, stack, or never show as late")
  func missed() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily(every: 2)))
    home.day += 5
    let rolled = try #require(try home.state().chores.chore(chore)?.next)
    #expect(rolled.due == (try home.date(4)))
    #expect(rolled.state == .overdue)
    #expect(rolled.missedBefore == 2)
    try home.set("missed", "stack")
    let dues = try home.state().occurrences.due(through: home.today).map(\.due)
    #expect(dues == [try home.date(0), try home.date(2), try home.date(4)])
    try home.set("missed", "never-overdue")
    let kind = try #require(try home.state().chores.chore(chore)?.next)
    #expect(kind.due == (try home.today))
    #expect(kind.state == .open)
    try home.set("missed", "roll")
    try home.done(chore, by: 0, on: 0)
    #expect(try home.state().chores.chore(chore)?.next?.due == home.date(6))
  }

  @Test("R9 and R10: a week is summed by its days, and another week start only re-labels them")
  func weeks() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily()))
    for _ in 0..<6 {  // Friday to Wednesday
      try home.done(chore, by: 0, on: 0)
      home.day += 1
    }
    #expect(try home.state().totals.points(of: home.people[0]) == (6, 3, 6))  // Thursday
    try home.set("week-start", "su")
    #expect(try home.state().totals.points(of: home.people[0]) == (6, 4, 6))
    let board = try home.state().totals.leaderboard(.week)
    #expect(board.map(\.name) == ["Ada", "Ben", "Cleo"])
    #expect(board.map(\.rank) == [1, 2, 2])
    #expect(board.map(\.completions) == [4, 0, 0])
    try home.set("time-zone", "Asia/Tokyo")
    #expect(try home.total(0) == 6)
  }

  @Test("R11: undo is for ever and credits the next; a redo is a new event")
  func undo() throws {
    let chore = try home.add(ChoreDraft(title: "Dishes", points: 7))
    let first = try home.done(chore, by: 0, on: 0)
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(throws: HouseholdError(.notYours, "")) {
      try home.write(1) { try $0.completions.undo(first, by: home.people[1], in: &$1) }
    }
    let last = try #require(try home.state().ledger.lastUndoable(by: home.people[0]))
    #expect(last.event == first)
    try home.write(0) { try $0.completions.undo(first, by: home.people[0], in: &$1) }
    try home.meet()
    #expect(try home.kinds() == [.undone, .credited])
    #expect(try home.total(0) == 0)
    #expect(try home.total(1) == 7)
    #expect(throws: HouseholdError(.alreadyUndone, "")) {
      try home.write(0) { try $0.completions.undo(first, by: home.people[0], in: &$1) }
    }
  }

  @Test("R16 and R17: badge days and streaks follow the log, and an undo takes them back")
  func streaks() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily()))
    var last = RecordID.zero
    for _ in 0..<3 {
      last = try home.done(chore, by: 0, on: 0)
      home.day += 1
    }
    #expect(try home.state().achievements.streak(of: home.people[0]) == 3)  // today is pending
    #expect(try home.state().achievements.day(ofCompletion: 3, by: home.people[0]) == home.date(2))
    try home.write(0) { try $0.completions.undo(last, by: home.people[0], in: &$1) }
    #expect(try home.state().achievements.streak(of: home.people[0]) == 0)
    #expect(try home.state().achievements.day(ofCompletion: 3, by: home.people[0]) == nil)
  }

  @Test(
    "R18: every rotation names the same person on both devices", arguments: RotationKind.allCases)
  func rotation(kind: RotationKind) throws {
    let order = [home.people[2], home.people[0], home.people[1]]
    let chore = try home.add(
      ChoreDraft(title: "Cook", points: 1, assignee: .rotation(order, kind), rule: try daily()))
    func turns(_ device: Int) throws -> [PersonID?] {
      try home.state(device).occurrences.due(through: home.date(4)).map(\.assignee)
    }
    let before = try turns(0)
    if kind == .byDate || kind == .byTurn { #expect(before.prefix(3).compactMap { $0 } == order) }
    try home.done(chore, by: 0, on: 0)
    try home.meet()
    #expect(try turns(0) == turns(1))
    let next = try #require(try turns(0).first ?? nil)
    switch kind {
    case .byDate: #expect(next == home.people[0])
    case .byTurn: #expect(next == home.people[1])
    case .leastDone: #expect(next == home.people[1])
    case .random: #expect(Array(before.dropFirst()) == (try turns(0)))
    }
  }

  @Test("R18: whose turn a chore is that is never overdue does not change while it waits")
  func turnOfWhatWaits() throws {
    try home.set("missed", "never-overdue")
    let chore = try home.add(
      ChoreDraft(
        title: "Windows", points: 1, assignee: .rotation(home.people, .leastDone),
        rule: try RecurrenceRule(.weekly, every: 3, from: home.date(0))))
    try home.done(chore, by: 0, on: 0)
    let next = try #require(try home.state().occurrences.due(through: home.date(21)).first)
    #expect(try next.due == home.date(21))
    #expect(next.assignee != home.people[0])
    home.day += 21
    for day in 21..<42 {
      let open = try #require(try home.state().occurrences.due(through: home.today).first)
      #expect(open.key == next.key)
      #expect(try open.due == home.date(day))
      #expect(open.assignee == next.assignee, "on day \(day)")
      home.day += 1
    }
  }

  @Test("R18: whose turn it is does not depend on how far ahead one looks")
  func turnOfOneMovedHere() throws {
    let order = [home.people[2], home.people[0], home.people[1]]
    let chore = try home.add(
      ChoreDraft(
        title: "Cook", points: 1, assignee: .rotation(order, .byTurn), rule: try daily()))
    let last = try home.state(0).occurrences.due(through: home.date(10)).last
    let moved = try #require(last)
    try home.write(0) {
      try $0.overrides.move(chore, occurrence: moved.key, to: self.home.date(1), in: &$1)
    }
    func turns(through day: Int) throws -> [OccurrenceKey: PersonID?] {
      let open = try home.state(0).occurrences.due(through: home.date(day))
      return Dictionary(uniqueKeysWithValues: open.map { ($0.key, $0.assignee) })
    }
    let far = try turns(through: 20)
    #expect(far[moved.key] == moved.assignee)
    for day in 1..<20 {
      let near = try turns(through: day)
      #expect(near[moved.key] != nil, "it is due on the day it was moved to")
      for (key, person) in near { #expect(person == far[key], "through \(day)") }
    }
  }

  @Test("R15: work done concurrently with a skip counts")
  func skipped() throws {
    let chore = try home.add(ChoreDraft(title: "Bins", points: 5))
    try home.write(0) { try $0.skips.add(chore, reason: "empty", in: &$1) }
    #expect(try home.state(0).occurrences.due(through: home.date(9)).isEmpty)
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.total(1) == 5)
  }
}

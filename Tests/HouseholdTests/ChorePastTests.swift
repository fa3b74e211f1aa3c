import HearthCRDT
import Household
import TestSupport
import Testing

@Suite("What became of a chore")
struct ChorePastTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold() }

  private func daily(_ title: String, assignee: Assignment = .nobody) throws -> RecordID {
    try home.add(
      ChoreDraft(
        title: title, points: 2, assignee: assignee,
        rule: try RecurrenceRule(.daily, every: 1, from: home.date(0))))
  }

  private func assignees(_ chore: RecordID, on device: Int = 0) throws -> [PersonID?] {
    try home.state(device).occurrences.due(through: home.date(1)).filter { $0.chore == chore }
      .map(\.assignee)
  }

  @Test("One occurrence given to nobody is nobody's, on every device; the next is the assignee's")
  func release() throws {
    let chore = try daily("Bins", assignee: .person(home.people[0]))
    #expect(try assignees(chore) == [home.people[0], home.people[0]])
    try home.write(0) { try $0.overrides.release(chore, in: &$1) }
    try home.meet()
    for device in 0...1 {
      #expect(try assignees(chore, on: device) == [nil, home.people[0]])
    }
    try home.write(0) { try $0.overrides.assign(chore, to: nil, in: &$1) }
    #expect(try assignees(chore) == [home.people[0], home.people[0]])
  }

  @Test("R2: a strict household credits anybody for an occurrence that was given to nobody")
  func strictRelease() throws {
    try home.set("strict-assignee", "yes")
    let chore = try daily("Bins", assignee: .person(home.people[0]))
    try home.write(0) { try $0.overrides.release(chore, in: &$1) }
    try home.meet()
    try home.done(chore, by: 1, on: 1)
    #expect(try home.total(1, on: 1) == 2)
  }

  @Test("A chore of one time is finished once it is done, and tells who did it; undone it is not")
  func finished() throws {
    let chore = try home.add(ChoreDraft(title: "Milk", points: 3))
    #expect(try home.state().chores.chore(chore)?.isFinished == false)
    #expect(try home.state().ledger.last(of: chore) == nil)
    let event = try home.done(chore, by: 1, on: 0)
    #expect(try home.state().chores.chore(chore)?.isFinished == true)
    let last = try #require(try home.state().ledger.last(of: chore))
    #expect(last.event == event && last.person == home.people[1])
    #expect(try last.day == home.date(0))
    try home.write(0) { state, builder in
      try state.completions.undo(event, by: home.people[1], in: &builder)
    }
    #expect(try home.state().chores.chore(chore)?.isFinished == false)
    #expect(try home.state().ledger.last(of: chore) == nil)
    let repeating = try daily("Dishes")
    try home.done(repeating, by: 0, on: 0)
    #expect(try home.state().chores.chore(repeating)?.isFinished == false)
  }

  @Test("A skip keeps its reason and its author; taken back it is marked, and leaves the history")
  func reasons() throws {
    let chore = try daily("Dishes")
    try home.write(1) { try $0.skips.add(chore, reason: "holiday", in: &$1) }
    try home.meet()
    let skip = try #require(try home.state().skips.entries(of: chore).first)
    #expect(skip.reason == "holiday" && !skip.isUndone)
    #expect(try skip.date == home.date(0))
    #expect(try home.state().skips.entries(idPrefix: String(skip.event.hex.prefix(8))) == [skip])
    let page = try home.state().ledger.history(after: nil, limit: 20)
    #expect(try home.state().skips.entries(on: page) == [skip])
    try home.write(1) { state, builder in
      try state.skips.undo(skip.event, by: skip.by, in: &builder)
    }
    try home.meet()
    #expect(try home.state().skips.entries(of: chore).map(\.isUndone) == [true])
    #expect(try home.state().skips.entries(on: page).isEmpty)
    #expect(try home.state().skips.last(by: skip.by) == nil)
  }

  @Test("R26: the pages of history have each skip once, between the completions around it")
  func pages() throws {
    let chore = try daily("Dishes")
    let other = try daily("Cat")
    for _ in 0..<3 {
      try home.write(0) { try $0.skips.add(chore, reason: "", in: &$1) }
      try home.done(other, by: 0, on: 0)
      home.day += 1
    }
    var found: [[RecordID]] = []
    var cursor: String?
    repeat {
      let page = try home.state().ledger.history(after: cursor, limit: 1)
      found.append(try home.state().skips.entries(on: page).map(\.event))
      cursor = page.next
    } while cursor != nil
    // A page ends with its last completion; the last page ends with the end of history.
    #expect(found.map(\.count) == [0, 1, 2])
    #expect(try found.flatMap { $0 } == home.state().skips.entries().map(\.event))
  }

  @Test("Titles say which chores are archived")
  func titles() throws {
    let chore = try daily("Dishes")
    try home.write(0) { try $0.chores.archive(chore, in: &$1) }
    #expect(try home.state().chores.titles(includingArchived: true).map(\.isArchived) == [true])
    #expect(try home.state().chores.titles(includingArchived: false).isEmpty)
  }
}

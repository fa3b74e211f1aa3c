import HearthCRDT
import HearthSync
import Household
import TestSupport
import Testing

@Suite("Rules that meet: changed, skipped, moved, concurrent")
struct HouseholdChangedRuleTests {
  let home: TestHousehold

  init() throws { home = try TestHousehold(devices: 3) }

  private func daily() throws -> RecurrenceRule { try RecurrenceRule(.daily, from: home.date(0)) }

  private func chain(_ days: Int) throws -> RecurrenceRule {
    try RecurrenceRule(.daily, every: days, from: home.today, mode: .afterCompletion)
  }

  private func change(_ chore: RecordID, to rule: RecurrenceRule?, on device: Int = 0) throws {
    var edit = ChoreEdit()
    edit.rule = .some(rule)
    try home.write(device) { try $0.chores.edit(chore, edit, in: &$1) }
  }

  private func skip(_ chore: RecordID, _ key: OccurrenceKey? = nil, on device: Int = 0) throws {
    try home.write(device) {
      try $0.skips.add(chore, occurrence: key, reason: "", in: &$1)
    }
  }

  private func next(_ chore: RecordID, on device: Int = 0) throws -> OccurrenceView? {
    try home.state(device).chores.chore(chore)?.next
  }

  /// The offset of the day the next occurrence is due.
  private func due(_ chore: RecordID, on device: Int = 0) throws -> Int? {
    try next(chore, on: device)?.due.map { Int($0.dayNumber) - TestHousehold.start }
  }

  private func expectRebuilt() throws {
    for replica in home.replicas {
      let kept = replica.dump
      try replica.rebuild()
      #expect(replica.dump == kept)
    }
  }

  @Test("R8: a skip closes what is older, like work does")
  func skipClosesOlder() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily()))
    home.day += 4
    try skip(chore)
    #expect(try due(chore) == 5)
    #expect(try next(chore)?.missedBefore == 0)
    #expect(try home.state().occurrences.due(through: home.today).isEmpty)
  }

  @Test("R8: skipping a day to come leaves due what comes before it, until that day")
  func skipAhead() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily()))
    try skip(chore, OccurrenceKey(try Occurrence(home.date(2))))
    #expect(try due(chore) == 0)
    home.day += 1
    #expect(try due(chore) == 1)
    home.day += 1
    #expect(try due(chore) == 3)
  }

  @Test("R8: where all stay due a skip closes its own day alone")
  func skipStacked() throws {
    try home.set("missed", "stack")
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily()))
    home.day += 2
    try skip(chore, OccurrenceKey(try Occurrence(home.date(1))))
    let dues = try home.state().occurrences.due(through: home.today).map(\.due)
    #expect(dues == [try home.date(0), try home.date(2)])
  }

  @Test("R6 and R7: a chore done today that becomes a chain counts from today", arguments: [0, 1])
  func becomesChain(kind: Int) throws {
    let rule = kind == 0 ? nil : try daily()
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: rule))
    try home.done(chore, by: 0, on: 0)
    try change(chore, to: chain(2))
    #expect(try due(chore) == 2)
    home.day += 3
    try home.done(chore, by: 0, on: 0)
    #expect(try due(chore) == 5)
    try expectRebuilt()
  }

  @Test("R6: a chain opens after the last date that was closed by the calendar")
  func chainAfterClosedDate() throws {
    let done = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try daily()))
    try home.done(done, by: 0, on: 0, key: OccurrenceKey(try Occurrence(home.date(2))))
    try change(done, to: chain(1))
    #expect(try due(done) == 3)
    let skipped = try home.add(ChoreDraft(title: "Dog", points: 1, rule: try daily()))
    try skip(skipped)
    try change(skipped, to: chain(2))
    #expect(try due(skipped) == 1)
  }

  @Test("R6: a chain with a new interval is not due before the day it was written")
  func shorterChain() throws {
    let weekly = try RecurrenceRule(.weekly, from: home.date(0), mode: .afterCompletion)
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: weekly))
    try home.done(chore, by: 0, on: 0)
    home.day += 4
    try change(chore, to: chain(2))
    #expect(try due(chore) == 4)
    #expect(try next(chore)?.state == .open)
  }

  @Test("R6: a chain that ended before its new rule was written is not due")
  func endedChain() throws {
    let rule = try RecurrenceRule(
      .daily, every: 2, from: home.date(0), mode: .afterCompletion, end: .until(home.date(3)))
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: rule))
    try home.done(chore, by: 0, on: 0)
    #expect(try due(chore) == 2)
    home.day += 4
    try change(chore, to: rule)
    #expect(try next(chore) == nil)
  }

  @Test("R6: what was skipped as a link of a chain is not done for good when the rule goes")
  func chainToOnce() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 1, rule: try chain(2)))
    try skip(chore)
    #expect(try due(chore) == 2)
    try change(chore, to: nil)
    #expect(try next(chore)?.key == .once)
  }

  @Test("R7: work apart is one link, also if only one had seen the new rule", arguments: [0, 1])
  func oneLink(kind: Int) throws {
    let rule = kind == 0 ? nil : try daily()
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5, rule: rule))
    try change(chore, to: chain(2))
    try home.done(chore, by: 0, on: 0)
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    for device in 0...1 {
      #expect(try home.kinds(device) == [.credited, .alsoDone])
      #expect(try home.total(1, on: device) == 0)
      #expect(try due(chore, on: device) == 2)
    }
    try expectRebuilt()
  }

  @Test("R7: the same in the other order, and the undone one gives way to the other")
  func oneLinkReversed() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5, rule: try daily()))
    let first = try home.done(chore, by: 1, on: 1)
    try change(chore, to: chain(2))
    try home.done(chore, by: 0, on: 0)
    try home.meet()
    #expect(try home.kinds() == [.credited, .alsoDone])
    try home.write(1) { try $0.completions.undo(first, by: home.people[1], in: &$1) }
    try home.meet()
    #expect(try home.kinds() == [.undone, .credited])
    #expect(try home.total(0) == 5)
    try expectRebuilt()
  }

  @Test("R7: work of more than twelve hours apart is two, whichever rules were seen")
  func twoLinks() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5))
    try change(chore, to: chain(2))
    try home.done(chore, by: 0, on: 0)
    home.day += 1
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.kinds() == [.credited, .credited])
    try expectRebuilt()
  }

  @Test("R3: a new rule changes nothing that was paid under the old one")
  func paidStaysPaid() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5, rule: try daily()))
    home.minute = 1380
    try home.done(chore, by: 0, on: 0)
    home.day += 1
    home.minute = 60
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    let before = try home.state().ledger.entries(of: nil)
    #expect(before.map(\.points) == [5, 5])
    try change(chore, to: chain(2))
    try home.meet()
    #expect(try home.state().ledger.entries(of: nil) == before)
    try expectRebuilt()
  }

  @Test("R2 and R18: in a strict household the one an occurrence was given to is assigned, only")
  func strictOverride() throws {
    try home.set("strict-assignee", "yes")
    let chore = try home.add(
      ChoreDraft(title: "Bins", points: 5, assignee: .person(home.people[0])))
    try home.write(0) { try $0.overrides.assign(chore, to: home.people[1], in: &$1) }
    try home.meet()
    try home.done(chore, by: 0, on: 0)
    #expect(try home.kinds() == [.invalid])
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.kinds() == [.invalid, .credited])
    try expectRebuilt()
  }

  @Test("R2: in a strict household work done before hearing of the override counts")
  func strictUnseenOverride() throws {
    try home.set("strict-assignee", "yes")
    let chore = try home.add(
      ChoreDraft(title: "Bins", points: 5, assignee: .person(home.people[1])))
    try home.write(0) { try $0.overrides.assign(chore, to: home.people[2], in: &$1) }
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    #expect(try home.kinds() == [.credited])
  }

  @Test("R15: the skip of a link stands when a duplicate of the work before it arrives")
  func skipBesideDuplicate() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5, rule: try chain(2)))
    try home.done(chore, by: 0, on: 0)
    try home.done(chore, by: 1, on: 1)
    try skip(chore, on: 1)
    #expect(try due(chore, on: 1) == 4)
    try home.meet()
    #expect(try home.kinds() == [.credited, .alsoDone])
    #expect(try due(chore) == 4)
  }

  @Test("R15: a link moved on and skipped counts from the day it was moved to")
  func skipOfMoved() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5, rule: try chain(2)))
    try home.write(0) { try $0.overrides.move(chore, to: home.date(3), in: &$1) }
    #expect(try due(chore) == 3)
    try skip(chore)
    #expect(try due(chore) == 5)
  }

  @Test("R10: a later closing of another day of the same work changes nothing that was settled")
  func firstClosingDecides() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5))
    try home.done(chore, by: 0, on: 0)
    home.day += 3
    try home.done(chore, by: 1, on: 1)
    try home.meet()
    home.day += 8
    try home.write(0) {
      try $0.periods.close(.week, first: home.date(3), last: home.date(9), in: &$1)
    }
    try home.set("duplicate", "each")
    home.day += 21
    try home.write(0) {
      try $0.periods.close(.month, first: home.date(-3), last: home.date(27), in: &$1)
    }
    #expect(try home.kinds() == [.credited, .alsoDone])
    #expect(try home.total(1) == 0)
    try expectRebuilt()
  }

  @Test("R15: any number of links in a row can be skipped")
  func manySkips() throws {
    let chore = try home.add(ChoreDraft(title: "Cat", points: 5, rule: try chain(2)))
    for count in 1...70 {
      try skip(chore)
      #expect(try due(chore) == 2 * count)
    }
  }
}

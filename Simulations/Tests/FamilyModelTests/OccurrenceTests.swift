import FamilyModel
import Testing

/// Rules about what is due when and whose turn it is, worked out by hand.
@Suite("Occurrences of the model")
struct OccurrenceTests {
  @Test("the calendar counts days as people do")
  func calendar() {
    #expect(ModelCalendar.day(year: 1970, month: 1, day: 1) == 0)
    #expect(ModelCalendar.day(year: 2000, month: 3, day: 1) == 11_017)
    #expect(ModelCalendar.day(year: 2024, month: 10, day: 4) == 20_000)
    #expect(ModelCalendar.date(20_000) == (2024, 10, 4))
    #expect(ModelCalendar.weekday(20_000) == 5)
    #expect(ModelCalendar.day(year: 9999, month: 12, day: 31) == ModelCalendar.lastDay)
    let last = ModelCalendar.day(year: 2027, month: 1, day: 31)
    #expect(ModelCalendar.date(ModelCalendar.adding(months: 1, to: last)) == (2027, 2, 28))
    #expect(ModelCalendar.date(ModelCalendar.adding(months: 13, to: last)) == (2028, 2, 29))
  }

  @Test("section 4: a monthly rule takes the last day of short months and never drifts")
  func monthly() {
    let anchor = ModelCalendar.day(year: 2027, month: 1, day: 31)
    let rule = ModelRule(every: 1, .month(day: 31), from: anchor)
    let dates = (anchor...(anchor + 120)).filter { rule.falls(on: $0) }.map(ModelCalendar.date)
    #expect(dates.map(\.month) == [1, 2, 3, 4, 5])
    #expect(dates.map(\.day) == [31, 28, 31, 30, 31])
  }

  @Test("section 4: a yearly rule of 29 February takes the 28th in between")
  func yearly() {
    let anchor = ModelCalendar.day(year: 2024, month: 2, day: 29)
    let rule = ModelRule(every: 1, .year(day: 29), from: anchor)
    let dates = (anchor..<(anchor + 1500)).filter { rule.falls(on: $0) }.map(ModelCalendar.date)
    #expect(dates.map(\.day) == [29, 28, 28, 28, 29])
  }

  @Test("section 4: which weeks a fortnightly rule skips depends on the start of the week")
  func fortnightly() {
    let anchor = ModelCalendar.day(year: 1997, month: 8, day: 5)
    func days(_ start: Int) -> [Int] {
      let rule = ModelRule(every: 2, .week(on: [2, 7], start: start), from: anchor)
      return (anchor..<(anchor + 27)).filter { rule.falls(on: $0) }
        .map { ModelCalendar.date($0).day }
    }
    #expect(days(1) == [5, 10, 19, 24])
    #expect(days(7) == [5, 17, 19, 31])
  }

  @Test("R6: one occurrence per day of the rule, closed by either device's work, never two")
  func keys() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 7))
    family.done(family.ada, on: 0, key: key(0))
    family.done(family.ben, on: 1, key: key(0))
    #expect(family.next == 7)
    #expect(
      family.model.openOccurrences(family.chore, through: family.day + 21).map(\.key)
        == [key(7), key(14), key(21)])
  }

  @Test("R6: a new rule opens on the day it was written and after what is closed")
  func newRule() {
    var family = TestFamily()
    family.add(.points(5), rule())
    family.day += 10
    family.set(rule(every: 3), on: 0)  // days 0, 3, 6, 9, 12
    family.set(.ruleFrom(family.day), on: 0)
    #expect(family.next == 12)
    family.done(family.ada, on: 0, key: key(12))
    #expect(family.next == 15)
  }

  @Test("R6: a moved occurrence keeps its key")
  func moved() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 7))
    family.write(
      0, .occurrenceOverride(chore: family.chore, key: key(0), .due(family.day + 2)))
    #expect(family.next == 2)
    #expect(family.model.nextOccurrence(family.chore)?.key == key(0))
    family.day += 3
    #expect(family.model.nextOccurrence(family.chore)?.state == .overdue)
    family.done(family.ada, on: 0, key: key(0))
    #expect(family.next == 7)
  }

  @Test("R7: concurrent work within twelve hours is one link, later work the next")
  func chain() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 3, afterCompletion: true))
    #expect(family.next == 0)
    family.done(family.ada, on: 0)
    family.minute += 60
    family.done(family.ben, on: 1)
    #expect(family.kinds == [.credited, .alsoDone])
    #expect(family.next == 3)
    #expect(family.model.nextOccurrence(family.chore)?.key == 128)
    family.meet()
    family.done(family.ben, on: 1)
    #expect(family.kinds == [.credited, .alsoDone, .credited], "who knew means another time")
    family.day += 1
    family.done(family.cleo, on: 2)
    #expect(family.kinds.last == .credited, "a day later is another time though concurrent")
    #expect(family.next == 4)
  }

  @Test("R7: the chain goes on from the latest work of a link")
  func chainDue() {
    var family = TestFamily()
    family.minute = 1200
    family.add(.points(5), rule(every: 3, afterCompletion: true))
    family.done(family.ada, on: 0)
    family.day += 1
    family.minute = 60
    family.done(family.ben, on: 1)
    #expect(family.kinds == [.credited, .alsoDone])
    #expect(family.next == 4)
  }

  @Test("R7: the third in one interval is too many for whoever knows that the second knew")
  func thirdLink() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 3, afterCompletion: true))
    family.done(family.ada, on: 0)
    family.done(family.ada, on: 0)
    family.done(family.ada, on: 0)
    #expect(family.kinds == [.credited, .credited, .invalid])
    family.day += 1
    family.done(family.ben, on: 1)
    #expect(family.kinds.last == .credited, "Ben had heard of nothing")
    family.meet()
    family.done(family.cleo, on: 2)
    #expect(family.kinds.last == .invalid)
    family.day += 2
    family.done(family.cleo, on: 2)
    #expect(family.kinds.last == .credited, "the first two are three days ago")
    #expect(family.next == 6)
  }

  @Test("R1 and R7: one person is one, on whatever devices that know nothing of each other")
  func onePersonOnThreeDevices() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 3, afterCompletion: true))
    for device in 0..<3 {
      family.done(family.ada, on: device)
      family.day += 1
    }
    #expect(family.kinds == [.credited, .credited, .alsoDone])
    #expect(family.totals == [10, 0, 0])
    #expect(family.next == 5, "it was done on the third day")
  }

  @Test("R7: what the doer knows to be taken back is no link, what others take back later is")
  func thirdAfterUndo() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 3, afterCompletion: true))
    let first = family.done(family.ada, on: 0)
    family.done(family.ada, on: 0)
    family.done(family.ada, on: 0)
    family.undo(first, by: family.ada, on: 0)
    #expect(family.kinds == [.undone, .credited, .invalid])
    family.done(family.ada, on: 0)
    #expect(family.kinds == [.undone, .credited, .invalid, .credited])
  }

  @Test("R7: nothing follows the last link of a rule that ends, for whoever knows of it")
  func endedChain() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 2, until: 3, afterCompletion: true))
    family.day += 2
    family.done(family.ada, on: 0)
    family.day += 9
    family.done(family.ada, on: 0)
    family.done(family.ben, on: 1)
    #expect(family.kinds == [.credited, .invalid, .credited])
  }

  @Test("R29: a rule that cannot be read pays once a day, and is there every day")
  func unreadableRule() {
    var family = TestFamily()
    family.add(.points(5), .rule(ModelRule(every: 1, .unreadable, from: 0)))
    family.done(family.ada, on: 0, key: 7)
    family.done(family.ada, on: 0, key: 99)
    family.done(family.ben, on: 1, key: 0)
    #expect(family.kinds == [.credited, .alsoDone, .alsoDone])
    #expect(family.model.nextOccurrence(family.chore) == nil)
    family.day += 1
    #expect(family.model.nextOccurrence(family.chore)?.key == 0)
  }

  @Test("R8: the next is after the closed date and the day of the work")
  func afterLateWork() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 7))
    family.day += 8
    family.done(family.ada, on: 0, key: key(0))
    #expect(family.kinds == [.invalid] && family.next == 7, "day 7 took its place")
    family.done(family.ada, on: 0, key: key(7))
    #expect(family.next == 14, "it is after the work of day 8")
    family.done(family.ada, on: 0, key: key(14))
    #expect(family.next == 21, "early work closes its own date")
  }

  @Test("R8: older ones are missed, or stay, or are never overdue")
  func missed() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 2))
    family.day += 5
    let rolled = family.model.nextOccurrence(family.chore)
    #expect(rolled?.key == key(4))
    #expect(rolled?.state == .overdue)
    #expect(rolled?.missedBefore == 2)
    #expect(family.model.missedOccurrences(family.chore).map(\.key) == [key(0), key(2)])
    family.write(0, .setting("missed", "never-overdue"))
    #expect(family.next == 5)
    #expect(family.model.nextOccurrence(family.chore)?.state == .open)
    family.write(0, .setting("missed", "stack"))
    family.done(family.ada, on: 0, key: key(2))
    #expect(
      family.model.openOccurrences(family.chore, through: family.day + 1).map(\.key)
        == [key(0), key(4), key(6)])
  }

  @Test("R15: a skip closes an occurrence, work on it is credited all the same")
  func skip() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 7))
    let skip = family.skip(key(0), on: 0)
    #expect(family.next == 7)
    family.done(family.ben, on: 1, key: key(0))
    #expect(family.totals == [0, 5, 0])
    #expect(family.next == 7)
    family.undo(skip, by: family.ada)
    #expect(family.next == 7)
    family.undo(family.model.ledger[0].event, by: family.ben)
    #expect(family.next == 0)
  }

  @Test("R15: a skipped link is due an interval later, and one link however many skip it")
  func skippedLink() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 3, afterCompletion: true))
    family.skip(64, on: 0)
    family.skip(64, on: 1)
    #expect(family.next == 3)
    #expect(family.model.nextOccurrence(family.chore)?.key == 65)
    family.done(family.cleo, on: 2)
    #expect(family.model.nextOccurrence(family.chore)?.key == 128)
  }

  @Test("R15: a skip of a link that was undone does not skip the link done again")
  func skippedLinkAfterUndo() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 3, afterCompletion: true))
    let done = family.done(family.ada, on: 0)
    family.skip(128, on: 0)
    #expect(family.model.nextOccurrence(family.chore)?.key == 129)
    family.undo(done, by: family.ada)
    #expect(family.model.nextOccurrence(family.chore)?.key == 64)
    family.done(family.ada, on: 0)
    #expect(family.model.nextOccurrence(family.chore)?.key == 128)
  }

  @Test("R18: by date the ordinal picks, whoever did it, and an override wins")
  func byDate() {
    var family = TestFamily()
    let people = [family.ada, family.ben, family.cleo]
    family.add(.points(5), rule(), .assignment(.rotation(people, .byDate)))
    family.write(0, .occurrenceOverride(chore: family.chore, key: key(1), .assignee(family.cleo)))
    let turns = family.model.openOccurrences(family.chore, through: family.day + 4)
    #expect(turns.map(\.assignee) == [people[0], people[2], people[2], people[0], people[1]])
    family.write(0, .person(family.ben, name: "Ben"))
    family.write(0, .personDeleted(family.ben))
    family.day += 4
    #expect(family.model.nextOccurrence(family.chore)?.assignee == family.cleo, "Ben is gone")
  }

  @Test("R18: by turn it is after whoever was last credited")
  func byTurn() {
    var family = TestFamily()
    let people = [family.ada, family.ben, family.cleo]
    family.add(.points(5), rule(), .assignment(.rotation(people, .byTurn)))
    #expect(
      family.model.openOccurrences(family.chore, through: family.day + 3).map(\.assignee)
        == people + [family.ada])
    family.done(family.ben, on: 0, key: key(0))
    #expect(family.model.nextOccurrence(family.chore)?.assignee == family.cleo)
    family.done(family.cleo, on: 0, key: key(1))
    #expect(family.model.nextOccurrence(family.chore)?.assignee == family.ada)
  }

  @Test("R18: it falls to who did least in 28 days, the lesser id among equals")
  func leastDone() {
    var family = TestFamily()
    let people = [family.cleo, family.ben, family.ada]
    family.add(.points(5), rule(), .assignment(.rotation(people, .leastDone)))
    #expect(family.model.nextOccurrence(family.chore)?.assignee == family.ada)
    family.done(family.ada, on: 0, key: key(0))
    #expect(family.model.nextOccurrence(family.chore)?.assignee == family.ben)
    family.day += 27
    #expect(family.model.nextOccurrence(family.chore)?.assignee == family.ben)
    family.day += 1
    #expect(family.model.nextOccurrence(family.chore)?.assignee == family.ada, "28 days later")
  }

  @Test("a chore that is done once is open until it is done; an archived one is not")
  func once() {
    var family = TestFamily()
    family.add(.points(5), .due(family.day - 1))
    #expect(family.model.nextOccurrence(family.chore)?.state == .overdue)
    family.set(.archived(true), on: 0)
    #expect(family.model.nextOccurrence(family.chore) == nil)
    family.set(.archived(false), on: 0)
    family.done(family.ada, on: 0)
    #expect(family.model.nextOccurrence(family.chore) == nil)
  }
}

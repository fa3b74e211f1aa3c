import FamilyModel
import Testing

/// Rules about who is credited with what, worked out by hand.
@Suite("Credits of the model")
struct CreditTests {
  @Test("R1: of two who did one occurrence the first by the order is paid")
  func firstIsPaid() {
    var family = TestFamily()
    family.add(.points(5))
    family.done(family.ben, on: 1)
    family.done(family.ada, on: 0)
    #expect(family.kinds == [.credited, .alsoDone])
    #expect(family.totals == [0, 5, 0])
  }

  @Test("R1: a slow clock comes first by the order")
  func slowClock() {
    var family = TestFamily()
    family.add(.points(5))
    family.done(family.ben, on: 1)
    family.skewMinutes[0] = -3
    family.done(family.ada, on: 0, at: family.now - 180_000)
    #expect(family.totals == [5, 0, 0])
  }

  @Test("R1: each pays every person once")
  func each() {
    var family = TestFamily()
    family.add(.points(5))
    family.write(0, .setting("duplicate", "each"))
    family.meet()
    family.done(family.ben, on: 1)
    family.done(family.ada, on: 0)
    family.done(family.ada, on: 2)
    #expect(family.kinds == [.credited, .alsoDone, .alsoDone], "one is credited, all are paid")
    #expect(family.totals == [5, 5, 0])
  }

  @Test("R1: split gives the remainder to the first")
  func split() {
    var family = TestFamily()
    family.add(.points(8))
    family.write(0, .setting("duplicate", "split"))
    family.meet()
    family.done(family.ben, on: 1)
    family.done(family.ada, on: 0)
    family.done(family.cleo, on: 2)
    #expect(family.totals == [2, 4, 2])
  }

  @Test("R2: a strict household credits who was assigned in the doer's eyes or is now")
  func strict() {
    var family = TestFamily()
    family.add(.points(5), .assignment(.person(family.ada)))
    family.write(0, .setting("strict-assignee", "yes"))
    family.meet()
    family.done(family.ben, on: 1)
    #expect(family.kinds == [.invalid])
    family.set(.assignment(.person(family.cleo)), on: 0)
    family.done(family.ada, on: 2)
    #expect(family.kinds == [.invalid, .credited], "Ada had not heard that it is Cleo's now")
    family.set(.assignment(.person(family.ben)), on: 0)
    #expect(family.totals == [0, 5, 0], "Ben is the assignee now, and was first")
  }

  @Test("R2: an occurrence's own assignee goes before the chore's")
  func strictOverride() {
    var family = TestFamily()
    family.add(.points(5), .assignment(.person(family.ada)))
    family.write(0, .setting("strict-assignee", "yes"))
    family.write(0, .occurrenceOverride(chore: family.chore, key: 0, .assignee(family.ben)))
    family.meet()
    family.done(family.ada, on: 0)
    family.done(family.ben, on: 1)
    #expect(family.kinds == [.invalid, .credited])
  }

  @Test("R3: the award is what the doer saw")
  func awardAsSeen() {
    var family = TestFamily()
    family.add(.points(5))
    family.set(.points(9), on: 0)
    family.done(family.ben, on: 1)
    #expect(family.totals == [0, 5, 0], "Ben had not heard of nine")
    family.meet()
    family.set(.points(1), on: 0)
    #expect(family.totals == [0, 5, 0])
  }

  @Test("R4: work concurrent with the archive counts, work after seeing it does not")
  func archive() {
    var family = TestFamily()
    family.add(.points(5))
    family.set(.archived(true), on: 0)
    family.done(family.ben, on: 1)
    #expect(family.kinds == [.credited])
    family.done(family.ada, on: 0)
    #expect(family.kinds == [.credited, .invalid])
    family.set(.title("Edited"), on: 0)
    #expect(family.model.shown(family.chore).isArchived, "an edit does not restore")
    family.set(.archived(false), on: 0)
    family.done(family.ada, on: 0)
    #expect(family.kinds == [.credited, .invalid, .alsoDone])
    #expect(family.model.nextOccurrence(family.chore) == nil, "key 0 is done")
  }

  @Test("R5: concurrent values stand side by side, a later edit that saw them wins over any clock")
  func siblings() {
    var family = TestFamily()
    family.add(.title("Dishes"))
    family.skewMinutes[1] = 600
    family.set(.title("From the future"), on: 1)
    family.set(.title("Now"), on: 0)
    #expect(family.model.shown(family.chore).title == "From the future")
    family.meet()
    family.set(.title("Later"), on: 2)
    #expect(family.model.shown(family.chore).title == "Later")
  }

  @Test("R5: an added tag stays unless a removal saw it")
  func tags() {
    var family = TestFamily()
    family.write(0, .choreField(family.chore, .title("Dishes")))
    family.write(0, .tag(family.chore, "kitchen", added: true))
    family.meet()
    family.write(0, .tag(family.chore, "kitchen", added: false))
    #expect(family.model.shown(family.chore).tags == [])
    family.write(1, .tag(family.chore, "kitchen", added: true))
    #expect(family.model.shown(family.chore).tags == ["kitchen"])
  }

  @Test("R9: a time after the change or over seven civil days before it is impossible")
  func impossibleTimes() {
    let limit = 8 * 86_400_000
    for (shift, kind) in [
      (300_000, ModelEntry.Kind.credited), (300_001, .invalid), (-limit, .credited),
      (-limit - 1, .invalid),
    ] {
      var family = TestFamily()
      family.add(.points(5))
      let at = family.now + 60_000 + shift
      family.done(family.ada, on: 0, day: at / 86_400_000, at: at)
      #expect(family.kinds == [kind], "\(shift)")
    }
    for (days, kind) in [
      (-2, ModelEntry.Kind.invalid), (-1, .credited), (1, .ahead), (2, .invalid),
    ] {
      var family = TestFamily()
      family.add(.points(5))
      family.done(family.ada, on: 0, day: family.day + days, at: family.now)
      #expect(family.kinds == [kind], "\(days)")
    }
  }

  @Test("R9: weeks and months are told by the day of the event and the start of the week")
  func periods() {
    var family = TestFamily()  // Friday 4 October 2024
    family.add(.points(5), rule())
    family.done(family.ada, on: 0, key: key(0))
    family.day += 2  // Sunday
    family.done(family.ada, on: 0, key: key(2))
    family.day += 1  // Monday
    family.done(family.ada, on: 0, key: key(3))
    #expect(family.model.points(family.ada, containing: family.day) == 5)
    #expect(family.model.points(family.ada, weekStart: 7, containing: family.day) == 10)
    #expect(family.model.points(family.ada, year: 2024, month: 10) == 15)
    #expect(family.model.points(family.ada, year: 2024, month: 11) == 0)
    family.write(0, .setting("week-start", "su"))
    #expect(family.model.points(family.ada, containing: family.day) == 10)
  }

  @Test("R11: what is taken back stays so, and the next becomes credited")
  func undo() {
    var family = TestFamily()
    family.add(.points(5))
    let first = family.done(family.ben, on: 1)
    family.done(family.ada, on: 0)
    family.meet()
    family.undo(first, by: family.cleo)
    #expect(family.totals == [0, 5, 0], "Cleo may not")
    family.undo(first, by: family.ben)
    #expect(family.kinds == [.undone, .credited])
    #expect(family.totals == [5, 0, 0])
  }

  @Test("R11: an admin may take back what anybody did, the recorder what was recorded")
  func undoOthers() {
    var family = TestFamily()
    family.add(.points(5))
    let first = family.done(family.ben, on: 1)
    let second = family.done(family.ben, on: 1, key: 1, recordedBy: family.ada)
    family.undo(first, by: family.cleo, as: .admin)
    family.undo(second, by: family.ada)
    #expect(family.kinds == [.undone, .undone])
  }

  @Test("R16: a badge is the day of the n-th credited completion, and vanishes with it")
  func badges() {
    var family = TestFamily()
    family.add(.points(5), rule())
    for offset in 0..<3 {
      family.done(family.ada, on: 0, key: key(offset))
      family.day += 1
    }
    #expect(family.model.day(ofCredited: 1, by: family.ada) == TestFamily.start)
    #expect(family.model.day(ofCredited: 3, by: family.ada) == TestFamily.start + 2)
    #expect(family.model.day(ofCredited: 4, by: family.ada) == nil)
    #expect(family.model.day(ofCredited: 1, by: family.ben) == nil)
    family.undo(family.model.ledger[0].event, by: family.ada)
    #expect(family.model.day(ofCredited: 3, by: family.ada) == nil)
  }

  @Test("R17: a streak is broken by a day on which something was due, not by today")
  func streak() {
    var family = TestFamily()
    family.add(.points(5), rule())
    for offset in [0, 1, 3, 4] {
      family.day = TestFamily.start + offset
      family.done(family.ada, on: 0, key: key(offset))
    }
    #expect(family.model.streak(family.ada) == 2)
    family.day += 1
    #expect(family.model.streak(family.ada) == 2, "today is not over")
    family.day += 1
    #expect(family.model.streak(family.ada) == 0)
    #expect(family.model.streak(family.ben) == 0)
  }

  @Test("R17: days on which nothing was due are passed over")
  func streakOverQuietDays() {
    var family = TestFamily()
    family.add(.points(5), rule(every: 3))
    for offset in [0, 3, 6] {
      family.day = TestFamily.start + offset
      family.done(family.ada, on: 0, key: key(offset))
    }
    family.day += 2
    #expect(family.model.streak(family.ada) == 3)
  }

  @Test("R24: a setting is a register; its default comes back when it is cleared")
  func settings() {
    var family = TestFamily()
    family.write(0, .setting("duplicate", "each"))
    family.write(1, .setting("duplicate", "split"))
    #expect(family.model.setting("duplicate") == "split")
    family.meet()
    family.write(0, .setting("duplicate", nil))
    #expect(family.model.setting("duplicate") == nil)
  }
}

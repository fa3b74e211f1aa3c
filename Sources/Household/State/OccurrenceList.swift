import HearthCRDT
import HearthSync

/// The occurrences of all chores: what is due, and which one a user means.
package struct OccurrenceList {
  let context: DayContext
  let people: PeopleDirectory

  /// Returns the occurrences that are open through a day, and everything overdue.
  ///
  /// Overdue ones come first, then the others by day and time; those without a day come last. Reads
  /// the chores that may be open by that day.
  package func due(through last: CivilDate) throws -> [OccurrenceView] {
    let inactive = try people.inactive()
    var found: [OccurrenceView] = []
    var seen: Set<RecordID> = []
    let open = try context.source.rows(
      of: HouseholdTables.chores, in: ChoreRow.open(through: last))
    let ahead = try context.source.rows(
      of: HouseholdTables.chores, in: ChoreRow.doneAfter(context.lastCountedDay))
    for row in open + ahead {
      guard let id = row[0].identifier, seen.insert(id).inserted,
        let schedule = try schedule(of: id, inactive: inactive)
      else { continue }
      found += try views(of: schedule, through: last).filter { ($0.due ?? last) <= last }
    }
    return found.sorted { order($0, $1) }
  }

  private func order(_ left: OccurrenceView, _ right: OccurrenceView) -> Bool {
    if (left.state == .overdue) != (right.state == .overdue) { return left.state == .overdue }
    if left.due != right.due {
      guard let day = left.due else { return false }
      return right.due.map { day < $0 } ?? true
    }
    let times = [left, right].map { $0.time.map { Int($0.minuteOfDay) } ?? CivilTime.minutesPerDay }
    if times[0] != times[1] { return times[0] < times[1] }
    return (left.title, left.chore, left.key) < (right.title, right.chore, right.key)
  }

  /// Returns the schedule of a chore; nil if no chore has this id.
  func schedule(of chore: RecordID, inactive: [PersonID]? = nil) throws -> ChoreSchedule? {
    guard let facts = try context.facts(of: chore) else { return nil }
    return ChoreSchedule(
      facts: facts, log: ChoreLog(source: context.source, chore: chore, view: context.view),
      settings: context.settings, today: context.today,
      inactive: try inactive ?? people.inactive())
  }

  /// Returns what a schedule opens through a day.
  func views(of schedule: ChoreSchedule, through last: CivilDate) throws -> [OccurrenceView] {
    let facts = schedule.facts
    return try schedule.openings(through: last).map { opening in
      OccurrenceView(
        chore: facts.chore, title: facts.title, key: opening.key, due: opening.due,
        time: opening.time, assignee: try schedule.assignee(of: opening),
        points: facts.points,
        state: opening.due.map { $0 < context.today } ?? false ? .overdue : .open,
        missedBefore: opening.missedBefore)
    }
  }

  /// Returns the chore's schedule and the requested occurrence, which must be open.
  ///
  /// - Parameters:
  ///   - day: the day of the work; an earlier day means the occurrence that was due then.
  ///   - claimant: a person who may do an occurrence that others have done, where everybody is
  ///     paid.
  func target(
    _ id: RecordID, _ occurrence: OccurrenceKey?, doneOn day: CivilDate? = nil,
    ignoringClosed claimant: PersonID? = nil
  ) throws -> (ChoreSchedule, OccurrenceKey) {
    guard let schedule = try schedule(of: id) else { throw context.noSuchChore(id) }
    let facts = schedule.facts
    guard !facts.isArchived else {
      throw HouseholdError(
        .choreArchived, "\(quoted(facts.title)) is archived; restore it first")
    }
    let key: OccurrenceKey
    if let occurrence {
      key = occurrence
    } else if let day, day < context.today, let past = try schedule.open(onOrBefore: day) {
      key = past
    } else if let next = try schedule.openings(through: context.today).first {
      key = next.key
    } else if facts.rule == nil {
      key = .once
    } else {
      throw HouseholdError(
        .noSuchOccurrence, "\(quoted(facts.title)) has no open occurrence; change its rule first")
    }
    try check(key, on: day ?? context.today, in: schedule, claimant: claimant)
    return (schedule, key)
  }

  private func check(
    _ key: OccurrenceKey, on day: CivilDate, in schedule: ChoreSchedule, claimant: PersonID?
  ) throws {
    let facts = schedule.facts
    let isUnreadable = facts.ruleText != nil && facts.rule == nil
    let place = isUnreadable ? OccurrenceKey.wholeDay(day) : key
    if let day = try schedule.log.lastDay(of: place) {
      let done = try schedule.log.rows(of: place, LedgerRow.Effect.allCases)
        .filter { $0.kind != .undone }
      let isFree = claimant.map { person in
        !done.contains { $0.person == context.merges.one(person) }
      }
      guard context.settings.duplicate == .each, isFree ?? false else {
        throw HouseholdError(
          .alreadyDone,
          "\(quoted(facts.title)) was already done on \(day); undo that first if it "
            + "is wrong")
      }
      return
    }
    let isKnown: Bool
    if let rule = facts.rule, rule.mode == .calendar {
      isKnown =
        key.occurrence.map { occurrence in
          rule.isOccurrence(occurrence)
            && context.today.days(until: occurrence.date)
              <= Validation.maximumDaysAhead - Validation.maximumDaysBack
        } ?? false
    } else if facts.rule != nil {
      isKnown = try schedule.openings(through: context.today).first?.key == key
    } else {
      isKnown = key == .once
    }
    guard isKnown else {
      let name = key.occurrence?.description ?? key.description
      throw HouseholdError(
        .noSuchOccurrence,
        "\(quoted(facts.title)) has no occurrence \(name) within a year; list what is due")
    }
  }
}

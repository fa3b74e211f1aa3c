import HearthCRDT
import HearthSync

/// The household as seen on a day: it reads the records and the ledger, and builds operations.
///
/// It is a value over one state of the zone; create a new one after each transaction.
package struct HouseholdBook {
  package let settings: HouseholdSettings
  /// The merged people; this book resolves every person through them.
  package let merges: PersonMerges
  let source: any ProjectionSource
  package let today: CivilDate
  /// The last day of work that counts: today.
  ///
  /// Work with a later date counts when that day comes, equally for every reader of the same day.
  var lastCountedDay: CivilDate { view.lastDay }
  /// The ledger as of today.
  let view: LedgerView

  /// Opens the book.
  ///
  /// - Parameter today: the civil date in the household's time zone, with its day start applied.
  package init(source: any ProjectionSource, today: CivilDate) throws {
    self.source = source
    self.today = today
    settings = try HouseholdSettings(source: source)
    merges = try PersonMerges(source: source)
    view = LedgerView(
      source, settings: settings, merges: merges,
      lastDay: Mutant.countsDaysToCome.isActive ? .last : today)
  }

  /// Returns everybody in the household by name, then by id, without merged people.
  package func people() throws -> [PersonView] {
    try source.ids(of: HouseholdSchema.person).compactMap { id in
      let key = RecordKey(type: HouseholdSchema.person, id: id)
      guard merges.one(id) == id, let record = try source.record(key), !record.life.isDeleted
      else { return nil }
      return PersonView(
        id: id, name: record.shown(PersonField.name)?.text ?? "",
        email: record.shown(PersonField.email)?.text,
        createdMilliseconds: UInt64(max(0, record.shown(PersonField.created)?.int ?? 0)))
    }
    .sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  /// Returns the chores, by title, then by id.
  package func chores(includingArchived: Bool) throws -> [ChoreView] {
    let inactive = try inactivePeople()
    return try source.ids(of: HouseholdSchema.chore).compactMap { id in
      guard let schedule = try schedule(of: id, inactive: inactive) else { return nil }
      let view = try view(of: schedule)
      return view.isArchived && !includingArchived ? nil : view
    }
    .sorted { ($0.title, $0.id) < ($1.title, $1.id) }
  }

  /// Returns one chore; nil if no chore has this id.
  package func chore(_ id: RecordID) throws -> ChoreView? {
    try schedule(of: id).map { try view(of: $0) }
  }

  /// Returns the occurrences that are open through a day, and everything overdue.
  ///
  /// Overdue ones come first, then the others by day and time; those without a day come last. Reads
  /// the chores that may be open by that day.
  package func occurrences(through last: CivilDate) throws -> [OccurrenceView] {
    let inactive = try inactivePeople()
    var found: [OccurrenceView] = []
    var seen: Set<RecordID> = []
    let open = try source.rows(of: HouseholdProjection.chores, in: ChoreRow.open(through: last))
    let ahead = try source.rows(
      of: HouseholdProjection.chores, in: ChoreRow.doneAfter(lastCountedDay))
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

  /// Returns the value of a setting; nil if unset.
  package func setting(_ key: String) throws -> String? {
    try HouseholdSettings.value(of: key, in: source)
  }

  /// Returns every setting that is set, in order of key.
  package func allSettings() throws -> [(key: String, value: String)] {
    try HouseholdSettings.keys.compactMap { key in try setting(key).map { (key, $0) } }
  }
}

// MARK: - From records to views

extension HouseholdBook {
  /// People whose record was deleted; a rotation passes over them (R18).
  func inactivePeople() throws -> [PersonID] {
    try source.ids(of: HouseholdSchema.person).filter { id in
      try source.record(RecordKey(type: HouseholdSchema.person, id: id))?.life.isDeleted ?? false
    }
  }

  func schedule(of chore: RecordID, inactive: [PersonID]? = nil) throws -> ChoreSchedule? {
    guard let facts = try ChoreFacts(chore, from: source, merges: merges) else { return nil }
    return ChoreSchedule(
      facts: facts, log: ChoreLog(source: source, chore: chore, view: view),
      settings: settings, today: today,
      inactive: try inactive ?? inactivePeople())
  }

  func views(of schedule: ChoreSchedule, through last: CivilDate) throws -> [OccurrenceView] {
    let facts = schedule.facts
    return try schedule.openings(through: last).map { opening in
      OccurrenceView(
        chore: facts.chore, title: facts.title, key: opening.key, due: opening.due,
        time: opening.time, assignee: try schedule.assignee(of: opening),
        points: facts.points, state: opening.due.map { $0 < today } ?? false ? .overdue : .open,
        missedBefore: opening.missedBefore)
    }
  }

  /// The person who added a chore, by the signature of its creation.
  private func createdBy(_ facts: ChoreFacts) throws -> PersonID? {
    guard case .register(let register)? = facts.state[ChoreField.created] else { return nil }
    return merges.one(try source.writer(of: register.shown.version))
  }

  private func view(of schedule: ChoreSchedule) throws -> ChoreView {
    let facts = schedule.facts
    let others = facts.state.entries.reduce(0) { sum, entry in
      switch entry.field {
      case .register(let register): sum + register.others.count
      case .history(let history): sum + max(0, history.current.count - 1)
      default: sum
      }
    }
    let assignment = facts.state.shown(ChoreField.assignment)?.text
    return ChoreView(
      id: facts.chore, title: facts.title, note: facts.note, points: facts.points,
      assignment: facts.assignment, due: facts.due, time: facts.time, rule: facts.rule,
      tags: facts.tags, isArchived: facts.isArchived,
      createdBy: try createdBy(facts),
      createdMilliseconds: UInt64(max(0, facts.state.shown(ChoreField.created)?.int ?? 0)),
      next: try views(of: schedule, through: today).first, concurrentValues: others,
      needsUpdate: (facts.ruleText != nil && facts.rule == nil)
        || (assignment != nil && assignment.flatMap(Assignment.init(text:)) == nil))
  }
}

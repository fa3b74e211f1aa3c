import HearthCRDT
import HearthSync

/// A chore's row in the table that finds chores by name and by when they may be open.
///
/// It does not depend on today's date, so it is a function of the records like the rest of the
/// projection.
struct ChoreRow: Equatable {
  /// The first day on which a chore may be open.
  enum Due: Equatable {
    /// Never: it is archived, done permanently, or its rule has ended.
    case never
    /// On any day: it has no day of its own.
    case always
    /// Not before this day.
    case from(CivilDate)
  }

  let chore: RecordID
  let title: String
  let isArchived: Bool
  let due: Due
  /// The last day of recorded work.
  ///
  /// Work with a later date does not count before that day comes, so the chore may be open until
  /// then regardless of `due`.
  let lastWorkDay: CivilDate?

  private init(facts: ChoreFacts, due: Due, lastWorkDay: CivilDate?) {
    chore = facts.chore
    title = facts.title
    isArchived = facts.isArchived
    self.due = due
    self.lastWorkDay = lastWorkDay
  }

  /// Computes the row of a chore, whose completions must be in the ledger already.
  init(_ facts: ChoreFacts, from source: any ProjectionSource, settings: HouseholdSettings) throws {
    let schedule = ChoreSchedule(
      facts: facts, log: ChoreLog(source: source, chore: facts.chore), settings: settings,
      today: .first, inactive: [])
    self.init(
      facts: facts, due: try ChoreRow.due(schedule),
      lastWorkDay: facts.isArchived ? nil : try schedule.log.lastWorkDay())
  }

  /// The values of the row, in the order of the table's columns.
  var values: [Value] {
    let day: Value =
      switch due {
      case .never: .null
      case .always: .int(ChoreRow.always)
      case .from(let date): .day(date)
      }
    return [
      .id(chore), .text(title), .bool(isArchived), day, lastWorkDay.map(Value.day) ?? .null,
    ]
  }

  /// A day before every day.
  private static let always = Int64.min

  /// The chores that may be open by a day; a null `due` is out of range, so it excludes `never`.
  static func open(through last: CivilDate) -> RowRange {
    RowRange(["due"], from: [.day(last)], isDescending: true)
  }

  /// The chores with work dated after a day.
  static func doneAfter(_ day: CivilDate) -> RowRange {
    RowRange(["last_work"], from: [.day(day)], isExclusive: true)
  }

  /// Returns a day before which nothing of the chore is due, regardless of today.
  ///
  /// From the calendar's first day, the next occurrence is the first open one. Nothing open lies
  /// before it, unless an occurrence was moved to an earlier day.
  private static func due(_ schedule: ChoreSchedule) throws -> Due {
    let facts = schedule.facts
    guard !facts.isArchived else { return .never }
    if schedule.settings.missed == .stack, let rule = facts.rule, rule.mode == .calendar {
      // Every missed occurrence remains due, so finding the first one requires reading the whole
      // ledger.
      let floor = max(rule.anchor, facts.ruleFrom ?? rule.anchor)
      return .from(try earliest(schedule, from: floor, floor))
    }
    guard let first = try schedule.openings(through: .first).first else { return .never }
    guard let due = first.due else { return .always }
    guard let date = first.key.occurrence?.date, facts.rule?.mode == .calendar else {
      return .from(due)
    }
    return .from(try earliest(schedule, from: date, min(date, due)))
  }

  /// Returns the earliest of a day and the days to which open occurrences from a date on were
  /// moved.
  private static func earliest(
    _ schedule: ChoreSchedule, from date: CivilDate, _ day: CivilDate
  ) throws -> CivilDate {
    let moved = schedule.facts.overrides.filter { override in
      guard let due = override.due, let own = override.key.occurrence?.date else { return false }
      return due < day && own >= date
    }
    guard !moved.isEmpty else { return day }
    let closed = try schedule.log.closedKeys(from: date)
    return moved.filter { !closed.contains($0.key) }.compactMap(\.due).min().map { min($0, day) }
      ?? day
  }

  /// Writes the row if it differs from the stored one; a deleted chore has none.
  func write(
    of facts: ChoreFacts, from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let table = HouseholdTables.chores
    let present = try source.rows(of: table, where: [.id(chore)]).first
    if facts.state.life.isDeleted {
      if present != nil { try writer.remove(from: table, where: [.id(chore)]) }
    } else if present != values {
      try writer.put(values, in: table)
    }
  }
}

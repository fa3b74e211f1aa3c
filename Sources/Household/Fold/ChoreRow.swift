import HearthCRDT
import HearthSync

/// A chore's row in the table by which chores are found: by name, and by when they may be open.
///
/// It knows no day of today, so it is a function of the records like the rest of the projection.
struct ChoreRow: Equatable {
  /// From when on a chore may be open.
  enum Due: Equatable {
    /// Never: it is archived, done for good, or its rule has ended.
    case never
    /// On any day: it has none of its own.
    case always
    /// Not before this day.
    case from(CivilDate)
  }

  let chore: RecordID
  let title: String
  let isArchived: Bool
  let due: Due
  /// The last day of work told of: what is dated ahead does not count before that day comes, so the
  /// chore may be open until then whatever `due` says.
  let lastWorkDay: CivilDate?

  private init(facts: ChoreFacts, due: Due, lastWorkDay: CivilDate?) {
    chore = facts.chore
    title = facts.title
    isArchived = facts.isArchived
    self.due = due
    self.lastWorkDay = lastWorkDay
  }

  /// The row of a chore, whose completions must be in the ledger already.
  init(_ facts: ChoreFacts, from source: any ProjectionSource, settings: HouseholdSettings) throws {
    let schedule = ChoreSchedule(
      facts: facts, log: ChoreLog(source: source, chore: facts.chore), settings: settings,
      today: .first, inactive: [])
    self.init(
      facts: facts, due: try ChoreRow.due(schedule),
      lastWorkDay: facts.isArchived ? nil : try schedule.log.lastWorkDay())
  }

  /// The values of the row, in the order of the table.
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

  /// Before every day.
  private static let always = Int64.min

  /// Those that may be open by a day; null is beyond no place, so it leaves out what never is.
  static func open(through last: CivilDate) -> RowRange {
    RowRange(["due"], from: [.day(last)], isDescending: true)
  }

  /// Those of which some work is dated after a day.
  static func doneAfter(_ day: CivilDate) -> RowRange {
    RowRange(["last_work"], from: [.day(day)], isExclusive: true)
  }

  /// A day before which nothing of the chore is due, whatever day it is.
  ///
  /// Seen from the first day of the calendar, the next occurrence is the first open one of all.
  /// Nothing open lies before it, unless it was moved to an earlier day.
  private static func due(_ schedule: ChoreSchedule) throws -> Due {
    let facts = schedule.facts
    guard !facts.isArchived else { return .never }
    if schedule.settings.missed == .stack, let rule = facts.rule, rule.mode == .calendar {
      // Every missed occurrence stays, so finding the first one takes reading the whole ledger.
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

  /// The earliest of a day and those to which open occurrences from a date on were moved.
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

  /// Writes the row unless it is there as it is; a deleted chore has none.
  func write(
    of facts: ChoreFacts, from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    let table = HouseholdProjection.chores
    let present = try source.rows(of: table, where: [.id(chore)]).first
    if facts.state.life.isDeleted {
      if present != nil { try writer.remove(from: table, where: [.id(chore)]) }
    } else if present != values {
      try writer.put(values, in: table)
    }
  }
}

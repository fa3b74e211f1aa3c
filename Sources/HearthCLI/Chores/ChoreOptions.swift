import ArgumentParser
import HearthCRDT
import Household

/// The options for a chore's due day, time and rule.
struct ChoreTimeOptions: ParsableArguments {
  @Option(help: "day, week, month, year, 3d, 2w, 6m, or weekdays such as mon,thu; never ends it.")
  var every: String?

  @Option(help: "The day of the month, 1 to 31 or last; implies --every month.")
  var dayOfMonth: String?

  @Flag(help: "Count from the day when it was last done, not from the calendar.")
  var afterCompletion = false

  @Option(help: "The first day: 2026-11-21, today, tomorrow, friday, +3d; none for any day.")
  var due: String?

  @Option(help: "The time of day, HH:MM; none for any time.")
  var at: String?

  @Option(help: "The last day of a chore that repeats.")
  var until: String?

  /// Whether any of them describes how the chore repeats.
  var saysRule: Bool {
    every != nil || dayOfMonth != nil || afterCompletion || until != nil
  }

  /// The typed day; `.some(nil)` if it is to have none.
  func day(today: CivilDate) throws -> CivilDate?? {
    try due.map { $0 == ChoreTimeOptions.none ? nil : try DateWords.date($0, today: today) }
  }

  /// The typed time of day; `.some(nil)` if it is to have none.
  func minute() throws -> CivilTime?? {
    try at.map { $0 == ChoreTimeOptions.none ? nil : try DateWords.time($0) }
  }

  private static let none = "none"

  /// Returns the rule of these options; missing parts come from `old`.
  func rule(
    today: CivilDate, weekStart: Weekday, old: RecurrenceRule?
  ) throws -> RecurrenceRule? {
    if every == nil, dayOfMonth == nil, old == nil {
      guard !afterCompletion, until == nil else {
        throw CommandFailure(
          .usage, "--after-completion and --until are for chores that repeat", hint: "add --every")
      }
      return nil
    }
    let words = try every.map(RepeatWords.init)
    let frequency = words?.frequency ?? (dayOfMonth == nil ? old?.frequency : nil) ?? .monthly
    let isAfter = afterCompletion || (every == nil && old?.mode == .afterCompletion)
    // The days stay unless the unit changes or a new first day is given.
    var days: RecurrenceRule.Days?
    if let old, !isAfter, old.mode == .calendar, old.frequency == frequency, due == nil {
      days = old.days
    }
    if let words, !words.weekdays.isEmpty { days = .weekdays(words.weekdays) }
    if let dayOfMonth {
      guard frequency == .monthly || frequency == .yearly else {
        throw CommandFailure(
          .usage, "--day-of-month is for chores of every month or year",
          hint: "leave out --every, or use --every month")
      }
      days = try RepeatWords.dayOfMonth(dayOfMonth)
    }
    let first = try day(today: today)
    if let first, first == nil {
      throw CommandFailure(
        .usage, "a chore that repeats has a first day",
        hint: "leave out --due none, or end the repetition with --every never")
    }
    let anchor = first.flatMap { $0 } ?? old?.anchor ?? today
    let end = try until.map { RecurrenceRule.End.until(try DateWords.date($0, today: today)) }
    return try RecurrenceRule(
      frequency, every: words?.interval ?? (dayOfMonth == nil ? old?.interval : nil) ?? 1,
      on: days, from: anchor, mode: isAfter ? .afterCompletion : .calendar,
      end: end ?? old?.end ?? .never,
      at: try minute().map { $0.map { [$0] } ?? [] } ?? old?.times ?? [], weekStart: weekStart)
  }
}

/// The options for a rotation.
struct TurnOptions: ParsableArguments {
  @Option(help: "Who takes turns: NAME,NAME.")
  var rotate: String?

  @Option(help: "How turns are taken: date, turn, least or random; by default date.")
  var rotateBy: String?

  /// Returns the rotation of these options; nil if they specify none.
  func assignment(
    old: Assignment, in state: HouseholdState, _ gate: RoleGate
  ) throws -> Assignment? {
    guard rotate != nil || rotateBy != nil else { return nil }
    var (people, kind) = ([PersonID](), RotationKind.byDate)
    if case .rotation(let present, let presentKind) = old {
      (people, kind) = (present, presentKind)
    }
    if let rotate {
      people = try rotate.split(separator: ",").map {
        try ChoreNames.person(ShownText.normal(String($0)), in: state, gate, isToWork: true).id
      }
    }
    guard !people.isEmpty else {
      throw CommandFailure(.usage, "nobody takes turns yet", hint: "add --rotate NAME,NAME")
    }
    if let rotateBy {
      guard let wanted = RotationKind(rawValue: rotateBy.lowercased()) else {
        throw CommandFailure(
          .usage, "turns cannot be taken by \(ShownText.quoted(rotateBy))",
          hint: "use " + RotationKind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      kind = wanted
    }
    return .rotation(people, kind)
  }
}

/// The recurrence of a chore in civil dates: the value of ONE register of a chore (rules R5 and
/// R6).
///
/// A `.calendar` rule is a fixed sequence of dates computed from its anchor; completing early or
/// late never moves it. An `.afterCompletion` rule fixes only its first date; every later one
/// follows from the day of completion (rule R7). Every value is valid and normalised, so equal
/// rules have equal canonical texts. `RecurrenceRule+ICalendar.swift` describes the subset of RFC
/// 5545 that it covers.
package struct RecurrenceRule: Hashable, Sendable {
  /// The unit of the interval.
  package enum Frequency: String, CaseIterable, Sendable {
    case daily
    case weekly
    case monthly
    case yearly
  }

  /// The origin of the interval.
  package enum Mode: String, CaseIterable, Sendable {
    /// The anchor: a fixed sequence of dates.
    case calendar
    /// The day on which the last occurrence was done.
    case afterCompletion = "completion"
  }

  /// The days inside a period that are dates of the rule.
  package enum Days: Hashable, Sendable {
    /// No condition; for daily rules and after-completion rules.
    case any
    /// Days of the week, never empty; for weekly rules.
    case weekdays(WeekdaySet)
    /// A day of the month, 1...31, or the last day of a shorter month.
    ///
    /// For monthly rules, and for yearly rules in the month of the anchor.
    case dayOfMonth(Int)
    /// The last day of the month; for monthly and yearly rules.
    case lastDayOfMonth
    /// Ordinal weekdays of the month, sorted and distinct, 1...35; for monthly and yearly rules.
    case ordinalWeekdays([OrdinalWeekday])
  }

  /// The end of the sequence of dates.
  package enum End: Hashable, Sendable {
    case never
    /// The last possible date, inclusive.
    case until(CivilDate)
    /// The number of dates, not of occurrences: several times on one day are one date.
    case count(Int)
  }

  /// The allowed intervals.
  package static let intervals = 1...366
  /// The allowed numbers of dates of a counted rule.
  package static let counts = 1...10_000
  /// The most times of day of a rule.
  package static let maximumTimes = 24
  /// The most ordinal weekdays of a rule: all seven weekdays, five times.
  package static let maximumOrdinalWeekdays = 35

  /// The origin of the interval.
  package let mode: Mode
  /// The first possible day of the rule; it is a date of the rule only if it fits the rule.
  package let anchor: CivilDate
  /// The unit of the interval.
  package let frequency: Frequency
  /// The number of units between periods, 1...366.
  package let interval: Int
  /// The days inside a period that are dates of the rule.
  package let days: Days
  /// The first day of the week; it decides which weeks a rule of several weeks skips.
  package let weekStart: Weekday
  /// The end of the sequence of dates.
  package let end: End
  /// Times of day, sorted and distinct, at most 24; empty for any time of the day.
  package let times: [CivilTime]

  /// Makes a checked and normalised rule.
  ///
  /// If `days` is nil, the anchor supplies it: its weekday for weekly rules, its day of the month
  /// for monthly and yearly ones. Ordinal weekdays and times are sorted, and repetitions removed.
  ///
  /// - Throws: `ruleOutOfRange` or `ruleContradiction`, with the permitted range or combination.
  package init(
    _ frequency: Frequency, every interval: Int = 1, on days: Days? = nil, from anchor: CivilDate,
    mode: Mode = .calendar, end: End = .never, at times: [CivilTime] = [],
    weekStart: Weekday = .monday
  ) throws(HouseholdError) {
    guard RecurrenceRule.intervals.contains(interval) else {
      throw HouseholdError(
        .ruleOutOfRange,
        "a rule cannot repeat every \(interval) \(frequency.units); use 1 to 366")
    }
    self.mode = mode
    self.anchor = anchor
    self.frequency = frequency
    self.interval = interval
    self.weekStart = weekStart
    self.end = try RecurrenceRule.checked(end, anchor: anchor)
    self.times = try RecurrenceRule.checked(times, mode: mode)
    let suggested = RecurrenceRule.suggestedDays(frequency, anchor: anchor, mode: mode)
    self.days = try RecurrenceRule.checked(days ?? suggested, frequency: frequency, mode: mode)
  }

  private static func suggestedDays(_ frequency: Frequency, anchor: CivilDate, mode: Mode) -> Days {
    guard mode == .calendar else { return .any }
    switch frequency {
    case .daily: return .any
    case .weekly: return .weekdays(WeekdaySet(anchor.weekday))
    case .monthly, .yearly: return .dayOfMonth(anchor.day)
    }
  }

  private static func checked(_ end: End, anchor: CivilDate) throws(HouseholdError) -> End {
    switch end {
    case .never: break
    case .until(let last):
      guard last >= anchor else {
        throw HouseholdError(
          .ruleContradiction,
          "the rule would end on \(last), before it begins on \(anchor); choose a later end")
      }
    case .count(let count):
      guard counts.contains(count) else {
        throw HouseholdError(
          .ruleOutOfRange, "a rule cannot have \(count) dates; use 1 to \(counts.upperBound)")
      }
    }
    return end
  }

  private static func checked(
    _ times: [CivilTime], mode: Mode
  ) throws(HouseholdError) -> [CivilTime] {
    guard times.count <= maximumTimes else {
      throw HouseholdError(
        .ruleOutOfRange, "a rule cannot have \(times.count) times a day; use at most 24")
    }
    var distinct: [CivilTime] = []
    for time in times.sorted() where distinct.last != time { distinct.append(time) }
    guard mode == .calendar || distinct.count <= 1 else {
      throw HouseholdError(
        .ruleContradiction,
        "a rule counted from completion can have one time of day, not \(distinct.count); make "
          + "one chore per time")
    }
    return distinct
  }

  private static func checked(
    _ days: Days, frequency: Frequency, mode: Mode
  ) throws(HouseholdError) -> Days {
    guard mode == .calendar else {
      guard days == .any else {
        throw HouseholdError(
          .ruleContradiction,
          "a rule counted from completion cannot be tied to certain days; drop the days or use a "
            + "calendar rule")
      }
      return .any
    }
    switch (frequency, days) {
    case (.daily, .any): return days
    case (.weekly, .weekdays(let set)):
      guard !set.isEmpty else {
        throw HouseholdError(
          .ruleOutOfRange, "a weekly rule needs at least one weekday, Monday to Sunday")
      }
      return days
    case (.monthly, .dayOfMonth(let day)), (.yearly, .dayOfMonth(let day)):
      guard (1...31).contains(day) else {
        throw HouseholdError(
          .ruleOutOfRange, "there is no day \(day) of a month; use 1 to 31, or the last day")
      }
      return days
    case (.monthly, .lastDayOfMonth), (.yearly, .lastDayOfMonth): return days
    case (.monthly, .ordinalWeekdays(let list)), (.yearly, .ordinalWeekdays(let list)):
      return .ordinalWeekdays(try checked(list))
    default:
      throw HouseholdError(
        .ruleContradiction,
        "a \(frequency.rawValue) rule cannot have \(days.kind); \(frequency.daysAdvice)")
    }
  }

  private static func checked(
    _ list: [OrdinalWeekday]
  ) throws(HouseholdError) -> [OrdinalWeekday] {
    guard (1...maximumOrdinalWeekdays).contains(list.count) else {
      throw HouseholdError(
        .ruleOutOfRange,
        "a rule cannot have \(list.count) ordinal weekdays; use 1 to \(maximumOrdinalWeekdays)")
    }
    var distinct: [OrdinalWeekday] = []
    for entry in list.sorted() where distinct.last != entry { distinct.append(entry) }
    return distinct
  }

  /// The number of occurrences of a date: one per time of day, and one when no time is given.
  package var slotsPerDate: Int { max(times.count, 1) }

  /// The time of day of a slot, or nil when the rule has no times or no such slot.
  package func time(ofSlot slot: Int) -> CivilTime? {
    times.indices.contains(slot) ? times[slot] : nil
  }
}

extension RecurrenceRule.Frequency {
  /// The unit in the plural.
  var units: String { unit + "s" }

  /// The unit in the singular.
  var unit: String {
    switch self {
    case .daily: "day"
    case .weekly: "week"
    case .monthly: "month"
    case .yearly: "year"
    }
  }

  var daysAdvice: String {
    switch self {
    case .daily: "it falls on any day"
    case .weekly: "give weekdays"
    case .monthly, .yearly: "give a day of the month, its last day, or ordinal weekdays"
    }
  }
}

extension RecurrenceRule.Days {
  /// The kind of days, for error messages.
  var kind: String {
    switch self {
    case .any: "no days at all"
    case .weekdays: "plain weekdays"
    case .dayOfMonth: "a day of the month"
    case .lastDayOfMonth: "the last day of the month"
    case .ordinalWeekdays: "ordinal weekdays"
    }
  }
}

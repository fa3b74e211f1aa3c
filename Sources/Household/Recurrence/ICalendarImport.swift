/// A rule read from calendar text, with the differences from the original's meaning.
package struct ImportedRule: Equatable, Sendable {
  package let rule: RecurrenceRule
  /// Sentences that describe each difference between rule and calendar text; empty if there is
  /// none.
  package let notes: [String]
}

extension RecurrenceRule {
  /// The most content lines that are read.
  package static let maximumCalendarLines = 1000
  /// The greatest length of a recurrence content line, in bytes.
  package static let maximumCalendarLineBytes = 1024

  /// Reads a rule from the unfolded content lines of one calendar component.
  ///
  /// It reads DTSTART, RRULE and the X-HEARTH properties and ignores the rest. It refuses RDATE,
  /// EXDATE and EXRULE, because omitting them would add or lose dates. `local` converts UTC to the
  /// local time of DTSTART's zone; it is needed only where UNTIL is in UTC and DTSTART has a time.
  ///
  /// - Throws: `calendarText` for malformed lines, `calendarUnsupported` for lines outside the
  ///   subset, and what `init` throws.
  package static func imported(
    iCalendar lines: [String], local: ((CivilDateTime) -> CivilDateTime)? = nil
  ) throws(HouseholdError) -> ImportedRule {
    let component = try ICalendarComponent(lines)
    var parts = try RecurParts(component.recur)
    let frequency = try parts.takeFrequency()
    let interval = try parts.takeNumber("INTERVAL", RecurrenceRule.intervals) ?? 1
    var weekStart = Weekday.monday
    if let code = parts.take("WKST") {
      guard let day = Weekday(code: code.lowercased()) else {
        throw HouseholdError(.calendarText, "WKST=\(quoted(code)) is not a weekday; use MO to SU")
      }
      weekStart = day
    }
    let end = try parts.takeEnd(times: component.times, local: local)
    var reading = RecurReading(
      frequency: frequency, interval: interval, anchor: component.start.date, days: .any)
    if component.mode == .calendar { try reading.readDays(&parts) }
    try parts.finish()
    let rule = try RecurrenceRule(
      reading.frequency, every: interval, on: reading.days, from: reading.anchor,
      mode: component.mode, end: end, at: component.times, weekStart: weekStart)
    return ImportedRule(rule: rule, notes: component.notes + reading.notes)
  }
}

/// The parsed recurrence lines of a component.
private struct ICalendarComponent {
  var start: CivilDateTime
  var times: [CivilTime]
  var recur: String
  var mode: RecurrenceRule.Mode
  var notes: [String] = []

  init(_ lines: [String]) throws(HouseholdError) {
    guard lines.count <= RecurrenceRule.maximumCalendarLines else {
      throw HouseholdError(
        .calendarText, "\(lines.count) lines are too many for one entry; the limit is 1000")
    }
    var start: RecurMoment?
    var recur: (String, RecurrenceRule.Mode)?
    var listed: [CivilTime]?
    for line in lines {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let head = line[..<colon].split(separator: ";", omittingEmptySubsequences: false)
      let value = String(line[line.index(after: colon)...])
      let name = head.first?.uppercased() ?? ""
      let known = ["DTSTART", "RRULE", "RDATE", "EXDATE", "EXRULE"].contains(name)
      guard known || name.hasPrefix("X-HEARTH-") else { continue }
      guard line.utf8.count <= RecurrenceRule.maximumCalendarLineBytes else {
        throw HouseholdError(.calendarText, "a \(name) line is longer than 1024 bytes")
      }
      switch name {
      case "DTSTART" where start == nil: start = try RecurMoment(value, "DTSTART")
      case "RRULE" where recur == nil: recur = (value, .calendar)
      case RecurrenceRule.afterCompletionProperty where recur == nil:
        recur = (value, .afterCompletion)
      case RecurrenceRule.timesProperty where listed == nil:
        listed = try ICalendarComponent.times(value)
      case "RDATE", "EXDATE", "EXRULE":
        throw HouseholdError(
          .calendarUnsupported, "\(name) is not supported; remove the single dates first")
      default:
        throw HouseholdError(.calendarText, "an entry can have only one rule and one \(name)")
      }
    }
    guard let start, let recur else {
      throw HouseholdError(.calendarText, "the entry lacks DTSTART or RRULE, so it never recurs")
    }
    guard !start.isUTC else {
      throw HouseholdError(
        .calendarUnsupported,
        "DTSTART is in UTC, so its local days are unknown; give it a TZID or a local time")
    }
    self.start = CivilDateTime(start.date, start.time ?? .midnight)
    self.recur = recur.0
    mode = recur.1
    times = listed ?? start.time.map { [$0] } ?? []
    if start.hasSeconds { notes.append("seconds of the start time are dropped") }
  }

  private static func times(_ value: String) throws(HouseholdError) -> [CivilTime] {
    var times: [CivilTime] = []
    for part in value.split(separator: ",", omittingEmptySubsequences: false) {
      let moment = try RecurMoment("19700101T\(part)", RecurrenceRule.timesProperty)
      if let time = moment.time { times.append(time) }
    }
    return times
  }
}

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

/// A DATE or DATE-TIME value of RFC 5545 3.3.4 and 3.3.5.
struct RecurMoment {
  let date: CivilDate
  let time: CivilTime?
  let isUTC: Bool
  let hasSeconds: Bool

  init(_ text: String, _ property: String) throws(HouseholdError) {
    var reader = ASCIIReader(Array(text.utf8)[...])
    let malformed = HouseholdError(
      .calendarText,
      "\(property) \(quoted(text)) is not a date; write 20270131 or 20270131T080000")
    guard let year = reader.digits(4), let month = reader.digits(2), let day = reader.digits(2)
    else { throw malformed }
    date = try CivilDate(year: year, month: month, day: day)
    guard !reader.isAtEnd else {
      time = nil
      isUTC = false
      hasSeconds = false
      return
    }
    guard reader.take(UInt8(ascii: "T")), let hour = reader.digits(2),
      let minute = reader.digits(2), let second = reader.digits(2), second <= 60
    else { throw malformed }
    time = try CivilTime(hour: hour, minute: minute)
    hasSeconds = second != 0
    isUTC = reader.take(UInt8(ascii: "Z"))
    guard reader.isAtEnd else { throw malformed }
  }
}

/// The parts of a RECUR value, consumed one by one; a part that remains is unsupported.
struct RecurParts {
  private var entries: [(name: String, value: String)] = []

  init(_ text: String) throws(HouseholdError) {
    for part in text.split(separator: ";", omittingEmptySubsequences: false) {
      guard let equals = part.firstIndex(of: "=") else {
        throw HouseholdError(.calendarText, "\(quoted(part)) in a rule has no =; write NAME=value")
      }
      let name = part[..<equals].uppercased()
      guard !entries.contains(where: { $0.name == name }) else {
        throw HouseholdError(.calendarText, "\(quoted(name)) occurs twice in a rule")
      }
      entries.append((name, part[part.index(after: equals)...].uppercased()))
    }
  }

  mutating func take(_ name: String) -> String? {
    guard let index = entries.firstIndex(where: { $0.name == name }) else { return nil }
    return entries.remove(at: index).value
  }

  mutating func takeFrequency() throws(HouseholdError) -> RecurrenceRule.Frequency {
    guard let text = take("FREQ") else {
      throw HouseholdError(.calendarText, "a rule needs FREQ=DAILY, WEEKLY, MONTHLY or YEARLY")
    }
    if let frequency = RecurrenceRule.Frequency(rawValue: text.lowercased()) { return frequency }
    let known = ["SECONDLY", "MINUTELY", "HOURLY"].contains(text)
    throw HouseholdError(
      known ? .calendarUnsupported : .calendarText,
      "FREQ=\(quoted(text)) is not supported; use DAILY, WEEKLY, MONTHLY or YEARLY")
  }

  mutating func takeNumber(
    _ name: String, _ range: ClosedRange<Int>
  ) throws(HouseholdError) -> Int? {
    guard let text = take(name) else { return nil }
    var reader = ASCIIReader(Array(text.utf8)[...])
    guard (1...9).contains(text.utf8.count), let number = reader.digits(text.utf8.count) else {
      throw HouseholdError(.calendarText, "\(name)=\(quoted(text)) is not a number")
    }
    guard range.contains(number) else {
      throw HouseholdError(
        .calendarUnsupported,
        "\(name)=\(number) is not supported; use \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Consumes a list of numbers, possibly negative, at most 62 of them.
  mutating func takeList(_ name: String) throws(HouseholdError) -> [Int]? {
    guard let text = take(name) else { return nil }
    var numbers: [Int] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let negative = part.hasPrefix("-")
      let body = Array((negative || part.hasPrefix("+") ? part.dropFirst() : part).utf8)
      var reader = ASCIIReader(body[...])
      guard (1...3).contains(body.count), let number = reader.digits(body.count),
        number != 0, numbers.count < 62
      else {
        throw HouseholdError(.calendarText, "\(name)=\(quoted(text)) is not a list of numbers")
      }
      numbers.append(negative ? -number : number)
    }
    return numbers.sorted()
  }

  /// Consumes BYDAY: weekdays with or without a number.
  mutating func takeDays() throws(HouseholdError) -> [(ordinal: Int?, weekday: Weekday)]? {
    guard let text = take("BYDAY") else { return nil }
    var days: [(ordinal: Int?, weekday: Weekday)] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let number = part.dropLast(2)
      let plain = number.hasPrefix("+") ? number.dropFirst() : number
      guard let weekday = Weekday(code: part.suffix(2).lowercased()),
        number.isEmpty || Int(plain).map({ $0 != 0 && abs($0) <= 53 }) == true,
        days.count < 70
      else {
        throw HouseholdError(
          .calendarText, "BYDAY=\(quoted(text)) is not a list of weekdays like MO,2TU,-1SU")
      }
      days.append((Int(plain), weekday))
    }
    return days
  }

  mutating func takeEnd(
    times: [CivilTime], local: ((CivilDateTime) -> CivilDateTime)?
  ) throws(HouseholdError) -> RecurrenceRule.End {
    let count = try takeNumber("COUNT", RecurrenceRule.counts)
    guard let text = take("UNTIL") else { return count.map { .count($0) } ?? .never }
    guard count == nil else {
      throw HouseholdError(.calendarText, "a rule cannot have both UNTIL and COUNT; drop one")
    }
    let moment = try RecurMoment(text, "UNTIL")
    guard var time = moment.time, let first = times.first else { return .until(moment.date) }
    var date = moment.date
    if moment.isUTC {
      guard let local else {
        throw HouseholdError(
          .calendarUnsupported,
          "UNTIL is in UTC and the time zone is not known here; write it as a date")
      }
      let converted = local(CivilDateTime(date, time))
      date = converted.date
      time = converted.time
    }
    // An end before the first time of its day excludes that day.
    return .until(time < first ? date.adding(days: -1) ?? date : date)
  }

  func finish() throws(HouseholdError) {
    guard let left = entries.first else { return }
    throw HouseholdError(
      .calendarUnsupported,
      "\(quoted("\(left.name)=\(left.value)")) is not supported in this kind of rule")
  }
}

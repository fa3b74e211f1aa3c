import Household

/// Dates and times that people type.
enum DateWords {
  /// The most days that `+3d` may reach ahead.
  static let maximumDaysAhead = 36_600

  /// Returns the date of `2026-11-21`, `today`, `tomorrow`, a weekday (the next such, never today)
  /// or `+3d`, `+2w`, `+1m`, `+1y`.
  ///
  /// - Throws: a usage failure that lists these forms.
  static func date(_ text: String, today: CivilDate) throws -> CivilDate {
    let word = text.lowercased()
    switch word {
    case "today": return today
    case "tomorrow": return try shifted(today.adding(days: 1), text)
    case "yesterday": return try shifted(today.adding(days: -1), text)
    default: break
    }
    if let weekday = weekday(word) {
      let ahead = weekday.offset(from: today.weekday)
      return try shifted(today.adding(days: ahead == 0 ? 7 : ahead), text)
    }
    if word.hasPrefix("+") { return try shifted(ahead(word.dropFirst(), from: today), text) }
    guard let date = try? CivilDate(iso: text) else { throw notADate(text) }
    return date
  }

  /// Returns the time of day of `7:30` or `07:30`.
  ///
  /// - Throws: a usage failure that shows the form.
  static func time(_ text: String) throws -> CivilTime {
    let padded = text.utf8.count == 4 ? "0" + text : text
    guard let time = try? CivilTime(iso: padded) else {
      throw CommandFailure(
        .usage, "\(ShownText.quoted(text)) is not a time of day",
        hint: "write hour:minute from 00:00 to 23:59, for example 07:30")
    }
    return time
  }

  /// Returns a moment of the past days: a date, a time of today, or a date and a time after a space
  /// or `T`.
  static func moment(
    _ text: String, today: CivilDate
  ) throws -> (day: CivilDate, time: CivilTime?) {
    let word = text.lowercased()
    if let weekday = weekday(word) {
      // Work lies in the past, so a weekday means the latest such day.
      return (try shifted(today.adding(days: -today.weekday.offset(from: weekday)), text), nil)
    }
    if text.contains(":"), !text.contains("T"), !text.contains(" ") {
      return (today, try time(text))
    }
    // A word may also begin with a T.
    let divider: Character = text.contains(" ") ? " " : "T"
    let parts = text.split(separator: divider, maxSplits: 1).map(String.init)
    guard parts.count == 2, parts[1].contains(":") else {
      guard let day = try? date(text, today: today) else { throw notAMoment(text) }
      return (day, nil)
    }
    let time = try time(parts[1])
    let (day, other) = try moment(parts[0], today: today)
    guard other == nil else { throw notAMoment(text) }
    return (day, time)
  }

  /// Returns the weekday of an English name, of which at least the first two letters are given.
  static func weekday(_ word: String) -> Weekday? {
    guard word.utf8.count >= 2 else { return nil }
    return Weekday.allCases.first { $0.name.lowercased().hasPrefix(word) }
  }

  private static func ahead(_ text: Substring, from today: CivilDate) -> CivilDate? {
    guard let (count, unit) = countAndUnit(text), (0...maximumDaysAhead).contains(count) else {
      return nil
    }
    switch unit {
    case .daily: return today.adding(days: count)
    case .weekly: return today.adding(days: 7 * count)
    case .monthly: return today.adding(months: count)
    case .yearly: return today.adding(months: 12 * count)
    }
  }

  /// Splits `3d`, `2w`, `6m`, `1y`; nil for anything else.
  static func countAndUnit(
    _ text: some StringProtocol
  ) -> (count: Int, unit: RecurrenceRule.Frequency)? {
    let digits = text.prefix { ("0"..."9").contains($0) }
    guard let count = Int(digits) else { return nil }
    switch String(text.dropFirst(digits.count)) {
    case "d", "day", "days": return (count, .daily)
    case "w", "week", "weeks": return (count, .weekly)
    case "m", "month", "months": return (count, .monthly)
    case "y", "year", "years": return (count, .yearly)
    default: return nil
    }
  }

  private static func shifted(_ date: CivilDate?, _ text: String) throws -> CivilDate {
    guard let date else { throw notADate(text) }
    return date
  }

  private static func notAMoment(_ text: String) -> CommandFailure {
    CommandFailure(
      .usage, "\(ShownText.quoted(text)) is not a date or a time",
      hint: "write 18:30, yesterday, a weekday, 2026-11-21, or 2026-11-21T18:30")
  }

  private static func notADate(_ text: String) -> CommandFailure {
    CommandFailure(
      .usage, "\(ShownText.quoted(text)) is not a date",
      hint: "write 2026-11-21, today, tomorrow, a weekday, or +3d, +2w, +1m")
  }
}

import Household

/// The value of `--every`: the unit, the interval and the weekdays.
struct RepeatWords: Equatable {
  let frequency: RecurrenceRule.Frequency
  let interval: Int
  /// Empty unless weekdays were given.
  let weekdays: WeekdaySet

  /// Reads `day`, `week`, `month`, `year`, `3d`, `2w`, `6m`, `1y`, `weekday`, or `mon,thu`.
  ///
  /// - Throws: a usage failure that lists these forms or the allowed range.
  init(_ text: String) throws {
    let word = text.lowercased().filter { !$0.isWhitespace }
    var weekdays = WeekdaySet()
    var found: (count: Int, unit: RecurrenceRule.Frequency)?
    switch word {
    case "day", "daily": found = (1, .daily)
    case "week", "weekly": found = (1, .weekly)
    case "month", "monthly": found = (1, .monthly)
    case "year", "yearly": found = (1, .yearly)
    case "weekday", "weekdays":
      weekdays = WeekdaySet([.monday, .tuesday, .wednesday, .thursday, .friday])
      found = (1, .weekly)
    default:
      found = DateWords.countAndUnit(word)
      if found == nil, let named = RepeatWords.weekdays(word) {
        weekdays = named
        found = (1, .weekly)
      }
    }
    guard let found else {
      throw CommandFailure(
        .usage, "\(ShownText.quoted(text)) is not a repetition",
        hint: "write day, week, month, year, 3d, 2w, 6m, or weekdays such as mon,thu")
    }
    guard RecurrenceRule.intervals.contains(found.count) else {
      throw CommandFailure(
        .usage, "a chore cannot repeat every \(ShownText.quoted(text))",
        hint: "use a number from 1 to \(RecurrenceRule.intervals.upperBound)")
    }
    self.frequency = found.unit
    self.interval = found.count
    self.weekdays = weekdays
  }

  private static func weekdays(_ word: String) -> WeekdaySet? {
    let parts = word.split(separator: ",", omittingEmptySubsequences: false)
    let days = parts.compactMap { DateWords.weekday(String($0)) }
    return days.count == parts.count && !days.isEmpty ? WeekdaySet(days) : nil
  }

  /// Returns the value of `--day-of-month`: 1 to 31, or `last`.
  static func dayOfMonth(_ text: String) throws -> RecurrenceRule.Days {
    if text.lowercased() == "last" { return .lastDayOfMonth }
    guard let day = Int(text), (1...31).contains(day) else {
      throw CommandFailure(
        .usage, "there is no day \(ShownText.quoted(text)) of a month", hint: "use 1 to 31, or last"
      )
    }
    return .dayOfMonth(day)
  }
}

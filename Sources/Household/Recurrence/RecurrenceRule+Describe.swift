extension RecurrenceRule {
  /// The rule in English: "every 2 weeks on Monday and Thursday at 08:00 until 30 June 2027".
  ///
  /// The anchor is not named, except as the date of a yearly rule.
  package func describe() -> String {
    var words = mode == .calendar ? "every \(span)" : "\(plural(interval)) after it was last done"
    if let daysWords { words += " on \(daysWords)" }
    if !times.isEmpty { words += " at " + joined(times.map(\.iso)) }
    switch end {
    case .never: break
    case .until(let last): words += " until \(englishDate(last))"
    case .count(1): words += ", once"
    case .count(let count): words += times.count > 1 ? ", on \(count) days" : ", \(count) times"
    }
    return words
  }

  private var span: String { interval == 1 ? frequency.unit : plural(interval) }

  private func plural(_ count: Int) -> String {
    count == 1 ? "1 \(frequency.unit)" : "\(count) \(frequency.units)"
  }

  private var daysWords: String? {
    let month = englishMonths[anchor.month - 1]
    let ofMonth = frequency == .yearly ? " of \(month)" : ""
    switch days {
    case .any: return nil
    case .weekdays(let set): return joined(set.days.map(\.name))
    case .dayOfMonth(let day):
      guard frequency == .yearly else { return monthDayWords(day) }
      let longest = anchor.month == 2 ? 29 : anchor.yearMonth.length
      guard day <= longest else { return "the last day of \(month)" }
      return day == 29 && anchor.month == 2
        ? "29 February (28 February in common years)" : "\(day) \(month)"
    case .lastDayOfMonth: return "the last day" + ofMonth
    case .ordinalWeekdays(let list):
      return joined(list.map { "the \(ordinalWord($0.ordinal)) \($0.weekday.name)" }) + ofMonth
    }
  }

  private func monthDayWords(_ day: Int) -> String {
    switch day {
    case ...28: "the \(ordinalNumber(day))"
    case 31: "the last day"
    default: "the \(ordinalNumber(day)), or the last day of a shorter month"
    }
  }

  private func joined(_ parts: [String]) -> String {
    guard let last = parts.last, parts.count > 1 else { return parts.first ?? "" }
    return parts.dropLast().joined(separator: ", ") + " and " + last
  }

  private func ordinalWord(_ ordinal: Int) -> String {
    let words = ["first", "second", "third", "fourth", "fifth"]
    if ordinal > 0 { return words[ordinal - 1] }
    return ordinal == -1 ? "last" : "\(words[-ordinal - 1]) to last"
  }

  private func ordinalNumber(_ day: Int) -> String {
    switch (day / 10, day % 10) {
    case (1, _): "\(day)th"
    case (_, 1): "\(day)st"
    case (_, 2): "\(day)nd"
    case (_, 3): "\(day)rd"
    default: "\(day)th"
    }
  }

  private func englishDate(_ date: CivilDate) -> String {
    let parts = date.components
    return "\(parts.day) \(englishMonths[parts.month - 1]) \(parts.year)"
  }
}

/// English month names, January first.
let englishMonths = [
  "January", "February", "March", "April", "May", "June", "July", "August", "September",
  "October", "November", "December",
]

/// Civil dates as day numbers since 1970-01-01, walked year by year and month by month.
package enum ModelCalendar {
  /// The last day people can name, 9999-12-31.
  package static let lastDay = 2_932_896

  /// Whether a year has a 29 February.
  package static func isLeap(_ year: Int) -> Bool {
    year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
  }

  /// The days of a month, 28 to 31.
  package static func length(year: Int, month: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The day number of a date from 1970 on; the day may be counted past the month's end.
  package static func day(year: Int, month: Int, day: Int) -> Int {
    var number = day - 1
    for earlier in 1970..<max(year, 1970) { number += isLeap(earlier) ? 366 : 365 }
    for earlier in 1..<month { number += length(year: year, month: earlier) }
    return number
  }

  /// The date of a day number that is not negative.
  package static func date(_ number: Int) -> (year: Int, month: Int, day: Int) {
    // Four hundred years always have as many days.
    var (year, month, rest) = (1970 + max(number, 0) / 146_097 * 400, 1, max(number, 0) % 146_097)
    while rest >= (isLeap(year) ? 366 : 365) {
      rest -= isLeap(year) ? 366 : 365
      year += 1
    }
    while rest >= length(year: year, month: month) {
      rest -= length(year: year, month: month)
      month += 1
    }
    return (year, month, rest + 1)
  }

  /// 1 is Monday, 7 is Sunday; 1970-01-01 was a Thursday.
  package static func weekday(_ number: Int) -> Int { modulo(number + 3, 7) + 1 }

  /// The first day of the week that holds a day, for weeks that begin on a weekday.
  package static func startOfWeek(_ number: Int, beginningOn weekday: Int) -> Int {
    var day = number
    while self.weekday(day) != weekday { day -= 1 }
    return day
  }

  /// Months since January of year 0.
  package static func month(_ number: Int) -> Int {
    let date = date(number)
    return date.year * 12 + date.month - 1
  }

  /// The same day so many months later, or the last day of a shorter month.
  package static func adding(months: Int, to number: Int) -> Int {
    let target = month(number) + months
    let (year, month) = (target / 12, target % 12 + 1)
    return day(
      year: year, month: month,
      day: min(date(number).day, length(year: year, month: month)))
  }

  /// The remainder that is never negative.
  static func modulo(_ number: Int, _ divisor: Int) -> Int {
    let rest = number % divisor
    return rest < 0 ? rest + divisor : rest
  }
}

/// How a chore repeats: one value, never mixed from two writers' (R5).
package struct ModelRule: Hashable, Sendable {
  /// What the interval counts.
  package enum Unit: Hashable, Sendable {
    case day
    /// On these weekdays, 1 being Monday; weeks begin on `start`.
    case week(on: Set<Int>, start: Int)
    /// On this day of the month or the last one of a shorter month; 31 is the last day.
    case month(day: Int)
    /// In the month of the first day, on this day of the month or the last one.
    case year(day: Int)
    /// What a later program wrote and this one does not understand.
    case unreadable
  }

  package let unit: Unit
  package let interval: Int
  /// The first day that can be one of the rule's.
  package let anchor: Int
  /// The last day that can be one of the rule's.
  package let until: Int?
  /// Whether the interval counts from the day the chore was last done.
  package let isAfterCompletion: Bool

  /// Takes a rule every `interval` units.
  package init(
    every interval: Int, _ unit: Unit, from anchor: Int, until: Int? = nil,
    afterCompletion: Bool = false
  ) {
    self.unit = unit
    self.interval = interval
    self.anchor = anchor
    self.until = until
    isAfterCompletion = afterCompletion
  }

  /// Whether this program knows what the rule says.
  package var isReadable: Bool { unit != .unreadable }

  /// Whether a calendar rule falls on a day: each day is judged by itself, from the anchor.
  package func falls(on day: Int) -> Bool {
    guard day >= anchor, day <= until ?? day else { return false }
    switch unit {
    case .day: return (day - anchor) % interval == 0
    case .week(let weekdays, let start):
      let weeks =
        (ModelCalendar.startOfWeek(day, beginningOn: start)
          - ModelCalendar.startOfWeek(anchor, beginningOn: start)) / 7
      return weekdays.contains(ModelCalendar.weekday(day)) && weeks % interval == 0
    case .month(let wanted):
      let months = ModelCalendar.month(day) - ModelCalendar.month(anchor)
      return months % interval == 0 && isDay(wanted, ofTheMonthOf: day)
    case .year(let wanted):
      let months = ModelCalendar.month(day) - ModelCalendar.month(anchor)
      return months % (12 * interval) == 0 && isDay(wanted, ofTheMonthOf: day)
    case .unreadable: return false
    }
  }

  private func isDay(_ wanted: Int, ofTheMonthOf day: Int) -> Bool {
    let date = ModelCalendar.date(day)
    return date.day == min(wanted, ModelCalendar.length(year: date.year, month: date.month))
  }

  /// How many of the rule's days come before a day.
  package func count(before day: Int) -> Int {
    anchor >= day ? 0 : (anchor..<day).filter { falls(on: $0) }.count
  }

  /// One interval after a day: when a chore counted from completion is due again.
  package func interval(after day: Int) -> Int {
    switch unit {
    case .day: day + interval
    case .week: day + 7 * interval
    case .month: ModelCalendar.adding(months: interval, to: day)
    case .year: ModelCalendar.adding(months: 12 * interval, to: day)
    case .unreadable: day
    }
  }

  /// Whether less than one interval lies between two days.
  func isWithinInterval(_ one: Int, _ other: Int) -> Bool {
    max(one, other) < interval(after: min(one, other))
  }
}

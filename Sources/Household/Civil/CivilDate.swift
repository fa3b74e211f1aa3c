/// A date of the proleptic Gregorian calendar without time or zone, from 0001-01-01 to 9999-12-31.
///
/// All shared state uses civil dates, so replicas with different time zone data still agree.
/// Arithmetic is closed-form on a day number (days since 1970-01-01), after the era decomposition
/// published by Howard Hinnant, "chrono-compatible low-level date algorithms": O(1), no tables, no
/// Foundation. Operations that can leave the range return nil.
package struct CivilDate: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The range of years.
  package static let years = 1...9999
  /// The first date, 0001-01-01.
  package static let first = CivilDate(unchecked: CivilArithmetic.firstDay)
  /// The last date, 9999-12-31.
  package static let last = CivilDate(unchecked: CivilArithmetic.lastDay)

  /// Days since 1970-01-01; the canonical integer form, used for storage.
  package let dayNumber: Int32

  /// Makes a date from a day number already known to be in range.
  init(unchecked day: Int) { dayNumber = Int32(day) }

  /// Makes a date from its stored day number.
  ///
  /// - Throws: `civilOutOfRange` outside 0001-01-01...9999-12-31.
  package init(dayNumber: Int) throws(HouseholdError) {
    guard (CivilArithmetic.firstDay...CivilArithmetic.lastDay).contains(dayNumber) else {
      throw HouseholdError(
        .civilOutOfRange,
        "day number \(dayNumber) is outside the years 1 to 9999; use "
          + "\(CivilArithmetic.firstDay) to \(CivilArithmetic.lastDay)")
    }
    self.dayNumber = Int32(dayNumber)
  }

  /// Makes a date from year, month and day.
  ///
  /// - Throws: `civilOutOfRange` when the calendar has no such date (30 February, year 0, …).
  package init(year: Int, month: Int, day: Int) throws(HouseholdError) {
    guard CivilDate.years.contains(year) else {
      throw HouseholdError(.civilOutOfRange, "year \(year) is not in 1 to 9999")
    }
    guard (1...12).contains(month) else {
      throw HouseholdError(.civilOutOfRange, "month \(month) is not in 1 to 12")
    }
    let length = CivilArithmetic.daysInMonth(year: year, month: month)
    guard (1...length).contains(day) else {
      throw HouseholdError(
        .civilOutOfRange,
        "\(zeroPadded(year, 4))-\(zeroPadded(month, 2)) has \(length) days, so there is no day "
          + "\(day); use 1 to \(length)")
    }
    self.init(unchecked: CivilArithmetic.dayNumber(year: year, month: month, day: day))
  }

  /// Parses `YYYY-MM-DD` strictly: ten ASCII characters, a date that exists.
  ///
  /// - Throws: `civilText` for another form, `civilOutOfRange` for a date that does not exist.
  package init(iso text: some StringProtocol) throws(HouseholdError) {
    let utf8 = text.utf8
    guard utf8.count == 10 else { throw CivilDate.malformed(text) }
    var reader = ASCIIReader(Array(utf8)[...])
    guard let year = reader.digits(4), reader.take(UInt8(ascii: "-")),
      let month = reader.digits(2), reader.take(UInt8(ascii: "-")),
      let day = reader.digits(2)
    else { throw CivilDate.malformed(text) }
    try self.init(year: year, month: month, day: day)
  }

  private static func malformed(_ text: some StringProtocol) -> HouseholdError {
    HouseholdError(
      .civilText, "\(quoted(text)) is not a date; write year-month-day, for example 2027-01-31")
  }

  /// Year, month and day of month.
  package var components: (year: Int, month: Int, day: Int) {
    CivilArithmetic.components(of: Int(dayNumber))
  }

  /// The year, 1...9999.
  package var year: Int { components.year }
  /// The month, 1...12.
  package var month: Int { components.month }
  /// The day of the month, 1...31.
  package var day: Int { components.day }
  /// The day of the year, 1...366.
  package var dayOfYear: Int {
    Int(dayNumber) - CivilArithmetic.dayNumber(year: year, month: 1, day: 1) + 1
  }
  /// The day of the week.
  package var weekday: Weekday { CivilArithmetic.weekday(of: Int(dayNumber)) }

  /// `YYYY-MM-DD`; the canonical text form.
  package var iso: String {
    let parts = components
    return
      "\(zeroPadded(parts.year, 4))-\(zeroPadded(parts.month, 2))-\(zeroPadded(parts.day, 2))"
  }

  package var description: String { iso }

  /// The date `days` later (earlier if negative), or nil outside the calendar.
  package func adding(days: Int) -> CivilDate? {
    let (sum, overflow) = Int(dayNumber).addingReportingOverflow(days)
    guard !overflow, (CivilArithmetic.firstDay...CivilArithmetic.lastDay).contains(sum) else {
      return nil
    }
    return CivilDate(unchecked: sum)
  }

  /// The same day of the month `months` later, or that month's last day if it is shorter.
  ///
  /// 31 January plus one month is 28 (29) February. Nil outside the calendar.
  package func adding(months: Int) -> CivilDate? {
    guard let month = yearMonth.adding(months: months) else { return nil }
    return month.date(clampedDay: day)
  }

  /// Days from `self` to `other`; positive when `other` is later.
  package func days(until other: CivilDate) -> Int { Int(other.dayNumber) - Int(dayNumber) }

  package static func < (left: CivilDate, right: CivilDate) -> Bool {
    left.dayNumber < right.dayNumber
  }
}

/// Closed-form Gregorian arithmetic on plain integers; it has no range checks of its own.
enum CivilArithmetic {
  /// Day number of 0001-01-01.
  static let firstDay = -719_162
  /// Day number of 9999-12-31.
  static let lastDay = 2_932_896

  /// The quotient, rounded towards negative infinity; `divisor` is positive.
  static func floorDivide(_ value: Int, _ divisor: Int) -> Int {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }

  static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  static func daysInMonth(year: Int, month: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Years begin in March here, so the leap day is the last day of a year.
  static func dayNumber(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = floorDivide(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  static func components(of day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }

  /// 1970-01-01 was a Thursday.
  static func weekday(of day: Int) -> Weekday {
    let fromMonday = day + 3 - floorDivide(day + 3, 7) * 7
    return Weekday.allCases[fromMonday]
  }

  /// The first day of the week that contains `day`, for weeks that begin on `start`.
  static func weekBegin(of day: Int, start: Weekday) -> Int {
    day - weekday(of: day).offset(from: start)
  }
}

/// A month of a year, the bucket of monthly points (rule R9).
package struct YearMonth: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Months since January of year 0: `year * 12 + month - 1`.
  let index: Int

  /// Makes a month from an index already known to be in range.
  init(unchecked index: Int) { self.index = index }

  /// Makes a month.
  ///
  /// - Throws: `civilOutOfRange` outside years 1...9999 and months 1...12.
  package init(year: Int, month: Int) throws(HouseholdError) {
    guard CivilDate.years.contains(year), (1...12).contains(month) else {
      throw HouseholdError(
        .civilOutOfRange, "there is no month \(month) of year \(year); use 1 to 12 of 1 to 9999")
    }
    index = year * 12 + month - 1
  }

  /// Makes a month from its stored integer, `year * 100 + month`.
  ///
  /// - Throws: `civilOutOfRange` when the integer names no month.
  package init(key: Int) throws(HouseholdError) {
    guard key > 0 else {
      throw HouseholdError(.civilOutOfRange, "\(key) is not a month key; use year * 100 + month")
    }
    try self.init(year: key / 100, month: key % 100)
  }

  /// Parses `YYYY-MM` strictly.
  ///
  /// - Throws: `civilText` for another form, `civilOutOfRange` for a month that does not exist.
  package init(iso text: some StringProtocol) throws(HouseholdError) {
    guard text.utf8.count == 7 else { throw YearMonth.malformed(text) }
    var reader = ASCIIReader(Array(text.utf8)[...])
    guard let year = reader.digits(4), reader.take(UInt8(ascii: "-")), let month = reader.digits(2)
    else { throw YearMonth.malformed(text) }
    try self.init(year: year, month: month)
  }

  private static func malformed(_ text: some StringProtocol) -> HouseholdError {
    HouseholdError(
      .civilText, "\(quoted(text)) is not a month; write year-month, for example 2027-01")
  }

  /// The year, 1...9999.
  package var year: Int { index / 12 }
  /// The month, 1...12.
  package var month: Int { index % 12 + 1 }
  /// `year * 100 + month`: the canonical integer form, used for storage.
  package var key: Int { year * 100 + month }
  /// `YYYY-MM`: the canonical text form.
  package var iso: String { "\(zeroPadded(year, 4))-\(zeroPadded(month, 2))" }
  package var description: String { iso }
  /// The number of days in the month, 28...31.
  package var length: Int { CivilArithmetic.daysInMonth(year: year, month: month) }
  /// The first day of the month.
  package var firstDay: CivilDate { CivilDate(unchecked: firstDayNumber) }
  /// The last day of the month.
  package var lastDay: CivilDate { CivilDate(unchecked: firstDayNumber + length - 1) }

  var firstDayNumber: Int { CivilArithmetic.dayNumber(year: year, month: month, day: 1) }

  /// The month `months` later (earlier if negative), or nil outside the calendar.
  package func adding(months: Int) -> YearMonth? {
    let (sum, overflow) = index.addingReportingOverflow(months)
    guard !overflow, sum >= 12, sum < 120_000 else { return nil }
    return YearMonth(unchecked: sum)
  }

  /// Day `day` of this month, or its last day when the month is shorter; `day` is at least 1.
  package func date(clampedDay day: Int) -> CivilDate {
    CivilDate(unchecked: firstDayNumber + min(max(day, 1), length) - 1)
  }

  package static func < (left: YearMonth, right: YearMonth) -> Bool { left.index < right.index }
}

extension CivilDate {
  /// The month of this date.
  package var yearMonth: YearMonth {
    let parts = components
    return YearMonth(unchecked: parts.year * 12 + parts.month - 1)
  }
}

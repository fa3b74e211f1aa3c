/// A numbered week of a year, the bucket of weekly points (rule R9).
///
/// It generalises the rule of ISO 8601 to any first day of the week. A week belongs to the year
/// that contains its fourth day, so to the year that contains most of the week. Week 1 is the first
/// week that belongs to the year. With Monday as first day this is exactly the ISO week. A key does
/// not contain the first day of the week: that is a household setting, passed in wherever days
/// matter. The week year may be 0 or 10000 for the outermost dates of the calendar.
package struct WeekKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The year the week belongs to, 0...10000.
  package let year: Int
  /// The number of the week in that year, 1...53.
  package let week: Int

  /// The week that contains `date` when weeks begin on `weekStart`.
  package init(containing date: CivilDate, weekStart: Weekday) {
    let begin = CivilArithmetic.weekBegin(of: Int(date.dayNumber), start: weekStart)
    let year = CivilArithmetic.components(of: begin + 3).year
    let newYear = CivilArithmetic.dayNumber(year: year, month: 1, day: 1)
    self.year = year
    week = (begin + 3 - newYear) / 7 + 1
  }

  /// Makes a key.
  ///
  /// - Throws: `civilOutOfRange` outside years 0...10000 and weeks 1...53. Whether a year has a
  ///   week 53 depends on the week start; see `exists(weekStart:)`.
  package init(year: Int, week: Int) throws(HouseholdError) {
    guard (0...10_000).contains(year), (1...53).contains(week) else {
      throw HouseholdError(
        .civilOutOfRange, "there is no week \(week) of year \(year); use weeks 1 to 53")
    }
    self.year = year
    self.week = week
  }

  /// Makes a key from its stored integer, `year * 100 + week`.
  ///
  /// - Throws: `civilOutOfRange` when the integer names no week.
  package init(key: Int) throws(HouseholdError) {
    guard key > 0 else {
      throw HouseholdError(.civilOutOfRange, "\(key) is not a week key; use year * 100 + week")
    }
    try self.init(year: key / 100, week: key % 100)
  }

  /// Parses `YYYY-Www` strictly, for example `2027-W05`.
  ///
  /// - Throws: `civilText` for another form, `civilOutOfRange` for numbers out of range.
  package init(iso text: some StringProtocol) throws(HouseholdError) {
    let count = text.utf8.count
    guard count == 8 || count == 9 else { throw WeekKey.malformed(text) }
    var reader = ASCIIReader(Array(text.utf8)[...])
    guard let year = reader.digits(count - 4), reader.take(UInt8(ascii: "-")),
      reader.take(UInt8(ascii: "W")), let week = reader.digits(2)
    else { throw WeekKey.malformed(text) }
    guard count == 8 || year == 10_000 else { throw WeekKey.malformed(text) }
    try self.init(year: year, week: week)
  }

  private static func malformed(_ text: some StringProtocol) -> HouseholdError {
    HouseholdError(
      .civilText, "\(quoted(text)) is not a week; write year-Wweek, for example 2027-W05")
  }

  /// `year * 100 + week`: the canonical integer form, used for storage; ordered like the keys.
  package var key: Int { year * 100 + week }
  /// `YYYY-Www`: the canonical text form.
  package var iso: String { "\(zeroPadded(year, 4))-W\(zeroPadded(week, 2))" }
  package var description: String { iso }

  /// The first day of the week, or nil when it lies outside the calendar.
  package func firstDay(weekStart: Weekday) -> CivilDate? {
    let day = firstDayNumber(weekStart: weekStart)
    guard (CivilArithmetic.firstDay...CivilArithmetic.lastDay).contains(day) else { return nil }
    return CivilDate(unchecked: day)
  }

  /// Whether the year has this week, which matters for week 53 only.
  package func exists(weekStart: Weekday) -> Bool {
    CivilArithmetic.components(of: firstDayNumber(weekStart: weekStart) + 3).year == year
  }

  /// Week 1 is the week that holds 4 January.
  private func firstDayNumber(weekStart: Weekday) -> Int {
    let fourth = CivilArithmetic.dayNumber(year: year, month: 1, day: 4)
    return CivilArithmetic.weekBegin(of: fourth, start: weekStart) + (week - 1) * 7
  }

  /// Chronological order among keys of one week start.
  package static func < (left: WeekKey, right: WeekKey) -> Bool { left.key < right.key }
}

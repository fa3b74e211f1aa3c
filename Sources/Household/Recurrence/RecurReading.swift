/// The BY… parts of a RECUR value, read into the days of a rule.
///
/// It may turn one frequency into another that gives the same dates, and move the anchor to the
/// month that BYMONTH names. The anchor then begins in the first year whose month is not past.
struct RecurReading {
  var frequency: RecurrenceRule.Frequency
  let interval: Int
  var anchor: CivilDate
  var days: RecurrenceRule.Days
  var notes: [String] = []

  init(
    frequency: RecurrenceRule.Frequency, interval: Int, anchor: CivilDate,
    days: RecurrenceRule.Days
  ) {
    self.frequency = frequency
    self.interval = interval
    self.anchor = anchor
    self.days = days
  }

  mutating func readDays(_ parts: inout RecurParts) throws(HouseholdError) {
    switch frequency {
    case .daily: try readDaily(&parts)
    case .weekly: try readWeekly(&parts)
    case .monthly: try readMonth(&parts, startDay: anchor.day)
    case .yearly:
      let startDay = anchor.day
      let named = try readMonthName(&parts)
      guard named else {
        days = .dayOfMonth(startDay)
        noteClamp(startDay)
        return
      }
      try readMonth(&parts, startDay: startDay)
    }
  }

  private mutating func readDaily(_ parts: inout RecurParts) throws(HouseholdError) {
    guard let list = try parts.takeDays() else { return }
    guard interval == 1 else {
      throw HouseholdError(
        .calendarUnsupported,
        "BYDAY in a rule of every \(interval) days is not supported; use every day or weeks")
    }
    frequency = .weekly
    days = .weekdays(try plainWeekdays(list))
  }

  private mutating func readWeekly(_ parts: inout RecurParts) throws(HouseholdError) {
    guard let list = try parts.takeDays() else {
      days = .weekdays(WeekdaySet(anchor.weekday))
      return
    }
    days = .weekdays(try plainWeekdays(list))
  }

  private func plainWeekdays(
    _ list: [(ordinal: Int?, weekday: Weekday)]
  ) throws(HouseholdError) -> WeekdaySet {
    guard list.allSatisfy({ $0.ordinal == nil }) else {
      throw HouseholdError(
        .calendarText, "BYDAY with numbers needs a monthly or yearly rule; drop the numbers")
    }
    return WeekdaySet(list.map(\.weekday))
  }

  /// Reads BYMONTH of a yearly rule; false when there is none.
  private mutating func readMonthName(_ parts: inout RecurParts) throws(HouseholdError) -> Bool {
    guard let months = try parts.takeList("BYMONTH") else { return false }
    guard months.count == 1, let month = months.first, (1...12).contains(month) else {
      throw HouseholdError(
        .calendarUnsupported, "BYMONTH must name one month, 1 to 12; make one rule per month")
    }
    guard month != anchor.month else { return true }
    let year = month > anchor.month ? anchor.year : anchor.year + interval
    anchor = try CivilDate(year: year, month: month, day: 1)
    return true
  }

  private mutating func readMonth(
    _ parts: inout RecurParts, startDay: Int
  ) throws(HouseholdError) {
    let weekdays = try parts.takeDays()
    let monthDays = try parts.takeList("BYMONTHDAY")
    let position = try parts.takeList("BYSETPOS")
    switch (weekdays, monthDays) {
    case (nil, nil):
      guard position == nil else { throw unsupported("BYSETPOS without days") }
      days = .dayOfMonth(startDay)
      noteClamp(startDay)
    case (nil, let monthDays?): try readMonthDays(monthDays, position: position)
    case (let weekdays?, nil): try readOrdinals(weekdays, position: position)
    case (.some, .some): throw unsupported("BYDAY together with BYMONTHDAY")
    }
  }

  private mutating func readMonthDays(
    _ list: [Int], position: [Int]?
  ) throws(HouseholdError) {
    guard let last = list.last else { throw unsupported("an empty BYMONTHDAY") }
    if list == [-1], position == nil {
      days = .lastDayOfMonth
    } else if list.count == 1, (1...31).contains(last), position == nil {
      days = .dayOfMonth(last)
      noteClamp(last)
    } else if (28...31).contains(last), list == Array(28...last), position == [-1] {
      days = .dayOfMonth(last)
    } else {
      throw unsupported("several days of the month in one rule; make one rule per day")
    }
  }

  private mutating func readOrdinals(
    _ list: [(ordinal: Int?, weekday: Weekday)], position: [Int]?
  ) throws(HouseholdError) {
    var ordinals: [OrdinalWeekday] = []
    if let position {
      guard list.count == 1, let weekday = list.first?.weekday, list.first?.ordinal == nil,
        position.count <= 10
      else { throw unsupported("BYSETPOS over several weekdays") }
      for ordinal in position { ordinals.append(try OrdinalWeekday(ordinal, weekday)) }
    } else {
      for entry in list {
        for ordinal in entry.ordinal.map({ [$0] }) ?? [1, 2, 3, 4, 5] {
          ordinals.append(try OrdinalWeekday(ordinal, entry.weekday))
        }
      }
    }
    days = .ordinalWeekdays(ordinals)
  }

  /// RFC 5545 skips months without the day; the rule takes their last day instead.
  private mutating func noteClamp(_ day: Int) {
    let shortest: Int =
      switch (frequency, anchor.month) {
      case (.yearly, 2): 28
      case (.yearly, _): anchor.yearMonth.length
      default: 28
      }
    guard day > shortest else { return }
    notes.append("months without a day \(day) are not skipped: their last day is used")
  }

  private func unsupported(_ what: String) -> HouseholdError {
    HouseholdError(.calendarUnsupported, "a rule with \(what) is not supported")
  }
}

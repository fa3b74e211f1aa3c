/// The days of one period of a rule: a base day and a bit for each of the 31 days after it.
struct PeriodDays {
  let base: Int
  private(set) var mask: UInt32

  var count: Int { mask.nonzeroBitCount }
  var first: Int? { mask == 0 ? nil : base + mask.trailingZeroBitCount }
  var last: Int? { mask == 0 ? nil : base + 31 - mask.leadingZeroBitCount }

  mutating func drop(before day: Int) {
    let shift = day - base
    if shift >= 32 { mask = 0 } else if shift > 0 { mask &= ~UInt32(0) << UInt32(shift) }
  }

  mutating func drop(after day: Int) {
    let keep = day - base + 1
    if keep <= 0 { mask = 0 } else if keep < 32 { mask &= (1 << UInt32(keep)) - 1 }
  }

  mutating func drop(first count: Int) {
    for _ in 0..<min(count, self.count) { mask &= mask - 1 }
  }
}

/// A calendar rule as a sequence of periods (days, weeks, months, years).
///
/// The period of the anchor has number 0. Every period is computed from its number alone, never
/// from its predecessor. So nothing drifts (31 January, 28 February, 31 March), and a window far
/// from the anchor is reached in O(1). `end` is not considered here. Periods exist up to
/// 9999-12-31, at most 3.7 million of one day and 120,000 of one month.
struct RulePeriods {
  let rule: RecurrenceRule
  private let anchorDay: Int
  private let firstWeek: Int
  private let firstMonth: Int

  init(_ rule: RecurrenceRule) {
    self.rule = rule
    anchorDay = Int(rule.anchor.dayNumber)
    firstWeek = CivilArithmetic.weekBegin(of: anchorDay, start: rule.weekStart)
    firstMonth = rule.anchor.yearMonth.index
  }

  /// Months from one period to the next; for monthly and yearly rules only.
  private var monthStep: Int { rule.frequency == .yearly ? rule.interval * 12 : rule.interval }

  /// The number of the last period that begins on or before `day`; 0 when none does.
  func index(at day: Int) -> Int {
    guard day > anchorDay else { return 0 }
    switch rule.frequency {
    case .daily: return (day - anchorDay) / rule.interval
    case .weekly: return (day - firstWeek) / (7 * rule.interval)
    case .monthly, .yearly:
      let parts = CivilArithmetic.components(of: min(day, CivilArithmetic.lastDay))
      return (parts.year * 12 + parts.month - 1 - firstMonth) / monthStep
    }
  }

  /// The days of period `index`, or nil when the period begins beyond the calendar.
  func days(of index: Int) -> PeriodDays? {
    guard var days = unclippedDays(of: index), days.base <= CivilArithmetic.lastDay else {
      return nil
    }
    days.drop(before: anchorDay)
    days.drop(after: CivilArithmetic.lastDay)
    return days
  }

  private func unclippedDays(of index: Int) -> PeriodDays? {
    switch rule.days {
    case .any: return PeriodDays(base: anchorDay + index * rule.interval, mask: 1)
    case .weekdays(let set):
      return PeriodDays(base: firstWeek + index * 7 * rule.interval, mask: rotated(set))
    case .dayOfMonth, .lastDayOfMonth, .ordinalWeekdays:
      let index = firstMonth + index * monthStep
      guard index < 120_000 else { return nil }
      let month = YearMonth(unchecked: index)
      return PeriodDays(base: month.firstDayNumber, mask: mask(in: month))
    }
  }

  /// The weekdays as bits counted from the week start.
  private func rotated(_ set: WeekdaySet) -> UInt32 {
    var mask: UInt32 = 0
    for day in Weekday.allCases where set.contains(day: day) {
      mask |= 1 << UInt32(day.offset(from: rule.weekStart))
    }
    return mask
  }

  private func mask(in month: YearMonth) -> UInt32 {
    let length = month.length
    switch rule.days {
    case .dayOfMonth(let day): return 1 << UInt32(min(day, length) - 1)
    case .lastDayOfMonth: return 1 << UInt32(length - 1)
    case .ordinalWeekdays(let list):
      let firstWeekday = CivilArithmetic.weekday(of: month.firstDayNumber)
      var mask: UInt32 = 0
      for entry in list {
        if let day = entry.day(firstWeekday: firstWeekday, length: length) {
          mask |= 1 << UInt32(day - 1)
        }
      }
      return mask
    case .any, .weekdays: return 0
    }
  }

  /// The number of days in every whole period, or nil when it varies from month to month.
  ///
  /// It varies with fifth weekdays, and where counting from both ends can give the same day.
  private var daysPerPeriod: Int? {
    switch rule.days {
    case .any, .dayOfMonth, .lastDayOfMonth: return 1
    case .weekdays(let set): return set.rawValue.nonzeroBitCount
    case .ordinalWeekdays(let list):
      let regular =
        list.allSatisfy { (1...4).contains($0.ordinal) }
        || list.allSatisfy { (-4 ... -1).contains($0.ordinal) }
      return regular ? list.count : nil
    }
  }

  /// The number of days of the sequence before `day`, but at most `limit`.
  ///
  /// O(1) when every period has equally many days. Otherwise it walks the periods from the anchor
  /// and stops at `limit`: at most 120,000 steps, in practice 12 a year.
  func count(before day: Int, limit: Int = .max) -> Int {
    guard day > anchorDay else { return 0 }
    let index = index(at: day)
    var total = 0
    if let daysPerPeriod, index > 0 {
      total = (days(of: 0)?.count ?? 0) + (index - 1) * daysPerPeriod
    } else {
      for earlier in 0..<index {
        total += days(of: earlier)?.count ?? 0
        if total >= limit { return limit }
      }
    }
    guard var partial = days(of: index) else { return min(total, limit) }
    partial.drop(after: day - 1)
    return min(total + partial.count, limit)
  }

  /// The day with `ordinal` days before it, or nil beyond the calendar; cost as `count(before:)`.
  func day(atOrdinal ordinal: Int) -> Int? {
    var index = 0
    var skip = ordinal
    if let daysPerPeriod, let first = days(of: 0)?.count, ordinal >= first {
      let (whole, rest) = (ordinal - first).quotientAndRemainder(dividingBy: daysPerPeriod)
      index = 1 + whole
      skip = rest
    }
    while var period = days(of: index) {
      if period.count > skip {
        period.drop(first: skip)
        return period.first
      }
      skip -= period.count
      index += 1
    }
    return nil
  }
}

/// Walks the days of a calendar rule forward from a given day, `end` included.
struct RuleDayScan: IteratorProtocol {
  private let periods: RulePeriods
  private let lastDay: Int
  private var index: Int
  private var current: PeriodDays?
  private var remaining: Int
  /// The number of computed periods, for tests of the cost.
  private(set) var periodsVisited = 0

  /// A scan of the days of `rule` on or after `day`.
  init(_ rule: RecurrenceRule, from day: Int) {
    periods = RulePeriods(rule)
    index = periods.index(at: day)
    remaining = .max
    var lastDay = CivilArithmetic.lastDay
    switch rule.end {
    case .never: break
    case .until(let date): lastDay = Int(date.dayNumber)
    case .count(let count): remaining = count - periods.count(before: day, limit: count)
    }
    self.lastDay = lastDay
    guard remaining > 0, day <= lastDay else { return }
    current = periods.days(of: index)
    current?.drop(before: day)
    periodsVisited = 1
  }

  mutating func next() -> Int? {
    while remaining > 0, let period = current {
      if let day = period.first {
        current?.drop(first: 1)
        remaining -= 1
        return finish(day)
      }
      guard period.base <= lastDay else { return nil }
      index += 1
      periodsVisited += 1
      current = periods.days(of: index)
    }
    return nil
  }

  private mutating func finish(_ day: Int) -> Int? {
    guard day <= lastDay else {
      current = nil
      return nil
    }
    return day
  }
}

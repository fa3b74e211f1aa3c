import Household

/// A small seeded generator for reproducible tests: SplitMix64 by Steele, Lea and Flood, 2014.
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}

extension SplitMix64 {
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func date(years: ClosedRange<Int>) throws -> CivilDate {
    let first = try CivilDate(year: years.lowerBound, month: 1, day: 1)
    let last = try CivilDate(year: years.upperBound, month: 12, day: 31)
    return try CivilDate(
      dayNumber: Int.random(in: Int(first.dayNumber)...Int(last.dayNumber), using: &self))
  }

  mutating func interval() -> Int {
    switch Int.random(in: 0..<10, using: &self) {
    case 0..<3: 1
    case 3..<6: Int.random(in: 2...4, using: &self)
    case 6..<9: Int.random(in: 2...30, using: &self)
    default: Int.random(in: 1...366, using: &self)
    }
  }

  mutating func ordinals() throws -> [OrdinalWeekday] {
    var list: [OrdinalWeekday] = []
    for _ in 0..<Int.random(in: 1...3, using: &self) {
      let ordinal = Int.random(in: 1...5, using: &self) * (chance(40) ? -1 : 1)
      list.append(
        try OrdinalWeekday(ordinal, Weekday(rawValue: Int.random(in: 1...7, using: &self))!))
    }
    return list
  }

  mutating func monthDays() throws -> RecurrenceRule.Days {
    switch Int.random(in: 0..<10, using: &self) {
    case 0..<2: .dayOfMonth(Int.random(in: 1...28, using: &self))
    case 2..<5: .dayOfMonth(Int.random(in: 29...31, using: &self))
    case 5: .lastDayOfMonth
    default: .ordinalWeekdays(try ordinals())
    }
  }

  /// A calendar rule without times, from all of the subset.
  mutating func calendarRule(years: ClosedRange<Int>) throws -> RecurrenceRule {
    let anchor = try date(years: years)
    let frequency = RecurrenceRule.Frequency.allCases.randomElement(using: &self)!
    let days: RecurrenceRule.Days? =
      switch frequency {
      case .daily: nil
      case .weekly:
        .weekdays(WeekdaySet(rawValue: UInt8.random(in: 1...127, using: &self)))
      case .monthly, .yearly: chance(15) ? nil : try monthDays()
      }
    var end = RecurrenceRule.End.never
    if chance(20) {
      let reach = [40, 400, 4000].randomElement(using: &self)!
      end = .until(anchor.adding(days: Int.random(in: 0...reach, using: &self)) ?? .last)
    } else if chance(25) {
      end = .count(Int.random(in: 1...60, using: &self))
    }
    return try RecurrenceRule(
      frequency, every: interval(), on: days, from: anchor, end: end,
      weekStart: Weekday(rawValue: Int.random(in: 1...7, using: &self))!)
  }

  /// Any rule: also counted from completion, also with times.
  mutating func anyRule() throws -> RecurrenceRule {
    let rule = try calendarRule(years: 1990...2060)
    let byCompletion = chance(20)
    let count =
      byCompletion ? chance(50) ? 1 : 0 : chance(60) ? 0 : Int.random(in: 1...24, using: &self)
    var times: [CivilTime] = []
    for _ in 0..<count {
      times.append(try CivilTime(minuteOfDay: Int.random(in: 0..<1440, using: &self)))
    }
    return try RecurrenceRule(
      rule.frequency, every: rule.interval, on: byCompletion ? nil : rule.days, from: rule.anchor,
      mode: byCompletion ? .afterCompletion : .calendar, end: rule.end, at: times,
      weekStart: rule.weekStart)
  }
}

/// Short ways to write civil values in tests.
func day(_ iso: String) throws -> CivilDate { try CivilDate(iso: iso) }
func clock(_ iso: String) throws -> CivilTime { try CivilTime(iso: iso) }

extension RecurrenceRule {
  /// The first dates of the rule as ISO text.
  func firstDates(_ count: Int) -> [String] {
    dates(from: .first, through: .last, limit: count).map(\.iso)
  }
}

/// The seed of every random test here, printed when one fails.
let seed: UInt64 = 20_270_131

import Testing

@testable import Household

/// Whether a day is a date of a calendar rule, ends aside: the definition, day by day.
private func naiveMatch(_ rule: RecurrenceRule, _ date: CivilDate) -> Bool {
  guard date >= rule.anchor else { return false }
  let months = (date.year - rule.anchor.year) * 12 + date.month - rule.anchor.month
  switch rule.frequency {
  case .daily: return rule.anchor.days(until: date) % rule.interval == 0
  case .weekly:
    var begin = rule.anchor
    while begin.weekday != rule.weekStart { begin = begin.adding(days: -1)! }
    guard begin.days(until: date) / 7 % rule.interval == 0 else { return false }
  case .monthly: guard months % rule.interval == 0 else { return false }
  case .yearly: guard months % (12 * rule.interval) == 0 else { return false }
  }
  switch rule.days {
  case .any: return true
  case .weekdays(let set): return set.contains(day: date.weekday)
  case .dayOfMonth(let day):
    return date.day == day || (date.day < day && date.adding(days: 1)!.day == 1)
  case .lastDayOfMonth: return date.adding(days: 1)!.day == 1
  case .ordinalWeekdays(let list):
    return list.contains { entry in
      guard date.weekday == entry.weekday else { return false }
      // The n-th one: n - 1 of the same weekday before it (after it) in the month.
      let step = entry.ordinal > 0 ? -7 : 7
      var count = 1
      var other = date.adding(days: step)!
      while other.month == date.month {
        count += 1
        other = other.adding(days: step)!
      }
      return count == abs(entry.ordinal)
    }
  }
}

@Suite("Recurrence laws")
struct RecurrenceLawTests {
  private func rules(_ count: Int, _ offset: UInt64) throws -> [RecurrenceRule] {
    var random = SplitMix64(seed: seed + offset)
    return try (0..<count).map { _ in try random.calendarRule(years: 1995...2030) }
  }

  @Test("A rule's dates are exactly the days that match its definition")
  func naive() throws {
    var total = 0
    for rule in try rules(300, 10) {
      var expected: [CivilDate] = []
      var date = rule.anchor
      scan: for _ in 0..<1200 {
        if naiveMatch(rule, date) {
          switch rule.end {
          case .until(let last) where date > last: break scan
          case .count(let count) where expected.count == count: break scan
          default: expected.append(date)
          }
        }
        date = date.adding(days: 1)!
      }
      let found = rule.dates(from: .first, through: date.adding(days: -1)!, limit: 5000)
      try #require(found == expected, "seed \(seed): \(rule.text)")
      total += found.count
    }
    #expect(total > 5000)
  }

  @Test("next, latest, isDate and ordinal agree with the list of dates, from any day")
  func consistent() throws {
    var random = SplitMix64(seed: seed + 11)
    for rule in try rules(400, 12) {
      let context: Comment = "seed \(seed): \(rule.text)"
      let list = rule.dates(from: .first, through: .last, limit: 40)
      for (index, date) in list.enumerated() {
        try #require(rule.ordinal(of: date) == index, context)
        try #require(rule.latest(onOrBefore: date) == date, context)
        guard index > 0 else { continue }
        try #require(list[index - 1] < date, context)
        try #require(rule.next(after: list[index - 1]) == date, context)
        try #require(rule.latest(onOrBefore: date.adding(days: -1)!) == list[index - 1], context)
      }
      for _ in 0..<20 {
        let probe = try random.date(years: 1990...2400)
        let next = rule.next(after: probe)
        let after = rule.dates(from: probe.adding(days: 1)!, through: .last, limit: 3)
        try #require(next == after.first, context)
        let listed = rule.dates(from: probe, through: probe, limit: 1).first == probe
        try #require(rule.isDate(probe) == listed, context)
        try #require((rule.ordinal(of: probe) != nil) == listed, context)
        guard let latest = rule.latest(onOrBefore: probe) else {
          try #require(rule.dates(from: .first, through: probe, limit: 1).isEmpty, context)
          continue
        }
        try #require(latest <= probe && rule.isDate(latest), context)
        let following = rule.next(after: latest)
        try #require(following == nil || following! > probe, context)
      }
    }
  }

  @Test("A rule that ends has a last date and none after it")
  func last() throws {
    for rule in try rules(400, 13) where rule.end != .never {
      let all = rule.dates(from: .first, through: .last, limit: 20_000)
      #expect(rule.lastDate == all.last, "seed \(seed): \(rule.text)")
      guard let last = all.last else { continue }
      #expect(rule.next(after: last) == nil)
      if case .count(let count) = rule.end, last.year < 9000 { #expect(all.count == count) }
    }
    #expect(try RecurrenceRule(.daily, from: day("2027-01-01")).lastDate == nil)
  }

  @Test("Each time of day is its own occurrence, in order, and the limit cuts inside a day")
  func slots() throws {
    let rule = try RecurrenceRule(
      .daily, every: 2, from: day("2027-01-01"), end: .count(2),
      at: [clock("20:00"), clock("08:00"), clock("20:00"), clock("14:00")])
    #expect(rule.times.map(\.iso) == ["08:00", "14:00", "20:00"])
    let all = rule.occurrences(from: .first, through: .last, limit: 100)
    #expect(
      all.map(\.description) == [
        "2027-01-01", "2027-01-01#1", "2027-01-01#2", "2027-01-03", "2027-01-03#1", "2027-01-03#2",
      ])
    #expect(rule.occurrences(from: .first, through: .last, limit: 4) == Array(all.prefix(4)))
    #expect(rule.occurrences(from: .first, through: .last, limit: 0).isEmpty)
    for (index, occurrence) in all.enumerated() {
      #expect(rule.ordinal(of: occurrence) == index)
      #expect(rule.isOccurrence(occurrence))
      #expect(rule.next(after: occurrence) == (index + 1 < all.count ? all[index + 1] : nil))
      #expect(try Occurrence(key: occurrence.key) == occurrence)
    }
    #expect(all.map(\.key) == all.map(\.key).sorted())
    #expect(try !rule.isOccurrence(Occurrence(day("2027-01-01"), slot: 3)))
    #expect(try !rule.isOccurrence(Occurrence(day("2027-01-02"))))
    #expect(try rule.next(after: Occurrence(day("2027-01-02"), slot: 1)) == all[3])
    #expect(rule.time(ofSlot: 1)?.iso == "14:00" && rule.time(ofSlot: 3) == nil)
    #expect(try Occurrence(CivilDate.first, slot: 23).key < 0)
    #expect(try Occurrence(key: Occurrence(.first, slot: 23).key).slot == 23)
    #expect(throws: HouseholdError(.ruleOutOfRange, "")) { try Occurrence(.first, slot: 24) }
    #expect(throws: HouseholdError(.ruleOutOfRange, "")) { try Occurrence(key: 24) }
  }

  @Test("An after-completion rule knows its first date only")
  func afterCompletion() throws {
    let rule = try RecurrenceRule(
      .daily, every: 3, from: day("2027-01-10"), mode: .afterCompletion, at: [clock("08:00")])
    #expect(rule.firstDates(5) == ["2027-01-10"])
    #expect(try rule.next(after: day("2027-01-09")) == day("2027-01-10"))
    #expect(try rule.next(after: day("2027-01-10")) == nil)
    #expect(try rule.latest(onOrBefore: day("2027-01-09")) == nil)
    #expect(try rule.latest(onOrBefore: day("2028-01-09")) == day("2027-01-10"))
    #expect(try rule.ordinal(of: day("2027-01-10")) == 0)
    #expect(try rule.ordinal(of: day("2027-01-13")) == nil)
    #expect(rule.nextDue(afterCompletionDay: .last) == nil)
  }

  @Test("A window far from the anchor costs no more than a near one")
  func farAway() throws {
    let far = try day("9500-06-15")
    let rules = [
      try RecurrenceRule(.daily, every: 3, from: .first),
      try RecurrenceRule(.weekly, every: 2, from: .first),
      try RecurrenceRule(.monthly, on: .dayOfMonth(31), from: .first, end: .count(10_000)),
      try RecurrenceRule(.yearly, on: .lastDayOfMonth, from: .first),
    ]
    for rule in rules {
      var scan = RuleDayScan(rule, from: Int(far.dayNumber))
      for _ in 0..<10 { _ = scan.next() }
      #expect(scan.periodsVisited <= 12, "\(rule.text)")
    }
  }

  @Test("A rule whose days never come is given up at the end of the calendar")
  func never() throws {
    // The Februaries of odd years have four Mondays each.
    let rule = try RecurrenceRule(
      .yearly, every: 2, on: .ordinalWeekdays([OrdinalWeekday(5, .monday)]), from: day("0001-02-01")
    )
    #expect(rule.firstDates(1).isEmpty)
    #expect(rule.latest(onOrBefore: .last) == nil)
    #expect(rule.next(after: .first) == nil && rule.next(after: .last) == nil)
    var scan = RuleDayScan(rule, from: Int(CivilDate.first.dayNumber))
    #expect(scan.next() == nil)
    #expect(scan.periodsVisited <= 5001)
    // The longest true gap: from 2080 to 2120 over 2100, which is not a leap year.
    let leap = try RecurrenceRule(
      .yearly, on: .ordinalWeekdays([OrdinalWeekday(5, .thursday)]), from: day("2080-02-01"))
    #expect(leap.firstDates(2) == ["2080-02-29", "2120-02-29"])
    let counted = try RecurrenceRule(
      .monthly, on: .ordinalWeekdays([OrdinalWeekday(5, .monday)]), from: day("0001-01-01"),
      end: .count(10_000))
    #expect(counted.lastDate != nil)
  }

  @Test("Limits hold at their value and not one further")
  func limits() throws {
    let start = try day("2027-01-01")
    _ = try RecurrenceRule(.daily, every: 366, from: start)
    _ = try RecurrenceRule(.daily, from: start, end: .count(10_000))
    let times = try (0..<25).map { try CivilTime(minuteOfDay: $0) }
    _ = try RecurrenceRule(.daily, from: start, at: Array(times.prefix(24)))
    let ordinals = try Weekday.allCases.flatMap { weekday in
      try [1, 2, 3, 4, 5].map { try OrdinalWeekday($0, weekday) }
    }
    _ = try RecurrenceRule(.monthly, on: .ordinalWeekdays(ordinals), from: start)
    _ = try RecurrenceRule(.monthly, on: .dayOfMonth(31), from: start)
    _ = try RecurrenceRule(.daily, from: start, end: .until(start))
    let outOfRange = HouseholdError(.ruleOutOfRange, "")
    for interval in [0, -1, 367, .max] {
      #expect(throws: outOfRange) { try RecurrenceRule(.daily, every: interval, from: start) }
    }
    for count in [0, -1, 10_001] {
      #expect(throws: outOfRange) { try RecurrenceRule(.daily, from: start, end: .count(count)) }
    }
    for day in [0, 32, -1] {
      #expect(throws: outOfRange) {
        try RecurrenceRule(.monthly, on: .dayOfMonth(day), from: start)
      }
    }
    #expect(throws: outOfRange) { try RecurrenceRule(.daily, from: start, at: times) }
    #expect(throws: outOfRange) {
      try RecurrenceRule(
        .monthly, on: .ordinalWeekdays(ordinals + [OrdinalWeekday(-1, .monday)]), from: start)
    }
    #expect(throws: outOfRange) {
      try RecurrenceRule(.monthly, on: .ordinalWeekdays([]), from: start)
    }
    #expect(throws: outOfRange) { try RecurrenceRule(.weekly, on: .weekdays([]), from: start) }
    for ordinal in [0, 6, -6] {
      #expect(throws: outOfRange) { try OrdinalWeekday(ordinal, .monday) }
    }
  }

  @Test("A rule that contradicts itself is refused")
  func contradictions() throws {
    let start = try day("2027-01-01")
    let times = try (0..<2).map { try CivilTime(minuteOfDay: $0) }
    let contradiction = HouseholdError(.ruleContradiction, "")
    #expect(throws: contradiction) {
      try RecurrenceRule(.daily, from: start, end: .until(start.adding(days: -1)!))
    }
    #expect(throws: contradiction) { try RecurrenceRule(.daily, on: .lastDayOfMonth, from: start) }
    #expect(throws: contradiction) {
      try RecurrenceRule(.monthly, on: .weekdays(.all), from: start)
    }
    #expect(throws: contradiction) {
      try RecurrenceRule(.weekly, on: .weekdays(.all), from: start, mode: .afterCompletion)
    }
    #expect(throws: contradiction) {
      try RecurrenceRule(.daily, from: start, mode: .afterCompletion, at: times)
    }
  }
}

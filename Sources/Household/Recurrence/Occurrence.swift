/// One due instance of a rule: a civil date and the place among that day's times.
///
/// Together with the chore's id it identifies an occurrence on every device alike (rule R6). `slot`
/// is the index into the rule's times, and 0 when the rule has no or one time, so moving a time of
/// day keeps the occurrence; it is 0...23.
package struct Occurrence: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let date: CivilDate
  package let slot: Int

  /// Makes an occurrence.
  ///
  /// - Throws: `ruleOutOfRange` unless the slot is 0...23.
  package init(_ date: CivilDate, slot: Int = 0) throws(HouseholdError) {
    guard (0..<RecurrenceRule.maximumTimes).contains(slot) else {
      throw HouseholdError(.ruleOutOfRange, "there is no slot \(slot) in a day; use 0 to 23")
    }
    self.date = date
    self.slot = slot
  }

  init(unchecked date: CivilDate, slot: Int) {
    self.date = date
    self.slot = slot
  }

  /// Makes an occurrence from its stored integer.
  ///
  /// - Throws: `ruleOutOfRange` or `civilOutOfRange` when the integer names none.
  package init(key: Int) throws(HouseholdError) {
    let day = CivilArithmetic.floorDivide(key, 32)
    try self.init(CivilDate(dayNumber: day), slot: key - day * 32)
  }

  /// `dayNumber * 32 + slot`: the canonical integer form, ordered like occurrences.
  package var key: Int { Int(date.dayNumber) * 32 + slot }

  /// The date, followed by `#slot` when the slot is not 0.
  package var description: String { slot == 0 ? date.iso : "\(date.iso)#\(slot)" }

  /// Order by date, then by slot.
  package static func < (left: Occurrence, right: Occurrence) -> Bool {
    (left.date, left.slot) < (right.date, right.slot)
  }
}

extension RecurrenceRule {
  /// The occurrences from `first` through `last`, both included, in order, at most `limit`.
  ///
  /// It reaches the window arithmetically: O(periods in the window), plus for counted rules the
  /// cost of `ordinal(of:)` once. An after-completion rule has one known occurrence, its anchor.
  package func occurrences(
    from first: CivilDate, through last: CivilDate, limit: Int
  ) -> [Occurrence] {
    precondition(limit >= 0, "limit is \(limit)")
    var found: [Occurrence] = []
    forEachDate(from: first) { date in
      guard date <= last else { return false }
      for slot in 0..<slotsPerDate where found.count < limit {
        found.append(Occurrence(unchecked: date, slot: slot))
      }
      return found.count < limit
    }
    return found
  }

  /// The dates from `first` through `last`, both included, in order, at most `limit`.
  package func dates(from first: CivilDate, through last: CivilDate, limit: Int) -> [CivilDate] {
    precondition(limit >= 0, "limit is \(limit)")
    var found: [CivilDate] = []
    guard limit > 0 else { return found }
    forEachDate(from: first) { date in
      guard date <= last else { return false }
      found.append(date)
      return found.count < limit
    }
    return found
  }

  /// Calls `body` with each date from `first` on until it says false or the dates end.
  private func forEachDate(from first: CivilDate, _ body: (CivilDate) -> Bool) {
    guard mode == .calendar else {
      if first <= anchor { _ = body(anchor) }
      return
    }
    var scan = RuleDayScan(self, from: Int(first.dayNumber))
    while let day = scan.next() {
      guard body(CivilDate(unchecked: day)) else { return }
    }
  }

  /// The first date after `date`, or nil when the rule or the calendar has ended.
  ///
  /// The search is bounded: for a rule whose days never come (`5mo` of every February of odd years)
  /// it ends at 9999-12-31, after at most 10,000 empty periods.
  package func next(after date: CivilDate) -> CivilDate? {
    guard let following = date.adding(days: 1) else { return nil }
    return dates(from: following, through: .last, limit: 1).first
  }

  /// The first occurrence after `occurrence`, on the same date or later.
  package func next(after occurrence: Occurrence) -> Occurrence? {
    if occurrence.slot + 1 < slotsPerDate, isDate(occurrence.date) {
      return Occurrence(unchecked: occurrence.date, slot: occurrence.slot + 1)
    }
    return next(after: occurrence.date).map { Occurrence(unchecked: $0, slot: 0) }
  }

  /// The last date on or before `date`, or nil when there is none.
  ///
  /// It has the bounds of `next(after:)`.
  package func latest(onOrBefore date: CivilDate) -> CivilDate? {
    guard mode == .calendar else { return anchor <= date ? anchor : nil }
    let periods = RulePeriods(self)
    var day = Int(date.dayNumber)
    switch end {
    case .never: break
    case .until(let last): day = min(day, Int(last.dayNumber))
    case .count(let count):
      if periods.count(before: day + 1, limit: count) == count {
        return periods.day(atOrdinal: count - 1).map { CivilDate(unchecked: $0) }
      }
    }
    guard day >= Int(anchor.dayNumber) else { return nil }
    var index = periods.index(at: day)
    while index >= 0 {
      if var found = periods.days(of: index) {
        found.drop(after: day)
        if let last = found.last { return CivilDate(unchecked: last) }
      }
      index -= 1
    }
    return nil
  }

  /// The last date of a rule that ends; nil for one that does not end or has no dates.
  package var lastDate: CivilDate? { end == .never ? nil : latest(onOrBefore: .last) }

  /// Whether `date` is a date of the rule.
  package func isDate(_ date: CivilDate) -> Bool {
    dates(from: date, through: date, limit: 1).first == date
  }

  /// Whether `occurrence` belongs to the rule: its date does, and its slot exists.
  package func isOccurrence(_ occurrence: Occurrence) -> Bool {
    occurrence.slot < slotsPerDate && isDate(occurrence.date)
  }

  /// The number of dates of the rule before `date`; nil when `date` is not one itself.
  ///
  /// The first date has ordinal 0. Rotation by date uses it (rule R18). O(1), except for fifth
  /// weekdays and weekdays counted from both ends, which need one step per period since the anchor:
  /// at most 120,000, in practice 12 a year.
  package func ordinal(of date: CivilDate) -> Int? {
    guard isDate(date) else { return nil }
    guard mode == .calendar else { return 0 }
    return RulePeriods(self).count(before: Int(date.dayNumber))
  }

  /// The number of occurrences before `occurrence`; nil when it does not belong to the rule.
  package func ordinal(of occurrence: Occurrence) -> Int? {
    guard occurrence.slot < slotsPerDate, let before = ordinal(of: occurrence.date) else {
      return nil
    }
    return before * slotsPerDate + occurrence.slot
  }

  /// The next due date after the chore was last done on `day`.
  ///
  /// For an after-completion rule it is `day` plus the interval in days, weeks, months or years;
  /// months and years keep the day of the month or fall back to the month's last day. For a
  /// calendar rule it is the first date after `day`. It is nil past `until` or the calendar. The
  /// function ignores the count of an after-completion rule, because only the caller knows how many
  /// times the chore was done.
  package func nextDue(afterCompletionDay day: CivilDate) -> CivilDate? {
    guard mode == .afterCompletion else { return next(after: day) }
    let due = oneInterval(after: day)
    if case .until(let last) = end, let due, due > last { return nil }
    return due
  }

  /// The day one interval after another one, whatever the end of the rule.
  ///
  /// Months and years keep the day of the month or fall back to the month's last day. It is nil
  /// beyond the calendar.
  func oneInterval(after day: CivilDate) -> CivilDate? { adding(1, to: day) }

  /// The day one interval before another one; nil beyond the calendar.
  func oneInterval(before day: CivilDate) -> CivilDate? { adding(-1, to: day) }

  /// Whether less than one interval lies between two days.
  func isWithinInterval(_ one: CivilDate, _ other: CivilDate) -> Bool {
    oneInterval(after: min(one, other)).map { max(one, other) < $0 } ?? true
  }

  /// Days that include all those within an interval of another one.
  func window(around day: CivilDate) -> ClosedRange<CivilDate> {
    (oneInterval(before: day) ?? .first)...(oneInterval(after: day) ?? .last)
  }

  private func adding(_ count: Int, to day: CivilDate) -> CivilDate? {
    switch frequency {
    case .daily: day.adding(days: count * interval)
    case .weekly: day.adding(days: count * 7 * interval)
    case .monthly: day.adding(months: count * interval)
    case .yearly: day.adding(months: count * 12 * interval)
    }
  }
}

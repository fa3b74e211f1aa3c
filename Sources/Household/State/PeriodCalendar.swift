import HearthCRDT
import HearthSync

/// The weeks and months of a household, and which of them are closed.
package struct PeriodCalendar {
  let context: DayContext

  /// Returns the days of the present or an earlier week or month.
  ///
  /// - Parameter text: `2027-W05` or `2027-01`; nil for the last period that is over.
  /// - Throws: `badPeriod`, `civilText`, `civilOutOfRange`.
  package func days(
    of kind: PeriodKind, named text: String?
  ) throws -> (first: CivilDate, last: CivilDate) {
    let start = context.settings.weekStart
    switch kind {
    case .week:
      let key: WeekKey
      if let text {
        key = try WeekKey(iso: text)
      } else {
        key = WeekKey(containing: context.today.adding(days: -7) ?? .first, weekStart: start)
      }
      guard key.exists(weekStart: start), let first = key.firstDay(weekStart: start),
        let last = first.adding(days: 6)
      else {
        throw HouseholdError(.badPeriod, "there is no week \(key.iso); see a calendar")
      }
      return (first, last)
    case .month:
      let month =
        if let text {
          try YearMonth(iso: text)
        } else {
          context.today.yearMonth.adding(months: -1) ?? context.today.yearMonth
        }
      return (month.firstDay, month.lastDay)
    }
  }

  /// Closes a week or month: later arrivals for it are booked in the next open one (R10).
  ///
  /// The close counts if its author is an administrator or owner, which every replica checks. Its
  /// frontier is the frontier that its author had seen.
  ///
  /// - Throws: `badPeriod` if the period is not over or is closed already.
  package func close(
    _ kind: PeriodKind, first: CivilDate, last: CivilDate, in builder: inout OperationBuilder
  ) throws {
    guard last < context.today else {
      throw HouseholdError(
        .badPeriod,
        "the \(kind.rawValue) from \(first) ends on \(last), which is not over; close it after that"
      )
    }
    let days = Int(first.dayNumber)...Int(last.dayNumber)
    guard try days.contains(where: { try context.closed.close(kind, on: $0) == nil }) else {
      throw HouseholdError(
        .badPeriod, "the \(kind.rawValue) from \(first) to \(last) is already closed")
    }
    _ = builder.event(
      HouseholdSchema.close,
      [
        EventField(CloseField.period, .text(kind.rawValue)),
        EventField(CloseField.first, .day(first)), EventField(CloseField.last, .day(last)),
        EventField(CloseField.duplicate, .text(context.settings.duplicate.rawValue)),
        EventField(CloseField.strict, .bool(context.settings.strictAssignee)),
      ])
  }

  /// The days that belong to the period of a day.
  ///
  /// They form one range, unless a close with another first weekday cut it. Days of another close
  /// are not part of it.
  func days(of kind: PeriodKind, containing day: Int) throws -> ClosedRange<Int> {
    let holder = try context.closed.close(kind, on: day)
    var whole: ClosedRange<Int>
    switch kind {
    case .week:
      let first = CivilArithmetic.weekBegin(of: day, start: context.settings.weekStart)
      whole = first...first + 6
    case .month:
      let month = CivilDate(unchecked: day).yearMonth
      whole = Int(month.firstDay.dayNumber)...Int(month.lastDay.dayNumber)
    }
    if let holder { whole = holder.days }
    var first = day
    while first > whole.lowerBound, try context.closed.close(kind, on: first - 1)?.id == holder?.id
    {
      first -= 1
    }
    var last = day
    while last < whole.upperBound, try context.closed.close(kind, on: last + 1)?.id == holder?.id {
      last += 1
    }
    return first...last
  }
}

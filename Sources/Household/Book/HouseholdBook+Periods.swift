import HearthCRDT
import HearthSync

extension HouseholdBook {
  /// Returns the days of the present or an earlier week or month.
  ///
  /// - Parameter text: `2027-W05` or `2027-01`; nil for the last period that is over.
  /// - Throws: `badPeriod`, `civilText`, `civilOutOfRange`.
  package func days(
    of kind: PeriodKind, named text: String?
  ) throws -> (first: CivilDate, last: CivilDate) {
    let start = settings.weekStart
    switch kind {
    case .week:
      let key: WeekKey
      if let text {
        key = try WeekKey(iso: text)
      } else {
        key = WeekKey(containing: today.adding(days: -7) ?? .first, weekStart: start)
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
          today.yearMonth.adding(months: -1) ?? today.yearMonth
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
    guard last < today else {
      throw HouseholdError(
        .badPeriod,
        "the \(kind.rawValue) from \(first) ends on \(last), which is not over; close it after that"
      )
    }
    let closed = ClosedDays(source, settings: settings)
    let days = Int(first.dayNumber)...Int(last.dayNumber)
    guard try days.contains(where: { try closed.close(kind, on: $0) == nil }) else {
      throw HouseholdError(
        .badPeriod, "the \(kind.rawValue) from \(first) to \(last) is already closed")
    }
    _ = builder.event(
      HouseholdSchema.close,
      [
        EventField(CloseField.period, .text(kind.rawValue)),
        EventField(CloseField.first, .day(first)), EventField(CloseField.last, .day(last)),
        EventField(CloseField.duplicate, .text(settings.duplicate.rawValue)),
        EventField(CloseField.strict, .bool(settings.strictAssignee)),
      ])
  }

  /// Returns a person's points in every week or month that has any, oldest first.
  ///
  /// The periods partition all days: closed periods keep the days they were closed with, and open
  /// ones follow the present first day of the week. So their points add up to the total.
  package func periods(_ kind: PeriodKind, of person: PersonID) throws -> [PeriodSum] {
    let closed = ClosedDays(source, settings: settings)
    var found: [PeriodSum] = []
    for (day, points, late) in try daySums(kind, of: person) where day <= lastCountedDay {
      let number = Int(day.dayNumber)
      if let last = found.last, try period(kind, containing: number, closed) == bounds(of: last) {
        found[found.count - 1] = PeriodSum(
          period: kind, first: last.first, last: last.last, isClosed: last.isClosed,
          points: last.points + points, late: last.late + late)
        continue
      }
      let days = try period(kind, containing: number, closed)
      found.append(
        PeriodSum(
          period: kind, first: CivilDate(unchecked: days.lowerBound),
          last: CivilDate(unchecked: days.upperBound),
          isClosed: try closed.close(kind, on: number) != nil, points: points, late: late))
    }
    return found
  }

  private func bounds(of sum: PeriodSum) -> ClosedRange<Int> {
    Int(sum.first.dayNumber)...Int(sum.last.dayNumber)
  }

  /// The own and late points of each day, in order of day.
  private func daySums(
    _ kind: PeriodKind, of person: PersonID
  ) throws -> [(CivilDate, points: Int, late: Int)] {
    var sums: [Int32: (points: Int, late: Int)] = [:]
    for row in try source.rows(of: HouseholdProjection.points, where: [.id(merges.one(person))]) {
      if let day = row[1].date {
        sums[day.dayNumber, default: (0, 0)].points += Int(row[2].int ?? 0)
      }
    }
    for (day, more) in try view.corrections(of: merges.one(person)) {
      sums[day.dayNumber, default: (0, 0)].points += more.points
    }
    let late = try source.rows(
      of: HouseholdProjection.late, where: [.text(kind.rawValue), .id(merges.one(person))])
    for row in late {
      guard let day = row[2].date, let amount = row[4].int, let event = row[3].identifier else {
        continue
      }
      sums[day.dayNumber, default: (0, 0)].points += Int(amount)
      if try self.row(event)?.day != day {
        sums[day.dayNumber, default: (0, 0)].late += Int(amount)
      }
    }
    return sums.sorted { $0.key < $1.key }.map {
      (CivilDate(unchecked: Int($0.key)), $0.value.points, $0.value.late)
    }
  }

  /// The days that belong to the period of a day.
  ///
  /// They form one range, unless a close with another first weekday cut it. Days of another close
  /// are not part of it.
  private func period(
    _ kind: PeriodKind, containing day: Int, _ closed: ClosedDays
  ) throws -> ClosedRange<Int> {
    let holder = try closed.close(kind, on: day)
    var whole: ClosedRange<Int>
    switch kind {
    case .week:
      let first = CivilArithmetic.weekBegin(of: day, start: settings.weekStart)
      whole = first...first + 6
    case .month:
      let month = CivilDate(unchecked: day).yearMonth
      whole = Int(month.firstDay.dayNumber)...Int(month.lastDay.dayNumber)
    }
    if let holder { whole = holder.days }
    var first = day
    while first > whole.lowerBound, try closed.close(kind, on: first - 1)?.id == holder?.id {
      first -= 1
    }
    var last = day
    while last < whole.upperBound, try closed.close(kind, on: last + 1)?.id == holder?.id {
      last += 1
    }
    return first...last
  }

  /// A person's points and completions in a period; late points count where they are booked.
  func sums(of person: PersonID, _ period: Period) throws -> (points: Int, completions: Int) {
    guard let kind = PeriodKind(rawValue: period.rawValue) else {
      let rows = try source.rows(of: HouseholdProjection.points, where: [.id(merges.one(person))])
      return corrected(
        add(rows, through: Int64(lastCountedDay.dayNumber)),
        try view.corrections(of: merges.one(person)))
    }
    let closed = ClosedDays(source, settings: settings)
    let days = try self.period(kind, containing: Int(today.dayNumber), closed)
    let first = Int64(days.lowerBound)
    let last = Int64(min(days.upperBound, Int(lastCountedDay.dayNumber)))
    var sum = add(
      try source.rows(
        of: HouseholdProjection.points,
        in: RowRange(
          ["person", "day"], prefix: [.id(merges.one(person))], from: [.int(first)],
          limit: days.count)),
      through: last)
    sum = corrected(
      sum,
      try view.corrections(of: merges.one(person)).filter {
        (first...max(first, last)).contains(Int64($0.key.dayNumber))
      })
    let late = try source.rows(
      of: HouseholdProjection.late,
      in: RowRange(
        ["period", "person", "day", "event"],
        prefix: [.text(kind.rawValue), .id(merges.one(person))],
        from: [.int(first)]))
    for row in late where (row[2].int ?? .max) <= last { sum.points += Int(row[4].int ?? 0) }
    return sum
  }

  private func corrected(
    _ sum: (points: Int, completions: Int),
    _ days: [CivilDate: (points: Int, times: Int, credits: Int)]
  ) -> (points: Int, completions: Int) {
    days.values.reduce(sum) { ($0.points + $1.points, $0.completions + $1.times) }
  }

  private func add(_ rows: [[Value]], through last: Int64) -> (points: Int, completions: Int) {
    var sum = (points: 0, completions: 0)
    for row in rows where (row[1].int ?? .max) <= last {
      sum.points += Int(row[2].int ?? 0)
      sum.completions += Int(row[3].int ?? 0)
    }
    return sum
  }
}

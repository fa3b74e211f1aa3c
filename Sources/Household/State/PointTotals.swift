import HearthCRDT
import HearthSync

/// The points of people in weeks, in months and over all time.
package struct PointTotals {
  let context: DayContext
  let people: PeopleDirectory
  let ledger: PointsLedger
  let periods: PeriodCalendar

  /// Returns a person's points: the total, this week's and this month's (R9).
  package func points(of person: PersonID) throws -> (total: Int, week: Int, month: Int) {
    (
      try sums(of: person, .all).points, try sums(of: person, .week).points,
      try sums(of: person, .month).points
    )
  }

  /// Returns everybody's rank: most points first, then most completions, then by name.
  ///
  /// Reads a row per person and day of the period.
  package func leaderboard(_ period: Period) throws -> [Standing] {
    var sorted: [(PersonView, points: Int, completions: Int)] = []
    for person in try people.all() {
      let (points, completions) = try sums(of: person.id, period)
      sorted.append((person, points, completions))
    }
    sorted.sort {
      ($1.points, $1.completions, $0.0.name, $0.0.id) < (
        $0.points, $0.completions, $1.0.name, $1.0.id
      )
    }
    return sorted.map { person, points, completions in
      Standing(
        person: person.id, name: person.name, points: points, completions: completions,
        rank: 1 + sorted.count { $0.points > points })
    }
  }

  /// Returns a person's points in every week or month that has any, oldest first.
  ///
  /// The periods partition all days: closed periods keep the days they were closed with, and open
  /// ones follow the present first day of the week. So their points add up to the total.
  package func periods(_ kind: PeriodKind, of person: PersonID) throws -> [PeriodSum] {
    var found: [PeriodSum] = []
    for (day, points, late) in try daySums(kind, of: person) where day <= context.lastCountedDay {
      let number = Int(day.dayNumber)
      if let last = found.last, try periods.days(of: kind, containing: number) == bounds(of: last) {
        found[found.count - 1] = PeriodSum(
          period: kind, first: last.first, last: last.last, isClosed: last.isClosed,
          points: last.points + points, late: last.late + late)
        continue
      }
      let days = try periods.days(of: kind, containing: number)
      found.append(
        PeriodSum(
          period: kind, first: CivilDate(unchecked: days.lowerBound),
          last: CivilDate(unchecked: days.upperBound),
          isClosed: try context.closed.close(kind, on: number) != nil, points: points, late: late))
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
    for row in try context.source.rows(
      of: HouseholdTables.points, where: [.id(context.merges.one(person))])
    {
      if let day = row[1].date {
        sums[day.dayNumber, default: (0, 0)].points += Int(row[2].int ?? 0)
      }
    }
    for (day, more) in try context.view.corrections(of: context.merges.one(person)) {
      sums[day.dayNumber, default: (0, 0)].points += more.points
    }
    let late = try context.source.rows(
      of: HouseholdTables.late, where: [.text(kind.rawValue), .id(context.merges.one(person))])
    for row in late {
      guard let day = row[2].date, let amount = row[4].int, let event = row[3].identifier else {
        continue
      }
      sums[day.dayNumber, default: (0, 0)].points += Int(amount)
      if try ledger.row(event)?.day != day {
        sums[day.dayNumber, default: (0, 0)].late += Int(amount)
      }
    }
    return sums.sorted { $0.key < $1.key }.map {
      (CivilDate(unchecked: Int($0.key)), $0.value.points, $0.value.late)
    }
  }

  /// A person's points and completions in a period; late points count where they are booked.
  private func sums(of person: PersonID, _ period: Period) throws -> (points: Int, completions: Int)
  {
    guard let kind = PeriodKind(rawValue: period.rawValue) else {
      let rows = try context.source.rows(
        of: HouseholdTables.points, where: [.id(context.merges.one(person))])
      return corrected(
        add(rows, through: Int64(context.lastCountedDay.dayNumber)),
        try context.view.corrections(of: context.merges.one(person)))
    }
    let days = try periods.days(of: kind, containing: Int(context.today.dayNumber))
    let first = Int64(days.lowerBound)
    let last = Int64(min(days.upperBound, Int(context.lastCountedDay.dayNumber)))
    var sum = add(
      try context.source.rows(
        of: HouseholdTables.points,
        in: RowRange(
          ["person", "day"], prefix: [.id(context.merges.one(person))], from: [.int(first)],
          limit: days.count)),
      through: last)
    sum = corrected(
      sum,
      try context.view.corrections(of: context.merges.one(person)).filter {
        (first...max(first, last)).contains(Int64($0.key.dayNumber))
      })
    let late = try context.source.rows(
      of: HouseholdTables.late,
      in: RowRange(
        ["period", "person", "day", "event"],
        prefix: [.text(kind.rawValue), .id(context.merges.one(person))],
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

import HearthCRDT
import HearthSync

extension HouseholdBook {
  /// How many days in a row, up to today or yesterday, the person was credited (R17).
  ///
  /// Days on which nothing was due neither add nor break; today does not break while it lasts.
  /// Reads the person's days from today back to the break.
  package func streak(of person: PersonID) throws -> Int {
    let rules = try dueRules()
    let pageRows = 64
    var place: [Value] = [.day(today)]
    var length = 0
    var expected = today
    var isLater = false
    while true {
      let page = try source.rows(
        of: HouseholdProjection.points,
        in: RowRange(
          ["person", "day"], prefix: [.id(person)], from: place, isExclusive: isLater,
          isDescending: true, limit: pageRows))
      for row in page {
        guard let day = row[1].date else { continue }
        place = [row[1]]
        guard (row[4].int ?? 0) > 0 else { continue }
        if isBroken(after: day, before: expected, rules) { return length }
        length += 1
        guard let before = day.adding(days: -1) else { return length }
        expected = before
      }
      guard page.count == pageRows else { return length }
      isLater = true
    }
  }

  /// The badges of the catalogue, and which of them a person has (R16).
  ///
  /// Earned on the day of the n-th credited completion, in order of days, or of the n-th day in a
  /// row; gone when an undo takes that away. O(d), d the days on which the person did something.
  package func badges(of person: PersonID) throws -> [BadgeView] {
    let rules = try dueRules()
    var count = 0
    var run = 0
    var longest = 0
    var before: CivilDate?
    var earned: [String: CivilDate] = [:]
    for (day, credited) in try creditedDays(of: person) {
      if let before, let eve = day.adding(days: -1), isBroken(after: before, before: eve, rules) {
        run = 0
      }
      run += 1
      count += credited
      longest = max(longest, run)
      before = day
      for badge in Badge.catalogue where earned[badge.key] == nil {
        let reached = badge.measure == .completions ? count : run
        if reached >= badge.required { earned[badge.key] = day }
      }
    }
    return Badge.catalogue.map { badge in
      let reached = badge.measure == .completions ? count : longest
      return BadgeView(
        badge: badge, earnedOn: earned[badge.key], progress: min(reached, badge.required))
    }
  }

  /// The day on which a person was credited for the n-th time, counted from 1; nil before that.
  ///
  /// What a badge for so many chores asks: it vanishes when the count falls below (R16).
  package func day(ofCompletion number: Int, by person: PersonID) throws -> CivilDate? {
    precondition(number > 0, "completion \(number) is not counted from 1")
    var count = 0
    for (day, credited) in try creditedDays(of: person) {
      count += credited
      if count >= number { return day }
    }
    return nil
  }

  private func creditedDays(of person: PersonID) throws -> [(CivilDate, Int)] {
    try source.rows(of: HouseholdProjection.points, where: [.id(person)]).compactMap { row in
      guard let day = row[1].date, let credited = row[4].int, credited > 0 else { return nil }
      return (day, Int(credited))
    }
  }

  /// The chores that are not archived.
  private func dueRules() throws -> [ChoreFacts] {
    try source.ids(of: HouseholdSchema.chore)
      .compactMap { try ChoreFacts($0, from: source) }.filter { !$0.isArchived }
  }

  /// Whether something was due, but today, on a day after one day and up to another.
  private func isBroken(
    after first: CivilDate, before last: CivilDate, _ rules: [ChoreFacts]
  ) -> Bool {
    var day = last
    while day > first {
      if day != today, rules.contains(where: { $0.isDue(on: day) }) { return true }
      guard let before = day.adding(days: -1) else { return false }
      day = before
    }
    return false
  }
}

import HearthCRDT
import HearthSync

/// The streaks and badges of people (R16, R17).
package struct Achievements {
  let context: DayContext

  /// Returns the person's streak: the consecutive credited days up to today or yesterday (R17).
  ///
  /// A day on which nothing was due neither extends nor breaks the streak. Today does not break it
  /// either until the day is over. Reads the person's days from today back to the break.
  package func streak(of person: PersonID) throws -> Int {
    let rules = try dueRules()
    guard try context.view.changes().isEmpty else {
      return try streak(of: creditedDays(of: person), rules)
    }
    let pageRows = 64
    var place: [Value] = [.day(context.today)]
    var length = 0
    var expected = context.today
    var isLater = false
    while true {
      let page = try context.source.rows(
        of: HouseholdTables.points,
        in: RowRange(
          ["person", "day"], prefix: [.id(context.merges.one(person))], from: place,
          isExclusive: isLater,
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

  /// The streak, from all days on which the person was credited, in order.
  private func streak(of days: [(CivilDate, Int)], _ rules: [DueRule]) throws -> Int {
    var length = 0
    var expected = context.today
    for (day, _) in days.reversed() where day <= context.today {
      if isBroken(after: day, before: expected, rules) { return length }
      length += 1
      guard let before = day.adding(days: -1) else { return length }
      expected = before
    }
    return length
  }

  /// Returns the badges of the catalogue, and which of them a person has (R16).
  ///
  /// A person earns a badge on the day of the n-th credited completion, in order of days, or on the
  /// n-th day of a streak. An undo that takes that completion or day away also takes the badge
  /// away. O(d), where d is the number of days on which the person did something.
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

  /// Returns the day of a person's n-th credited completion, counted from 1; nil before that.
  ///
  /// A badge for a number of completions needs this: the badge vanishes when the count falls below
  /// (R16).
  package func day(ofCompletion number: Int, by person: PersonID) throws -> CivilDate? {
    precondition(number > 0, "completion \(number) is not counted from 1")
    var count = 0
    for (day, credited) in try creditedDays(of: person) {
      count += credited
      if count >= number { return day }
    }
    return nil
  }

  /// Returns how often a person was credited, for each day with a credit, in order of day.
  private func creditedDays(of person: PersonID) throws -> [(CivilDate, Int)] {
    let one = context.merges.one(person)
    var days: [CivilDate: Int] = [:]
    for row in try context.source.rows(of: HouseholdTables.points, where: [.id(one)]) {
      guard let day = row[1].date, let credited = row[4].int, day <= context.lastCountedDay else {
        continue
      }
      days[day] = Int(credited)
    }
    for (day, more) in try context.view.corrections(of: one) {
      days[day, default: 0] += more.credits
    }
    return days.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The due rules of the chores that are not archived.
  private func dueRules() throws -> [DueRule] {
    try context.source.ids(of: HouseholdSchema.chore)
      .compactMap { try context.facts(of: $0) }.filter { !$0.isArchived }
      .compactMap(DueRule.init)
  }

  /// Whether something was due after `first` and up to `last`; today does not count.
  private func isBroken(
    after first: CivilDate, before last: CivilDate, _ rules: [DueRule]
  ) -> Bool {
    rules.contains { rule in
      guard var due = rule.latest(onOrBefore: last) else { return false }
      if due == context.today {
        guard let eve = context.today.adding(days: -1), let before = rule.latest(onOrBefore: eve)
        else { return false }
        due = before
      }
      return due > first
    }
  }
}

/// The days on which a chore is due by the calendar.
///
/// The rule is read once, because a person's whole past is checked against it.
private struct DueRule {
  private let rule: RecurrenceRule?
  private let first: CivilDate

  /// Nil for a chore that is due on no day, or whose rule counts from its completion.
  init?(_ facts: ChoreFacts) {
    let rule = facts.rule
    guard rule?.mode != .afterCompletion,
      let first = rule.map({ facts.ruleFrom ?? $0.anchor }) ?? facts.due
    else { return nil }
    self.rule = rule
    self.first = first
  }

  /// The last day on or before `day` on which something was due.
  func latest(onOrBefore day: CivilDate) -> CivilDate? {
    guard day >= first else { return nil }
    guard let rule else { return first }
    return rule.latest(onOrBefore: day).flatMap { $0 >= first ? $0 : nil }
  }
}

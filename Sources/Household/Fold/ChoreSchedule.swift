import HearthCRDT
import HearthSync

/// One occurrence that can be done: computed, never stored (R6).
struct Opening: Sendable {
  let key: OccurrenceKey
  let due: CivilDate?
  let time: CivilTime?
  /// How many older ones nobody did.
  let missedBefore: Int
}

/// What of a chore is due, on a given day (R6, R7, R8) and for whom (R18).
struct ChoreSchedule {
  let fold: ChoreFold
  let today: CivilDate
  /// People whose turn is passed over.
  let inactive: [PersonID]

  /// The most occurrences that are listed of one chore.
  static let maximumOpenings = 400
  /// How many days back occurrences that nobody did are counted.
  static let maximumDaysBack = 370

  private var facts: ChoreFacts { fold.facts }

  /// The occurrences due by a day, and in any case the next one, in order of key.
  func openings(through last: CivilDate) -> [Opening] {
    guard !facts.isArchived else { return [] }
    guard let rule = facts.rule else { return once() }
    let open =
      rule.mode == .calendar ? calendar(rule, through: last) : chain(rule).map { [$0] } ?? []
    return open.enumerated().filter { place, opening in
      place == 0 || (opening.due ?? last) <= last
    }.map(\.element)
  }

  /// Whether somebody did the occurrence.
  func closing(of key: OccurrenceKey) -> Closing? { fold.closings.first { $0.key == key } }

  /// Whether the occurrence is skipped and nobody did it.
  func isSkipped(_ key: OccurrenceKey) -> Bool {
    guard closing(of: key) == nil else { return false }
    return facts.override(of: key)?.isSkipped == true
      || facts.skips.contains { $0.key == key && isInReach($0) }
  }

  private func isInReach(_ skip: Skip) -> Bool {
    guard let date = skip.key.occurrence?.date else { return true }
    return skip.day.days(until: date) <= Validation.maximumDaysAhead
  }

  // MARK: - One-off chores

  private func once() -> [Opening] {
    guard closing(of: .once) == nil, !isSkipped(.once) else { return [] }
    let due = facts.override(of: .once)?.due ?? facts.due
    return [Opening(key: .once, due: due, time: facts.time, missedBefore: 0)]
  }

  // MARK: - Chains counted from completion

  private func chain(_ rule: RecurrenceRule) -> Opening? {
    let closings = fold.closings.filter { $0.key == nil }
    if case .count(let count) = rule.end, closings.count >= count { return nil }
    var due: CivilDate?
    if let last = closings.last {
      due = rule.nextDue(afterCompletionDay: last.lastDay)
    } else {
      due = max(rule.anchor, facts.ruleFrom ?? rule.anchor)
    }
    var skipped = 0
    for skip in facts.skips {
      guard skip.key == .chain(done: closings.count, skipped: skipped),
        closings.last.map({ skip.cause.covers($0.credited.version.dot) }) ?? true,
        let current = due
      else { continue }
      due = rule.nextDue(afterCompletionDay: max(current, skip.day))
      skipped += 1
    }
    guard let due else { return nil }
    let key = OccurrenceKey.chain(done: closings.count, skipped: skipped)
    return Opening(
      key: key, due: shown(facts.override(of: key)?.due ?? due),
      time: rule.time(ofSlot: 0) ?? facts.time, missedBefore: 0)
  }

  // MARK: - Calendar rules

  /// The first date on which the rule may open anything: from its edit on, and not before work
  /// already done.
  private func floor(_ rule: RecurrenceRule) -> CivilDate {
    var floor = max(rule.anchor, facts.ruleFrom ?? rule.anchor)
    guard fold.settings.missed != .stack else { return floor }
    for closing in fold.closings {
      let date = closing.key == .once ? nil : closing.key?.occurrence?.date
      if let date, date >= closing.lastDay {
        floor = max(floor, date)
      } else {
        floor = max(floor, closing.lastDay.adding(days: 1) ?? .last)
      }
    }
    return floor
  }

  private func calendar(_ rule: RecurrenceRule, through last: CivilDate) -> [Opening] {
    let floor = floor(rule)
    let closed = Set(fold.closings.compactMap(\.key))
    func isOpen(_ occurrence: Occurrence) -> Bool {
      let key = OccurrenceKey(occurrence)
      return !closed.contains(key) && !isSkipped(key)
    }
    var past: [Occurrence] = []
    if floor <= today {
      let begin = max(floor, today.adding(days: -ChoreSchedule.maximumDaysBack) ?? .first)
      past = rule.occurrences(
        from: begin, through: today,
        limit: (ChoreSchedule.maximumDaysBack + 1) * RecurrenceRule.maximumTimes)
      if past.isEmpty, let date = rule.latest(onOrBefore: today), date >= floor {
        past = rule.occurrences(from: date, through: date, limit: RecurrenceRule.maximumTimes)
      }
    }
    past = past.filter(isOpen)
    var missed = 0
    if fold.settings.missed != .stack, let latest = past.last?.date {
      missed = past.count { $0.date < latest }
      past.removeAll { $0.date < latest }
    }
    var open = past
    let begin = max(floor, today.adding(days: 1) ?? .last)
    if begin > today {
      let future = rule.occurrences(
        from: begin, through: max(last, begin), limit: ChoreSchedule.maximumOpenings)
      open += future.filter(isOpen)
      open += moved(rule, after: max(last, begin), through: last).filter(isOpen)
      if open.isEmpty { open += firstOpen(rule, after: max(last, begin), isOpen) }
    }
    return open.enumerated().map { place, occurrence in
      let key = OccurrenceKey(occurrence)
      return Opening(
        key: key, due: shown(facts.override(of: key)?.due ?? occurrence.date),
        time: rule.time(ofSlot: occurrence.slot) ?? facts.time,
        missedBefore: place == 0 && fold.settings.missed != .neverOverdue ? missed : 0)
    }
  }

  /// Occurrences of later dates that were moved into the window.
  private func moved(
    _ rule: RecurrenceRule, after date: CivilDate, through last: CivilDate
  ) -> [Occurrence] {
    facts.overrides.compactMap { override in
      guard let due = override.due, due <= last, let occurrence = override.key.occurrence,
        occurrence.date > date, rule.isOccurrence(occurrence)
      else { return nil }
      return occurrence
    }
  }

  private func firstOpen(
    _ rule: RecurrenceRule, after date: CivilDate, _ isOpen: (Occurrence) -> Bool
  ) -> [Occurrence] {
    guard let begin = date.adding(days: 1) else { return [] }
    let ahead = rule.occurrences(
      from: begin, through: .last,
      limit: facts.skips.count + facts.overrides.count
        + fold.closings.count + 1)
    return ahead.first(where: isOpen).map { [$0] } ?? []
  }

  /// With the never-overdue policy, what is late is due today.
  private func shown(_ due: CivilDate) -> CivilDate {
    fold.settings.missed == .neverOverdue ? max(due, today) : due
  }
}

// MARK: - Whose turn it is

extension ChoreSchedule {
  /// Whom an occurrence is for; `steps` counts the open ones before it.
  func assignee(of opening: Opening, steps: Int) -> PersonID? {
    if let person = facts.override(of: opening.key)?.person { return person }
    switch facts.assignment {
    case .nobody: return nil
    case .person(let person): return person
    case .rotation(let people, let kind):
      let order = people.filter { !inactive.contains($0) }
      guard !order.isEmpty else { return nil }
      return turn(order, kind, opening, steps: steps)
    }
  }

  private func turn(
    _ order: [PersonID], _ kind: RotationKind, _ opening: Opening, steps: Int
  ) -> PersonID {
    switch kind {
    case .byDate: return order[ordinal(of: opening.key) % order.count]
    case .byTurn:
      let last = fold.closings.last { order.contains($0.credited.person) }?.credited.person
      let place = last.flatMap { order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
      return order[(place + steps) % order.count]
    case .leastDone:
      let day = opening.due ?? today
      let counts = order.map { person in
        fold.closings.count {
          let age = $0.credited.day.days(until: day)
          return $0.credited.person == person && age >= 0 && age < 28
        }
      }
      let ranked = zip(counts, order).sorted { ($0.0, $0.1) < ($1.0, $1.1) }
      return ranked[0].1
    case .random:
      var key = ByteWriter(capacity: 32)
      key.identifier(facts.chore)
      key.signed(opening.key.rawValue)
      let hash = naturalID(in: facts.zone, type: HouseholdSchema.occurrence, key: key.bytes)
      return order[Int(hash.low % UInt64(order.count))]
    }
  }

  private func ordinal(of key: OccurrenceKey) -> Int {
    guard let rule = facts.rule, rule.mode == .calendar else {
      return fold.closings.count { $0.key == nil }
    }
    return key.occurrence.flatMap { rule.ordinal(of: $0) } ?? 0
  }
}

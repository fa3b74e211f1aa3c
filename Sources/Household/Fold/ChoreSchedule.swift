import HearthCRDT
import HearthSync

/// One occurrence that can be done; it is computed and never stored (R6).
struct Opening: Sendable {
  let key: OccurrenceKey
  /// The day it falls due by the rule, or was moved to; it decides whose turn it is.
  let fallsDue: CivilDate?
  /// The day under which it is shown.
  let due: CivilDate?
  let time: CivilTime?
  /// The number of older occurrences that nobody did.
  let missedBefore: Int
  /// The number of open occurrences before it, listed or not.
  var steps = 0
}

/// The due occurrences of a chore on a given day (R6, R7, R8), and their assignees (R18).
struct ChoreSchedule {
  let facts: ChoreFacts
  let log: ChoreLog
  let settings: HouseholdSettings
  let today: CivilDate
  /// People whose turn is skipped.
  let inactive: [PersonID]
  private let turns = LastTurn()

  /// The most occurrences that are listed for one chore.
  static let maximumOpenings = 400
  /// The number of past days in which undone occurrences are counted.
  static let maximumDaysBack = 370

  /// Returns the occurrences due by a day, and always the next one, in order of key.
  func openings(through last: CivilDate) throws -> [Opening] {
    guard !facts.isArchived else {
      Probe.archivedHasNoOpening.hit()
      return []
    }
    guard let rule = facts.rule else { return try once() }
    let open =
      try rule.mode == .calendar && !Mutant.nextFromCompletion.isActive
      ? calendar(rule, through: last) : chain(rule).map { [$0] } ?? []
    var told: [Opening] = []
    for (place, var opening) in open.enumerated()
    where place == 0 || (opening.due ?? last) <= last {
      opening.steps = Mutant.countsShownTurns.isActive ? told.count : place
      told.append(opening)
    }
    return told
  }

  /// Returns the last calendar occurrence due on a past day, if nobody did it.
  func open(onOrBefore day: CivilDate) throws -> OccurrenceKey? {
    guard let rule = facts.rule, rule.mode == .calendar,
      let date = rule.latest(onOrBefore: day), date >= facts.ruleFrom ?? rule.anchor
    else { return nil }
    let slots = rule.occurrences(from: date, through: date, limit: RecurrenceRule.maximumTimes)
    let closed = try log.closedKeys(from: date)
    return slots.map { OccurrenceKey($0) }.first { !closed.contains($0) && !isSkipped($0) }
  }

  /// Whether an undone occurrence is skipped.
  private func isSkipped(_ key: OccurrenceKey) -> Bool {
    facts.override(of: key)?.isSkipped == true
      || facts.skips(of: key).contains(where: isInReach)
  }

  private func isInReach(_ skip: Skip) -> Bool {
    guard let date = skip.key.occurrence?.date else { return true }
    return skip.day.days(until: date) <= Validation.maximumDaysAhead
  }

  // MARK: - One-off chores

  private func once() throws -> [Opening] {
    // Under a rule that this version cannot read it may be done once a day.
    let key = facts.ruleText == nil ? OccurrenceKey.once : .wholeDay(today)
    guard try log.lastDay(of: key) == nil, !isSkipped(.once) else {
      Probe.onceClosed.hit()
      return []
    }
    let moved = facts.override(of: .once)
    return [
      opening(.once, due: moved?.due ?? facts.due, time: moved?.time ?? facts.time)
    ]
  }

  // MARK: - Chains counted from completion

  private func chain(_ rule: RecurrenceRule) throws -> Opening? {
    if case .count(let count) = rule.end, try log.chainCount() >= count { return nil }
    let done = try log.count()
    let link = try log.lastLink()
    Probe.dueFromCompletion.hit(if: link != nil)
    guard var due = beginning(of: rule, after: link) else { return nil }
    // A skip applies to the link after the work that its author had seen. It counts from the later
    // of its own day and the day on which the link was due or to which it was moved.
    func skips(of key: OccurrenceKey) -> [Skip] {
      facts.skips(of: key).filter { link?.isKnown(to: $0.cause) ?? true }
    }
    var skipped = 0
    var key = OccurrenceKey.chain(done: done, skipped: 0)
    while skipped < OccurrenceKey.maximumSkipped,
      let day = skips(of: key).map(\.day).max()
    {
      let current = facts.override(of: key)?.due ?? due
      guard let next = rule.nextDue(afterCompletionDay: max(current, day)) else { return nil }
      Probe.chainSkipped.hit()
      due = next
      skipped += 1
      key = .chain(done: done, skipped: skipped)
    }
    if skipped == OccurrenceKey.maximumSkipped {
      // The last existing key serves for all later ones.
      for skip in skips(of: key) {
        guard let next = rule.nextDue(afterCompletionDay: max(due, skip.day)) else { return nil }
        due = next
      }
    }
    return opening(
      key, due: facts.override(of: key)?.due ?? due,
      time: facts.override(of: key)?.time ?? rule.time(ofSlot: 0) ?? facts.time)
  }

  /// The due day of the link after the last work.
  ///
  /// It lies one interval after that work. But a rule opens no earlier than the day it was written,
  /// and no earlier than the last date that was closed under another rule (R6).
  private func beginning(of rule: RecurrenceRule, after link: Link?) -> CivilDate? {
    guard
      var due = link.map({ rule.nextDue(afterCompletionDay: $0.lastDay) }) ?? rule.anchor
    else { return nil }
    due = max(due, facts.ruleFrom ?? due)
    var closed = link?.lastDate
    if link?.isChain != true {
      for skip in facts.skips where skip.key != .once && isInReach(skip) {
        guard let date = skip.key.occurrence?.date else { continue }
        closed = max(closed ?? date, date)
      }
    }
    if let next = closed.flatMap({ $0.adding(days: 1) }) { due = max(due, next) }
    if case .until(let last) = rule.end, due > last { return nil }
    return due
  }

  // MARK: - Calendar rules

  /// Returns the first date on which the rule may open anything.
  ///
  /// It is not before the rule's last edit, and not before work already done.
  private func floor(_ rule: RecurrenceRule) throws -> CivilDate {
    var floor = max(rule.anchor, facts.ruleFrom ?? rule.anchor)
    guard settings.missed != .stack else { return floor }
    if let open = try log.firstOpenDate() { floor = max(floor, open) }
    return max(floor, lastSkippedDate ?? floor)
  }

  /// The last skipped date that has come; it closes older occurrences too (R8).
  ///
  /// A skipped future date closes only itself: earlier occurrences remain due.
  private var lastSkippedDate: CivilDate? {
    let skipped = facts.skips.filter(isInReach).map(\.key)
    let marked = facts.overrides.filter(\.isSkipped).map(\.key)
    return (skipped + marked).compactMap { $0.occurrence?.date }.filter { $0 <= today }.max()
  }

  private func calendar(_ rule: RecurrenceRule, through last: CivilDate) throws -> [Opening] {
    let floor = try floor(rule)
    let past = past(rule, from: floor)
    let closed = try log.closedKeys(from: past.first?.date ?? floor)
    func isOpen(_ occurrence: Occurrence) -> Bool {
      let key = OccurrenceKey(occurrence)
      return !closed.contains(key) && !isSkipped(key)
    }
    // An occurrence that was moved to a past day or today is due like those of that day.
    let early = moved(rule, after: today, through: today).filter { $0.date >= floor && isOpen($0) }
    var open = past.filter(isOpen) + early
    var missed = 0
    if settings.missed != .stack, let latest = open.last?.date {
      missed = open.count { $0.date < latest }
      Probe.missedRolled.hit(if: missed > 0)
      open.removeAll { $0.date < latest }
    }
    let begin = max(floor, today.adding(days: 1) ?? .last)
    if begin > today {
      // Occurrences before one that was moved to an earlier day take their turns before it.
      let far = moved(rule, after: max(last, begin), through: last)
      let future = rule.occurrences(
        from: begin, through: far.last?.date ?? max(last, begin),
        limit: ChoreSchedule.maximumOpenings)
      let later = future + far.filter { !future.contains($0) }
      open += later.filter { isOpen($0) && !early.contains($0) }
      if open.isEmpty {
        Probe.firstOpenAhead.hit()
        open += firstOpen(rule, after: max(last, begin), closed.count, isOpen)
      }
    }
    if Mutant.leavesOutOccurrence.isActive, open.count > 1 { open.remove(at: 1) }
    return open.enumerated().map { place, occurrence in
      let key = OccurrenceKey(occurrence)
      return opening(
        key, due: facts.override(of: key)?.due ?? occurrence.date,
        time: facts.override(of: key)?.time ?? rule.time(ofSlot: occurrence.slot) ?? facts.time,
        missedBefore: place == 0 && settings.missed != .neverOverdue ? missed : 0)
    }
  }

  /// The occurrences up to today that are considered; always the latest one, however old.
  private func past(_ rule: RecurrenceRule, from floor: CivilDate) -> [Occurrence] {
    guard floor <= today else { return [] }
    let begin = max(floor, today.adding(days: -ChoreSchedule.maximumDaysBack) ?? .first)
    let past = rule.occurrences(
      from: begin, through: today,
      limit: (ChoreSchedule.maximumDaysBack + 1) * RecurrenceRule.maximumTimes)
    guard past.isEmpty, let date = rule.latest(onOrBefore: today), date >= floor else {
      return past
    }
    return rule.occurrences(from: date, through: date, limit: RecurrenceRule.maximumTimes)
  }

  /// Returns the occurrences of later dates that were moved into the window, in order.
  private func moved(
    _ rule: RecurrenceRule, after date: CivilDate, through last: CivilDate
  ) -> [Occurrence] {
    facts.overrides.compactMap { override in
      guard let due = override.due, due <= last, let occurrence = override.key.occurrence,
        occurrence.date > date, rule.isOccurrence(occurrence)
      else { return nil }
      Probe.movedIntoWindow.hit()
      return occurrence
    }.sorted()
  }

  private func firstOpen(
    _ rule: RecurrenceRule, after date: CivilDate, _ closed: Int, _ isOpen: (Occurrence) -> Bool
  ) -> [Occurrence] {
    guard let begin = date.adding(days: 1) else { return [] }
    let ahead = rule.occurrences(
      from: begin, through: .last,
      limit: facts.skips.count + facts.overrides.count
        + closed + 1)
    return ahead.first(where: isOpen).map { [$0] } ?? []
  }

  /// The opening of an occurrence; the never-overdue policy shows overdue ones as due today.
  private func opening(
    _ key: OccurrenceKey, due: CivilDate?, time: CivilTime?, missedBefore: Int = 0
  ) -> Opening {
    let isShownLater = settings.missed == .neverOverdue && due.map { $0 < today } ?? false
    Probe.neverOverdue.hit(if: isShownLater)
    let shown = isShownLater ? today : due
    return Opening(
      key: key, fallsDue: Mutant.turnsByShownDay.isActive ? shown : due, due: shown, time: time,
      missedBefore: missedBefore)
  }
}

// MARK: - Rotation

extension ChoreSchedule {
  /// The assignee of an occurrence.
  func assignee(of opening: Opening) throws -> PersonID? {
    let own = facts.override(of: opening.key)?.assignment()
    Probe.assignedOnce.hit(if: own != nil)
    switch own ?? facts.assignment {
    case .nobody: return nil
    case .person(let person): return person
    case .rotation(let people, let kind):
      let order = people.filter { !inactive.contains($0) }
      guard !order.isEmpty else { return nil }
      return try turn(order, kind, opening)
    }
  }

  private func turn(
    _ order: [PersonID], _ kind: RotationKind, _ opening: Opening
  ) throws -> PersonID {
    switch kind {
    case .byDate:
      Probe.rotationByDate.hit()
      return order[try ordinal(of: opening.key) % order.count]
    case .byTurn:
      Probe.rotationByTurn.hit()
      let last = try turns.person {
        try log.last { $0.kind == .credited && order.contains($0.person) }?.person
      }
      let place = last.flatMap { order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
      return order[(place + opening.steps) % order.count]
    case .leastDone:
      Probe.rotationLeastDone.hit()
      let credits = try log.credits(in: 28, through: opening.fallsDue ?? today)
      let counts = order.map { credits[$0] ?? 0 }
      let ranked = zip(counts, order).sorted { ($0.0, $0.1) < ($1.0, $1.1) }
      return ranked[0].1
    case .random:
      Probe.rotationRandom.hit()
      var key = ByteWriter(capacity: 32)
      key.identifier(facts.chore)
      key.signed(opening.key.rawValue)
      let hash = naturalID(in: facts.zone, type: HouseholdSchema.occurrence, key: key.bytes)
      return order[Int(hash.low % UInt64(order.count))]
    }
  }

  private func ordinal(of key: OccurrenceKey) throws -> Int {
    guard let rule = facts.rule else { return 0 }
    guard rule.mode == .calendar else { return try log.count() }
    return key.occurrence.flatMap { rule.ordinal(of: $0) } ?? 0
  }
}

/// The person who had the last turn.
///
/// It is the same for every opening of a schedule, and finding it may read the whole history.
private final class LastTurn {
  private var known: PersonID??

  func person(_ find: () throws -> PersonID?) rethrows -> PersonID? {
    if let known { return known }
    let found = try find()
    known = .some(found)
    return found
  }
}

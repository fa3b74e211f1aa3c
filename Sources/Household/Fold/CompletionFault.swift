import HearthCRDT
import HearthSync

/// The reason why a completion never counts, on any replica at any time.
///
/// It depends only on the completion itself and on what its author had seen, so later writes do not
/// change it.
package enum CompletionFault: String, CaseIterable, Sendable {
  /// Its author had seen the chore archived (R4).
  case archived
  /// Its day does not fit its instant, or its instant does not fit the time of its change (R9).
  case impossibleTime = "impossible-time"
  /// Its author had not seen the chore.
  case unknownChore = "unknown-chore"
  /// The chore had no such occurrence that its author had seen (R6).
  case noSuchOccurrence = "no-such-occurrence"
  /// An earlier occurrence was not due by the day of the work either (R6), or its author had seen
  /// two links of the chain within one interval of it (R7).
  case tooEarly = "too-early"
  /// A later occurrence had replaced it by the day of the work (R8).
  case superseded
  /// Its doer was not assigned, in a household with strict assignment (R2).
  case notAssigned = "not-assigned"
}

/// The bounds on how early and how late an occurrence may be done.
enum OccurrenceTime {
  /// Whether an occurrence lies too far ahead of the day of the work.
  ///
  /// Allowed are the occurrences due by that day, or by the day after for time zones, and the first
  /// later one. So nobody is paid today for a whole year. An occurrence never lies more than a year
  /// ahead.
  ///
  /// - Parameter move: the day to which it was moved, which may have brought it near.
  static func isTooEarly(
    _ occurrence: Occurrence, movedTo move: CivilDate?, by rule: RecurrenceRule, on day: CivilDate
  ) -> Bool {
    guard let tomorrow = day.adding(days: 1) else { return false }
    let due = min(occurrence.date, move ?? occurrence.date)
    guard due > tomorrow else { return false }
    guard day.days(until: due) <= Validation.maximumDaysAhead else { return true }
    let before = occurrence.date.adding(days: -1).flatMap { rule.latest(onOrBefore: $0) }
    return before.map { $0 > tomorrow } ?? false
  }

  /// Whether a later occurrence was due by the day of the work.
  static func isOver(_ occurrence: Occurrence, by rule: RecurrenceRule, on day: CivilDate) -> Bool {
    guard occurrence.date < day, let latest = rule.latest(onOrBefore: day) else { return false }
    return latest > occurrence.date
  }
}

extension ChoreFold {
  /// Returns the completion's own fault; nil if it has none.
  ///
  /// - Parameter past: what its author had seen of the chain, judged.
  func fault(of completion: Completion, after past: ChainPast) throws -> CompletionFault? {
    Probe.doneWhileArchived.hit(if: facts.isArchived)
    if Mutant.archiveWins.isActive, facts.isArchived { return .archived }
    let cause = completion.cause
    if facts.isArchived(asOf: cause) { return .archived }
    guard ChoreFold.hasValidTime(completion) else { return .impossibleTime }
    guard facts.wasThere(asOf: cause) else { return .unknownChore }
    if let fault = try occurrenceFault(of: completion, after: past) { return fault }
    let terms = try closed.terms(on: Int(completion.day.dayNumber))
    guard terms.strictAssignee else { return nil }
    Probe.strictAssignee.hit()
    let isOne =
      isAssigned(completion, seen: cause) || isAssigned(completion, seen: terms.seen)
    return isOne ? nil : .notAssigned
  }

  /// Returns the fault of a completion of the ledger, by the other rows of the ledger.
  func fault(of row: LedgerRow) throws -> CompletionFault? {
    guard let completion = try item(row)?.completion else { return nil }
    return try fault(of: completion, after: ChainPast(of: self))
  }

  private func occurrenceFault(
    of completion: Completion, after past: ChainPast
  ) throws -> CompletionFault? {
    let rule: RecurrenceRule
    switch self.rule(asOf: completion.cause) {
    case .once: return completion.key == .once ? nil : .noSuchOccurrence
    // Each counts for its day.
    case .unreadable: return nil
    case .known(let known): rule = known
    }
    guard rule.mode == .calendar else {
      return try completion.key == nil ? past.fault(of: completion, by: rule) : .noSuchOccurrence
    }
    guard let key = completion.key, let occurrence = key.occurrence, rule.isOccurrence(occurrence)
    else { return .noSuchOccurrence }
    let move = facts.override(of: key)?.due(seen: completion.cause)
    if OccurrenceTime.isTooEarly(occurrence, movedTo: move, by: rule, on: completion.day) {
      return .tooEarly
    }
    guard OccurrenceTime.isOver(occurrence, by: rule, on: completion.day),
      try closed.missedPolicy(seen: completion.cause) != .stack
    else { return nil }
    return .superseded
  }

  /// Refuses work on a chain that no replica would count.
  ///
  /// - Throws: `tooEarly`, `noSuchOccurrence`.
  func refuseLink(on day: CivilDate, by rule: RecurrenceRule) throws {
    guard let obstacle = try ChainPast(of: self).obstacle(on: day, seenBy: nil, by: rule) else {
      return
    }
    guard obstacle.fault == .tooEarly else {
      throw HouseholdError(
        .noSuchOccurrence,
        "\(quoted(facts.title)) has no occurrence any more; change its rule first")
    }
    let next = obstacle.nextDay.map { "; enter it from \($0) on" } ?? ""
    throw HouseholdError(
      .tooEarly,
      "\(quoted(facts.title)) was done as often as its rule allows before its next day, so once "
        + "more on \(day) is too early" + next)
  }
}

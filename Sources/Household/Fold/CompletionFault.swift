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

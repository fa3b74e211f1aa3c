import HearthCRDT

/// What became of one completion.
struct CompletionOutcome: Sendable {
  let completion: Completion
  let kind: LedgerKind
  let points: Int
}

/// An occurrence that somebody did.
struct Closing: Sendable {
  /// The occurrence; nil for a place in a chain counted from completion.
  let key: OccurrenceKey?
  /// The completion that is credited: the least of the valid ones.
  let credited: Completion
  /// The latest day that any of them names.
  let lastDay: CivilDate
}

/// The rules over one chore's records: a pure function, so replicas with equal records agree.
///
/// Nothing here knows today's date; what is due is the business of ``ChoreSchedule``.
struct ChoreFold: Sendable {
  let facts: ChoreFacts
  let settings: HouseholdSettings
  /// One for each completion, in order of version.
  let outcomes: [CompletionOutcome]
  /// In order of the credited completions' versions.
  let closings: [Closing]

  /// Half a day: completions of one chain nearer than this, made without knowing of each other,
  /// are one (R7). The rule says half the interval or this, and no interval is below a day.
  static let clusterMilliseconds: UInt64 = 12 * 60 * 60 * 1000
  /// How far a completion may lie ahead of its own change: the lead a clock accepts.
  private static let maximumLeadMilliseconds: Int64 = 5 * 60 * 1000
  private static let millisecondsPerDay: Int64 = 24 * 60 * 60 * 1000

  init(_ facts: ChoreFacts, settings: HouseholdSettings) {
    self.facts = facts
    self.settings = settings
    var kinds: [RecordID: (LedgerKind, Int)] = [:]
    var valid: [Completion] = []
    for completion in facts.completions {
      if facts.retracted.contains(completion.id) {
        kinds[completion.id] = (.undone, 0)
      } else if ChoreFold.isValid(completion, facts, settings) {
        valid.append(completion)
      } else {
        kinds[completion.id] = (.invalid, 0)
      }
    }
    var closings: [Closing] = []
    for group in ChoreFold.groups(valid) {
      closings.append(
        Closing(
          key: group[0].key, credited: group[0],
          lastDay: group.reduce(group[0].day) { max($0, $1.day) }))
      for (completion, kind, points) in ChoreFold.awards(group, facts, settings.duplicate) {
        kinds[completion.id] = (kind, points)
      }
    }
    self.closings = closings.sorted { $0.credited.version < $1.credited.version }
    outcomes = facts.completions.map { completion in
      let (kind, points) = kinds[completion.id] ?? (.invalid, 0)
      return CompletionOutcome(completion: completion, kind: kind, points: points)
    }
  }

  /// Whether a completion counts, looking only at it and at what its author had seen.
  private static func isValid(
    _ completion: Completion, _ facts: ChoreFacts, _ settings: HouseholdSettings
  ) -> Bool {
    guard !facts.isArchived(asOf: completion.cause), hasValidTime(completion) else { return false }
    if let date = completion.key.flatMap(\.occurrence)?.date,
      completion.day.days(until: date) > Validation.maximumDaysAhead
    {
      return false
    }
    guard settings.strictAssignee else { return true }
    let person = completion.person
    if let key = completion.key, let history = facts.override(of: key)?.assignee {
      let seen = history.shown(asOf: completion.cause)?.value.identifier
      if seen == person || history.shown?.value.identifier == person { return true }
    }
    return facts.assignment(asOf: completion.cause).includes(person)
      || facts.assignment.includes(person)
  }

  /// The bounds of R9: the day fits the instant, which is neither ahead of the author's clock nor
  /// more than a week behind it (and a day for the zones' sake).
  private static func hasValidTime(_ completion: Completion) -> Bool {
    let written = Int64(completion.version.time.milliseconds)
    let (behind, overflow) = written.subtractingReportingOverflow(completion.doneAt)
    guard !overflow, behind >= -maximumLeadMilliseconds,
      behind <= Int64(Validation.maximumDaysBack + 1) * millisecondsPerDay
    else { return false }
    let utcDay = Int(
      completion.doneAt / millisecondsPerDay - (completion.doneAt % millisecondsPerDay < 0 ? 1 : 0))
    return abs(Int(completion.day.dayNumber) - utcDay) <= 1
  }

  /// The completions of each occurrence, each group in order of version.
  private static func groups(_ valid: [Completion]) -> [[Completion]] {
    var groups: [[Completion]] = []
    let keyed = valid.filter { $0.key != nil }
      .sorted { ($0.key?.rawValue ?? 0, $0.version) < ($1.key?.rawValue ?? 0, $1.version) }
    for completion in keyed {
      if groups.last?.first?.key == completion.key {
        groups[groups.count - 1].append(completion)
      } else {
        groups.append([completion])
      }
    }
    // A chain (R7): a completion that did not know of the last closing and lies near it is the
    // same work; any other closes the next place.
    var chain: [[Completion]] = []
    for completion in valid where completion.key == nil {
      if let closing = chain.last?.first, closing.isConcurrent(to: completion),
        isNear(closing.doneAt, completion.doneAt)
      {
        chain[chain.count - 1].append(completion)
      } else {
        chain.append([completion])
      }
    }
    return groups + chain
  }

  private static func isNear(_ left: Int64, _ right: Int64) -> Bool {
    let distance =
      left > right
      ? left.subtractingReportingOverflow(right)
      : right.subtractingReportingOverflow(left)
    return !distance.overflow && UInt64(distance.partialValue) <= clusterMilliseconds
  }

  /// Who is paid what for one occurrence (R1); each pays what its doer saw (R3).
  private static func awards(
    _ group: [Completion], _ facts: ChoreFacts, _ policy: DuplicatePolicy
  ) -> [(Completion, LedgerKind, Int)] {
    var claimants: [PersonID] = []
    for completion in group where !claimants.contains(completion.person) {
      claimants.append(completion.person)
    }
    let price = facts.points(asOf: group[0].cause)
    var paid: [PersonID] = []
    return group.enumerated().map { place, completion in
      guard !paid.contains(completion.person) else { return (completion, .alsoDone, 0) }
      paid.append(completion.person)
      let kind: LedgerKind = place == 0 ? .credited : .alsoDone
      let points =
        switch policy {
        case .first: place == 0 ? price : 0
        case .each: facts.points(asOf: completion.cause)
        case .split:
          price / claimants.count + (place == 0 ? price % claimants.count : 0)
        }
      return (completion, kind, points)
    }
  }
}

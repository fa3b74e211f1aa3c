import HearthCRDT
import HearthSync

/// A completion with all that decides whether it counts.
struct FoldItem: Sendable {
  let completion: Completion
  let isValid: Bool
  /// The changes that take it back.
  let retractions: [Dot]
}

/// What became of a completion.
struct Outcome: Equatable, Sendable {
  let kind: LedgerKind
  let points: Int
}

/// The rules over completions of one chore: a pure function, so replicas with equal records agree.
///
/// Nothing here knows today's date; what is due is the business of ``ChoreSchedule``. Completions
/// of different occurrences do not meet, so any number of whole occurrences can be folded apart
/// from the others; those of a chain are folded from a head on (R7).
struct ChoreFold {
  let facts: ChoreFacts
  let closed: ClosedDays
  let source: any ProjectionSource

  /// Half a day: the distance within which two completions of a chain can be the same work (R7).
  ///
  /// They are if neither author knew of the other. The rule says half the interval or this,
  /// whichever is less, and half of no interval is less.
  static let clusterMilliseconds: UInt64 = 12 * 60 * 60 * 1000
  /// How far a completion may lie ahead of its own change: the lead a clock accepts.
  private static let maximumLeadMilliseconds: Int64 = 5 * 60 * 1000
  private static let millisecondsPerDay: Int64 = 24 * 60 * 60 * 1000

  /// Judges a completion by itself.
  func item(_ completion: Completion) throws -> FoldItem {
    FoldItem(
      completion: completion, isValid: try isValid(completion),
      retractions: try source.retractions(of: completion.id)
        .filter { try isAllowed($0, of: completion) }.map(\.version.dot))
  }

  /// What becomes of completions in the eyes of somebody with a knowledge, or of everybody.
  ///
  /// - Parameter items: in order of version.
  func outcomes(of items: [FoldItem], seen: Frontier? = nil) throws -> [RecordID: Outcome] {
    var outcomes: [RecordID: Outcome] = [:]
    var valid: [Completion] = []
    for item in items {
      let completion = item.completion
      guard seen?.covers(completion.version.dot) ?? true else { continue }
      if item.retractions.contains(where: { seen?.covers($0) ?? true }) {
        Probe.completionUndone.hit()
        outcomes[completion.id] = Outcome(kind: .undone, points: 0)
      } else if item.isValid {
        valid.append(completion)
      } else {
        outcomes[completion.id] = Outcome(kind: .invalid, points: 0)
      }
    }
    for group in ChoreFold.groups(valid) {
      let policy = try closed.terms(on: Int(group[0].day.dayNumber)).duplicate
      for (completion, outcome) in awards(group, policy) { outcomes[completion.id] = outcome }
    }
    return outcomes
  }

  /// Whether a completion counts, looking only at it and at what its author had seen.
  private func isValid(_ completion: Completion) throws -> Bool {
    Probe.doneWhileArchived.hit(if: facts.isArchived)
    if Mutant.archiveWins.isActive, facts.isArchived { return false }
    guard !facts.isArchived(asOf: completion.cause), ChoreFold.hasValidTime(completion) else {
      return false
    }
    if let date = completion.key.flatMap(\.occurrence)?.date,
      completion.day.days(until: date) > Validation.maximumDaysAhead
    {
      return false
    }
    let terms = try closed.terms(on: Int(completion.day.dayNumber))
    guard terms.strictAssignee else { return true }
    Probe.strictAssignee.hit()
    let person = completion.person
    if let key = completion.key, let history = facts.override(of: key)?.assignee {
      let now = terms.seen.map { history.shown(asOf: $0) } ?? history.shown
      let then = history.shown(asOf: completion.cause)
      if [now, then].contains(where: { $0?.value.identifier == person }) { return true }
    }
    return facts.assignment(asOf: completion.cause).includes(person)
      || facts.assignment(seen: terms.seen).includes(person)
  }

  /// Whether somebody may take a completion back (R11): an administrator always; its performer
  /// and recorder until they have seen its week or month closed.
  private func isAllowed(_ retraction: EventState, of completion: Completion) throws -> Bool {
    let device = retraction.version.dot.author.device
    if Mutant.undoByClock.isActive, retraction.version < completion.version { return false }
    if try closed.isAdministrator(device) { return true }
    if device != completion.version.dot.author.device {
      let person = try closed.member(of: device)?.id
      guard person == completion.person || person == completion.recordedBy else {
        return false
      }
    }
    let day = Int(completion.day.dayNumber)
    return try PeriodKind.allCases.allSatisfy { kind in
      guard let close = try closed.close(kind, on: day) else { return true }
      Probe.undoOfClosedDay.hit()
      return retraction.cause?.covers(close.version.dot) != true
    }
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
      if let closing = chain.last?.first,
        closing.isConcurrent(to: completion) || Mutant.chainIgnoresCause.isActive,
        isNear(closing.doneAt, completion.doneAt)
      {
        Probe.chainSameWork.hit()
        chain[chain.count - 1].append(completion)
      } else {
        Probe.chainNextLink.hit()
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
  private func awards(
    _ group: [Completion], _ policy: DuplicatePolicy
  ) -> [(Completion, Outcome)] {
    var claimants: [PersonID] = []
    for completion in group where !claimants.contains(completion.person) {
      claimants.append(completion.person)
    }
    let price =
      Mutant.paysPresentPrice.isActive ? facts.points : facts.points(asOf: group[0].cause)
    if group.count > 1 { (claimants.count > 1 ? Probe.doneBySeveral : .doneTwiceByOne).hit() }
    Probe.priceOfThen.hit(if: price != facts.points)
    var paid: [PersonID] = []
    return group.enumerated().map { place, completion in
      guard !paid.contains(completion.person) else {
        return (completion, Outcome(kind: .alsoDone, points: 0))
      }
      paid.append(completion.person)
      Probe.paidEach.hit(if: policy == .each)
      Probe.paidSplit.hit(if: policy == .split && claimants.count > 1)
      let points =
        switch policy {
        case .first: place == 0 || Mutant.paysTwice.isActive ? price : 0
        case .each:
          facts.points(asOf: completion.cause)
        case .split:
          price / claimants.count + (place == 0 ? price % claimants.count : 0)
        }
      return (completion, Outcome(kind: place == 0 ? .credited : .alsoDone, points: points))
    }
  }
}

import HearthCRDT
import HearthMembership
import HearthSync

/// A completion and the facts that decide whether it counts.
struct FoldItem: Sendable {
  let completion: Completion
  let isValid: Bool
  /// The retractions that take it back.
  let retractions: [Dot]
}

/// The outcome of a completion.
struct Outcome: Equatable, Sendable {
  let kind: LedgerKind
  let points: Int
}

/// The rules over completions of one chore: a pure function, so replicas with equal records agree.
///
/// It does not depend on today's date; ``ChoreSchedule`` computes what is due. Completions of
/// different occurrences do not interact, so any set of whole occurrences can be folded apart from
/// the others. Completions of a chain are folded from a head on (R7). Only if both kinds were
/// written within ``mixingMilliseconds`` must all be folded together. The completion itself names
/// its occurrence, not the present rule, so an edit changes nothing that was paid.
struct ChoreFold {
  let facts: ChoreFacts
  let closed: ClosedDays
  let source: any ProjectionSource

  /// Half a day: the distance within which two completions of a chain can be the same work (R7).
  ///
  /// They are the same work if neither author knew of the other. The rule takes half the interval
  /// or this value, whichever is less, and half of no interval is less.
  static let clusterMilliseconds: UInt64 = 12 * 60 * 60 * 1000
  /// The greatest distance between the changes of two completions of the same work, one of a chain.
  ///
  /// It is the distance of the work, plus how far each work may lie before or after its own change.
  static let mixingMilliseconds =
    clusterMilliseconds + UInt64(maximumLeadMilliseconds + maximumAgeMilliseconds)
  /// How long the work may precede its change: a week, and a day for time zones.
  static let maximumAgeMilliseconds = Int64(Validation.maximumDaysBack + 1) * millisecondsPerDay
  /// How far a completion may lie ahead of its own change: the lead that a clock accepts.
  static let maximumLeadMilliseconds: Int64 = 5 * 60 * 1000
  private static let millisecondsPerDay: Int64 = 24 * 60 * 60 * 1000

  /// Judges a completion on its own.
  func item(_ completion: Completion) throws -> FoldItem {
    FoldItem(
      completion: completion, isValid: try fault(of: completion) == nil,
      retractions: try source.retractions(of: completion.id)
        .filter { try isAllowed($0, of: completion) }.map(\.version.dot))
  }

  /// Returns the outcomes of completions, now or as of a frontier.
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
      let policy = try closed.terms(onAnyOf: group.map { Int($0.day.dayNumber) }).duplicate
      for (completion, outcome) in awards(group, policy) { outcomes[completion.id] = outcome }
    }
    return outcomes
  }

  /// Whether the doer was assigned, now or as of a frontier.
  ///
  /// An assignment of the occurrence wins over the chore's own assignment (R2, R18).
  func isAssigned(_ completion: Completion, seen: Frontier?) -> Bool {
    let override = completion.key.flatMap { facts.override(of: $0) }
    if let person = override?.person(seen: seen) { return person == completion.person }
    return facts.assignment(seen: seen).includes(completion.person)
  }

  /// Whether the author of a retraction may take a completion back (R11).
  ///
  /// An administrator always may. The performer and recorder may until they have seen its week or
  /// month closed.
  private func isAllowed(_ retraction: EventState, of completion: Completion) throws -> Bool {
    let device = retraction.version.dot.author.device
    if Mutant.undoByClock.isActive, retraction.version < completion.version { return false }
    if try closed.isAdministrator(device) { return true }
    if device != completion.version.dot.author.device {
      let person = try closed.member(of: device).map { facts.merges.one($0.id) }
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

  /// Whether a completion is within the bounds of R9.
  ///
  /// The day fits the instant, and the instant is neither ahead of the author's clock nor more than
  /// a week behind it (and a day for time zones).
  static func hasValidTime(_ completion: Completion) -> Bool {
    let written = Int64(completion.version.time.milliseconds)
    let (behind, overflow) = written.subtractingReportingOverflow(completion.doneAt)
    guard !overflow, behind >= -maximumLeadMilliseconds,
      behind <= maximumAgeMilliseconds
    else { return false }
    let utcDay = Int(
      completion.doneAt / millisecondsPerDay - (completion.doneAt % millisecondsPerDay < 0 ? 1 : 0))
    return abs(Int(completion.day.dayNumber) - utcDay) <= 1
  }

  /// Returns the completions of each occurrence; groups and their heads are in order of version.
  private static func groups(_ valid: [Completion]) -> [[Completion]] {
    var groups: [[Completion]] = []
    var places: [OccurrenceKey: Int] = [:]
    for completion in valid {
      let place: Int
      if let known = completion.key.flatMap({ places[$0] }) {
        place = known
      } else if let closing = groups.last?.first, isSameWork(closing, completion) {
        Probe.chainSameWork.hit()
        place = groups.count - 1
      } else {
        Probe.chainNextLink.hit(if: completion.key == nil)
        place = groups.count
        groups.append([])
      }
      groups[place].append(completion)
      if let key = completion.key { places[key] = place }
    }
    return groups
  }

  /// Whether a completion of a chain is the same work as the last link; if not, it closes the next
  /// (R7).
  ///
  /// It is if it did not know of that link and lies near it. A completion that names its occurrence
  /// can be the same work as one of a chain, since its author may not have seen the new rule.
  private static func isSameWork(_ closing: Completion, _ completion: Completion) -> Bool {
    (closing.key == nil || completion.key == nil)
      && (closing.isConcurrent(to: completion) || Mutant.chainIgnoresCause.isActive)
      && isNear(closing.doneAt, completion.doneAt)
  }

  private static func isNear(_ left: Int64, _ right: Int64) -> Bool {
    let distance =
      left > right
      ? left.subtractingReportingOverflow(right)
      : right.subtractingReportingOverflow(left)
    return !distance.overflow && UInt64(distance.partialValue) <= clusterMilliseconds
  }

  /// Returns the payments of one occurrence (R1), at the points that each doer had seen (R3).
  private func awards(
    _ group: [Completion], _ policy: DuplicatePolicy
  ) -> [(Completion, Outcome)] {
    let claimants = Set(group.map(\.person))
    let price =
      Mutant.paysPresentPrice.isActive ? facts.points : facts.points(asOf: group[0].cause)
    if group.count > 1 { (claimants.count > 1 ? Probe.doneBySeveral : .doneTwiceByOne).hit() }
    Probe.priceOfThen.hit(if: price != facts.points)
    var paid: Set<PersonID> = []
    return group.enumerated().map { place, completion in
      guard paid.insert(completion.person).inserted else {
        return (completion, Outcome(kind: .alsoDone, points: 0))
      }
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

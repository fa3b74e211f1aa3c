import HearthCRDT
import HearthMembership
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
/// from the others; those of a chain are folded from a head on (R7). Only where both kinds were
/// written within ``mixingMilliseconds`` do all have to be folded together. An occurrence is told
/// by the completion's own words, not by the rule of now: an edit changes nothing that was paid.
struct ChoreFold {
  let facts: ChoreFacts
  let closed: ClosedDays
  let source: any ProjectionSource

  /// Half a day: the distance within which two completions of a chain can be the same work (R7).
  ///
  /// They are if neither author knew of the other. The rule says half the interval or this,
  /// whichever is less, and half of no interval is less.
  static let clusterMilliseconds: UInt64 = 12 * 60 * 60 * 1000
  /// Completions of which one is of a chain can be the same work only if their changes lie nearer:
  /// the distance of the work, and how far each may lie before or after its own change.
  static let mixingMilliseconds =
    clusterMilliseconds + UInt64(maximumLeadMilliseconds + maximumAgeMilliseconds)
  /// How long before its own change the work may lie: a week, and a day for the zones' sake.
  static let maximumAgeMilliseconds = Int64(Validation.maximumDaysBack + 1) * millisecondsPerDay
  /// How far a completion may lie ahead of its own change: the lead a clock accepts.
  static let maximumLeadMilliseconds: Int64 = 5 * 60 * 1000
  private static let millisecondsPerDay: Int64 = 24 * 60 * 60 * 1000

  /// Judges a completion by itself.
  func item(_ completion: Completion) throws -> FoldItem {
    FoldItem(
      completion: completion, isValid: try fault(of: completion) == nil,
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
      let policy = try closed.terms(onAnyOf: group.map { Int($0.day.dayNumber) }).duplicate
      for (completion, outcome) in awards(group, policy) { outcomes[completion.id] = outcome }
    }
    return outcomes
  }

  /// Whether the doer was assigned, or was for somebody of this knowledge; whom the occurrence was
  /// given to wins over the chore's own assignment (R2, R18).
  func isAssigned(_ completion: Completion, seen: Frontier?) -> Bool {
    let override = completion.key.flatMap { facts.override(of: $0) }
    if let person = override?.person(seen: seen) { return person == completion.person }
    return facts.assignment(seen: seen).includes(completion.person)
  }

  /// Whether somebody may take a completion back (R11): an administrator always; its performer
  /// and recorder until they have seen its week or month closed.
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

  /// The bounds of R9: the day fits the instant, which is neither ahead of the author's clock nor
  /// more than a week behind it (and a day for the zones' sake).
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

  /// The completions of each occurrence, each group and their heads in order of version.
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

  /// Whether a completion of a chain is the same work as the last closing: it did not know of it
  /// and lies near; any other closes the next place (R7).
  ///
  /// One that names its occurrence can be the same as one of a chain, since its author may not have
  /// seen the new rule.
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

  /// Who is paid what for one occurrence (R1); each pays what its doer saw (R3).
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

import HearthCRDT
import HearthMembership
import HearthSync

/// The rule of a chore as somebody had seen it.
enum SeenRule {
  /// No rule: the chore is done once.
  case once
  /// A rule of a newer version.
  case unreadable
  case known(RecurrenceRule)
}

/// The rules over completions of one chore: a pure function, so replicas with equal records agree.
///
/// It does not depend on today's date; ``ChoreSchedule`` computes what is due. Completions of
/// different occurrences do not interact, so any set of whole occurrences can be folded apart from
/// the others; once a chore has a chain, a stretch from one that opened an occurrence to the next
/// such one can (R7). The completion itself names its occurrence, not the present rule, so an edit
/// changes nothing that was paid.
struct ChoreFold {
  let facts: ChoreFacts
  let closed: ClosedDays
  let source: any ProjectionSource
  private let rules = RuleMemory()

  /// How long the work may precede its change: a week, and a day for time zones.
  static let maximumAgeMilliseconds = Int64(Validation.maximumDaysBack + 1) * millisecondsPerDay
  /// How far a completion may lie ahead of its own change: the lead that a clock accepts.
  static let maximumLeadMilliseconds: Int64 = 5 * 60 * 1000
  private static let millisecondsPerDay: Int64 = 24 * 60 * 60 * 1000

  /// Reads the completion of a row that has its verdict already.
  func item(_ row: LedgerRow) throws -> FoldItem? {
    guard let completion = try source.completion(row.event, merges: facts.merges) else {
      return nil
    }
    return FoldItem(
      completion: placed(completion), isValid: row.effect != .nothing,
      retractions: row.effect == .takenBack ? try retractions(of: completion) : [])
  }

  /// The chore's rule as of a frontier (R6).
  func rule(asOf cause: Frontier) -> SeenRule {
    guard let text = facts.ruleText(asOf: cause) else { return .once }
    return rules.rule(of: text).map(SeenRule.known) ?? .unreadable
  }

  /// The completion under the key of the occurrence that it counts for.
  ///
  /// A rule of a newer version may have any occurrence, so its work counts for a whole day: nobody
  /// is paid for more than one in a day by a program that cannot check it (R29).
  func placed(_ completion: Completion) -> Completion {
    guard case .unreadable = rule(asOf: completion.cause) else { return completion }
    var placed = completion
    placed.key = .wholeDay(completion.day)
    return placed
  }

  /// The retractions of a completion that count.
  func retractions(of completion: Completion) throws -> [Dot] {
    try source.retractions(of: completion.id).filter { try isAllowed($0, of: completion) }
      .map(\.version.dot)
  }

  /// Returns the outcomes of completions, now or as of a frontier.
  ///
  /// - Parameter items: in order of version.
  func outcomes(of items: [FoldItem], seen: Frontier? = nil) throws -> [RecordID: Outcome] {
    var outcomes: [RecordID: Outcome] = [:]
    var valid = OccurrenceGroups()
    for item in items {
      let completion = item.completion
      guard seen?.covers(completion.version.dot) ?? true else { continue }
      if item.retractions.contains(where: { seen?.covers($0) ?? true }) {
        Probe.completionUndone.hit()
        outcomes[completion.id] = Outcome(kind: .undone, points: 0)
      } else if item.isValid {
        _ = try valid.add(completion) { try isSurplus(completion, beside: $0) }
      } else {
        outcomes[completion.id] = Outcome(kind: .invalid, points: 0)
      }
    }
    return outcomes.merging(try payments(valid)) { _, paid in paid }
  }

  /// Whether its doer has two links of the chain within one interval of a further one (R1, R7).
  ///
  /// One person knows of the own work, on whichever devices and incarnations it was told.
  ///
  /// - Parameters:
  ///   - links: the links before it, in order.
  ///   - start: the place before which the ledger has more of them; nil for none.
  func isSurplus(
    _ completion: Completion, beside links: [Completion], before start: FoldOrder? = nil
  ) throws -> Bool {
    guard case .known(let rule) = self.rule(asOf: completion.cause) else { return false }
    let times = ChoreLedger.times(ofWork: rule.window(around: completion.day))
    var count = 0
    func note(_ person: PersonID, _ day: CivilDate) {
      if person == completion.person, rule.isWithinInterval(day, completion.day) { count += 1 }
    }
    for link in links.reversed() {
      guard count < 2, link.version.time >= times.lowerBound else { break }
      note(link.person, link.day)
    }
    if let start, count < 2 {
      let ledger = ChoreLedger(source: source, chore: facts.chore)
      try ledger.forEachLinkBack(.counts, in: times) { row in
        if row.kind == .credited, row.order < start { note(row.person, row.day) }
        return count < 2
      }
    }
    return count >= 2
  }

  /// Returns the outcomes of completions that count, by the occurrences that they closed.
  func payments(_ occurrences: OccurrenceGroups) throws -> [RecordID: Outcome] {
    var outcomes: [RecordID: Outcome] = [:]
    for group in occurrences.groups {
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
    let assignment = override?.assignment(seen: seen) ?? facts.assignment(seen: seen)
    return assignment.includes(completion.person)
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

/// The rules that were read, by their texts: most completions saw the same one.
private final class RuleMemory {
  private var known: [String: RecurrenceRule?] = [:]

  /// Reads a rule; nil if this version cannot.
  func rule(of text: String) -> RecurrenceRule? {
    if let rule = known[text] { return rule }
    let rule = try? RecurrenceRule(text: text)
    known[text] = .some(rule)
    return rule
  }
}

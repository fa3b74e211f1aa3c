import HearthCRDT

/// Decides which operations of a control log have effect.
///
/// The seven principles are in `docs/decisions/0056-entry-is-final.md`. Each operation is first
/// judged by its own past. Conflicts are then resolved from the top: the chain of owners, and then
/// for each rank the joins that give it, its people's operations on their own devices, and those on
/// others. The results of a rank are fixed for all ranks below. Only causes, ranks and ids count,
/// not the order of arrival.
///
/// A pass judges every operation once, each by the few operations about its device and its person.
/// Each step that changed anything needs a pass; usually there is one. All steps together are one
/// round. A void operation decides nothing: if one took part, another round begins without it.
struct ControlResolver: Sendable {
  private(set) var findings: Findings
  private var judge: Judge
  /// The number of passes, and of undecided joins, when the joins of a rank were last resolved.
  private var settled: [Int: (passes: Int, undecided: Int)] = [:]
  /// The number of passes so far.
  private(set) var passes = 0
  /// Whether each operation had the same effect in every pass.
  private(set) var isSteady = true
  /// The overrides that were dropped although the operation that draws the line has effect.
  private var fallen: Set<Strike> = []
  /// Whether no operation lost or gained its effect in this round.
  private var isRoundSteady = true
  private var stock = Stock()

  var group: GroupID { judge.checks.group }
  /// The signatures that were verified.
  var proofs: ProofBook { judge.checks.proofs }

  init(
    group: GroupID, items: [ControlItem], forks: ControlForks = ControlForks(), proofs: ProofBook
  ) {
    let log = ControlLog(items, forks: forks)
    findings = Findings(log, ControlIndex(log, group: group))
    judge = Judge(group: group, log: log, proofs: proofs)
    settle()
    for place in log.items.indices where findings.verdicts[place].refusal == nil { note(place) }
  }

  /// Indexes an operation that its own past allows, once its person is known.
  private mutating func note(_ place: Int) {
    let verdict = findings.verdicts[place]
    findings.index.note(
      place, findings.log.items[place], by: verdict.person, from: verdict.formerOwner)
  }

  // MARK: Passes

  private mutating func pass(from start: Int) {
    passes += 1
    stock = Stock()
    judge.begin(findings.log)
    findings.live.truncate(to: start)
    let before = findings.isLive
    for place in start..<findings.log.items.count { findings.isLive[place] = false }
    for place in start..<findings.log.items.count { findings.judge(place, by: &judge) }
    if findings.isLive != before { isRoundSteady = false }
  }

  /// Overrides operations, and judges again the operations that may depend on them.
  private mutating func strike(_ struck: [Strike]) {
    let new = struck.filter { findings.strikes[$0.place] == nil }
    guard let first = new.map(\.place).min() else { return }
    Probe.operationStruck.hit()
    // An operation without effect may also have been a witness.
    isRoundSteady = false
    for strike in new where findings.strikes[strike.place] == nil {
      findings.strikes[strike.place] = strike
    }
    if !passOver(new.map(\.place)) { pass(from: first) }
  }

  /// Overrides ownership offers and judges again the acceptances, the only operations that depend
  /// on them; returns false if more may depend on these operations.
  private mutating func passOver(_ places: [Int]) -> Bool {
    guard let first = places.min(),
      places.allSatisfy({ findings.log.operation($0).isOffer })
    else { return false }
    for place in places where findings.isLive[place] {
      findings.isLive[place] = false
      findings.live.withdraw(place)
    }
    let later = findings.index.acceptances[
      findings.index.acceptances.partitionPoint { $0 > first }...]
    for acceptance in later where findings.strikes[acceptance] == nil {
      // This is not in log order.
      judge.forget(findings.log.author(acceptance))
      guard judge.verdict(of: acceptance, in: findings) == findings.verdicts[acceptance] else {
        return false
      }
    }
    judge.begin(findings.log)
    passes += 1
    stock = Stock()
    return true
  }

  /// The most rounds: each repeats everything, since a void operation may have taken part.
  private static var maximumRounds: Int { 12 }

  /// The most handovers that are set aside one by one because the new owner is not in the group.
  private static var maximumAside: Int { 4 }

  /// Resolves all conflicts; in every case the result has one owner who belongs to the group.
  private mutating func settle() {
    settleWithOwners()
    for attempt in 0...ControlResolver.maximumAside {
      guard let owner = LogView.all.owner(in: findings),
        LogView.all.addition(of: owner, in: findings) == nil
      else { return }
      let isLast = attempt == ControlResolver.maximumAside
      findings.aside.formUnion(findings.live.acceptances.suffix(isLast ? .max : 1))
      lift(Array(findings.strikes.indices))
      settleWithOwners()
    }
  }

  /// Resolves conflicts from the top until no void operation takes part.
  ///
  /// Each round begins with the pending joins and the overrides of the round before. The first
  /// round ignores ownership handovers, so that a person whose join is pending can neither accept
  /// an offer nor admit others as if they were the owner.
  private mutating func settleWithOwners() {
    if !findings.index.acceptances.isEmpty {
      findings.handOvers = []
      begin()
      settleRanks()
      if !isRoundSteady { isSteady = false }
      lift(Array(findings.strikes.indices))
    }
    var known: Assumption?
    var isJudged = false
    fallen = []
    for round in 1...ControlResolver.maximumRounds {
      findings.handOvers = nil
      if isJudged { isRoundSteady = true } else { begin() }
      settleOwners()
      settleRanks()
      let fallen = fallenStrikes()
      if isRoundSteady, fallen.isEmpty { return }
      // Every operation must have either effect or a reason why it has none.
      guard round < ControlResolver.maximumRounds else {
        isSteady = false
        return
      }
      if Mutant.settlesOnce.isActive { return }
      isSteady = false
      let found = assumption
      if let known, known == found { return }
      known = found
      lift(fallen)
      // The last pass has already judged everything under the assumption of the next round.
      isJudged = fallen.isEmpty && findings.index.acceptances.isEmpty
    }
  }

  private typealias Assumption = (struck: [Int?], contested: [Bool], confirmed: [Int?])

  private var assumption: Assumption {
    (findings.strikes.map { $0?.by }, findings.contests.map { $0 != nil }, findings.confirmations)
  }

  private mutating func lift(_ places: [Int]) {
    for place in places { findings.strikes[place] = nil }
  }

  /// Judges everything again, but keeps the findings so far.
  private mutating func begin() {
    for place in findings.index.acceptances { findings.confirmations[place] = nil }
    pass(from: 0)
    isRoundSteady = true
  }

  /// The overrides by an operation that is void or whose line no longer reaches the target.
  ///
  /// An override that was dropped for want of witnesses and came back stays: otherwise an operation
  /// that removes its only witness, and has effect because of it, would come and go in each round.
  private mutating func fallenStrikes() -> [Int] {
    let struck = findings.strikes.compactMap { $0 }
    guard !struck.isEmpty else { return [] }
    takeStock()
    let own = Overrides(findings, stock)
    return struck.filter { strike in
      guard !own.holds(strike) else { return false }
      return !findings.isLive[strike.by] || fallen.insert(strike).inserted
    }.map(\.place)
  }

  private mutating func settleRanks() {
    let ranks = [Role.owner.rank, Role.admin.rank, Role.member.rank, Role.child.rank]
    for rank in Mutant.lowerRankGoesFirst.isActive ? ranks.reversed() : ranks {
      settleEntries(of: rank)
      let before = passes
      for kind in Overrides.OwnKind.allCases { draw { $0.strikes(kind, of: rank) } }
      if passes != before { settleEntries(of: rank) }
      draw { $0.overruled(by: rank) }
      draw { $0.drawn(by: rank) }
    }
  }

  /// Overrides the operations beyond the lines of currently effective operations.
  private mutating func draw(_ found: (Overrides) -> [Strike]) {
    takeStock()
    strike(found(Overrides(findings, stock)))
  }

  private mutating func takeStock() { if stock.standings.isEmpty { stock = Stock(findings) } }

  private mutating func settleOwners() {
    guard !findings.index.acceptances.isEmpty else { return }
    var taken: Set<Int> = []
    var chain = OwnerChain(findings.log)
    while let step = chain.next(in: findings) {
      if step.isTaken { taken.insert(step.acceptance) }
      findings.confirmations[step.acceptance] = step.confirmation
      strike(step.strikes)
    }
    findings.handOvers = taken
    if findings.live.acceptances.contains(where: { !taken.contains($0) }) { pass(from: 0) }
  }

  /// The most times that the joins of one rank are examined, since one may depend on another.
  private static var maximumTurns: Int { 16 }
  /// The turns in which decisions may change, since one device of a person may confirm the next.
  static var maximumOpenTurns: Int { 3 }
  /// The most changes of the decision about a join during these turns.
  ///
  /// A join that would change again depends on a chain of other disputed joins, which no honest
  /// person makes. It stays pending until somebody of higher rank confirms it (decision 0066).
  static var maximumChanges: Int { 2 }

  private mutating func settleEntries(of rank: Int) {
    // Nothing changes if no operation was judged since.
    if let last = settled[rank], last == (passes, findings.undecided.count) { return }
    var changes: [Int: Int] = [:]
    for turn in 0..<ControlResolver.maximumTurns {
      takeStock()
      var changed = changedEntries(of: rank)
      let open = changed.filter { changes[$0.place, default: 0] < ControlResolver.maximumChanges }
      if turn < ControlResolver.maximumOpenTurns, !open.isEmpty {
        // A join that changes again comes after these joins, which may be the cause of its change.
        changed = open
      } else if !changed.isEmpty {
        leaveUndecided(changed.map(\.place), of: rank)
        changed = changedEntries(of: rank)
      }
      guard let first = changed.map(\.place).min() else {
        settled[rank] = (passes, findings.undecided.count)
        return
      }
      for decision in changed {
        changes[decision.place, default: 0] += 1
        findings.contests[decision.place] = decision.contest
        findings.confirmations[decision.place] = decision.confirmation
      }
      pass(from: first)
    }
  }

  /// Leaves joins pending, with all joins, later in the order, that their devices made final.
  private mutating func leaveUndecided(_ places: [Int], of rank: Int) {
    findings.undecided.formUnion(places)
    for place in stock.candidates[rank] ?? [] {
      let confirmer = findings.confirmations[place].flatMap { findings.verdicts[$0].enrolment }
      if let confirmer, findings.undecided.contains(confirmer) { findings.undecided.insert(place) }
    }
  }

  private func changedEntries(of rank: Int) -> [Entries.Decision] {
    Entries(findings, stock).decisions(of: rank).filter {
      findings.contests[$0.place] != $0.contest
        || findings.confirmations[$0.place] != $0.confirmation
    }
  }
}

// MARK: - One operation

extension Findings {
  /// Judges an operation by its own past and enacts it unless something else is known against it.
  fileprivate mutating func judge(_ place: Int, by judge: inout Judge) {
    let verdict = judge.verdict(of: place, in: self)
    if !log.operation(place).leavesAuthor(verdict.person) { judge.forget(log.author(place)) }
    verdicts[place] = verdict
    // The earlier decision is out of date, and its consequences would otherwise come one pass late.
    if verdict.refusal != nil, !verdict.isContested { contests[place] = nil }
    if verdict.isAttempt, let invite = verdict.invite { live.note(attempt: place, at: invite) }
    guard strikes[place] == nil else { return noteOverruled(place) }
    let isExcluded = handOvers?.contains(place) == false || aside.contains(place)
    if verdict.formerOwner != nil, isExcluded { return }
    let isConfirmed = confirmations[place] != nil
    let isAllowed = verdict.refusal == nil || verdict.isContested && isConfirmed
    guard isAllowed, contests[place] == nil || isConfirmed else { return }
    enact(place)
  }

  /// Records a role change that lost to a lower role: its author and others acted on it meanwhile.
  private mutating func noteOverruled(_ place: Int) {
    guard let strike = strikes[place], strike.rule == .twoRoles, verdicts[place].refusal == nil,
      case .setRole(let person, let role, _) = log.operation(place),
      let winner = given(strike.by), winner.rank <= role.rank
    else { return }
    live.add(overruled: place, of: person, in: log)
  }
}

// MARK: - Further operations

extension ControlResolver {
  /// Adds a change whose author had seen everything.
  ///
  /// Such a change is beyond no line, draws none and decides no conflict, since its author had seen
  /// both sides. It changes only its own subject and the joins that it confirms. Joins and
  /// confirmations are resolved here only if nothing was ever in doubt.
  ///
  /// - Returns: Whether that sufficed; if not, everything must be resolved again, and only the
  ///   verified signatures of this resolver are of use.
  mutating func add(_ change: [ControlItem]) -> Bool {
    let start = findings.log.items.count
    guard findings.log.append(change) else { return false }
    for place in start..<findings.log.items.count where !add(place) { return false }
    return true
  }

  private mutating func add(_ place: Int) -> Bool {
    stock = Stock()
    judge.extend(to: findings.log)
    findings.index.add(place, of: findings.log, group: group)
    findings.extend()
    findings.judge(place, by: &judge)
    guard settleHandOvers(place), settleAlone(place) else { return false }
    if findings.verdicts[place].refusal == nil { note(place) }
    return true
  }

  /// Decides which ownership handovers the last operation makes final, for example as an operation
  /// of the former owner; returns false if another handover may win as a result.
  private mutating func settleHandOvers(_ place: Int) -> Bool {
    guard findings.isLive[place] else { return true }
    for acceptance in findings.index.acceptances where findings.confirmations[acceptance] == nil {
      guard let owner = findings.verdicts[acceptance].formerOwner, findings.person(place) == owner
      else { continue }
      if findings.isLive[acceptance] {
        findings.confirmations[acceptance] = place
      } else if !isSteady {
        // Its author knows of the end, so its silence confirms nothing.
        if findings.strikes[acceptance]?.rule == .offerEnded { continue }
        guard let winner = findings.strikes[acceptance]?.by,
          findings.verdicts[winner].formerOwner == owner,
          let taken = findings.offer(takenBy: acceptance), let won = findings.offer(takenBy: winner)
        else { return false }
        // A handover that a third person confirmed, or that was offered first, wins in any case.
        let isVouched = findings.confirmations[winner].map { findings.person($0) != owner } ?? false
        guard isVouched || (won, winner) < (taken, acceptance) else { return false }
      }
    }
    return true
  }

  /// Decides the joins that the last operation makes or confirms; false if others may be affected.
  private mutating func settleAlone(_ place: Int) -> Bool {
    let confirmed: [Int]
    switch findings.log.operation(place) {
    case .genesis, .acceptOwner: return false
    case .join: return isSteady
    case .admit:
      guard isSteady, findings.isCandidate(place) else { return isSteady }
      findings.confirmations[place] = place
      findings.live.truncate(to: place)
      findings.isLive[place] = false
      findings.judge(place, by: &judge)
      return true
    case .confirm(let targets):
      let ids = Set(targets)
      guard !findings.index.acceptances.contains(where: { ids.contains(findings.log.items[$0].id) })
      else { return false }
      confirmed = findings.index.joinings.filter { ids.contains(findings.log.items[$0].id) }
    case .epoch(let grant):
      confirmed = grant.wraps.flatMap { findings.index.enrolments[$0.recipient] ?? [] }
    case .setRole(let person, _, _): confirmed = findings.index.additions[person] ?? []
    default: return true
    }
    guard isSteady else { return false }
    for entry in confirmed where findings.isCandidate(entry) {
      guard isUndisputed(entry) else { return false }
      findings.confirmations[entry] = Entries(findings, stock).confirmation(of: entry)
    }
    return true
  }

  /// Whether a join has effect, and no other join depends on whether it is final.
  private func isUndisputed(_ place: Int) -> Bool {
    guard findings.isLive[place], let person = findings.enrolledPerson(place),
      let invite = findings.verdicts[place].invite, let made = findings.log.terms(invite)
    else { return false }
    return findings.index.uses[findings.log.invited[invite]].count <= made.maximumUses
      && (findings.index.additions[person] ?? []).count { findings.verdicts[$0].given != nil } <= 1
  }
}

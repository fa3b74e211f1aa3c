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
package struct ControlResolver: Sendable {
  package let group: GroupID
  package private(set) var log: ControlLog
  package var index: ControlIndex
  var proofs: ProofBook
  let doubledWords: DoubledWords
  private(set) var live = LiveIndex()
  /// Whether each operation has effect.
  package private(set) var isLive: [Bool]
  private(set) var verdicts: [Verdict]
  /// The reason why a line of another operation overrides this one.
  private(set) var strikes: [VoidReason?]
  /// The objection to each join that its own past allows.
  private(set) var contests: [VoidReason?]
  /// The operation that makes a join or an ownership handover final.
  private(set) var confirmations: [Int?]
  /// Joins that are pending because too many other disputed joins decide about them.
  private(set) var undecided: Set<Int> = []
  /// The invitation that each join is already proven to use, since the proof is costly; added
  /// operations are not in this array, since each addition would copy all of it.
  private var provenBy: [Int?]
  /// The number of passes, and of undecided joins, when the joins of a rank were last resolved.
  private var settled: [Int: (passes: Int, undecided: Int)] = [:]
  /// The number of passes so far.
  package private(set) var passes = 0
  /// Whether each operation had the same effect in every pass.
  private(set) var isSteady = true
  /// The effective acceptances; nil while the chain of owners is followed.
  private var handOvers: Set<Int>?
  /// Acceptances that failed because the new owner was not in the group.
  private var aside: Set<Int> = []
  /// The operation whose line overrides each operation.
  private(set) var strikers: [Int?]
  /// Whether no operation lost or gained its effect in this round.
  private var isRoundSteady = true
  /// The authority of each log's author at their last operation of this pass.
  private var authorities: [Authority?] = []
  private(set) var stock = Stock()

  init(
    group: GroupID, items: [ControlItem], forks: ControlForks = ControlForks(), proofs: ProofBook
  ) {
    self.group = group
    self.proofs = proofs
    log = ControlLog(items, forks: forks)
    index = ControlIndex(log, group: group)
    doubledWords = DoubledWords(log)
    let count = log.items.count
    isLive = [Bool](repeating: false, count: count)
    verdicts = [Verdict](repeating: Verdict(), count: count)
    strikes = [VoidReason?](repeating: nil, count: count)
    contests = [VoidReason?](repeating: nil, count: count)
    confirmations = [Int?](repeating: nil, count: count)
    strikers = [Int?](repeating: nil, count: count)
    provenBy = [Int?](repeating: nil, count: count)
    settle()
    for place in log.items.indices where verdicts[place].refusal == nil {
      index.note(place, log.items[place], verdicts[place])
    }
  }

  /// The rank of an operation's author at that time; 0 for a stranger.
  func rank(_ place: Int) -> Int { verdicts[place].rank }

  /// The person whose device wrote an operation, or who joins by it.
  package func person(_ place: Int) -> PersonID? { verdicts[place].person }

  /// The role that an operation gives to its subject; nil if it gives none.
  package func given(_ place: Int) -> Role? { verdicts[place].given }

  /// The reason why an operation is void; nil for an effective one.
  package func reason(_ place: Int) -> VoidReason? {
    if isLive[place] { return nil }
    let verdict = verdicts[place]
    if let refusal = verdict.refusal, !verdict.isContested { return refusal }
    if let reason = strikes[place] ?? verdict.refusal ?? contests[place] { return reason }
    // An acceptance that the chain of owners did not include.
    return verdict.formerOwner == nil ? nil : .expired
  }

  /// Whether a join has no effect only because it is contested.
  package func isWaiting(_ place: Int) -> Bool {
    !isLive[place] && strikes[place] == nil && verdicts[place].isProven
      && (verdicts[place].refusal == nil || verdicts[place].isContested)
  }

  // MARK: Passes

  private mutating func pass(from start: Int) {
    passes += 1
    stock = Stock()
    authorities = [Authority?](repeating: nil, count: log.causality.authorCount)
    live.truncate(to: start)
    let before = isLive
    for place in start..<log.items.count { isLive[place] = false }
    for place in start..<log.items.count { judgeOne(place) }
    if isLive != before { isRoundSteady = false }
  }

  mutating func authority(_ place: Int) -> Authority {
    let (author, sight) = (log.author(place), log.causality.sight[log.changes[place]])
    // An author who has seen nothing new and changed nothing since has the same authority.
    if let known = authorities[author], known.sight == sight { return known }
    let found = findAuthority(place, sight)
    authorities[author] = found
    return found
  }

  private mutating func judgeOne(_ place: Int) {
    let verdict = judge(place)
    if !log.operation(place).leavesAuthor(verdict.person) {
      authorities[log.author(place)] = nil
    }
    verdicts[place] = verdict
    // The earlier decision is out of date, and its consequences would otherwise come one pass late.
    if verdict.refusal != nil, !verdict.isContested { contests[place] = nil }
    if verdict.isAttempt, let invite = verdict.invite { live.note(attempt: place, at: invite) }
    guard strikes[place] == nil else { return noteOverruled(place) }
    if verdict.formerOwner != nil, !mayHandOver(place) { return }
    let isConfirmed = confirmations[place] != nil
    let isAllowed = verdict.refusal == nil || verdict.isContested && isConfirmed
    guard isAllowed, contests[place] == nil || isConfirmed else { return }
    isLive[place] = true
    live.add(place, verdict, of: log)
  }

  /// Whether the holder of an invitation made a join; the result is cached.
  mutating func isProven(_ place: Int, by invite: Int) -> Bool {
    if place < provenBy.count, provenBy[place] == invite { return true }
    guard let join = log.operation(place).joining, let made = invitation(invite),
      proofs.isProven(join, by: made, group: group)
    else { return false }
    if place < provenBy.count { provenBy[place] = invite }
    return true
  }

  /// Records a role change that lost to a lower role: its author and others acted on it meanwhile.
  private mutating func noteOverruled(_ place: Int) {
    guard case .overruled(_, .twoRoles) = strikes[place], verdicts[place].refusal == nil,
      case .setRole(let change) = log.operation(place), let striker = strikers[place],
      let winner = given(striker), winner.rank <= change.role.rank
    else { return }
    live.add(overruled: place, of: change.person, in: log)
  }

  private func mayHandOver(_ place: Int) -> Bool {
    handOvers?.contains(place) != false && !aside.contains(place)
  }

  /// Overrides operations, and judges again the operations that may depend on them.
  private mutating func strike(_ struck: [Strike]) {
    let new = struck.filter { strikes[$0.place] == nil }
    guard let first = new.map(\.place).min() else { return }
    Probe.operationStruck.hit()
    // An operation without effect may also have been a witness.
    isRoundSteady = false
    for strike in new where strikes[strike.place] == nil {
      strikes[strike.place] = strike.reason
      strikers[strike.place] = strike.by
    }
    if !passOver(new.map(\.place)) { pass(from: first) }
  }

  /// Overrides ownership offers and judges again the acceptances, the only operations that depend
  /// on them; returns false if more may depend on these operations.
  private mutating func passOver(_ places: [Int]) -> Bool {
    guard let first = places.min(),
      places.allSatisfy({ log.operation($0).isOffer })
    else { return false }
    let lost = places.filter { isLive[$0] }
    for place in lost {
      isLive[place] = false
      live.withdraw(place)
      isRoundSteady = false
    }
    let later = index.acceptances[index.acceptances.partitionPoint { $0 > first }...]
    for acceptance in later where strikes[acceptance] == nil {
      // This is not in log order.
      authorities[log.author(acceptance)] = nil
      guard judge(acceptance) == verdicts[acceptance] else { return false }
    }
    authorities = [Authority?](repeating: nil, count: log.causality.authorCount)
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
      guard let owner = owner(.all), addition(of: owner, .all) == nil else { return }
      let isLast = attempt == ControlResolver.maximumAside
      aside.formUnion(isLast ? live.acceptances : live.acceptances.suffix(1))
      for place in log.items.indices where strikes[place] != nil { lift(place) }
      settleWithOwners()
    }
  }

  /// Resolves conflicts from the top until no void operation takes part.
  ///
  /// Each round begins with the pending joins and the overrides of the round before. The first
  /// round ignores ownership handovers, so that a person whose join is pending can neither accept
  /// an offer nor admit others as if they were the owner.
  private mutating func settleWithOwners() {
    if !index.acceptances.isEmpty {
      handOvers = []
      begin()
      settleRanks()
      if !isRoundSteady { isSteady = false }
      for place in log.items.indices where strikes[place] != nil { lift(place) }
    }
    var known: [Assumption] = []
    var isJudged = false
    for _ in 0..<ControlResolver.maximumRounds {
      handOvers = nil
      if isJudged { isRoundSteady = true } else { begin() }
      settleOwners()
      settleRanks()
      let fallen = fallenStrikes()
      if isRoundSteady, fallen.isEmpty { return }
      if Mutant.settlesOnce.isActive { return }
      isSteady = false
      let found = assumption
      guard known.last != found else { return }
      known.append(found)
      for place in fallen { lift(place) }
      // The last pass has already judged everything under the assumption of the next round.
      isJudged = fallen.isEmpty && index.acceptances.isEmpty
    }
  }

  private struct Assumption: Equatable {
    let struck: [Int?]
    let contested: [Bool]
    let confirmed: [Int?]
  }

  private var assumption: Assumption {
    Assumption(struck: strikers, contested: contests.map { $0 != nil }, confirmed: confirmations)
  }

  /// Judges everything again, but keeps the findings so far.
  private mutating func begin() {
    for place in index.acceptances { confirmations[place] = nil }
    pass(from: 0)
    isRoundSteady = true
  }

  /// The overrides by an operation that is void or whose line no longer reaches the target.
  private mutating func fallenStrikes() -> [Int] {
    let struck = log.items.indices.filter { strikes[$0] != nil }
    guard !struck.isEmpty else { return [] }
    takeStock()
    let own = OwnOverrides(Overrides(self))
    return struck.filter { place in
      guard let reason = strikes[place], let striker = strikers[place] else { return false }
      return !own.holds(Strike(place: place, by: striker, reason: reason))
    }
  }

  private mutating func lift(_ place: Int) {
    strikes[place] = nil
    strikers[place] = nil
  }

  private mutating func settleRanks() {
    let ranks = [Role.owner.rank, Role.admin.rank, Role.member.rank, Role.child.rank]
    for rank in Mutant.lowerRankGoesFirst.isActive ? ranks.reversed() : ranks {
      settleEntries(of: rank)
      let before = passes
      for kind in OwnOverrides.Kind.allCases { draw { OwnOverrides($0).strikes(kind, of: rank) } }
      if passes != before { settleEntries(of: rank) }
      draw { OverridesByOthers(step: $0).overruled(by: rank) }
      draw { OverridesByOthers(step: $0).drawn(by: rank) }
    }
  }

  /// Overrides the operations beyond the lines of currently effective operations.
  private mutating func draw(_ found: (Overrides) -> [Strike]) {
    takeStock()
    strike(found(Overrides(self)))
  }

  private mutating func takeStock() {
    if stock.standings.isEmpty { stock = Stock(self) }
  }

  private mutating func settleOwners() {
    guard !index.acceptances.isEmpty else { return }
    var taken: Set<Int> = []
    var chain = OwnerChain(log)
    while let step = chain.next(in: self) {
      if step.isTaken { taken.insert(step.acceptance) }
      confirmations[step.acceptance] = step.confirmation
      strike(step.strikes)
    }
    handOvers = taken
    if live.acceptances.contains(where: { !taken.contains($0) }) { pass(from: 0) }
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
    if let last = settled[rank], last == (passes, undecided.count) { return }
    var changes: [Int: Int] = [:]
    for turn in 0..<ControlResolver.maximumTurns {
      takeStock()
      var changed = changedEntries(of: rank)
      let open = changed.filter {
        changes[$0.place, default: 0] < ControlResolver.maximumChanges
      }
      if turn < ControlResolver.maximumOpenTurns, !open.isEmpty {
        // A join that changes again comes after these joins, which may be the cause of its change.
        changed = open
      } else if !changed.isEmpty {
        leaveUndecided(changed.map(\.place), of: rank)
        changed = changedEntries(of: rank)
      }
      guard let first = changed.map(\.place).min() else {
        settled[rank] = (passes, undecided.count)
        return
      }
      for decision in changed {
        changes[decision.place, default: 0] += 1
        contests[decision.place] = decision.contest
        confirmations[decision.place] = decision.confirmation
      }
      pass(from: first)
    }
  }

  /// Leaves joins pending, with all joins, later in the order, that their devices made final.
  private mutating func leaveUndecided(_ places: [Int], of rank: Int) {
    undecided.formUnion(places)
    for place in stock.candidates[rank] ?? [] {
      let confirmer = confirmations[place].flatMap { verdicts[$0].enrolment }
      if let confirmer, undecided.contains(confirmer) { undecided.insert(place) }
    }
  }

  private func changedEntries(of rank: Int) -> [Entries.Decision] {
    Entries(self).decisions(of: rank).filter {
      contests[$0.place] != $0.contest || confirmations[$0.place] != $0.confirmation
    }
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
    let start = log.items.count
    guard log.append(change) else { return false }
    for place in start..<log.items.count where !add(place) { return false }
    return true
  }

  private mutating func add(_ place: Int) -> Bool {
    stock = Stock()
    while authorities.count < log.causality.authorCount { authorities.append(nil) }
    let item = log.items[place]
    index.add(place, of: log, group: group)
    isLive.append(false)
    verdicts.append(Verdict())
    strikes.append(nil)
    strikers.append(nil)
    contests.append(nil)
    confirmations.append(nil)
    judgeOne(place)
    guard settleHandOvers(place), settleAlone(place, item) else { return false }
    if verdicts[place].refusal == nil { index.note(place, item, verdicts[place]) }
    return true
  }

  /// Decides which ownership handovers the last operation makes final, for example as an operation
  /// of the former owner; returns false if another handover may win as a result.
  private mutating func settleHandOvers(_ place: Int) -> Bool {
    guard isLive[place] else { return true }
    for acceptance in index.acceptances where confirmations[acceptance] == nil {
      guard let owner = verdicts[acceptance].formerOwner, person(place) == owner else { continue }
      if isLive[acceptance] {
        confirmations[acceptance] = place
      } else if !isSteady {
        guard let winner = strikers[acceptance], verdicts[winner].formerOwner == owner,
          let taken = offer(takenBy: acceptance), let won = offer(takenBy: winner)
        else { return false }
        // A handover that a third person confirmed, or that was offered first, wins in any case.
        let isVouched = confirmations[winner].map { person($0) != owner } ?? false
        guard isVouched || (won, winner) < (taken, acceptance) else { return false }
      }
    }
    return true
  }

  /// Decides the joins that the last operation makes or confirms; false if others may be affected.
  private mutating func settleAlone(_ place: Int, _ item: ControlItem) -> Bool {
    let confirmed: [Int]
    switch item.operation {
    case .genesis, .acceptOwner: return false
    case .join: return isSteady
    case .admit:
      guard isSteady, Entries(self).isCandidate(place) else { return isSteady }
      confirmations[place] = place
      live.truncate(to: place)
      isLive[place] = false
      judgeOne(place)
      return true
    case .confirm(let targets):
      let ids = Set(targets)
      guard !index.acceptances.contains(where: { ids.contains(log.items[$0].id) }) else {
        return false
      }
      confirmed = index.joinings.filter { ids.contains(log.items[$0].id) }
    case .epoch(let grant):
      confirmed = grant.wraps.flatMap { index.enrolments[$0.recipient] ?? [] }
    case .setRole(let change): confirmed = index.additions[change.person] ?? []
    default: return true
    }
    guard isSteady else { return false }
    for entry in confirmed where Entries(self).isCandidate(entry) {
      guard isUndisputed(entry) else { return false }
      confirmations[entry] = Entries(self).confirmation(of: entry)
    }
    return true
  }

  /// Whether a join has effect, and no other join depends on whether it is final.
  private func isUndisputed(_ place: Int) -> Bool {
    guard isLive[place], let person = enrolledPerson(place), let invite = verdicts[place].invite,
      let made = log.terms(invite)
    else { return false }
    return index.uses[log.invited[invite]].count <= made.maximumUses
      && (index.additions[person] ?? []).count { verdicts[$0].given != nil } <= 1
  }
}

extension ControlOperation {
  /// Whether the operation leaves its own author's status unchanged, with effect or without.
  fileprivate func leavesAuthor(_ person: PersonID?) -> Bool {
    switch self {
    case .heartbeat, .epoch, .wrapAdd, .complaint, .confirm, .branch, .forkProof, .adopt,
      .setPolicy, .inviteCreate, .inviteClose, .setRecovery, .rotateRecovery, .zoneDigest:
      true
    case .setRole(let change): change.person != person
    case .removeMember(let removal): removal.person != person
    default: false
    }
  }
}

import HearthCRDT

/// Decides which operations of a control log have effect.
///
/// Seven principles, in `docs/decisions/0056-entry-is-final.md`. Each operation is judged by its
/// own past first. Then conflicts are settled from the top: the chain of owners, then for each rank
/// the joinings that give it, what the people of that rank did to their own devices, and what they
/// did to others. What a rank settled is given for all below it; nothing depends on the order of
/// arrival, as only causes, ranks and ids are looked at.
///
/// A pass judges every operation once, each by the few operations about its device and its person.
/// There is a pass for each step that changed anything, as a rule one. All steps are one round. If
/// something that turned out to be void took part in a round, another one begins without it, so
/// what is void settles nothing.
package struct ControlResolver: Sendable {
  package let group: GroupID
  package private(set) var log: ControlLog
  package var index: ControlIndex
  var proofs: ProofBook
  /// The operations that count at the moment, by whom and what they concern.
  private(set) var live = LiveIndex()
  /// Which operations count.
  package private(set) var isLive: [Bool]
  /// What each operation is to the group by its own past.
  private(set) var verdicts: [Verdict]
  /// What a line of another operation took the effect from, with the reason.
  private(set) var strikes: [VoidReason?]
  /// What speaks against joinings that their own past allows.
  private(set) var contests: [VoidReason?]
  /// The operation that makes a joining or a hand-over final.
  private(set) var confirmations: [Int?]
  /// Joinings that wait as too many others in dispute decide about them.
  private(set) var undecided: Set<Int> = []
  /// The invitation that each joining is known to be proven by, as that is costly to find out; not
  /// for those that were added, as all would be copied.
  private var provenBy: [Int?]
  /// After how many passes, with how many undecided, the joinings of a rank were settled.
  private var settled: [Int: (passes: Int, undecided: Int)] = [:]
  /// How often everything was judged.
  package private(set) var passes = 0
  /// Whether every operation counted in each pass, or in none.
  private(set) var isSteady = true
  /// The acceptances that count, where the chain of owners is settled; nil while it is followed.
  private var handOvers: Set<Int>?
  /// Acceptances that came to nothing, as their heir was not in.
  private var aside: Set<Int> = []
  /// Whose line took the effect from an operation.
  private(set) var strikers: [Int?]
  /// Whether nothing lost or won its effect in this round.
  private var isRoundSteady = true
  /// How the author of each log stood at its last operation of this pass.
  private var authorities: [Authority?] = []
  /// What lines and confirmations weigh by, as of the last pass.
  private(set) var stock = Stock()

  init(
    group: GroupID, items: [ControlItem], forks: ControlForks = ControlForks(), proofs: ProofBook
  ) {
    self.group = group
    self.proofs = proofs
    log = ControlLog(items, forks: forks)
    index = ControlIndex(log, group: group)
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

  /// The rank of an operation's author when it wrote, 0 for a stranger.
  func rank(_ place: Int) -> Int { verdicts[place].rank }

  /// The person whose device wrote an operation, or comes in by it.
  package func person(_ place: Int) -> PersonID? { verdicts[place].person }

  /// The role that an operation gives to the person whom it adds or sets; nil if none.
  package func given(_ place: Int) -> Role? { verdicts[place].given }

  /// Why an operation is void; nil for one that counts.
  package func reason(_ place: Int) -> VoidReason? {
    if isLive[place] { return nil }
    let verdict = verdicts[place]
    if let refusal = verdict.refusal, !verdict.isContested { return refusal }
    if let reason = strikes[place] ?? verdict.refusal ?? contests[place] { return reason }
    // What the chain of owners did not come to.
    return verdict.formerOwner == nil ? nil : .expired
  }

  /// Whether a joining has no effect only because something speaks against it.
  package func isWaiting(_ place: Int) -> Bool {
    !isLive[place] && strikes[place] == nil && verdicts[place].isProven
      && (verdicts[place].refusal == nil || verdicts[place].isContested)
  }

  // MARK: Passes

  /// Judges every operation from a place on.
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

  /// How an operation's author stood, in its own past.
  mutating func authority(_ place: Int) -> Authority {
    let (author, sight) = (log.author(place), log.causality.sight[log.changes[place]])
    // Who has heard nothing and changed nothing since stands as before.
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
    // What was decided about it is out of date, and what follows from it would come a pass late.
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

  /// Whether the holder of an invitation made a joining; found out once.
  mutating func isProven(_ place: Int, by invite: Int) -> Bool {
    if place < provenBy.count, provenBy[place] == invite { return true }
    guard let join = log.operation(place).joining, let made = invitation(invite),
      proofs.isProven(join, by: made, group: group)
    else { return false }
    if place < provenBy.count { provenBy[place] = invite }
    return true
  }

  /// Notes a role that lost to a lower one: its author and others acted by it meanwhile.
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

  /// Takes the effect from operations, and judges again what may rest on them.
  private mutating func strike(_ struck: [Strike]) {
    let new = struck.filter { strikes[$0.place] == nil }
    guard let first = new.map(\.place).min() else { return }
    Probe.operationStruck.hit()
    // Also what had no effect has been a witness so far.
    isRoundSteady = false
    for strike in new where strikes[strike.place] == nil {
      strikes[strike.place] = strike.reason
      strikers[strike.place] = strike.by
    }
    if !passOver(new.map(\.place)) { pass(from: first) }
  }

  /// Takes the effect from operations on which next to nothing rests, and judges that again; false
  /// where more may rest on them.
  ///
  /// Offers matter to those who take them.
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
      // Not in the log's order.
      authorities[log.author(acceptance)] = nil
      guard judge(acceptance) == verdicts[acceptance] else { return false }
    }
    authorities = [Authority?](repeating: nil, count: log.causality.authorCount)
    passes += 1
    stock = Stock()
    return true
  }

  /// How often everything is settled, as what turns out to be void may have taken part.
  private static var maximumRounds: Int { 12 }

  /// How many hand-overs are set aside one by one where their heir turns out not to be in.
  private static var maximumAside: Int { 4 }

  /// Settles conflicts; whatever happens there is one owner, who is in.
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

  /// Settles conflicts from the top, until nothing that is void takes part in it.
  ///
  /// Each round begins with what was found void before: who waits, and what is beyond the line of
  /// something that counts. At first nobody takes the group over, so whoever waits neither accepts
  /// an offer nor lets others in as if it were the owner.
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
      // The last pass has judged everything by what the next round begins with.
      isJudged = fallen.isEmpty && index.acceptances.isEmpty
    }
  }

  /// What a round begins with.
  private struct Assumption: Equatable {
    let struck: [Int?]
    let contested: [Bool]
    let confirmed: [Int?]
  }

  private var assumption: Assumption {
    Assumption(struck: strikers, contested: contests.map { $0 != nil }, confirmed: confirmations)
  }

  /// Judges everything anew, but for what was found.
  private mutating func begin() {
    for place in index.acceptances { confirmations[place] = nil }
    pass(from: 0)
    isRoundSteady = true
  }

  /// What lost its effect to something that is void itself, or that would not take it any more.
  private mutating func fallenStrikes() -> [Int] {
    let struck = log.items.indices.filter { strikes[$0] != nil }
    guard !struck.isEmpty else { return [] }
    takeStock()
    let lines = Lines(self)
    return struck.filter { place in
      guard let reason = strikes[place], let striker = strikers[place] else { return false }
      return !lines.holds(Strike(place: place, by: striker, reason: reason))
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
      for kind in Lines.OwnKind.allCases { draw { $0.own(kind, of: rank) } }
      if passes != before { settleEntries(of: rank) }
      draw { $0.overruled(by: rank) }
      draw { $0.drawn(by: rank) }
    }
  }

  /// Strikes what is beyond lines that are drawn by what counts now.
  private mutating func draw(_ found: (Lines) -> [Strike]) {
    takeStock()
    strike(found(Lines(self)))
  }

  /// Finds out once between two passes how every operation stands.
  private mutating func takeStock() {
    if stock.standings.isEmpty { stock = Stock(self) }
  }

  /// Follows the chain of owners, from hand-over to hand-over.
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

  /// How often joinings of one rank are looked at, as one may rest on another.
  private static var maximumTurns: Int { 16 }
  /// For how many turns decisions change, as one device of a person may confirm the next.
  static var maximumOpenTurns: Int { 3 }
  /// How often the decision about a joining changes meanwhile.
  ///
  /// One that would change again once nothing else does depends on a chain of others in dispute, as
  /// no honest person makes it; it waits until somebody of higher rank confirms it (decision 0066).
  static var maximumChanges: Int { 2 }

  /// Decides about the joinings that give a rank.
  private mutating func settleEntries(of rank: Int) {
    // Nothing changes where nothing was judged since.
    if let last = settled[rank], last == (passes, undecided.count) { return }
    var changes: [Int: Int] = [:]
    for turn in 0..<ControlResolver.maximumTurns {
      takeStock()
      var changed = changedEntries(of: rank)
      let open = changed.filter {
        changes[$0.place, default: 0] < ControlResolver.maximumChanges
      }
      if turn < ControlResolver.maximumOpenTurns, !open.isEmpty {
        // What changes again waits for these, as they may be why it does.
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

  /// Lets joinings wait with all that are final by their devices, each of which comes later.
  private mutating func leaveUndecided(_ places: [Int], of rank: Int) {
    undecided.formUnion(places)
    for place in stock.candidates[rank] ?? [] {
      let confirmer = confirmations[place].flatMap { verdicts[$0].enrolment }
      if let confirmer, undecided.contains(confirmer) { undecided.insert(place) }
    }
  }

  /// What is decided otherwise than so far about the joinings that give a rank.
  private func changedEntries(of rank: Int) -> [Entries.Decision] {
    Entries(self).decisions(of: rank).filter {
      contests[$0.place] != $0.contest || confirmations[$0.place] != $0.confirmation
    }
  }
}

// MARK: - Further operations

extension ControlResolver {
  /// The same with a change whose author had seen everything; nil where all is settled anew.
  ///
  /// Such a change is beyond no line that it had not seen, draws none, and no conflict is settled
  /// by what its author had seen, as it had seen both sides. So it changes nothing but what it
  /// says, and what it confirms. What it confirms, or whom it lets in, is settled here only where
  /// nothing was ever in doubt.
  func adding(_ change: [ControlItem]) -> ControlResolver? {
    var more = self
    guard more.log.append(change) else { return nil }
    for place in log.items.count..<more.log.items.count where !more.add(place) { return nil }
    return more
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

  /// Settles which hand-overs a last operation makes final, as one by a former owner; false where
  /// that may make another one win.
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
        // One that a third person confirmed, or that was offered first, wins all the same.
        let isVouched = confirmations[winner].map { person($0) != owner } ?? false
        guard isVouched || (won, winner) < (taken, acceptance) else { return false }
      }
    }
    return true
  }

  /// Settles what a last operation lets in or confirms; false where that may concern others.
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

  /// Whether a joining counts, and nobody else's joining depends on whether it is final.
  private func isUndisputed(_ place: Int) -> Bool {
    guard isLive[place], let person = enrolledPerson(place), let invite = verdicts[place].invite,
      let made = log.terms(invite)
    else { return false }
    return index.uses[log.invited[invite]].count <= made.maximumUses
      && (index.additions[person] ?? []).count { verdicts[$0].given != nil } <= 1
  }
}

extension ControlOperation {
  /// Whether it leaves the standing of its own author as it is, with effect or without.
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

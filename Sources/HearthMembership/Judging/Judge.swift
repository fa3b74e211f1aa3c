import HearthCRDT

/// Judges each operation by its own past: whether its author had the right to write it.
struct Judge: Sendable {
  private(set) var checks: ClaimChecks
  private let doubledWords: DoubledWords
  /// The authority of each log's author at their last operation of this pass.
  private var authorities: [Authority?] = []

  init(group: GroupID, log: ControlLog, proofs: ProofBook) {
    checks = ClaimChecks(group: group, proofs: proofs, count: log.items.count)
    doubledWords = DoubledWords(log)
  }

  mutating func begin(_ log: ControlLog) {
    authorities = [Authority?](repeating: nil, count: log.causality.authorCount)
  }

  /// Makes room for the authors of further operations.
  mutating func extend(to log: ControlLog) {
    while authorities.count < log.causality.authorCount { authorities.append(nil) }
  }

  /// Forgets the authority of an author, whose own operation may have changed it.
  mutating func forget(_ author: Int) { authorities[author] = nil }

  mutating func verdict(of place: Int, in findings: Findings) -> Verdict {
    var verdict = Verdict()
    guard !findings.log.isOpen(place) || Mutant.pastsMayBeOpen.isActive else {
      verdict.refusal = .openCauses
      return verdict
    }
    switch findings.log.operation(place) {
    case .genesis(let genesis):
      verdict.refusal = judge(genesis, at: place, in: findings, &verdict)
    case .join: EntryJudge(place: place).join(in: findings, &checks, &verdict)
    case .recover(let recover):
      verdict.refusal = RecoveryJudge(place: place).recovery(
        recover, in: findings, &checks, &verdict)
    default:
      guard let (enrolment, person, role) = authority(place, in: findings).standing else {
        verdict.refusal = .notADevice
        judgeEnded(place, in: findings, &verdict)
        return verdict
      }
      verdict.person = person
      verdict.rank = role.rank
      verdict.enrolment = enrolment
      verdict.refusal = judgeMember(place, person, role, in: findings, &verdict)
    }
    return verdict
  }

  private mutating func authority(_ place: Int, in findings: Findings) -> Authority {
    let (author, sight) = (
      findings.log.author(place), findings.log.causality.sight[findings.log.changes[place]]
    )
    // An author who has seen nothing new and changed nothing since has the same authority.
    if let known = authorities[author], known.sight == sight { return known }
    let found = Authority(of: place, sight, in: findings)
    authorities[author] = found
    return found
  }

  /// Records the enrolment of a device that had already been removed when it wrote the operation.
  ///
  /// If the removal turns out to be void, the operation is effective, and lines must reach it.
  private func judgeEnded(_ place: Int, in findings: Findings, _ verdict: inout Verdict) {
    guard
      let enrolment = findings.live.enrolments[findings.log.deviceNumbers[place]].last(where: {
        LogView.past(place).holds($0, in: findings)
      }), let person = findings.log.comers[enrolment],
      let membership = findings.verdicts[enrolment].admitted
    else { return }
    verdict.person = findings.log.people[number: person]
    verdict.enrolment = enrolment
    verdict.rank = LogView.past(place).role(of: person, since: membership, in: findings)?.rank ?? 0
  }

  /// Judges an operation whose author is known to be a device of the group.
  private mutating func judgeMember(
    _ place: Int, _ person: PersonID, _ role: Role, in findings: Findings, _ verdict: inout Verdict
  ) -> VoidReason? {
    switch findings.log.operation(place) {
    case .inviteCreate:
      return EntryJudge(place: place).invitation(by: person, in: findings, &verdict)
    case .inviteClose: return EntryJudge(place: place).closing(in: findings, &verdict)
    case .admit(let admit):
      return EntryJudge(place: place).admit(admit, in: findings, &checks, &verdict)
    case .removeMember(let subject, _):
      return subject == person
        ? .ownerStays : verdict.requireAbove(LogView.past(place).role(of: subject, in: findings))
    case .revokeDevice(let device, _):
      guard let subject = LogView.past(place).person(of: device, in: findings) else {
        return .noSubject
      }
      return subject == person
        ? nil : verdict.requireAbove(LogView.past(place).role(of: subject, in: findings))
    case .setRole(let subject, let new, _):
      return judgeRole(new, of: subject, by: role, at: place, in: findings, &verdict)
    case .transferOwner(let heir, let signature):
      return judgeOffer(to: heir, signature, at: place, in: findings, &verdict)
    case .acceptOwner: return judgeAcceptance(place, in: findings, &verdict)
    case .leave: return role == .owner ? .ownerStays : nil
    case .setRecovery(let keys):
      // A device that set words in two branches sets none any more. Otherwise it could replace
      // words in two steps.
      guard LogView.past(place).recoveryKeys(of: person, in: findings) == nil,
        !doubledWords.areSeen(by: place, in: findings.log)
      else { return .alreadyThere }
      return checks.areRecoveryKeys(keys) ? nil : .badProof
    case .rotateRecovery(let keys, let consent):
      return RecoveryJudge(place: place).rotation(
        to: keys, consent, by: person, in: findings, &checks)
    case .adopt: return verdict.require(.admin)
    case .setPolicy(let suite, _):
      if let reason = verdict.require(.admin) { return reason }
      return suite >= LogView.past(place).minimumSuite(in: findings)
        ? nil : .grantsTooMuch
    case .epoch: return role == .reader ? .needs(.child) : nil
    case .confirm, .wrapAdd, .incarnate, .forkProof, .complaint, .heartbeat, .branch,
      .snapshotAttest, .zoneDigest, .unknown, .genesis, .join, .recover:
      return nil
    }
  }

  private mutating func judge(
    _ genesis: ControlOperation.Genesis, at place: Int, in findings: Findings,
    _ verdict: inout Verdict
  ) -> VoidReason? {
    guard findings.index.geneses.contains(place), checks.proofs.isCard(genesis.device) else {
      return .badProof
    }
    verdict.person = genesis.founder
    verdict.given = .owner
    verdict.rank = Role.owner.rank
    verdict.enrolment = place
    verdict.admitted = place
    return nil
  }

  private func judgeRole(
    _ role: Role, of subject: PersonID, by own: Role, at place: Int, in findings: Findings,
    _ verdict: inout Verdict
  ) -> VoidReason? {
    verdict.given = role
    if subject == verdict.person {
      if own == .owner { return .ownerStays }
      return role.rawValue < own.rawValue ? nil : .grantsTooMuch
    }
    return verdict.requireAbove(LogView.past(place).role(of: subject, in: findings))
      ?? verdict.grant(role)
  }

  private mutating func judgeOffer(
    to heir: PersonID, _ signature: [UInt8], at place: Int, in findings: Findings,
    _ verdict: inout Verdict
  ) -> VoidReason? {
    if let reason = verdict.require(.owner) { return reason }
    // An offer to oneself withdraws an earlier offer: nobody who has seen it may accept any more.
    guard LogView.past(place).addition(of: heir, in: findings) != nil,
      let person = verdict.person
    else { return .noSubject }
    // Without recovery words, anybody with an unlocked device could give the group away.
    guard let root = LogView.past(place).recoveryKeys(of: person, in: findings) else {
      return .noWords
    }
    return checks.holds(
      signature, of: heir.bytes, ControlSignature.transferDomain, by: root.keys.sign,
      at: findings.log.items[place].version.dot) ? nil : .badProof
  }

  /// The most ownership handovers of a group, since each makes everything after it be judged again.
  ///
  /// Only an owner with recovery words can reach this limit. The last owner then keeps the group.
  static var maximumHandOvers: Int { 16 }

  private func judgeAcceptance(
    _ place: Int, in findings: Findings, _ verdict: inout Verdict
  ) -> VoidReason? {
    let past = LogView.past(place)
    guard let offer = findings.offer(takenBy: place), past.holds(offer, in: findings),
      case .transferOwner(let heir, _) = findings.log.operation(offer),
      heir == verdict.person, let owner = findings.person(offer), owner != verdict.person
    else { return .noSubject }
    // An offer is valid while its maker is the owner and has made no later offer.
    let later = findings.live.transfers[findings.live.transfers.partitionPoint { $0 > offer }...]
    let isSuperseded = later.contains {
      past.holds($0, in: findings) && findings.log.sees($0, offer)
    }
    guard past.owner(in: findings) == owner, !isSuperseded else { return .expired }
    let before = findings.live.acceptances.count { past.holds($0, in: findings) }
    guard before < Judge.maximumHandOvers else { return .tooMany }
    verdict.formerOwner = owner
    return nil
  }
}

/// The rights of an operation's author at that time.
struct Authority {
  /// The author's knowledge of other logs, as numbered by ``Causality``.
  let sight: Int
  /// The author's enrolment, person and role; nil if the author did not belong to the group.
  let standing: (enrolment: Int, person: PersonID, role: Role)?

  /// Borrows the findings: an initializer would otherwise own a copy of them for each operation.
  init(of place: Int, _ sight: Int, in findings: borrowing Findings) {
    self.sight = sight
    guard
      let enrolment = LogView.past(place).enrolment(
        of: findings.log.deviceNumbers[place], in: findings),
      let person = findings.log.comers[enrolment],
      let role = LogView.past(place).role(of: person, in: findings),
      Authority.isLate(place, for: enrolment, in: findings)
    else {
      standing = nil
      return
    }
    standing = (enrolment, findings.log.people[number: person], role)
  }

  /// Whether an operation's incarnation is not earlier than its device's own enrolment: earlier
  /// ones would escape the later knowledge of the device.
  private static func isLate(_ place: Int, for enrolment: Int, in findings: Findings) -> Bool {
    if findings.log.author(place) == findings.log.author(enrolment) { return true }
    let first = findings.log.items[enrolment].version.dot.author
    return first.device != findings.enrolledDevice(enrolment)
      || findings.log.items[place].version.dot.author.incarnation >= first.incarnation
  }
}

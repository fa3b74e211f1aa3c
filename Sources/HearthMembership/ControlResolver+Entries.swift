import HearthCRDT
import HearthCrypto

// Judges genesis, joins, approvals and recoveries by their own past.
extension ControlResolver {
  mutating func judgeGenesis(
    _ place: Int, _ genesis: ControlOperation.Genesis, _ verdict: inout Verdict
  ) {
    guard index.geneses.contains(place), proofs.isCard(genesis.device) else {
      verdict.refusal = .badProof
      return
    }
    verdict.person = genesis.founder
    verdict.given = .owner
    verdict.rank = Role.owner.rank
    verdict.enrolment = place
    verdict.membership = place
    verdict.admitted = place
  }

  mutating func judgeJoin(_ place: Int, _ verdict: inout Verdict) {
    guard let person = log.comers[place] else { return }
    verdict.person = log.people[number: person]
    verdict.enrolment = place
    guard log.entrants[place] == log.deviceNumbers[place] else {
      verdict.refusal = .badProof
      return
    }
    verdict.refusal = judgeUse(place, as: person, admission: .auto, &verdict)
    verdict.membership = verdict.admitted
    verdict.rank = role(of: person, .past(place))?.rank ?? verdict.given?.rank ?? 0
  }

  mutating func judgeAdmit(
    _ place: Int, _ admit: ControlOperation.Admit, _ verdict: inout Verdict
  ) -> VoidReason? {
    let author = verdict
    if let reason = require(.admin, &verdict) { return reason }
    guard let person = log.comers[place] else { return .noSubject }
    var entry = Verdict()
    let refusal = judgeUse(place, as: person, admission: .approve, &entry)
    verdict.given = entry.given
    verdict.isEntry = true
    verdict.invite = entry.invite
    verdict.admitted = entry.admitted
    if let refusal { return refusal }
    guard let role = entry.given ?? role(of: person, .past(place)) else {
      return .noSubject
    }
    if admit.join.person != author.person, let reason = grant(role, &verdict) { return reason }
    let group = group
    let claim = ProofBook.Claim(
      domain: Membership.possessionDomain, sign: admit.join.device.signKey, box: [],
      message: Membership.joinHash(of: admit.join, group: group), signature: admit.possession)
    return proofs.holds(claim) ? nil : .badProof
  }

  mutating func judgeRecover(
    _ place: Int, _ recover: ControlOperation.Recover, _ verdict: inout Verdict
  ) {
    let item = log.items[place]
    let past = View.past(place)
    verdict.person = recover.person
    verdict.enrolment = place
    verdict.membership = addition(of: recover.person, past)
    verdict.admitted = verdict.membership
    guard item.shown == item.device, proofs.isCard(recover.device)
    else {
      verdict.refusal = .badProof
      return
    }
    guard let role = role(of: recover.person, past) else {
      verdict.refusal = .noSubject
      return
    }
    guard enrolment(of: item.device, past) == nil else {
      verdict.refusal = .alreadyThere
      return
    }
    verdict.rank = role.rank
    let isProven = recoveryKeys(of: recover.person, past).map { root in
      holds(
        recover.signature, of: recover.signedBody, Membership.recoverDomain, by: root.keys.sign,
        place)
    }
    verdict.refusal = isProven == true ? nil : .badProof
  }

  mutating func holds(
    _ signature: [UInt8], of body: @autoclosure @escaping () -> [UInt8], _ domain: Domain,
    by key: [UInt8], _ place: Int
  ) -> Bool {
    let (group, dot) = (group, log.items[place].version.dot)
    let claim = ProofBook.Claim(
      domain: domain, sign: key, box: [],
      message: Membership.signedBytes(group: group, dot: dot, body()),
      signature: signature)
    return !signature.isEmpty && proofs.holds(claim)
  }

  // MARK: Invitations

  /// The number of joins that are examined beyond those that an invitation allows.
  ///
  /// Only joins that their authors had a right to write count, so no member can block newcomers.
  static var spareUses: Int { 16 }

  /// Judges the use of an invitation, by an automatic join or by an approval.
  ///
  /// Cheap checks come first, then the signature, then objections that a confirmation can override.
  private mutating func judgeUse(
    _ place: Int, as person: Int, admission: ControlOperation.Admission, _ verdict: inout Verdict
  ) -> VoidReason? {
    let past = View.past(place)
    verdict.isEntry = true
    guard let invite = invite(log.invited[place], past) ?? struckInvite(place),
      let terms = log.terms(invite)
    else { return .noSubject }
    verdict.invite = invite
    guard terms.admission == admission else { return .wrongInvitation }
    guard enrolment(of: log.entrants[place], past) == nil else { return .alreadyThere }
    if let reason = judgePerson(place, person, terms, by: invite, &verdict) { return reason }
    guard
      live.attempts(at: invite) < terms.maximumUses + ControlResolver.spareUses
        || confirmations[place] != nil
    else {
      // Nobody pays for the signatures of a flood of joins. A confirmed join is still checked.
      verdict.isContested = admission == .auto
      return .usedUp
    }
    verdict.isAttempt = true
    guard isProven(place, by: invite) else { return .badProof }
    verdict.isProven = true
    let objection = objection(to: place, as: person, terms, by: invite)
    verdict.isContested = objection != nil && admission == .auto
    return objection
  }

  /// The invitation of a join, if a line overrode that invitation: a person who joined by it and
  /// was confirmed by somebody unaware of the line stays.
  private func struckInvite(_ place: Int) -> Int? {
    index.invites[log.invited[place]].first {
      log.sees(place, $0) && strikes[$0] != nil && verdicts[$0].refusal == nil
    }
  }

  /// The objection to an invitation's use that was in the past of the use.
  private func objection(
    to place: Int, as person: Int, _ terms: InviteTerms, by invite: Int
  ) -> VoidReason? {
    let past = View.past(place)
    // The author of an approval has seen more than the invitation.
    guard isLive[invite] || terms.admission == .approve else { return .closed }
    guard !isLive[invite] || mayStillInvite(invite, terms, past) else { return .closed }
    let time = log.items[place].version.time.milliseconds
    guard time <= terms.expiresMilliseconds else { return .expired }
    let isClosed =
      live.closings[log.invited[place]].contains { holds($0, past) && log.sees($0, invite) }
    guard !isClosed || Mutant.closedStillAdmits.isActive else { return .closed }
    let uses = live.uses[log.invited[place]]
    if uses.count >= terms.maximumUses {
      let used = uses.count { use in
        use < place && holds(use, past) && inviter(of: use) == invite
      }
      guard used < terms.maximumUses else { return .usedUp }
    }
    // In an approval, a person of sufficient rank decides.
    return terms.admission == .auto && isOverByRemoval(place, person, by: invite) ? .closed : nil
  }

  /// Whether an automatic invitation had ended through a removal in the past of the join: the
  /// removal of a user, or of the joining person, so that nobody returns by an older invitation.
  private func isOverByRemoval(_ place: Int, _ person: Int, by invite: Int) -> Bool {
    live.removalsOfUsers[invite].contains { holds($0, .past(place)) }
      || hasUnseenRemoval(of: person, from: invite, to: place)
  }

  /// Whether `later` had seen a removal of the person that `earlier` had not seen.
  private func hasUnseenRemoval(of person: Int, from earlier: Int, to later: Int) -> Bool {
    for place in live.removals[person].reversed() where log.sees(later, place) {
      guard log.sees(earlier, place) else { return true }
      // Whatever had seen this removal had also seen everything in the removal's past.
      guard let others = live.apartRemovals.besides(place) else { continue }
      return others.contains { log.sees(later, $0) && !log.sees(earlier, $0) }
    }
    return false
  }

  /// Whether the invitation admits the named person.
  ///
  /// A further device of a current member needs an invitation for exactly that person, made by one
  /// of the person's devices or by somebody of higher rank. The same applies to the name of a
  /// former member, unless the device is known to have belonged to them.
  private func judgePerson(
    _ place: Int, _ number: Int, _ terms: InviteTerms, by made: Int, _ verdict: inout Verdict
  ) -> VoidReason? {
    let past = View.past(place)
    let person = log.people[number: number]
    if let named = terms.person, named != person { return .wrongInvitation }
    if let membership = addition(of: number, past) {
      verdict.admitted = membership
      guard terms.person == person,
        self.person(made) == person || rank(made) > role(of: number, past)?.rank ?? .max
      else { return .alreadyThere }
      let devices = live.furtherDevices[number]
      return areFewer(devices, than: Limits.maximumDevices, past) ? nil : .tooMany
    }
    verdict.given = terms.role
    verdict.admitted = place
    let wasHere = live.beginnings[number].contains { holds($0, past) }
    verdict.isFirst = !wasHere
    guard wasHere, terms.person == nil else { return nil }
    let wasTheirs = live.enrolments[log.entrants[place]].contains {
      holds($0, past) && log.comers[$0] == number
    }
    return wasTheirs ? nil : .alreadyThere
  }

  mutating func judgeInvite(
    _ place: Int, _ person: PersonID, _ verdict: inout Verdict
  ) -> VoidReason? {
    guard let invite = log.terms(place), invite.maximumUses > 0,
      self.invite(log.invited[place], .past(place)) == nil
    else { return .alreadyThere }
    // An invitation to oneself admits a further device in any role.
    if invite.person == person {
      let made = live.invitesToOneself[verdict.enrolment.flatMap { log.comers[$0] }]
      return areFewer(made, than: Limits.maximumDevices * 2, .past(place)) ? nil : .tooMany
    }
    if let invited = invite.person, addition(of: invited, .past(place)) != nil {
      return requireAbove(invited, place, &verdict)
    }
    return require(.admin, &verdict) ?? grant(invite.role, &verdict)
  }

  private func areFewer(_ places: [Int], than limit: Int, _ view: View) -> Bool {
    places.count < limit || places.count { holds($0, view) } < limit
  }

  func judgeClosing(
    _ place: Int, _ verdict: inout Verdict
  ) -> VoidReason? {
    guard let invite = invite(log.invited[place], .past(place)) else { return .noSubject }
    return person(invite) == verdict.person ? nil : require(.admin, &verdict)
  }
}

import HearthCRDT
import HearthCrypto

// How devices come into the group: the genesis, joinings, approvals, recoveries, by their own past.
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

  /// The most devices that a person may have had in one membership, and invitations to oneself.
  static var maximumDevices: Int { 64 }
  /// How many joinings by one invitation are looked at beyond those that it allows.
  ///
  /// Only what its author might write at all is counted, so no member keeps newcomers out.
  static var spareUses: Int { 16 }

  /// What joining at once and being let in have in common: an invitation that holds.
  ///
  /// The signature is checked after all that costs less. What a confirmation overcomes is told
  /// last.
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
      // Nobody pays for checking the signatures of a crowd; who was confirmed is checked all the
      // same.
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

  /// The invitation used by a joining that a line took the effect from: who came by it and was
  /// confirmed by somebody who did not know stays.
  private func struckInvite(_ place: Int) -> Int? {
    index.invites[log.invited[place]].first {
      log.sees(place, $0) && strikes[$0] != nil && verdicts[$0].refusal == nil
    }
  }

  /// What speaks against a use of an invitation that its author had seen.
  private func objection(
    to place: Int, as person: Int, _ terms: InviteTerms, by invite: Int
  ) -> VoidReason? {
    let past = View.past(place)
    // Who approves somebody has seen more than the invitation.
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
    // By approval somebody of rank decides.
    return terms.admission == .auto && isOverByRemoval(place, person, by: invite) ? .closed : nil
  }

  /// Whether an invitation that lets in at once had ended with a removal that a joining had seen.
  ///
  /// With that of somebody who came by it, and for somebody who was removed with that of the own
  /// person: nobody comes back by one from before.
  private func isOverByRemoval(_ place: Int, _ person: Int, by invite: Int) -> Bool {
    live.removalsOfUsers[invite].contains { holds($0, .past(place)) }
      || hasUnseenRemoval(of: person, from: invite, to: place)
  }

  /// Whether an operation had seen a removal of a person that an earlier one had not.
  private func hasUnseenRemoval(of person: Int, from earlier: Int, to later: Int) -> Bool {
    for place in live.removals[person].reversed() where log.sees(later, place) {
      guard log.sees(earlier, place) else { return true }
      // Who had seen this one had seen all that its author had seen.
      guard let others = live.apartRemovals.besides(place) else { continue }
      return others.contains { log.sees(later, $0) && !log.sees(earlier, $0) }
    }
    return false
  }

  /// Whether the invitation lets in the person who is named.
  ///
  /// A present person's further device needs an invitation for that very person, by a device of
  /// that person or by somebody of higher rank. So does the name of somebody who was here before,
  /// unless the device is known to have been theirs.
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
      return areFewer(devices, than: ControlResolver.maximumDevices, past) ? nil : .tooMany
    }
    verdict.given = terms.role
    verdict.admitted = place
    let wasHere = live.beginnings[number].contains { holds($0, past) }
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
    // To oneself: a further device, whatever the role.
    if invite.person == person {
      let made = live.invitesToOneself[verdict.enrolment.flatMap { log.comers[$0] }]
      return areFewer(made, than: ControlResolver.maximumDevices * 2, .past(place)) ? nil : .tooMany
    }
    if let invited = invite.person, addition(of: invited, .past(place)) != nil {
      return requireAbove(invited, place, &verdict)
    }
    return require(.admin, &verdict) ?? grant(invite.role, &verdict)
  }

  /// Whether fewer operations of a list count than may.
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

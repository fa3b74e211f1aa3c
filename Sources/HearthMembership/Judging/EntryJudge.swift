import HearthCRDT

/// Judges an invitation, its close, or its use by the operation's own past.
struct EntryJudge {
  let place: Int

  private var past: LogView { .past(place) }

  /// Judges a join by its author's own device.
  func join(in findings: Findings, _ checks: inout ClaimChecks, _ verdict: inout Verdict) {
    guard let person = findings.log.comers[place] else { return }
    verdict.person = findings.log.people[number: person]
    verdict.enrolment = place
    guard findings.log.entrants[place] == findings.log.deviceNumbers[place] else {
      verdict.refusal = .badProof
      return
    }
    verdict.refusal = use(as: person, admission: .auto, in: findings, &checks, &verdict)
    verdict.rank = past.role(of: person, in: findings)?.rank ?? verdict.given?.rank ?? 0
  }

  /// Judges the approval of a request to join.
  func admit(
    _ admit: ControlOperation.Admit, in findings: Findings, _ checks: inout ClaimChecks,
    _ verdict: inout Verdict
  ) -> VoidReason? {
    let author = verdict
    if let reason = verdict.require(.admin) { return reason }
    guard let person = findings.log.comers[place] else { return .noSubject }
    var entry = Verdict()
    let refusal = use(as: person, admission: .approve, in: findings, &checks, &entry)
    verdict.given = entry.given
    verdict.isEntry = true
    verdict.invite = entry.invite
    verdict.admitted = entry.admitted
    if let refusal { return refusal }
    guard let role = entry.given ?? past.role(of: person, in: findings) else { return .noSubject }
    if admit.join.person != author.person, let reason = verdict.grant(role) { return reason }
    return checks.isPossessed(admit) ? nil : .badProof
  }

  func invitation(
    by person: PersonID, in findings: Findings, _ verdict: inout Verdict
  ) -> VoidReason? {
    guard let invite = findings.log.terms(place), invite.maximumUses > 0,
      past.invite(findings.log.invited[place], in: findings) == nil
    else { return .alreadyThere }
    // An invitation to oneself admits a further device in any role.
    if invite.person == person {
      let made = findings.live.invitesToOneself[findings.log.people[person]]
      return areFewer(made, than: Limits.maximumDevices * 2, in: findings) ? nil : .tooMany
    }
    if let invited = invite.person, past.addition(of: invited, in: findings) != nil {
      return verdict.requireAbove(past.role(of: invited, in: findings))
    }
    return verdict.require(.admin) ?? verdict.grant(invite.role)
  }

  func closing(in findings: Findings, _ verdict: inout Verdict) -> VoidReason? {
    guard let invite = past.invite(findings.log.invited[place], in: findings) else {
      return .noSubject
    }
    return findings.person(invite) == verdict.person ? nil : verdict.require(.admin)
  }

  // MARK: Uses of invitations

  /// The number of joins that are examined beyond those that an invitation allows.
  ///
  /// Only joins that their authors had a right to write count, so no member can block newcomers.
  static var spareUses: Int { 16 }

  /// Judges the use of an invitation, by an automatic join or by an approval.
  ///
  /// Cheap checks come first, then the signature, then objections that a confirmation can override.
  func use(
    as person: Int, admission: ControlOperation.Admission, in findings: Findings,
    _ checks: inout ClaimChecks, _ verdict: inout Verdict
  ) -> VoidReason? {
    verdict.isEntry = true
    guard
      let invite = past.invite(findings.log.invited[place], in: findings)
        ?? struckInvite(in: findings), let terms = findings.log.terms(invite)
    else { return .noSubject }
    verdict.invite = invite
    guard terms.admission == admission else { return .wrongInvitation }
    guard past.enrolment(of: findings.log.entrants[place], in: findings) == nil else {
      return .alreadyThere
    }
    if let reason = judge(person, terms, by: invite, in: findings, &verdict) { return reason }
    guard
      findings.live.attempts(at: invite) < terms.maximumUses + EntryJudge.spareUses
        || findings.confirmations[place] != nil
    else {
      // Nobody pays for the signatures of a flood of joins. A confirmed join is still checked.
      verdict.isContested = admission == .auto
      return .usedUp
    }
    verdict.isAttempt = true
    guard checks.isProven(place, by: invite, in: findings.log) else { return .badProof }
    let objection = objection(to: person, terms, by: invite, in: findings)
    verdict.isContested = objection != nil && admission == .auto
    return objection
  }

  /// The invitation of a join, if a line overrode that invitation: a person who joined by it and
  /// was confirmed by somebody unaware of the line stays.
  private func struckInvite(in findings: Findings) -> Int? {
    findings.index.invites[findings.log.invited[place]].first {
      findings.log.sees(place, $0) && findings.strikes[$0] != nil
        && findings.verdicts[$0].refusal == nil
    }
  }

  /// Whether the invitation admits the named person.
  ///
  /// A further device of a current member needs an invitation for exactly that person, made by one
  /// of the person's devices or by somebody of higher rank. The same applies to the name of a
  /// former member, unless the device is known to have belonged to them.
  private func judge(
    _ number: Int, _ terms: ControlOperation.InviteCreate, by made: Int, in findings: Findings,
    _ verdict: inout Verdict
  ) -> VoidReason? {
    let person = findings.log.people[number: number]
    if let named = terms.person, named != person { return .wrongInvitation }
    if let membership = past.addition(of: number, in: findings) {
      verdict.admitted = membership
      guard terms.person == person,
        findings.person(made) == person
          || findings.rank(made) > past.role(of: number, in: findings)?.rank ?? .max
      else { return .alreadyThere }
      let devices = findings.live.furtherDevices[number]
      return areFewer(devices, than: Limits.maximumDevices, in: findings) ? nil : .tooMany
    }
    verdict.given = terms.role
    verdict.admitted = place
    let wasHere = findings.live.beginnings[number].contains { past.holds($0, in: findings) }
    verdict.isFirst = !wasHere
    guard wasHere, terms.person == nil else { return nil }
    let wasTheirs = findings.live.enrolments[findings.log.entrants[place]].contains {
      past.holds($0, in: findings) && findings.log.comers[$0] == number
    }
    return wasTheirs ? nil : .alreadyThere
  }

  private func areFewer(_ places: [Int], than limit: Int, in findings: Findings) -> Bool {
    places.count < limit || places.count { past.holds($0, in: findings) } < limit
  }

  // MARK: Objections

  /// The objection to an invitation's use that was in the past of the use.
  private func objection(
    to person: Int, _ terms: ControlOperation.InviteCreate, by invite: Int, in findings: Findings
  ) -> VoidReason? {
    // The author of an approval has seen more than the invitation.
    guard findings.isLive[invite] || terms.admission == .approve else { return .closed }
    guard !findings.isLive[invite] || mayStillInvite(invite, terms, in: findings) else {
      return .closed
    }
    let time = findings.log.items[place].version.time.milliseconds
    guard time <= terms.expiresMilliseconds else { return .expired }
    let isClosed = findings.live.closings[findings.log.invited[place]].contains {
      past.holds($0, in: findings) && findings.log.sees($0, invite)
    }
    guard !isClosed || Mutant.closedStillAdmits.isActive else { return .closed }
    let uses = findings.live.uses[findings.log.invited[place]]
    if uses.count >= terms.maximumUses {
      let used = uses.count { use in
        use < place && past.holds(use, in: findings) && findings.inviter(of: use) == invite
      }
      guard used < terms.maximumUses else { return .usedUp }
    }
    // In an approval, a person of sufficient rank decides.
    return terms.admission == .auto && isOverByRemoval(person, by: invite, in: findings)
      ? .closed : nil
  }

  /// Whether an invitation's device still belonged to its maker, with a sufficient rank.
  private func mayStillInvite(
    _ invite: Int, _ terms: ControlOperation.InviteCreate, in findings: Findings
  ) -> Bool {
    guard let inviter = findings.person(invite),
      let number = past.enrolment(of: findings.log.deviceNumbers[invite], in: findings).flatMap({
        findings.log.comers[$0]
      }), findings.log.people[number: number] == inviter
    else { return false }
    if terms.person == inviter { return true }
    guard let rank = past.role(of: number, in: findings)?.rank else { return false }
    return rank >= Role.admin.rank && terms.role.rank < rank
  }

  /// Whether an automatic invitation had ended through a removal in the past of the join: the
  /// removal of a user, or of the joining person, so that nobody returns by an older invitation.
  private func isOverByRemoval(_ person: Int, by invite: Int, in findings: Findings) -> Bool {
    findings.live.removalsOfUsers[invite].contains { past.holds($0, in: findings) }
      || hasUnseenRemoval(of: person, since: invite, in: findings)
  }

  /// Whether the operation had seen a removal of the person that `earlier` had not seen.
  private func hasUnseenRemoval(of person: Int, since earlier: Int, in findings: Findings) -> Bool {
    for removal in findings.live.removals[person].reversed()
    where findings.log.sees(place, removal) {
      guard findings.log.sees(earlier, removal) else { return true }
      // Whatever had seen this removal had also seen everything in the removal's past.
      guard let others = findings.live.apartRemovals.besides(removal) else { continue }
      return others.contains { findings.log.sees(place, $0) && !findings.log.sees(earlier, $0) }
    }
    return false
  }
}

import HearthCRDT

/// Judges the use or the replacement of recovery words by the operation's own past.
struct RecoveryJudge {
  let place: Int

  private var past: LogView { .past(place) }

  func recovery(
    _ recover: ControlOperation.Recover, in findings: Findings, _ checks: inout ClaimChecks,
    _ verdict: inout Verdict
  ) -> VoidReason? {
    let item = findings.log.items[place]
    verdict.person = recover.person
    verdict.enrolment = place
    verdict.admitted = past.addition(of: recover.person, in: findings)
    guard item.shown == item.device, checks.proofs.isCard(recover.device) else { return .badProof }
    guard let role = past.role(of: recover.person, in: findings) else { return .noSubject }
    guard past.enrolment(of: item.device, in: findings) == nil else { return .alreadyThere }
    verdict.rank = role.rank
    guard let root = past.recoveryKeys(of: recover.person, in: findings) else { return .badProof }
    return checks.holds(
      recover.signature, of: recover.signedBody, ControlSignature.recoverDomain,
      by: root.keys.sign, at: item.version.dot) ? nil : .badProof
  }

  func rotation(
    to keys: ControlOperation.RecoveryKeys, _ consent: ControlOperation.Consent,
    by person: PersonID, in findings: Findings, _ checks: inout ClaimChecks
  ) -> VoidReason? {
    guard let root = past.recoveryKeys(of: person, in: findings) else { return .noSubject }
    guard checks.areRecoveryKeys(keys) else { return .badProof }
    let isAgreed: Bool
    switch consent {
    case .recovery(let signature):
      isAgreed = checks.holds(
        signature, of: keys.encoded, ControlSignature.rotationDomain, by: root.keys.sign,
        at: findings.log.items[place].version.dot)
    case .device(let device, let signature):
      guard device != findings.log.devices[place], past.person(of: device, in: findings) == person,
        let enrolment = past.enrolment(of: device, in: findings),
        let card = findings.log.operation(enrolment).card
      else { return .noSubject }
      guard mayConsent(enrolment, since: root.place, in: findings) else { return .notIndependent }
      isAgreed = checks.holds(
        signature, of: keys.encoded, ControlSignature.rotationDomain, by: card.signKey,
        at: findings.log.items[place].version.dot)
    }
    return isAgreed ? nil : .badProof
  }

  /// Whether a second device's consent to new recovery words is independent of the asking device.
  ///
  /// Both were there when the present words were set, and the asking one did not admit the second.
  private func mayConsent(_ second: Int, since words: Int, in findings: Findings) -> Bool {
    let asking = findings.log.devices[place]
    guard let first = past.enrolment(of: asking, in: findings), findings.log.sees(words, first),
      findings.log.sees(words, second)
    else { return false }
    return findings.inviter(of: second).map { findings.log.devices[$0] } != asking
  }
}

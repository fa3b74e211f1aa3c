import HearthCRDT
import HearthCrypto

// Judges whether an author's role allows an operation, by the author's past.
extension ControlResolver {
  mutating func judge(_ place: Int) -> Verdict {
    var verdict = Verdict()
    guard !log.isOpen(place) || Mutant.pastsMayBeOpen.isActive else {
      verdict.refusal = .openCauses
      return verdict
    }
    switch log.operation(place) {
    case .genesis(let genesis): judgeGenesis(place, genesis, &verdict)
    case .join: judgeJoin(place, &verdict)
    case .recover(let recover): judgeRecover(place, recover, &verdict)
    default:
      guard let (enrolment, person, role) = authority(place).standing else {
        verdict.refusal = .notADevice
        judgeEnded(place, &verdict)
        return verdict
      }
      verdict.person = person
      verdict.rank = role.rank
      verdict.enrolment = enrolment
      verdict.membership = verdicts[enrolment].admitted
      verdict.refusal = judgeMembers(place, person, role, &verdict)
    }
    return verdict
  }

  func findAuthority(_ place: Int, _ sight: Int) -> Authority {
    guard let enrolment = enrolment(of: log.deviceNumbers[place], .past(place)),
      let person = log.comers[enrolment], let role = role(of: person, .past(place)),
      isLate(place, for: enrolment)
    else { return Authority(sight: sight, standing: nil) }
    return Authority(sight: sight, standing: (enrolment, log.people[number: person], role))
  }

  /// Records the enrolment of a device that had already been removed when it wrote the operation.
  ///
  /// If the removal turns out to be void, the operation is effective, and lines must reach it.
  private func judgeEnded(_ place: Int, _ verdict: inout Verdict) {
    guard
      let enrolment = live.enrolments[log.deviceNumbers[place]].last(where: {
        holds($0, .past(place))
      }), let person = log.comers[enrolment], let membership = verdicts[enrolment].admitted
    else { return }
    verdict.person = log.people[number: person]
    verdict.enrolment = enrolment
    verdict.membership = membership
    verdict.rank = role(of: person, since: membership, .past(place))?.rank ?? 0
  }

  /// Judges an operation whose author is known to be a device of the group.
  private mutating func judgeMembers(
    _ place: Int, _ person: PersonID, _ role: Role, _ verdict: inout Verdict
  ) -> VoidReason? {
    switch log.operation(place) {
    case .inviteCreate: return judgeInvite(place, person, &verdict)
    case .inviteClose: return judgeClosing(place, &verdict)
    case .admit(let admit): return judgeAdmit(place, admit, &verdict)
    case .removeMember(let removal):
      return removal.person == person ? .ownerStays : requireAbove(removal.person, place, &verdict)
    case .revokeDevice(let revocation):
      guard let subject = self.person(of: revocation.device, .past(place)) else {
        return .noSubject
      }
      return subject == person ? nil : requireAbove(subject, place, &verdict)
    case .setRole(let change): return judgeRole(place, change, role, &verdict)
    case .transferOwner(let transfer): return judgeTransfer(place, transfer, &verdict)
    case .acceptOwner: return judgeAcceptance(place, &verdict)
    case .leave: return role == .owner ? .ownerStays : nil
    case .setRecovery(let keys):
      // A device that set words in two branches sets none any more. Otherwise it could replace
      // words in two steps.
      guard recoveryKeys(of: person, .past(place)) == nil,
        !doubledWords.areSeen(by: place, in: log)
      else { return .alreadyThere }
      return areRecoveryKeys(keys) ? nil : .badProof
    case .rotateRecovery(let rotation): return judgeRotation(place, rotation, person)
    case .adopt: return require(.admin, &verdict)
    case .setPolicy(let policy):
      if let reason = require(.admin, &verdict) { return reason }
      return policy.minimumSuite >= minimumSuite(.past(place)) ? nil : .grantsTooMuch
    case .epoch: return role == .reader ? .needs(.child) : nil
    case .confirm, .wrapAdd, .incarnate, .forkProof, .complaint, .heartbeat, .branch,
      .snapshotAttest, .zoneDigest, .unknown, .genesis, .join, .recover:
      return nil
    }
  }

  /// Whether an operation's incarnation is not earlier than its device's own enrolment: earlier
  /// ones would escape the later knowledge of the device.
  private func isLate(_ place: Int, for enrolment: Int) -> Bool {
    if log.author(place) == log.author(enrolment) { return true }
    let first = log.items[enrolment].version.dot.author
    return first.device != enrolledDevice(enrolment)
      || log.items[place].version.dot.author.incarnation >= first.incarnation
  }

  func require(_ role: Role, _ verdict: inout Verdict) -> VoidReason? {
    verdict.needs = max(verdict.needs, role.rank)
    return verdict.rank >= role.rank ? nil : .needs(role)
  }

  /// Requires that the author is an admin at least and has a higher rank than the subject.
  func requireAbove(
    _ person: PersonID, _ place: Int, _ verdict: inout Verdict
  ) -> VoidReason? {
    guard let role = role(of: person, .past(place)) else { return .noSubject }
    if let reason = require(.admin, &verdict) { return reason }
    verdict.needs = max(verdict.needs, role.rank + 1)
    return verdict.rank > role.rank || Mutant.ranksDoNotBind.isActive ? nil : .notBelow
  }

  func grant(_ role: Role, _ verdict: inout Verdict) -> VoidReason? {
    verdict.needs = max(verdict.needs, role.rank + 1)
    return role.rank < verdict.rank ? nil : .grantsTooMuch
  }
}

import HearthCRDT
import HearthCrypto

// Judges roles, ownership handovers, recovery words and policies by their author's past.
extension ControlResolver {
  func judgeRole(
    _ place: Int, _ change: ControlOperation.SetRole, _ own: Role, _ verdict: inout Verdict
  ) -> VoidReason? {
    verdict.given = change.role
    if change.person == verdict.person {
      if own == .owner { return .ownerStays }
      return change.role.rawValue < own.rawValue ? nil : .grantsTooMuch
    }
    return requireAbove(change.person, place, &verdict) ?? grant(change.role, &verdict)
  }

  mutating func judgeTransfer(
    _ place: Int, _ transfer: ControlOperation.TransferOwner, _ verdict: inout Verdict
  ) -> VoidReason? {
    if let reason = require(.owner, &verdict) { return reason }
    // An offer to oneself withdraws an earlier offer: nobody who has seen it may accept any more.
    guard addition(of: transfer.to, .past(place)) != nil, let person = verdict.person else {
      return .noSubject
    }
    // Without recovery words, anybody with an unlocked device could give the group away.
    guard let root = recoveryKeys(of: person, .past(place)) else { return .noWords }
    return holds(
      transfer.signature, of: transfer.signedBody, Membership.transferDomain,
      by: root.keys.sign, place) ? nil : .badProof
  }

  /// The most ownership handovers of a group, since each makes everything after it be judged again.
  ///
  /// Only an owner with recovery words can reach this limit. The last owner then keeps the group.
  static var maximumHandOvers: Int { 16 }

  func judgeAcceptance(_ place: Int, _ verdict: inout Verdict) -> VoidReason? {
    let past = View.past(place)
    guard let offer = offer(takenBy: place), holds(offer, past),
      case .transferOwner(let transfer) = log.operation(offer), transfer.to == verdict.person,
      let owner = person(offer), owner != verdict.person
    else { return .noSubject }
    // An offer is valid while its maker is the owner and has made no later offer.
    let later = live.transfers[live.transfers.partitionPoint { $0 > offer }...]
    let isSuperseded = later.contains { holds($0, past) && log.sees($0, offer) }
    guard self.owner(past) == owner, !isSuperseded else { return .expired }
    let before = live.acceptances.count { holds($0, past) }
    guard before < ControlResolver.maximumHandOvers else { return .tooMany }
    verdict.formerOwner = owner
    return nil
  }

  mutating func judgeRotation(
    _ place: Int, _ rotation: ControlOperation.RotateRecovery, _ person: PersonID
  ) -> VoidReason? {
    let past = View.past(place)
    guard let root = recoveryKeys(of: person, past) else { return .noSubject }
    guard areRecoveryKeys(rotation.keys) else { return .badProof }
    let isAgreed: Bool
    switch rotation.consent {
    case .recovery(let signature):
      isAgreed = holds(
        signature, of: rotation.signedBody, Membership.rotationDomain, by: root.keys.sign, place)
    case .device(let device, let signature):
      guard device != log.devices[place], self.person(of: device, past) == person,
        let enrolment = enrolment(of: device, past), let card = log.operation(enrolment).card
      else { return .noSubject }
      guard mayConsent(enrolment, to: place, of: root.place) else { return .notIndependent }
      isAgreed = holds(
        signature, of: rotation.signedBody, Membership.rotationDomain, by: card.signKey, place)
    }
    return isAgreed ? nil : .badProof
  }

  /// Whether a second device's consent to new recovery words is independent of the asking device.
  ///
  /// Both were there when the present words were set, and the asking one did not admit the second.
  private func mayConsent(_ second: Int, to place: Int, of words: Int) -> Bool {
    let asking = log.devices[place]
    guard let first = enrolment(of: asking, .past(place)), log.sees(words, first),
      log.sees(words, second)
    else { return false }
    return inviter(of: second).map { log.devices[$0] } != asking
  }

  mutating func areRecoveryKeys(_ keys: ControlOperation.RecoveryKeys) -> Bool {
    let claim = ProofBook.Claim(
      domain: "HRTH/recovery-keys/v1", sign: keys.sign, box: keys.box, message: [], signature: [])
    return proofs.holds(claim)
  }

  /// The lowest accepted cipher suite: the greatest minimum that was ever set.
  package func minimumSuite(_ view: View) -> UInt8 {
    var floor: UInt8 = 1
    // Authors set no lower minimum than they had seen, so each author's last policy suffices.
    for places in live.policies.values {
      let seen = places.partitionPoint { !holds($0, view) }
      guard seen > 0, case .setPolicy(let policy) = log.operation(places[seen - 1]) else {
        continue
      }
      floor = max(floor, policy.minimumSuite)
    }
    return floor
  }
}

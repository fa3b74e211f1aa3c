import HearthCRDT

/// The chain of owners from the founder through each handover: a signed offer and its acceptance.
///
/// It is resolved first, since no device can undo what the recovery words signed. Operations of a
/// former owner who had not seen the acceptance count as an admin's.
struct OwnerChain {
  struct Step {
    let acceptance: Int
    /// The operation that makes the acceptance final, if there is one.
    let confirmation: Int?
    let strikes: [Strike]
    var isTaken = true
  }

  private var owner: PersonID?
  private var last: Int?
  private let parts: LogParts

  init(_ log: ControlLog) { parts = LogParts(log.items.indices, of: log) }

  /// The next link; nil at the end of the chain.
  mutating func next(in findings: Findings) -> Step? {
    guard let owner = owner ?? findings.live.geneses.first.flatMap({ findings.enrolledPerson($0) })
    else { return nil }
    let log = findings.log
    let later = findings.live.acceptances.partitionPoint { $0 > last ?? -1 }
    let candidates = findings.live.acceptances[later...].filter { place in
      findings.verdicts[place].formerOwner == owner && place != last
        && (last.map { log.sees(place, $0) } ?? true)
    }
    let judged = candidates.map { place in
      (
        place, offer: findings.offer(takenBy: place) ?? place,
        final: confirmation(of: place, findings)
      )
    }
    let winner = judged.min { one, other in
      let finality = (weight(one.final, owner, findings), weight(other.final, owner, findings))
      if finality.0 != finality.1 { return finality.0 > finality.1 }
      return (one.offer, one.0) < (other.offer, other.0)
    }
    guard let (place, _, final) = winner else { return nil }
    let end = final == nil ? endOfOffer(place, by: owner, findings) : nil
    let isConfirmed = final != nil && Mutant.silenceConfirmsWhatEnded.isActive
    if let end = end ?? (isConfirmed ? nil : recovery(from: place, by: owner, findings)) {
      let reason = VoidReason.overruled(by: log.items[end].id, .offerEnded)
      return Step(
        acceptance: place, confirmation: nil,
        strikes: [Strike(place: place, by: end, reason: reason)], isTaken: false)
    }
    let losers = candidates.filter { log.areConcurrent($0, place) }.map {
      Strike(place: $0, by: place, reason: .overruled(by: log.items[place].id, .twoTransfers))
    }
    let strikes = losers + lines(of: place, from: owner, findings)
    self.owner = findings.person(place)
    last = place
    return Step(acceptance: place, confirmation: final, strikes: strikes)
  }

  /// The weight of a confirmation: a third person's weighs more than the former owner's, who could
  /// confirm one handover after another.
  private func weight(_ confirmation: Int?, _ owner: PersonID, _ findings: Findings) -> Int {
    guard let confirmation else { return 0 }
    return findings.person(confirmation) == owner ? 1 : 2
  }

  /// The operation that makes an acceptance final: an operation by the former owner who had seen
  /// it, or an explicit confirmation by an admin.
  private func confirmation(of place: Int, _ findings: Findings) -> Int? {
    if let said = thirdPersons(confirming: place, findings).first { return said }
    guard let former = findings.verdicts[place].formerOwner else { return nil }
    return findings.everyDevice(of: former).compactMap { device -> Int? in
      let writings = findings.index.writings[findings.log.deviceNames[device]]
      return writings[writings.partitionPoint { $0 > place }...].first {
        findings.isLive[$0] && findings.person($0) == former && findings.log.sees($0, place)
      }
    }.min()
  }

  /// The confirmations of an acceptance by third persons, who were admins before it: an admin whom
  /// the new owner promoted cannot confirm the new owner.
  private func thirdPersons(confirming place: Int, _ findings: Findings) -> [Int] {
    (findings.index.confirmations[findings.log.items[place].id] ?? []).filter { confirmation in
      guard findings.isLive[confirmation], findings.log.sees(confirmation, place),
        findings.rank(confirmation) >= Role.admin.rank, let person = findings.person(confirmation),
        person != findings.person(place), person != findings.verdicts[place].formerOwner
      else { return false }
      return LogView.past(place).role(of: person, in: findings)?.rank ?? 0 >= Role.admin.rank
    }
  }

  /// The operation that ended an offer without having seen its acceptance.
  ///
  /// The former owner removed the new owner or withdrew the offer, and a third admin had seen that
  /// and not the acceptance. Without a third witness the handover is valid: the recovery words
  /// signed it, and a former owner can date any operation before it.
  private func endOfOffer(_ place: Int, by owner: PersonID, _ findings: Findings) -> Int? {
    guard let heir = findings.person(place), let offer = findings.offer(takenBy: place) else {
      return nil
    }
    let log = findings.log
    let withdrawals = findings.live.transfers.filter { other in
      guard case .transferOwner(let transfer) = log.operation(other) else { return false }
      return transfer.to == owner && log.sees(other, offer)
    }
    let removals = findings.live.removals[findings.log.people[heir]].filter {
      findings.person($0) == owner
    }
    return (removals + withdrawals).first { end in
      log.areConcurrent(end, place)
        && parts.contains(seeing: end, notSeeing: place, in: log) { witness in
          findings.isWitness(witness) && findings.rank(witness) >= Role.admin.rank
            && findings.person(witness) != heir && findings.person(witness) != owner
        }
    }
  }

  /// The concurrent recovery that revoked the offering device, if an admin saw it, not the offer.
  ///
  /// The admin may be the new owner: nobody may accept an offer that their own past had ended. An
  /// admin whose rank depends on the recovery, or on an operation that it ended, does not count: an
  /// owner could otherwise recover with a date before the offer and create such a witness. Then
  /// only a third person may confirm the handover, under the same condition.
  private func recovery(from place: Int, by owner: PersonID, _ findings: Findings) -> Int? {
    guard let offer = findings.offer(takenBy: place),
      let enrolment = findings.verdicts[offer].enrolment
    else { return nil }
    let log = findings.log
    for recovery in findings.live.recoveries[findings.log.people[owner]]
    where log.devices[recovery] != log.devices[offer] && log.sees(recovery, enrolment)
      && log.areConcurrent(recovery, offer) && log.isBeyond(offer, recovery)
    {
      var parties = Parties(of: [recovery], findings)
      let isSeen = parts.contains(seeing: recovery, notSeeing: offer, in: log) { witness in
        findings.isWitness(witness) && findings.rank(witness) >= Role.admin.rank
          && findings.person(witness) != owner && !parties.include(witness, of: Role.admin.rank)
      }
      guard isSeen else { continue }
      let isVouched = thirdPersons(confirming: place, findings).contains { confirmation in
        !parties.include(confirmation, of: Role.admin.rank)
      }
      return isVouched ? nil : recovery
    }
    return nil
  }

  /// The operations that an ownership handover overrides: the former owner's operations that need
  /// an owner, and concurrent operations by anybody that take something from the new owner.
  private func lines(of place: Int, from owner: PersonID, _ findings: Findings) -> [Strike] {
    guard let heir = findings.person(place) else { return [] }
    let log = findings.log
    let id = log.items[place].id
    return parts.concurrent(with: place, in: log).compactMap { other in
      guard findings.isLive[other], log.isBeyond(other, place) else { return nil }
      if isAgainst(other, heir, findings) {
        return Strike(place: other, by: place, reason: .overruled(by: id, .transferWins))
      }
      guard findings.person(other) == owner, findings.verdicts[other].needs >= Role.owner.rank
      else { return nil }
      return Strike(place: other, by: place, reason: .overruled(by: id, .rankLost))
    }
  }

  private func isAgainst(_ place: Int, _ heir: PersonID, _ findings: Findings) -> Bool {
    switch findings.log.operation(place) {
    case .leave: findings.person(place) == heir
    case .setRole(let change): change.person == heir
    case .removeMember(let removal): removal.person == heir
    case .revokeDevice(let revocation):
      findings.person(place) != heir
        && findings.live.enrolments[findings.log.deviceNames[revocation.device]]
          .contains { findings.enrolledPerson($0) == heir }
    default: false
    }
  }
}

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
    let isConfirmed = final != nil && Mutant.silenceConfirmsWhatEnded.isActive
    let end =
      isConfirmed
      ? nil
      : endOfOffer(place, by: owner, findings) ?? endOfDevice(place, from: owner, findings)
    if let end {
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
    guard let former = findings.verdicts[place].formerOwner else { return nil }
    if let said = confirmations(of: place, besides: former, findings).first { return said }
    return silences(about: place, of: former, findings).min()
  }

  /// The first operation of each of the former owner's devices that had seen an acceptance.
  private func silences(
    about place: Int, of former: PersonID, _ findings: Findings
  ) -> [Int] {
    findings.everyDevice(of: former).compactMap { device -> Int? in
      let writings = findings.index.writings[findings.log.deviceNames[device]]
      return writings[writings.partitionPoint { $0 > place }...].first {
        findings.isLive[$0] && findings.person($0) == former && findings.log.sees($0, place)
      }
    }
  }

  /// The explicit confirmations of an acceptance by people who were admins before it, except the
  /// new owner and one more: an admin whom the new owner promoted cannot confirm the new owner.
  private func confirmations(
    of place: Int, besides other: PersonID?, _ findings: Findings
  ) -> [Int] {
    (findings.index.confirmations[findings.log.items[place].id] ?? []).filter { confirmation in
      guard findings.isLive[confirmation], findings.log.sees(confirmation, place),
        findings.rank(confirmation) >= Role.admin.rank, let person = findings.person(confirmation),
        person != findings.person(place), person != other
      else { return false }
      return LogView.past(place).role(of: person, in: findings)?.rank ?? 0 >= Role.admin.rank
    }
  }

  /// The operation that ended an offer without having seen its acceptance.
  ///
  /// The former owner removed the new owner or withdrew the offer, and a third admin had seen that
  /// and not the acceptance. Without a third witness the handover is valid: the recovery words
  /// signed it, and a former owner can date any operation before it. So is one that was confirmed,
  /// but the former owner's silence confirms nothing that it knew to have ended.
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
      log.areConcurrent(end, place) && confirmations(of: place, besides: nil, findings).isEmpty
        && silences(about: place, of: owner, findings).allSatisfy { log.sees($0, end) }
        && parts.contains(seeing: end, notSeeing: place, in: log) { witness in
          findings.isWitness(witness) && findings.rank(witness) >= Role.admin.rank
            && findings.person(witness) != heir && findings.person(witness) != owner
        }
    }
  }

  /// The operation by which the former or the new owner had ended the device that made the offer,
  /// or that accepted it.
  ///
  /// Between two devices of an owner nobody is a witness, so only a recovery ends an offer.
  private func endOfDevice(_ place: Int, from owner: PersonID, _ findings: Findings) -> Int? {
    guard let offer = findings.offer(takenBy: place), let heir = findings.person(place) else {
      return nil
    }
    let (log, live) = (findings.log, findings.live)
    let owners = live.recoveries[log.people[owner]]
    let heirs = live.recoveries[log.people[heir]] + live.revocations[log.deviceNumbers[place]]
    return endOfSide(offer, of: place, from: owner, by: owners, findings)
      ?? endOfSide(place, of: place, from: owner, by: heirs, findings)
  }

  /// The operation that ended the device of one side of a handover, of the same person, if an admin
  /// saw it, not that side.
  ///
  /// The former owner is no witness. For an offer the new owner may be one: nobody may accept an
  /// offer that their own past had ended. An admin whose rank depends on this end, or on an
  /// operation that it ended, does not count: an owner could otherwise recover with a date before
  /// the offer and create such a witness. Then only an explicit confirmation by somebody else than
  /// this side makes the handover valid, under the same condition.
  private func endOfSide(
    _ side: Int, of place: Int, from owner: PersonID, by ends: [Int], _ findings: Findings
  ) -> Int? {
    let (person, devices) = (findings.person(side), DeviceEnds(findings: findings))
    for end in ends where devices.isEnded(side, by: end) {
      var parties = Parties(of: [end], findings)
      let isSeen = parts.contains(seeing: end, notSeeing: side, in: findings.log) { witness in
        findings.isWitness(witness) && findings.rank(witness) >= Role.admin.rank
          && findings.person(witness) != person && findings.person(witness) != owner
          && !parties.include(witness, of: Role.admin.rank)
      }
      guard isSeen else { continue }
      let isVouched = confirmations(of: place, besides: person, findings).contains {
        !parties.include($0, of: Role.admin.rank)
      }
      return isVouched ? nil : end
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

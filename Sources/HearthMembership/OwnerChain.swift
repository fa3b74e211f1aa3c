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

  init(_ log: ControlLog) {
    parts = LogParts(log.items.indices, of: log)
  }

  /// The next link; nil at the end of the chain.
  mutating func next(in fold: ControlResolver) -> Step? {
    guard let owner = owner ?? fold.live.geneses.first.flatMap({ fold.enrolledPerson($0) }) else {
      return nil
    }
    let log = fold.log
    let later = fold.live.acceptances.partitionPoint { $0 > last ?? -1 }
    let candidates = fold.live.acceptances[later...].filter { place in
      fold.verdicts[place].formerOwner == owner && place != last
        && (last.map { log.sees(place, $0) } ?? true)
    }
    let judged = candidates.map { place in
      (place, offer: fold.offer(takenBy: place) ?? place, final: confirmation(of: place, fold))
    }
    let winner = judged.min { one, other in
      let finality = (weight(one.final, owner, fold), weight(other.final, owner, fold))
      if finality.0 != finality.1 { return finality.0 > finality.1 }
      return (one.offer, one.0) < (other.offer, other.0)
    }
    guard let (place, _, final) = winner else { return nil }
    let end = final == nil ? endOfOffer(place, by: owner, fold) : nil
    let isConfirmed = final != nil && Mutant.silenceConfirmsWhatEnded.isActive
    if let end = end ?? (isConfirmed ? nil : recovery(from: place, by: owner, fold)) {
      let reason = VoidReason.overruled(by: log.items[end].id, .offerEnded)
      return Step(
        acceptance: place, confirmation: nil,
        strikes: [Strike(place: place, by: end, reason: reason)], isTaken: false)
    }
    let losers = candidates.filter { log.areConcurrent($0, place) }
      .map {
        Strike(
          place: $0, by: place, reason: .overruled(by: log.items[place].id, .twoTransfers))
      }
    let strikes = losers + lines(of: place, from: owner, fold)
    self.owner = fold.person(place)
    last = place
    return Step(acceptance: place, confirmation: final, strikes: strikes)
  }

  /// The weight of a confirmation: a third person's weighs more than the former owner's, who could
  /// confirm one handover after another.
  private func weight(_ confirmation: Int?, _ owner: PersonID, _ fold: ControlResolver) -> Int {
    guard let confirmation else { return 0 }
    return fold.person(confirmation) == owner ? 1 : 2
  }

  /// The operation that makes an acceptance final: an operation by the former owner who had seen
  /// it, or an explicit confirmation by an admin.
  private func confirmation(of place: Int, _ fold: ControlResolver) -> Int? {
    if let said = thirdPersons(confirming: place, fold).first { return said }
    guard let former = fold.verdicts[place].formerOwner else { return nil }
    return fold.everyDevice(of: former).compactMap { device -> Int? in
      let writings = fold.index.writings[fold.log.deviceNames[device]]
      return writings[writings.partitionPoint { $0 > place }...].first {
        fold.isLive[$0] && fold.person($0) == former && fold.log.sees($0, place)
      }
    }.min()
  }

  /// The confirmations of an acceptance by third persons, who were admins before it: an admin whom
  /// the new owner promoted cannot confirm the new owner.
  private func thirdPersons(confirming place: Int, _ fold: ControlResolver) -> [Int] {
    (fold.index.confirmations[fold.log.items[place].id] ?? []).filter { confirmation in
      guard fold.isLive[confirmation], fold.log.sees(confirmation, place),
        fold.rank(confirmation) >= Role.admin.rank, let person = fold.person(confirmation),
        person != fold.person(place), person != fold.verdicts[place].formerOwner
      else { return false }
      return fold.role(of: person, .past(place))?.rank ?? 0 >= Role.admin.rank
    }
  }

  /// The operation that ended an offer without having seen its acceptance.
  ///
  /// The former owner removed the new owner or withdrew the offer, and a third admin had seen that
  /// and not the acceptance. Without a third witness the handover is valid: the recovery words
  /// signed it, and a former owner can date any operation before it.
  private func endOfOffer(_ place: Int, by owner: PersonID, _ fold: ControlResolver) -> Int? {
    guard let heir = fold.person(place), let offer = fold.offer(takenBy: place) else { return nil }
    let log = fold.log
    let withdrawals = fold.live.transfers.filter { other in
      guard case .transferOwner(let transfer) = log.operation(other) else { return false }
      return transfer.to == owner && log.sees(other, offer)
    }
    let removals = fold.live.removals[fold.log.people[heir]].filter {
      fold.person($0) == owner
    }
    return (removals + withdrawals).first { end in
      log.areConcurrent(end, place)
        && parts.contains(seeing: end, notSeeing: place, in: log) { witness in
          fold.isWitness(witness) && fold.rank(witness) >= Role.admin.rank
            && fold.person(witness) != heir && fold.person(witness) != owner
        }
    }
  }

  /// The concurrent recovery that revoked the offering device, if an admin saw it, not the offer.
  ///
  /// The admin may be the new owner: nobody may accept an offer that their own past had ended. An
  /// admin whose rank depends on the recovery, or on an operation that it ended, does not count: an
  /// owner could otherwise recover with a date before the offer and create such a witness. Then
  /// only a third person may confirm the handover, under the same condition.
  private func recovery(
    from place: Int, by owner: PersonID, _ fold: ControlResolver
  ) -> Int? {
    guard let offer = fold.offer(takenBy: place), let enrolment = fold.verdicts[offer].enrolment
    else { return nil }
    let log = fold.log
    for recovery in fold.live.recoveries[fold.log.people[owner]]
    where log.devices[recovery] != log.devices[offer] && log.sees(recovery, enrolment)
      && log.areConcurrent(recovery, offer) && log.isBeyond(offer, recovery)
    {
      var parties = Parties(of: [recovery], Overrides(fold))
      let isSeen = parts.contains(seeing: recovery, notSeeing: offer, in: log) { witness in
        fold.isWitness(witness) && fold.rank(witness) >= Role.admin.rank
          && fold.person(witness) != owner && !parties.include(witness, of: Role.admin.rank)
      }
      guard isSeen else { continue }
      let isVouched = thirdPersons(confirming: place, fold).contains { confirmation in
        !parties.include(confirmation, of: Role.admin.rank)
      }
      return isVouched ? nil : recovery
    }
    return nil
  }

  /// The operations that an ownership handover overrides: the former owner's operations that need
  /// an owner, and concurrent operations by anybody that take something from the new owner.
  private func lines(
    of place: Int, from owner: PersonID, _ fold: ControlResolver
  ) -> [Strike] {
    guard let heir = fold.person(place) else { return [] }
    let log = fold.log
    let id = log.items[place].id
    return parts.concurrent(with: place, in: log).compactMap { other in
      guard fold.isLive[other], log.isBeyond(other, place) else { return nil }
      if isAgainst(other, heir, fold) {
        return Strike(place: other, by: place, reason: .overruled(by: id, .transferWins))
      }
      guard fold.person(other) == owner, fold.verdicts[other].needs >= Role.owner.rank else {
        return nil
      }
      return Strike(place: other, by: place, reason: .overruled(by: id, .rankLost))
    }
  }

  private func isAgainst(_ place: Int, _ heir: PersonID, _ fold: ControlResolver) -> Bool {
    switch fold.log.operation(place) {
    case .leave: fold.person(place) == heir
    case .setRole(let change): change.person == heir
    case .removeMember(let removal): removal.person == heir
    case .revokeDevice(let revocation):
      fold.person(place) != heir
        && fold.live.enrolments[fold.log.deviceNames[revocation.device]]
          .contains { fold.enrolledPerson($0) == heir }
    default: false
    }
  }
}

import HearthCRDT

/// The chain of owners: from the founder, from hand-over to hand-over.
///
/// Each link is an offer that the owner signed with the recovery words, and its acceptance. It is
/// followed before anything else is settled, as no device can undo what the words signed. What a
/// former owner writes without having seen the acceptance counts as by an admin.
struct OwnerChain {
  /// One link of the chain.
  struct Step {
    let acceptance: Int
    /// The operation that makes it final, if there is one.
    let confirmation: Int?
    let strikes: [Strike]
    /// Whether it is one, or comes to nothing.
    var isTaken = true
  }

  private var owner: PersonID?
  private var last: Int?
  /// All operations, apart by author.
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

  /// How much a confirmation weighs: that of a third person more than the former owner's own, who
  /// could confirm one hand-over after another.
  private func weight(_ confirmation: Int?, _ owner: PersonID, _ fold: ControlResolver) -> Int {
    guard let confirmation else { return 0 }
    return fold.person(confirmation) == owner ? 1 : 2
  }

  /// The operation that makes an acceptance final: by the former owner, who had seen it, or an
  /// explicit confirmation by an admin.
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

  /// The confirmations of an acceptance by admins who were there before it, and are neither of the
  /// two: whom the heir made an admin does not make the heir an owner.
  private func thirdPersons(confirming place: Int, _ fold: ControlResolver) -> [Int] {
    (fold.index.confirmations[fold.log.items[place].id] ?? []).filter { confirmation in
      guard fold.isLive[confirmation], fold.log.sees(confirmation, place),
        fold.rank(confirmation) >= Role.admin.rank, let person = fold.person(confirmation),
        person != fold.person(place), person != fold.verdicts[place].formerOwner
      else { return false }
      return fold.role(of: person, .past(place))?.rank ?? 0 >= Role.admin.rank
    }
  }

  /// What ended an offer without having seen its acceptance: the former owner removed the heir or
  /// withdrew the offer, and an admin who is neither had seen that and not the acceptance.
  ///
  /// Without a third person's eyes the hand-over holds: it was signed with the words, and a former
  /// owner can date anything before it.
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

  /// The recovery that revoked the device which made an offer, unseen by it, where an admin had
  /// seen that and not the offer.
  ///
  /// That may be the heir: nobody takes what the words had ended in their own eyes. It is nobody
  /// who is an admin only by the recovery, or by what it ended: an owner who wants the group back
  /// would recover as if before the offer and make a witness of that. No silence of the same person
  /// confirms it then, but a third person may, to whom the same applies.
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
      var parties = Parties(of: [recovery], Lines(fold))
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

  /// What a hand-over takes the effect from: what only an owner may, by the former owner; and what
  /// takes something from the new owner, by anybody who had not seen it.
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

  /// Whether an operation takes something from the new owner: by others, or by leaving.
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

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
    let founding = findings.index.geneses.first { findings.isLive[$0] }
    guard let owner = owner ?? founding.flatMap(findings.enrolledPerson) else { return nil }
    let log = findings.log
    let later = findings.live.acceptances.partitionPoint { $0 > last ?? -1 }
    let candidates = findings.live.acceptances[later...].compactMap { place -> HandOver? in
      guard last.map({ log.sees(place, $0) }) ?? true else { return nil }
      return HandOver(place, from: owner, in: findings, parts)
    }
    let winner = candidates.min { one, other in
      one.weight != other.weight
        ? one.weight > other.weight : (one.offer, one.place) < (other.offer, other.place)
    }
    guard let winner else { return nil }
    let place = winner.place
    let isConfirmed = winner.confirmation != nil && Mutant.silenceConfirmsWhatEnded.isActive
    if !isConfirmed, let end = winner.endOfOffer ?? winner.endOfDevice {
      return Step(
        acceptance: place, confirmation: nil,
        strikes: [Strike(place: place, by: end, rule: .offerEnded)], isTaken: false)
    }
    let losers = candidates.filter { log.areConcurrent($0.place, place) }.map {
      Strike(place: $0.place, by: place, rule: .twoTransfers)
    }
    self.owner = winner.heir
    last = place
    return Step(
      acceptance: place, confirmation: winner.confirmation, strikes: losers + winner.lines)
  }
}

/// An ownership handover that the chain of owners may include.
private struct HandOver {
  let place: Int
  let offer: Int
  let owner: PersonID
  let heir: PersonID
  /// The operation that makes it final: an operation by the former owner who had seen it, or an
  /// explicit confirmation by an admin.
  private(set) var confirmation: Int?
  private let findings: Findings
  private let log: ControlLog
  private let parts: LogParts

  /// Makes the handover of an effective acceptance; nil if somebody else had offered it.
  init?(_ place: Int, from owner: PersonID, in findings: Findings, _ parts: LogParts) {
    guard findings.verdicts[place].formerOwner == owner, let heir = findings.person(place),
      let offer = findings.offer(takenBy: place)
    else { return nil }
    (self.place, self.offer, self.owner, self.heir) = (place, offer, owner, heir)
    (self.findings, self.parts) = (findings, parts)
    log = findings.log
    confirmation = confirmations(besides: owner).first ?? silences.min()
  }

  /// The weight of its confirmation: a third person's weighs more than the former owner's, who
  /// could confirm one handover after another.
  var weight: Int { confirmation.map { findings.person($0) == owner ? 1 : 2 } ?? 0 }

  /// The first operation of each of the former owner's devices that had seen the acceptance.
  private var silences: [Int] {
    findings.everyDevice(of: owner).compactMap { device in
      let writings = findings.index.writings[log.deviceNames[device]]
      return writings[writings.partitionPoint { $0 > place }...].first {
        findings.isLive[$0] && findings.person($0) == owner && log.sees($0, place)
      }
    }
  }

  /// The explicit confirmations by people who were admins before it, except the new owner and one
  /// more: an admin whom the new owner promoted cannot confirm the new owner.
  private func confirmations(besides other: PersonID?) -> [Int] {
    (findings.index.confirmations[log.items[place].id] ?? []).filter { confirmation in
      guard findings.isLive[confirmation], log.sees(confirmation, place),
        findings.rank(confirmation) >= Role.admin.rank, let person = findings.person(confirmation),
        person != heir, person != other
      else { return false }
      return LogView.past(place).role(of: person, in: findings)?.rank ?? 0 >= Role.admin.rank
    }
  }

  /// Whether an operation is by an admin who is neither the former owner nor one more person.
  private func isWitness(_ place: Int, besides other: PersonID?) -> Bool {
    findings.isWitness(place) && findings.rank(place) >= Role.admin.rank
      && findings.person(place) != owner && findings.person(place) != other
  }

  /// The operation that ended the offer without having seen the acceptance.
  ///
  /// The former owner removed the new owner or withdrew the offer, and a third admin had seen that
  /// and not the acceptance. Without a third witness the handover is valid: the recovery words
  /// signed it, and a former owner can date any operation before it. So is one that was confirmed,
  /// but the former owner's silence confirms nothing that it knew to have ended.
  var endOfOffer: Int? {
    let withdrawals = findings.live.transfers.filter { other in
      guard case .transferOwner(owner, _) = log.operation(other) else { return false }
      return log.sees(other, offer)
    }
    let removals = findings.live.removals[log.people[heir]].filter { findings.person($0) == owner }
    return (removals + withdrawals).first { end in
      log.areConcurrent(end, place) && confirmations(besides: nil).isEmpty
        && silences.allSatisfy { log.sees($0, end) }
        && parts.contains(seeing: end, notSeeing: place, in: log) { isWitness($0, besides: heir) }
    }
  }

  /// The operation by which the former or the new owner had ended the device that made the offer,
  /// or that accepted it.
  ///
  /// Between two devices of an owner nobody is a witness, so only a recovery ends an offer.
  var endOfDevice: Int? {
    let live = findings.live
    let heirs = live.recoveries[log.people[heir]] + live.revocations[log.deviceNumbers[place]]
    return end(of: offer, by: live.recoveries[log.people[owner]]) ?? end(of: place, by: heirs)
  }

  /// The operation that ended the device of one side of a handover, of the same person, if an admin
  /// saw it, not that side.
  ///
  /// The former owner is no witness. For an offer the new owner may be one: nobody may accept an
  /// offer that their own past had ended. An admin whose rank depends on this end, or on an
  /// operation that it ended, does not count: an owner could otherwise recover with a date before
  /// the offer and create such a witness. Then only an explicit confirmation by somebody else than
  /// this side makes the handover valid, under the same condition.
  private func end(of side: Int, by ends: [Int]) -> Int? {
    let person = findings.person(side)
    for end in ends where findings.isEnded(side, by: end) {
      var parties = Parties(of: [end], findings)
      let isSeen = parts.contains(seeing: end, notSeeing: side, in: log) { witness in
        isWitness(witness, besides: person) && !parties.include(witness, of: Role.admin.rank)
      }
      guard isSeen else { continue }
      let isVouched = confirmations(besides: person).contains {
        !parties.include($0, of: Role.admin.rank)
      }
      return isVouched ? nil : end
    }
    return nil
  }

  /// The operations that it overrides: the former owner's operations that need an owner, and
  /// concurrent operations by anybody that take something from the new owner.
  var lines: [Strike] {
    parts.concurrent(with: place, in: log).compactMap { other in
      guard findings.isLive[other], log.isBeyond(other, place) else { return nil }
      if isAgainstHeir(other) { return Strike(place: other, by: place, rule: .transferWins) }
      guard findings.person(other) == owner, findings.verdicts[other].needs >= Role.owner.rank
      else { return nil }
      return Strike(place: other, by: place, rule: .rankLost)
    }
  }

  private func isAgainstHeir(_ other: Int) -> Bool {
    switch log.operation(other) {
    case .leave: findings.person(other) == heir
    case .setRole(heir, _, _), .removeMember(heir, _): true
    case .revokeDevice(let device, _):
      findings.person(other) != heir
        && findings.live.enrolments[log.deviceNames[device]]
          .contains { findings.enrolledPerson($0) == heir }
    default: false
    }
  }
}

import HearthCRDT

/// Decides about joinings: what speaks against each, and which are final.
///
/// A closing that had not seen a joining, the end of the invitation's maker, more uses than allowed
/// and an earlier entry under the same person speak against it. A confirmation overcomes all of
/// them.
final class Entries {
  /// What was found about one joining.
  struct Decision {
    let place: Int
    let contest: VoidReason?
    let confirmation: Int?
  }

  private let fold: ControlResolver
  private let log: ControlLog
  /// Who is in only by one of too many uses of an invitation, by the operation that made it.
  private var parties: [Int: Parties] = [:]

  init(_ fold: ControlResolver) {
    self.fold = fold
    log = fold.log
  }

  /// The decisions about every joining that gives a rank, in the log's order.
  func decisions(of rank: Int) -> [Decision] {
    guard let candidates = fold.stock.candidates[rank] else { return [] }
    var confirmations = [Int?](repeating: nil, count: log.items.count)
    for place in candidates { confirmations[place] = confirmation(of: place) }
    var contests = [VoidReason?](repeating: nil, count: log.items.count)
    for place in candidates where confirmations[place] == nil {
      contests[place] = contest(place)
    }
    // Who can never count uses up nothing.
    contestDoubles(candidates, confirmations, &contests, onlyByFinal: true)
    contestUses(candidates, confirmations, &contests)
    contestDoubles(candidates, confirmations, &contests, onlyByFinal: false)
    return candidates.map { place in
      // Only a rival that is final as well speaks against what is final.
      let contest = contests[place]
      return Decision(
        place: place, contest: contest,
        confirmation: contest == nil ? confirmations[place] : nil)
    }
  }

  /// The joinings that their own past allows, or would if they were confirmed, by the rank that
  /// they give.
  func candidates() -> [Int: [Int]] {
    Dictionary(grouping: fold.index.joinings.filter { isCandidate($0) }, by: entryRank)
  }

  func isCandidate(_ place: Int) -> Bool {
    let verdict = fold.verdicts[place]
    return fold.strikes[place] == nil && verdict.isEntry
      && (verdict.refusal == nil || verdict.isContested)
  }

  /// The rank that a joining gives: that of the role, or of the person whose further device it is.
  private func entryRank(_ place: Int) -> Int {
    let verdict = fold.verdicts[place]
    if let given = verdict.given { return max(given.rank, Role.child.rank) }
    // Who joins at once has the rank of the person.
    guard verdict.enrolment != place, let person = log.comers[place] else { return verdict.rank }
    return fold.role(of: person, .past(place))?.rank ?? 0
  }

  /// Whether who confirms a joining is in only by it, or by a rival use of the same invitation:
  /// such a confirmation would decide about itself.
  private func isParty(_ confirmation: Int, to place: Int) -> Bool {
    guard let invite = fold.verdicts[place].invite, isCrowded(invite) else { return false }
    let uses = fold.index.uses[log.invited[invite]].filter { fold.confirmations[$0] == nil }
    var parties = self.parties[invite] ?? Parties(of: Set(uses), Lines(fold))
    defer { self.parties[invite] = parties }
    return parties.include(confirmation, of: Role.child.rank)
  }

  /// Whether more came by an invitation than it allows.
  private func isCrowded(_ invite: Int) -> Bool {
    fold.index.uses[log.invited[invite]].count > log.terms(invite)?.maximumUses ?? .max
  }

  // MARK: Confirmation

  /// The operation that makes a joining final, that of the highest rank: an approval, an explicit
  /// confirmation, a role that was given since or a key that was sealed to the device, by somebody
  /// of higher rank who had seen the joining.
  ///
  /// A further device is final too by another device of its person that was there before the
  /// invitation. A role and a key speak of a person and a device, which may have joined more than
  /// once: they confirm no joining that their author knew to wait or to be over.
  func confirmation(of place: Int) -> Int? {
    if case .admit = log.operation(place) { return place }
    if Mutant.entryIsNeverFinal.isActive { return nil }
    let person = fold.given(place) == nil ? nil : log.comers[place]
    let said = fold.index.confirmations[log.items[place].id] ?? []
    let wraps = fold.index.wraps
    let implied =
      (wraps.isEmpty ? [] : wraps[fold.enrolledDevice(place)] ?? [])
      + fold.live.roleChanges[person].filter { fold.isRole($0) }
    var best: (place: Int, rank: Int)?
    func weigh(_ others: [Int], _ isMeant: (Int) -> Bool) {
      for other in others where fold.isLive[other] && log.sees(other, place) {
        let rank = fold.standing(other)
        guard rank > best?.rank ?? 0, mayConfirm(other, place), isMeant(other),
          !isParty(other, to: place)
        else { continue }
        best = (other, rank)
      }
    }
    weigh(said) { _ in true }
    if let invite = fold.verdicts[place].invite, !implied.isEmpty {
      let device = fold.enrolledDevice(place)
      weigh(implied) { other in
        Mutant.keysConfirmWhoWaits.isActive
          || !isKnownToWait(place, by: invite, to: other)
            && fold.ending(of: device, enrolledBy: place, .past(other)) == nil
      }
    }
    return best?.place
  }

  /// Whether the author of an operation knew what speaks against a joining.
  private func isKnownToWait(_ place: Int, by invite: Int, to other: Int) -> Bool {
    if let line = fold.strikers[invite] { return log.sees(other, line) }
    return fold.verdicts[place].refusal != nil
      || objection(to: place, by: invite) { log.sees(other, $0) } != nil
  }

  private func mayConfirm(_ confirmation: Int, _ place: Int) -> Bool {
    let rank = fold.standing(confirmation)
    if rank >= Role.admin.rank, rank > entryRank(place) { return true }
    guard !fold.undecided.contains(place), fold.given(place) == nil,
      let invite = fold.inviter(of: place), let own = fold.verdicts[confirmation].enrolment
    else { return false }
    return fold.person(confirmation) == fold.enrolledPerson(place) && log.sees(invite, own)
  }

  // MARK: Objections

  /// What speaks against a joining by itself.
  private func contest(_ place: Int) -> VoidReason? {
    if fold.undecided.contains(place) { return .undecided }
    guard fold.verdicts[place].enrolment == place, let invite = fold.inviter(of: place) else {
      return nil
    }
    return objection(to: place, by: invite) { _ in true }.map {
      .overruled(by: log.items[$0].id, .invitationClosed)
    }
  }

  /// The first line that ended an invitation unseen by a joining, of those that are asked for: a
  /// closing, the removal of somebody who used it, or the end of its maker.
  private func objection(
    to place: Int, by invite: Int, _ isAskedFor: (Int) -> Bool
  ) -> Int? {
    let maker = fold.person(invite)
    func speaks(_ line: Int) -> Bool {
      log.isBeyond(place, line) && !log.sees(place, line) && isAskedFor(line)
    }
    let closing = fold.live.closings[log.invited[invite]].first { closing in
      speaks(closing) && log.sees(closing, invite)
        && (fold.person(closing) == maker || fold.standing(closing) > entryRank(place))
    }
    if let closing, !Mutant.closedStillAdmits.isActive { return closing }
    return fold.live.removalsOfUsers[invite].first(where: speaks)
      ?? ending(ofMakerOf: invite, where: speaks)
  }

  /// The first line that ended the maker of an invitation, or the rank for it.
  private func ending(ofMakerOf invite: Int, where speaks: (Int) -> Bool) -> Int? {
    guard let made = log.terms(invite), let enrolment = fold.verdicts[invite].enrolment,
      let person = log.comers[enrolment], let membership = fold.verdicts[invite].membership
    else { return nil }
    let device = log.deviceNumbers[invite]
    func first(of lines: [Int], seeing entry: Int, where isMeant: (Int) -> Bool) -> Int? {
      lines.first { log.sees($0, entry) && isMeant($0) && speaks($0) }
    }
    let line =
      first(of: fold.live.revocations[device], seeing: enrolment) { _ in true }
      ?? first(of: fold.live.recoveries[person], seeing: enrolment) {
        log.deviceNumbers[$0] != device
      } ?? first(of: fold.live.removals[person], seeing: membership) { _ in true }
    if let line { return line }
    guard made.person != fold.person(invite) else { return nil }
    return fold.live.roleChanges[person].first { line in
      guard case .setRole(let change) = log.operation(line), speaks(line) else {
        return false
      }
      return log.sees(line, membership)
        && (change.role.rank < Role.admin.rank || change.role.rank <= made.role.rank)
    }
  }

  /// Of more joinings than an invitation allows the confirmed ones count, then the first in order.
  private func contestUses(
    _ candidates: [Int], _ confirmations: [Int?], _ contests: inout [VoidReason?]
  ) {
    if Mutant.countsSeenUses.isActive { return }
    let crowded = candidates.filter { fold.inviter(of: $0).map(isCrowded) ?? false }
    let byInvite = Dictionary(grouping: crowded) { fold.inviter(of: $0) ?? -1 }
    for (invite, own) in byInvite.sorted(by: { $0.key < $1.key }) {
      guard let made = log.terms(invite) else { continue }
      let decided = Set(own)
      let uses = fold.index.uses[log.invited[invite]].filter {
        decided.contains($0)
          || isCandidate($0) && fold.inviter(of: $0) == invite && !Mutant.countsUsesByRank.isActive
      }
      var before: [Int] = []
      var others: [Int] = []
      for place in uses {
        let isOwn = decided.contains(place)
        // Joinings that give another rank use up the same invitation.
        if (isOwn ? confirmations[place] : confirmation(of: place)) != nil {
          before.append(place)
        } else if fold.verdicts[place].refusal == nil,
          isOwn ? contests[place] == nil : contest(place) == nil && !isDouble(place)
        {
          others.append(place)
        }
      }
      for place in others {
        guard before.count >= made.maximumUses else {
          before.append(place)
          continue
        }
        // What a device did in another history of its log does not use up what others rest on.
        let rivals = before.filter { log.forked.isEmpty || !log.areBranches($0, place) }
        guard rivals.count >= made.maximumUses, let first = rivals.first else {
          before.append(place)
          continue
        }
        guard decided.contains(place) else { continue }
        contests[place] = .overruled(by: log.items[first].id, .invitationUsedUp)
      }
    }
  }

  /// Whether a joining waits because of another entry under the same person or device.
  private func isDouble(_ place: Int) -> Bool {
    switch fold.contests[place] {
    case .overruled(_, .samePerson), .overruled(_, .deviceTwice): true
    default: false
    }
  }

  /// Of two entries under one person the confirmed one counts, then the first in order; the same of
  /// two names of one device.
  private func contestDoubles(
    _ candidates: [Int], _ confirmations: [Int?], _ contests: inout [VoidReason?],
    onlyByFinal: Bool
  ) {
    var final = confirmations
    var against = contests
    func isBefore(_ one: Int, _ other: Int) -> Bool {
      let isFinal = (final[one] != nil, final[other] != nil)
      if isFinal.0 != isFinal.1 { return isFinal.0 }
      let ranks = (finality(final[one]), finality(final[other]))
      if ranks.0 != ranks.1 { return ranks.0 > ranks.1 }
      guard !log.forked.isEmpty, log.areBranches(one, other) else { return one < other }
      let seen = (fold.witness(of: one, beside: other), fold.witness(of: other, beside: one))
      return seen.0 != seen.1 ? seen.0 > seen.1 : one < other
    }
    func mark(
      _ places: [Int], _ others: [Int], _ rule: VoidReason.Rule,
      _ areDoubles: (Int, Int) -> Bool
    ) {
      let near = Neighbours((places + others).sorted(), in: log)
      for place in places where against[place] == nil {
        func isRival(_ other: Int) -> Bool {
          other != place && against[other] == nil && (!onlyByFinal || final[other] != nil)
            && log.areConcurrent(other, place)
            && areDoubles(other, place) && isBefore(other, place)
        }
        // Nearly everything has seen what came before, or was seen by what came later.
        let near = near.of(place, among: places) + near.of(place, among: others)
        guard let rival = near.first(where: isRival) else { continue }
        let reason = VoidReason.overruled(by: log.items[rival].id, rule)
        contests[place] = reason
        against[place] = reason
      }
    }
    let counting = candidates.filter {
      confirmations[$0] != nil || fold.verdicts[$0].refusal == nil
    }
    let beginnings = rivalled(counting)
    let all = Set(beginnings.isEmpty ? [] : candidates)
    for (person, places) in beginnings.sorted(by: { $0.key < $1.key }) {
      // Entries that give other roles are rivals as well.
      let rivals = (fold.index.additions[person] ?? []).filter { other in
        !all.contains(other) && isCandidate(other) && fold.given(other) != nil
      }
      for rival in rivals {
        final[rival] = confirmation(of: rival)
        if final[rival] == nil, fold.verdicts[rival].refusal == nil {
          against[rival] = fold.contests[rival] ?? contest(rival)
        }
      }
      let standing = rivals.filter { final[$0] != nil || fold.verdicts[$0].refusal == nil }
      guard places.count + standing.count > 1 else { continue }
      mark(places, standing, .samePerson) { one, other in
        // The same device, let in in two histories of one log, is let in.
        !log.areBranches(one, other) || fold.enrolledDevice(one) != fold.enrolledDevice(other)
      }
    }
    guard !log.forked.isEmpty else { return }
    let byDevice = Dictionary(grouping: counting.filter { isOwnJoining($0) }) {
      log.devices[$0]
    }
    for (_, places) in byDevice.sorted(by: { $0.key < $1.key }) where places.count > 1 {
      mark(places, [], .deviceTwice) { one, other in
        log.areBranches(one, other) && fold.enrolledPerson(one) != fold.enrolledPerson(other)
      }
    }
  }

  /// The entries of people of whom there are several, by person.
  private func rivalled(_ counting: [Int]) -> [PersonID: [Int]] {
    let several = counting.filter { place in
      fold.given(place) != nil
        && fold.enrolledPerson(place).map { fold.index.additions[$0]?.count ?? 0 > 1 } ?? false
    }
    return Dictionary(grouping: several) { fold.enrolledPerson($0) ?? .zero }
  }

  private func finality(_ confirmation: Int?) -> Int {
    confirmation.map { fold.standing($0) } ?? 0
  }

  private func isOwnJoining(_ place: Int) -> Bool {
    fold.enrolledDevice(place) == log.devices[place]
  }
}

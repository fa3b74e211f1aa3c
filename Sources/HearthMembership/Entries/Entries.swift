import HearthCRDT

/// Decides which joins take effect and which are final.
///
/// Four things contest a join: a close that had not seen it, the removal of the inviter, too many
/// uses of the invitation, and an earlier join of the person. A confirmation overrides them all.
final class Entries {
  struct Decision {
    let place: Int
    let contest: VoidReason?
    let confirmation: Int?
  }

  private let findings: Findings
  private let log: ControlLog
  private let stock: Stock
  /// For each overused invitation, by its operation: the people who belong only through its uses.
  private var parties: [Int: Parties] = [:]
  private lazy var witnesses = BranchWitnesses(findings)

  init(_ findings: Findings, _ stock: Stock) {
    self.findings = findings
    self.stock = stock
    log = findings.log
  }

  private func standing(_ place: Int) -> Int { stock.standing(place, in: findings) }

  /// The decisions about every join that gives a rank, in log order.
  func decisions(of rank: Int) -> [Decision] {
    guard let candidates = stock.candidates[rank] else { return [] }
    var confirmations = [Int?](repeating: nil, count: log.items.count)
    for place in candidates { confirmations[place] = confirmation(of: place) }
    var contests = [VoidReason?](repeating: nil, count: log.items.count)
    for place in candidates where confirmations[place] == nil { contests[place] = contest(place) }
    let doubles = Doubles(candidates, confirmations, of: findings)
    // A join that can never take effect consumes no use of an invitation.
    contestDoubles(doubles, confirmations, &contests, onlyByFinal: true)
    contestUses(candidates, confirmations, &contests)
    contestDoubles(doubles, confirmations, &contests, onlyByFinal: false)
    return candidates.map { place in
      // A rival that is not final contests a final one only as the device that made the id.
      let contest = contests[place]
      return Decision(
        place: place, contest: contest, confirmation: contest == nil ? confirmations[place] : nil)
    }
  }

  /// Whether a confirmation would decide about itself: its author belongs to the group only through
  /// this join, or through a rival use of the same invitation.
  private func isParty(_ confirmation: Int, to place: Int) -> Bool {
    guard let invite = findings.verdicts[place].invite, isCrowded(invite) else { return false }
    let uses = findings.index.uses[log.invited[invite]].filter { findings.confirmations[$0] == nil }
    var parties = self.parties[invite] ?? Parties(of: Set(uses), findings)
    defer { self.parties[invite] = parties }
    return parties.include(confirmation, of: Role.child.rank)
  }

  private func isCrowded(_ invite: Int) -> Bool {
    findings.index.uses[log.invited[invite]].count > log.terms(invite)?.maximumUses ?? .max
  }

  // MARK: Confirmation

  /// The operation that makes a join final; of several, the one whose author has the highest rank.
  ///
  /// An approval, an explicit confirmation, a later role change, or a key sealed to the device
  /// confirms a join. The author must have a higher rank than the join gives, and must have seen
  /// the join. A further device is also confirmed by another device of its person that was there
  /// before the invitation. Roles and keys name a person and a device, which may have joined more
  /// than once, so they confirm no join that their author knew to be pending or ended.
  func confirmation(of place: Int) -> Int? {
    if case .admit = log.operation(place) { return place }
    if Mutant.entryIsNeverFinal.isActive { return nil }
    let person = findings.given(place) == nil ? nil : log.comers[place]
    let said = findings.index.confirmations[log.items[place].id] ?? []
    let wraps = findings.index.wraps
    let implied =
      (wraps.isEmpty ? [] : wraps[findings.enrolledDevice(place)] ?? [])
      + findings.live.roles[person].filter { log.operation($0).isRoleChange }
    var best: (place: Int, rank: Int)?
    func weigh(_ others: [Int], _ isMeant: (Int) -> Bool) {
      for other in others where findings.isLive[other] && log.sees(other, place) {
        let rank = standing(other)
        guard rank > best?.rank ?? 0, mayConfirm(other, place), isMeant(other),
          !isParty(other, to: place)
        else { continue }
        best = (other, rank)
      }
    }
    weigh(said) { _ in true }
    if let invite = findings.verdicts[place].invite, !implied.isEmpty {
      let device = findings.enrolledDevice(place)
      weigh(implied) { other in
        Mutant.keysConfirmWhoWaits.isActive
          || !isKnownToWait(place, by: invite, to: other)
            && LogView.past(other).ending(of: device, enrolledBy: place, in: findings) == nil
      }
    }
    return best?.place
  }

  /// Whether the author of an operation knew of an objection to a join.
  private func isKnownToWait(_ place: Int, by invite: Int, to other: Int) -> Bool {
    if let strike = findings.strikes[invite] { return log.sees(other, strike.by) }
    return findings.verdicts[place].refusal != nil
      || objection(to: place, by: invite) { log.sees(other, $0) } != nil
  }

  private func mayConfirm(_ confirmation: Int, _ place: Int) -> Bool {
    let rank = standing(confirmation)
    if rank >= Role.admin.rank, rank > Stock.entryRank(place, in: findings) { return true }
    guard !findings.undecided.contains(place), findings.given(place) == nil,
      let invite = findings.inviter(of: place), let own = findings.verdicts[confirmation].enrolment
    else { return false }
    return findings.person(confirmation) == findings.enrolledPerson(place) && log.sees(invite, own)
  }

  // MARK: Objections

  /// The objection to a join on its own, without its rivals.
  private func contest(_ place: Int) -> VoidReason? {
    if findings.undecided.contains(place) { return .undecided }
    guard findings.verdicts[place].enrolment == place, let invite = findings.inviter(of: place)
    else { return nil }
    return objection(to: place, by: invite) { _ in true }.map {
      .overruled(by: log.items[$0].id, .invitationClosed)
    }
  }

  /// The first line that ended an invitation and that a join had not seen, among the lines that the
  /// filter accepts: a close, the removal of a user of the invitation, or the end of its maker.
  private func objection(to place: Int, by invite: Int, _ isAskedFor: (Int) -> Bool) -> Int? {
    let maker = findings.person(invite)
    func speaks(_ line: Int) -> Bool { log.isUnaware(place, of: line) && isAskedFor(line) }
    let closing = findings.live.closings[log.invited[invite]].first { closing in
      speaks(closing) && log.sees(closing, invite)
        && (findings.person(closing) == maker
          || standing(closing) > Stock.entryRank(place, in: findings))
    }
    if let closing, !Mutant.closedStillAdmits.isActive { return closing }
    return findings.live.removalsOfUsers[invite].first(where: speaks)
      ?? ending(ofMakerOf: invite, where: speaks)
  }

  /// The first line that ended the maker of an invitation, or the maker's right to make it.
  private func ending(ofMakerOf invite: Int, where speaks: (Int) -> Bool) -> Int? {
    guard let made = log.terms(invite), let enrolment = findings.verdicts[invite].enrolment,
      let person = log.comers[enrolment], let membership = findings.membership(invite)
    else { return nil }
    let device = log.deviceNumbers[invite]
    func first(of lines: [Int], seeing entry: Int, where isMeant: (Int) -> Bool) -> Int? {
      lines.first { log.sees($0, entry) && isMeant($0) && speaks($0) }
    }
    let line =
      first(of: findings.live.revocations[device], seeing: enrolment) { _ in true }
      ?? first(of: findings.live.recoveries[person], seeing: enrolment) {
        log.deviceNumbers[$0] != device
      } ?? first(of: findings.live.removals[person], seeing: membership) { _ in true }
    if let line { return line }
    guard made.person != findings.person(invite) else { return nil }
    return findings.live.roles[person].first { line in
      guard case .setRole(_, let role, _) = log.operation(line), speaks(line) else { return false }
      return log.sees(line, membership)
        && (role.rank < Role.admin.rank || role.rank <= made.role.rank)
    }
  }

  /// Contests the joins beyond an invitation's uses; confirmed joins count first, then log order.
  private func contestUses(
    _ candidates: [Int], _ confirmations: [Int?], _ contests: inout [VoidReason?]
  ) {
    if Mutant.countsSeenUses.isActive { return }
    let crowded = candidates.filter { findings.inviter(of: $0).map(isCrowded) ?? false }
    let byInvite = Dictionary(grouping: crowded) { findings.inviter(of: $0) ?? -1 }
    for (invite, own) in byInvite.sorted(by: { $0.key < $1.key }) {
      guard let made = log.terms(invite) else { continue }
      let decided = Set(own)
      let uses = findings.index.uses[log.invited[invite]].filter {
        decided.contains($0)
          || findings.isCandidate($0) && findings.inviter(of: $0) == invite
            && !Mutant.countsUsesByRank.isActive
      }
      var before: [Int] = []
      var others: [Int] = []
      for place in uses {
        let isOwn = decided.contains(place)
        // Joins that give another rank consume uses of the same invitation.
        if (isOwn ? confirmations[place] : confirmation(of: place)) != nil {
          before.append(place)
        } else if findings.verdicts[place].refusal == nil,
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
        // A use in another branch of a device's log must not displace a join that others depend on.
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

  private func isDouble(_ place: Int) -> Bool {
    switch findings.contests[place] {
    case .overruled(_, .samePerson), .overruled(_, .deviceTwice): true
    default: false
    }
  }

  /// Contests all but one of several joins under one person, or of one device under several people.
  ///
  /// The stronger claim wins, then the first in log order.
  private func contestDoubles(
    _ doubles: Doubles, _ confirmations: [Int?], _ contests: inout [VoidReason?], onlyByFinal: Bool
  ) {
    var final = confirmations
    var against = contests
    func isBefore(_ one: Int, _ other: Int, _ rule: VoidReason.Rule) -> Bool {
      let claim = strength(of: one, finality: final[one].map(standing), under: rule)
      let rival = strength(of: other, finality: final[other].map(standing), under: rule)
      return claim != rival ? claim > rival : precedes(one, other)
    }
    func mark(
      _ places: [Int], _ others: [Int], _ rule: VoidReason.Rule, _ areDoubles: (Int, Int) -> Bool
    ) {
      let near = Neighbours((places + others).sorted(), in: log)
      for place in places where against[place] == nil {
        func isRival(_ other: Int) -> Bool {
          other != place && against[other] == nil && (!onlyByFinal || final[other] != nil)
            && log.areConcurrent(other, place)
            && areDoubles(other, place) && isBefore(other, place, rule)
        }
        // Almost all joins are ordered causally, so only concurrent ones are compared.
        let near = near.of(place, among: places) + near.of(place, among: others)
        guard let rival = near.first(where: isRival) else { continue }
        let reason = VoidReason.overruled(by: log.items[rival].id, rule)
        contests[place] = reason
        against[place] = reason
      }
    }
    for (places, rivals) in doubles.ofPeople {
      for rival in rivals {
        final[rival] = confirmation(of: rival)
        if final[rival] == nil, findings.verdicts[rival].refusal == nil {
          against[rival] = findings.contests[rival] ?? contest(rival)
        }
      }
      let standing = rivals.filter { final[$0] != nil || findings.verdicts[$0].refusal == nil }
      guard places.count + standing.count > 1 else { continue }
      mark(places, standing, .samePerson) { one, other in
        // Two branches of one log that admit the same device do not conflict.
        !log.areBranches(one, other)
          || findings.enrolledDevice(one) != findings.enrolledDevice(other)
      }
    }
    for places in doubles.ofDevices {
      mark(places, [], .deviceTwice) { one, other in
        log.areBranches(one, other)
          && findings.enrolledPerson(one) != findings.enrolledPerson(other)
      }
    }
  }

  /// How strong a join is against a concurrent one under the same person, or by the same device:
  /// the rank of the author who made it final, -1 if nobody has, then whether its device made the
  /// person's id.
  ///
  /// Nobody else can make a device that leads to the id, so the first join of that device counts as
  /// if an admin had made it final. What an owner made final is stronger. Otherwise the holder of a
  /// lost device could end its person's membership in a household that the person joined with
  /// another device.
  private func strength(
    of place: Int, finality confirmed: Int?, under rule: VoidReason.Rule
  ) -> (finality: Int, isByMaker: Int) {
    let isByMaker =
      rule == .samePerson && log.items[place].isByMaker && !Mutant.idsBelongToNobody.isActive
    let isFirst = isByMaker && findings.verdicts[place].isFirst
    let finality = confirmed ?? -1
    return (isFirst ? max(finality, Role.admin.rank) : finality, isByMaker ? 1 : 0)
  }

  /// Whether one of two joins of equal claims comes first: in two branches of a log the one that a
  /// higher rank had seen without the other, else the first in log order.
  private func precedes(_ one: Int, _ other: Int) -> Bool {
    guard !log.forked.isEmpty, log.areBranches(one, other) else { return one < other }
    let seen = (witnesses.rank(of: one, beside: other), witnesses.rank(of: other, beside: one))
    return seen.0 != seen.1 ? seen.0 > seen.1 : one < other
  }
}

/// The joins of one rank that may stand against each other.
private struct Doubles {
  /// The joins under one person that may have effect, with those that give another rank.
  private(set) var ofPeople: [(places: [Int], rivals: [Int])] = []
  /// The own joins of one device that may have effect, if a log is forked.
  private(set) var ofDevices: [[Int]] = []

  init(_ candidates: [Int], _ confirmations: [Int?], of findings: Findings) {
    let log = findings.log
    var people: [Int: [Int]] = [:]
    var devices: [Int: [Int]] = [:]
    for place in candidates
    where confirmations[place] != nil || findings.verdicts[place].refusal == nil {
      if findings.given(place) != nil, let person = log.comers[place] {
        people[person, default: []].append(place)
      }
      if !log.forked.isEmpty, log.entrants[place] == log.deviceNumbers[place] {
        devices[log.deviceNumbers[place], default: []].append(place)
      }
    }
    let own = Set(candidates)
    for (person, places) in people.sorted(by: { $0.key < $1.key }) {
      let all = findings.index.additions[log.people[number: person]] ?? []
      guard all.count > 1 else { continue }
      // Joins that give other roles are rivals as well.
      let rivals = all.filter {
        !own.contains($0) && findings.isCandidate($0) && findings.given($0) != nil
      }
      ofPeople.append((places, rivals))
    }
    ofDevices = devices.sorted { $0.key < $1.key }.map(\.value).filter { $0.count > 1 }
  }
}

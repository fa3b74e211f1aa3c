import HearthCRDT

// What goes before what, of operations that happened at the same time.
extension ControlResolver {
  /// An operation that loses.
  struct Strike {
    let place: Int
    let reason: VoidReason
  }

  /// The next operations to strike; none when everything is settled.
  ///
  /// Joinings that no invitation allows go first: nothing that rests on them may strike anything.
  func nextStrikes() -> [Strike] {
    for invite in index.uses.keys.sorted() {
      let struck = strikesOfUses(of: invite)
      if !struck.isEmpty { return struck }
    }
    for person in index.additions.keys.sorted() {
      let struck = strikesOfDoubles(of: person)
      if !struck.isEmpty { return struck }
    }
    for device in index.enrolments.keys.sorted() where !log.forked.isEmpty {
      let struck = strikesOfTwoNames(of: device)
      if !struck.isEmpty { return struck }
    }
    for person in index.words.keys.sorted() {
      let struck = strikesOfWords(of: person)
      if !struck.isEmpty { return struck }
    }
    for striker in strikers() {
      let struck = strikes(by: striker)
      if !struck.isEmpty { return struck }
    }
    return []
  }

  private func strike(_ place: Int, by striker: Int, _ rule: VoidReason.Rule) -> Strike {
    Strike(place: place, reason: .overruled(by: log.items[striker].id, rule))
  }

  // MARK: Invitations

  /// Joinings that a closing of the same time ends, and those beyond the uses.
  private func strikesOfUses(of id: Identifier) -> [Strike] {
    let uses = (index.uses[id] ?? []).filter { isLive[$0] }
    guard !uses.isEmpty else { return [] }
    if Mutant.countsSeenUses.isActive { return [] }
    let closings =
      Mutant.closedStillAdmits.isActive
      ? [] : (index.closings[id] ?? []).filter { isLive[$0] }
    let closed = uses.compactMap { use in
      closings.first { closing in
        log.mayStrike(closing, use) && inviter(of: use).map { log.sees(closing, $0) } ?? true
      }.map { strike(use, by: $0, .invitationClosed) }
    }
    guard closed.isEmpty else { return closed }
    var earlier: [Int: [Int]] = [:]
    return uses.compactMap { use in
      guard let invite = inviter(of: use),
        case .inviteCreate(let made) = log.items[invite].operation
      else { return nil }
      var before = earlier[invite] ?? []
      earlier[invite, default: []].append(use)
      guard before.count >= made.maximumUses else { return nil }
      // What a device did in another history of its log does not use up what others rest on.
      if !log.forked.isEmpty { before.removeAll { log.areBranches($0, use) } }
      return before.count < made.maximumUses
        ? nil : strike(use, by: before[0], .invitationUsedUp)
    }
  }

  /// Joinings under the name of a person who joined at the same time elsewhere.
  private func strikesOfDoubles(of person: PersonID) -> [Strike] {
    let beginnings = (index.additions[person] ?? []).filter { isLive[$0] && given[$0] != nil }
    for (number, place) in beginnings.enumerated() {
      for other in beginnings[..<number] where log.areConcurrent(other, place) {
        guard log.areBranches(other, place) else { return [strike(place, by: other, .samePerson)] }
        // The same device, let in in two histories of one log, is let in.
        if enrolledDevice(other) == enrolledDevice(place) { continue }
        return [preferring(other, place, .samePerson)]
      }
    }
    return []
  }

  // MARK: Histories

  /// A device that joined under two names, in two histories of its own log, has one of them.
  private func strikesOfTwoNames(of device: DeviceID) -> [Strike] {
    let own = (index.enrolments[device] ?? []).filter {
      isLive[$0] && log.items[$0].device == device
    }
    for (number, place) in own.enumerated() {
      for other in own[..<number]
      where log.areBranches(other, place) && enrolledPerson(other) != enrolledPerson(place) {
        return [preferring(other, place, .deviceTwice)]
      }
    }
    return []
  }

  /// Of two beginnings in two histories of one life, strikes the one on which less rests: that of
  /// which others of a lower rank had seen, or else the later in order.
  private func preferring(_ first: Int, _ second: Int, _ rule: VoidReason.Rule) -> Strike {
    witness(of: second, beside: first) > witness(of: first, beside: second)
      ? strike(first, by: second, rule) : strike(second, by: first, rule)
  }

  /// The greatest rank of somebody else who had seen an operation and not its contradiction.
  ///
  /// 0 if nobody had. Who shows a history to the others only says that it is there.
  private func witness(of place: Int, beside other: Int) -> Int {
    log.items.indices.reduce(0) { greatest, witness in
      guard isLive[witness], log.items[witness].device != log.items[place].device,
        log.items[witness].operation.kind != 23, log.sees(witness, place), !log.sees(witness, other)
      else { return greatest }
      return max(greatest, ranks[witness])
    }
  }

  /// The device that an operation lets in.
  private func enrolledDevice(_ place: Int) -> DeviceID {
    if case .admit(let admit) = log.items[place].operation {
      return Membership.cardID(of: admit.join.device)
    }
    return log.items[place].device
  }

  // MARK: Words

  /// Words that a revoked device named or replaced at the same time without the old words, and
  /// words that two devices named first without knowing of each other.
  ///
  /// Before recovery, which goes before everything else: nobody makes words after the fact and
  /// recovers by them. Of two first words neither holds, as whoever lies about what was seen would
  /// choose which.
  private func strikesOfWords(of person: PersonID) -> [Strike] {
    let places = (index.words[person] ?? []).filter {
      isLive[$0] && persons[$0] == person && !isSignedByWords($0)
    }
    let revoked = places.compactMap { place -> Strike? in
      let revocation = (index.revocations[log.items[place].device] ?? [])
        .filter { isLive[$0] && log.mayStrike($0, place) }
        .first { persons[$0] == person || standing($0) > standing(place) }
      return revocation.map { strike(place, by: $0, .deviceRevoked) }
    }
    guard revoked.isEmpty else { return revoked }
    let first = places.filter {
      if case .setRecovery = log.items[$0].operation { true } else { false }
    }
    return first.compactMap { place in
      first.first { other in
        log.areConcurrent(place, other)
          && !(log.areBranches(place, other)
            && witness(of: place, beside: other) > witness(of: other, beside: place))
      }.map { strike(place, by: $0, .wordsTwice) }
    }
  }

  /// Whether words replace words with the consent of the old ones.
  private func isSignedByWords(_ place: Int) -> Bool {
    guard case .rotateRecovery(let rotation) = log.items[place].operation,
      case .recovery = rotation.consent
    else { return false }
    return true
  }

  // MARK: Taking away

  /// The rank with which an operation stands against others of the same time: its author's, less
  /// what the author lost at that time.
  ///
  /// Who hands the group over and writes as if before is an admin to those who know better; so is
  /// a person of a lower role to those who know of that.
  private func standing(_ place: Int) -> Int {
    guard let person = persons[place] else { return ranks[place] }
    var rank = ranks[place]
    for other in index.roles[person] ?? [] where isLive[other] {
      switch log.items[other].operation {
      case .acceptOwner:
        guard offer(takenBy: other).map({ persons[$0] == person }) ?? false,
          persons[other] != person, log.mayStrike(other, place)
        else { continue }
        rank = min(rank, Role.admin.rank)
      case .setRole(let change):
        guard other != place, log.mayStrike(other, place) else { continue }
        rank = min(rank, change.role.rank)
      default: continue
      }
    }
    return rank
  }

  /// The operations that may strike others, strongest first.
  private func strikers() -> [Int] {
    log.items.indices.compactMap { place in strength(place).map { (place, $0) } }
      .sorted { left, right in
        left.1 != right.1 ? left.1 < right.1 : left.0 < right.0
      }
      .map(\.0)
  }

  /// What decides who strikes first: recovery words, handing over, the greater rank, leaving.
  private struct Strength: Comparable {
    let signer: Int
    let rank: Int
    let order: Int

    static func < (left: Strength, right: Strength) -> Bool {
      if left.signer != right.signer { return left.signer < right.signer }
      return left.rank != right.rank ? left.rank > right.rank : left.order < right.order
    }
  }

  private func strength(_ place: Int) -> Strength? {
    guard isLive[place] else { return nil }
    let rank = standing(place)
    switch log.items[place].operation {
    case .rotateRecovery:
      return Strength(signer: isSignedByWords(place) ? 0 : 1, rank: rank, order: place)
    case .recover(let recover):
      guard recover.revokesOthers else { return nil }
      return Strength(signer: 2, rank: rank, order: place)
    case .acceptOwner:
      return Strength(
        signer: 3, rank: Role.owner.rank, order: offer(takenBy: place) ?? place)
    case .removeMember, .revokeDevice, .setRole, .admit, .join:
      return Strength(signer: 4, rank: rank, order: place)
    case .leave: return Strength(signer: 5, rank: rank, order: place)
    default: return nil
    }
  }

  private func strikes(by striker: Int) -> [Strike] {
    switch log.items[striker].operation {
    case .rotateRecovery: strikesOfRotation(striker)
    case .recover: strikesOfRecovery(striker)
    case .acceptOwner: strikesOfHandingOver(striker)
    case .removeMember(let removal): strikesOfRemoval(striker, removal.person)
    case .revokeDevice(let revocation): strikesOfRevocation(striker, revocation.device)
    case .leave: strikesOfLeaving(striker)
    case .setRole(let change): strikesOfRole(striker, change)
    case .admit(let admit): strikesOfAddition(striker, admit.join.person)
    case .join(let join): strikesOfAddition(striker, join.person)
    default: []
    }
  }

  /// The operations of the same time that count, of those named.
  private func concurrent(_ striker: Int, _ places: some Sequence<Int>) -> [Int] {
    places.filter { isLive[$0] && log.mayStrike(striker, $0) }
  }

  /// What a person's devices wrote.
  private func writings(of person: PersonID) -> [Int] {
    var devices: Set<DeviceID> = []
    for place in index.additions[person] ?? [] {
      if case .admit(let admit) = log.items[place].operation {
        devices.insert(Membership.cardID(of: admit.join.device))
      } else {
        devices.insert(log.items[place].device)
      }
    }
    for place in index.recovered[person] ?? [] { devices.insert(log.items[place].device) }
    return devices.sorted().flatMap { index.writings[$0] ?? [] }
      .filter { persons[$0] == person }.sorted()
  }

  private func isAcceptance(_ place: Int) -> Bool {
    if case .acceptOwner = log.items[place].operation { return true }
    return false
  }

  private func strikesOfRotation(_ striker: Int) -> [Strike] {
    guard let person = persons[striker] else { return [] }
    let others = (index.recovered[person] ?? []) + (index.words[person] ?? [])
    return concurrent(striker, others).map { strike($0, by: striker, .wordsReplaced) }
  }

  private func strikesOfRecovery(_ striker: Int) -> [Strike] {
    guard let person = persons[striker] else { return [] }
    return concurrent(striker, writings(of: person))
      .filter { log.items[$0].device != log.items[striker].device }
      .filter { place in
        // Of two recoveries at the same time both stand, and both devices are out.
        if case .recover = log.items[place].operation { return false }
        return true
      }
      .map { strike($0, by: striker, .recoveryWords) }
  }

  private func strikesOfHandingOver(_ striker: Int) -> [Strike] {
    guard let person = persons[striker], let offered = offer(takenBy: striker),
      let former = persons[offered]
    else { return [] }
    var struck: [Strike] = []
    let devices = Set(
      (index.enrolments.keys.filter { device in
        index.enrolments[device]?.contains { enrolledPerson($0) == person } ?? false
      }))
    let done =
      (index.removals[person] ?? []) + (index.roles[person] ?? [])
      + devices.sorted().flatMap { index.revocations[$0] ?? [] }
    for place in concurrent(striker, done) where isAgainst(place, person) {
      struck.append(strike(place, by: striker, .transferWins))
    }
    for place in concurrent(striker, index.acceptances) where persons[place] != person {
      guard let otherOffer = offer(takenBy: place), otherOffer > offered else { continue }
      struck.append(strike(place, by: striker, .twoTransfers))
    }
    for place in concurrent(striker, writings(of: former))
    where needs[place] >= Role.owner.rank {
      struck.append(strike(place, by: striker, .rankLost))
    }
    return struck.sorted { $0.place < $1.place }
  }

  /// Whether an operation takes something from the new owner: by others, or by leaving.
  private func isAgainst(_ place: Int, _ person: PersonID) -> Bool {
    switch log.items[place].operation {
    case .leave, .setRole: true
    case .removeMember, .revokeDevice: persons[place] != person
    default: false
    }
  }

  private func strikesOfRemoval(_ striker: Int, _ person: PersonID) -> [Strike] {
    var struck: [Strike] = []
    for place in concurrent(striker, writings(of: person))
    where standing(striker) > standing(place) && !isAcceptance(place) {
      if Mutant.removalStrikesNothing.isActive { continue }
      struck.append(strike(place, by: striker, .authorRemoved))
    }
    for place in concurrent(striker, index.roles[person] ?? [])
    where standing(striker) >= standing(place) && !isAcceptance(place) {
      guard !struck.contains(where: { $0.place == place }) else { continue }
      struck.append(strike(place, by: striker, .removalAndGrant))
    }
    return struck
  }

  /// What a revoked device did that its revoker had not seen.
  ///
  /// By a higher rank, everything. By a device of the same person too, but what the old words
  /// signed, and what only takes away from the same person: two devices that revoke each other are
  /// both out, and who leaves has left.
  private func strikesOfRevocation(_ striker: Int, _ device: DeviceID) -> [Strike] {
    concurrent(striker, index.writings[device] ?? [])
      .compactMap { place in
        guard !isAcceptance(place) else { return nil }
        if persons[place] == persons[striker] {
          return isKept(place, beside: striker) ? nil : strike(place, by: striker, .deviceRevoked)
        }
        return standing(striker) > standing(place)
          ? strike(place, by: striker, .authorRemoved) : nil
      }
  }

  /// What a person did on other devices without knowing of the leaving.
  private func strikesOfLeaving(_ striker: Int) -> [Strike] {
    guard let person = persons[striker] else { return [] }
    return concurrent(striker, writings(of: person))
      .filter { !isAcceptance($0) && !isKept($0, beside: striker) }
      .map { strike($0, by: striker, .hasLeft) }
  }

  /// Whether an operation stands although its device was revoked at the same time by another one
  /// of its person.
  private func isKept(_ place: Int, beside striker: Int) -> Bool {
    switch log.items[place].operation {
    case .leave: return true
    case .revokeDevice(let revocation): return revocation.device == log.items[striker].device
    case .recover: return true
    default: return isSignedByWords(place)
    }
  }

  private func strikesOfRole(
    _ striker: Int, _ change: ControlOperation.SetRole
  ) -> [Strike] {
    var struck: [Strike] = []
    for place in concurrent(striker, writings(of: change.person))
    where isBeyond(place, change.role) && !isAcceptance(place) {
      guard standing(striker) > standing(place) || persons[striker] == change.person else {
        continue
      }
      struck.append(strike(place, by: striker, .rankLost))
    }
    for place in concurrent(striker, index.roles[change.person] ?? []) {
      guard case .setRole(let other) = log.items[place].operation else { continue }
      let wins =
        standing(striker) != standing(place)
        ? standing(striker) > standing(place)
        : (change.role.rawValue, striker) < (other.role.rawValue, place)
      if wins, !struck.contains(where: { $0.place == place }) {
        struck.append(strike(place, by: striker, .twoRoles))
      }
    }
    for place in concurrent(striker, index.removals[change.person] ?? [])
    where standing(striker) > standing(place) && persons[place] != change.person {
      struck.append(strike(place, by: striker, .removalAndGrant))
    }
    return struck
  }

  /// Whether an operation needs more than a role allows.
  private func isBeyond(_ place: Int, _ role: Role) -> Bool {
    switch log.items[place].operation {
    case .epoch: role == .reader
    default: needs[place] > role.rank
    }
  }

  private func strikesOfAddition(_ striker: Int, _ person: PersonID) -> [Strike] {
    guard given[striker] != nil else { return [] }
    return concurrent(striker, index.removals[person] ?? [])
      .filter { standing(striker) > ranks[$0] && persons[$0] != person }
      .map { strike($0, by: striker, .removalAndGrant) }
  }
}

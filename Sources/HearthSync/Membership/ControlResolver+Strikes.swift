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
    guard !uses.isEmpty, let invite = invite(id, .all) else { return [] }
    if Mutant.countsSeenUses.isActive { return [] }
    let closings =
      Mutant.closedStillAdmits.isActive
      ? [] : (index.closings[id] ?? []).filter { isLive[$0] }
    let closed = uses.compactMap { use in
      closings.first { log.areConcurrent($0, use) }
        .map { strike(use, by: $0, .invitationClosed) }
    }
    guard closed.isEmpty else { return closed }
    return uses.dropFirst(invite.operation.maximumUses).map {
      strike($0, by: uses[0], .invitationUsedUp)
    }
  }

  /// Joinings under the name of a person who joined at the same time elsewhere.
  private func strikesOfDoubles(of person: PersonID) -> [Strike] {
    let beginnings = (index.additions[person] ?? []).filter { isLive[$0] && given[$0] != nil }
    for (number, place) in beginnings.enumerated() {
      if let other = beginnings[..<number].first(where: { log.areConcurrent($0, place) }) {
        return [strike(place, by: other, .samePerson)]
      }
    }
    return []
  }

  // MARK: Taking away

  /// The operations that may strike others, strongest first.
  private func strikers() -> [Int] {
    log.items.indices.compactMap { place in strength(place).map { (place, $0) } }
      .sorted { left, right in
        left.1 != right.1 ? left.1 < right.1 : left.0 < right.0
      }
      .map(\.0)
  }

  /// What decides who strikes first: recovery words, handing over, then the greater rank.
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
    let rank = ranks[place]
    switch log.items[place].operation {
    case .rotateRecovery(let rotation):
      if case .recovery = rotation.consent {
        return Strength(signer: 0, rank: rank, order: place)
      }
      return Strength(signer: 3, rank: rank, order: place)
    case .recover(let recover):
      guard recover.revokesOthers else { return nil }
      return Strength(signer: 1, rank: rank, order: place)
    case .acceptOwner(let offer):
      return Strength(
        signer: 2, rank: Role.owner.rank, order: index.transfers[offer] ?? place)
    case .removeMember, .revokeDevice, .setRole, .admit, .join:
      return Strength(signer: 3, rank: rank, order: place)
    default: return nil
    }
  }

  private func strikes(by striker: Int) -> [Strike] {
    switch log.items[striker].operation {
    case .rotateRecovery: strikesOfRotation(striker)
    case .recover: strikesOfRecovery(striker)
    case .acceptOwner(let offer): strikesOfHandingOver(striker, offer)
    case .removeMember(let removal): strikesOfRemoval(striker, removal.person)
    case .revokeDevice(let revocation): strikesOfRevocation(striker, revocation.device)
    case .setRole(let change): strikesOfRole(striker, change)
    case .admit(let admit): strikesOfAddition(striker, admit.join.person)
    case .join(let join): strikesOfAddition(striker, join.person)
    default: []
    }
  }

  /// The operations of the same time that count, of those named.
  private func concurrent(_ striker: Int, _ places: some Sequence<Int>) -> [Int] {
    places.filter { isLive[$0] && log.areConcurrent(striker, $0) }
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

  private func strikesOfHandingOver(_ striker: Int, _ offer: RecordID) -> [Strike] {
    guard let person = persons[striker], let offered = index.transfers[offer],
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
      guard case .acceptOwner(let other) = log.items[place].operation,
        let otherOffer = index.transfers[other], otherOffer > offered
      else { continue }
      struck.append(strike(place, by: striker, .twoTransfers))
    }
    for place in concurrent(striker, writings(of: former))
    where needs[place] >= Role.owner.rank && place > offered {
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
    where ranks[striker] > ranks[place] && !isAcceptance(place) {
      if Mutant.removalStrikesNothing.isActive { continue }
      struck.append(strike(place, by: striker, .authorRemoved))
    }
    for place in concurrent(striker, index.roles[person] ?? [])
    where ranks[striker] >= ranks[place] && !isAcceptance(place) {
      guard !struck.contains(where: { $0.place == place }) else { continue }
      struck.append(strike(place, by: striker, .removalAndGrant))
    }
    return struck
  }

  private func strikesOfRevocation(_ striker: Int, _ device: DeviceID) -> [Strike] {
    concurrent(striker, index.writings[device] ?? [])
      .filter { ranks[striker] > ranks[$0] && !isAcceptance($0) }
      .map { strike($0, by: striker, .authorRemoved) }
  }

  private func strikesOfRole(
    _ striker: Int, _ change: ControlOperation.SetRole
  ) -> [Strike] {
    var struck: [Strike] = []
    for place in concurrent(striker, writings(of: change.person))
    where isBeyond(place, change.role) && !isAcceptance(place) {
      guard ranks[striker] > ranks[place] || persons[striker] == change.person else { continue }
      struck.append(strike(place, by: striker, .rankLost))
    }
    for place in concurrent(striker, index.roles[change.person] ?? []) {
      guard case .setRole(let other) = log.items[place].operation else { continue }
      let wins =
        ranks[striker] != ranks[place]
        ? ranks[striker] > ranks[place]
        : (change.role.rawValue, striker) < (other.role.rawValue, place)
      if wins, !struck.contains(where: { $0.place == place }) {
        struck.append(strike(place, by: striker, .twoRoles))
      }
    }
    for place in concurrent(striker, index.removals[change.person] ?? [])
    where ranks[striker] > ranks[place] && persons[place] != change.person {
      struck.append(strike(place, by: striker, .removalAndGrant))
    }
    return struck
  }

  /// Whether an operation needs more than a role allows.
  private func isBeyond(_ place: Int, _ role: Role) -> Bool {
    switch log.items[place].operation {
    case .epoch, .wrapAdd: role == .reader
    default: needs[place] > role.rank
    }
  }

  private func strikesOfAddition(_ striker: Int, _ person: PersonID) -> [Strike] {
    guard given[striker] != nil else { return [] }
    return concurrent(striker, index.removals[person] ?? [])
      .filter { ranks[striker] > ranks[$0] && persons[$0] != person }
      .map { strike($0, by: striker, .removalAndGrant) }
  }
}

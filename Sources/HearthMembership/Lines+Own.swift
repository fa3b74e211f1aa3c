import HearthCRDT

// Effects of the lines that people draw through their own logs.
extension Lines {
  /// The operations of a rank that the same person's other devices or recovery words override.
  func own(_ kind: OwnKind, of rank: Int) -> [Strike] {
    switch kind {
    case .firstWords: return fallenWords(of: rank)
    case .wordsByWords, .wordsByDevices:
      return inTurn(
        places(of: rank, .rotateRecovery).filter { isSignedByWords($0) == (kind == .wordsByWords) }
      ) { $0.replaced(by: $1, rank) }
    case .recovery: return inTurn(places(of: rank, .recover)) { $0.recovered(by: $1, rank) }
    case .revocation: return revokedByOwn(of: rank)
    case .leaving: return inTurn(places(of: rank, .leave)) { $0.left(by: $1, rank) }
    case .ownRole: return inTurn(places(of: rank, .setRole)) { $0.lowered(by: $1, rank) }
    }
  }

  /// Whether an override still holds, although the set of witnesses may have changed.
  func holds(_ strike: Strike) -> Bool {
    guard fold.isLive[strike.by] else { return false }
    guard case .overruled(_, let rule) = strike.reason else { return true }
    let rank = max(fold.standing(strike.by), Role.child.rank)
    switch rule {
    case .wordsReplaced:
      if log.operation(strike.place).words != nil, isSignedByWords(strike.by) { return true }
      return !isSettled(strike.place, beside: strike.by, rank)
    case .recoveryWords where isSignedByWords(strike.place):
      // Such recovery words would override the recovery instead.
      return isSettled(strike.by, beside: strike.place, rank)
    case .hasLeft, .recoveryWords: return isSubject(strike.place, ownLine(strike.by, rank))
    case .deviceRevoked:
      return log.operation(strike.place).words != nil
        && !isSettled(strike.place, beside: strike.by, rank)
        || isSubject(strike.place, ownLine(strike.by, rank))
    default: return true
    }
  }

  private func left(by place: Int, _ rank: Int) -> [Strike] {
    guard let person = fold.person(place) else { return [] }
    let line = ownLine(place, rank)
    return strikeWritings(of: person, by: place, .hasLeft) {
      hasSeenMembership(place, of: $0) && isSubject($0, line) && !isKept($0, beside: place, rank)
    }
  }

  private func lowered(by place: Int, _ rank: Int) -> [Strike] {
    guard case .setRole(let change) = log.operation(place),
      change.person == fold.person(place)
    else { return [] }
    let line = ownLine(place, rank)
    return strikeWritings(of: change.person, by: place, .rankLost) {
      needsMore($0, than: change.role) && !log.sees($0, place)
        && hasSeenMembership(place, of: $0) && isSubject($0, line)
    }
  }

  /// Draws the lines of operations in order; one that lost to an earlier one draws none.
  private func inTurn(
    _ places: [Int], _ lines: (Lines, Int) -> [Strike]
  ) -> [Strike] {
    places.flatMap { isStruck($0) ? [] : lines(self, $0) }
  }

  /// A line by the subject's own person, with its witnesses.
  ///
  /// Nobody ranks above the owner, so admins are witnesses if the line's own device was revoked as
  /// well (`isMutual`). Otherwise a stolen device would undo everything that the other device did.
  private func ownLine(_ line: Int, _ rank: Int, isMutual: Bool = false) -> OwnLine {
    let floor = isMutual ? min(rank, Role.member.rank) : rank
    guard floor < Role.owner.rank else { return OwnLine(place: line, seen: nil) }
    return known.line(line, above: floor, besides: fold.person(line), fold)
  }

  /// Whether an operation is beyond its own person's line, and no higher witness saw it first.
  private func isSubject(_ place: Int, _ line: OwnLine) -> Bool {
    guard log.isBeyond(place, line.place) else { return false }
    switch log.operation(place) {
    case .acceptOwner: return false
    case .transferOwner:
      // An offer that the recovery words signed and that another person accepted is complete.
      if fold.live.acceptances.contains(where: { fold.offer(takenBy: $0) == place }) {
        return false
      }
    default: break
    }
    return !line.spares(place, in: log)
  }

  // MARK: Words

  /// Whether an operation replaces recovery words with the consent of the old words.
  private func isSignedByWords(_ place: Int) -> Bool {
    guard case .rotateRecovery(let rotation) = log.operation(place),
      case .recovery = rotation.consent
    else { return false }
    return true
  }

  /// The recovery words that a revoked device set or replaced beyond the line without the old
  /// words, and first words that two devices set concurrently.
  ///
  /// Nobody can therefore recover with words set after a revocation. Of two first words both fail,
  /// since an author who lies about their past could otherwise choose between them.
  private func fallenWords(of rank: Int) -> [Strike] {
    let words = places(of: rank, .setRecovery, .rotateRecovery).filter { !isSignedByWords($0) }
    let revoked = words.compactMap { place -> Strike? in
      let revocation = fold.live.revocations[fold.log.deviceNames[log.devices[place]]].first {
        log.isBeyond(place, $0) && !log.sees(place, $0)
          && (fold.person($0) == fold.person(place)
            ? !isSettled(place, beside: $0, rank) : fold.standing($0) > fold.standing(place))
      }
      return revocation.flatMap { strikes([place], by: $0, .deviceRevoked).first }
    }
    let first = places(of: rank, .setRecovery).filter { !isStruck($0) }
    let byPerson = Dictionary(grouping: first) { fold.person($0) }
    let doubled = first.compactMap { place -> Strike? in
      let rival = (byPerson[fold.person(place)] ?? []).first { other in
        guard log.areConcurrent(place, other) else { return false }
        guard log.areBranches(place, other) else {
          return !isSettled(place, beside: other, rank)
        }
        return fold.witness(of: place, beside: other) <= fold.witness(of: other, beside: place)
      }
      return rival.flatMap { strikes([place], by: $0, .wordsTwice).first }
    }
    return revoked + doubled
  }

  /// Recoveries by replaced recovery words, and other concurrent words.
  private func replaced(by line: Int, _ rank: Int) -> [Strike] {
    guard let person = fold.person(line) else { return [] }
    let recoveries = fold.live.furtherDevices[fold.log.people[person]].filter { place in
      if case .recover = log.operation(place) { return true }
      return false
    }
    // A replacement by the old words overrides other words, but no recovery that others saw first.
    let words = fold.live.words[fold.log.people[person]].filter {
      areConcurrent($0, beyond: line)
        && (isSignedByWords(line) || !isSettled($0, beside: line, rank))
    }
    let struck =
      recoveries.filter {
        areConcurrent($0, beyond: line) && !isSettled($0, beside: line, rank)
      } + words
    return strikes(struck, by: line, .wordsReplaced)
  }

  /// Whether others had seen an operation and not its rival, while nobody had seen the rival alone.
  ///
  /// People of higher rank count as witnesses; owners and admins count in any case. A person whose
  /// status depends on one of the two operations, or on an operation that one of them ends, is no
  /// witness: the holder of a stolen device could admit and promote helpers.
  private func isSettled(_ place: Int, beside rival: Int, _ rank: Int) -> Bool {
    let floor = min(rank, Role.member.rank)
    var eyes = fold.stock.eyes(above: floor, besides: fold.person(place))
    if rank == Role.owner.rank { eyes += loweredEyes(beside: place) }
    var parties = Parties(of: [place, rival], self)
    /// Whether anybody had seen `one` and not `other`, by their first operation that saw `one`.
    func isSeen(_ one: Int, without other: Int) -> Bool {
      eyes.contains { eye in
        let first = eye.places.partitionPoint { log.sees($0, one) }
        return first < eye.places.count && !log.sees(eye.places[first], other)
          && !parties.include(eye.places[first], of: floor + 1)
      }
    }
    return isSeen(place, without: rival) && !isSeen(rival, without: place)
  }

  /// The admins whom the owner's devices lowered beyond the line of a recovery, since the holder of
  /// a removed device must not choose the witnesses of the recovery.
  private func loweredEyes(beside place: Int) -> [Stock.Eyes] {
    guard case .recover(let recover) = log.operation(place), recover.revokesOthers else {
      return []
    }
    return fold.stock.lowered.compactMap { witness in
      guard let person = fold.person(witness), person != recover.person else { return nil }
      let roles = fold.live.roleChanges[fold.log.people[person]].filter {
        !isBeyond($0, recovery: place)
      }
      guard fold.standing(witness, under: roles) >= Role.admin.rank else { return nil }
      return Stock.Eyes(person: person, places: [witness])
    }
  }

  /// Whether a recovery that revokes devices, or a revocation, would override an operation of its
  /// person that nobody had seen first.
  func isEnded(_ place: Int, by line: Int) -> Bool {
    if case .recover = log.operation(line) { return isBeyond(place, recovery: line) }
    return isRevoked(place, by: line) && log.isBeyond(place, line) && !log.sees(place, line)
  }

  func mayEnd(_ place: Int) -> Bool {
    switch log.operation(place) {
    case .recover(let recover): recover.revokesOthers
    case .revokeDevice: true
    default: false
    }
  }

  /// Whether a recovery would override an operation of its person.
  private func isBeyond(_ place: Int, recovery: Int) -> Bool {
    fold.person(place) == fold.person(recovery)
      && log.devices[place] != log.devices[recovery]
      && fold.verdicts[place].enrolment.map { log.sees(recovery, $0) } ?? false
      && !log.sees(place, recovery) && log.isBeyond(place, recovery)
  }

  private func recovered(by place: Int, _ rank: Int) -> [Strike] {
    guard let person = fold.person(place), case .recover(let recover) = log.operation(place),
      recover.revokesOthers
    else { return [] }
    let line = ownLine(place, rank)
    // Two concurrent recoveries are both effective, and both devices are removed.
    return strikeWritings(of: person, by: place, .recoveryWords, withRecoveries: false) { other in
      log.devices[other] != log.devices[place]
        && fold.verdicts[other].enrolment.map { log.sees(place, $0) } ?? false
        && isSubject(other, line)
    }
  }

  // MARK: Devices

  /// The operations of revoked devices beyond the lines of their person's other devices.
  ///
  /// Two devices that revoke each other are both removed, since either may be stolen, unless
  /// somebody of higher rank had seen only one revocation. An overridden revocation draws no line.
  private func revokedByOwn(of rank: Int) -> [Strike] {
    let all = places(of: rank, .revokeDevice).filter { isOwn($0) }
    let byPerson = Dictionary(grouping: all) { fold.person($0) ?? .zero }
    return byPerson.sorted { $0.key < $1.key }.flatMap { _, places -> [Strike] in
      let byTarget = Dictionary(grouping: first(of: places), by: target)
      let lines = byTarget.mapValues { places in
        places.map { place in
          let against = byTarget[log.devices[place]] ?? []
          let isMutual =
            rank == Role.owner.rank
            && against.contains { isRevoked(place, by: $0) && log.isBeyond(place, $0) }
          return ownLine(place, rank, isMutual: isMutual)
        }
      }
      let lost = lost(lines, rank)
      // A cycle of revocations overrides none of them: all its devices are removed.
      let standing = Set(
        lines.values.joined().map(\.place).filter { !lost.contains($0) }.map { aim(of: $0) })
      // The operations are collected once for each device, since many devices may have revoked it.
      let subjects = Dictionary(
        uniqueKeysWithValues: lines.keys.map { device in
          (
            device,
            fold.index.writings[log.deviceNames[device]].filter {
              !standing.contains(aim(of: $0))
            }
          )
        })
      return lines.values.joined().filter { !lost.contains($0.place) }
        .sorted { $0.place < $1.place }.flatMap { line -> [Strike] in
          let beyond = (subjects[target(line.place)] ?? []).filter {
            isInReach($0, of: line.place) && isStruck($0, by: line, rank)
          }
          return strikes(beyond, by: line.place, .deviceRevoked)
        }
    }
  }

  private func target(_ revocation: Int) -> DeviceID {
    guard case .revokeDevice(let revoked) = log.operation(revocation) else { return .zero }
    return revoked.device
  }

  /// The author of a revocation and the enrolment that it revokes.
  private struct Aim: Hashable {
    let author: Int
    let device: DeviceID
    let enrolments: Int
  }

  private func aim(of revocation: Int) -> Aim {
    let device = target(revocation)
    return Aim(
      author: log.author(revocation), device: device,
      enrolments: fold.live.enrolments[fold.log.deviceNames[device]].count {
        log.sees(revocation, $0)
      })
  }

  /// The first revocation of each enrolment by each author, which reaches as far as the later ones.
  private func first(of revocations: [Int]) -> [Int] {
    var aims: Set<Aim> = []
    return revocations.filter { aims.insert(aim(of: $0)).inserted }
  }

  /// The revocations that lose to another one of the same person that does not lose itself; in a
  /// cycle of revocations none loses, and all its devices are removed.
  private func lost(_ lines: [DeviceID: [OwnLine]], _ rank: Int) -> Set<Int> {
    let all = Array(lines.values.joined())
    let byTarget = Dictionary(grouping: all.indices) { target(all[$0].place) }
    let against = all.map { byTarget[log.devices[$0.place]] ?? [] }
    // Whether each of those revocations overrides the victim, computed on demand.
    var known = against.map { [Bool?](repeating: nil, count: $0.count) }
    func loses(_ victim: Int, _ number: Int) -> Bool {
      if let known = known[victim][number] { return known }
      let isLost = isStruck(all[victim].place, by: all[against[victim][number]], rank)
      known[victim][number] = isLost
      return isLost
    }
    func next(_ lost: [Bool]) -> [Bool] {
      all.indices.map { victim in
        against[victim].indices.contains { !lost[against[victim][$0]] && loses(victim, $0) }
      }
    }
    var lost = [Bool](repeating: false, count: all.count)
    while true {
      let more = next(next(lost))
      if more == lost { return Set(all.indices.filter { lost[$0] }.map { all[$0].place }) }
      lost = more
    }
  }

  private func isStruck(_ place: Int, by line: OwnLine, _ rank: Int) -> Bool {
    // The author's device is the revoked one.
    fold.person(place) == fold.person(line.place)
      && fold.verdicts[place].enrolment.map { log.sees(line.place, $0) } ?? false
      && isSubject(place, line)
      && !isKept(place, beside: line.place, rank)
  }

  private func isOwn(_ line: Int) -> Bool {
    guard case .revokeDevice(let revocation) = log.operation(line),
      let person = fold.person(line)
    else { return false }
    return fold.live.enrolments[fold.log.deviceNames[revocation.device]].contains {
      fold.enrolledPerson($0) == person && log.sees(line, $0)
    }
  }

  /// Whether a revocation ended the enrolment that an operation was written under.
  private func isRevoked(_ place: Int, by line: Int) -> Bool {
    guard case .revokeDevice(let revocation) = log.operation(line),
      log.devices[place] == revocation.device, fold.person(place) == fold.person(line),
      let enrolment = fold.verdicts[place].enrolment
    else { return false }
    return log.sees(line, enrolment)
  }

  /// Whether an operation keeps its effect beyond the line of another own device: it is signed by
  /// the recovery words, or only removes the person's own devices or membership.
  private func isKept(_ place: Int, beside line: Int, _ rank: Int) -> Bool {
    switch log.operation(place) {
    case .recover: return true
    case .leave:
      // A revoked device's operation after others know of the revocation is not its person's will.
      return !ownLine(place, rank).spares(line, in: log)
    case .revokeDevice(let revocation):
      return revocation.device == log.devices[line]
        && !ownLine(place, rank).spares(line, in: log)
    default: return isSignedByWords(place)
    }
  }
}

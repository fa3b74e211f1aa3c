import HearthCRDT

// The overrides by a person's own devices and recovery words.
extension Overrides {
  /// The operations of a person on their own devices, in the order in which they are resolved.
  enum OwnKind: CaseIterable {
    case firstWords, wordsByWords, wordsByDevices, recovery, revocation, leaving, ownRole
  }

  /// The operations of a rank that the same person's other devices or recovery words override.
  func strikes(_ kind: OwnKind, of rank: Int) -> [Strike] {
    switch kind {
    case .firstWords: return fallenWords(of: rank)
    case .wordsByWords, .wordsByDevices:
      return inTurn(
        places(of: rank, .rotateRecovery).filter {
          log.operation($0).isSignedByWords == (kind == .wordsByWords)
        }
      ) { replaced(by: $0, rank) }
    case .recovery: return inTurn(places(of: rank, .recover)) { recovered(by: $0, rank) }
    case .revocation: return OwnRevocations(self).strikes(of: rank)
    case .leaving: return inTurn(places(of: rank, .leave)) { left(by: $0, rank) }
    case .ownRole: return inTurn(places(of: rank, .setRole)) { lowered(by: $0, rank) }
    }
  }

  /// Whether an override still holds, although the set of witnesses may have changed.
  func holds(_ strike: Strike) -> Bool {
    guard findings.isLive[strike.by] else { return false }
    let (place, line, operation) = (strike.place, strike.by, log.operation(strike.place))
    let rank = max(standing(line), Role.child.rank)
    switch strike.rule {
    case .wordsReplaced:
      return operation.words == nil
        ? !isSettled(place, beside: line, rank) : replaces(line, place, rank)
    case .recoveryWords where operation.isSignedByWords:
      // Such recovery words would override the recovery instead.
      return isSettled(line, beside: place, rank)
    case .recoveryWords: return isSubject(place, ownLine(line, rank))
    case .hasLeft, .deviceRevoked:
      let isWithoutWords =
        strike.rule == .deviceRevoked && operation.words != nil && !operation.isSignedByWords
      return isWithoutWords && !isSettled(place, beside: line, rank)
        || isSubject(place, ownLine(line, rank)) && !isKept(place, beside: line, rank)
    default: return true
    }
  }

  private func left(by place: Int, _ rank: Int) -> [Strike] {
    guard let person = findings.person(place) else { return [] }
    let line = ownLine(place, rank)
    return strikeWritings(of: person, by: place, .hasLeft) {
      findings.hasSeenMembership(place, of: $0) && isSubject($0, line)
        && !isKept($0, beside: place, rank)
    }
  }

  private func lowered(by place: Int, _ rank: Int) -> [Strike] {
    guard case .setRole(let person, let role, _) = log.operation(place),
      person == findings.person(place)
    else { return [] }
    let line = ownLine(place, rank)
    return strikeWritings(of: person, by: place, .rankLost) {
      needsMore($0, than: role) && !log.sees($0, place)
        && findings.hasSeenMembership(place, of: $0) && isSubject($0, line)
    }
  }

  /// Draws the lines of operations in order; one that lost to an earlier one draws none.
  private func inTurn(_ places: [Int], _ draw: (Int) -> [Strike]) -> [Strike] {
    places.flatMap { isStruck[$0] ? [] : draw($0) }
  }

  /// The recovery words that a revoked device set or replaced beyond the line without the old
  /// words, and first words that two devices set concurrently.
  ///
  /// Nobody can therefore recover with words set after a revocation. Of two first words both fail,
  /// since an author who lies about their past could otherwise choose between them.
  private func fallenWords(of rank: Int) -> [Strike] {
    let words = places(of: rank, .setRecovery, .rotateRecovery).filter {
      !log.operation($0).isSignedByWords
    }
    let revoked = words.compactMap { place -> Strike? in
      let revocation = findings.live.revocations[log.deviceNumbers[place]].first {
        log.isUnaware(place, of: $0)
          && (findings.person($0) == findings.person(place)
            ? !isSettled(place, beside: $0, rank) : standing($0) > standing(place))
      }
      return revocation.flatMap { strikes([place], by: $0, .deviceRevoked).first }
    }
    let first = places(of: rank, .setRecovery).filter { !isStruck[$0] }
    let byPerson = Dictionary(grouping: first) { findings.person($0) }
    let doubled = first.compactMap { place -> Strike? in
      let rival = (byPerson[findings.person(place)] ?? []).first { other in
        guard log.areConcurrent(place, other) else { return false }
        return log.areBranches(place, other)
          ? witnesses.rank(of: place, beside: other) <= witnesses.rank(of: other, beside: place)
          : !isSettled(place, beside: other, rank)
      }
      return rival.flatMap { strikes([place], by: $0, .wordsTwice).first }
    }
    return revoked + doubled
  }

  /// Recoveries by replaced recovery words, and other concurrent words.
  private func replaced(by line: Int, _ rank: Int) -> [Strike] {
    let settled = settledRecoveries(beside: line, rank)
    let recoveries = recoveries(beside: line).filter { !isStruck[$0] && !settled.contains($0) }
    let words = findings.live.words[log.people[findings.person(line)]].filter {
      !isStruck[$0] && log.isUnaware($0, of: line) && replaces(line, $0, rank)
    }
    return strikes(recoveries + words, by: line, .wordsReplaced)
  }

  /// Whether a replacement of recovery words overrides other words that are concurrent with it.
  ///
  /// A replacement by the old words does so whatever others had seen, except for words behind a
  /// recovery that others saw first.
  private func replaces(_ line: Int, _ words: Int, _ rank: Int) -> Bool {
    guard log.operation(line).isSignedByWords else { return !isSettled(words, beside: line, rank) }
    return !settledRecoveries(beside: line, rank).contains { !isStruck[$0] && log.sees($0, words) }
  }

  private func recovered(by place: Int, _ rank: Int) -> [Strike] {
    guard let person = findings.person(place),
      case .recover(let recover) = log.operation(place), recover.revokesOthers
    else { return [] }
    let line = ownLine(place, rank)
    // Two concurrent recoveries are both effective, and both devices are removed.
    return strikeWritings(of: person, by: place, .recoveryWords, withRecoveries: false) {
      log.devices[$0] != log.devices[place] && findings.hasSeenEnrolment(place, of: $0)
        && isSubject($0, line)
    }
  }
}

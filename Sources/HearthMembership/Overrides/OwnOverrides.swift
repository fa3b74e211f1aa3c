import HearthCRDT

/// The overrides by a person's own devices and recovery words.
struct OwnOverrides {
  /// The operations of a person on their own devices, in the order in which they are resolved.
  enum Kind: CaseIterable {
    case firstWords, wordsByWords, wordsByDevices, recovery, revocation, leaving, ownRole
  }

  private let step: Overrides
  private let lines: WitnessedLines

  init(_ step: Overrides) {
    self.step = step
    lines = WitnessedLines(step: step)
  }

  /// The operations of a rank that the same person's other devices or recovery words override.
  func strikes(_ kind: Kind, of rank: Int) -> [Strike] {
    switch kind {
    case .firstWords: return fallenWords(of: rank)
    case .wordsByWords, .wordsByDevices:
      return inTurn(
        step.places(of: rank, .rotateRecovery).filter {
          lines.isSignedByWords($0) == (kind == .wordsByWords)
        }
      ) { $0.replaced(by: $1, rank) }
    case .recovery: return inTurn(step.places(of: rank, .recover)) { $0.recovered(by: $1, rank) }
    case .revocation: return OwnRevocations(step).strikes(of: rank)
    case .leaving: return inTurn(step.places(of: rank, .leave)) { $0.left(by: $1, rank) }
    case .ownRole: return inTurn(step.places(of: rank, .setRole)) { $0.lowered(by: $1, rank) }
    }
  }

  /// Whether an override still holds, although the set of witnesses may have changed.
  func holds(_ strike: Strike) -> Bool {
    guard step.findings.isLive[strike.by] else { return false }
    guard case .overruled(_, let rule) = strike.reason else { return true }
    let rank = max(step.standing(strike.by), Role.child.rank)
    switch rule {
    case .wordsReplaced:
      guard step.log.operation(strike.place).words != nil else {
        return !lines.isSettled(strike.place, beside: strike.by, rank)
      }
      return replaces(strike.by, strike.place, rank)
    case .recoveryWords where lines.isSignedByWords(strike.place):
      // Such recovery words would override the recovery instead.
      return lines.isSettled(strike.by, beside: strike.place, rank)
    case .recoveryWords: return lines.isSubject(strike.place, lines.ownLine(strike.by, rank))
    case .hasLeft, .deviceRevoked:
      let isWithoutWords =
        rule == .deviceRevoked && step.log.operation(strike.place).words != nil
        && !lines.isSignedByWords(strike.place)
      return isWithoutWords && !lines.isSettled(strike.place, beside: strike.by, rank)
        || lines.isSubject(strike.place, lines.ownLine(strike.by, rank))
          && !lines.isKept(strike.place, beside: strike.by, rank)
    default: return true
    }
  }

  private func left(by place: Int, _ rank: Int) -> [Strike] {
    guard let person = step.findings.person(place) else { return [] }
    let line = lines.ownLine(place, rank)
    return step.strikeWritings(of: person, by: place, .hasLeft) {
      step.hasSeenMembership(place, of: $0) && lines.isSubject($0, line)
        && !lines.isKept($0, beside: place, rank)
    }
  }

  private func lowered(by place: Int, _ rank: Int) -> [Strike] {
    guard case .setRole(let change) = step.log.operation(place),
      change.person == step.findings.person(place)
    else { return [] }
    let line = lines.ownLine(place, rank)
    return step.strikeWritings(of: change.person, by: place, .rankLost) {
      step.needsMore($0, than: change.role) && !step.log.sees($0, place)
        && step.hasSeenMembership(place, of: $0) && lines.isSubject($0, line)
    }
  }

  /// Draws the lines of operations in order; one that lost to an earlier one draws none.
  private func inTurn(_ places: [Int], _ draw: (OwnOverrides, Int) -> [Strike]) -> [Strike] {
    places.flatMap { step.isStruck($0) ? [] : draw(self, $0) }
  }

  /// The recovery words that a revoked device set or replaced beyond the line without the old
  /// words, and first words that two devices set concurrently.
  ///
  /// Nobody can therefore recover with words set after a revocation. Of two first words both fail,
  /// since an author who lies about their past could otherwise choose between them.
  private func fallenWords(of rank: Int) -> [Strike] {
    let words = step.places(of: rank, .setRecovery, .rotateRecovery).filter {
      !lines.isSignedByWords($0)
    }
    let revoked = words.compactMap { place -> Strike? in
      let revocation = step.findings.live.revocations[step.log.deviceNames[step.log.devices[place]]]
        .first {
          step.log.isBeyond(place, $0) && !step.log.sees(place, $0)
            && (step.findings.person($0) == step.findings.person(place)
              ? !lines.isSettled(place, beside: $0, rank)
              : step.standing($0) > step.standing(place))
        }
      return revocation.flatMap { step.strikes([place], by: $0, .deviceRevoked).first }
    }
    let first = step.places(of: rank, .setRecovery).filter { !step.isStruck($0) }
    let byPerson = Dictionary(grouping: first) { step.findings.person($0) }
    let doubled = first.compactMap { place -> Strike? in
      let rival = (byPerson[step.findings.person(place)] ?? []).first { other in
        guard step.log.areConcurrent(place, other) else { return false }
        guard step.log.areBranches(place, other) else {
          return !lines.isSettled(place, beside: other, rank)
        }
        return step.witnesses.rank(of: place, beside: other)
          <= step.witnesses.rank(of: other, beside: place)
      }
      return rival.flatMap { step.strikes([place], by: $0, .wordsTwice).first }
    }
    return revoked + doubled
  }

  /// Recoveries by replaced recovery words, and other concurrent words.
  private func replaced(by line: Int, _ rank: Int) -> [Strike] {
    guard let person = step.findings.person(line) else { return [] }
    let settled = lines.settledRecoveries(beside: line, rank)
    let recoveries = lines.recoveries(beside: line).filter {
      !step.isStruck($0) && !settled.contains($0)
    }
    let words = step.findings.live.words[step.log.people[person]].filter {
      step.areConcurrent($0, beyond: line) && replaces(line, $0, rank)
    }
    return step.strikes(recoveries + words, by: line, .wordsReplaced)
  }

  /// Whether a replacement of recovery words overrides other words that are concurrent with it.
  ///
  /// A replacement by the old words does so whatever others had seen, except for words behind a
  /// recovery that others saw first.
  private func replaces(_ line: Int, _ words: Int, _ rank: Int) -> Bool {
    guard lines.isSignedByWords(line) else { return !lines.isSettled(words, beside: line, rank) }
    return !lines.settledRecoveries(beside: line, rank).contains {
      !step.isStruck($0) && step.log.sees($0, words)
    }
  }

  private func recovered(by place: Int, _ rank: Int) -> [Strike] {
    guard let person = step.findings.person(place),
      case .recover(let recover) = step.log.operation(place), recover.revokesOthers
    else { return [] }
    let line = lines.ownLine(place, rank)
    // Two concurrent recoveries are both effective, and both devices are removed.
    return step.strikeWritings(of: person, by: place, .recoveryWords, withRecoveries: false) {
      other in
      step.log.devices[other] != step.log.devices[place]
        && step.findings.verdicts[other].enrolment.map { step.log.sees(place, $0) } ?? false
        && lines.isSubject(other, line)
    }
  }
}

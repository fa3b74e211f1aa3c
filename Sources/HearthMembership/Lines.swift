import HearthCRDT

/// Finds the operations that lines override: removals, revocations, demotions, leaves and
/// recoveries each draw a line.
///
/// A line overrides its subject's operations that are beyond it and need a right that the subject
/// lost, whatever they cite. A line by another person needs a higher rank. A line by the subject's
/// own person spares each operation that a witness of higher rank had seen before the line. One
/// object serves one step, since it caches findings about lines.
final class Lines {
  /// The operations of a person on their own devices, in the order in which they are resolved.
  enum OwnKind: CaseIterable {
    case firstWords, wordsByWords, wordsByDevices, recovery, revocation, leaving, ownRole
  }

  let fold: ControlResolver
  let log: ControlLog
  /// Whether each operation is already overridden, since only the first line counts.
  private var struck: [Bool]
  /// The operations of each person's devices, grouped by author.
  private var written: [PersonID: OpenParts] = [:]
  /// The lines drawn by own devices that were already computed.
  var known = OwnLines()

  init(_ fold: ControlResolver) {
    self.fold = fold
    log = fold.log
    struck = fold.strikes.map { $0 != nil }
  }

  /// Overrides those of the operations that are not overridden yet.
  func strikes(_ places: [Int], by line: Int, _ rule: VoidReason.Rule) -> [Strike] {
    let reason = VoidReason.overruled(by: log.items[line].id, rule)
    var strikes: [Strike] = []
    for place in places where !struck[place] {
      struck[place] = true
      strikes.append(Strike(place: place, by: line, reason: reason))
    }
    return strikes
  }

  func isStruck(_ place: Int) -> Bool { struck[place] }

  /// The operations of some kinds and a rank that have effect.
  func places(of rank: Int, _ kinds: ControlOperation.Kind...) -> [Int] {
    let all = kinds.map { fold.index.kinds[$0.rawValue] ?? [] }
    return (all.count == 1 ? all[0] : all.joined().sorted()).filter {
      fold.isLive[$0] && max(fold.standing($0), Role.child.rank) == rank
    }
  }

  /// Overrides the matching operations of a person's devices that are concurrent with a line.
  ///
  /// Operations that had seen the line were judged by their own past, in which it had ended the
  /// enrolment. A recovery never overrides another one, so callers exclude recoveries there.
  func strikeWritings(
    of person: PersonID, by line: Int, _ rule: VoidReason.Rule, withRecoveries: Bool = true,
    where fits: (Int) -> Bool
  ) -> [Strike] {
    if written[person] == nil { written[person] = writings(of: person, withRecoveries) }
    // An overridden operation is not visited again.
    let struck = written[person]?.take(concurrentWith: line, in: log) {
      isInReach($0, of: line) && fits($0)
    }
    return strikes(struck ?? [], by: line, rule)
  }

  /// Whether an operation is beyond a line and has effect, or regains it once a void operation in
  /// its past is overridden; an operation that had seen the line is judged by its own past.
  func isInReach(_ place: Int, of line: Int) -> Bool {
    !isStruck(place) && (fold.isLive[place] || fold.verdicts[place].refusal != nil)
      && log.isBeyond(place, line) && (fold.isLive[place] || !log.sees(place, line))
  }

  private func writings(of person: PersonID, _ withRecoveries: Bool) -> OpenParts {
    let written = fold.everyDevice(of: person).flatMap {
      fold.index.writings[log.deviceNames[$0]]
    }
    let all = written.filter { place in
      if !withRecoveries, case .recover = log.operation(place) { return false }
      return fold.person(place) == person && !isStruck(place)
    }
    return OpenParts(all, of: log)
  }

  func areConcurrent(_ place: Int, beyond line: Int) -> Bool {
    !isStruck(place) && log.isBeyond(place, line) && !log.sees(place, line)
  }
}

// MARK: - By others

extension Lines {
  /// The concurrent removals, revocations and role changes by a lower rank that a role change
  /// overrides; between equal ranks the higher role loses.
  func overruled(by rank: Int) -> [Strike] {
    var subjects: [PersonID: RoleRivals] = [:]
    let log = log
    return places(of: rank, .setRole).flatMap { place -> [Strike] in
      guard case .setRole(let change) = log.operation(place) else { return [] }
      var subject = subjects[change.person] ?? rivals(for: change.person, rank)
      subjects[change.person] = nil
      defer { subjects[change.person] = subject }
      var others: [Int] = []
      var roles: [Int] = []
      for number in subject.indices where subject[number].loses(to: change.role, rank) {
        let taken = subject[number].places.take(concurrentWith: place, in: log) {
          log.isBeyond($0, place)
        }
        if subject[number].given == nil { others += taken } else { roles += taken }
      }
      return strikes(others, by: place, .removalAndGrant) + strikes(roles, by: place, .twoRoles)
    }
  }

  /// The rivals of role changes of one person, by rank and granted role.
  private typealias RoleRivals = [RoleRival]

  private struct RoleRival {
    /// The granted role; nil for removals and revocations.
    let given: Role?
    let isRevocation: Bool
    let standing: Int
    var places: OpenParts

    func loses(to role: Role, _ rank: Int) -> Bool {
      guard let given else { return standing < rank && (!isRevocation || role.rank >= standing) }
      return given != role
        && (standing < rank || Mutant.lowerRankGoesFirst.isActive
          || standing == rank && role.rawValue < given.rawValue)
    }
  }

  private func rivals(for person: PersonID, _ rank: Int) -> RoleRivals {
    let removals = fold.live.removals[fold.log.people[person]].filter {
      fold.person($0) != person
    }
    let revocations = devices(of: person).flatMap {
      fold.live.revocations[fold.log.deviceNames[$0]]
    }.sorted()
      .filter { fold.person($0) != person }
    let roles = fold.live.roleChanges[fold.log.people[person]].filter {
      fold.isRole($0) && fold.given($0) != nil
    }
    var found: RoleRivals = []
    for standing in 0...(Mutant.lowerRankGoesFirst.isActive ? Role.owner.rank : rank) {
      func add(_ all: [Int], given: Role? = nil, isRevocation: Bool = false) {
        guard !all.isEmpty else { return }
        found.append(
          RoleRival(
            given: given, isRevocation: isRevocation, standing: standing,
            places: OpenParts(all, of: log)))
      }
      add(removals.filter { fold.standing($0) == standing })
      add(revocations.filter { fold.standing($0) == standing }, isRevocation: true)
      for role in Role.allCases {
        add(roles.filter { fold.given($0) == role && fold.standing($0) == standing }, given: role)
      }
    }
    return found
  }

  private func devices(of person: PersonID) -> [DeviceID] {
    Set(
      (fold.live.beginnings[fold.log.people[person]]
        + fold.live.furtherDevices[fold.log.people[person]])
        .map { fold.enrolledDevice($0) }
    ).sorted()
  }

  /// The operations of lower rank beyond the lines that a rank drew.
  func drawn(by rank: Int) -> [Strike] {
    places(of: rank, .removeMember, .revokeDevice, .setRole).flatMap { line -> [Strike] in
      switch log.operation(line) {
      case .removeMember(let removal): removed(removal.person, by: line, rank)
      case .revokeDevice(let revocation): revoked(revocation.device, by: line, rank)
      case .setRole(let change): demoted(change, by: line, rank)
      default: []
      }
    }
  }

  private func removed(_ person: PersonID, by line: Int, _ rank: Int) -> [Strike] {
    if Mutant.removalStrikesNothing.isActive { return [] }
    return strikeWritings(of: person, by: line, .authorRemoved) { place in
      isBelow(place, rank) && hasSeenMembership(line, of: place)
    }
  }

  private func revoked(_ device: DeviceID, by line: Int, _ rank: Int) -> [Strike] {
    let struck = fold.index.writings[log.deviceNames[device]].filter { place in
      isInReach(place, of: line) && fold.person(place) != fold.person(line) && isBelow(place, rank)
        && fold.verdicts[place].enrolment.map { log.sees(line, $0) } ?? false
    }
    return strikes(struck, by: line, .authorRemoved)
  }

  private func demoted(
    _ change: ControlOperation.SetRole, by line: Int, _ rank: Int
  ) -> [Strike] {
    guard change.person != fold.person(line) else { return [] }
    return strikeWritings(of: change.person, by: line, .rankLost) { place in
      isBelow(place, rank) && needsMore(place, than: change.role) && !log.sees(place, line)
        && hasSeenMembership(line, of: place)
    }
  }

  /// Whether a line's author had seen the membership under which an operation was written.
  ///
  /// Nobody can end a membership that they had not seen, and a person who rejoins starts anew.
  func hasSeenMembership(_ line: Int, of place: Int) -> Bool {
    fold.verdicts[place].membership.map { log.sees(line, $0) } ?? false
  }

  /// Whether an operation's effective rank is below a rank.
  ///
  /// Ownership handovers are resolved before all lines and are never below.
  private func isBelow(_ place: Int, _ rank: Int) -> Bool {
    if case .acceptOwner = log.operation(place) { return false }
    return fold.standing(place) < rank
  }

  func needsMore(_ place: Int, than role: Role) -> Bool {
    if case .epoch = log.operation(place) { return role == .reader }
    return fold.verdicts[place].needs > role.rank
  }
}

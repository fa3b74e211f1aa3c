import HearthCRDT

/// The lines that removals, revocations, lost roles, leavings and recoveries draw.
///
/// What the person or device concerned wrote beyond a line counts for nothing if it needs what was
/// lost, whatever it cites. Lines by others need a higher rank. Lines by the own person spare what
/// somebody of higher rank had seen before seeing the line.
///
/// One object a step: it remembers what was found about lines while the step is settled.
final class Lines {
  /// What a person does to its own devices, in the order in which it is settled.
  enum OwnKind: CaseIterable {
    case firstWords, wordsByWords, wordsByDevices, recovery, revocation, leaving, ownRole
  }

  let fold: ControlResolver
  let log: ControlLog
  /// What lost its effect already, as only the first line counts.
  private var struck: [Bool]
  /// What the devices of a person wrote, apart by author.
  private var written: [PersonID: OpenParts] = [:]
  /// The lines by own devices that were looked at.
  var known = OwnLines()

  init(_ fold: ControlResolver) {
    self.fold = fold
    log = fold.log
    struck = fold.strikes.map { $0 != nil }
  }

  /// What an operation takes the effect from that still has it.
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

  /// The operations of a kind and a rank that count.
  func places(of rank: Int, _ kinds: ControlOperation.Kind...) -> [Int] {
    let all = kinds.map { fold.index.kinds[$0.rawValue] ?? [] }
    return (all.count == 1 ? all[0] : all.joined().sorted()).filter {
      fold.isLive[$0] && max(fold.standing($0), Role.child.rank) == rank
    }
  }

  /// Takes the effect from what a person's devices wrote that counts, that the author of a line had
  /// not seen and that fits.
  ///
  /// Not from what had seen the line: that was judged by its own past, in which the line ended what
  /// it was written under. Recoveries lose nothing to recoveries: those that the words made are
  /// left out there.
  func strikeWritings(
    of person: PersonID, by line: Int, _ rule: VoidReason.Rule, withRecoveries: Bool = true,
    where fits: (Int) -> Bool
  ) -> [Strike] {
    if written[person] == nil { written[person] = writings(of: person, withRecoveries) }
    // What is struck is not looked at again.
    let struck = written[person]?.take(concurrentWith: line, in: log) {
      isInReach($0, of: line) && fits($0)
    }
    return strikes(struck ?? [], by: line, rule)
  }

  /// Whether an operation is beyond a line and counts, or would if something that its author had
  /// seen did not.
  ///
  /// What is void because of a void operation counts again as soon as that one is struck; what had
  /// seen the line itself is judged by its own past.
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
  /// What loses to a role that somebody of a rank gave: a removal, a revocation or another role by
  /// a lower rank, whose author had not seen it; of equal ranks the higher role.
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

  /// What may lose to roles of one person, by how it stands and what it gives.
  private typealias RoleRivals = [RoleRival]

  private struct RoleRival {
    /// The role that is given; nil for removals and revocations.
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

  /// What people of lower rank wrote beyond the lines that somebody of a rank drew.
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

  /// Whether a line's author had seen the membership under which an operation was written: nobody
  /// ends what they had not seen, and who comes again begins anew.
  func hasSeenMembership(_ line: Int, of place: Int) -> Bool {
    fold.verdicts[place].membership.map { log.sees(line, $0) } ?? false
  }

  /// Whether an operation stands below a rank; hand-overs are settled before all lines.
  private func isBelow(_ place: Int, _ rank: Int) -> Bool {
    if case .acceptOwner = log.operation(place) { return false }
    return fold.standing(place) < rank
  }

  /// Whether an operation needs more than a role allows.
  func needsMore(_ place: Int, than role: Role) -> Bool {
    if case .epoch = log.operation(place) { return role == .reader }
    return fold.verdicts[place].needs > role.rank
  }
}

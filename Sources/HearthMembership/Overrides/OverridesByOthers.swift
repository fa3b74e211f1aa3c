import HearthCRDT

/// The overrides by people of higher rank, and between role changes of equal rank.
struct OverridesByOthers {
  let step: Overrides

  /// The concurrent removals, revocations and role changes by a lower rank that a role change
  /// overrides; between equal ranks the higher role loses.
  func overruled(by rank: Int) -> [Strike] {
    var subjects: [PersonID: RoleRivals] = [:]
    return step.places(of: rank, .setRole).flatMap { place -> [Strike] in
      guard case .setRole(let change) = step.log.operation(place) else { return [] }
      var subject = subjects[change.person] ?? rivals(for: change.person, rank)
      subjects[change.person] = nil
      defer { subjects[change.person] = subject }
      var others: [Int] = []
      var roles: [Int] = []
      for number in subject.indices where subject[number].loses(to: change.role, rank) {
        let taken = subject[number].places.take(concurrentWith: place, in: step.log) {
          step.log.isBeyond($0, place)
        }
        if subject[number].given == nil { others += taken } else { roles += taken }
      }
      return step.strikes(others, by: place, .removalAndGrant)
        + step.strikes(roles, by: place, .twoRoles)
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
    let removals = step.findings.live.removals[step.log.people[person]].filter {
      step.findings.person($0) != person
    }
    let revocations = devices(of: person).flatMap {
      step.findings.live.revocations[step.log.deviceNames[$0]]
    }.sorted().filter { step.findings.person($0) != person }
    let roles = step.findings.live.roleChanges[step.log.people[person]].filter {
      step.log.operation($0).isRoleChange && step.findings.given($0) != nil
    }
    var found: RoleRivals = []
    for standing in 0...(Mutant.lowerRankGoesFirst.isActive ? Role.owner.rank : rank) {
      func add(_ all: [Int], given: Role? = nil, isRevocation: Bool = false) {
        guard !all.isEmpty else { return }
        found.append(
          RoleRival(
            given: given, isRevocation: isRevocation, standing: standing,
            places: OpenParts(all, of: step.log)))
      }
      add(removals.filter { step.standing($0) == standing })
      add(revocations.filter { step.standing($0) == standing }, isRevocation: true)
      for role in Role.allCases {
        add(
          roles.filter { step.findings.given($0) == role && step.standing($0) == standing },
          given: role)
      }
    }
    return found
  }

  private func devices(of person: PersonID) -> [DeviceID] {
    Set(
      (step.findings.live.beginnings[step.log.people[person]]
        + step.findings.live.furtherDevices[step.log.people[person]])
        .map { step.findings.enrolledDevice($0) }
    ).sorted()
  }

  /// The operations of lower rank beyond the lines that a rank drew.
  func drawn(by rank: Int) -> [Strike] {
    step.places(of: rank, .removeMember, .revokeDevice, .setRole).flatMap { line -> [Strike] in
      switch step.log.operation(line) {
      case .removeMember(let removal): removed(removal.person, by: line, rank)
      case .revokeDevice(let revocation): revoked(revocation.device, by: line, rank)
      case .setRole(let change): demoted(change, by: line, rank)
      default: []
      }
    }
  }

  private func removed(_ person: PersonID, by line: Int, _ rank: Int) -> [Strike] {
    if Mutant.removalStrikesNothing.isActive { return [] }
    return step.strikeWritings(of: person, by: line, .authorRemoved) { place in
      isBelow(place, rank) && step.hasSeenMembership(line, of: place)
    }
  }

  private func revoked(_ device: DeviceID, by line: Int, _ rank: Int) -> [Strike] {
    let struck = step.findings.index.writings[step.log.deviceNames[device]].filter { place in
      step.isInReach(place, of: line) && step.findings.person(place) != step.findings.person(line)
        && isBelow(place, rank)
        && step.findings.verdicts[place].enrolment.map { step.log.sees(line, $0) } ?? false
    }
    return step.strikes(struck, by: line, .authorRemoved)
  }

  private func demoted(_ change: ControlOperation.SetRole, by line: Int, _ rank: Int) -> [Strike] {
    guard change.person != step.findings.person(line) else { return [] }
    return step.strikeWritings(of: change.person, by: line, .rankLost) { place in
      isBelow(place, rank) && step.needsMore(place, than: change.role)
        && !step.log.sees(place, line) && step.hasSeenMembership(line, of: place)
    }
  }

  /// Whether an operation's effective rank is below a rank.
  ///
  /// Ownership handovers are resolved before all lines and are never below.
  private func isBelow(_ place: Int, _ rank: Int) -> Bool {
    if case .acceptOwner = step.log.operation(place) { return false }
    return step.standing(place) < rank
  }
}

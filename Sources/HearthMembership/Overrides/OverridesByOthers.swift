import HearthCRDT

// The overrides by people of higher rank, and between role changes of equal rank.
extension Overrides {
  /// The concurrent removals, revocations and role changes by a lower rank that a role change
  /// overrides; between equal ranks the higher role loses.
  func overruled(by rank: Int) -> [Strike] {
    var subjects: [PersonID: [RoleRival]] = [:]
    return places(of: rank, .setRole).flatMap { place -> [Strike] in
      guard case .setRole(let person, let role, _) = log.operation(place) else { return [] }
      var subject = subjects[person] ?? rivals(for: person, rank)
      subjects[person] = nil
      defer { subjects[person] = subject }
      var others: [Int] = []
      var roles: [Int] = []
      for number in subject.indices where subject[number].loses(to: role, rank) {
        let taken = subject[number].places.take(concurrentWith: place, in: log) {
          log.isBeyond($0, place)
        }
        if subject[number].given == nil { others += taken } else { roles += taken }
      }
      return strikes(others, by: place, .removalAndGrant)
        + strikes(roles, by: place, .twoRoles)
    }
  }

  private func rivals(for person: PersonID, _ rank: Int) -> [RoleRival] {
    let number = log.people[person]
    let devices = (findings.live.beginnings[number] + findings.live.furtherDevices[number])
      .map { log.entrants[$0] }
    let removals = findings.live.removals[number].filter { findings.person($0) != person }
    let revocations = Set(devices).flatMap { findings.live.revocations[$0] }.sorted()
      .filter { findings.person($0) != person }
    let roles = findings.live.roles[number].filter { log.operation($0).isRoleChange }
    var found: [RoleRival] = []
    for standing in 0...(Mutant.lowerRankGoesFirst.isActive ? Role.owner.rank : rank) {
      func add(_ all: [Int], given: Role? = nil, isRevocation: Bool = false) {
        let places = all.filter { self.standing($0) == standing }
        guard !places.isEmpty else { return }
        found.append(
          RoleRival(
            given: given, isRevocation: isRevocation, standing: standing,
            places: OpenParts(places, of: log)))
      }
      add(removals)
      add(revocations, isRevocation: true)
      for role in Role.allCases { add(roles.filter { findings.given($0) == role }, given: role) }
    }
    return found
  }

  /// The operations of lower rank beyond the lines that a rank drew.
  func drawn(by rank: Int) -> [Strike] {
    places(of: rank, .removeMember, .revokeDevice, .setRole).flatMap { line -> [Strike] in
      switch log.operation(line) {
      case .removeMember(let person, _): removed(person, by: line, rank)
      case .revokeDevice(let device, _): revoked(device, by: line, rank)
      case .setRole(let person, let role, _): demoted(person, to: role, by: line, rank)
      default: []
      }
    }
  }

  private func removed(_ person: PersonID, by line: Int, _ rank: Int) -> [Strike] {
    if Mutant.removalStrikesNothing.isActive { return [] }
    return strikeWritings(of: person, by: line, .authorRemoved) { place in
      isBelow(place, rank) && findings.hasSeenMembership(line, of: place)
    }
  }

  private func revoked(_ device: DeviceID, by line: Int, _ rank: Int) -> [Strike] {
    let struck = findings.index.writings[log.deviceNames[device]].filter { place in
      isInReach(place, of: line) && findings.person(place) != findings.person(line)
        && isBelow(place, rank) && findings.hasSeenEnrolment(line, of: place)
    }
    return strikes(struck, by: line, .authorRemoved)
  }

  private func demoted(_ person: PersonID, to role: Role, by line: Int, _ rank: Int) -> [Strike] {
    guard person != findings.person(line) else { return [] }
    return strikeWritings(of: person, by: line, .rankLost) { place in
      isBelow(place, rank) && needsMore(place, than: role)
        && !log.sees(place, line) && findings.hasSeenMembership(line, of: place)
    }
  }

  /// Whether an operation's effective rank is below a rank.
  ///
  /// Ownership handovers are resolved before all lines and are never below.
  private func isBelow(_ place: Int, _ rank: Int) -> Bool {
    if case .acceptOwner = log.operation(place) { return false }
    return standing(place) < rank
  }
}

/// Some operations about one person that a role change may override.
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

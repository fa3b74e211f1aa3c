import HearthCRDT

/// The lines that removals, revocations, lost roles, leavings and recoveries draw.
///
/// What the person or device concerned wrote beyond a line counts for nothing if it needs what was
/// lost, whatever it cites. Lines by others need a higher rank. Lines by the own person spare what
/// somebody of higher rank had seen before seeing the line.
struct Lines {
  /// What a person does to its own devices, in the order in which it is settled.
  enum OwnKind: CaseIterable {
    case firstWords, wordsByWords, wordsByDevices, recovery, revocation, leaving, ownRole
  }

  let fold: ControlResolver
  /// What the devices of a person wrote, apart by author.
  private var writings: [PersonID: LogParts] = [:]
  /// What lost its effect already, as only the first line counts.
  private var struck: Set<Int> = []

  var log: ControlLog { fold.log }

  init(_ fold: ControlResolver) {
    self.fold = fold
  }

  /// What an operation takes the effect from that still has it.
  mutating func strikes(_ places: [Int], by line: Int, _ rule: VoidReason.Rule) -> [Strike] {
    places.filter { struck.insert($0).inserted }.map {
      Strike(place: $0, by: line, reason: .overruled(by: log.items[line].id, rule))
    }
  }

  func isStruck(_ place: Int) -> Bool { struck.contains(place) }

  /// The operations of a kind and a rank that count.
  func places(of rank: Int, _ kinds: ControlOperation.Kind...) -> [Int] {
    let all = kinds.map { fold.index.kinds[$0.rawValue] ?? [] }
    return (all.count == 1 ? all[0] : all.joined().sorted()).filter {
      fold.isLive[$0] && max(fold.standing($0), Role.child.rank) == rank
    }
  }

  /// What a person's devices wrote that counts and that the author of a line had not seen.
  ///
  /// Recoveries lose nothing to recoveries: those that the words made are left out there.
  mutating func writings(
    of person: PersonID, beyond line: Int, withRecoveries: Bool = true
  ) -> [Int] {
    let parts = writings[person] ?? writings(of: person, withRecoveries)
    writings[person] = parts
    return parts.unseen(by: line, in: log).filter { isInReach($0, of: line) }
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

  private func writings(of person: PersonID, _ withRecoveries: Bool) -> LogParts {
    let enrolments = (fold.index.additions[person] ?? []) + (fold.index.recovered[person] ?? [])
    let devices = Set(enrolments.map(fold.enrolledDevice)).sorted()
    let all = devices.flatMap { fold.index.writings[$0] ?? [] }.filter { place in
      if !withRecoveries, case .recover = log.items[place].operation { return false }
      return fold.person(place) == person
    }
    return LogParts(all, of: log)
  }

  func areConcurrent(_ place: Int, beyond line: Int) -> Bool {
    !struck.contains(place) && log.isBeyond(place, line) && !log.sees(place, line)
  }
}

// MARK: - By others

extension Lines {
  /// What loses to a role that somebody of a rank gave: a removal, a revocation or another role by
  /// a lower rank, whose author had not seen it; of equal ranks the higher role.
  mutating func overruled(by rank: Int) -> [Strike] {
    var subjects: [PersonID: (removals: LogParts, revocations: LogParts, roles: LogParts)] = [:]
    return places(of: rank, .setRole).flatMap { place -> [Strike] in
      guard case .setRole(let change) = log.items[place].operation else { return [] }
      let person = change.person
      let subject =
        subjects[person]
        ?? (
          LogParts(fold.live.removals[person] ?? [], of: log),
          LogParts(
            devices(of: person).flatMap { fold.live.revocations[$0] ?? [] }.sorted(), of: log),
          LogParts((fold.live.roles[person] ?? []).filter { fold.isRole($0) }, of: log)
        )
      subjects[person] = subject
      let removals = subject.removals.concurrent(with: place, in: log).filter {
        fold.person($0) != person && fold.standing($0) < rank
      }
      let revocations = subject.revocations.concurrent(with: place, in: log).filter {
        fold.person($0) != person && fold.standing($0) < rank
          && change.role.rank >= fold.standing($0)
      }
      let rivals = subject.roles.concurrent(with: place, in: log).filter {
        let standing = fold.standing($0)
        return fold.given($0) != change.role
          && (standing < rank || Mutant.lowerRankGoesFirst.isActive || standing == rank && isLower(change.role, than: $0))
      }
      return strikes(
        (removals + revocations).filter { areConcurrent($0, beyond: place) }, by: place,
        .removalAndGrant)
        + strikes(rivals.filter { areConcurrent($0, beyond: place) }, by: place, .twoRoles)
    }
  }

  private func isLower(_ role: Role, than rival: Int) -> Bool {
    fold.given(rival).map { role.rawValue < $0.rawValue } ?? false
  }

  private func devices(of person: PersonID) -> [DeviceID] {
    Set(
      ((fold.live.beginnings[person] ?? []) + (fold.live.furtherDevices[person] ?? []))
        .map(fold.enrolledDevice)
    ).sorted()
  }

  /// What people of lower rank wrote beyond the lines that somebody of a rank drew.
  mutating func drawn(by rank: Int) -> [Strike] {
    places(of: rank, .removeMember, .revokeDevice, .setRole).flatMap { line -> [Strike] in
      switch log.items[line].operation {
      case .removeMember(let removal): removed(removal.person, by: line, rank)
      case .revokeDevice(let revocation): revoked(revocation.device, by: line, rank)
      case .setRole(let change): demoted(change, by: line, rank)
      default: []
      }
    }
  }

  private mutating func removed(_ person: PersonID, by line: Int, _ rank: Int) -> [Strike] {
    if Mutant.removalStrikesNothing.isActive { return [] }
    let struck = writings(of: person, beyond: line).filter { place in
      isBelow(place, rank) && hasSeenMembership(line, of: place)
    }
    return strikes(struck, by: line, .authorRemoved)
  }

  private mutating func revoked(_ device: DeviceID, by line: Int, _ rank: Int) -> [Strike] {
    let struck = (fold.index.writings[device] ?? []).filter { place in
      isInReach(place, of: line) && fold.person(place) != fold.person(line) && isBelow(place, rank)
        && fold.verdicts[place].enrolment.map { log.sees(line, $0) } ?? false
    }
    return strikes(struck, by: line, .authorRemoved)
  }

  private mutating func demoted(
    _ change: ControlOperation.SetRole, by line: Int, _ rank: Int
  ) -> [Strike] {
    guard change.person != fold.person(line) else { return [] }
    let struck = writings(of: change.person, beyond: line).filter { place in
      isBelow(place, rank) && needsMore(place, than: change.role) && !log.sees(place, line)
        && hasSeenMembership(line, of: place)
    }
    return strikes(struck, by: line, .rankLost)
  }

  /// Whether a line's author had seen the membership under which an operation was written: nobody
  /// ends what they had not seen, and who comes again begins anew.
  func hasSeenMembership(_ line: Int, of place: Int) -> Bool {
    fold.verdicts[place].membership.map { log.sees(line, $0) } ?? false
  }

  /// Whether an operation stands below a rank; hand-overs are settled before all lines.
  private func isBelow(_ place: Int, _ rank: Int) -> Bool {
    if case .acceptOwner = log.items[place].operation { return false }
    return fold.standing(place) < rank
  }

  /// Whether an operation needs more than a role allows.
  func needsMore(_ place: Int, than role: Role) -> Bool {
    if case .epoch = log.items[place].operation { return role == .reader }
    return fold.verdicts[place].needs > role.rank
  }
}

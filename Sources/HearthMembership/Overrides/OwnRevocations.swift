import HearthCRDT

/// The revocations among the devices of one person.
struct OwnRevocations {
  private let step: Overrides
  private let findings: Findings
  private let log: ControlLog

  init(_ step: Overrides) {
    self.step = step
    findings = step.findings
    log = step.log
  }

  /// The operations of revoked devices beyond the lines of their person's other devices.
  ///
  /// Two devices that revoke each other are both removed, since either may be stolen, unless
  /// somebody of higher rank had seen only one revocation. An overridden revocation draws no line.
  func strikes(of rank: Int) -> [Strike] {
    let all = step.places(of: rank, .revokeDevice).filter { isOwn($0) }
    let byPerson = Dictionary(grouping: all) { findings.person($0) ?? .zero }
    return byPerson.sorted { $0.key < $1.key }.flatMap { _, places -> [Strike] in
      let own = first(of: places)
      let byTarget = Dictionary(grouping: own, by: target)
      let lines = own.map { place in
        let against = rank == Role.owner.rank ? byTarget[log.devices[place]] ?? [] : []
        let isMutual = against.contains {
          findings.isRevoked(place, by: $0) && log.isBeyond(place, $0)
        }
        return step.ownLine(place, rank, isMutual: isMutual)
      }
      let lost = lost(lines, rank)
      // A cycle of revocations overrides none of them: all its devices are removed.
      let standing = lines.filter { !lost.contains($0.place) }
      let aims = Set(standing.map { aim(of: $0.place) })
      // The operations are collected once for each device, since many devices may have revoked it.
      let subjects = byTarget.keys.reduce(into: [:]) { subjects, device in
        subjects[device] = findings.index.writings[log.deviceNames[device]].filter {
          !aims.contains(aim(of: $0))
        }
      }
      return standing.flatMap { line in
        let beyond = (subjects[target(line.place)] ?? []).filter {
          step.isInReach($0, of: line.place) && isOverridden($0, by: line, rank)
        }
        return step.strikes(beyond, by: line.place, .deviceRevoked)
      }
    }
  }

  private func target(_ revocation: Int) -> DeviceID {
    guard case .revokeDevice(let device, _) = log.operation(revocation) else { return .zero }
    return device
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
      enrolments: findings.live.enrolments[log.deviceNames[device]].count {
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
  private func lost(_ all: [OwnLine], _ rank: Int) -> Set<Int> {
    let byTarget = Dictionary(grouping: all.indices) { target(all[$0].place) }
    let against = all.map { byTarget[log.devices[$0.place]] ?? [] }
    // Whether each of those revocations overrides the victim, computed on demand.
    var known = against.map { [Bool?](repeating: nil, count: $0.count) }
    func loses(_ victim: Int, _ number: Int) -> Bool {
      if let known = known[victim][number] { return known }
      let isLost = isOverridden(all[victim].place, by: all[against[victim][number]], rank)
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

  private func isOverridden(_ place: Int, by line: OwnLine, _ rank: Int) -> Bool {
    // The author's device is the revoked one.
    findings.person(place) == findings.person(line.place)
      && findings.hasSeenEnrolment(line.place, of: place)
      && step.isSubject(place, line) && !step.isKept(place, beside: line.place, rank)
  }

  private func isOwn(_ line: Int) -> Bool {
    guard case .revokeDevice(let device, _) = log.operation(line),
      let person = findings.person(line)
    else { return false }
    return findings.live.enrolments[log.deviceNames[device]].contains {
      findings.enrolledPerson($0) == person && log.sees(line, $0)
    }
  }
}

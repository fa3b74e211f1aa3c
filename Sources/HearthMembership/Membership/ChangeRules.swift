import HearthCRDT

/// The effect of changes of records, by their authors' status.
package struct ChangeRules: ResolvedPart {
  let resolved: ResolvedControl

  /// Judges a change by its author's role at the control heads that it cites, and by cuts.
  ///
  /// The cited heads never go back along a log. Beyond the cut of an effective removal, cited or
  /// not, the change is void; beyond the cut of a demotion it counts for the lower role. O(k log a)
  /// for the k operations about the device and its person.
  package func judge(_ dot: Dot, in zone: ZoneID, at heads: Frontier) -> Judgement {
    let device = dot.author.device
    let view = LogView.cited(heads, by: device, in: findings)
    guard let enrolment = view.enrolment(of: device, in: findings),
      let person = findings.enrolledPerson(enrolment),
      let role = view.role(of: person, in: findings)
    else { return .void(.notADevice) }
    let endings = endings(of: device, person).filter {
      findings.isLive[$0] && concerns($0, enrolment)
    }
    guard isWithin(dot, zone, endings) || Mutant.ignoresCut.isActive else {
      Probe.changeVoid.hit()
      return .void(.beyondCut)
    }
    Probe.cutHolds.hit(if: !endings.isEmpty)
    var lowest = role
    for place in demotions(of: person)
    where findings.isLive[place] && !view.holds(place, in: findings) {
      guard case .setRole(_, let lower, let cut) = log.operation(place),
        lower.rawValue < lowest.rawValue, concerns(place, enrolment),
        dot.sequence > cut.sequence(of: dot.author, in: zone)
      else { continue }
      if Mutant.demotionLooksBack.isActive { continue }
      Probe.changeDemoted.hit()
      lowest = lower
    }
    return .counts(lowest)
  }

  /// Whether an operation that the author did not know of decides the effect of a change: the cut
  /// of a removal or demotion, or an override of the author's join.
  package func isOverruled(_ dot: Dot, in zone: ZoneID, at heads: Frontier) -> Bool {
    switch judge(dot, in: zone, at: heads) {
    case .void(.beyondCut): return true
    case .void(.notADevice): return !strikersOfJoining(of: dot.author.device).isEmpty
    case .counts(let role):
      let view = LogView.cited(heads, by: dot.author.device, in: findings)
      return view.person(of: dot.author.device, in: findings)
        .map { view.role(of: $0, in: findings) != role } ?? false
    }
  }

  /// Whether a snapshot under an epoch may contain void changes of a log, or lack effective ones.
  ///
  /// An operation that removes something makes new keys in the same step, or the next writer makes
  /// them. An author who sealed under an epoch therefore judged by everything that the epoch's
  /// author had seen.
  ///
  /// - Parameters:
  ///   - dot: the last change of the log in the snapshot.
  ///   - heads: the control heads that its author had seen at that change.
  package func isMisjudged(
    _ dot: Dot, in zone: ZoneID, at heads: Frontier, byMakerOf epoch: EpochRecord?
  ) -> Bool {
    guard isOverruled(dot, in: zone, at: heads) else {
      return lacksEffective(dot, in: zone, byMakerOf: epoch)
    }
    return !losses(of: dot.author.device).allSatisfy { !findings.isLive[$0] || knows(epoch, $0) }
      || !strikersOfJoining(of: dot.author.device).allSatisfy { knows(epoch, $0) }
  }

  /// Whether a snapshot under an epoch may lack effective changes of a log.
  ///
  /// An operation that was overridden later still had effect for an author who knew of it alone.
  ///
  /// - Parameter dot: the last change of the log in the snapshot.
  package func lacksEffective(_ dot: Dot, in zone: ZoneID, byMakerOf epoch: EpochRecord?) -> Bool {
    losses(of: dot.author.device).contains { place in
      guard !findings.isLive[place], knows(epoch, place),
        case .overruled(let striker, _) = findings.reason(place),
        dot.sequence > log.operation(place).cut?.sequence(of: dot.author, in: zone) ?? 0
      else { return false }
      return !knows(epoch, striker)
    }
  }

  /// The operations that ended a device or its person, or lowered the person's role, with effect or
  /// without.
  private func losses(of device: DeviceID) -> [Int] {
    Set((findings.index.enrolments[device] ?? []).compactMap(findings.enrolledPerson)).sorted()
      .flatMap { endings(of: device, $0) + demotions(of: $0) }
  }

  private func knows(_ epoch: EpochRecord?, _ place: Int) -> Bool {
    epoch.map { log.sees($0.place, place) } ?? false
  }

  private func knows(_ epoch: EpochRecord?, _ id: RecordID) -> Bool {
    log.items.indices.contains { log.items[$0].id == id && knows(epoch, $0) }
  }

  /// Whether anybody ever tried to take away a device, a role or a join.
  package var hasTriedCuts: Bool {
    let index = findings.index
    return !(index.removals.isEmpty && index[.revokeDevice].isEmpty && index[.setRole].isEmpty)
      || index[.recover].contains(where: findings.mayEndDevices)
      || index.enrolments.keys.contains { !strikersOfJoining(of: $0).isEmpty }
  }

  /// Who wrote a change, at the heads that it cites; nil for a stranger.
  package func author(of dot: Dot, at heads: Frontier) -> ChangeAuthor? {
    let device = dot.author.device
    let view = LogView.cited(heads, by: device, in: findings)
    guard let place = view.enrolment(of: device, in: findings),
      let person = findings.enrolledPerson(place)
    else { return nil }
    return (person, findings.given(place) == nil)
  }

  /// A person's status as known to a device that cites these heads; nil if the person was unknown.
  package func standing(
    of person: PersonID, knownTo device: DeviceID, at heads: Frontier
  ) -> PastStanding? {
    let view = LogView.cited(heads, by: device, in: findings)
    if let role = view.role(of: person, in: findings) {
      return (role, true)
    }
    guard let number = log.people[person],
      let last = findings.live.beginnings[number].last(where: { view.holds($0, in: findings) })
    else { return nil }
    return view.role(of: number, since: last, in: findings).map { ($0, false) }
  }

  /// The operations that decide a person's status, each with whether it has effect.
  package func standingGrounds(of person: PersonID) -> [RecordID: Bool] {
    let places = [findings.index.additions, findings.index.removals, findings.index.roleChanges]
      .flatMap { $0[person] ?? [] }
    return Dictionary(
      places.map { (log.items[$0].id, findings.isLive[$0]) }, uniquingKeysWith: { $0 || $1 })
  }

  /// The effective operations that decide about a device's changes, to compare two folds.
  package func grounds(of device: DeviceID) -> [RecordID: ChangeGround] {
    var places = findings.index.enrolments[device] ?? []
    for person in Set(places.compactMap(findings.enrolledPerson)).sorted() {
      places += endings(of: device, person)
      places += findings.index.roleChanges[person] ?? []
      places += findings.index.additions[person] ?? []
    }
    var grounds: [RecordID: ChangeGround] = [:]
    for place in places where findings.isLive[place] {
      let item = log.items[place]
      grounds[item.id] = ChangeGround(place: place, dot: item.version.dot, cut: item.operation.cut)
    }
    return grounds
  }

  /// The cuts in `grounds` that are concurrent with a changed ground.
  package func cuts(
    in grounds: [RecordID: ChangeGround], besides changed: [RecordID: ChangeGround]
  ) -> [Cut] {
    grounds.compactMap { id, ground in
      changed[id] == nil && changed.values.contains { log.areConcurrent($0.place, ground.place) }
        ? ground.cut : nil
    }
  }

  // MARK: Grounds

  /// The operations that end a device or its person, with effect or without.
  private func endings(of device: DeviceID, _ person: PersonID) -> [Int] {
    let removals = (findings.index.removals[person] ?? []).filter { place in
      if case .leave = log.operation(place) { return findings.person(place) == person }
      return true
    }
    return (findings.index.revocations[device] ?? []) + removals
      + (findings.index.recovered[person] ?? []).filter {
        findings.mayEndDevices($0) && log.devices[$0] != device
      }
  }

  /// The concurrent operations that overrode a device's joins, or operations that those depend on.
  ///
  /// A device unaware of them accepted the joined device as a member and counted its changes. O(n)
  /// for each join without effect in a log of n operations.
  private func strikersOfJoining(of device: DeviceID) -> [RecordID] {
    guard !Mutant.keepsUninvited.isActive else { return [] }
    let dead = (findings.index.enrolments[device] ?? []).filter { !findings.isLive[$0] }
    return dead.flatMap { place -> [RecordID] in
      if case .overruled(let striker, _) = findings.reason(place) { return [striker] }
      // For example the invitation, or the join of its maker.
      return log.items.indices.prefix(place).compactMap { earlier in
        guard case .overruled(let striker, _)? = findings.reason(earlier), log.sees(place, earlier)
        else { return nil }
        return striker
      }
    }
  }

  /// Whether an ending or demotion applies to an enrolment: nobody can end one they had not seen.
  private func concerns(_ ending: Int, _ enrolment: Int) -> Bool {
    switch log.operation(ending) {
    case .revokeDevice, .recover: return log.sees(ending, enrolment)
    default: return findings.verdicts[enrolment].admitted.map { log.sees(ending, $0) } ?? false
    }
  }

  /// The operations that lowered a person's role.
  private func demotions(of person: PersonID) -> [Int] {
    (findings.index.roleChanges[person] ?? []).filter { log.operation($0).isRoleChange }
  }

  /// Whether a change is within the cuts of the operations that ended its device.
  ///
  /// Of several concurrent cuts the largest applies. A later cut, whose author had seen another,
  /// applies as well.
  private func isWithin(_ dot: Dot, _ zone: ZoneID, _ endings: [Int]) -> Bool {
    func reaches(_ place: Int) -> Bool {
      let cut = log.operation(place).cut
      return dot.sequence <= (cut?.sequence(of: dot.author, in: zone) ?? 0)
    }
    return endings.allSatisfy { place in
      reaches(place) || endings.contains { log.areConcurrent($0, place) && reaches($0) }
    }
  }
}

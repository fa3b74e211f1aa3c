import HearthCRDT

/// The effect of a change of records.
package enum Judgement: Equatable, Sendable {
  /// The change has effect, with the rights of this role.
  case counts(Role)
  /// The change has no effect anywhere.
  case void(VoidCause)

  /// The reason why a change has no effect.
  package enum VoidCause: String, Sendable {
    /// Its device did not belong to the group at the heads that the change cites.
    case notADevice
    /// Its device or person was removed, and the change is beyond the cut of the removal.
    case beyondCut
  }
}

extension Membership {
  /// Judges a change by its author's role at the control heads that it cites, and by cuts.
  ///
  /// The cited heads never go back along a log. Beyond the cut of an effective removal, cited or
  /// not, the change is void; beyond the cut of a demotion it counts for the lower role. O(k log a)
  /// for the k operations about the device and its person.
  package func judge(
    _ dot: Dot, in zone: ZoneID, at heads: Frontier
  ) -> Judgement {
    let device = dot.author.device
    let view = resolver.view(of: device, citing: heads)
    guard let enrolment = resolver.enrolment(of: device, view),
      let person = resolver.enrolledPerson(enrolment),
      let role = resolver.role(of: person, view)
    else { return .void(.notADevice) }
    let endings = resolver.endings(of: device, person).filter {
      resolver.isLive[$0] && resolver.concerns($0, enrolment)
    }
    guard resolver.isWithin(dot, zone, endings) || Mutant.ignoresCut.isActive else {
      Probe.changeVoid.hit()
      return .void(.beyondCut)
    }
    Probe.cutHolds.hit(if: !endings.isEmpty)
    var lowest = role
    for place in resolver.demotions(of: person)
    where resolver.isLive[place] && !resolver.holds(place, view) {
      guard case .setRole(let change) = resolver.log.operation(place),
        change.role.rawValue < lowest.rawValue, resolver.concerns(place, enrolment),
        dot.sequence > change.cut.sequence(of: dot.author, in: zone)
      else { continue }
      if Mutant.demotionLooksBack.isActive { continue }
      Probe.changeDemoted.hit()
      lowest = change.role
    }
    return .counts(lowest)
  }

  /// Whether an operation that the author did not know of decides the effect of a change: the cut
  /// of a removal or demotion, or an override of the author's join.
  package func isOverruled(_ dot: Dot, in zone: ZoneID, at heads: Frontier) -> Bool {
    switch judge(dot, in: zone, at: heads) {
    case .void(.beyondCut): return true
    case .void(.notADevice):
      return !resolver.strikersOfJoining(of: dot.author.device).isEmpty
    case .counts(let role):
      let view = resolver.view(of: dot.author.device, citing: heads)
      return resolver.person(of: dot.author.device, view)
        .map { resolver.role(of: $0, view) != role } ?? false
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
    return !losses(of: dot.author.device).allSatisfy { !resolver.isLive[$0] || knows(epoch, $0) }
      || !resolver.strikersOfJoining(of: dot.author.device).allSatisfy { knows(epoch, $0) }
  }

  /// Whether a snapshot under an epoch may lack effective changes of a log.
  ///
  /// An operation that was overridden later still had effect for an author who knew of it alone.
  ///
  /// - Parameter dot: the last change of the log in the snapshot.
  package func lacksEffective(
    _ dot: Dot, in zone: ZoneID, byMakerOf epoch: EpochRecord?
  ) -> Bool {
    losses(of: dot.author.device).contains { place in
      guard !resolver.isLive[place], knows(epoch, place),
        case .overruled(let striker, _) = resolver.reason(place),
        dot.sequence > resolver.log.operation(place).cut?.sequence(of: dot.author, in: zone)
          ?? 0
      else { return false }
      return !knows(epoch, striker)
    }
  }

  /// The operations that ended a device or its person, or lowered the person's role, with effect or
  /// without.
  private func losses(of device: DeviceID) -> [Int] {
    Set((resolver.index.enrolments[device] ?? []).compactMap(resolver.enrolledPerson)).sorted()
      .flatMap { resolver.endings(of: device, $0) + resolver.demotions(of: $0) }
  }

  private func knows(_ epoch: EpochRecord?, _ place: Int) -> Bool {
    epoch.map { resolver.log.sees($0.place, place) } ?? false
  }

  private func knows(_ epoch: EpochRecord?, _ id: RecordID) -> Bool {
    resolver.log.items.indices.contains { resolver.log.items[$0].id == id && knows(epoch, $0) }
  }

  /// Whether anybody ever tried to take away a device, a role or a join.
  package var hasTriedCuts: Bool {
    let index = resolver.index
    return !(index.removals.isEmpty && index.revocations.isEmpty && index.recoveries.isEmpty)
      || resolver.hasStruckJoinings
      || index.roles.keys.contains { !resolver.demotions(of: $0).isEmpty }
  }

  /// Who wrote a change, at the heads that it cites; nil for a stranger.
  package func author(of dot: Dot, at heads: Frontier) -> Writer? {
    let device = dot.author.device
    if let writer = resolver.writer(device, resolver.cited(heads)) { return writer }
    guard !resolver.log.forked.isEmpty else { return nil }
    return resolver.writer(
      device, .frontier(resolver.log.forked.view(citing: heads, isGenerous: true)))
  }

  /// A person's status as known to a device that cites these heads; nil if the person was unknown.
  package func standing(
    of person: PersonID, knownTo device: DeviceID, at heads: Frontier
  ) -> Standing? {
    let view = resolver.view(of: device, citing: heads)
    if let role = resolver.role(of: person, view) {
      return Standing(role: role, isPresent: true)
    }
    let last = resolver.index.additions[person]?.last {
      resolver.holds($0, view) && resolver.given($0) != nil
    }
    return last.flatMap { membership in
      resolver.log.people[person].flatMap { resolver.role(of: $0, since: membership, view) }
    }
    .map { Standing(role: $0, isPresent: false) }
  }

  /// The operations that decide a person's status, each with whether it has effect.
  package func standingGrounds(of person: PersonID) -> [RecordID: Bool] {
    let places = [resolver.index.additions, resolver.index.removals, resolver.index.roles]
      .flatMap { $0[person] ?? [] }
    return Dictionary(
      places.map { (resolver.log.items[$0].id, resolver.isLive[$0]) },
      uniquingKeysWith: { $0 || $1 })
  }

  /// The effective operations that decide about a device's changes, to compare two folds.
  package func grounds(of device: DeviceID) -> [RecordID: Ground] {
    var places = resolver.index.enrolments[device] ?? []
    for person in Set(places.compactMap(resolver.enrolledPerson)).sorted() {
      places += resolver.endings(of: device, person)
      places += resolver.index.roles[person] ?? []
      places += resolver.index.additions[person] ?? []
    }
    var grounds: [RecordID: Ground] = [:]
    for place in places where resolver.isLive[place] {
      let item = resolver.log.items[place]
      grounds[item.id] = Ground(place: place, dot: item.version.dot, cut: item.operation.cut)
    }
    return grounds
  }

  /// The cuts in `grounds` that are concurrent with a changed ground.
  package func cuts(in grounds: [RecordID: Ground], besides changed: [RecordID: Ground]) -> [Cut] {
    grounds.compactMap { id, ground in
      changed[id] == nil
        && changed.values.contains { resolver.log.areConcurrent($0.place, ground.place) }
        ? ground.cut : nil
    }
  }

  /// Whether a device itself was revoked, or replaced through recovery words.
  ///
  /// The end of its person's membership does not count: they may have returned with another device.
  package func isRevoked(_ id: DeviceID) -> Bool {
    guard let person = device(id)?.person else { return false }
    let recoveries = (resolver.index.recoveries[person] ?? []).filter {
      resolver.log.devices[$0] != id
    }
    return ((resolver.index.revocations[id] ?? []) + recoveries).contains { resolver.isLive[$0] }
  }

  /// The author of a change.
  package struct Writer: Equatable, Sendable {
    package let person: PersonID
    /// Whether the person belonged to the group already when the device came, by a link for a
    /// further device or by recovery words.
    package let isFurther: Bool
  }

  /// A person's status in a device's past.
  package struct Standing: Equatable, Sendable {
    /// The role; for a former member the last role.
    package let role: Role
    /// Whether the person belonged to the group.
    package let isPresent: Bool
  }

  /// An operation that decides about changes.
  package struct Ground {
    /// Its place in the order of its fold.
    let place: Int
    package let dot: Dot
    package let cut: Cut?
  }
}

extension ControlOperation {
  /// The cut of an operation that takes something away: how far its author knew the logs.
  var cut: Cut? {
    switch self {
    case .removeMember(let removal): removal.cut
    case .revokeDevice(let revocation): revocation.cut
    case .leave(let cut): cut
    case .recover(let recover): recover.revokesOthers ? recover.cut : nil
    case .setRole(let change): change.cut
    default: nil
    }
  }
}

extension ControlResolver {
  /// The past of a device that cites these control heads; if its own join has two branches, it has
  /// the branch that the cited number may mean.
  func view(of device: DeviceID, citing heads: Frontier) -> View {
    let view = cited(heads)
    guard enrolment(of: device, view) == nil, !log.forked.isEmpty else { return view }
    return .frontier(log.forked.view(citing: heads, isGenerous: true))
  }

  /// Whose device an author is; nil for a stranger.
  func writer(_ device: DeviceID, _ view: View) -> Membership.Writer? {
    guard let place = enrolment(of: device, view), let person = enrolledPerson(place) else {
      return nil
    }
    return Membership.Writer(person: person, isFurther: given(place) == nil)
  }

  /// The operations that end a device or its person, with effect or without.
  func endings(of device: DeviceID, _ person: PersonID) -> [Int] {
    let removals = (index.removals[person] ?? []).filter { place in
      if case .leave = log.operation(place) { return self.person(place) == person }
      return true
    }
    return (index.revocations[device] ?? []) + removals
      + (index.recoveries[person] ?? []).filter { log.devices[$0] != device }
  }

  /// The concurrent operations that overrode a device's joins, or operations that those depend on.
  ///
  /// A device unaware of them accepted the joined device as a member and counted its changes. O(n)
  /// for each join without effect in a log of n operations.
  func strikersOfJoining(of device: DeviceID) -> [RecordID] {
    guard !Mutant.keepsUninvited.isActive else { return [] }
    let dead = (index.enrolments[device] ?? []).filter { !isLive[$0] }
    return dead.flatMap { place -> [RecordID] in
      if case .overruled(let striker, _) = reason(place) { return [striker] }
      // For example the invitation, or the join of its maker.
      return log.items.indices.prefix(place).compactMap { earlier in
        guard case .overruled(let striker, _)? = reason(earlier), log.sees(place, earlier) else {
          return nil
        }
        return striker
      }
    }
  }

  var hasStruckJoinings: Bool {
    index.enrolments.keys.contains { !strikersOfJoining(of: $0).isEmpty }
  }

  /// Whether an ending or demotion applies to an enrolment: nobody can end one they had not seen.
  func concerns(_ ending: Int, _ enrolment: Int) -> Bool {
    switch log.operation(ending) {
    case .revokeDevice, .recover: return log.sees(ending, enrolment)
    default: return verdicts[enrolment].admitted.map { log.sees(ending, $0) } ?? false
    }
  }

  /// The operations that lowered a person's role.
  func demotions(of person: PersonID) -> [Int] {
    (index.roles[person] ?? []).filter { isRole($0) }
  }

  /// Whether a change is within the cuts of the operations that ended its device.
  ///
  /// Of several concurrent cuts the largest applies. A later cut, whose author had seen another,
  /// applies as well.
  fileprivate func isWithin(_ dot: Dot, _ zone: ZoneID, _ endings: [Int]) -> Bool {
    func reaches(_ place: Int) -> Bool {
      let cut = log.operation(place).cut
      return dot.sequence <= (cut?.sequence(of: dot.author, in: zone) ?? 0)
    }
    return endings.allSatisfy { place in
      reaches(place) || endings.contains { log.areConcurrent($0, place) && reaches($0) }
    }
  }

  func activeDevices(_ view: View) -> [DeviceID] {
    index.enrolments.keys.filter { enrolment(of: $0, view) != nil }.sorted()
  }
}

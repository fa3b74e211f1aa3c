import HearthCRDT

/// A part of the log, and who belongs to the group in it: the people, devices, roles and
/// invitations.
enum LogView {
  /// The past of an operation.
  case past(Int)
  /// The frontier of a reader, as ``cited(_:in:)`` returns it.
  case frontier(Frontier)
  /// All operations.
  case all

  /// The view of an author who cites control heads by number.
  static func cited(_ heads: Frontier, in findings: Findings) -> LogView {
    .frontier(findings.log.forked.view(citing: heads))
  }

  /// The past of a device that cites these control heads; if its own join has two branches, it has
  /// the branch that the cited number may mean.
  static func cited(_ heads: Frontier, by device: DeviceID, in findings: Findings) -> LogView {
    let view = cited(heads, in: findings)
    guard view.enrolment(of: device, in: findings) == nil, !findings.log.forked.isEmpty else {
      return view
    }
    return .frontier(findings.log.forked.view(citing: heads, isGenerous: true))
  }

  /// Whether an operation has effect and is in view.
  func holds(_ place: Int, in findings: Findings) -> Bool {
    guard findings.isLive[place] else { return false }
    return switch self {
    case .past(let later): findings.log.sees(later, place)
    case .frontier(let frontier): frontier.covers(findings.log.items[place].position)
    case .all: true
    }
  }

  // MARK: Devices

  /// The operation by which a device belongs to the group; nil if it does not belong.
  func enrolment(of device: DeviceID, in findings: Findings) -> Int? {
    findings.log.deviceNames[device].flatMap { enrolment(of: $0, in: findings) }
  }

  func enrolment(of device: Int, in findings: Findings) -> Int? {
    let enrolments = findings.live.enrolments[device]
    func stands(_ place: Int) -> Bool {
      holds(place, in: findings) && ending(of: device, enrolledBy: place, in: findings) == nil
    }
    for place in enrolments.reversed() where holds(place, in: findings) {
      guard let end = ending(of: device, enrolledBy: place, in: findings) else { return place }
      // The ending also ended all enrolments in its past, if they were the same person's.
      guard findings.log.sees(end, place), !findings.live.isShared(device),
        let others = findings.live.apartEnrolments.besides(place)
      else { continue }
      return others.first(where: stands)
    }
    return nil
  }

  /// The operation that ended an enrolment; nil if none has.
  ///
  /// An operation ends only what its author had seen: a removal ends a membership with all its
  /// devices; a revocation, or a recovery that revokes the other devices, ends the enrolment.
  func ending(of device: DeviceID, enrolledBy enrolment: Int, in findings: Findings) -> Int? {
    findings.log.deviceNames[device].flatMap { ending(of: $0, enrolledBy: enrolment, in: findings) }
  }

  private func ending(of device: Int, enrolledBy enrolment: Int, in findings: Findings) -> Int? {
    /// The last operation that ends it; one before `seen` cannot have seen it.
    func last(of places: [Int], seeing seen: Int, but device: Int? = nil) -> Int? {
      for place in places.reversed() {
        guard place > seen || Mutant.endsWhatWasNotSeen.isActive else { return nil }
        if place != enrolment, device == nil || findings.log.deviceNumbers[place] != device,
          holds(place, in: findings), LogView.hadSeen(place, seen, in: findings)
        {
          return place
        }
      }
      return nil
    }
    if let place = last(of: findings.live.revocations[device], seeing: enrolment) { return place }
    guard let person = findings.log.comers[enrolment] else { return nil }
    if let place = last(of: findings.live.recoveries[person], seeing: enrolment, but: device) {
      return place
    }
    guard let membership = findings.verdicts[enrolment].admitted else { return nil }
    return last(of: findings.live.removals[person], seeing: membership)
  }

  /// The person who owns a device; nil for a stranger or a removed device.
  func person(of device: DeviceID, in findings: Findings) -> PersonID? {
    enrolment(of: device, in: findings).flatMap { findings.enrolledPerson($0) }
  }

  /// The join by which a person belongs to the group; nil if the person does not belong.
  func addition(of person: PersonID, in findings: Findings) -> Int? {
    findings.log.people[person].flatMap { addition(of: $0, in: findings) }
  }

  func addition(of person: Int, in findings: Findings) -> Int? {
    let (beginnings, removals) = (findings.live.beginnings[person], findings.live.removals[person])
    func isOver(_ place: Int) -> Bool {
      // Only a later operation in the order can have seen the join.
      for removal in removals.reversed() {
        if removal < place, !Mutant.endsWhatWasNotSeen.isActive { return false }
        if LogView.hadSeen(removal, place, in: findings), holds(removal, in: findings) {
          return true
        }
      }
      return false
    }
    for place in beginnings.reversed() where holds(place, in: findings) {
      guard isOver(place) else { return place }
      // The removal that ended this membership also ended all memberships in its past.
      guard let others = findings.live.apartBeginnings.besides(place) else { continue }
      return others.first { holds($0, in: findings) && !isOver($0) }
    }
    return nil
  }

  private static func hadSeen(_ ending: Int, _ entry: Int, in findings: Findings) -> Bool {
    Mutant.endsWhatWasNotSeen.isActive
      ? !findings.log.sees(entry, ending) : findings.log.sees(ending, entry)
  }

  /// The owner: the last person who accepted an ownership offer, or the founder.
  func owner(in findings: Findings) -> PersonID? {
    if Mutant.ownerByOffer.isActive,
      let offer = findings.live.transfers.last(where: { holds($0, in: findings) }),
      case .transferOwner(let heir, _) = findings.log.operation(offer)
    {
      return heir
    }
    if let place = findings.live.acceptances.last(where: { holds($0, in: findings) }) {
      return findings.person(place)
    }
    return findings.index.geneses.first { holds($0, in: findings) }.flatMap {
      findings.enrolledPerson($0)
    }
  }

  /// A person's role; nil if the person does not belong to the group.
  func role(of person: PersonID, in findings: Findings) -> Role? {
    findings.log.people[person].flatMap { role(of: $0, in: findings) }
  }

  func role(of person: Int, in findings: Findings) -> Role? {
    addition(of: person, in: findings).flatMap { role(of: person, since: $0, in: findings) }
  }

  func role(of person: Int, since membership: Int, in findings: Findings) -> Role? {
    if owner(in: findings) == findings.log.people[number: person] { return .owner }
    for place in findings.live.roles[person].reversed() where holds(place, in: findings) {
      if case .acceptOwner = findings.log.operation(place) {
        // A former owner stays as an admin.
        return .admin
      }
      // A role change applies only to the membership that its author had seen.
      guard place == membership || findings.log.sees(place, membership) else { continue }
      if let role = findings.given(place) {
        return lowered(role == .owner ? .admin : role, of: person, after: place, in: findings)
      }
    }
    return nil
  }

  /// The role for an author who had seen an overridden role change, but not the role that won.
  ///
  /// The person's actual rank is not higher in either case, so operations that depend on the
  /// overridden role have effect.
  private func lowered(_ role: Role, of person: Int, after set: Int, in findings: Findings) -> Role
  {
    guard case .past(let later) = self else { return role }
    let known = findings.live.overruledRoles[person].last { place in
      place > set && findings.log.sees(later, place)
        && (findings.strikes[place].map { !findings.log.sees(later, $0.by) } ?? false)
    }
    guard let known, let other = findings.given(known), other.rank < role.rank else { return role }
    return other
  }

  /// The public keys of a person's recovery words; nil if the person has none.
  func recoveryKeys(
    of person: PersonID, in findings: Findings
  ) -> (place: Int, keys: ControlOperation.RecoveryKeys)? {
    findings.live.words[findings.log.people[person]].last { holds($0, in: findings) }
      .flatMap { place in findings.log.operation(place).words.map { (place, $0) } }
  }

  /// The operation that made the effective invitation with an id.
  func invite(_ id: Identifier, in findings: Findings) -> Int? {
    invite(findings.log.invitations[id], in: findings)
  }

  func invite(_ number: Int?, in findings: Findings) -> Int? {
    findings.live.invites[number].first { holds($0, in: findings) }
  }

  /// The lowest accepted cipher suite: the greatest minimum that was ever set.
  func minimumSuite(in findings: Findings) -> UInt8 {
    var floor: UInt8 = 1
    // Authors set no lower minimum than they had seen, so each author's last policy suffices.
    for places in findings.live.policies.lists {
      let seen = places.partitionPoint { !holds($0, in: findings) }
      guard seen > 0, case .setPolicy(let suite, _) = findings.log.operation(places[seen - 1])
      else {
        continue
      }
      floor = max(floor, suite)
    }
    return floor
  }
}

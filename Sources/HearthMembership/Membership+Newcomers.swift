import HearthCRDT

// History boundaries, and the keys that newcomers therefore do not get (decision 0051).
extension Membership {
  /// Whether data keys are withheld: newcomers have, or once had, limited access to history.
  package var withholdsKeys: Bool { !resolved.outcome.thresholds.isEmpty }

  /// Whether a device may receive an epoch's key.
  ///
  /// A person reads from their own join on, on each of their devices. Everybody reads the whole
  /// control zone, since nobody should trust a membership that they cannot check.
  package func mayBeGiven(_ epoch: EpochRecord, of zone: ZoneKind, to device: DeviceID) -> Bool {
    guard zone == .data, withholdsKeys else { return true }
    return resolver.person(of: device, .all).map { isOpen(epoch, to: $0) } ?? false
  }

  /// Whether a person may receive the key of a data zone's epoch, by the time of the person's join.
  package func isOpen(_ epoch: EpochRecord, to person: PersonID) -> Bool {
    guard withholdsKeys else { return true }
    guard let addition = resolver.addition(of: person, .all),
      let first = resolver.beginning(of: person, through: addition)
    else { return false }
    let gathered = resolver.keysGathered(for: first)
    if resolved.rule(.past(gathered)) == .fromJoin {
      return resolver.log.sees(epoch.place, gathered)
    }
    return resolved.isOpen(epoch.place, .past(gathered))
  }

  /// Whether current newcomers may have the key of a data zone's epoch under the `full` rule.
  ///
  /// Its author knew of every rule change, so it contains nothing that was closed to newcomers.
  package func isOpenToAll(_ epoch: EpochRecord) -> Bool {
    resolved.isOpen(epoch.place, .all)
  }

  /// Whether readers follow the link from an epoch of a data zone to an earlier one.
  ///
  /// A device that obeys the rule ignores a link that another program added against the rule. O(r)
  /// for the r changes of the rule.
  func follows(_ epoch: EpochRecord, to earlier: EpochRecord) -> Bool {
    guard withholdsKeys else { return true }
    return resolved.rule(.past(epoch.place)) == .full
      && resolved.isOpen(earlier.place, .past(epoch.place))
  }

  /// Whether readers follow the link to an earlier epoch, given by an id that the log may lack.
  package func follows(
    _ epoch: EpochRecord, toKey earlier: [UInt8], of zone: ZoneKind, _ epochs: [EpochRecord]
  ) -> Bool {
    guard zone == .data, withholdsKeys else { return true }
    return epochs.first { $0.grant.epoch == earlier }.map { follows(epoch, to: $0) } ?? false
  }

  /// Whether an epoch was made in the same change as the invitation or admission of an enrolment.
  func came(_ enrolment: Int, with epoch: EpochRecord) -> Bool {
    guard withholdsKeys else { return false }
    let gathered = resolver.keysGathered(for: enrolment)
    return resolver.log.items[gathered].position == resolver.log.items[epoch.place].position
  }

  /// The epochs of a zone that were made in the same change as an open automatic invitation.
  package func epochsOfOpenInvites(in zone: ZoneID) -> [EpochRecord] {
    guard withholdsKeys else { return [] }
    let places = Set(openInvites.compactMap { resolver.invite($0.operation.invite, .all) })
    return epochs(of: zone).filter { epoch in
      places.contains {
        resolver.log.items[$0].position == resolver.log.items[epoch.place].position
      }
    }
  }

  /// Whether an epoch's author knew of every history boundary.
  func isBeyondThresholds(_ epoch: EpochRecord) -> Bool {
    guard epoch.grant.zone != genesis?.controlZone else { return true }
    return resolved.outcome.thresholds.allSatisfy { resolver.log.sees(epoch.place, $0) }
  }

  /// Whether a device admitted another one, and had the right to do so by what it knew then.
  ///
  /// If two admins admit somebody concurrently, each had the right, whatever became of it later.
  package func hasAdmitted(_ device: DeviceID, by approver: DeviceID) -> Bool {
    return (resolver.index.enrolments[device] ?? []).contains { place in
      guard case .admit = resolver.log.operation(place),
        resolver.log.devices[place] == approver
      else { return false }
      let verdict = resolver.verdicts[place]
      return verdict.refusal == nil || verdict.isContested && verdict.rank >= Role.admin.rank
    }
  }

  /// The people whom a device trusts about the time before its join, in order of id: its own
  /// person, and everybody who invited or approved the device or its person.
  package func introducers(of device: DeviceID) -> [PersonID] {
    guard let own = resolver.enrolment(of: device, .all),
      let person = resolver.person(of: device, .all)
    else { return [] }
    var introducers: Set<PersonID> = [person]
    for place in [own, resolver.addition(of: person, .all)].compactMap({ $0 }) {
      introducers.formUnion(resolver.whoLetIn(by: place))
    }
    return introducers.sorted()
  }

  /// Whether an invitation is for a person who is not in the group.
  package func isForNewcomer(_ person: PersonID?) -> Bool {
    person.map { id in !people.contains { $0.id == id } } ?? true
  }
}

extension ResolvedControl {
  func rule(_ view: ControlResolver.View) -> ControlOperation.Newcomers {
    resolver.rule(view, of: outcome.ruleChanges)
  }

  /// Whether an epoch's author knew of every change of the rule in a view.
  func isOpen(_ epoch: Int, _ view: ControlResolver.View) -> Bool {
    outcome.ruleChanges.allSatisfy { !resolver.holds($0, view) || resolver.log.sees(epoch, $0) }
  }
}

extension ControlResolver {
  /// The operations that changed what newcomers may read, in log order.
  ///
  /// A policy that changes only the suite and leaves the rule as its author knew it is not a rule
  /// change, even if somebody else changed the rule concurrently.
  func ruleChanges() -> [Int] {
    index.policies.reduce(into: []) { changes, place in
      guard isLive[place], case .setPolicy(let policy) = log.operation(place),
        policy.newcomers != rule(.past(place), of: changes)
      else { return }
      changes.append(place)
    }
  }

  fileprivate func rule(_ view: View, of changes: [Int]) -> ControlOperation.Newcomers {
    guard let place = changes.last(where: { holds($0, view) }),
      case .setPolicy(let policy) = log.operation(place)
    else { return .full }
    return policy.newcomers
  }

  /// The history boundaries, after which newcomers need new keys: changes of the rule and, while
  /// newcomers read from their join on, admissions and invitations that contain keys.
  func thresholds(_ ruleChanges: [Int]) -> [Int] {
    guard !ruleChanges.isEmpty else { return [] }
    let entrances = log.items.indices.filter { place in
      log.invited[place] != nil && isLive[place] && letsInNewcomer(place)
        && rule(.past(place), of: ruleChanges) == .fromJoin
    }
    return (ruleChanges + entrances).sorted()
  }

  private func letsInNewcomer(_ place: Int) -> Bool {
    switch log.operation(place) {
    case .inviteCreate(let invite):
      invite.admission == .auto
        && invite.person.map { addition(of: $0, .past(place)) == nil } ?? true
    case .admit: given(place) != nil
    default: false
    }
  }
}

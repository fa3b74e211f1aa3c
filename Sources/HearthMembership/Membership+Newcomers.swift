import HearthCRDT

// From where on newcomers read, and so which keys nobody gives them; decision 0051 says why.
extension Membership {
  /// Whether there are keys of data zones that some members are not given: newcomers read, or
  /// once read, less than everything.
  package var withholdsKeys: Bool { !resolved.outcome.thresholds.isEmpty }

  /// Whether an epoch's key may be given to a device.
  ///
  /// A person reads from its own joining on, on each of its devices; what stands in the control
  /// zone everybody reads, as nobody believes a membership that they cannot check.
  package func mayBeGiven(_ epoch: EpochRecord, of zone: ZoneKind, to device: DeviceID) -> Bool {
    guard zone == .data, withholdsKeys else { return true }
    return resolver.person(of: device, .all).map { isOpen(epoch, to: $0) } ?? false
  }

  /// Whether the key of a data zone's epoch may be given to a person, by when the person came.
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

  /// Whether newcomers of now may have the key of a data zone's epoch where they read everything
  /// that was not closed once: it was made by somebody who knew of every change of the rule.
  package func isOpenToAll(_ epoch: EpochRecord) -> Bool {
    resolved.isOpen(epoch.place, .all)
  }

  /// Whether the link from an epoch of a data zone to an earlier one is followed.
  ///
  /// What a program puts there against the rule nobody takes who follows the rule. O(r) for the r
  /// changes of the rule.
  func follows(_ epoch: EpochRecord, to earlier: EpochRecord) -> Bool {
    guard withholdsKeys else { return true }
    return resolved.rule(.past(epoch.place)) == .full
      && resolved.isOpen(earlier.place, .past(epoch.place))
  }

  /// The same by the id of the earlier epoch, of which the log need not tell.
  package func follows(
    _ epoch: EpochRecord, toKey earlier: [UInt8], of zone: ZoneKind, _ epochs: [EpochRecord]
  ) -> Bool {
    guard zone == .data, withholdsKeys else { return true }
    return epochs.first { $0.grant.epoch == earlier }.map { follows(epoch, to: $0) } ?? false
  }

  /// Whether an epoch was made with the invitation, or admission, by which a device came.
  func came(_ enrolment: Int, with epoch: EpochRecord) -> Bool {
    guard withholdsKeys else { return false }
    let gathered = resolver.keysGathered(for: enrolment)
    return resolver.log.items[gathered].position == resolver.log.items[epoch.place].position
  }

  /// The epochs of a zone that were made with open invitations which let newcomers in at once.
  package func epochsOfOpenInvites(in zone: ZoneID) -> [EpochRecord] {
    guard withholdsKeys else { return [] }
    let places = Set(openInvites.compactMap { resolver.invite($0.operation.invite, .all) })
    return epochs(of: zone).filter { epoch in
      places.contains {
        resolver.log.items[$0].position == resolver.log.items[epoch.place].position
      }
    }
  }

  /// Whether an epoch's author knew of everything from which on newcomers are given new keys.
  func isBeyondThresholds(_ epoch: EpochRecord) -> Bool {
    guard epoch.grant.zone != genesis?.controlZone else { return true }
    return resolved.outcome.thresholds.allSatisfy { resolver.log.sees(epoch.place, $0) }
  }

  /// Whether a device let another one in and could, by what it knew then.
  ///
  /// Whatever became of that: of two who let somebody in at the same time each had the right.
  package func hasAdmitted(_ device: DeviceID, by approver: DeviceID) -> Bool {
    return (resolver.index.enrolments[device] ?? []).contains { place in
      guard case .admit = resolver.log.operation(place),
        resolver.log.devices[place] == approver
      else { return false }
      let verdict = resolver.verdicts[place]
      return verdict.refusal == nil || verdict.isContested && verdict.rank >= Role.admin.rank
    }
  }

  /// Whom a device believes about what was before it came, in order of id: its own person, and
  /// those who invited or approved it or its person.
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

  /// Whether an invitation is for somebody who is not in the group.
  package func isForNewcomer(_ person: PersonID?) -> Bool {
    person.map { id in !people.contains { $0.id == id } } ?? true
  }
}

extension ResolvedControl {
  /// What newcomers may read, in a view.
  func rule(_ view: ControlResolver.View) -> ControlOperation.Newcomers {
    resolver.rule(view, of: outcome.ruleChanges)
  }

  /// Whether an epoch was made by somebody who knew of every change of the rule in a view.
  func isOpen(_ epoch: Int, _ view: ControlResolver.View) -> Bool {
    outcome.ruleChanges.allSatisfy { !resolver.holds($0, view) || resolver.log.sees(epoch, $0) }
  }
}

extension ControlResolver {
  /// The operations that changed what newcomers may read, in the log's order.
  ///
  /// One that asks for another suite and leaves the rule as its author knew it changes nothing,
  /// even where somebody else changed the rule at the same time.
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

  /// The operations from which on newcomers are given new keys: changes of the rule, and while they
  /// read from their joining on, invitations that carry keys and admissions.
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

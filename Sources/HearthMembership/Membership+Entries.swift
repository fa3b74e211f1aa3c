import HearthCRDT

/// A contested join that has no effect until somebody confirms it.
package struct WaitingEntry: Sendable {
  /// The id of its operation; a confirmation names it.
  package let id: RecordID
  package let person: PersonID
  package let personName: String
  package let device: DeviceID
  package let deviceName: String
  /// The requested role; nil for a person's further device.
  package let role: Role?
  package let invite: Identifier
  /// When it was written, by the clock of the device that wrote it.
  package let since: HybridTime
  package let reason: VoidReason
}

extension Membership {
  /// The joins that are pending on an owner or admin, in log order.
  package var waiting: [WaitingEntry] {
    resolver.log.items.indices.compactMap { place in
      guard resolver.isWaiting(place), let reason = resolver.reason(place),
        case .join(let join) = resolver.log.operation(place)
      else { return nil }
      return WaitingEntry(
        id: resolver.log.items[place].id, person: join.person, personName: join.personName,
        device: resolver.log.devices[place], deviceName: join.device.name,
        role: resolver.given(place), invite: join.invite,
        since: resolver.log.items[place].version.time, reason: reason)
    }
  }

  /// The ids of the effective joins and handovers that a device may make final and nobody has made
  /// final, strictly rising.
  ///
  /// Contested joins are not among them: only a person admits them. O(n) for n operations.
  package func unconfirmed(by device: DeviceID) -> [RecordID] {
    guard let own = resolver.enrolment(of: device, .all),
      let person = resolver.enrolledPerson(own), let role = resolver.role(of: person, .all)
    else { return [] }
    return resolver.log.items.indices.filter {
      resolver.isLive[$0] && resolver.confirmations[$0] == nil
        && resolver.mayConfirm($0, person, role, enrolledBy: own)
    }.map { resolver.log.items[$0].id }.sorted()
  }

  /// The ids of pending joins that a device may make final, strictly rising.
  package func confirmable(by device: DeviceID) -> Set<RecordID> {
    guard let own = resolver.enrolment(of: device, .all),
      let person = resolver.enrolledPerson(own), let role = resolver.role(of: person, .all)
    else { return [] }
    return Set(
      resolver.log.items.indices.filter {
        resolver.isWaiting($0) && resolver.mayConfirm($0, person, role, enrolledBy: own)
      }.map { resolver.log.items[$0].id })
  }
}

extension ControlResolver {
  /// Whether a person with full knowledge may make a join or an ownership handover final.
  fileprivate func mayConfirm(
    _ place: Int, _ person: PersonID, _ role: Role, enrolledBy own: Int
  ) -> Bool {
    switch log.operation(place) {
    case .join(let join):
      let rank =
        given(place)?.rank ?? self.role(of: join.person, .past(place))?.rank ?? Role.owner.rank
      if role.rank >= Role.admin.rank, role.rank > max(rank, Role.child.rank) { return true }
      guard given(place) == nil, join.person == person, let invite = inviter(of: place) else {
        return false
      }
      return log.sees(invite, own)
    case .acceptOwner:
      // An admin of after the handover, whom the new owner may have promoted, makes nothing final.
      guard self.person(place) != person, role.rank >= Role.admin.rank else { return false }
      return verdicts[place].formerOwner == person || Mutant.confirmsInVain.isActive
        || self.role(of: person, .past(place))?.rank ?? 0 >= Role.admin.rank
    default: return false
    }
  }
}

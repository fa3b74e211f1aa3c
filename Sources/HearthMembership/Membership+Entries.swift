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

  /// The effective joins and handovers that a device may make final and nobody has made final.
  package struct Unconfirmed: Sendable {
    /// The ids of those within their time by the local device's clock, strictly rising.
    package var inTime: [RecordID] = []
    /// The devices that joined by an expired invitation, in log order.
    package var late: [DeviceID] = []
  }

  /// The operations that have effect and that a device may still make final.
  ///
  /// A joining device can claim any time. The confirming device therefore decides by its own clock
  /// whether an invitation had expired. If an admin closed an expired invitation before a timely
  /// join arrived there, that join still counts as timely. O(n) for n operations.
  ///
  /// - Parameter graceMilliseconds: the time that files may take from one device to another.
  package func unconfirmed(
    by device: DeviceID, nowMilliseconds: UInt64, graceMilliseconds: UInt64
  ) -> Unconfirmed {
    var found = Unconfirmed()
    guard let own = resolver.enrolment(of: device, .all),
      let person = resolver.enrolledPerson(own), let role = resolver.role(of: person, .all)
    else { return found }
    for place in resolver.log.items.indices
    where resolver.confirmations[place] == nil
      && resolver.mayConfirm(place, person, role, enrolledBy: own)
    {
      let end = resolver.expiry(place)?.addingReportingOverflow(graceMilliseconds).partialValue
      let isInTime = end.map { nowMilliseconds <= max($0, graceMilliseconds) } ?? true
      let item = resolver.log.items[place]
      if resolver.isLive[place] {
        if isInTime { found.inTime.append(item.id) } else { found.late.append(item.device) }
      } else if isInTime, resolver.isWaitingForExpiry(place) {
        found.inTime.append(item.id)
      }
    }
    found.inTime.sort()
    return found
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
  fileprivate func expiry(_ place: Int) -> UInt64? {
    verdicts[place].invite.flatMap { log.terms($0) }?.expiresMilliseconds
  }

  /// Whether a join is contested only by closes of its expired invitation that had not seen it.
  fileprivate func isWaitingForExpiry(_ place: Int) -> Bool {
    guard isWaiting(place), verdicts[place].refusal == nil,
      case .overruled(_, .invitationClosed)? = contests[place],
      case .join = log.operation(place), let invite = inviter(of: place),
      let made = log.terms(invite),
      mayStillInvite(invite, made, .all), live.removalsOfUsers[invite].isEmpty
    else { return false }
    return live.uses[log.invited[place]].count < made.maximumUses
      && live.closings[log.invited[place]].allSatisfy {
        log.items[$0].version.time.milliseconds >= made.expiresMilliseconds
      }
  }

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

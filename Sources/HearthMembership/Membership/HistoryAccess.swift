import HearthCRDT

/// An epoch of a zone, as the control log announces it.
package struct EpochRecord: Sendable {
  package let grant: ControlOperation.EpochGrant
  /// The creation time, by the clock of the device that made it.
  package let since: HybridTime
  /// The length of the longest chain of epochs below it.
  package let depth: Int
  /// The device that made it.
  package let maker: DeviceID
  let place: Int
}

/// The earlier history that newcomers may read, by the keys that they may have (decision 0051).
package struct HistoryAccess: ResolvedPart {
  let resolved: ResolvedControl

  private var rules: NewcomerRules { outcome.newcomers }

  /// Whether data keys are withheld: newcomers have, or once had, limited access to history.
  package var withholdsKeys: Bool { !rules.boundaries.isEmpty }

  /// Whether a device may receive an epoch's key.
  ///
  /// A person reads from their own join on, on each of their devices. Everybody reads the whole
  /// control zone, since nobody should trust a membership that they cannot check.
  package func mayBeGiven(_ epoch: EpochRecord, of zone: ZoneKind, to device: DeviceID) -> Bool {
    guard zone == .data, withholdsKeys else { return true }
    return LogView.all.person(of: device, in: findings).map { isOpen(epoch, to: $0) } ?? false
  }

  /// Whether a person may receive the key of a data zone's epoch, by the time of the person's join.
  package func isOpen(_ epoch: EpochRecord, to person: PersonID) -> Bool {
    guard withholdsKeys else { return true }
    guard let addition = LogView.all.addition(of: person, in: findings) else { return false }
    let gathered = keysGathered(for: addition)
    if rules.rule(.past(gathered), in: findings) == .fromJoin {
      return log.sees(epoch.place, gathered)
    }
    return rules.isOpen(epoch.place, .past(gathered), in: findings)
  }

  /// Whether current newcomers may have the key of a data zone's epoch under the `full` rule.
  ///
  /// Its author knew of every rule change, so it contains nothing that was closed to newcomers.
  package func isOpenToAll(_ epoch: EpochRecord) -> Bool {
    rules.isOpen(epoch.place, .all, in: findings)
  }

  /// Whether readers follow the link from an epoch to an earlier one, given by an id that the log
  /// may lack.
  ///
  /// A device that obeys the rule ignores a link that another program added against the rule. O(r)
  /// for the r changes of the rule.
  package func follows(
    _ epoch: EpochRecord, toKey earlier: [UInt8], of zone: ZoneKind, _ epochs: [EpochRecord]
  ) -> Bool {
    guard zone == .data, withholdsKeys else { return true }
    let past = LogView.past(epoch.place)
    guard let earlier = epochs.first(where: { $0.grant.epoch == earlier }) else { return false }
    return rules.rule(past, in: findings) == .full
      && rules.isOpen(earlier.place, past, in: findings)
  }

  /// Whether an epoch was made in the same change as the invitation or admission of an enrolment.
  func came(_ enrolment: Int, with epoch: EpochRecord) -> Bool {
    guard withholdsKeys else { return false }
    let gathered = keysGathered(for: enrolment)
    return log.items[gathered].position == log.items[epoch.place].position
  }

  /// Whether an epoch's author knew of every history boundary.
  func isBeyondBoundaries(_ epoch: EpochRecord) -> Bool {
    guard epoch.grant.zone != resolved.genesis?.controlZone else { return true }
    return rules.boundaries.allSatisfy { log.sees(epoch.place, $0) }
  }

  /// The operation that gathered the keys of an enrolment.
  ///
  /// A joining device has the keys of the invitation, however much of the log it had read since.
  /// The keys made in between were handed only to others.
  func keysGathered(for enrolment: Int) -> Int {
    guard case .join = log.operation(enrolment) else { return enrolment }
    return LogView.past(enrolment).invite(log.invited[enrolment], in: findings) ?? enrolment
  }
}

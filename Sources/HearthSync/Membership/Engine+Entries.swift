import HearthCRDT
import HearthMembership

// Automatic handling of joins and invitations.
extension Engine {
  /// How long a join may take to reach this device after its invitation expired: 7 days.
  package static var graceMilliseconds: UInt64 { 7 * 24 * 60 * 60 * 1_000 }

  /// The operation that confirms all effective joins that this device may confirm; empty if none is
  /// unconfirmed.
  func confirmations(in group: GroupID, nowMilliseconds: UInt64) -> [ControlOperation] {
    let unconfirmed = membership(of: group).unconfirmed(
      by: device, nowMilliseconds: nowMilliseconds,
      graceMilliseconds: Engine.graceMilliseconds)
    guard !unconfirmed.inTime.isEmpty else { return [] }
    return [.confirm(Array(unconfirmed.inTime.prefix(ControlOperation.maximumItems)))]
  }

  /// Confirms all joins that this device may confirm.
  ///
  /// If one of them is pending, the confirmation admits somebody. It is then performed at once, so
  /// that the keys of this round are made for the person's device and recovery words too.
  ///
  /// - Returns: The operations that are left to perform.
  mutating func confirmed(
    in group: GroupID, nowMilliseconds: UInt64
  ) throws -> [ControlOperation] {
    let confirmations = confirmations(in: group, nowMilliseconds: nowMilliseconds)
    let pending = Set(membership(of: group).waiting.map(\.id))
    let isAdmitting = confirmations.contains { operation in
      guard case .confirm(let entries) = operation else { return false }
      return !pending.isDisjoint(with: entries)
    }
    guard isAdmitting, !Mutant.keysBeforeEntry.isActive else { return confirmations }
    Probe.waitingAdmitted.hit()
    try perform(confirmations, in: group, nowMilliseconds: nowMilliseconds)
    return []
  }

  /// Removes devices whose join by an expired invitation arrived too late by this device's clock.
  ///
  /// The device's own clock decides, because a joiner may claim any time. A delayed person must be
  /// invited again; that person's changes stay in quarantine and can be adopted.
  mutating func turnAwayLate(in group: GroupID, nowMilliseconds: UInt64) throws {
    let membership = membership(of: group)
    let late = membership.unconfirmed(
      by: device, nowMilliseconds: nowMilliseconds,
      graceMilliseconds: Engine.graceMilliseconds
    ).late
    for other in late {
      guard let person = self.membership(of: group).person(of: other),
        self.membership(of: group).isActive(other)
      else { continue }
      let devices = self.membership(of: group).devices.count { $0.person == person.id }
      if devices > 1 || person.id == membership.person(of: device)?.id {
        try revoke(other, from: group, nowMilliseconds: nowMilliseconds)
      } else {
        try remove(person.id, from: group, nowMilliseconds: nowMilliseconds)
      }
    }
  }

  /// Admits a person whose join is pending because of an objection.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package mutating func confirm(
    _ entry: RecordID, in group: GroupID, nowMilliseconds: UInt64
  ) throws {
    guard membership(of: group).waiting.contains(where: { $0.id == entry }) else {
      throw SyncError(.notFound, "there is no such pending joining")
    }
    guard membership(of: group).confirmable(by: device).contains(entry) else {
      throw SyncError(
        .notAllowed, "only an owner or admin who ranks above the role can let somebody in")
    }
    var draft = self
    try store.transaction {
      draft = self
      try draft.perform([.confirm([entry])], in: group, nowMilliseconds: nowMilliseconds)
      try draft.replaceOverEpochs(of: group, nowMilliseconds: nowMilliseconds)
      try draft.heal(in: group, nowMilliseconds: nowMilliseconds)
    }
    self = draft
  }

  /// Closes used-up automatic invitations, and invitations that expired by this device's clock, if
  /// this device may.
  ///
  /// A used-up invitation by approval admits nobody, and the answer notifies each applicant.
  func closings(
    in group: GroupID, _ role: Role, nowMilliseconds: UInt64
  ) -> [ControlOperation] {
    let membership = membership(of: group)
    let own = membership.person(of: device)?.id
    return membership.invites
      .filter { invite in
        !invite.isClosed
          && (invite.usesLeft == 0
            ? invite.operation.admission == .auto
            : invite.operation.expiresMilliseconds < nowMilliseconds)
          && (role.rank >= Role.admin.rank || membership.device(invite.creator)?.person == own)
      }
      .map { .inviteClose(invite: $0.operation.invite) }
  }
}

import HearthCRDT
import HearthMembership

// What becomes of joinings and invitations without anybody asking.
extension Engine {
  /// How long a joining may take from its device to this one after its invitation is over: 7 days.
  package static var graceMilliseconds: UInt64 { 7 * 24 * 60 * 60 * 1_000 }

  /// The operation that makes final what counts and what this device may make final; none where
  /// nothing waits.
  func confirmations(in group: GroupID, nowMilliseconds: UInt64) -> [ControlOperation] {
    let unconfirmed = membership(of: group).unconfirmed(
      by: device, nowMilliseconds: nowMilliseconds,
      graceMilliseconds: Engine.graceMilliseconds)
    guard !unconfirmed.inTime.isEmpty else { return [] }
    return [.confirm(Array(unconfirmed.inTime.prefix(ControlOperation.maximumItems)))]
  }

  /// Removes whoever came by an invitation whose time was over long ago by this device's clock.
  ///
  /// A joiner may claim any time. Who was delayed is invited anew; what they wrote stays in
  /// quarantine, to be adopted.
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

  /// Lets in somebody whose joining waits, as something speaks against it.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package mutating func confirm(
    _ entry: RecordID, in group: GroupID, nowMilliseconds: UInt64
  ) throws {
    guard membership(of: group).waiting.contains(where: { $0.id == entry }) else {
      throw SyncError(.notFound, "no such joining waits")
    }
    guard membership(of: group).confirmable(by: device).contains(entry) else {
      throw SyncError(
        .notAllowed, "only an owner or admin above the role that it gives can let somebody in")
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

  /// Closes invitations that let in at once and are used up, and those whose time is over by this
  /// device's clock, where this device may.
  ///
  /// One by approval that is used up lets in nobody, and whoever waits for its answer is told by
  /// the answer.
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

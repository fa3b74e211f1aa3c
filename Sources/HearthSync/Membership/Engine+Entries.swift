import HearthCRDT
import HearthMembership

// Automatic handling of joins and invitations.
extension Engine {
  /// How long after the expiry of an invitation, by this device's clock, a join by it may still
  /// arrive here and have effect: 7 days.
  ///
  /// Admins may be away while somebody joins in time.
  package static var graceMilliseconds: UInt64 { 7 * 24 * 60 * 60 * 1_000 }

  /// The operation that confirms all effective joins that this device may confirm; empty if none is
  /// unconfirmed.
  ///
  /// It confirms no pending join: that takes a person.
  func confirmations(in group: GroupID) -> [ControlOperation] {
    let unconfirmed = membership(of: group).entries.unconfirmed(by: device)
    guard !unconfirmed.isEmpty else { return [] }
    return [.confirm(Array(unconfirmed.prefix(ControlLimits.maximumItems)))]
  }

  /// Closes automatic invitations that expired longer ago than the grace, before this device learns
  /// who joined by them.
  ///
  /// A joiner may claim any time, so this device's own clock decides. A close speaks only against
  /// joins that it had not seen. Made before anything new is read, it lets every later join wait
  /// for a person's approval, and leaves confirmed joins alone.
  mutating func closeLongExpired(before id: ZoneID, nowMilliseconds: UInt64) throws {
    let zone = try zone(id)
    guard zone.kind == .control, nowMilliseconds > Engine.graceMilliseconds else { return }
    let closings = closable(in: zone.group)
      .filter {
        $0.operation.admission == .auto
          && $0.operation.expiresMilliseconds < nowMilliseconds - Engine.graceMilliseconds
      }
      .map { ControlOperation.inviteClose(invite: $0.operation.invite) }
    Probe.closedBeforeReading.hit(if: !closings.isEmpty)
    try perform(closings, in: zone.group, nowMilliseconds: nowMilliseconds)
  }

  /// Admits a person whose join is pending because of an objection.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package mutating func confirm(
    _ entry: RecordID, in group: GroupID, nowMilliseconds: UInt64
  ) throws {
    guard membership(of: group).entries.waiting.contains(where: { $0.id == entry }) else {
      throw SyncError(.notFound, "there is no such pending joining")
    }
    guard membership(of: group).entries.confirmable(by: device).contains(entry) else {
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

  /// Closes used-up automatic invitations, and all invitations that expired by this device's clock,
  /// if this device may.
  ///
  /// Nobody can be approved after the expiry, so nobody who asked by then loses anything.
  func closings(in group: GroupID, nowMilliseconds: UInt64) -> [ControlOperation] {
    closable(in: group)
      .filter { invite in
        guard invite.usesLeft == 0 else {
          return invite.operation.expiresMilliseconds < nowMilliseconds
        }
        return !invite.isClosed
          && (invite.operation.admission == .auto
            || invite.operation.expiresMilliseconds < nowMilliseconds)
      }
      .map { .inviteClose(invite: $0.operation.invite) }
  }

  /// The closed invitations whose bundles this device removes from transports, in order of time.
  package func closedInvites(in group: GroupID) -> [Identifier] {
    managed(in: group).filter(\.isClosed).map(\.operation.invite)
  }

  /// The invitations for this device to close.
  ///
  /// Those that somebody has closed are among them if only this device's rank ends them.
  private func closable(in group: GroupID) -> [InvitationRecord] {
    let membership = membership(of: group)
    let rank = membership.role(of: device)?.rank ?? 0
    let own = membership.person(of: device)?.id
    return managed(in: group).filter { invite in
      let isOwn = membership.device(invite.creator)?.person == own
      return !invite.isClosed || !invite.isEnded && (isOwn || rank > invite.rank)
    }
  }

  /// The invitations that this device may close: an owner or admin all, others their own.
  private func managed(in group: GroupID) -> [InvitationRecord] {
    let membership = membership(of: group)
    guard let role = membership.role(of: device) else { return [] }
    let own = membership.person(of: device)?.id
    return membership.invites.filter {
      role.rank >= Role.admin.rank || membership.device($0.creator)?.person == own
    }
  }
}

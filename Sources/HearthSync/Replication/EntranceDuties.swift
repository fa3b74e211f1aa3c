import HearthCRDT
import HearthMembership

/// Which joins this device should confirm, and which invitations it should close.
package struct EntranceDuties<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The operation that confirms all effective joins that this device may confirm; empty if none is
  /// unconfirmed.
  ///
  /// It confirms no pending join: that takes a person.
  func confirmations(in group: GroupID) -> [ControlOperation] {
    let unconfirmed = engine.membership(of: group).entries.unconfirmed(by: engine.device)
    guard !unconfirmed.isEmpty else { return [] }
    return [.confirm(Array(unconfirmed.prefix(ControlLimits.maximumItems)))]
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
  func closable(in group: GroupID) -> [InvitationRecord] {
    let membership = engine.membership(of: group)
    let rank = membership.role(of: engine.device)?.rank ?? 0
    let own = membership.person(of: engine.device)?.id
    return managed(in: group).filter { invite in
      let isOwn = membership.device(invite.creator)?.person == own
      return !invite.isClosed || !invite.isEnded && (isOwn || rank > invite.rank)
    }
  }

  /// The invitations that this device may close: an owner or admin all, others their own.
  private func managed(in group: GroupID) -> [InvitationRecord] {
    let membership = engine.membership(of: group)
    guard let role = membership.role(of: engine.device) else { return [] }
    let own = membership.person(of: engine.device)?.id
    return membership.invites.filter {
      role.rank >= Role.admin.rank || membership.device($0.creator)?.person == own
    }
  }
}

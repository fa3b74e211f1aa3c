import HearthMembership

/// The lifetime of an invitation.
public struct InvitationLifetime: Sendable {
  let milliseconds: UInt64

  /// A number of days.
  public static func days(_ days: UInt32) -> InvitationLifetime {
    InvitationLifetime(milliseconds: UInt64(days) * 86_400_000)
  }

  /// A number of hours.
  public static func hours(_ hours: UInt32) -> InvitationLifetime {
    InvitationLifetime(milliseconds: UInt64(hours) * 3_600_000)
  }
}

extension HearthZone {
  /// Creates an invitation and returns its link; anybody with the link can join.
  ///
  /// - Throws: `offline` if the node has no transport that could carry it.
  public func invite(
    role: ZoneRole = .member, uses: Int = 1, expires: InvitationLifetime = .days(7)
  ) async throws(HearthError) -> String {
    try await Hearth.reported {
      try await node.invitations.create(
        to: zone, role: role.role, maximumUses: uses, expiresInMilliseconds: expires.milliseconds
      ).text
    }
  }

  /// Creates an invitation for one further device of this node's person, to a shared zone and to
  /// the person's private database.
  ///
  /// The new device's own private database is merged into this one's. Zones that a program has from
  /// that database are replaced: read ``HearthNode/personal`` again.
  public func inviteOwnDevice(
    expires: InvitationLifetime = .hours(1)
  ) async throws(HearthError) -> String {
    try await Hearth.reported {
      try await node.invitations.create(
        to: zone,
        InvitationTerms(
          role: .member, isToOneself: true, maximumUses: 1,
          expiresInMilliseconds: expires.milliseconds)
      ).text
    }
  }
}

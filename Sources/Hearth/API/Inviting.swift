import HearthCRDT
import HearthMembership
import HearthSync

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
  /// Creates an invitation and returns its link; anybody with the link can join, or ask to join.
  ///
  /// - Parameters:
  ///   - role: what those who join by it may do.
  ///   - uses: how many devices may use it.
  ///   - expires: how long it can be used.
  ///   - approval: whether the link only lets people ask, and an owner or admin approves each:
  ///     see ``joinRequests()``. The link contains no keys then.
  /// - Throws: `offline` if the node has no transport that could carry it, or one cannot be
  ///   reached; `notAllowed`.
  public func invite(
    role: ZoneRole = .member, uses: Int = 1, expires: InvitationLifetime = .days(7),
    approval: Bool = false
  ) async throws(HearthError) -> String {
    try await Hearth.reported {
      try await node.invitations.create(
        to: zone,
        InvitationTerms(
          role: role.role, needsApproval: approval, maximumUses: uses,
          expiresInMilliseconds: expires.milliseconds)
      ).text
    }
  }

  /// Creates an invitation for one further device of this node's person, to a shared zone and to
  /// the person's private database.
  ///
  /// The new device's own private database is merged into this one's. Zones that a program has from
  /// that database are replaced: read ``HearthNode/personal`` again.
  ///
  /// - Throws: `offline` if the node has no transport that could carry both, or one cannot be
  ///   reached.
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

  /// Returns the zone's invitations, the oldest first, with those that are over.
  public func invitations() async throws(HearthError) -> [ZoneInvitation] {
    try await Hearth.reported {
      try await node.working { core in
        let membership = core.membership(of: try core.engine.zone(zone).group)
        return membership.invites.map {
          ZoneInvitation($0, in: membership, nowMilliseconds: core.now())
        }
      }
    }
  }

  /// Closes an invitation, so that nobody can join by it any more; people who have joined stay.
  ///
  /// If its link contained keys, the zone gets new ones. It exchanges with the others before and
  /// after, as far as they can be reached.
  ///
  /// - Throws: `notFound` if there is no such invitation; `notAllowed` if others made it and this
  ///   person is no owner or admin.
  public func close(_ invitation: Key<ZoneInvitation>) async throws(HearthError) {
    try await Hearth.reported {
      let (group, isKnown) = try await node.working { core in
        let group = try core.engine.zone(zone).group
        return (
          group,
          core.membership(of: group).invites.contains {
            $0.operation.invite == invitation.identifier
          }
        )
      }
      guard isKnown else { throw HearthError(.notFound, "there is no such invitation") }
      try await exchanging {
        try await node.invitations.close(invitation.identifier, of: group)
      }
    }
  }

  // MARK: Requests to join

  /// Returns the requests to join, in order of name; only owners and admins see requests.
  ///
  /// It looks at the zone's transports, where the requests lie. In the private database it returns
  /// the person's own further devices that ask.
  public func joinRequests() async throws(HearthError) -> [ZoneJoinRequest] {
    try await Hearth.reported {
      let group = try await node.working { try $0.engine.zone(zone).group }
      return try await node.admissions.waiting(of: group).map { ZoneJoinRequest(waiting: $0) }
    }
  }

  /// Admits the person who asked, and stores the answer where their device finds it.
  ///
  /// - Throws: `notAllowed` if this person may not, or if the invitation was used up or closed;
  ///   `invalid` if the request is for another zone.
  public func approve(_ request: ZoneJoinRequest) async throws(HearthError) {
    try await Hearth.reported {
      try await requireOwn(request)
      _ = try await node.admissions.approve(request.waiting, named: name)
    }
  }

  /// Refuses a request by closing its invitation; the person who asked learns of it with the next
  /// sync.
  ///
  /// It refuses all requests by that invitation.
  ///
  /// - Throws: `invalid` if the request is for another zone; as ``close(_:)`` otherwise.
  public func decline(_ request: ZoneJoinRequest) async throws(HearthError) {
    try await Hearth.reported { try await requireOwn(request) }
    try await close(request.invitation)
  }

  private func requireOwn(_ request: ZoneJoinRequest) async throws {
    let group = try await node.working { try $0.engine.zone(zone).group }
    guard request.waiting.request.group == group else {
      throw HearthError(.invalid, "the request is for another zone")
    }
  }
}

extension HearthNode {
  /// Follows an invitation's link: joins a shared zone, or asks to join it.
  ///
  /// - Parameters:
  ///   - link: the result of ``HearthZone/invite(role:uses:expires:approval:)``.
  ///   - place: the shared folder on this device, or a relay's address, if it differs from the
  ///     link's.
  /// - Throws: `otherApplication` if the zone belongs to another application; `used`; `expired`;
  ///   `notFound` if the link's folder or relay does not have the invitation any more; `offline` if
  ///   it cannot be reached; `invalid` for other text.
  public func join(
    _ link: String, folder place: String? = nil
  ) async throws(HearthError) -> JoinResult {
    try await reported {
      switch try await node.invitations.follow(try InvitationLink(text: link), at: place) {
      case .joined(let zone): return .joined(await self.zone(zone))
      case .asked(let pending): return .awaitingApproval(AwaitedApproval(pending))
      }
    }
  }

  /// Returns the requests of this node that are not answered yet.
  ///
  /// Each sync looks for answers; ``SyncResult/joined`` has the zones of those that were approved.
  public func awaitedApprovals() async throws(HearthError) -> [AwaitedApproval] {
    try await reported {
      try await node.working { try $0.pending.joins().map { AwaitedApproval($0) } }
    }
  }

  /// A zone with its present name.
  func zone(_ zone: ZoneID) async -> HearthZone {
    let name = await node.dataZones().first { $0.id == zone }?.name ?? ""
    return HearthZone(node: node, zone: zone, name: name)
  }
}

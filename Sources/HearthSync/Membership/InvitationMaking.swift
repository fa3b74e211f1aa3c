import HearthCRDT
import HearthCrypto
import HearthMembership

/// An invitation for the person who made it.
package struct MadeInvitation: Sendable {
  /// The secret that the link contains.
  package let secret: InviteSecret
  /// The bundle's name on transports.
  package let capsuleName: BlobName
  /// The sealed bundle to publish.
  package let capsule: [UInt8]
}

/// Making of invitations.
package enum InvitationMaking {
  /// Makes an invitation to a group.
  ///
  /// - Parameters:
  ///   - chosen: The secret, if it derives from another one.
  ///   - companion: The sealed bundle of the invitation to the person's private database.
  package static func invite(
    to group: GroupID, named groupName: String, role: Role,
    admission: ControlOperation.Admission = .auto, person: PersonID? = nil, maximumUses: Int,
    expiresMilliseconds: UInt64, in engine: inout Engine<some Store>, nowMilliseconds: UInt64,
    secret chosen: InviteSecret? = nil,
    companion: [UInt8] = []
  ) throws -> MadeInvitation {
    let membership = engine.membership(of: group)
    try requireRight(of: engine.device, toInvite: person, as: role, in: membership)
    guard (1...1_000).contains(maximumUses) else {
      throw SyncError(.invalidOperation, "an invitation can be for 1 to 1000 people")
    }
    guard companion.count <= InvitationCapsule.maximumCompanionBytes else {
      throw SyncError(
        .tooLarge,
        "the private database has more keys than an invitation can carry: invite without it")
    }
    let secret = try chosen ?? InviteSecret.random()
    let creation = ControlOperation.inviteCreate(
      ControlOperation.InviteCreate(
        invite: try Identifier(checking: secret.publicKeys.inviteID),
        signKey: secret.publicKeys.signingKey.bytes, boxKey: secret.publicKeys.boxKey.bytes,
        admission: admission, role: role, person: person, maximumUses: maximumUses,
        expiresMilliseconds: expiresMilliseconds))
    if admission == .auto {
      try HistoryBoundary.performEntrance(
        creation, of: person, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
    } else {
      try GroupOperations.perform(
        [creation], in: group, by: &engine, nowMilliseconds: nowMilliseconds)
    }
    let grants =
      admission == .auto
      ? try NewcomerKeys(engine: engine).zoneGrants(
        of: group, to: secret.publicKeys.boxKey, for: person) : []
    var capsule = InvitationCapsule(
      group: group, database: try engine.controlZone(of: group).database, groupName: groupName,
      inviterName: membership.person(of: engine.device)?.name ?? "", role: role,
      expiresMilliseconds: expiresMilliseconds, zones: grants,
      controlFrontier: try engine.controlZone(of: group).frontier)
    capsule.person = person
    capsule.companion = companion
    capsule.application = engine.application
    if admission == .approve { capsule.inbox = try inbox(of: group, in: engine) }
    return MadeInvitation(
      secret: secret,
      capsuleName: .bundle(of: try Identifier(checking: secret.publicKeys.inviteID)),
      capsule: try capsule.sealed(for: secret))
  }

  /// Refuses an invitation that a device may not make.
  private static func requireRight(
    of device: DeviceID, toInvite person: PersonID?, as role: Role, in membership: Membership
  ) throws {
    let isToOneself = person != nil && person == membership.person(of: device)?.id
    guard let own = membership.role(of: device), isToOneself || own.rank >= Role.admin.rank
    else {
      throw SyncError(.notAllowed, "only an owner or admin can invite: ask one of them")
    }
    guard role.rank < own.rank || isToOneself else {
      throw SyncError(
        .notAllowed, "as \(own.name) you can invite only to lower roles, not a \(role.name)")
    }
  }

  /// Where those who follow the link send their requests.
  private static func inbox(
    of group: GroupID, in engine: Engine<some Store>
  ) throws -> InvitationCapsule.Inbox {
    guard let epoch = try engine.controlZone(of: group).currentEpoch else {
      throw SyncError(.corrupt, "the key of the members' log is missing: run `hearth doctor`")
    }
    return .init(epoch: epoch.tag, boxKey: try epoch.inbox().publicKey.bytes)
  }
}

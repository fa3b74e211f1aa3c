import HearthCRDT
import HearthCrypto
import HearthMembership

/// Joining of a group by an invitation that admits at once.
package enum JoiningByInvitation {
  /// Opens a bundle and adds its zones, so that the group's log can be fetched.
  ///
  /// - Throws: `otherApplication` by the bundle's word; `expired` by this device's clock; `exists`
  ///   if the node is in the group already.
  package static func begin(
    _ capsule: [UInt8], with secret: InviteSecret, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> InvitationCapsule {
    let opened = try InvitationCapsule(opening: capsule, with: secret)
    try ApplicationCheck.requireOwn(opened, in: engine)
    if let role = engine.membership(of: opened.group).role(of: engine.device) {
      throw SyncError(
        .exists,
        "this device already belongs to \(opened.groupName), as \(role.name), as far as it knows: "
          + "if somebody has removed it, sync first")
    }
    guard nowMilliseconds <= opened.expiresMilliseconds else {
      throw SyncError(
        .expired, "this invitation has expired: ask \(opened.inviterName) for a new one")
    }
    try ReceivedGrants.take(
      opened.zones, of: opened.group, opened.database, with: secret.boxPair,
      knowing: opened.controlFrontier, in: &engine)
    return opened
  }

  /// Joins the group, once its control log is on this node.
  ///
  /// The call does nothing if the log already has this device in the group, as after the restore of
  /// a backup from before the join.
  ///
  /// - Throws: `otherApplication` by the group's founding; `used` if the invitation was closed or
  ///   has no uses left; `notFound` if the log lacks it so far.
  package static func finish(
    _ capsule: InvitationCapsule, with secret: InviteSecret, person: PersonID, personName: String,
    deviceName: String, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let membership = engine.membership(of: capsule.group)
    guard try engine.controlZone(of: capsule.group).reached.covers(capsule.controlFrontier) else {
      throw SyncError(
        .notFound,
        "the folder still lacks files that \(capsule.inviterName) had when inviting: "
          + "wait until they have arrived, then join again")
    }
    try ApplicationCheck.requireOwnFounding(of: capsule.group, in: engine)
    if membership.isActive(engine.device) {
      Probe.joinedAlready.hit()
      return
    }
    let id = try Identifier(checking: secret.publicKeys.inviteID)
    guard let invite = membership.invites.first(where: { $0.operation.invite == id }) else {
      throw SyncError(.notFound, "the household's log does not hold this invitation")
    }
    let users = invite.joins.compactMap { membership.person($0)?.name }
    if invite.isClosed, invite.usesLeft > 0 || users.isEmpty {
      throw SyncError(
        .used, "this invitation was closed: ask \(capsule.inviterName) for a new one")
    }
    if let closer = try ClosedInvitations(engine: engine).closer(of: id, in: capsule.group) {
      throw SyncError(
        .used,
        "\(closer) closed this invitation: ask \(capsule.inviterName) for a new one")
    }
    guard invite.usesLeft > 0 else {
      let times =
        invite.operation.maximumUses == 1 ? "once" : "\(invite.operation.maximumUses) times"
      throw SyncError(
        .used,
        "this invitation could be used \(times), and \(users.joined(separator: ", ")) used it: ask "
          + "\(capsule.inviterName) for a new one")
    }
    var join = ControlOperation.Join(
      invite: id, person: person, personName: personName,
      device: OwnCards(engine: engine).card(named: deviceName),
      proof: [])
    join.proof = secret.sign(ControlSignature.joinHash(of: join, group: capsule.group))
    try GroupOperations.perform(
      [.join(join)], in: capsule.group, by: &engine, nowMilliseconds: nowMilliseconds)
  }
}

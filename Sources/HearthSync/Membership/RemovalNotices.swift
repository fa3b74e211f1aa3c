import HearthCRDT
import HearthCrypto
import HearthMembership

/// Removal notices for people who have a closed invitation link and no current key.
package enum RemovalNotices {
  /// The name of the notice that informs applicants of a closed invitation.
  package static func name(of invite: Identifier) -> BlobName {
    BlobName(kind: .capsule, scope: derivedIdentifier("HRTH/invite-closed/v1", invite.bytes))
  }

  /// The notices that inform applicants of closed invitations, sealed to the links' holders.
  ///
  /// An applicant has no key of the group and cannot read its log. A notice proves nothing, since
  /// anyone who knows the invitation's keys could have made it: it ends a wait, and nothing else.
  ///
  /// - Returns: One notice for each closed, unexpired invitation by approval; empty if the device
  ///   is not in the group.
  package static func notices(
    in group: GroupID, by engine: Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> [(
    invite: ControlOperation.InviteCreate, name: BlobName, bytes: () throws -> [UInt8]
  )] {
    let membership = engine.membership(of: group)
    guard let name = membership.person(of: engine.device)?.name, membership.isActive(engine.device)
    else {
      return []
    }
    return membership.invites
      .filter {
        $0.isClosed && $0.operation.admission == .approve
          && $0.operation.expiresMilliseconds >= nowMilliseconds
      }
      .map { invite in
        (
          invite.operation, Self.name(of: invite.operation.invite),
          {
            try SealedBox.seal(
              invite.operation.invite.bytes + Array(name.utf8),
              to: BoxPublicKey(validating: invite.operation.boxKey))
          }
        )
      }
  }

  /// The name of the person who reported that an invitation was closed; nil if the bytes are no
  /// such notice.
  package static func teller(ofFarewell bytes: [UInt8], to secret: InviteSecret) -> String? {
    guard bytes.count <= ControlLimits.maximumNameBytes + 64,
      let body = try? SealedBox.open(bytes, with: secret.boxPair),
      body.starts(with: secret.publicKeys.inviteID)
    else { return nil }
    return String(validating: body.dropFirst(secret.publicKeys.inviteID.count), as: UTF8.self)
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership

// Removal notices for people who have a closed invitation link and no current key.
extension Engine {
  /// Writes closings of invitations where the holders of the link can read them.
  ///
  /// If keys were replaced since, a closing is sealed under the key that the invitation carried.
  /// Its holders have the group's log only up to the replacement. Without the notice, they would
  /// join and wait forever for keys that nobody hands to them. One change serves all closings under
  /// one key, so that a person's many links cost hardly more than one.
  ///
  /// - Returns: The remaining operations, including closings of invitations with the current key.
  mutating func writeClosings(
    among operations: [ControlOperation], in group: GroupID, nowMilliseconds: UInt64
  ) throws -> [ControlOperation] {
    var rest: [ControlOperation] = []
    var earlier: [(epoch: [UInt8], closings: [ControlOperation])] = []
    let control = try controlZone(of: group)
    for operation in operations {
      guard case .inviteClose(let invite) = operation,
        let epoch = membership(of: group).keys.controlEpoch(
          of: invite, in: control.id, held: control.heldEpochs),
        epoch != control.currentEpoch?.id
      else {
        rest.append(operation)
        continue
      }
      if let place = earlier.firstIndex(where: { $0.epoch == epoch }) {
        earlier[place].closings.append(operation)
      } else {
        earlier.append((epoch, [operation]))
      }
    }
    for (epoch, closings) in earlier {
      let control = try controlZone(of: group)
      for author in control.heads.map(\.author) where author.device == device {
        _ = try sealChanges(of: author, in: control)
      }
      _ = try writeControl(closings, group: group, nowMilliseconds: nowMilliseconds)
      var told = try controlZone(of: group)
      told.writeEpoch = epoch
      _ = try sealChanges(of: author, in: told)
    }
    return rest
  }

  /// The name of the person who closed an invitation, according to pending segments; nil if nobody
  /// did.
  ///
  /// A pending closing counts only if this device considers its signer entitled to close the
  /// invitation.
  func closer(of invite: Identifier, in group: GroupID) throws -> String? {
    let membership = membership(of: group)
    let control = try controlZone(of: group)
    guard let made = membership.invites.first(where: { $0.operation.invite == invite }) else {
      return nil
    }
    let opener = SegmentOpener(zone: control, membership: membership)
    for segment in try store.pending.segments(in: control.id) {
      guard case .opened(let opened)? = try? opener.open(segment.bytes),
        let person = membership.person(of: opened.author.device),
        membership.isActive(opened.author.device),
        person.role.rank >= Role.admin.rank
          || person.id == membership.person(of: made.creator)?.id
      else { continue }
      let operations = opened.changes.flatMap(\.controlOperations)
      if operations.contains(.inviteClose(invite: invite)) { return person.name }
    }
    return nil
  }

  /// Why this device is not in a group that it joined, in words; nil if it is, or never was.
  ///
  /// A device that considers itself a member may lack the others' changes: a pending closing of its
  /// invitation is evidence against it.
  package func entryRefusal(to group: GroupID) -> String? {
    let membership = membership(of: group)
    if let entry = membership.entries.entry(of: device) {
      guard case .join(let join) = entry,
        let closer = (try? closer(of: join.invite, in: group)) ?? nil
      else { return nil }
      return "\(closer) closed the invitation"
    }
    let void = membership.voided.last { void in
      guard case .join = void.operation else { return false }
      return void.version.dot.author.device == device
    }
    return membership.device(device) == nil ? void.map { membership.words(for: $0) } : nil
  }

  /// The name of the notice that informs applicants of a closed invitation.
  package static func farewellName(of invite: Identifier) -> BlobName {
    BlobName(kind: .capsule, scope: derivedIdentifier("HRTH/invite-closed/v1", invite.bytes))
  }

  /// The notices that inform applicants of closed invitations, sealed to the links' holders.
  ///
  /// An applicant has no key of the group and cannot read its log. A notice proves nothing, since
  /// anyone who knows the invitation's keys could have made it: it ends a wait, and nothing else.
  ///
  /// - Returns: One notice for each closed, unexpired invitation by approval; empty if the device
  ///   is not in the group.
  package func farewells(
    in group: GroupID, nowMilliseconds: UInt64
  ) throws -> [(
    invite: ControlOperation.InviteCreate, name: BlobName, bytes: () throws -> [UInt8]
  )] {
    let membership = membership(of: group)
    guard let name = membership.person(of: device)?.name, membership.isActive(device) else {
      return []
    }
    return membership.invites
      .filter {
        $0.isClosed && $0.operation.admission == .approve
          && $0.operation.expiresMilliseconds >= nowMilliseconds
      }
      .map { invite in
        (
          invite.operation, Engine.farewellName(of: invite.operation.invite),
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

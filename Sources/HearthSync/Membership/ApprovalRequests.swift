import HearthCRDT
import HearthCrypto
import HearthMembership

/// Requests to join by approval.
///
/// The newcomer asks and any device of an admin answers; neither has to be online at the same time.
package struct ApprovalRequests<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// Makes a request to join, sealed to the group and signed by the invitation and by this device.
  ///
  /// - Parameter slot: The request's slot of the invitation, from 0.
  package func requestToJoin(
    _ capsule: InvitationCapsule, with secret: InviteSecret, person: PersonID, personName: String,
    deviceName: String, slot: Int
  ) throws -> SentRequest {
    guard let inbox = capsule.inbox else {
      throw SyncError(.invalidOperation, "this invitation admits at once: there is nobody to ask")
    }
    let id = try Identifier(checking: secret.publicKeys.inviteID)
    var join = ControlOperation.Join(
      invite: id, person: person, personName: personName,
      device: OwnCards(engine: engine).card(named: deviceName),
      proof: [])
    let hash = ControlSignature.joinHash(of: join, group: capsule.group)
    join.proof = secret.sign(hash)
    var writer = ByteWriter()
    ControlOperation.Admit(
      join: join, possession: engine.identity.sign(domain: ControlSignature.possessionDomain, hash)
    ).encode(into: &writer)
    var sealed = ByteWriter()
    sealed.raw(inbox.epoch.array)
    sealed.raw(try SealedBox.seal(writer.bytes, to: BoxPublicKey(validating: inbox.boxKey)))
    return SentRequest(
      blob: NamedBlob(name: ApprovalNames.requestName(of: id, slot: slot), bytes: sealed.bytes),
      hash: hash)
  }

  /// Opens a request to a group; the bytes come from a transport and are not trusted.
  ///
  /// Any current admin can open it, including one who was unknown when the invitation was made.
  ///
  /// - Throws: `notAllowed` if this device may not admit anybody, or lacks the group's key from the
  ///   time of the invitation; `notAuthentic` if a signature is invalid; `malformed`; `exists` if
  ///   the device is in the group already.
  package func open(request bytes: [UInt8], to group: GroupID) throws -> JoinRequest {
    let admit: ControlOperation.Admit
    do {
      var inside = ByteReader(try body(ofRequest: bytes, to: group))
      admit = try ControlOperation.Admit(from: &inside)
      try inside.finish()
    } catch let error as CodecError {
      throw SyncError(.malformed, "the request is malformed: \(error)", cause: error)
    }
    let membership = engine.membership(of: group)
    guard let invite = membership.invites.first(where: { $0.operation.invite == admit.join.invite })
    else { throw SyncError(.notFound, "the group's log does not hold this invitation") }
    guard let device = ControlIdentity.deviceID(of: admit.join.device) else {
      throw SyncError(.notAuthentic, "the request contains invalid keys")
    }
    guard !membership.isActive(device) else {
      throw SyncError(.exists, "\(admit.join.device.name) is already in the group")
    }
    var proofs = ProofBook()
    let hash = ControlSignature.joinHash(of: admit.join, group: group)
    let possession = ProofBook.Claim(
      domain: ControlSignature.possessionDomain, sign: admit.join.device.signKey, box: [],
      message: hash,
      signature: admit.possession)
    guard proofs.isProven(admit.join, by: invite.operation, group: group),
      proofs.holds(possession)
    else { throw SyncError(.notAuthentic, "a signature in the request is invalid") }
    return JoinRequest(group: group, admit: admit, device: device)
  }

  private func body(ofRequest bytes: [UInt8], to group: GroupID) throws -> [UInt8] {
    var reader = ByteReader(bytes)
    let tag = Bytes16(exactly: try reader.raw(Bytes16.count, "request epoch"))
    guard bytes.count <= Self.maximumRequestBytes else {
      throw CodecError(.beyondLimit, "request", offset: reader.offset)
    }
    let box = try reader.raw(bytes.count - Bytes16.count, "sealed request")
    try reader.finish()
    guard engine.membership(of: group).isActive(engine.device),
      let own = engine.membership(of: group).person(of: engine.device),
      own.role.rank >= Role.admin.rank
    else {
      throw SyncError(.notAllowed, "only an owner or admin can let somebody in: ask one of them")
    }
    guard let epoch = try engine.controlZone(of: group).epoch(tag: tag) else {
      throw SyncError(.notAllowed, "this request uses a key of the group that this device lacks")
    }
    do {
      return try SealedBox.open(box, with: epoch.inbox())
    } catch let error as CryptoError {
      throw SyncError(
        .notAuthentic, "the request is damaged, or for another group: \(error)", cause: error)
    }
  }

  /// The longest request, in bytes; it contains names and keys.
  private static var maximumRequestBytes: Int { 4_096 }

  /// The open invitations by approval to close once nobody waits for an answer by them: they are
  /// used up, or somebody who joined by them was removed.
  ///
  /// A newcomer who has not written anything since the approval still looks for the answer, and
  /// must not find a note about the closing instead.
  ///
  /// - Returns: Nothing if this device's person is neither owner nor admin.
  package func settledInvites(in group: GroupID) -> [ControlOperation.InviteCreate] {
    let membership = engine.membership(of: group)
    guard membership.role(of: engine.device)?.rank ?? 0 >= Role.admin.rank else { return [] }
    return membership.invites.filter { invite in
      !invite.isClosed && invite.operation.admission == .approve
        && (invite.usesLeft == 0 || invite.hasRemovedUser)
        && approvals(by: invite.operation.invite, in: membership).allSatisfy { approval in
          !membership.isActive(approval.device) || hasSeen(approval.dot, approval.device, in: group)
        }
    }.map(\.operation)
  }

  /// Whether the author of a request waits for an answer, as far as this device can tell; the bytes
  /// come from a transport and are not trusted.
  package func isUnanswered(
    request bytes: [UInt8], by invite: Identifier, in group: GroupID
  ) -> Bool {
    do {
      let request = try open(request: bytes, to: group)
      return request.invite == invite
        && !approvals(by: invite, in: engine.membership(of: group)).contains {
          $0.device == request.device
        }
    } catch let error as SyncError {
      // The request may use a key that this device lacks.
      return error.code == .notAllowed
    } catch {
      return false
    }
  }

  /// The effective approvals by an invitation, each with the device that it admitted.
  private func approvals(
    by invite: Identifier, in membership: Membership
  ) -> [(dot: Dot, device: DeviceID)] {
    let void = Set(membership.voided.map(\.id))
    return membership.items.compactMap { item in
      guard case .admit(let admit) = item.operation, admit.join.invite == invite,
        !void.contains(item.id), let device = ControlIdentity.deviceID(of: admit.join.device)
      else { return nil }
      return (item.version.dot, device)
    }
  }

  /// Whether a device has written something with an operation of the control zone in its past.
  private func hasSeen(_ dot: Dot, _ other: DeviceID, in group: GroupID) -> Bool {
    engine.zones.contains { zone in
      zone.group == group
        && zone.heads.contains { head in
          head.author.device == other
            && (zone.kind == .control ? head.seen : head.controlSeen).covers(dot)
        }
    }
  }

  /// Whether this device belongs to a group by an admission through an invitation.
  ///
  /// A device that asked and then joined in another manner belongs to the group too. If that other
  /// membership ends, the device lacks the keys of its answer. Only the admission in the log
  /// therefore proves that the answer is no longer needed.
  package func isAdmitted(to group: GroupID, by invite: Identifier) -> Bool {
    engine.membership(of: group).entries.isAdmitted(engine.device, by: invite)
  }

  /// The device whose approval currently admits another device; nil if none does, or if that device
  /// joined by itself.
  ///
  /// All answers to one device share one name. An overruled approver must stay silent; otherwise it
  /// would keep replacing the effective answer with its own outdated keys.
  package func approver(of other: DeviceID, in group: GroupID) -> DeviceID? {
    if Mutant.putsOldAnswersBack.isActive { return engine.device }
    return engine.membership(of: group).entries.approver(of: other)
  }
}

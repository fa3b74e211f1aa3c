import HearthCRDT
import HearthCrypto
import HearthMembership

// People's operations on a group: each call is one transaction of the control zone, or has no
// effect.
extension Engine {
  /// Writes membership operations and verifies that they have effect.
  ///
  /// - Returns: The ids of their events.
  /// - Throws: `notAllowed` with the reason in words if one of the operations is void. Nothing is
  ///   then written.
  @discardableResult
  mutating func perform(
    _ operations: [ControlOperation], in group: GroupID, nowMilliseconds: UInt64
  ) throws -> [RecordID] {
    guard !operations.isEmpty else { return [] }
    // A device that joins by this very change cannot write anything before it.
    let isBeginning = operations.contains { $0.phase == 0 }
    var draft = self
    var ids: [RecordID] = []
    try store.transaction {
      draft = self
      if !operations.contains(where: { $0.kind == 2 }) {
        try draft.replaceOverEpochs(of: group, nowMilliseconds: nowMilliseconds)
      }
      let operations =
        isBeginning
        ? operations
        : try draft.writeClosings(
          among: operations, in: group, nowMilliseconds: nowMilliseconds)
      guard !operations.isEmpty else { return }
      let all = operations + draft.confirmations(beside: operations, in: group)
      let control = try draft.controlZone(of: group).id
      let dot = try draft.nextDot(in: control)
      ids = operations.indices.map {
        eventID(in: control, type: ControlOperation.type, dot: dot, index: $0)
      }
      _ = try draft.writeControl(all, group: group, nowMilliseconds: nowMilliseconds)
      let membership = draft.membership(of: group)
      if let void = membership.voided.first(where: { ids.contains($0.id) }) {
        throw SyncError(.notAllowed, membership.words(for: void))
      }
    }
    self = draft
    return ids
  }

  /// The confirmations that accompany operations of an owner or admin, who has seen the joins by
  /// now.
  private func confirmations(
    beside operations: [ControlOperation], in group: GroupID
  ) -> [ControlOperation] {
    let isApart = operations.contains { operation in
      switch operation {
      case .inviteCreate, .inviteClose, .setRole, .transferOwner, .setPolicy, .admit: false
      default: operation.kind != 2
      }
    }
    let rank = membership(of: group).role(of: device)?.rank ?? 0
    guard !isApart, rank >= Role.admin.rank else { return [] }
    return confirmations(in: group)
  }

  /// Removes a person, revoking the access of the person's devices.
  ///
  /// Changes of those devices beyond this node's applied ones are void everywhere. The same
  /// transaction makes new keys for the remaining members, and closes the person's open
  /// invitations.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package mutating func remove(
    _ person: PersonID, from group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: group)
    guard membership.people.contains(where: { $0.id == person }) else {
      throw SyncError(.notFound, "there is no such person in the group")
    }
    let devices = Set(membership.devices.filter { $0.person == person }.map(\.id))
    let closings = closings(in: group) {
      membership.device($0.creator)?.person == person
        || $0.operation.admission == .auto && $0.joins.contains(person)
    }
    let removal = ControlOperation.removeMember(
      .init(person: person, cut: cut(of: logs(of: person, in: membership), in: group)))
    let keys =
      Mutant.rotatesAfterWrite.isActive
      ? [] : try grants(of: zoneIDs(of: group), in: group, without: devices)
    try perform([removal] + closings + keys, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Revokes a lost, stolen or sold device; its person stays.
  ///
  /// Invitations made on the device are closed. The same transaction makes new keys, unless this
  /// device's person is a reader. In that case, the next writer makes them before anything more is
  /// written.
  ///
  /// - Throws: `notFound`, `notAllowed`; `invalidOperation` for this very device, which leaves or
  ///   is revoked by another device.
  package mutating func revoke(
    _ device: DeviceID, from group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: group)
    guard membership.isActive(device) else {
      throw SyncError(.notFound, "there is no such device in the group")
    }
    guard device != self.device else {
      throw SyncError(
        .invalidOperation, "a device cannot revoke itself: use another one of yours, or leave")
    }
    let revocation = ControlOperation.revokeDevice(
      .init(device: device, cut: cut(of: [device], in: group)))
    let closings = closings(in: group) { $0.creator == device }
    let keys =
      membership.role(of: self.device) == .reader
      ? [] : try grants(of: zoneIDs(of: group), in: group, without: [device])
    try perform(
      [revocation] + closings + keys, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Changes a person's role; a lower role comes with new keys.
  ///
  /// Changes of the person's devices beyond this node's applied ones are judged by the lower role.
  /// Invitations that the person may no longer make are closed.
  package mutating func setRole(
    of person: PersonID, to role: Role, in group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: group)
    guard let present = membership.people.first(where: { $0.id == person }) else {
      throw SyncError(.notFound, "there is no such person in the group")
    }
    let change = ControlOperation.setRole(
      .init(
        person: person, role: role, cut: cut(of: logs(of: person, in: membership), in: group)))
    let closings = closings(in: group) { invite in
      membership.device(invite.creator)?.person == person && invite.operation.person != person
        && (role.rank < Role.admin.rank || role.rank <= invite.operation.role.rank)
    }
    // A person who becomes a reader by this very change cannot make keys; the next writer does.
    let isOwn = person == membership.person(of: device)?.id
    let keys =
      role.rawValue < present.role.rawValue && !(isOwn && role == .reader)
      ? try grants(of: zoneIDs(of: group), in: group, without: []) : []
    try perform([change] + closings + keys, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Offers the group to another person, who must accept.
  ///
  /// - Parameter sign: Signs bytes for a domain with the owner's recovery words.
  /// - Returns: The id of the offer.
  /// - Throws: `notAllowed`, also for an owner without recovery words.
  package mutating func transferOwner(
    of group: GroupID, to person: PersonID, signing sign: Signer, nowMilliseconds: UInt64
  ) throws -> RecordID {
    // Due rotations come first, because the signature covers the sequence number of the offer.
    try replaceOverEpochs(of: group, nowMilliseconds: nowMilliseconds)
    var transfer = ControlOperation.TransferOwner(to: person, signature: [])
    let dot = try nextDot(in: controlZone(of: group).id)
    transfer.signature = try sign(
      ControlSignature.transferDomain,
      ControlSignature.signedBytes(group: group, dot: dot, transfer.signedBody))
    return try perform(
      [.transferOwner(transfer)], in: group, nowMilliseconds: nowMilliseconds)[0]
  }

  /// Accepts ownership of the group; the former owner becomes an admin.
  package mutating func acceptOwner(
    of group: GroupID, offer: RecordID, nowMilliseconds: UInt64
  ) throws {
    try perform([.acceptOwner(transfer: offer)], in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Leaves the group with all devices of this device's person.
  ///
  /// The remaining members make new keys when they learn of it.
  package mutating func leave(_ group: GroupID, nowMilliseconds: UInt64) throws {
    let membership = membership(of: group)
    guard let person = membership.person(of: device), membership.isActive(device) else {
      throw SyncError(.notAllowed, "this device does not belong to the group")
    }
    let closings = closings(in: group) { membership.device($0.creator)?.person == person.id }
    let cut = cut(of: logs(of: person.id, in: membership), in: group)
    try perform(
      closings + [.leave(cut)], in: group,
      nowMilliseconds: nowMilliseconds)
  }

  /// The closings of the open invitations that end together with another operation.
  private func closings(
    in group: GroupID, _ isOver: (InvitationRecord) -> Bool
  ) -> [ControlOperation] {
    membership(of: group).invites.filter { !$0.isClosed && isOver($0) }
      .map { .inviteClose(invite: $0.operation.invite) }
  }

  /// Closes an invitation, so that nobody can join by it; with new keys if it carried the old ones.
  package mutating func closeInvitation(
    _ invite: Identifier, of group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: group)
    let open = membership.invites.first { $0.operation.invite == invite }
    let role = membership.role(of: device)
    let keys =
      open?.operation.admission == .auto && role != .reader && role != nil
      ? try grants(of: zoneIDs(of: group), in: group, without: []) : []
    try perform(
      [.inviteClose(invite: invite)] + keys, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Sets the rules of the group: the minimum suite, which only rises, and what newcomers may read.
  ///
  /// If the newcomer rule changes, the same operation gives the data zones new keys without links
  /// to earlier keys. Later newcomers can read at most from that point on. Open invitations whose
  /// bundles carry earlier keys are closed with it. Restoring the former rule reopens nothing.
  ///
  /// - Throws: `invalidOperation` for a suite that this program does not know, `notAllowed`.
  package mutating func setPolicy(
    of group: GroupID, minimumSuite: UInt8, newcomers: ControlOperation.Newcomers,
    nowMilliseconds: UInt64
  ) throws {
    guard (1...Envelope.suite).contains(minimumSuite) else {
      throw SyncError(
        .invalidOperation,
        "this program knows suites 1 to \(Envelope.suite), not \(minimumSuite)")
    }
    try set(
      .init(minimumSuite: minimumSuite, newcomers: newcomers), of: group,
      nowMilliseconds: nowMilliseconds)
  }

  /// Sets what newcomers may read and keeps the minimum suite.
  package mutating func setNewcomers(
    _ newcomers: ControlOperation.Newcomers, of group: GroupID, nowMilliseconds: UInt64
  ) throws {
    try set(
      .init(minimumSuite: membership(of: group).minimumSuite, newcomers: newcomers), of: group,
      nowMilliseconds: nowMilliseconds)
  }

  private mutating func set(
    _ rules: ControlOperation.Policy, of group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let policy = ControlOperation.setPolicy(rules)
    let membership = membership(of: group)
    guard rules.newcomers != membership.newcomers,
      membership.role(of: device)?.rank ?? 0 >= Role.admin.rank
    else {
      try perform([policy], in: group, nowMilliseconds: nowMilliseconds)
      return
    }
    let carrying = membership.openInvites.filter {
      membership.entries.isForNewcomer($0.operation.person)
    }
    .map(\.operation.invite)
    try performThreshold(in: group, isThreshold: true, nowMilliseconds: nowMilliseconds) { draft in
      guard rules.newcomers == .fromJoin else { return [policy] }
      return [policy] + draft.closings(in: group) { carrying.contains($0.operation.invite) }
    }
  }

  /// Notifies the group of this device's progress.
  package mutating func heartbeat(in group: GroupID, nowMilliseconds: UInt64) throws {
    let frontiers = zones.filter { $0.group == group }.map {
      ControlOperation.ZoneFrontier(zone: $0.id, frontier: $0.frontier)
    }
    try perform([.heartbeat(frontiers)], in: group, nowMilliseconds: nowMilliseconds)
  }

  /// The devices whose logs a cut of a person names, including the person's former devices.
  ///
  /// A log that a cut does not name ends at its beginning. Without the former devices, everything
  /// that the person wrote on a phone lost long ago would become void when the person leaves.
  private func logs(of person: PersonID, in membership: Membership) -> Set<DeviceID> {
    let devices = Mutant.cutsOnlyPresent.isActive ? membership.devices : membership.allDevices
    return Set(devices.filter { $0.person == person }.map(\.id))
  }

  /// How far this node has applied the logs of devices, in every data zone.
  func cut(of devices: Set<DeviceID>, in group: GroupID) -> Cut {
    let entries = zones.filter { $0.group == group && $0.kind == .data }
      .flatMap { zone in
        zone.heads.filter { devices.contains($0.author.device) && $0.sequence > 0 }.map {
          Cut.Entry(zone: zone.id, author: $0.author, sequence: $0.sequence, hash: $0.hash)
        }
      }
    guard entries.count > ControlLimits.maximumItems else {
      return Cut(entries: entries.sorted { ($0.zone, $0.author) < ($1.zone, $1.author) })
    }
    // A cut has limited space: logs that can still continue come first, then the newest ended ones.
    let present = Set(membership(of: group).devices.map(\.id))
    func isLess(_ left: Cut.Entry, _ right: Cut.Entry) -> Bool {
      let isPresent = (
        present.contains(left.author.device), present.contains(right.author.device)
      )
      if isPresent.0 != isPresent.1 { return isPresent.1 }
      return (left.author.incarnation, left.zone, left.author)
        < (right.author.incarnation, right.zone, right.author)
    }
    let kept = entries.sorted(by: isLess).suffix(ControlLimits.maximumItems)
    return Cut(entries: kept.sorted { ($0.zone, $0.author) < ($1.zone, $1.author) })
  }
}

// MARK: - Recovery words

extension Engine {
  /// Signs bytes for a domain.
  package typealias Signer = (Domain, [UInt8]) throws -> [UInt8]

  /// Publishes the public keys of this person's recovery words, and gives every zone new keys that
  /// the words open.
  ///
  /// - Parameters:
  ///   - sign: The Ed25519 key, 32 bytes.
  ///   - box: The X25519 key, 32 bytes.
  package mutating func setRecovery(
    sign: [UInt8], box: [UInt8], in group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let keys = try recoveryKeys(sign: sign, box: box, of: group)
    try performAndRekey(
      .setRecovery(keys), in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Replaces the recovery words, with the consent of the old words or of a second device.
  ///
  /// - Parameter consent: Makes the consent from the bytes to sign.
  package mutating func rotateRecovery(
    sign: [UInt8], box: [UInt8], in group: GroupID,
    consent: (Domain, [UInt8]) throws -> ControlOperation.RotateRecovery.Consent,
    nowMilliseconds: UInt64
  ) throws {
    let keys = try recoveryKeys(sign: sign, box: box, of: group)
    try replaceOverEpochs(of: group, nowMilliseconds: nowMilliseconds)
    var rotation = ControlOperation.RotateRecovery(
      keys: keys, consent: .recovery(signature: []))
    let dot = try nextDot(in: controlZone(of: group).id)
    rotation.consent = try consent(
      ControlSignature.rotationDomain,
      ControlSignature.signedBytes(group: group, dot: dot, rotation.signedBody))
    try performAndRekey(
      .rotateRecovery(rotation), in: group, nowMilliseconds: nowMilliseconds)
  }

  private mutating func performAndRekey(
    _ operation: ControlOperation, in group: GroupID, nowMilliseconds: UInt64
  ) throws {
    var draft = self
    try store.transaction {
      draft = self
      try draft.perform([operation], in: group, nowMilliseconds: nowMilliseconds)
      if draft.membership(of: group).role(of: device) != .reader {
        try draft.rekey(
          draft.zoneIDs(of: group), of: group, nowMilliseconds: nowMilliseconds)
      }
    }
    self = draft
  }

  private func recoveryKeys(
    sign: [UInt8], box: [UInt8], of group: GroupID
  ) throws -> ControlOperation.RecoveryKeys {
    let key = try BoxPublicKey(validating: box)
    return ControlOperation.RecoveryKeys(
      sign: sign, box: box,
      secrets: try zones.filter { $0.group == group }.sorted { $0.id < $1.id }.map {
        .init(zone: $0.id, sealed: try $0.secret.seal(to: key))
      })
  }

  /// Makes this device one of a person's devices, by the person's recovery words.
  ///
  /// The control log must be on this node. Everything that was synced is recovered.
  ///
  /// - Parameters:
  ///   - revokingOthers: Whether to revoke every other device of the person, with new keys.
  ///   - sign: Signs with the recovery words.
  /// - Throws: `notAllowed` if others would give the device no place.
  package mutating func recover(
    _ person: PersonID, in group: GroupID, deviceName: String, revokingOthers: Bool,
    signing sign: Signer, nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: group)
    let others = Set(membership.devices.filter { $0.person == person }.map(\.id))
    var recover = ControlOperation.Recover(
      person: person, device: card(named: deviceName), revokesOthers: revokingOthers,
      cut: revokingOthers
        ? cut(of: logs(of: person, in: membership), in: group) : Cut(entries: []), signature: [])
    let dot = try nextDot(in: controlZone(of: group).id)
    recover.signature = try sign(
      ControlSignature.recoverDomain,
      ControlSignature.signedBytes(group: group, dot: dot, recover.signedBody))
    try requirePlace(for: recover, at: dot, in: group)
    let isReader = membership.person(person)?.role == .reader
    let keys =
      revokingOthers && !isReader
      ? try grants(
        of: zoneIDs(of: group), in: group, without: Mutant.wordsEndNobody.isActive ? [] : others,
        joined: Joining(device: device, card: card(named: deviceName), person: person)) : []
    let closings = revokingOthers ? closings(in: group) { others.contains($0.creator) } : []
    try perform(
      [.recover(recover)] + closings + keys, in: group, nowMilliseconds: nowMilliseconds)
  }

  /// Requires that a recovery of this device has a place in the control zone.
  private func requirePlace(
    for recover: ControlOperation.Recover, at dot: Dot, in group: GroupID
  ) throws {
    let control = try controlZone(of: group)
    guard
      let introduction = membership(of: group)
        .introductions.introduction(.recover(recover), at: dot, in: group)
    else { return }
    var room = try room(of: control)
    room.introduce(device, introduction, hasRight: true, isCited: false)
    guard !room.admits(dot.author, in: control) else { return }
    throw SyncError(
      .notAllowed,
      "these words let in as many devices as one person may have: "
        + (recover.revokesOthers
          ? "ask an owner or admin to remove you, and to invite you as somebody new"
          : "recover with `--revoke-others`"))
  }
}

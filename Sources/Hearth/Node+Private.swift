import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

/// A private database that this node was invited to and is not in yet.
package struct PendingPrivate: Codable, Equatable, Sendable {
  /// The name of the inviter.
  package let inviterName: String
  /// The folder or relay through which it is reached.
  package let place: String
  let secret: String
  let capsule: Data
  /// The data that must arrive first, in words.
  package var waitsFor: String?
  /// The reason why it cannot be joined, in words; nil while it still can.
  package var refusal: String?
}

/// The status of a node with its person's private database.
package struct PrivateStanding: Sendable {
  /// The zone of its records.
  package let zone: ZoneState
  /// Its devices, including this one; only this one while it is not shared.
  package let devices: [Membership.Device]
  /// Whether transports carry it.
  package let isShared: Bool
  /// The private database that this node was invited to and is not in yet.
  package let pending: PendingPrivate?
  /// The end of this device's membership in it; nil while it is a member.
  package let ending: Ending?
}

// The private database of this node's person: the one in use, and how its devices share it.
extension Node {
  private static let pendingPrivateFact = "private.pending"
  static let privateName = "private"

  /// The zone of the person's own records; nil only for a node whose creation was interrupted.
  package var privateZone: ZoneState? {
    engine.zones.first { $0.group == engine.privateGroup && $0.kind == .data }
  }

  /// Returns the status of this node with its person's private database.
  package func privateStanding() throws -> PrivateStanding? {
    guard let zone = privateZone else { return nil }
    return PrivateStanding(
      zone: zone, devices: membership(of: zone.group).devices,
      isShared: engine.isPrivateDatabaseShared, pending: try pendingPrivate(),
      ending: ending(in: zone.group))
  }

  func pendingPrivate() throws -> PendingPrivate? {
    try store.fact(Node.pendingPrivateFact).map {
      try JSONDecoder().decode(PendingPrivate.self, from: Data($0))
    }
  }

  /// Whether another private database is about to replace the one in use.
  func awaitsPrivate() throws -> Bool {
    try pendingPrivate() != nil || pendingJoins().contains { $0.isPrivate == true }
  }

  /// - Parameter secret: the invitation that was settled; nothing is kept if another process has
  ///   settled it meanwhile. Nil for a new one.
  private func keep(_ pending: PendingPrivate?, replacing secret: String? = nil) throws {
    if let secret, try pendingPrivate()?.secret != secret { return }
    let encoded = try pending.map { Array(try JSONEncoder().encode($0)) }
    try store.transaction { try store.setFact(Node.pendingPrivateFact, encoded) }
  }

  // MARK: Inviting

  /// Creates an invitation to a household; one to oneself includes one to the private database.
  ///
  /// A device that is not in its person's private database yet cannot include it.
  func makeInvitation(to state: ZoneState, _ terms: InvitationTerms) throws -> MadeInvitation {
    try foundPrivate()
    let secret = try InviteSecret.random()
    let moment = now()
    let admission: ControlOperation.Admission = terms.needsApproval ? .approve : .auto
    let own = try terms.isToOneself && !awaitsPrivate() ? ownPrivateGroup() : nil
    let isToOneself = terms.isToOneself
    var draft = engine
    let made = try store.transaction { () throws -> MadeInvitation in
      draft = engine
      func invite(
        _ group: GroupID, _ name: String, _ role: Role, _ secret: InviteSecret,
        _ companion: [UInt8]
      ) throws -> MadeInvitation {
        let membership = draft.membership(of: group)
        // A further device of a person has the person's role, regardless of the requested one.
        let own = isToOneself ? membership.person(of: device) : nil
        return try draft.invite(
          to: group, named: name, role: own?.role ?? role, admission: admission,
          person: own?.id ?? terms.person,
          maximumUses: terms.maximumUses,
          expiresMilliseconds: moment + terms.expiresInMilliseconds, nowMilliseconds: moment,
          secret: secret, companion: companion)
      }
      let companion = try own.map {
        try invite($0, Node.privateName, .owner, secret.companion(), []).capsule
      }
      return try invite(state.group, state.name, terms.role, secret, companion ?? [])
    }
    engine = draft
    return made
  }

  /// Returns the private database's group, if this device belongs to it and it is in its person's
  /// name.
  func ownPrivateGroup() -> GroupID? {
    engine.privateGroup.flatMap { group in
      let membership = membership(of: group)
      return membership.isActive(device) && membership.person(of: device)?.id == person
        ? group : nil
    }
  }

  // MARK: Joining

  /// Remembers the private database of an invitation if its inviter is trusted; the next round
  /// joins it.
  ///
  /// A node in no household trusts the link that it follows. A node in a household trusts only its
  /// own person's other devices. Otherwise, anybody who creates a household under that person's id
  /// would receive the person's private data.
  ///
  /// - Parameter known: the households of this node before it followed the link.
  func follow(
    companionOf opened: InvitationCapsule, _ secret: InviteSecret, over place: String,
    knowing known: [GroupID]
  ) throws {
    let id = try identifier(secret.publicKeys.inviteID)
    let invite = membership(of: opened.group).invites.first { $0.operation.invite == id }
    guard !opened.companion.isEmpty, let invite, invite.operation.person == person,
      known.isEmpty || known.contains(where: { isOwn(invite.creator, in: $0) })
    else { return }
    try core.transports.carryPrivateDatabase(over: place)
    try keep(
      PendingPrivate(
        inviterName: opened.inviterName, place: place, secret: try secret.companion().text,
        capsule: Data(opened.companion)))
  }

  /// Whether a device belongs to this node's person in a group that contains both devices.
  func isOwn(_ other: DeviceID, in group: GroupID) -> Bool {
    let membership = membership(of: group)
    return membership.isActive(other) && membership.isActive(device)
      && membership.person(of: other)?.id == person && membership.person(of: device)?.id == person
  }

  /// Continues to join the private database that this node was invited to.
  ///
  /// A failure affects nothing else: `status` shows it, and the node retries where that can help.
  func settlePrivate() async throws {
    guard var pending = try pendingPrivate(), pending.refusal == nil else { return }
    let secret = pending.secret
    do {
      try await enter(pending)
      return try keep(nil, replacing: secret)
    } catch let error as TransportError {
      pending.waitsFor = Hearth.words(of: error)
    } catch let error as SyncError where error.code == .notFound {
      pending.waitsFor = error.message
    } catch let error as SyncError where error.code != .corrupt {
      pending.refusal = error.message
    } catch let error as HearthError where error.code == .notAllowed {
      pending.refusal = error.message
    } catch let error as CryptoError {
      pending.refusal = Hearth.words(of: error)
    }
    try keep(pending, replacing: secret)
  }

  private func enter(_ pending: PendingPrivate) async throws {
    let secret = try InviteSecret(text: pending.secret)
    let capsule = Array(pending.capsule)
    let opened = try InvitationCapsule(opening: capsule, with: secret)
    let group = opened.group
    try requireAlone(before: group)
    joiningGroup = group
    defer { joiningGroup = nil }
    let transport = try core.connections.transport(pending.place)
    let id = try identifier(secret.publicKeys.inviteID)
    let recipients = [(id: device, pair: engine.identity.boxPair), (id: id, pair: secret.boxPair)]
    if !engine.membership(of: group).isActive(device) {
      let draft = try await replicas.draftMembers(
        of: group, over: transport, named: pending.place, as: recipients, under: schema.policy
      ) {
        _ = try $0.beginJoining(capsule, with: secret, nowMilliseconds: 0)
      }
      try takeBack(unlessDone: { try finishJoining(opened, pending, secret, draft) })
    }
    try await core.connections.admit(to: group, over: transport, as: recipients)
    _ = try await replicas.pull(zones(of: group), from: transport, named: pending.place)
    try adoptPrivate(group)
  }

  private func finishJoining(
    _ opened: InvitationCapsule, _ pending: PendingPrivate, _ secret: InviteSecret,
    _ draft: MemberDraft
  ) throws {
    // Another process may have joined while this one read the log.
    guard !engine.membership(of: opened.group).isActive(device) else { return }
    _ = try engine.beginJoining(Array(pending.capsule), with: secret, nowMilliseconds: 0)
    try replicas.take(draft)
    let id = try identifier(secret.publicKeys.inviteID)
    let invite = engine.membership(of: opened.group).invites.first { $0.operation.invite == id }
    guard invite.map({ $0.operation.person == person }) ?? true else {
      throw HearthError(
        .notAllowed, "the invitation is to another person's private database")
    }
    try engine.finishJoining(
      opened, with: secret, person: person, personName: profile.personName,
      deviceName: profile.deviceName, nowMilliseconds: now())
  }

  /// Refuses to join two private databases that each have several devices.
  private func requireAlone(before group: GroupID) throws {
    guard let own = engine.privateGroup, own != group, membership(of: own).devices.count > 1 else {
      return
    }
    let names = membership(of: own).devices.filter { $0.id != device }.map(\.card.name)
    throw HearthError(
      .notAllowed,
      "this device already shares a private database with \(names.joined(separator: ", ")): revoke "
        + "those devices first, or keep that database")
  }

  // MARK: Database in use

  /// Makes a group the private database in use, and copies the previous one's records into it.
  ///
  /// Settings that the person made there win over settings of this device: only records that nobody
  /// wrote there are added. The former group stays unchanged and is not used any more.
  func adoptPrivate(_ group: GroupID) throws {
    guard let former = privateZone, former.group != group,
      let zone = engine.zones.first(where: { $0.group == group && $0.kind == .data })
    else { return try engine.usePrivateGroup(group) }
    var draft = engine
    try store.transaction {
      draft = engine
      try carry(from: former.id, to: zone.id, with: &draft)
      try draft.usePrivateGroup(group)
    }
    engine = draft
    announce()
  }

  /// Creates a private database in this person's name, if the node belonged to another one before.
  func foundPrivate() throws {
    guard let own = engine.privateGroup, membership(of: own).isActive(device),
      membership(of: own).person(of: device)?.id != person, try !awaitsPrivate()
    else { return }
    let founding = GroupFounding(
      database: .personal, zoneNames: [Node.privateName], person: person,
      personName: profile.personName, deviceName: profile.deviceName)
    let created = try engine.createGroup(founding, nowMilliseconds: now())
    try adoptPrivate(created.group)
  }

  // MARK: Lost devices

  /// Revokes own devices in the private database that were revoked in the households.
  func cutOffLost() throws {
    guard let own = ownPrivateGroup() else { return }
    for lost in engine.devicesToCutOff() {
      let name = membership(of: own).device(lost)?.card.name ?? "a device"
      try engine.revoke(lost, from: own, nowMilliseconds: now())
      let notice = Notice(
        kind: .access, zone: privateZone?.id, device: lost,
        text: "\(name) was revoked in a household: it gets no more changes of your private "
          + "database either"
          + (try wordsState() == .set
            ? "; it knows where your recovery bundle is, so make new recovery words: `hearth words "
              + "rotate`" : ""),
        milliseconds: now())
      try store.transaction { try store.add(notice) }
    }
  }
}

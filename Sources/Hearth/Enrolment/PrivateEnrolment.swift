import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

/// How a further device of a person enrols in the person's private database.
struct PrivateEnrolment: NodeWork {
  let core: NodeCore

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
      known.isEmpty || known.contains(where: { privateDatabase.isOwn(invite.creator, in: $0) })
    else { return }
    try transports.carryPrivateDatabase(over: place)
    try pending.keep(
      PendingPrivate(
        inviterName: opened.inviterName, place: place, secret: try secret.companion().text,
        capsule: Data(opened.companion)))
  }

  /// Continues to join the private database that this node was invited to.
  ///
  /// A failure affects nothing else: `status` shows it, and the node retries where that can help.
  func settle() async throws {
    guard var pending = try pending.privateDatabase(), pending.refusal == nil else { return }
    let secret = pending.secret
    do {
      try await enter(pending)
      return try core.pending.keep(nil, replacing: secret)
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
    try core.pending.keep(pending, replacing: secret)
  }

  private func enter(_ pending: PendingPrivate) async throws {
    let secret = try InviteSecret(text: pending.secret)
    let capsule = Array(pending.capsule)
    let opened = try InvitationCapsule(opening: capsule, with: secret)
    let group = opened.group
    try requireAlone(before: group)
    core.joiningGroup = group
    defer { core.joiningGroup = nil }
    let transport = try connections.transport(pending.place)
    let id = try identifier(secret.publicKeys.inviteID)
    let recipients = [(id: device, pair: engine.identity.boxPair), (id: id, pair: secret.boxPair)]
    if !engine.membership(of: group).isActive(device) {
      let draft = try await replicas.draftMembers(
        of: group, over: transport, named: pending.place, as: recipients, under: schema.policy
      ) {
        _ = try JoiningByInvitation.begin(capsule, with: secret, in: &$0, nowMilliseconds: 0)
      }
      try takeBack(unlessDone: { try finishJoining(opened, pending, secret, draft) })
    }
    try await connections.admit(to: group, over: transport, as: recipients)
    _ = try await replicas.pull(zones(of: group), from: transport, named: pending.place)
    try privateDatabase.adopt(group)
  }

  private func finishJoining(
    _ opened: InvitationCapsule, _ pending: PendingPrivate, _ secret: InviteSecret,
    _ draft: MemberDraft
  ) throws {
    // Another process may have joined while this one read the log.
    guard !engine.membership(of: opened.group).isActive(device) else { return }
    _ = try JoiningByInvitation.begin(
      Array(pending.capsule), with: secret, in: &engine, nowMilliseconds: 0)
    try replicas.take(draft)
    let id = try identifier(secret.publicKeys.inviteID)
    let invite = engine.membership(of: opened.group).invites.first { $0.operation.invite == id }
    guard invite.map({ $0.operation.person == person }) ?? true else {
      throw HearthError(
        .notAllowed, "the invitation is to another person's private database")
    }
    try JoiningByInvitation.finish(
      opened, with: secret, person: person, personName: profile.personName,
      deviceName: profile.deviceName, in: &engine, nowMilliseconds: now())
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
}

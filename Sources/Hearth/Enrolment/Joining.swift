import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// The result of following an invitation's link.
package enum JoinOutcome: Sendable {
  /// This node is now in the household of the zone.
  case joined(ZoneID)
  /// The request was sent, and somebody in the household must approve it.
  case asked(PendingJoin)
}

/// Follows the links of invitations.
struct Joining: NodeWork {
  let core: NodeCore
  let node: Node

  /// Follows a link: joins a household, or asks to join.
  ///
  /// - Parameters:
  ///   - folderOverride: the shared folder on this device, or the relay's address, if it differs
  ///     from the link's.
  ///   - bootstrapping: snapshots to start zones from, if available.
  func follow(
    _ link: InvitationLink, folderOverride: String?, bootstrapping: [ZoneID: [[UInt8]]]
  ) async throws -> JoinOutcome {
    let (path, transport, capsule) = try await find(link, at: folderOverride)
    let known = households()
    if let zone = try await followAgain(capsule, link, folder: path, knowing: known) {
      return .joined(zone)
    }
    let opened = try await begin(capsule, link, folder: path, over: transport)
    guard !opened.needsApproval else {
      let isNew = try !transports.list().contains { $0.path == path }
      try transports.keep(path, for: opened.group)
      do {
        return .asked(
          try await JoinRequests(core: core).askAll(
            opened, sealed: capsule, link.secret, folder: path))
      } catch {
        if isNew { try transports.remove(path) }
        throw error
      }
    }
    try PrivateEnrolment(core: core).follow(
      companionOf: opened, link.secret, over: path, knowing: known)
    for zone in engine.zones.map(\.id) {
      guard let chunks = bootstrapping[zone] else { continue }
      try SnapshotLoading.bootstrap(zone, from: chunks, in: &engine, nowMilliseconds: now())
    }
    _ = try await node.sync()
    return .joined(try recordZone(of: opened.group))
  }

  /// Follows a link for a further device if this one is in the household already.
  ///
  /// Only the private database remains to be joined.
  ///
  /// - Returns: the household's zone; nil if there is more to do, or nothing.
  private func followAgain(
    _ sealed: [UInt8], _ link: InvitationLink, folder path: String, knowing known: [GroupID]
  ) async throws -> ZoneID? {
    let opened = try InvitationCapsule(opening: sealed, with: link.secret)
    guard !opened.needsApproval, opened.person == person, !opened.companion.isEmpty,
      engine.membership(of: opened.group).isActive(device)
    else { return nil }
    let own = try InvitationCapsule(opening: opened.companion, with: link.secret.companion())
    guard own.group != engine.privateGroup || !membership(of: own.group).isActive(device) else {
      return nil
    }
    try transports.keep(path, for: opened.group)
    _ = try await node.sync()
    try PrivateEnrolment(core: core).follow(
      companionOf: opened, link.secret, over: path, knowing: known)
    guard try pending.privateDatabase() != nil else { return nil }
    _ = try await node.sync()
    try await closeRest(of: link, to: opened.group)
    return try recordZone(of: opened.group)
  }

  /// Closes the part of a link that this device did not need, so that nobody else can use it.
  private func closeRest(of link: InvitationLink, to group: GroupID) async throws {
    let id = try identifier(link.secret.publicKeys.inviteID)
    let invite = membership(of: group).invites.first { $0.operation.invite == id }
    guard let invite, !invite.isClosed, invite.usesLeft > 0 else { return }
    do {
      try GroupPolicy.closeInvitation(id, of: group, in: &engine, nowMilliseconds: now())
    } catch let error as SyncError where error.code == .notAllowed {
      return
    }
    _ = try await node.sync()
  }

  /// Opens an invitation bundle, and joins if it needs no approval.
  private func begin(
    _ capsule: [UInt8], _ link: InvitationLink, folder path: String,
    over transport: any Transport
  ) async throws -> InvitationCapsule {
    let secret = link.secret
    let opened = try InvitationCapsule(opening: capsule, with: secret)
    guard !opened.needsApproval else {
      return try JoiningByInvitation.begin(
        capsule, with: secret, in: &engine, nowMilliseconds: now())
    }
    // Whether it may be used at all is found out before anything is fetched.
    try trying {
      _ = try JoiningByInvitation.begin(
        capsule, with: secret, in: &engine, nowMilliseconds: now())
    }
    let draft = try await replicas.draftMembers(
      of: opened.group, over: transport, named: path,
      as: [(try identifier(secret.publicKeys.inviteID), secret.boxPair)], under: schema.policy
    ) {
      _ = try JoiningByInvitation.begin(capsule, with: secret, in: &$0, nowMilliseconds: 0)
    }
    try takeBack(unlessDone: {
      _ = try JoiningByInvitation.begin(
        capsule, with: secret, in: &engine, nowMilliseconds: now())
      try replicas.take(draft)
      try takeOverPerson(from: secret, of: opened.group)
      try finishJoining(opened, with: secret, draft.report)
      try transports.keep(path, for: opened.group)
    })
    return opened
  }

  /// Runs steps only to see whether they can be done: nothing of them stays.
  private func trying(_ steps: () throws -> Void) throws {
    struct Tried: Error {}
    do {
      try takeBack(unlessDone: {
        try steps()
        throw Tried()
      })
    } catch is Tried {
      return
    }
  }

  private func finishJoining(
    _ opened: InvitationCapsule, with secret: InviteSecret, _ report: TransportReport
  ) throws {
    do {
      try JoiningByInvitation.finish(
        opened, with: secret, person: person, personName: profile.personName,
        deviceName: profile.deviceName, in: &engine, nowMilliseconds: now())
    } catch let error as SyncError where error.code == .notFound {
      guard let fault = UnusableFiles.words(in: report) else { throw error }
      throw HearthError(
        .notFound,
        "joining needs everything that \(opened.inviterName) had when inviting, but \(fault): "
          + "`hearth sync --check` on a device of \(opened.inviterName)'s repairs damaged files; "
          + "then join again", cause: error)
    }
    guard engine.membership(of: opened.group).isActive(engine.device) else {
      throw HearthError(
        .notAllowed,
        "the household does not accept this device: the invitation may have expired, or somebody "
          + "else used it at the same moment")
    }
  }

  /// Finds a link's invitation bundle.
  ///
  /// It looks at the given place, at the link's, and in the shared folders of this node.
  private func find(
    _ link: InvitationLink, at folderOverride: String?
  ) async throws -> (place: String, transport: any Transport, capsule: [UInt8]) {
    if let folderOverride { return try await look(for: link, at: folderOverride) }
    let named = link.relay?.description ?? link.folder
    do {
      guard let named else {
        throw HearthError(
          .notFound, "the link does not say where the shared folder is: add --folder PATH")
      }
      return try await look(for: link, at: named)
    } catch let error as HearthError where [.offline, .notFound, .invalid].contains(error.code) {
      for setting in try transports.list()
      where setting.kind == .folder && setting.path != named {
        if let found = try? await look(for: link, at: setting.path) { return found }
      }
      throw error
    }
  }

  private func look(
    for link: InvitationLink, at named: String
  ) async throws -> (place: String, transport: any Transport, capsule: [UInt8]) {
    let place =
      TransportAddress.isRelay(named)
      ? named : try SharedFolderPath.checked(named, home: folder.root.path)
    let transport = try connections.transport(place)
    let capsule = try await capsule(of: link, on: transport, place)
    _ = try InvitationBundles(core: core).open(capsule, of: link, at: place)
    return (place, transport, capsule)
  }

  private func capsule(
    of link: InvitationLink, on transport: any Transport, _ path: String
  ) async throws -> [UInt8] {
    let rendezvous = try BlobName(
      kind: .capsule, scope: identifier(link.secret.rendezvousID))
    connections.setMailbox(
      of: rendezvous.scope, to: try .rendezvous(of: link.secret, mayCreate: false), on: transport)
    let capsule: [UInt8]?
    let isRelay = TransportAddress.isRelay(path)
    do {
      capsule = try await transport.fetch(rendezvous)
    } catch let error as TransportError where error.code == .folderMissing {
      throw HearthError(
        .offline,
        "there is no folder \(printable(path)) on this device: check that you copied the whole "
          + "link, or name the shared folder here with --folder PATH",
        cause: error)
    } catch let error as TransportError where error.isOfFile {
      throw InvitationBundles.damaged(at: path, because: error)
    } catch {
      throw HearthError(
        .offline,
        isRelay ? "\(error)" : "the shared folder \(printable(path)) cannot be read: \(error)",
        cause: error)
    }
    guard let capsule else {
      if let closer = try? await JoinRequests(core: core).closer(of: link.secret, on: transport) {
        throw SyncError(
          .used,
          "this invitation was closed, as \(closer) reported: ask \(closer) for a new one")
      }
      throw HearthError(
        .notFound,
        isRelay
          ? "the relay does not have this invitation any more: it was used up, was closed or has "
            + "expired; ask the sender of the link for a new one"
          : "the folder \(printable(path)) does not have this invitation: it was used up, was "
            + "closed or has expired; then ask the sender of the link for a new one. If the link "
            + "is new, wait until the invitation has arrived in the folder, or name the right "
            + "folder with --folder PATH")
    }
    return capsule
  }

  /// Makes this node a device of the invited person, if the invitation is for an existing one.
  ///
  /// Only a node that is in no other household can change its person.
  private func takeOverPerson(from secret: InviteSecret, of group: GroupID) throws {
    let membership = engine.membership(of: group)
    let id = try identifier(secret.publicKeys.inviteID)
    guard let invite = membership.invites.first(where: { $0.operation.invite == id }),
      let wanted = invite.operation.person, wanted != person,
      let name = membership.person(wanted)?.name
    else { return }
    try core.requireNobodyElse(than: name, besides: group)
    try core.become(wanted, named: name)
  }
}

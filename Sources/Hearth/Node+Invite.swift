import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// The terms of an invitation.
package struct InvitationTerms: Sendable {
  package var role: Role
  /// Whether an owner or admin approves each newcomer.
  package var needsApproval = false
  /// Whether it is for a further device of this node's person.
  package var isToOneself = false
  /// The person of lower rank whose new device it is for; nil for somebody new.
  package var person: PersonID?
  package var maximumUses: Int
  package var expiresInMilliseconds: UInt64

  package init(
    role: Role, needsApproval: Bool = false, isToOneself: Bool = false,
    person: PersonID? = nil, maximumUses: Int, expiresInMilliseconds: UInt64
  ) {
    self.role = role
    self.needsApproval = needsApproval
    self.isToOneself = isToOneself
    self.person = person
    self.maximumUses = maximumUses
    self.expiresInMilliseconds = expiresInMilliseconds
  }
}

/// The result of following an invitation's link.
package enum JoinOutcome: Sendable {
  /// This node is now in the household of the zone.
  case joined(ZoneID)
  /// The request was sent, and somebody in the household must approve it.
  case asked(PendingJoin)
}

extension Node {
  /// Creates an invitation to a household and puts its invitation bundle on every transport of the
  /// household.
  ///
  /// - Returns: the link; anybody with the link can join.
  package func invite(
    to zone: ZoneID, role: Role, maximumUses: Int, expiresInMilliseconds: UInt64
  ) async throws -> InvitationLink {
    try await invite(
      to: zone,
      InvitationTerms(
        role: role, maximumUses: maximumUses, expiresInMilliseconds: expiresInMilliseconds))
  }

  /// Creates an invitation to a household and puts its invitation bundle on every transport of the
  /// household.
  ///
  /// If a transport is unreachable, no invitation is created. If one fails in between, the
  /// invitation is closed again, since nobody has its link.
  ///
  /// - Returns: the link; anybody with the link can join, or ask to join.
  /// - Throws: `offline` if nobody could reach the household, `notAllowed`.
  package func invite(to zone: ZoneID, _ terms: InvitationTerms) async throws -> InvitationLink {
    try await alone {
      let state = shown(try engine.zone(zone))
      let settings = try waysForInvitation(to: state, terms)
      for setting in settings { try await requireReach(of: setting) }
      // The invitation seals pending changes, so a copy of this node must be detected before.
      if engine.membership(of: state.group).newcomers == .fromJoin { _ = try await sync() }
      let made = try makeInvitation(to: state, terms)
      try keep(made, to: state.group)
      do {
        try await give(made, terms, to: settings)
      } catch let error where codeWord(of: error)?.hasPrefix("offline") == true {
        let isClosed = (try? withdraw(made.secret, of: state.group)) != nil
        throw HearthError(
          .offline,
          words(of: error) + "; the invitation "
            + (isClosed
              ? "was closed again"
              : "is still open: close it with `hearth invite revoke` (see `hearth invite list`)"),
          cause: error)
      }
      return InvitationLink(
        secret: made.secret, folder: settings.first { $0.kind == .folder }?.path,
        relay: try settings.first { $0.kind == .relay }.map { try RelayAddress($0.path) })
    }
  }

  /// Returns the transports over which somebody can follow an invitation.
  ///
  /// An invitation for a further device leads to the private database too, so it uses the
  /// transports of both if there are any.
  private func waysForInvitation(
    to state: ZoneState, _ terms: InvitationTerms
  ) throws -> [TransportSetting] {
    let settings = try core.transports.list(of: state.group)
    guard !settings.isEmpty else {
      let isAlone = try core.transports.list().isEmpty
      throw HearthError(
        .offline,
        isAlone
          ? "nobody could join yet: add a transport for this household first, `hearth transport "
            + "add relay ADDRESS` or `hearth transport add folder PATH`"
          : "nobody could join yet: none of your transports carries \(state.name): `hearth "
            + "transport carry NUMBER --also \(ShellText.word(state.name))` (see `hearth transport "
            + "list`)")
    }
    guard terms.isToOneself, let own = try awaitsPrivate() ? nil : ownPrivateGroup() else {
      return settings
    }
    let both = settings.filter { core.transports.groups(over: $0).contains(own) }
    guard !both.isEmpty else {
      throw HearthError(
        .offline,
        "your further device could not get your private database: no transport of \(state.name) "
          + "carries it; let one carry both with `hearth transport carry NUMBER --private`")
    }
    return both
  }

  /// Checks that a transport is reachable, before others see the invitation.
  private func requireReach(of setting: TransportSetting) async throws {
    do {
      if let relay = try core.connections.transport(setting.path) as? RelayTransport {
        try await core.connections.greet(relay)
      } else {
        _ = try await core.connections.transport(setting.path).fetch(
          BlobName(kind: .capsule, scope: Node.randomIdentifier()))
      }
    } catch let error where codeWord(of: error)?.hasPrefix("offline") == true {
      throw HearthError(.offline, "no invitation was made: \(error)", cause: error)
    }
  }

  /// Puts an invitation and its log entry on every transport.
  private func give(
    _ made: MadeInvitation, _ terms: InvitationTerms, to settings: [TransportSetting]
  ) async throws {
    let rendezvous = try MailboxAccess.rendezvous(of: made.secret, mayCreate: true)
    for setting in settings {
      let transport = try core.connections.transport(setting.path)
      core.connections.setMailbox(of: made.capsuleName.scope, to: rendezvous, on: transport)
      do {
        try await transport.publish(made.capsuleName, made.capsule)
        if terms.needsApproval, let relay = transport as? RelayTransport {
          try await relay.open(core.connections.requestAccess(of: made.secret))
          if terms.isToOneself {
            try await relay.open(core.connections.requestAccess(of: made.secret.companion()))
          }
        }
      } catch let error as TransportError where TransportAddress.isRelay(setting.path) {
        throw HearthError(
          .offline, "the invitation could not be sent to the relay: \(error)", cause: error)
      }
    }
    let report = try await sync()
    let ways = Set(settings.map(\.path))
    let failed = report.transports.first { $0.failure != nil && ways.contains($0.setting) }
    if let failure = failed?.failure {
      throw HearthError(
        .offline, "the invitation could not be published: \(failure)")
    }
  }

  /// Closes an invitation whose link nobody received.
  package func withdraw(_ link: InvitationLink, of zone: ZoneID) async throws {
    try await alone {
      try withdraw(link.secret, of: engine.zone(zone).group)
      _ = try await sync()
    }
  }

  private func withdraw(_ secret: InviteSecret, of group: GroupID) throws {
    try closeInvitation(identifier(secret.publicKeys.inviteID), of: group)
    // The companion invitation to a further device's private database, if there is one.
    let companion = try identifier(secret.companion().publicKeys.inviteID)
    if let own = ownPrivateGroup(),
      membership(of: own).invites.contains(where: { $0.operation.invite == companion })
    {
      try closeInvitation(companion, of: own)
    }
  }

  /// Joins a household by a link that needs no approval.
  ///
  /// - Parameters:
  ///   - folderOverride: the shared folder on this device, or the relay's address, if it differs
  ///     from the link's.
  ///   - bootstrapping: snapshots to start zones from, if available.
  /// - Returns: the household's zone.
  /// - Throws: `notAllowed` if somebody must approve first; the request was sent then.
  @discardableResult
  package func join(
    _ link: InvitationLink, folderOverride: String?, bootstrapping: [ZoneID: [[UInt8]]] = [:]
  ) async throws -> ZoneID {
    switch try await enter(by: link, folderOverride: folderOverride, bootstrapping: bootstrapping) {
    case .joined(let zone): return zone
    case .asked(let pending):
      throw HearthError(
        .notAllowed,
        "this device asked to join \(pending.groupName): sync again when \(pending.inviterName) or "
          + "another admin has approved")
    }
  }

  /// Follows a link: joins a household, or asks to join.
  ///
  /// - Parameters:
  ///   - folderOverride: the shared folder on this device, or the relay's address, if it differs
  ///     from the link's.
  ///   - bootstrapping: snapshots to start zones from, if available.
  package func enter(
    by link: InvitationLink, folderOverride: String?, bootstrapping: [ZoneID: [[UInt8]]] = [:]
  ) async throws -> JoinOutcome {
    try await alone {
      let (path, transport, capsule) = try await find(link, at: folderOverride)
      let known = households()
      if let zone = try await followAgain(capsule, link, folder: path, knowing: known) {
        return .joined(zone)
      }
      let opened = try await begin(capsule, link, folder: path, over: transport)
      guard !opened.needsApproval else {
        let isNew = try !core.transports.list().contains { $0.path == path }
        try core.transports.keep(path, for: opened.group)
        do {
          return .asked(try await askAll(opened, sealed: capsule, link.secret, folder: path))
        } catch {
          if isNew { try core.transports.remove(path) }
          throw error
        }
      }
      try follow(companionOf: opened, link.secret, over: path, knowing: known)
      for zone in engine.zones.map(\.id) {
        guard let chunks = bootstrapping[zone] else { continue }
        try engine.bootstrap(zone, from: chunks, nowMilliseconds: now())
      }
      _ = try await sync()
      return .joined(try recordZone(of: opened.group))
    }
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
    try core.transports.keep(path, for: opened.group)
    _ = try await sync()
    try follow(companionOf: opened, link.secret, over: path, knowing: known)
    guard try pendingPrivate() != nil else { return nil }
    _ = try await sync()
    try await closeRest(of: link, to: opened.group)
    return try recordZone(of: opened.group)
  }

  /// Closes the part of a link that this device did not need, so that nobody else can use it.
  private func closeRest(of link: InvitationLink, to group: GroupID) async throws {
    let id = try identifier(link.secret.publicKeys.inviteID)
    let invite = membership(of: group).invites.first { $0.operation.invite == id }
    guard let invite, !invite.isClosed, invite.usesLeft > 0 else { return }
    do {
      try engine.closeInvitation(id, of: group, nowMilliseconds: now())
    } catch let error as SyncError where error.code == .notAllowed {
      return
    }
    _ = try await sync()
  }

  /// Opens an invitation bundle, and joins if it needs no approval.
  private func begin(
    _ capsule: [UInt8], _ link: InvitationLink, folder path: String,
    over transport: any Transport
  ) async throws -> InvitationCapsule {
    let secret = link.secret
    let opened = try InvitationCapsule(opening: capsule, with: secret)
    guard !opened.needsApproval else {
      return try engine.beginJoining(capsule, with: secret, nowMilliseconds: now())
    }
    // Whether it may be used at all is found out before anything is fetched.
    try trying { _ = try engine.beginJoining(capsule, with: secret, nowMilliseconds: now()) }
    let draft = try await replicas.draftMembers(
      of: opened.group, over: transport, named: path,
      as: [(try identifier(secret.publicKeys.inviteID), secret.boxPair)], under: schema.policy
    ) {
      _ = try $0.beginJoining(capsule, with: secret, nowMilliseconds: 0)
    }
    try takeBack(unlessDone: {
      _ = try engine.beginJoining(capsule, with: secret, nowMilliseconds: now())
      try replicas.take(draft)
      try takeOverPerson(from: secret, of: opened.group)
      try finishJoining(opened, with: secret, draft.report)
      try core.transports.keep(path, for: opened.group)
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
      try engine.finishJoining(
        opened, with: secret, person: person, personName: profile.personName,
        deviceName: profile.deviceName, nowMilliseconds: now())
    } catch let error as SyncError where error.code == .notFound {
      guard let fault = Node.unusableFiles(in: report) else { throw error }
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

  /// Returns the number of unusable files and the fault of the first, in words; nil if there are
  /// none.
  static func unusableFiles(in report: TransportReport) -> String? {
    let faults = report.problems.filter(\.hidesData)
    guard let first = faults.first else { return nil }
    let subject = faults.count == 1 ? "a file" : "\(faults.count) files"
    return "\(subject) of the folder cannot be used (\(first.fault))"
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
      for setting in try core.transports.list()
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
    let transport = try core.connections.transport(place)
    let capsule = try await capsule(of: link, on: transport, place)
    _ = try open(capsule, of: link, at: place)
    return (place, transport, capsule)
  }

  private func capsule(
    of link: InvitationLink, on transport: any Transport, _ path: String
  ) async throws -> [UInt8] {
    let rendezvous = try BlobName(
      kind: .capsule, scope: identifier(link.secret.rendezvousID))
    core.connections.setMailbox(
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
      throw Node.damaged(at: path, because: error)
    } catch {
      throw HearthError(
        .offline,
        isRelay ? "\(error)" : "the shared folder \(printable(path)) cannot be read: \(error)",
        cause: error)
    }
    guard let capsule else {
      if let teller = try? await teller(of: link.secret, on: transport) {
        throw SyncError(
          .used,
          "this invitation was closed, as \(teller) reported: ask \(teller) for a new one")
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
    try requireNobodyElse(than: name, besides: group)
    try become(wanted, named: name)
  }

  /// Requires that this node is in no other household: only then can it become another person's.
  func requireNobodyElse(than name: String, besides group: GroupID) throws {
    guard households().contains(where: { $0 != group }) else { return }
    throw HearthError(
      .notAllowed,
      "this link is for a further device of \(name), but this node is \(profile.personName)'s in "
        + "another household: make a new node with `hearth init --person "
        + "\(ShellText.word(printable(name)))` in its own folder (--home PATH), and join there")
  }
}

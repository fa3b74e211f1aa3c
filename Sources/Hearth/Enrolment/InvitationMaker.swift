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

/// Makes and closes invitations.
struct InvitationMaker: NodeWork {
  let core: NodeCore
  let node: Node

  /// Creates an invitation to a household and puts its invitation bundle on every transport of the
  /// household.
  ///
  /// If a transport is unreachable, no invitation is created. If one fails in between, the
  /// invitation is closed again, since nobody has its link.
  ///
  /// - Returns: the link; anybody with the link can join, or ask to join.
  /// - Throws: `offline` if nobody could reach the household, `notAllowed`.
  func create(to zone: ZoneID, _ terms: InvitationTerms) async throws -> InvitationLink {
    let state = shown(try engine.zone(zone))
    let settings = try transports(for: state, terms)
    for setting in settings { try await requireReach(of: setting) }
    // The invitation seals pending changes, so a copy of this node must be detected before.
    if engine.membership(of: state.group).newcomers == .fromJoin { _ = try await node.sync() }
    let made = try makeInvitation(to: state, terms)
    try InvitationBundles(core: core).keep(made, to: state.group)
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

  /// Returns the transports over which somebody can follow an invitation.
  ///
  /// An invitation for a further device leads to the private database too, so it uses the
  /// transports of both if there are any.
  private func transports(
    for state: ZoneState, _ terms: InvitationTerms
  ) throws -> [TransportSetting] {
    let settings = try transports.list(of: state.group)
    guard !settings.isEmpty else {
      let isAlone = try transports.list().isEmpty
      throw HearthError(
        .offline,
        isAlone
          ? "nobody could join yet: add a transport for this household first, `hearth transport "
            + "add relay ADDRESS` or `hearth transport add folder PATH`"
          : "nobody could join yet: none of your transports carries \(state.name): `hearth "
            + "transport carry NUMBER --also \(ShellText.word(state.name))` (see `hearth transport "
            + "list`)")
    }
    guard terms.isToOneself,
      let own = try pending.awaitsPrivateDatabase() ? nil : privateDatabase.ownGroup()
    else {
      return settings
    }
    let both = settings.filter { transports.groups(over: $0).contains(own) }
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
      if let relay = try connections.transport(setting.path) as? RelayTransport {
        try await connections.greet(relay)
      } else {
        _ = try await connections.transport(setting.path).fetch(
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
      let transport = try connections.transport(setting.path)
      connections.setMailbox(of: made.capsuleName.scope, to: rendezvous, on: transport)
      do {
        try await transport.publish(made.capsuleName, made.capsule)
        if terms.needsApproval, let relay = transport as? RelayTransport {
          try await relay.client.open(connections.requestAccess(of: made.secret))
          if terms.isToOneself {
            try await relay.client.open(connections.requestAccess(of: made.secret.companion()))
          }
        }
      } catch let error as TransportError where TransportAddress.isRelay(setting.path) {
        throw HearthError(
          .offline, "the invitation could not be sent to the relay: \(error)", cause: error)
      }
    }
    let report = try await node.sync()
    let places = Set(settings.map(\.path))
    let failed = report.transports.first { $0.failure != nil && places.contains($0.setting) }
    if let failure = failed?.failure {
      throw HearthError(
        .offline, "the invitation could not be published: \(failure)")
    }
  }

  /// Closes an invitation whose link nobody received.
  func withdraw(_ link: InvitationLink, of zone: ZoneID) async throws {
    try withdraw(link.secret, of: engine.zone(zone).group)
    _ = try await node.sync()
  }

  private func withdraw(_ secret: InviteSecret, of group: GroupID) throws {
    try close(identifier(secret.publicKeys.inviteID), of: group)
    // The companion invitation to a further device's private database, if there is one.
    let companion = try identifier(secret.companion().publicKeys.inviteID)
    if let own = privateDatabase.ownGroup(),
      membership(of: own).invites.contains(where: { $0.operation.invite == companion })
    {
      try close(companion, of: own)
    }
  }

  /// Closes an invitation, with new keys if its bundle contained the old ones.
  func close(_ invite: Identifier, of group: GroupID) throws {
    try GroupPolicy.closeInvitation(invite, of: group, in: &engine, nowMilliseconds: now())
    announce()
  }

  /// Creates an invitation to a household; one to oneself includes one to the private database.
  ///
  /// A device that is not in its person's private database yet cannot include it.
  private func makeInvitation(to state: ZoneState, _ terms: InvitationTerms) throws
    -> MadeInvitation
  {
    try privateDatabase.found()
    let secret = try InviteSecret.random()
    let moment = now()
    let admission: ControlOperation.Admission = terms.needsApproval ? .approve : .auto
    let own =
      try terms.isToOneself && !pending.awaitsPrivateDatabase() ? privateDatabase.ownGroup() : nil
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
        return try InvitationMaking.invite(
          to: group, named: name, role: own?.role ?? role, admission: admission,
          person: own?.id ?? terms.person,
          maximumUses: terms.maximumUses,
          expiresMilliseconds: moment + terms.expiresInMilliseconds, in: &draft,
          nowMilliseconds: moment,
          secret: secret, companion: companion)
      }
      let companion = try own.map {
        try invite($0, NodeCore.privateName, .owner, secret.companion(), []).capsule
      }
      return try invite(state.group, state.name, terms.role, secret, companion ?? [])
    }
    engine = draft
    return made
  }
}

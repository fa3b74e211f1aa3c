import HearthCRDT
import HearthCrypto
import HearthMembership

/// An invitation bundle: how to reach the group, and its keys, opened by the invitation's secret.
///
/// The bundle is sealed on the group's transports under a name derived from the secret, so that
/// joining requires nobody to be online.
package struct InvitationCapsule: Sendable {
  /// One zone with its keys.
  package struct ZoneGrant: Sendable {
    package let id: ZoneID
    package let kind: ZoneKind
    package let name: String
    /// The zone's opaque tag, by which the opened secret is recognised.
    let tag: Bytes16
    /// The zone's secret, sealed to the invitation's key.
    let sealedSecret: [UInt8]
    /// The epochs, oldest first: id and sealed key.
    let epochs: [(id: [UInt8], sealed: [UInt8])]
  }

  package let group: GroupID
  package let database: DatabaseKind
  package let groupName: String
  package let inviterName: String
  package let role: Role
  package let expiresMilliseconds: UInt64
  package let zones: [ZoneGrant]
  /// The control zone's frontier when the invitation was made; the joiner refuses to continue from
  /// an older one.
  package let controlFrontier: Frontier

  /// Where to send a request to join; nil if the invitation admits at once.
  package var inbox: Inbox?

  /// Whether somebody must approve each person who follows the invitation.
  package var needsApproval: Bool { inbox != nil }

  /// The key that a request is sealed to; anyone with the control zone's key of that time can read
  /// it.
  package struct Inbox: Equatable, Sendable {
    /// The epoch of the control zone that the key belongs to.
    let epoch: Bytes16
    let boxKey: [UInt8]
  }

  /// The person whose further device the invitation admits; nil for a newcomer.
  ///
  /// The value is a hint: the group's log decides.
  package var person: PersonID?

  /// The sealed bundle of the companion invitation to the person's private database; empty if there
  /// is none.
  ///
  /// It opens with the companion of this invitation's secret.
  package var companion: [UInt8] = []

  /// The longest companion, in bytes.
  package static let maximumCompanionBytes = 128 * 1024

  /// The version byte at the start of the encoding.
  static let version: UInt8 = 1
}

extension InvitationCapsule {
  /// Seals the bundle under an invitation's secret.
  func sealed(for invite: InviteSecret) throws -> [UInt8] {
    try Capsule.seal(encoded, key: invite.capsuleKey, associatedData: invite.rendezvousID)
  }

  /// The bytes inside.
  var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 512)
    writer.byte(InvitationCapsule.version)
    writer.identifier(group)
    writer.byte(database.rawValue)
    writer.text(groupName)
    writer.text(inviterName)
    writer.byte(role.rawValue)
    writer.fixed64(expiresMilliseconds)
    writer.frontier(controlFrontier)
    writer.varint(zones.count)
    for zone in zones {
      writer.identifier(zone.id)
      writer.byte(zone.kind.rawValue)
      writer.text(zone.name)
      writer.raw(zone.tag.array)
      writer.blob(zone.sealedSecret)
      writer.varint(zone.epochs.count)
      for epoch in zone.epochs {
        writer.raw(epoch.id)
        writer.blob(epoch.sealed)
      }
    }
    writer.varint(inbox == nil ? 0 : 1)
    if let inbox {
      writer.raw(inbox.epoch.array)
      writer.raw(inbox.boxKey)
    }
    writer.varint(person == nil ? 0 : 1)
    if let person { writer.identifier(person) }
    writer.blob(companion)
    return writer.bytes
  }

  /// Opens a bundle; the bytes come from a transport and are not trusted.
  package init(opening bytes: [UInt8], with invite: InviteSecret) throws {
    let body = try Capsule.open(
      bytes, key: invite.capsuleKey, associatedData: invite.rendezvousID)
    do {
      try self.init(decoding: body)
    } catch let error as CodecError {
      throw SyncError(.malformed, "the invitation bundle is malformed: \(error)", cause: error)
    }
  }

  init(decoding body: [UInt8]) throws {
    var reader = ByteReader(body)
    let limit = ControlOperation.maximumNameBytes
    guard try reader.byte("bundle version") == InvitationCapsule.version else {
      throw SyncError(
        .malformed, "this invitation was made by a newer version of this program: update it")
    }
    group = try reader.identifier("group")
    guard let database = DatabaseKind(rawValue: try reader.byte("database")) else {
      throw CodecError(.unknown, "database", offset: reader.offset)
    }
    self.database = database
    groupName = try reader.text("group name", atMost: limit)
    inviterName = try reader.text("inviter's name", atMost: limit)
    guard let role = Role(rawValue: try reader.byte("role")) else {
      throw CodecError(.unknown, "role", offset: reader.offset)
    }
    self.role = role
    expiresMilliseconds = try reader.fixed64("expiry")
    controlFrontier = try reader.frontier("control frontier")
    let number = try reader.count(
      "zones", itemBytes: 50, atMost: ControlOperation.maximumItems)
    var zones: [ZoneGrant] = []
    for _ in 0..<number { zones.append(try InvitationCapsule.zone(from: &reader)) }
    self.zones = zones
    if try reader.count("inbox", itemBytes: 48, atMost: 1) == 1 {
      inbox = Inbox(
        epoch: Bytes16(exactly: try reader.raw(Bytes16.count, "inbox epoch")),
        boxKey: try reader.raw(32, "inbox key"))
    }
    if try reader.count("person", itemBytes: Identifier.byteCount, atMost: 1) == 1 {
      person = try reader.identifier("person")
    }
    companion = try reader.blob("companion", atMost: InvitationCapsule.maximumCompanionBytes)
    try reader.finish()
  }

  private static func zone(from reader: inout ByteReader) throws -> ZoneGrant {
    let id = try reader.identifier("zone")
    guard let kind = ZoneKind(rawValue: try reader.byte("zone kind")) else {
      throw CodecError(.unknown, "zone kind", offset: reader.offset)
    }
    let name = try reader.text("zone name", atMost: ControlOperation.maximumNameBytes)
    let tag = try Bytes16(try reader.raw(16, "zone tag"))
    let sealedSecret = try reader.blob("zone secret", atMost: 256)
    var epochs: [(id: [UInt8], sealed: [UInt8])] = []
    for _ in 0..<(try reader.count("epochs", itemBytes: 33, atMost: 4_096)) {
      let id = try reader.raw(32, "epoch id")
      epochs.append((id, try reader.blob("epoch key", atMost: 256)))
    }
    return ZoneGrant(
      id: id, kind: kind, name: name, tag: tag, sealedSecret: sealedSecret, epochs: epochs)
  }
}

extension BlobName {
  /// The name of an invitation's bundle on transports.
  package static func bundle(of invite: Identifier) -> BlobName {
    BlobName(
      kind: .capsule, scope: derivedIdentifier(InvitePublicKeys.placeDomain, invite.bytes))
  }
}

/// An invitation for the person who made it.
package struct MadeInvitation: Sendable {
  /// The secret that the link contains.
  package let secret: InviteSecret
  /// The bundle's name on transports.
  package let capsuleName: BlobName
  /// The sealed bundle to publish.
  package let capsule: [UInt8]
}

extension Engine {
  /// Makes an invitation to a group.
  ///
  /// - Parameters:
  ///   - chosen: The secret, if it derives from another one.
  ///   - companion: The sealed bundle of the invitation to the person's private database.
  package mutating func invite(
    to group: GroupID, named groupName: String, role: Role,
    admission: ControlOperation.Admission = .auto, person: PersonID? = nil, maximumUses: Int,
    expiresMilliseconds: UInt64, nowMilliseconds: UInt64, secret chosen: InviteSecret? = nil,
    companion: [UInt8] = []
  ) throws -> MadeInvitation {
    let membership = membership(of: group)
    let isToOneself = person != nil && person == membership.person(of: device)?.id
    guard let own = membership.role(of: device), isToOneself || own.rank >= Role.admin.rank else {
      throw SyncError(.notAllowed, "only an owner or admin can invite: ask one of them")
    }
    guard role.rank < own.rank || isToOneself else {
      throw SyncError(
        .notAllowed, "as \(own.name) you can invite only to lower roles, not a \(role.name)")
    }
    guard (1...1_000).contains(maximumUses) else {
      throw SyncError(.invalidOperation, "an invitation can be for 1 to 1000 people")
    }
    guard companion.count <= InvitationCapsule.maximumCompanionBytes else {
      throw SyncError(
        .tooLarge,
        "the private database has more keys than an invitation can carry: invite without it")
    }
    let secret = try chosen ?? InviteSecret.random()
    let creation = ControlOperation.inviteCreate(
      ControlOperation.InviteCreate(
        invite: try Identifier(checking: secret.publicKeys.inviteID),
        signKey: secret.publicKeys.signingKey.bytes, boxKey: secret.publicKeys.boxKey.bytes,
        admission: admission, role: role, person: person, maximumUses: maximumUses,
        expiresMilliseconds: expiresMilliseconds))
    if admission == .auto {
      try performEntrance(creation, of: person, in: group, nowMilliseconds: nowMilliseconds)
    } else {
      try perform([creation], in: group, nowMilliseconds: nowMilliseconds)
    }
    let grants =
      admission == .auto
      ? try zoneGrants(of: group, to: secret.publicKeys.boxKey, for: person) : []
    var capsule = InvitationCapsule(
      group: group, database: try controlZone(of: group).database, groupName: groupName,
      inviterName: membership.person(of: device)?.name ?? "", role: role,
      expiresMilliseconds: expiresMilliseconds, zones: grants,
      controlFrontier: try controlZone(of: group).frontier)
    capsule.person = person
    capsule.companion = companion
    if admission == .approve {
      guard let epoch = try controlZone(of: group).currentEpoch else {
        throw SyncError(.corrupt, "the key of the members' log is missing: run `hearth doctor`")
      }
      capsule.inbox = .init(epoch: epoch.tag, boxKey: try epoch.inbox().publicKey.bytes)
    }
    return MadeInvitation(
      secret: secret,
      capsuleName: .bundle(of: try Identifier(checking: secret.publicKeys.inviteID)),
      capsule: try capsule.sealed(for: secret))
  }

  /// The zones of a group with the keys that a person may have, sealed to a key.
  ///
  /// - Parameter person: The person, if known; nil for a newcomer.
  func zoneGrants(
    of group: GroupID, to key: BoxPublicKey, for person: PersonID?
  ) throws -> [InvitationCapsule.ZoneGrant] {
    try zones.filter { $0.group == group }.map { zone in
      let epochs = keys(of: zone, for: person)
      return InvitationCapsule.ZoneGrant(
        id: zone.id, kind: zone.kind, name: zone.name, tag: zone.secret.zoneTag,
        sealedSecret: try zone.secret.seal(to: key),
        epochs: try epochs.map { ($0.id, try $0.sealKey(to: key)) })
    }
  }

  /// The keys of a zone that a person may have.
  ///
  /// A further device of this device's person gets all keys of this device. Others get the keys
  /// since they joined, or the keys that newcomers may read. Keys that are known only from pending
  /// segments are excluded: this node does not know yet who was removed when they were made. They
  /// are handed on once it knows.
  func keys(of zone: ZoneState, for person: PersonID?) -> [EpochKey] {
    let membership = membership(of: zone.group)
    if person != nil, person == membership.person(of: device)?.id { return zone.epochs }
    let told = Set(membership.epochs(of: zone.id).map(\.grant.epoch))
    return openKeys(of: zone, for: person).filter {
      told.contains($0.id) || Mutant.handsOnUntoldKeys.isActive
    }
  }

  private func openKeys(of zone: ZoneState, for person: PersonID?) -> [EpochKey] {
    let membership = membership(of: zone.group)
    guard zone.kind == .data, membership.withholdsKeys, !Mutant.invitesWithOldKeys.isActive else {
      return zone.epochs
    }
    if let person, !membership.isForNewcomer(person) {
      let open = Set(
        membership.epochs(of: zone.id).filter { membership.isOpen($0, to: person) }
          .map(\.grant.epoch))
      return zone.epochs.filter { open.contains($0.id) }
    }
    return keysForNewcomers(of: zone)
  }

  /// The keys of a zone that a current newcomer gets.
  ///
  /// If newcomers read only from their join on, this is the current key, which is replaced when
  /// somebody joins.
  func keysForNewcomers(of zone: ZoneState) -> [EpochKey] {
    let membership = membership(of: zone.group)
    guard zone.kind == .data, membership.withholdsKeys else { return zone.epochs }
    guard membership.newcomers == .full else { return [zone.currentEpoch].compactMap { $0 } }
    let open = Set(
      membership.epochs(of: zone.id).filter(membership.isOpenToAll).map(\.grant.epoch))
    return zone.epochs.filter { open.contains($0.id) }
  }

  /// Opens a bundle and adds its zones, so that the group's log can be fetched.
  ///
  /// - Throws: `expired` by this device's clock; `exists` if the node is in the group already.
  package mutating func beginJoining(
    _ capsule: [UInt8], with secret: InviteSecret, nowMilliseconds: UInt64
  ) throws -> InvitationCapsule {
    let opened = try InvitationCapsule(opening: capsule, with: secret)
    if let role = membership(of: opened.group).role(of: device) {
      throw SyncError(
        .exists,
        "this device already belongs to \(opened.groupName), as \(role.name), as far as it knows: "
          + "if somebody has removed it, sync first")
    }
    guard nowMilliseconds <= opened.expiresMilliseconds else {
      throw SyncError(
        .expired, "this invitation has expired: ask \(opened.inviterName) for a new one")
    }
    try take(
      opened.zones, of: opened.group, opened.database, with: secret.boxPair,
      knowing: opened.controlFrontier)
    return opened
  }

  /// Adds zones whose keys are sealed to a key pair, and learns keys of zones that exist already.
  ///
  /// - Parameter logs: The logs of the control zone that the sender had. No listing omits them,
  ///   however many files of strangers lie beside them.
  mutating func take(
    _ grants: [InvitationCapsule.ZoneGrant], of group: GroupID, _ database: DatabaseKind,
    with pair: BoxKeyPair, knowing logs: Frontier = Frontier()
  ) throws {
    var draft = self
    try store.transaction {
      draft = self
      for zone in grants {
        let epochs = try zone.epochs.map {
          try EpochKey.openKey(
            $0.sealed, with: pair, expectingID: $0.id, groupID: group.bytes,
            zoneID: zone.id.bytes)
        }
        if let place = draft.zones.firstIndex(where: { $0.id == zone.id }) {
          try draft.learn(epochs, at: place)
          continue
        }
        try draft.add(
          zone: zone.id, of: group, kind: zone.kind, database: database, name: zone.name,
          secret: try ZoneSecret.open(zone.sealedSecret, with: pair, expectingTag: zone.tag),
          epochs: epochs)
      }
      for place in draft.zones.indices where draft.zones[place].group == group {
        draft.zones[place].expect(logs)
      }
    }
    self = draft
  }

  /// Joins the group, once its control log is on this node.
  ///
  /// The call does nothing if the log already has this device in the group, as after the restore of
  /// a backup from before the join.
  ///
  /// - Throws: `used` if the invitation was closed or has no uses left; `notFound` if the log lacks
  ///   it so far.
  package mutating func finishJoining(
    _ capsule: InvitationCapsule, with secret: InviteSecret, person: PersonID, personName: String,
    deviceName: String, nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: capsule.group)
    guard try controlZone(of: capsule.group).reached.covers(capsule.controlFrontier) else {
      throw SyncError(
        .notFound,
        "the folder still lacks files that \(capsule.inviterName) had when inviting: "
          + "wait until they have arrived, then join again")
    }
    if membership.isActive(device) {
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
    if let closer = try closer(of: id, in: capsule.group) {
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
      invite: id, person: person, personName: personName, device: card(named: deviceName),
      proof: [])
    join.proof = secret.sign(Membership.joinHash(of: join, group: capsule.group))
    try perform([.join(join)], in: capsule.group, nowMilliseconds: nowMilliseconds)
  }
}

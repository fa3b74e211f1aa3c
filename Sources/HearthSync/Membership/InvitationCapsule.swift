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

  /// The application that the group belongs to.
  ///
  /// The value is a hint: the group's founding decides.
  package var application = ApplicationIdentifier.household

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
    application.encode(into: &writer)
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
    let limit = ControlLimits.maximumNameBytes
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
      "zones", itemBytes: 50, atMost: ControlLimits.maximumItems)
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
    application = try ApplicationIdentifier(from: &reader)
    try reader.finish()
  }

  private static func zone(from reader: inout ByteReader) throws -> ZoneGrant {
    let id = try reader.identifier("zone")
    guard let kind = ZoneKind(rawValue: try reader.byte("zone kind")) else {
      throw CodecError(.unknown, "zone kind", offset: reader.offset)
    }
    let name = try reader.text("zone name", atMost: ControlLimits.maximumNameBytes)
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

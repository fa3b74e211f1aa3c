import HearthCRDT

/// What a person may do in a group.
package enum Role: UInt8, Sendable, CaseIterable {
  /// Sees, changes nothing.
  case reader = 0
  /// Completes and proposes.
  case child = 1
  /// Reads and writes.
  case member = 2
  /// Also invites and removes those below.
  case admin = 3
  /// The one who answers for the group.
  case owner = 4

  /// The word people use.
  package var name: String {
    switch self {
    case .reader: "reader"
    case .child: "child"
    case .member: "member"
    case .admin: "admin"
    case .owner: "owner"
    }
  }

  package init?(name: String) {
    guard let role = Role.allCases.first(where: { $0.name == name }) else { return nil }
    self = role
  }

  /// The place in the hierarchy; child and reader share one.
  package var rank: Int { self == .reader ? 1 : Int(rawValue) }
}

/// A device's public half, as it is enrolled.
package struct DeviceCard: Equatable, Sendable {
  package let signKey: [UInt8]
  package let boxKey: [UInt8]
  package let name: String

  package init(signKey: [UInt8], boxKey: [UInt8], name: String) {
    self.signKey = signKey
    self.boxKey = boxKey
    self.name = name
  }
}

/// One membership operation: the body of an event in a group's control zone.
package enum ControlOperation: Equatable, Sendable {
  /// Creates the group; its hash is the group's id.
  case genesis(Genesis)
  /// Announces a key of a zone and hands it to devices.
  case epoch(EpochGrant)
  /// Lets somebody who holds the invitation's secret join.
  case inviteCreate(InviteCreate)
  /// Ends an invitation.
  case inviteClose(invite: Identifier)
  /// Makes the author's device a device of the group.
  case join(Join)
  /// Tells that the author's device starts a new life.
  case incarnate(Incarnate)
  /// An operation of a newer version: kept, forwarded, not understood.
  case unknown(kind: UInt8)

  package struct Genesis: Equatable, Sendable {
    /// A zone that exists from the start.
    package struct ZoneDeclaration: Equatable, Sendable {
      package let id: ZoneID
      package let name: String

      package init(id: ZoneID, name: String) {
        self.id = id
        self.name = name
      }
    }

    package let nonce: Identifier
    package let database: DatabaseKind
    package let controlZone: ZoneID
    package let zones: [ZoneDeclaration]
    package let founder: PersonID
    package let founderName: String
    package let device: DeviceCard
    package let createdMilliseconds: UInt64

    package init(
      nonce: Identifier, database: DatabaseKind, controlZone: ZoneID, zones: [ZoneDeclaration],
      founder: PersonID, founderName: String, device: DeviceCard, createdMilliseconds: UInt64
    ) {
      self.nonce = nonce
      self.database = database
      self.controlZone = controlZone
      self.zones = zones
      self.founder = founder
      self.founderName = founderName
      self.device = device
      self.createdMilliseconds = createdMilliseconds
    }
  }

  package struct EpochGrant: Equatable, Sendable {
    /// The key sealed to one device.
    package struct Wrap: Equatable, Sendable {
      package let device: DeviceID
      package let sealed: [UInt8]

      package init(device: DeviceID, sealed: [UInt8]) {
        self.device = device
        self.sealed = sealed
      }
    }

    package let zone: ZoneID
    package let epoch: [UInt8]
    package let previous: [[UInt8]]
    package let wraps: [Wrap]

    package init(zone: ZoneID, epoch: [UInt8], previous: [[UInt8]], wraps: [Wrap]) {
      self.zone = zone
      self.epoch = epoch
      self.previous = previous
      self.wraps = wraps
    }
  }

  package struct InviteCreate: Equatable, Sendable {
    package let invite: Identifier
    package let signKey: [UInt8]
    package let boxKey: [UInt8]
    package let role: Role
    package let maximumUses: Int
    package let expiresMilliseconds: UInt64

    package init(
      invite: Identifier, signKey: [UInt8], boxKey: [UInt8], role: Role, maximumUses: Int,
      expiresMilliseconds: UInt64
    ) {
      self.invite = invite
      self.signKey = signKey
      self.boxKey = boxKey
      self.role = role
      self.maximumUses = maximumUses
      self.expiresMilliseconds = expiresMilliseconds
    }
  }

  package struct Join: Equatable, Sendable {
    package let invite: Identifier
    package let person: PersonID
    package let personName: String
    package let device: DeviceCard
    /// The invitation key's signature over the group and everything above.
    package var proof: [UInt8]

    package init(
      invite: Identifier, person: PersonID, personName: String, device: DeviceCard, proof: [UInt8]
    ) {
      self.invite = invite
      self.person = person
      self.personName = personName
      self.device = device
      self.proof = proof
    }
  }

  package struct Incarnate: Equatable, Sendable {
    /// The life that ends; what it wrote before counts.
    package let previous: UInt64
    package let reason: String

    package init(previous: UInt64, reason: String) {
      self.previous = previous
      self.reason = reason
    }
  }
}

// MARK: - As records

extension ControlOperation {
  /// The type of the events that carry operations.
  package static let type = TypeID.event(1, keepsCause: true)
  /// The field that holds an operation's bytes.
  package static let bodyField = FieldID(.register, 1)
  /// The longest name of a person, device or zone, in bytes.
  package static let maximumNameBytes = 256
  /// The most zones of a group, and wraps of one grant.
  package static let maximumItems = 1_024

  /// The operation that an event carries; nil if its bytes are not one.
  package init?(_ event: EventState) {
    guard case .bytes(let body) = event[ControlOperation.bodyField],
      let operation = try? ControlOperation(decoding: body)
    else { return nil }
    self = operation
  }
}

// MARK: - Bytes

extension ControlOperation {
  /// The canonical bytes: a kind, then the fields in order.
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    switch self {
    case .genesis(let genesis):
      writer.byte(1)
      genesis.encode(into: &writer)
    case .epoch(let grant):
      writer.byte(2)
      grant.encode(into: &writer)
    case .inviteCreate(let invite):
      writer.byte(3)
      writer.identifier(invite.invite)
      writer.raw(invite.signKey)
      writer.raw(invite.boxKey)
      writer.byte(invite.role.rawValue)
      writer.varint(invite.maximumUses)
      writer.fixed64(invite.expiresMilliseconds)
    case .inviteClose(let invite):
      writer.byte(4)
      writer.identifier(invite)
    case .join(let join):
      writer.byte(5)
      writer.raw(join.request)
      writer.raw(join.proof)
    case .incarnate(let incarnate):
      writer.byte(6)
      writer.fixed64(incarnate.previous)
      writer.text(incarnate.reason)
    case .unknown(let kind):
      writer.byte(kind)
    }
    return writer.bytes
  }

  /// Reads an operation; one of an unknown kind is recognised as such.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    let kind = try reader.byte("operation kind")
    switch kind {
    case 1: self = .genesis(try Genesis(from: &reader))
    case 2: self = .epoch(try EpochGrant(from: &reader))
    case 3: self = .inviteCreate(try InviteCreate(from: &reader))
    case 4: self = .inviteClose(invite: try reader.identifier("invite"))
    case 5: self = .join(try Join(from: &reader))
    case 6:
      self = .incarnate(
        Incarnate(
          previous: try reader.fixed64("previous incarnation"),
          reason: try reader.text("reason", atMost: ControlOperation.maximumNameBytes)))
    default:
      self = .unknown(kind: kind)
      return
    }
    try reader.finish()
  }
}

extension ControlOperation.Genesis {
  fileprivate func encode(into writer: inout ByteWriter) {
    writer.identifier(nonce)
    writer.byte(database.rawValue)
    writer.identifier(controlZone)
    writer.varint(zones.count)
    for zone in zones {
      writer.identifier(zone.id)
      writer.text(zone.name)
    }
    writer.identifier(founder)
    writer.text(founderName)
    device.encode(into: &writer)
    writer.fixed64(createdMilliseconds)
  }

  fileprivate init(from reader: inout ByteReader) throws(CodecError) {
    nonce = try reader.identifier("nonce")
    let start = reader.offset
    guard let database = DatabaseKind(rawValue: try reader.byte("database")) else {
      throw CodecError(.unknown, "database", offset: start)
    }
    self.database = database
    controlZone = try reader.identifier("control zone")
    let number = try reader.count(
      "zones", itemBytes: 17, atMost: ControlOperation.maximumItems)
    var zones: [ZoneDeclaration] = []
    for _ in 0..<number {
      let id = try reader.identifier("zone")
      zones.append(ZoneDeclaration(id: id, name: try reader.name("zone name")))
    }
    self.zones = zones
    founder = try reader.identifier("founder")
    founderName = try reader.name("founder's name")
    device = try DeviceCard(from: &reader)
    createdMilliseconds = try reader.fixed64("created")
  }
}

extension ControlOperation.EpochGrant {
  fileprivate func encode(into writer: inout ByteWriter) {
    writer.identifier(zone)
    writer.raw(epoch)
    writer.varint(previous.count)
    for id in previous { writer.raw(id) }
    writer.varint(wraps.count)
    for wrap in wraps {
      writer.identifier(wrap.device)
      writer.blob(wrap.sealed)
    }
  }

  fileprivate init(from reader: inout ByteReader) throws(CodecError) {
    zone = try reader.identifier("zone")
    epoch = try reader.raw(32, "epoch")
    var previous: [[UInt8]] = []
    for _ in 0..<(try reader.count("previous epochs", itemBytes: 32, atMost: 16)) {
      previous.append(try reader.raw(32, "previous epoch"))
    }
    self.previous = previous
    var wraps: [Wrap] = []
    let number = try reader.count(
      "wraps", itemBytes: 17, atMost: ControlOperation.maximumItems)
    for _ in 0..<number {
      let device = try reader.identifier("device")
      wraps.append(Wrap(device: device, sealed: try reader.blob("wrap", atMost: 256)))
    }
    self.wraps = wraps
  }
}

extension ControlOperation.InviteCreate {
  fileprivate init(from reader: inout ByteReader) throws(CodecError) {
    invite = try reader.identifier("invite")
    signKey = try reader.raw(32, "invite sign key")
    boxKey = try reader.raw(32, "invite box key")
    let start = reader.offset
    guard let role = Role(rawValue: try reader.byte("role")) else {
      throw CodecError(.unknown, "role", offset: start)
    }
    self.role = role
    maximumUses = try reader.varint("uses", atMost: 1_000)
    expiresMilliseconds = try reader.fixed64("expiry")
  }
}

extension ControlOperation.Join {
  /// The bytes that the invitation's key signs: the whole request, its keys included.
  package var request: [UInt8] {
    var writer = ByteWriter()
    writer.identifier(invite)
    writer.identifier(person)
    writer.text(personName)
    device.encode(into: &writer)
    return writer.bytes
  }

  fileprivate init(from reader: inout ByteReader) throws(CodecError) {
    invite = try reader.identifier("invite")
    person = try reader.identifier("person")
    personName = try reader.name("person's name")
    device = try DeviceCard(from: &reader)
    proof = try reader.raw(64, "proof")
  }
}

extension DeviceCard {
  fileprivate func encode(into writer: inout ByteWriter) {
    writer.raw(signKey)
    writer.raw(boxKey)
    writer.text(name)
  }

  fileprivate init(from reader: inout ByteReader) throws(CodecError) {
    signKey = try reader.raw(32, "sign key")
    boxKey = try reader.raw(32, "box key")
    name = try reader.name("device's name")
  }
}

extension ByteReader {
  fileprivate mutating func name(_ item: String) throws(CodecError) -> String {
    try text(item, atMost: ControlOperation.maximumNameBytes)
  }
}

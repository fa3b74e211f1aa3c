import HearthCRDT

// Payloads of control operations, beginning with the genesis and invitations.
extension ControlOperation {
  /// The creation of a group.
  package struct Genesis: ControlCodable {
    /// A zone that exists from the start.
    package struct ZoneDeclaration: ControlCodable {
      package let id: ZoneID
      package let name: String

      package init(id: ZoneID, name: String) {
        self.id = id
        self.name = name
      }

      package static let codec = ControlCodec(
        Self.init, (\.id, .identifier("zone")), (\.name, .name("zone name")))
    }

    package let nonce: Identifier
    package let database: DatabaseKind
    package let controlZone: ZoneID
    package let zones: [ZoneDeclaration]
    package let founder: PersonID
    package let founderName: String
    package let device: DeviceCard
    package let createdMilliseconds: UInt64
    /// The application that the group belongs to.
    package let application: ApplicationIdentifier

    package init(
      nonce: Identifier, database: DatabaseKind, controlZone: ZoneID, zones: [ZoneDeclaration],
      founder: PersonID, founderName: String, device: DeviceCard, createdMilliseconds: UInt64,
      application: ApplicationIdentifier = .household
    ) {
      self.nonce = nonce
      self.database = database
      self.controlZone = controlZone
      self.zones = zones
      self.founder = founder
      self.founderName = founderName
      self.device = device
      self.createdMilliseconds = createdMilliseconds
      self.application = application
    }

    package static let codec = ControlCodec(
      Self.init, (\.nonce, .identifier("nonce")), (\.database, .choice("database")),
      (\.controlZone, .identifier("control zone")),
      (\.zones, .list("zones", itemBytes: 17, of: ZoneDeclaration.codec)),
      (\.founder, .identifier("founder")), (\.founderName, .name("founder's name")),
      (\.device, DeviceCard.codec), (\.createdMilliseconds, .fixed64("created")),
      (\.application, ApplicationIdentifier.codec))
  }

  /// The manner in which a holder of an invitation's secret joins.
  package enum Admission: UInt8, Sendable {
    /// At once: the invitation contains the keys.
    case auto = 0
    /// After the approval of an owner or admin.
    case approve = 1
  }

  /// An invitation, with its public keys and its terms.
  package struct InviteCreate: ControlCodable {
    package let invite: Identifier
    package let signKey: [UInt8]
    package let boxKey: [UInt8]
    package var admission = Admission.auto
    package let role: Role
    /// The only person that it admits, with a further device or again; nil for any new person.
    package var person: PersonID?
    package let maximumUses: Int
    package let expiresMilliseconds: UInt64

    package init(
      invite: Identifier, signKey: [UInt8], boxKey: [UInt8], admission: Admission = .auto,
      role: Role, person: PersonID? = nil, maximumUses: Int, expiresMilliseconds: UInt64
    ) {
      self.invite = invite
      self.signKey = signKey
      self.boxKey = boxKey
      self.admission = admission
      self.role = role
      self.person = person
      self.maximumUses = maximumUses
      self.expiresMilliseconds = expiresMilliseconds
    }

    package static let codec = ControlCodec(
      Self.init, (\.invite, .identifier("invite")), (\.signKey, .raw(32, "invite sign key")),
      (\.boxKey, .raw(32, "invite box key")), (\.admission, .choice("admission")),
      (\.role, .choice("role")), (\.person, .identifier("invited person")),
      (\.maximumUses, .number("uses", atMost: 1_000)), (\.expiresMilliseconds, .fixed64("expiry")))
  }

  /// A request to join by an invitation.
  package struct Join: ControlCodable {
    package let invite: Identifier
    package let person: PersonID
    package let personName: String
    package let device: DeviceCard
    /// The invitation key's signature over the group and all fields above.
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

    package static let codec = ControlCodec(
      Self.init, (\.invite, .identifier("invite")), (\.person, .identifier("person")),
      (\.personName, .name("person's name")), (\.device, DeviceCard.codec),
      (\.proof, .raw(64, "proof")))

    /// The bytes that the invitation's key signs: the whole request, including its keys.
    package var request: [UInt8] { Array(encoded.dropLast(proof.count)) }
  }

  /// The approval of a request to join.
  package struct Admit: ControlCodable {
    /// The newcomer's request.
    package let join: Join
    /// The new device's signature over the same bytes: it proves possession of the keys.
    package let possession: [UInt8]

    package init(join: Join, possession: [UInt8]) {
      self.join = join
      self.possession = possession
    }

    package static let codec = ControlCodec(
      Self.init, (\.join, Join.codec), (\.possession, .raw(64, "possession")))
  }

  // MARK: Recovery words

  /// The public halves of a person's recovery words.
  package struct RecoveryKeys: ControlCodable {
    package let sign: [UInt8]
    package let box: [UInt8]
    /// The zones' secrets, sealed to the box key.
    package let secrets: [SealedSecret]

    package init(sign: [UInt8], box: [UInt8], secrets: [SealedSecret]) {
      self.sign = sign
      self.box = box
      self.secrets = secrets
    }

    package static let codec = ControlCodec(
      Self.init, (\.sign, .raw(32, "recovery sign key")), (\.box, .raw(32, "recovery box key")),
      (\.secrets, SealedSecret.list))
  }

  /// A zone's constant secret, sealed.
  package struct SealedSecret: ControlCodable {
    package let zone: ZoneID
    package let sealed: [UInt8]

    package init(zone: ZoneID, sealed: [UInt8]) {
      self.zone = zone
      self.sealed = sealed
    }

    package static let codec = ControlCodec(
      Self.init, (\.zone, .identifier("zone of a secret")), (\.sealed, .sealed("zone secret")))

    static let list: ControlCodec<[SealedSecret]> = .sorted(
      "zone secrets", itemBytes: 17, of: codec
    ) { $0.zone < $1.zone }
  }

  /// The second consent to new recovery words, in addition to the author's device.
  package enum Consent: Equatable, Sendable {
    /// The old recovery key.
    case recovery(signature: [UInt8])
    /// A second device of the person.
    case device(DeviceID, signature: [UInt8])

    static let codec = ControlCodec<Consent> { consent, writer in
      switch consent {
      case .recovery(let signature):
        writer.byte(0)
        writer.raw(signature)
      case .device(let device, let signature):
        writer.byte(1)
        writer.identifier(device)
        writer.raw(signature)
      }
    } read: { reader throws(CodecError) in
      guard try reader.flag("consent") else {
        return .recovery(signature: try reader.raw(64, "recovery signature"))
      }
      let device = try reader.identifier("second device")
      return .device(device, signature: try reader.raw(64, "second device's signature"))
    }
  }

  /// The enrolment of a device by recovery words.
  package struct Recover: ControlCodable {
    package let person: PersonID
    package let device: DeviceCard
    /// Whether all other devices of the person are revoked; the cut then limits their changes.
    package let revokesOthers: Bool
    package let cut: Cut
    /// The recovery key's signature over the group, the author's log position and all fields above.
    package var signature: [UInt8]

    package init(
      person: PersonID, device: DeviceCard, revokesOthers: Bool, cut: Cut, signature: [UInt8]
    ) {
      self.person = person
      self.device = device
      self.revokesOthers = revokesOthers
      self.cut = cut
      self.signature = signature
    }

    package static let codec = ControlCodec(
      Self.init, (\.person, .identifier("person")), (\.device, DeviceCard.codec),
      (\.revokesOthers, .flag("revokes others")), (\.cut, Cut.codec),
      (\.signature, .raw(64, "recovery signature")))

    /// The bytes that the recovery key signs.
    package var signedBody: [UInt8] { Array(encoded.dropLast(signature.count)) }
  }
}

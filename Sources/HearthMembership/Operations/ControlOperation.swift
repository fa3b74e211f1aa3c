import HearthCRDT

/// One membership operation: the body of an event in a group's control zone.
///
/// Indirect, so that a copy is a pointer: a fold looks at each operation many times.
package indirect enum ControlOperation: Equatable, Sendable {
  /// Creates the group; its hash is the group's id.
  case genesis(Genesis)
  /// Announces a key of a zone and gives it to devices.
  case epoch(EpochGrant)
  /// Lets a holder of the invitation's secret join.
  case inviteCreate(InviteCreate)
  /// Ends an invitation.
  case inviteClose(invite: Identifier)
  /// Makes the author's device a device of the group.
  case join(Join)
  /// Announces that the author's device starts a new incarnation.
  case incarnate(Incarnate)
  /// Admits an applicant by an invitation that needs an approval.
  case admit(Admit)
  /// Ends a person's membership.
  case removeMember(RemoveMember)
  /// Ends a device's membership; its person stays.
  case revokeDevice(RevokeDevice)
  /// Gives a person another role.
  case setRole(SetRole)
  /// Offers the ownership of the group to another person.
  case transferOwner(TransferOwner)
  /// Accepts an ownership offer, named by the id of its event.
  case acceptOwner(transfer: RecordID)
  /// Ends the author's own membership.
  case leave(Cut)
  /// Sets the public keys of the author's recovery words.
  case setRecovery(RecoveryKeys)
  /// Replaces the public keys of the author's recovery words.
  case rotateRecovery(RotateRecovery)
  /// Enrols the author's device with a person's recovery words.
  case recover(Recover)
  /// Proves a fork with two contradicting segments of one author.
  case forkProof(ForkProof)
  /// Reports that the author has written the changes of a removed device again.
  case adopt(Adopt)
  /// Reports that the author cannot open the key from an epoch.
  case complaint(Complaint)
  /// Gives the key of an epoch to further devices.
  case wrapAdd(WrapAdd)
  /// Sets the policy of the group.
  case setPolicy(Policy)
  /// Reports the frontiers of the author's device.
  case heartbeat([ZoneFrontier])
  /// Publishes a part of a sealed segment of a forked log of the control zone.
  case branch(BranchPart)
  /// Makes joins and ownership handovers final, named by the ids of their operations.
  case confirm([RecordID])
  /// Attests the content of a zone of records at one point.
  case snapshotAttest(ZoneDigest)
  /// Reports the content of a zone of records on the author's device at one point.
  case zoneDigest(ZoneDigest)
  /// An operation of a newer version: kept and forwarded, but not interpreted.
  case unknown(kind: UInt8)
}

// MARK: - As records

extension ControlOperation {
  /// The type of the events that contain operations.
  package static let type = TypeID.event(1, keepsCause: true)
  /// The field that holds an operation's bytes.
  package static let bodyField = FieldID(.register, 1)
  /// The field that holds the chain hashes of the changes that the operation's change newly saw.
  package static let citationField = FieldID(.register, 2)
  /// The field of a recovery that holds the public sign key of the recovery words that it shows.
  package static let wordsField = FieldID(.register, 3)

  /// The operation in an event; nil if its bytes are not an operation.
  package init?(_ event: EventState) {
    guard case .bytes(let body) = event[ControlOperation.bodyField],
      let operation = try? ControlOperation(decoding: body)
    else { return nil }
    self = operation
  }

  /// The kinds that queries search for.
  package enum Kind: UInt8, Sendable {
    case epoch = 2
    case incarnate = 6
    case removeMember = 8
    case revokeDevice = 9
    case setRole = 10
    case acceptOwner = 12
    case leave = 13
    case setRecovery = 14
    case rotateRecovery = 15
    case recover = 16
    case forkProof = 17
    case adopt = 18
    case complaint = 19
    case wrapAdd = 20
    case setPolicy = 21
    case heartbeat = 22
    case snapshotAttest = 25
    case zoneDigest = 26
  }

  /// The person that it admits, also for a further device; nil if it admits nobody.
  var comer: PersonID? {
    switch self {
    case .genesis(let genesis): genesis.founder
    case .recover(let recover): recover.person
    default: joining?.person
    }
  }

  var invitation: Identifier? {
    switch self {
    case .inviteCreate(let invite): invite.invite
    case .inviteClose(let invite): invite
    default: joining?.invite
    }
  }

  var joining: Join? {
    switch self {
    case .join(let join): join
    case .admit(let admit): admit.join
    default: nil
    }
  }

  /// The name of the person as whom its device joins; empty for any other operation.
  var personName: String {
    if case .genesis(let genesis) = self { return genesis.founderName }
    return joining?.personName ?? ""
  }

  /// Whether it makes or withdraws an ownership offer.
  var isOffer: Bool { if case .transferOwner = self { true } else { false } }

  /// Whether it gives a person another role.
  var isRoleChange: Bool { if case .setRole = self { true } else { false } }

  /// Whether a person or device may no longer read after it.
  var mayExpose: Bool {
    switch self {
    case .removeMember, .leave, .revokeDevice, .inviteClose, .join: true
    case .recover(let recover): recover.revokesOthers
    default: false
    }
  }

  /// The cut of an operation that takes something away: how far its author knew the logs.
  var cut: Cut? {
    switch self {
    case .removeMember(let removal): removal.cut
    case .revokeDevice(let revocation): revocation.cut
    case .leave(let cut): cut
    case .recover(let recover): recover.revokesOthers ? recover.cut : nil
    case .setRole(let change): change.cut
    default: nil
    }
  }

  var words: RecoveryKeys? {
    switch self {
    case .setRecovery(let keys): keys
    case .rotateRecovery(let rotation): rotation.keys
    default: nil
    }
  }

  /// Whether it replaces recovery words with the consent of the old words.
  var isSignedByWords: Bool {
    guard case .rotateRecovery(let rotation) = self, case .recovery = rotation.consent else {
      return false
    }
    return true
  }

  /// Whether devices write the operation by themselves and it lets nobody in, by itself or later.
  package var isUpkeep: Bool {
    switch self {
    case .epoch, .wrapAdd, .inviteClose, .heartbeat, .complaint, .confirm, .zoneDigest: true
    default: false
    }
  }

  var card: DeviceCard? {
    switch self {
    case .genesis(let genesis): genesis.device
    case .recover(let recover): recover.device
    default: joining?.device
    }
  }

  /// Whether the operation leaves its own author's status unchanged, with effect or without.
  func leavesAuthor(_ person: PersonID?) -> Bool {
    switch self {
    case .heartbeat, .epoch, .wrapAdd, .complaint, .confirm, .branch, .forkProof, .adopt,
      .setPolicy, .inviteCreate, .inviteClose, .setRecovery, .rotateRecovery, .zoneDigest:
      true
    case .setRole(let change): change.person != person
    case .removeMember(let removal): removal.person != person
    default: false
    }
  }

  /// The order of the operations in one change: joins, closes, operations about people, keys.
  package var phase: Int {
    switch self {
    case .genesis, .join, .recover: 0
    case .inviteClose: 1
    case .epoch, .wrapAdd: 3
    default: 2
    }
  }
}

// MARK: - Bytes

extension ControlOperation {
  private struct Form {
    let kind: UInt8
    let write: (inout ByteWriter) -> Void

    init(_ kind: UInt8, _ payload: some ControlCodable) {
      self.kind = kind
      write = payload.encode
    }

    init<Payload>(_ kind: UInt8, _ payload: Payload, _ codec: ControlCodec<Payload>) {
      self.kind = kind
      write = { codec.write(payload, &$0) }
    }
  }

  private static let invite = ControlCodec<Identifier>.identifier("invite")
  private static let transfer = ControlCodec<RecordID>.identifier("transfer")
  private static let frontiers = ControlCodec<[ZoneFrontier]>.list(
    "frontiers", itemBytes: 17, of: ZoneFrontier.codec)
  /// The ids of the confirmed operations, strictly rising.
  private static let targets = ControlCodec<[RecordID]>.sorted(
    "confirmed operations", itemBytes: Identifier.byteCount, of: .identifier("confirmed operation"),
    by: <)

  private var form: Form {
    switch self {
    case .genesis(let genesis): Form(1, genesis)
    case .epoch(let grant): Form(2, grant)
    case .inviteCreate(let invite): Form(3, invite)
    case .inviteClose(let id): Form(4, id, ControlOperation.invite)
    case .join(let join): Form(5, join)
    case .incarnate(let incarnate): Form(6, incarnate)
    case .admit(let admit): Form(7, admit)
    case .removeMember(let removal): Form(8, removal)
    case .revokeDevice(let revocation): Form(9, revocation)
    case .setRole(let change): Form(10, change)
    case .transferOwner(let transfer): Form(11, transfer)
    case .acceptOwner(let id): Form(12, id, ControlOperation.transfer)
    case .leave(let cut): Form(13, cut)
    case .setRecovery(let keys): Form(14, keys)
    case .rotateRecovery(let rotation): Form(15, rotation)
    case .recover(let recover): Form(16, recover)
    case .forkProof(let proof): Form(17, proof)
    case .adopt(let adopt): Form(18, adopt)
    case .complaint(let complaint): Form(19, complaint)
    case .wrapAdd(let added): Form(20, added)
    case .setPolicy(let policy): Form(21, policy)
    case .heartbeat(let reached): Form(22, reached, ControlOperation.frontiers)
    case .branch(let part): Form(23, part)
    case .confirm(let confirmed): Form(24, confirmed, ControlOperation.targets)
    case .snapshotAttest(let attest): Form(25, attest)
    case .zoneDigest(let statement): Form(26, statement)
    case .unknown(let kind): Form(kind, [], .raw(0, "unknown"))
    }
  }

  /// The first byte of the encoding.
  package var kind: UInt8 { form.kind }

  /// The canonical bytes: the kind, then the fields in order.
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    let form = form
    writer.byte(form.kind)
    form.write(&writer)
    return writer.bytes
  }

  /// Decodes an operation; an unknown kind becomes `unknown`.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    let kind = try reader.byte("operation kind")
    switch kind {
    case 1: self = .genesis(try Genesis(from: &reader))
    case 2: self = .epoch(try EpochGrant(from: &reader))
    case 3: self = .inviteCreate(try InviteCreate(from: &reader))
    case 4: self = .inviteClose(invite: try ControlOperation.invite.read(&reader))
    case 5: self = .join(try Join(from: &reader))
    case 6: self = .incarnate(try Incarnate(from: &reader))
    case 7: self = .admit(try Admit(from: &reader))
    case 8: self = .removeMember(try RemoveMember(from: &reader))
    case 9: self = .revokeDevice(try RevokeDevice(from: &reader))
    case 10: self = .setRole(try SetRole(from: &reader))
    case 11: self = .transferOwner(try TransferOwner(from: &reader))
    case 12: self = .acceptOwner(transfer: try ControlOperation.transfer.read(&reader))
    case 13: self = .leave(try Cut(from: &reader))
    case 14: self = .setRecovery(try RecoveryKeys(from: &reader))
    case 15: self = .rotateRecovery(try RotateRecovery(from: &reader))
    case 16: self = .recover(try Recover(from: &reader))
    case 17: self = .forkProof(try ForkProof(from: &reader))
    case 18: self = .adopt(try Adopt(from: &reader))
    case 19: self = .complaint(try Complaint(from: &reader))
    case 20: self = .wrapAdd(try WrapAdd(from: &reader))
    case 21: self = .setPolicy(try Policy(from: &reader))
    case 22: self = .heartbeat(try ControlOperation.frontiers.read(&reader))
    case 23: self = .branch(try BranchPart(from: &reader))
    case 24: self = .confirm(try ControlOperation.targets.read(&reader))
    case 25: self = .snapshotAttest(try ZoneDigest(from: &reader))
    case 26: self = .zoneDigest(try ZoneDigest(from: &reader))
    default:
      self = .unknown(kind: kind)
      return
    }
    try reader.finish()
  }
}

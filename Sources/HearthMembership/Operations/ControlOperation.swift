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
  /// Announces that the author's device starts a new incarnation, and which one ends; the earlier
  /// operations of that one keep their effect.
  case incarnate(previous: UInt64, reason: String)
  /// Admits an applicant by an invitation that needs an approval.
  case admit(Admit)
  /// Ends a person's membership.
  case removeMember(person: PersonID, cut: Cut)
  /// Ends a device's membership; its person stays.
  case revokeDevice(device: DeviceID, cut: Cut)
  /// Gives a person another role; beyond the cut of the person's logs the lower role applies.
  case setRole(person: PersonID, role: Role, cut: Cut)
  /// Offers the ownership of the group to another person, whose id the owner's recovery key signs.
  case transferOwner(to: PersonID, signature: [UInt8])
  /// Accepts an ownership offer, named by the id of its event.
  case acceptOwner(transfer: RecordID)
  /// Ends the author's own membership.
  case leave(Cut)
  /// Sets the public keys of the author's recovery words.
  case setRecovery(RecoveryKeys)
  /// Replaces the public keys of the author's recovery words, whose bytes the consenting key signs.
  case rotateRecovery(keys: RecoveryKeys, consent: Consent)
  /// Enrols the author's device with a person's recovery words.
  case recover(Recover)
  /// Proves a fork with two contradicting sealed segments of one author, the smaller digest first.
  case forkProof(zone: ZoneID, author: Author, first: [UInt8], second: [UInt8])
  /// Reports that the author has written the changes of a removed device again.
  case adopt(zone: ZoneID, author: Author, first: UInt64, last: UInt64)
  /// Reports that the author cannot open the key of an epoch, or that this is the author's last
  /// usable key while later ones are in use.
  case complaint(zone: ZoneID, epoch: [UInt8], isLast: Bool)
  /// Gives the key of an epoch to further devices.
  case wrapAdd(zone: ZoneID, epoch: [UInt8], wraps: [Wrap])
  /// Sets the lowest accepted cipher suite for segments, which only rises, and what newcomers may
  /// read.
  case setPolicy(minimumSuite: UInt8, newcomers: Newcomers)
  /// Reports the frontiers of the author's device.
  case heartbeat([ZoneFrontier])
  /// Publishes one of the parts, numbered from 0, of a sealed segment of a forked log of the
  /// control zone: the log's author, the digest of the whole segment, and the bytes of the part.
  case branch(author: Author, digest: Identifier, part: Int, parts: Int, bytes: [UInt8])
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

  /// The invitation that it makes.
  var made: InviteCreate? { if case .inviteCreate(let invite) = self { invite } else { nil } }

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
    case .removeMember(_, let cut), .revokeDevice(_, let cut), .leave(let cut),
      .setRole(_, _, let cut):
      cut
    case .recover(let recover): recover.revokesOthers ? recover.cut : nil
    default: nil
    }
  }

  var words: RecoveryKeys? {
    switch self {
    case .setRecovery(let keys), .rotateRecovery(let keys, _): keys
    default: nil
    }
  }

  /// Whether it replaces recovery words with the consent of the old words.
  var isSignedByWords: Bool {
    if case .rotateRecovery(_, .recovery) = self { true } else { false }
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
    case .setRole(let subject, _, _), .removeMember(let subject, _): subject != person
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

/// How the operations of one kind become bytes, whatever values they have.
private protocol OperationShape: Sendable {
  /// The first byte.
  var kind: UInt8 { get }

  /// Reads the values after the first byte.
  func read(_ reader: inout ByteReader) throws(CodecError) -> ControlOperation
}

extension ControlOperation {
  private typealias Form = (kind: UInt8, write: (inout ByteWriter) -> Void)

  /// One kind of operation: its first byte and the codecs of its values, in order.
  private struct Shape<each Part>: OperationShape {
    let kind: UInt8
    private let make: @Sendable (repeat each Part) -> ControlOperation
    private let codecs: (repeat ControlCodec<each Part>)
    private var check: (item: String, isCanonical: @Sendable (ControlOperation) -> Bool)?

    init(
      _ kind: UInt8, _ make: @escaping @Sendable (repeat each Part) -> ControlOperation,
      _ codecs: repeat ControlCodec<each Part>
    ) {
      self.kind = kind
      self.make = make
      self.codecs = (repeat each codecs)
    }

    /// The same shape with a condition on operations that are read.
    func checked(
      _ item: String, _ isCanonical: @escaping @Sendable (ControlOperation) -> Bool
    ) -> Self {
      var shape = self
      shape.check = (item, isCanonical)
      return shape
    }

    func callAsFunction(_ parts: repeat each Part) -> Form {
      (kind, { writer in repeat (each codecs).write(each parts, &writer) })
    }

    func read(_ reader: inout ByteReader) throws(CodecError) -> ControlOperation {
      let start = reader.offset
      let operation = make(repeat try (each codecs).read(&reader))
      if let check, !check.isCanonical(operation) {
        throw CodecError(.notCanonical, check.item, offset: start)
      }
      return operation
    }
  }

  private enum Shapes {
    static let genesis = Shape(1, ControlOperation.genesis, Genesis.codec)
    static let epoch = Shape(2, ControlOperation.epoch, EpochGrant.codec)
    static let inviteCreate = Shape(3, ControlOperation.inviteCreate, InviteCreate.codec)
    static let inviteClose = Shape(4, ControlOperation.inviteClose, .identifier("invite"))
    static let join = Shape(5, ControlOperation.join, Join.codec)
    static let incarnate = Shape(
      6, ControlOperation.incarnate, .fixed64("previous incarnation"), .name("reason"))
    static let admit = Shape(7, ControlOperation.admit, Admit.codec)
    static let removeMember = Shape(
      8, ControlOperation.removeMember, .identifier("person"), Cut.codec)
    static let revokeDevice = Shape(
      9, ControlOperation.revokeDevice, .identifier("device"), Cut.codec)
    static let setRole = Shape(
      10, ControlOperation.setRole, .identifier("person"), .choice("role"), Cut.codec)
    static let transferOwner = Shape(
      11, ControlOperation.transferOwner, .identifier("new owner"), .raw(64, "signature"))
    static let acceptOwner = Shape(12, ControlOperation.acceptOwner, .identifier("transfer"))
    static let leave = Shape(13, ControlOperation.leave, Cut.codec)
    static let setRecovery = Shape(14, ControlOperation.setRecovery, RecoveryKeys.codec)
    static let rotateRecovery = Shape(
      15, ControlOperation.rotateRecovery, RecoveryKeys.codec, Consent.codec)
    static let recover = Shape(16, ControlOperation.recover, Recover.codec)
    static let forkProof = Shape(
      17, ControlOperation.forkProof, .identifier("zone"), .author("forked author"),
      .blob("first segment", atMost: ControlLimits.maximumEvidenceBytes),
      .blob("second segment", atMost: ControlLimits.maximumEvidenceBytes))
    static let adopt = Shape(
      18, ControlOperation.adopt, .identifier("zone"), .author("adopted author"),
      .sequence("first adopted change"), .sequence("last adopted change")
    ).checked("last adopted change") {
      if case .adopt(_, _, let first, let last) = $0 { first <= last } else { false }
    }
    static let complaint = Shape(
      19, ControlOperation.complaint, .identifier("zone"), .raw(32, "epoch"), .flag("last key"))
    static let wrapAdd = Shape(
      20, ControlOperation.wrapAdd, .identifier("zone"), .raw(32, "epoch"), Wrap.list("wraps"))
    static let setPolicy = Shape(
      21, ControlOperation.setPolicy, .byte("minimum suite"), .choice("newcomers"))
    static let heartbeat = Shape(
      22, ControlOperation.heartbeat,
      .list("frontiers", itemBytes: 17, of: ZoneFrontier.codec))
    static let branch = Shape(
      23, ControlOperation.branch, .author("shown author"), .identifier("shown segment"),
      .number("part", atMost: ControlLimits.maximumParts - 1),
      .number("parts", atMost: ControlLimits.maximumParts),
      .blob("part of a segment", atMost: ControlLimits.maximumEvidenceBytes)
    ).checked("part") {
      if case .branch(_, _, let part, let parts, _) = $0 { part < parts } else { false }
    }
    /// The ids of the confirmed operations, strictly rising.
    static let confirm = Shape(
      24, ControlOperation.confirm,
      .sorted(
        "confirmed operations", itemBytes: Identifier.byteCount,
        of: .identifier("confirmed operation"), by: <))
    static let snapshotAttest = Shape(25, ControlOperation.snapshotAttest, ZoneDigest.codec)
    static let zoneDigest = Shape(26, ControlOperation.zoneDigest, ZoneDigest.codec)

    static let byKind: [UInt8: any OperationShape] = {
      let all: [any OperationShape] = [
        genesis, epoch, inviteCreate, inviteClose, join, incarnate, admit, removeMember,
        revokeDevice, setRole, transferOwner, acceptOwner, leave, setRecovery, rotateRecovery,
        recover, forkProof, adopt, complaint, wrapAdd, setPolicy, heartbeat, branch, confirm,
        snapshotAttest, zoneDigest,
      ]
      return Dictionary(uniqueKeysWithValues: all.map { ($0.kind, $0) })
    }()
  }

  private var form: Form {
    switch self {
    case .genesis(let genesis): Shapes.genesis(genesis)
    case .epoch(let grant): Shapes.epoch(grant)
    case .inviteCreate(let invite): Shapes.inviteCreate(invite)
    case .inviteClose(let invite): Shapes.inviteClose(invite)
    case .join(let join): Shapes.join(join)
    case .incarnate(let previous, let reason): Shapes.incarnate(previous, reason)
    case .admit(let admit): Shapes.admit(admit)
    case .removeMember(let person, let cut): Shapes.removeMember(person, cut)
    case .revokeDevice(let device, let cut): Shapes.revokeDevice(device, cut)
    case .setRole(let person, let role, let cut): Shapes.setRole(person, role, cut)
    case .transferOwner(let heir, let signature): Shapes.transferOwner(heir, signature)
    case .acceptOwner(let transfer): Shapes.acceptOwner(transfer)
    case .leave(let cut): Shapes.leave(cut)
    case .setRecovery(let keys): Shapes.setRecovery(keys)
    case .rotateRecovery(let keys, let consent): Shapes.rotateRecovery(keys, consent)
    case .recover(let recover): Shapes.recover(recover)
    case .forkProof(let zone, let author, let first, let second):
      Shapes.forkProof(zone, author, first, second)
    case .adopt(let zone, let author, let first, let last):
      Shapes.adopt(zone, author, first, last)
    case .complaint(let zone, let epoch, let isLast): Shapes.complaint(zone, epoch, isLast)
    case .wrapAdd(let zone, let epoch, let wraps): Shapes.wrapAdd(zone, epoch, wraps)
    case .setPolicy(let suite, let newcomers): Shapes.setPolicy(suite, newcomers)
    case .heartbeat(let reached): Shapes.heartbeat(reached)
    case .branch(let author, let digest, let part, let parts, let bytes):
      Shapes.branch(author, digest, part, parts, bytes)
    case .confirm(let confirmed): Shapes.confirm(confirmed)
    case .snapshotAttest(let attest): Shapes.snapshotAttest(attest)
    case .zoneDigest(let statement): Shapes.zoneDigest(statement)
    case .unknown(let kind): (kind, { _ in })
    }
  }

  /// The first byte of the encoding.
  package var kind: UInt8 { form.kind }

  /// The canonical bytes: the kind, then the values in order.
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
    guard let shape = Shapes.byKind[kind] else {
      self = .unknown(kind: kind)
      return
    }
    self = try shape.read(&reader)
    try reader.finish()
  }
}

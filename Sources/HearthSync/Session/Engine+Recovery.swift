import HearthCRDT
import HearthCrypto
import HearthMembership

/// How a person's recovery capsule stands on a transport.
package enum RecoveryCapsuleState: String, Sendable {
  /// It is there and says all that this device knows.
  case whole
  /// There is none.
  case missing
  /// Something else lies in its place, or what is there cannot be read.
  case damaged
  /// It lacks a household, a zone or a key.
  case outdated
  /// This device belongs to nothing that the words lead to.
  case unneeded

  /// Whether one has to be written.
  package var isFaulty: Bool { ![.whole, .unneeded].contains(self) }
}

/// Whose capsule it is, and what is needed to write it.
package struct CapsuleOwner {
  let person: PersonID
  let name: String
  let box: BoxPublicKey
  let access: RecoveryCapsuleAccess
  let attestation: [UInt8]

  /// - Parameters:
  ///   - box: the words' X25519 key.
  ///   - attestation: what the words signed of the private database in use.
  package init(
    person: PersonID, name: String, box: BoxPublicKey, access: RecoveryCapsuleAccess,
    attestation: [UInt8] = []
  ) {
    self.person = person
    self.name = name
    self.box = box
    self.access = access
    self.attestation = attestation
  }

  fileprivate var place: BlobName {
    get throws {
      guard let scope = Identifier(bytes: access.locator) else {
        throw SyncError(.malformed, "the locator of a recovery bundle is not an identifier")
      }
      return BlobName(kind: .capsule, scope: scope)
    }
  }
}

/// What lies on a transport where a recovery capsule belongs.
enum CapsuleFile {
  case none
  case bytes([UInt8])
  /// Something that cannot be read or is no file.
  case unusable
}

extension ReplicaTurns {
  /// How a person's recovery capsule stands on a transport; fetches it and changes nothing.
  ///
  /// - Throws: a transport's error that is not of the capsule; `tooLarge` for hundreds of groups.
  package func recoveryCapsuleState(
    of owner: CapsuleOwner, on transport: some Transport
  ) async throws -> RecoveryCapsuleState {
    let file = try await capsuleFile(of: owner, on: transport)
    return try turn { try $0.recoveryCapsule(of: owner, beside: file, isWanted: false).state }
  }

  /// Writes a person's recovery capsule where a transport has none that says enough.
  ///
  /// - Returns: how it stood before; one was written unless that is `whole` or `unneeded`.
  /// - Throws: a transport's error; `tooLarge` for hundreds of groups.
  @discardableResult
  package func giveRecoveryCapsule(
    of owner: CapsuleOwner, to transport: some Transport
  ) async throws -> RecoveryCapsuleState {
    let file = try await capsuleFile(of: owner, on: transport)
    let (state, sealed) = try turn {
      try $0.recoveryCapsule(of: owner, beside: file, isWanted: true)
    }
    if let sealed { try await transport.publish(owner.place, sealed) }
    return state
  }

  private func capsuleFile(
    of owner: CapsuleOwner, on transport: some Transport
  ) async throws -> CapsuleFile {
    do {
      return try await transport.fetch(owner.place).map { .bytes($0) } ?? .none
    } catch let error as TransportError where error.isOfFile {
      return .unusable
    }
  }
}

// What a recovery capsule says, and what a bare machine makes of it.
extension Engine {
  // MARK: Writing the capsule

  /// The groups in which a person has these recovery words, with their keys.
  ///
  /// - Parameters:
  ///   - box: the words' X25519 key.
  ///   - attestation: what the words signed of the private database in use.
  ///   - epochLimit: how many epochs of each zone are listed at most.
  ///   - isOutline: whether zeros stand in the place of the keys, since sealing takes 0.35 ms each.
  private func recoveryGroups(
    of person: PersonID, box: BoxPublicKey, attestation: [UInt8], epochLimit: Int, isOutline: Bool
  ) throws -> [RecoveryListing.Group] {
    let zeros = [UInt8](repeating: 0, count: RecoveryListing.sealedBytes)
    return try exchangedGroups.compactMap { group in
      let membership = membership(of: group)
      guard membership.people.contains(where: { $0.id == person }), membership.isActive(device),
        membership.recoveryKeys(of: person)?.box == box.bytes
      else { return nil }
      let own = zones.filter { $0.group == group }
        .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }
      return RecoveryListing.Group(
        id: group, database: try controlZone(of: group).database,
        name: own.first { $0.kind == .data }?.name ?? "",
        zones: try own.map { zone in
          let current = zone.currentEpoch
          let epochs = zone.epochs.filter { $0.id != current?.id } + [current].compactMap { $0 }
          return InvitationCapsule.ZoneGrant(
            id: zone.id, kind: zone.kind, name: zone.name, tag: zone.secret.zoneTag,
            sealedSecret: isOutline ? zeros : try zone.secret.seal(to: box),
            epochs: try epochs.suffix(epochLimit).map {
              ($0.id, isOutline ? zeros : try $0.sealKey(to: box))
            })
        }, attestation: group == privateGroup ? attestation : [])
    }
  }

  /// How a person's recovery capsule stands, and the one that is to take its place.
  ///
  /// What it says of other groups stays, since another device of the person may have written it,
  /// and a device that belongs nowhere any more writes nothing. Where there are too many epochs for
  /// a capsule, the latest are listed: each opens those before it, where newcomers may read them.
  /// Whether the keys in it are good nobody can tell who has not the words;
  /// ``RecoveryListing/fault(with:)`` does.
  ///
  /// - Parameters:
  ///   - file: what lies in its place.
  ///   - isWanted: whether one is to be made; sealing the keys costs 0.35 ms each.
  /// - Returns: how it stands; with a capsule, unless that is `whole` or `unneeded`.
  /// - Throws: `tooLarge` for hundreds of groups.
  func recoveryCapsule(
    of owner: CapsuleOwner, beside file: CapsuleFile, isWanted: Bool
  ) throws -> (state: RecoveryCapsuleState, sealed: [UInt8]?) {
    let found = try examineCapsule(of: owner, file)
    guard isWanted, found.state.isFaulty,
      let whole = try listing(
        of: owner, beside: found.theirs, epochLimit: found.epochLimit, isOutline: false)
    else { return (found.state, nil) }
    return (found.state, try RecoveryCapsule.seal(whole.encoded, with: owner.access))
  }

  /// What a capsule says of groups, and how it stands beside what this device knows.
  private func examineCapsule(
    of owner: CapsuleOwner, _ file: CapsuleFile
  ) throws -> (state: RecoveryCapsuleState, theirs: [RecoveryListing.Group], epochLimit: Int) {
    var state = RecoveryCapsuleState.missing
    var theirs: [RecoveryListing.Group] = []
    switch file {
    case .none: break
    case .unusable: state = .damaged
    case .bytes(let bytes):
      // Whatever is wrong with the one that is there, a good one takes its place.
      let present = (try? RecoveryCapsule.open(bytes, with: owner.access))
        .flatMap { try? RecoveryListing(decoding: $0) }
      state = present?.person == owner.person ? .whole : .damaged
      if state == .whole { theirs = present?.groups ?? [] }
    }
    for epochLimit in [RecoveryListing.maximumEpochs, 64, 16, 4, 1] {
      guard
        let outline = try listing(
          of: owner, beside: theirs, epochLimit: epochLimit, isOutline: true)
      else { return (.unneeded, theirs, epochLimit) }
      guard outline.encoded.count <= RecoveryCapsule.maximumBodyBytes else { continue }
      let isEnough =
        outline.groups.allSatisfy { group in theirs.contains { $0.covers(group) } }
        && theirs.count == outline.groups.count || Mutant.capsuleStaysOld.isActive
      return (state == .whole && !isEnough ? .outdated : state, theirs, epochLimit)
    }
    throw SyncError(.tooLarge, "a recovery bundle cannot hold that many households: leave one")
  }

  /// What a capsule is to say; nil where this device belongs to nothing that the words lead to.
  private func listing(
    of owner: CapsuleOwner, beside theirs: [RecoveryListing.Group], epochLimit: Int,
    isOutline: Bool
  ) throws -> RecoveryListing? {
    let own = try recoveryGroups(
      of: owner.person, box: owner.box, attestation: owner.attestation, epochLimit: epochLimit,
      isOutline: isOutline)
    guard !own.isEmpty else { return nil }
    let foreign = theirs.filter { group in
      !own.contains { $0.id == group.id }
        && !zones.contains { $0.group == group.id && isRetired($0) }
    }
    let groups = (own + foreign).sorted { $0.id < $1.id }.prefix(RecoveryListing.maximumGroups)
    return RecoveryListing(person: owner.person, personName: owner.name, groups: Array(groups))
  }

  // MARK: Reading on a bare machine

  /// Begins to recover a group: adds the zones whose secrets the words open.
  ///
  /// A key that does not open is passed over, as the group's log hands on every later one.
  ///
  /// - Throws: `notAuthentic` if there is no way into the group's log.
  package mutating func beginRecovering(
    _ group: RecoveryListing.Group, with root: RecoveryRoot
  ) throws {
    let grants = group.zones.compactMap { zone -> InvitationCapsule.ZoneGrant? in
      guard (try? root.openZoneSecret(zone.sealedSecret, expectingTag: zone.tag)) != nil else {
        return nil
      }
      return InvitationCapsule.ZoneGrant(
        id: zone.id, kind: zone.kind, name: zone.name, tag: zone.tag,
        sealedSecret: zone.sealedSecret,
        epochs: zone.epochs.filter { epoch in
          let key = try? root.openEpochKey(
            epoch.sealed, expectingID: epoch.id, groupID: group.id.bytes, zoneID: zone.id.bytes)
          return key != nil
        })
    }
    guard grants.contains(where: { $0.kind == .control && !$0.epochs.isEmpty }) else {
      throw SyncError(
        .notAuthentic, "the recovery bundle does not open \(group.name): somebody forged it")
    }
    try take(grants, of: group.id, group.database, with: root.boxPair)
  }

  /// Takes the keys and zones of a group that its log hands to a person's recovery words.
  ///
  /// - Returns: whether there were new ones; then more of the log may be readable.
  package mutating func takeRecoveryKeys(
    of group: GroupID, for person: PersonID, with root: RecoveryRoot
  ) throws -> Bool {
    var draft = self
    var isNew = false
    try store.transaction {
      draft = self
      isNew = try draft.addRecoveredZones(of: group, for: person, with: root)
      let membership = draft.membership(of: group)
      let listed = draft.zones.filter { $0.group == group }
        .flatMap { membership.epochs(of: $0.id).map(\.grant) }
      for grant in listed + (try draft.waitingGrants(of: group)) {
        guard let place = draft.zones.firstIndex(where: { $0.id == grant.zone }),
          draft.zones[place].group == group, draft.zones[place].epoch(id: grant.epoch) == nil,
          let wrap = grant.recovery.first(where: { $0.recipient == person }),
          let key = try? root.openEpochKey(
            wrap.sealed, expectingID: grant.epoch, groupID: group.bytes,
            zoneID: grant.zone.bytes)
        else { continue }
        try draft.learn([key], at: place)
        isNew = true
      }
      if isNew { try draft.refreshMembership(of: group) }
    }
    self = draft
    return isNew
  }

  /// Adds zones that the genesis declares and whose secret the person's words were given.
  private mutating func addRecoveredZones(
    of group: GroupID, for person: PersonID, with root: RecoveryRoot
  ) throws -> Bool {
    let membership = membership(of: group)
    guard let genesis = membership.genesis, let keys = membership.recoveryKeys(of: person),
      keys.box == root.publicKeys.box
    else { return false }
    var isNew = false
    for zone in genesis.zones where !zones.contains(where: { $0.id == zone.id }) {
      guard let sealed = keys.secrets.first(where: { $0.zone == zone.id })?.sealed,
        let secret = try? ZoneSecret(secret: SealedBox.openKey(sealed, with: root.boxPair))
      else { continue }
      try add(
        zone: zone.id, of: group, kind: .data, database: genesis.database, name: zone.name,
        secret: secret, epochs: [])
      isNew = true
    }
    return isNew
  }

  /// The grants in segments of the control zone that wait for what came before them, or for what
  /// vouches for their authors: the id of an epoch commits to its key, whoever tells of it.
  private func waitingGrants(of group: GroupID) throws -> [ControlOperation.EpochGrant] {
    let control = try controlZone(of: group)
    let opener = SegmentOpener(zone: control, membership: membership(of: group))
    return try store.pending.segments(in: control.id).flatMap {
      pending -> [ControlOperation.EpochGrant] in
      let changes: [Change]
      switch try? opener.open(pending.bytes) {
      case .opened(let segment): changes = segment.changes
      case .waits(.author): changes = opener.changesOfUnknown(pending.bytes) ?? []
      case .waits, nil: return []
      }
      return changes.flatMap(\.operations).compactMap { operation in
        guard operation.key.type == ControlOperation.type,
          case .event(let fields) = operation.body,
          let body = fields.first(where: { $0.field == ControlOperation.bodyField })?.value.bytes,
          case .epoch(let grant)? = try? ControlOperation(decoding: body)
        else { return nil }
        return grant
      }
    }
  }

  // MARK: Telling

  /// Tells once of every use of recovery words that happened after this device joined.
  ///
  /// Words are used in the households and in the private database alike; the latter tells what no
  /// household has told.
  package func noticeRecoveries(nowMilliseconds: UInt64) throws {
    var told: Set<DeviceID> = []
    for group in exchangedGroups.filter({ $0 != privateGroup }) + [privateGroup].compactMap({ $0 })
    {
      try noticeRecoveries(of: group, besides: &told, nowMilliseconds)
    }
  }

  /// - Parameter told: the devices that used words where that was told already.
  private func noticeRecoveries(
    of group: GroupID, besides told: inout Set<DeviceID>, _ nowMilliseconds: UInt64
  ) throws {
    let membership = membership(of: group)
    let before = told
    for use in membership.recoveryUses() {
      guard use.device != device, let text = words(on: use, membership) else { continue }
      told.insert(use.device)
      guard try store.facts.value(of: Engine.recoveryFact(use.id)) == nil else { continue }
      let isNoNews =
        group == privateGroup && before.contains(use.device)
        || membership.came(device, after: use)
      // One use of the words is written into every group of the person, and is one piece of news.
      let news =
        if case .recover = use.operation {
          Engine.recoveryFact(of: use.person, by: use.device, after: use.earlierUses)
        } else { Engine.recoveryFact(use.id) }
      let isTold = try store.facts.value(of: news) != nil
      try store.transaction {
        try store.facts.set(Engine.recoveryFact(use.id), to: nowMilliseconds.fixedBytes)
        guard !isNoNews, !isTold else { return }
        try store.facts.set(news, to: nowMilliseconds.fixedBytes)
        try store.notices.add(
          Notice(
            kind: .recovery, zone: try? controlZone(of: group).id, device: use.device,
            text: text, milliseconds: nowMilliseconds))
      }
    }
  }

  /// The fact that an operation was told.
  private static func recoveryFact(_ operation: Identifier) -> String {
    "recovery.told." + operation.hex
  }

  /// The fact that a use of a person's words was told: which one of a device it was, as one that
  /// was ended can use them again.
  private static func recoveryFact(
    of person: PersonID, by device: DeviceID, after earlier: Int
  ) -> String { "recovery.told.\(person.hex).\(device.hex).\(earlier)" }

  /// What somebody can do whose words a stranger has used, from a device that is out by that.
  ///
  /// Nobody ends a device of an owner but the owner, who has the words as well.
  private func adviceFromOutside(_ digits: some StringProtocol, isOwner: Bool) -> String {
    isOwner
      ? "tell the others of the household at once, and use the words yourself: `hearth recover "
        + "--revoke-others`, then `hearth words rotate`"
      : "tell the owner or an admin of the household at once: they can remove that device with "
        + "`hearth device revoke \(digits)` and invite you again"
  }

  /// What is to be told of an operation; nil where it is nothing.
  private func words(on use: RecoveryUse, _ membership: Membership) -> String? {
    let person = use.person
    let name = membership.person(person)?.name ?? "somebody"
    switch use.operation {
    case .recover(let recover):
      let others =
        recover.revokesOthers ? ", and all other devices of \(name) were revoked with it" : ""
      guard membership.person(of: device)?.id != person else {
        // By its id: a thief chooses the name, which may be yours, or more than a word to a shell.
        let digits = Membership.deviceID(of: recover.device)?.hex.prefix(8) ?? "ID"
        return "your recovery words were used to add the device \(recover.device.name)"
          + (recover.revokesOthers ? ", and all your other devices were revoked with it" : "")
          + ": if that was not you, "
          + (membership.isActive(device)
            ? "remove it with `hearth device revoke \(digits)` and make new words with "
              + "`hearth words rotate`"
            : adviceFromOutside(digits, isOwner: membership.owner == person))
      }
      return
        "\(name)'s recovery words were used to add the device \(recover.device.name)\(others): "
        + "if that was not \(name), remove the device and ask \(name) to make new words"
    case .rotateRecovery where membership.person(of: device)?.id == person:
      let maker = membership.device(use.device)?.card.name ?? "another device"
      let isBeaten = membership.voided.contains { void in
        guard case .rotateRecovery = void.operation, void.version.dot.author.device == device,
          case .overruled(let id, _) = void.reason
        else { return false }
        return id == use.id
      }
      return isBeaten
        ? "the recovery words made on this device are not valid: those made on \(maker) at the "
          + "same time are. Keep that sheet, and destroy the one made here"
        : "your recovery words were replaced on \(maker): keep the sheet made there; the "
          + "one before opens nothing new"
    default: return nil
    }
  }
}

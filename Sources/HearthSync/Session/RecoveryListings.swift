import HearthCRDT
import HearthCrypto
import HearthMembership

/// The state of a person's recovery bundle on a transport.
package enum RecoveryCapsuleState: String, Sendable {
  /// The bundle is there and contains everything that this device knows.
  case whole
  /// There is no bundle.
  case missing
  /// Something else is in its place, or the bundle cannot be read.
  case damaged
  /// The bundle lacks a household, a zone or a key.
  case outdated
  /// This device belongs to no group that the words lead to.
  case unneeded

  /// Whether a new bundle has to be written.
  package var isFaulty: Bool { ![.whole, .unneeded].contains(self) }
}

/// The person of a bundle, and what is needed to write it.
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

/// What is on a transport in the place of a recovery bundle.
enum CapsuleFile {
  case none
  case bytes([UInt8])
  /// Something that cannot be read, or is not a file.
  case unusable
}

extension ReplicaTurns {
  /// The state of a person's recovery bundle on a transport; fetches the bundle and changes
  /// nothing.
  ///
  /// - Throws: A transport's error that does not concern the bundle; `tooLarge` for hundreds of
  ///   groups.
  package func recoveryCapsuleState(
    of owner: CapsuleOwner, on transport: some Transport
  ) async throws -> RecoveryCapsuleState {
    let file = try await capsuleFile(of: owner, on: transport)
    return try turn {
      try RecoveryListings(engine: $0).recoveryCapsule(of: owner, beside: file, isWanted: false)
        .state
    }
  }

  /// Writes a person's recovery bundle if a transport has no sufficient one.
  ///
  /// - Returns: The state before; a bundle was written unless that is `whole` or `unneeded`.
  /// - Throws: A transport's error; `tooLarge` for hundreds of groups.
  @discardableResult
  package func giveRecoveryCapsule(
    of owner: CapsuleOwner, to transport: some Transport
  ) async throws -> RecoveryCapsuleState {
    let file = try await capsuleFile(of: owner, on: transport)
    let (state, sealed) = try turn {
      try RecoveryListings(engine: $0).recoveryCapsule(of: owner, beside: file, isWanted: true)
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

/// What recovery bundles contain.
struct RecoveryListings<S: Store> {
  let engine: Engine<S>

  // MARK: Writing the bundle

  /// The groups in which a person has these recovery words, with their keys.
  ///
  /// - Parameters:
  ///   - box: The words' X25519 key.
  ///   - attestation: What the words signed about the private database in use.
  ///   - epochLimit: The most listed epochs of each zone.
  ///   - isOutline: Whether zeros replace the keys, because sealing takes 0.35 ms for each.
  private func recoveryGroups(
    of person: PersonID, box: BoxPublicKey, attestation: [UInt8], epochLimit: Int, isOutline: Bool
  ) throws -> [RecoveryListing.Group] {
    let zeros = [UInt8](repeating: 0, count: RecoveryListing.sealedBytes)
    return try ExchangeScope(engine: engine).exchangedGroups.compactMap { group in
      let membership = engine.membership(of: group)
      guard membership.people.contains(where: { $0.id == person }),
        membership.isActive(engine.device),
        membership.recovery.recoveryKeys(of: person)?.box == box.bytes
      else { return nil }
      let own = engine.zones.filter { $0.group == group }
        .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }
      return RecoveryListing.Group(
        id: group, database: try engine.controlZone(of: group).database,
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
        }, attestation: group == engine.privateGroup ? attestation : [])
    }
  }

  /// The state of a person's recovery bundle, and the bundle that replaces it.
  ///
  /// What the present bundle says of other groups is kept, because another device of the person may
  /// have written it. A device that no longer belongs to any group writes nothing. If a bundle has
  /// no space for all epochs, the latest are listed: each opens earlier ones, where newcomers may
  /// read them. Nobody without the words can tell whether the keys in it are good;
  /// ``RecoveryListing/fault(with:)`` can.
  ///
  /// - Parameters:
  ///   - file: What is in its place.
  ///   - isWanted: Whether to make a bundle; sealing the keys costs 0.35 ms for each.
  /// - Returns: The state, with a bundle unless the state is `whole` or `unneeded`.
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

  /// What a bundle says of groups, and its state compared with what this device knows.
  private func examineCapsule(
    of owner: CapsuleOwner, _ file: CapsuleFile
  ) throws -> (state: RecoveryCapsuleState, theirs: [RecoveryListing.Group], epochLimit: Int) {
    var state = RecoveryCapsuleState.missing
    var theirs: [RecoveryListing.Group] = []
    switch file {
    case .none: break
    case .unusable: state = .damaged
    case .bytes(let bytes):
      // Whatever is wrong with the present bundle, a good one replaces it.
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

  /// What a bundle must say; nil if this device belongs to no group that the words lead to.
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
        && !engine.zones.contains {
          $0.group == group.id && ExchangeScope(engine: engine).isRetired($0)
        }
    }
    let groups = (own + foreign).sorted { $0.id < $1.id }.prefix(RecoveryListing.maximumGroups)
    return RecoveryListing(person: owner.person, personName: owner.name, groups: Array(groups))
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync
import HearthTransport

/// Takes the groups of a person back, with recovery words.
struct GroupRecovery: NodeWork {
  let core: NodeCore

  /// What a node that is being recovered took back.
  struct TakenBack {
    var households: [(zone: ZoneID, name: String, revokedDevices: [String])] = []
    var hasPrivateDatabase = false
  }

  /// A household that the words do not open any more.
  struct Refusal: Error {
    let group: GroupID
    let name: String
    let error: HearthError
  }

  /// Lists this device at the relays by the words, whose key manages there: no other device may be
  /// left that could.
  private func listByWords(_ root: RecoveryRoot, at places: [String]) async throws {
    for place in places where TransportAddress.isRelay(place) {
      let relay = RelayTransport(
        over: RecoverySource(root: root).link(to: try RelayAddress(place)),
        memory: ReplicaMemory(replicas: replicas),
        digest: { segmentDigest($0) })
      do {
        try await RelayRosterUpkeep(of: RelayMailboxes(at: relay, with: replicas)).putListsRight()
      } catch let error as TransportError {
        throw HearthError(.offline, "\(error)", cause: error)
      }
    }
  }

  /// Lets each transport carry what was found there.
  ///
  /// What one transport alone carried is not stored at another. A transport by which all came
  /// carries everything.
  private func limitScopes(_ groups: [RecoveryListing.Group]) async throws {
    for setting in try transports.list() {
      var found: [RecoveryListing.Group] = []
      for group in groups where try await lies(group.id, at: setting.path) { found.append(group) }
      guard found.count < groups.count, !found.isEmpty else { continue }
      _ = try transports.setScope(
        of: setting.path,
        to: TransportScope(
          households: found.filter { $0.database == .shared }.map(\.id),
          privateDatabase: found.contains { $0.database == .personal }))
    }
  }

  /// Whether a place holds something of a group's log.
  private func lies(_ group: GroupID, at place: String) async throws -> Bool {
    guard let control = try? engine.controlZone(of: group) else { return false }
    do {
      return try await !connections.transport(place).list(zoneTag: control.tag).segments
        .isEmpty
    } catch let error as TransportError where error.code == .relayRefused {
      return false
    }
  }

  /// Takes every group of a listing and makes this device one of the person.
  func takeBack(
    _ listing: RecoveryListing, leadingToPrivate leadsToPrivate: Bool, with root: RecoveryRoot,
    from folders: [String], revokingOthers: Bool
  ) async throws -> TakenBack {
    // Every group is looked for on every transport; where each was found is known afterwards.
    for folder in folders {
      _ =
        TransportAddress.isRelay(folder)
        ? try await transports.add(relay: folder, token: nil, carrying: nil)
        : try transports.add(folder: folder, carrying: nil)
    }
    let reader = Recovering(
      person: listing.person, root: root, folders: folders, revokesOthers: revokingOthers)
    var taken = TakenBack()
    var known: Set<DeviceID> = []
    for group in listing.groups where group.database == .shared {
      try await refusing(group) {
        try await fetch(group, as: reader)
        known.formUnion(
          membership(of: group.id).devices.filter { $0.person == reader.person }.map(\.id))
        let revoked = try enrol(in: group.id, as: reader)
        let zones = allZones().filter { $0.group == group.id && $0.kind == .data }
        guard let zone = zones.first else {
          throw HearthError(.corrupt, "the household \(group.name) has no zone of records")
        }
        taken.households.append((zone.id, zone.name, revoked))
      }
    }
    taken.hasPrivateDatabase = try await takeBackPrivate(listing, as: reader, known)
    if folders.count > 1 { try await limitScopes(listing.groups) }
    // Under the keys of this moment, before the node is closed and moved.
    for zone in allZones().map(\.id) { _ = try Sealing.seal(zone, in: &engine) }
    try Anchor.keepUp(anchorFile, with: engine)
    try await listByWords(root, at: folders)
    try RecoveryBundles(core: core).keepAccess(
      of: root, signsPrivate: taken.hasPrivateDatabase || !leadsToPrivate)
    return taken
  }

  /// As whom and from where a node takes groups back.
  private struct Recovering {
    let person: PersonID
    let root: RecoveryRoot
    let folders: [String]
    let revokesOthers: Bool
  }

  /// Makes an error that is of one group alone a refusal of that group.
  private func refusing(
    _ group: RecoveryListing.Group, _ steps: () async throws -> Void
  ) async throws {
    let name = group.database == .personal ? "your private database" : group.name
    do {
      try await steps()
    } catch let error as HearthError where error.code != .offline {
      throw Refusal(group: group.id, name: name, error: error)
    } catch let error as SyncError {
      let code: HearthError.Code =
        switch error.code {
        case .notAllowed: .notAllowed
        case .otherApplication: .otherApplication
        default: .corrupt
        }
      throw Refusal(
        group: group.id, name: name, error: HearthError(code, error.message, cause: error))
    }
  }

  /// Takes the private database back: the one that the words signed.
  ///
  /// Whoever has a device of the person, and so the location of the bundle, can write a bundle that
  /// names a private database of its own making; it cannot sign it. Devices that no household knows
  /// as the person's are cut off, before anything is written.
  ///
  /// - Parameter known: the person's devices by what the households said until now.
  private func takeBackPrivate(
    _ listing: RecoveryListing, as reader: Recovering, _ known: Set<DeviceID>
  ) async throws -> Bool {
    let groups = listing.groups.filter { $0.database == .personal }
    let signed = groups.first { RecoveryBundles.isAttested($0, of: reader.person, by: reader.root) }
    guard let group = signed ?? groups.first else { return false }
    core.joiningGroup = group.id
    defer { core.joiningGroup = nil }
    try await refusing(group) {
      guard signed != nil else {
        throw HearthError(
          .notAllowed,
          "your words did not sign the private database that the recovery bundle names: run "
            + "`hearth words rotate` on a device that has it")
      }
      try await fetch(group, as: reader)
      let strangers = engine.membership(of: group.id).devices.map(\.id)
        .filter { !known.contains($0) }
      _ = try enrol(in: group.id, as: reader)
      for stranger in strangers where engine.membership(of: group.id).isActive(stranger) {
        try MemberChanges.revoke(stranger, from: group.id, in: &engine, nowMilliseconds: now())
      }
      try privateDatabase.adopt(group.id)
    }
    return true
  }

  private func lies(_ group: GroupID, atOneOf places: [String]) async throws -> Bool {
    for place in places where try await lies(group, at: place) { return true }
    return false
  }

  /// Fetches a group's logs, with every key that they hand to the words.
  private func fetch(_ group: RecoveryListing.Group, as reader: Recovering) async throws {
    try RecoveryStart.beginRecovering(group, with: reader.root, in: &engine)
    let control = try engine.controlZone(of: group.id).id
    var fault: String?
    // Each round may bring keys that open more of the log.
    repeat {
      try await followRekeys(group.id, of: reader.person, with: reader.root, reader.folders)
      fault = try await pull([control], from: reader.folders)
    } while try RecoveryStart.takeRecoveryKeys(
      of: group.id, for: reader.person, with: reader.root, in: &engine)
    let isThere = try await lies(group.id, atOneOf: reader.folders)
    guard fault != nil || isThere else {
      throw HearthError(
        .notFound,
        "these words lead to no data at \(reader.folders.joined(separator: ", ")): another folder "
          + "or relay may carry it, so name that one too (--transport may be repeated), or wait "
          + "until everything has arrived")
    }
    do {
      try requireMembership(of: reader.person, in: group, with: reader.root)
    } catch let error as HearthError {
      guard let fault else { throw error }
      throw HearthError(
        error.code,
        "\(fault), so the log of \(group.name) may be incomplete: `hearth sync --check` on another "
          + "device of the household repairs damaged files. The log so far: "
          + "\(error.message)", cause: error)
    }
    let data = engine.zones.filter { $0.group == group.id && $0.kind == .data }.map(\.id)
    _ = try await pull(data, from: reader.folders)
  }

  /// Makes this device one of the person's in a group.
  ///
  /// - Returns: the names of the devices that were revoked.
  private func enrol(in group: GroupID, as reader: Recovering) throws -> [String] {
    let others = engine.membership(of: group).devices.filter { $0.person == reader.person }
    try RecoveryKeys.recover(
      reader.person, in: group, deviceName: profile.deviceName,
      revokingOthers: reader.revokesOthers,
      signing: { reader.root.sign(domain: $0, $1) }, by: &engine, nowMilliseconds: now())
    return reader.revokesOthers ? others.map(\.card.name) : []
  }

  /// Follows the rekey handoffs from the keys in the bundle to the relays' present ones.
  private func followRekeys(
    _ group: GroupID, of person: PersonID, with root: RecoveryRoot, _ places: [String]
  ) async throws {
    for place in places where TransportAddress.isRelay(place) {
      do {
        try await connections.admit(
          to: group, over: connections.transport(place), as: [(person, root.boxPair)])
      } catch let error as TransportError {
        throw HearthError(.offline, "\(error)", cause: error)
      }
    }
  }

  /// Takes what folders and relays hold of some zones.
  ///
  /// - Returns: which files could not be used, in words; nil if none.
  private func pull(_ zones: [ZoneID], from folders: [String]) async throws -> String? {
    var unusable: String?
    for path in folders {
      var report = TransportReport(setting: path)
      for zone in zones {
        do {
          report.add(
            try await replicas.pull([zone], from: connections.transport(path), named: path))
        } catch let error as TransportError where error.code == .relayRefused {
          // Another transport may carry it.
          continue
        } catch let error as TransportError {
          throw TransportAddress.unreadable(path, because: error)
        }
      }
      unusable = unusable ?? UnusableFiles.words(in: report)
    }
    return unusable
  }

  /// Believes the group's log alone.
  private func requireMembership(
    of person: PersonID, in group: RecoveryListing.Group, with root: RecoveryRoot
  ) throws {
    let membership = engine.membership(of: group.id)
    guard membership.genesis != nil else {
      throw HearthError(
        .corrupt,
        "the log of \(group.name) is not in the folder or cannot be opened: wait until everything "
          + "has arrived; if it has, the recovery bundle is forged")
    }
    try ApplicationCheck.requireOwnFounding(of: group.id, in: engine)
    guard membership.people.contains(where: { $0.id == person }) else {
      let isFormer = membership.formerPeople.contains { $0.id == person }
      throw HearthError(
        isFormer ? .notAllowed : .corrupt,
        isFormer
          ? "\(membership.person(person)?.name ?? "this person") does not belong to \(group.name) "
            + "any more: ask its owner for a new invitation"
          : "the log of \(group.name) does not know the person in the recovery bundle: the bundle "
            + "is forged")
    }
    guard membership.recovery.recoveryKeys(of: person)?.sign == root.publicKeys.sign else {
      throw HearthError(
        .notAllowed,
        "newer recovery words replaced these: use the latest sheet")
    }
  }
}

import Foundation
import Glibc
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync
import HearthTransport

/// What was recovered.
package struct Recovered: Sendable {
  /// The households that are here again.
  package let households: [(zone: ZoneID, name: String, revokedDevices: [String])]
  /// Those that the words do not open any more, with the reason.
  package let refused: [(name: String, reason: String)]
  /// Whether what the person keeps for itself is here again.
  package let hasPrivateDatabase: Bool
}

/// What a node that is being recovered took back.
private struct TakenBack {
  var households: [(zone: ZoneID, name: String, revokedDevices: [String])] = []
  var hasPrivateDatabase = false
}

// A bare machine becomes a device of a person again, from words and a shared folder alone.
extension Node {
  /// Makes a node out of recovery words and what lies in shared folders.
  ///
  /// Everything is prepared in a folder beside the home, which takes the home's place when it is
  /// complete; only then do others hear of the new device. Whatever fails before leaves nothing.
  ///
  /// - Parameters:
  ///   - path: the home, which must not hold a node yet.
  ///   - folders: the shared folders, at least one.
  ///   - revokingOthers: whether every other device of the person ends.
  /// - Throws: `exists`, `invalid` for a relay's address that cannot be,
  ///   `offline` if no folder can be read, `notFound` if none holds a capsule for
  ///   the words, `corrupt` if the capsule is forged or damaged, `notAllowed` if the person was
  ///   removed or the words were replaced.
  package static func recover(
    at path: String, words: PersonWords, folders: [String], deviceName: String,
    revokingOthers: Bool, passphrase: [UInt8]?, schema: NodeSchema,
    now: @escaping @Sendable () -> UInt64 = Node.wallClock
  ) async throws -> (node: Node, recovered: Recovered) {
    let home = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL.path
    try requireFree(home)
    let root = try words.words.root()
    let folders = try folders.map {
      Node.isRelay($0) || $0.contains("://")
        ? try relayAddress($0).description : try SharedFolderPath.checked($0, home: home)
    }
    var listing = try listing(for: root, in: folders)
    let leadsToPrivate = listing.groups.contains { isAttested($0, of: listing.person, by: root) }
    let draft = home + ".recovering"
    var refused: [Refusal] = []
    var taken = TakenBack()
    repeat {
      do {
        taken = try await prepare(
          at: draft, listing, leadingToPrivate: leadsToPrivate, with: root, from: folders,
          deviceName: deviceName, revokingOthers: revokingOthers, passphrase: passphrase,
          schema: schema, now: now)
      } catch let refusal as Refusal {
        // Begun anew without it, so that nothing of it stays.
        refused.append(refusal)
        listing.groups.removeAll { $0.id == refusal.group }
      }
    } while taken.households.isEmpty && listing.groups.contains { $0.database == .shared }
    guard !taken.households.isEmpty else {
      throw refused.first?.error
        ?? HearthError(.notFound, "these words lead to no household: there is nothing to recover")
    }
    // An empty folder may be replaced; one that was filled meanwhile is not.
    guard rename(draft, home) == 0 else {
      let reason = String(cString: strerror(errno))
      try? remove(draft)
      throw HearthError(.io, "the node cannot be put to \(home): \(reason)")
    }
    let node = try await Node.open(at: home, passphrase: passphrase, schema: schema, now: now)
    _ = try await node.sync()
    return (
      node,
      Recovered(
        households: taken.households, refused: refused.map { ($0.name, $0.error.message) },
        hasPrivateDatabase: taken.hasPrivateDatabase)
    )
  }

  /// A household that the words do not open any more.
  private struct Refusal: Error {
    let group: GroupID
    let name: String
    let error: HearthError
  }

  /// Makes the complete node in a folder; nothing stays there if that fails.
  private static func prepare(
    at draft: String, _ listing: RecoveryListing, leadingToPrivate leadsToPrivate: Bool,
    with root: RecoveryRoot, from folders: [String], deviceName: String, revokingOthers: Bool,
    passphrase: [UInt8]?, schema: NodeSchema,
    now: @escaping @Sendable () -> UInt64
  ) async throws -> TakenBack {
    try remove(draft)
    do {
      let node = try await Node.create(
        at: draft, person: listing.personName, personID: listing.person, device: deviceName,
        passphrase: passphrase, schema: schema, now: now)
      do {
        let taken = try await node.takeBack(
          listing, leadingToPrivate: leadsToPrivate, with: root, from: folders,
          revokingOthers: revokingOthers)
        try await node.close()
        return taken
      } catch {
        try? await node.close()
        throw error
      }
    } catch {
      try? remove(draft)
      throw error
    }
  }

  private static func requireFree(_ home: String) throws {
    try NodeFolder(home).checkKeyIsNotMissing()
    let content = try? FileManager.default.contentsOfDirectory(atPath: home)
    guard content?.isEmpty ?? !FileManager.default.fileExists(atPath: home) else {
      throw HearthError(
        .exists,
        "\(home) is not empty: recover into a new home (--home DIR), or remove what is there")
    }
  }

  private static func remove(_ folder: String) throws {
    guard FileManager.default.fileExists(atPath: folder) else { return }
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Finds the capsules of the words; what one does not say another may.
  private static func listing(
    for root: RecoveryRoot, in folders: [String]
  ) throws -> RecoveryListing {
    let name = try capsuleName(root.capsuleAccess)
    var found: RecoveryListing?
    var problem: HearthError?
    for path in folders {
      do {
        let transport = try bareTransport(path, root)
        guard Node.isRelay(path) || FileManager.default.fileExists(atPath: path) else {
          throw HearthError(.offline, "there is no folder \(path)")
        }
        guard let bytes = try transport.fetch(name) else { continue }
        let body = try RecoveryCapsule.open(bytes, with: root.capsuleAccess)
        let listing = try RecoveryListing(decoding: body)
        found = found?.joined(with: listing) ?? listing
      } catch let error where isUnreachable(error) {
        throw HearthError(
          .offline,
          "\(Node.isRelay(path) ? "" : "the shared folder \(path) cannot be read: ")\(error)",
          cause: error)
      } catch {
        problem = HearthError(
          .corrupt,
          "the recovery capsule in \(path) is damaged or forged: take the folder from another "
            + "copy or device, then try again", cause: error)
      }
    }
    if let found { return found }
    if let problem { throw problem }
    let place = folders.contains(where: Node.isRelay) ? "place" : "folder"
    throw HearthError(
      .notFound,
      "nothing in \(folders.joined(separator: ", ")) is for these words: look whether they are the "
        + "latest, "
        + (folders.allSatisfy(Node.isRelay)
          ? "and whether it is the relay that your household goes over"
          : "whether it is the right \(place), and whether everything has arrived in it"))
  }

  /// A transport before there is a node: it sees the capsule of the words, and no more.
  private static func bareTransport(
    _ place: String, _ root: RecoveryRoot
  ) throws -> any Transport {
    guard Node.isRelay(place) else {
      return FolderTransport(path: place, digest: { segmentDigest($0) })
    }
    let address = try RelayAddress(place)
    let name = try capsuleName(root.capsuleAccess)
    var directory = RelayDirectory()
    directory.capsules[name.scope] = try .recovery(root.capsuleAccess, mayCreate: false)
    return RelayTransport(
      link: wordsLink(address, root), memory: NoMemory(), directory: directory,
      digest: { segmentDigest($0) })
  }

  /// A connection on which the words are the device.
  private static func wordsLink(_ address: RelayAddress, _ root: RecoveryRoot) -> RelayLink {
    RelayLink(
      address,
      RelayLink.Owner(name: "recovery", managerPair: { try root.relayPair(relayID: $0) }))
  }

  /// Lists this device at the relays by the words, whose key manages there: no other device may be
  /// left that could.
  private func listByWords(_ root: RecoveryRoot, at places: [String]) throws {
    for place in places where Node.isRelay(place) {
      let relay = RelayTransport(
        link: Node.wordsLink(try RelayAddress(place), root), memory: FactMemory(store: store),
        digest: { segmentDigest($0) })
      do {
        try engine.withTurns { try RelayMailboxes(at: relay, with: $0).putListsRight() }
      } catch let error as TransportError {
        throw HearthError(.offline, "\(error)", cause: error)
      }
    }
  }

  /// Whether an error is of the folder, and not of what lies in it.
  private static func isUnreachable(_ error: any Error) -> Bool {
    guard let error = error as? TransportError else { return error is HearthError }
    let ofFile: [TransportError.Code] = [.emptyFile, .contentMismatch, .tooLarge, .notRegularFile]
    return !ofFile.contains(error.code)
  }

  // MARK: Inside the new node

  /// Lets each way carry what was found there.
  ///
  /// What goes by one way alone does not come to lie at another. A way by which all came carries
  /// everything.
  private func carryWhatLies(_ groups: [RecoveryListing.Group]) throws {
    for setting in try transports() {
      let found = try groups.filter { try lies($0.id, at: setting.path) }
      guard found.count < groups.count, !found.isEmpty else { continue }
      _ = try setCargo(
        of: setting.path,
        to: TransportCargo(
          households: found.filter { $0.database == .shared }.map(\.id),
          privateDatabase: found.contains { $0.database == .personal }))
    }
  }

  /// Whether a place holds something of a group's log.
  private func lies(_ group: GroupID, at place: String) throws -> Bool {
    guard let control = try? engine.controlZone(of: group) else { return false }
    do {
      return try !transport(place).list(zoneTag: control.tag).segments.isEmpty
    } catch let error as TransportError where error.code == .relayRefused {
      return false
    }
  }

  /// Takes every group of a listing and makes this device one of the person.
  private func takeBack(
    _ listing: RecoveryListing, leadingToPrivate leadsToPrivate: Bool, with root: RecoveryRoot,
    from folders: [String], revokingOthers: Bool
  ) throws -> TakenBack {
    // Everything is looked for everywhere; what was found where is known afterwards.
    for folder in folders {
      _ = Node.isRelay(folder) ? try addRelay(folder) : try addFolder(folder)
    }
    let reader = Recovering(
      person: listing.person, root: root, folders: folders, revokesOthers: revokingOthers)
    var taken = TakenBack()
    var known: Set<DeviceID> = []
    for group in listing.groups where group.database == .shared {
      try refusing(group) {
        try fetch(group, as: reader)
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
    taken.hasPrivateDatabase = try takeBackPrivate(listing, as: reader, known)
    if folders.count > 1 { try carryWhatLies(listing.groups) }
    // Under the keys of this moment, before the node is closed and moved.
    for zone in allZones().map(\.id) { _ = try engine.seal(zone) }
    try Anchor.keepUp(anchorFile, with: engine)
    try listByWords(root, at: folders)
    try keepAccess(of: root, signsPrivate: taken.hasPrivateDatabase || !leadsToPrivate)
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
  private func refusing(_ group: RecoveryListing.Group, _ steps: () throws -> Void) throws {
    let name = group.database == .personal ? "your private database" : group.name
    do {
      try steps()
    } catch let error as HearthError where error.code != .offline {
      throw Refusal(group: group.id, name: name, error: error)
    } catch let error as SyncError {
      let code: HearthError.Code = error.code == .notAllowed ? .notAllowed : .corrupt
      throw Refusal(
        group: group.id, name: name, error: HearthError(code, error.message, cause: error))
    }
  }

  /// Takes the private database back: the one that the words signed.
  ///
  /// Whoever has a device of the person, and so the place of the capsule, can write a capsule that
  /// names a private database of its own making; it cannot sign it. Devices that no household knows
  /// as the person's are cut off, before anything is written.
  ///
  /// - Parameter known: the person's devices by what the households said until now.
  private func takeBackPrivate(
    _ listing: RecoveryListing, as reader: Recovering, _ known: Set<DeviceID>
  ) throws -> Bool {
    let groups = listing.groups.filter { $0.database == .personal }
    let signed = groups.first { Node.isAttested($0, of: reader.person, by: reader.root) }
    guard let group = signed ?? groups.first else { return false }
    joiningGroup = group.id
    defer { joiningGroup = nil }
    try refusing(group) {
      guard signed != nil else {
        throw HearthError(
          .notAllowed,
          "your words did not sign the one that the capsule names: on a device that has it, "
            + "`hearth words rotate`")
      }
      try fetch(group, as: reader)
      let strangers = engine.membership(of: group.id).devices.map(\.id)
        .filter { !known.contains($0) }
      _ = try enrol(in: group.id, as: reader)
      for stranger in strangers where engine.membership(of: group.id).isActive(stranger) {
        try engine.revoke(stranger, from: group.id, nowMilliseconds: now())
      }
      try adoptPrivate(group.id)
    }
    return true
  }

  /// Fetches a group's logs, with every key that they hand to the words.
  private func fetch(_ group: RecoveryListing.Group, as reader: Recovering) throws {
    try engine.beginRecovering(group, with: reader.root)
    let control = try engine.controlZone(of: group.id).id
    var fault: String?
    // Each round may bring keys that open more of the log.
    repeat {
      try enterRelays(group.id, of: reader.person, with: reader.root, reader.folders)
      fault = try pull([control], from: reader.folders)
    } while try engine.takeRecoveryKeys(of: group.id, for: reader.person, with: reader.root)
    guard try fault != nil || reader.folders.contains(where: { try lies(group.id, at: $0) }) else {
      throw HearthError(
        .notFound,
        "nothing of it lies at \(reader.folders.joined(separator: ", ")) for these words: it may "
          + "go over another folder or relay, so name that one as well (--transport may be "
          + "repeated), or wait until everything has arrived there")
    }
    do {
      try requireStanding(of: reader.person, in: group, with: reader.root)
    } catch let error as HearthError {
      guard let fault else { throw error }
      throw HearthError(
        error.code,
        "\(fault), and so the log of \(group.name) may say less than was written: on another "
          + "device of the household `hearth sync --check` puts damaged files right. As far as it "
          + "goes: \(error.message)", cause: error)
    }
    let data = engine.zones.filter { $0.group == group.id && $0.kind == .data }.map(\.id)
    _ = try pull(data, from: reader.folders)
  }

  /// Makes this device one of the person's in a group.
  ///
  /// - Returns: the names of the devices that were revoked.
  private func enrol(in group: GroupID, as reader: Recovering) throws -> [String] {
    let others = engine.membership(of: group).devices.filter { $0.person == reader.person }
    try engine.recover(
      reader.person, in: group, deviceName: profile.deviceName,
      revokingOthers: reader.revokesOthers,
      signing: { reader.root.sign(domain: $0, $1) }, nowMilliseconds: now())
    return reader.revokesOthers ? others.map(\.card.name) : []
  }

  /// Goes the way from the keys in the capsule to the relays' present ones.
  private func enterRelays(
    _ group: GroupID, of person: PersonID, with root: RecoveryRoot, _ places: [String]
  ) throws {
    for place in places where Node.isRelay(place) {
      do {
        try admit(to: group, over: transport(place), as: [(person, root.boxPair)])
      } catch let error as TransportError {
        throw HearthError(.offline, "\(error)", cause: error)
      }
    }
  }

  /// Takes what folders and relays hold of some zones.
  ///
  /// - Returns: which files could not be used, in words; nil if none.
  private func pull(_ zones: [ZoneID], from folders: [String]) throws -> String? {
    var unusable: String?
    for path in folders {
      var report = TransportReport(setting: path)
      for zone in zones {
        do {
          try engine.pull(
            zone, from: transport(path), anchorFile: anchorFile, nowMilliseconds: now(), &report)
        } catch let error as TransportError where error.code == .relayRefused {
          // It may go over another way.
          continue
        } catch let error as TransportError {
          throw HearthError(
            .offline,
            "\(Node.isRelay(path) ? "" : "the shared folder \(path) cannot be read: ")\(error)",
            cause: error)
        }
      }
      unusable = unusable ?? Node.unusableFiles(in: report)
    }
    return unusable
  }

  /// Believes the group's log alone.
  private func requireStanding(
    of person: PersonID, in group: RecoveryListing.Group, with root: RecoveryRoot
  ) throws {
    let membership = engine.membership(of: group.id)
    guard membership.genesis != nil else {
      throw HearthError(
        .corrupt,
        "the log of \(group.name) is not in the folder or cannot be opened: wait until everything "
          + "has arrived; if it has, the recovery capsule is forged")
    }
    guard membership.people.contains(where: { $0.id == person }) else {
      let isFormer = membership.formerPeople.contains { $0.id == person }
      throw HearthError(
        isFormer ? .notAllowed : .corrupt,
        isFormer
          ? "\(membership.person(person)?.name ?? "this person") does not belong to \(group.name) "
            + "any more: ask its owner for a new invitation"
          : "the log of \(group.name) knows nobody of the recovery capsule: it is forged")
    }
    guard membership.recoveryKeys(of: person)?.sign == root.publicKeys.sign else {
      throw HearthError(
        .notAllowed,
        "these recovery words were replaced by newer ones: use those, from the latest sheet")
    }
  }
}

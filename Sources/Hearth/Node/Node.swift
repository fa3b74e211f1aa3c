import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport

/// One installation of Hearth on a device: its replicas, its keys, and its transports.
///
/// An actor over the engine: every call is serialised, and what a call wrote is durable when it
/// returns. Calls that wait for a transport let others pass meanwhile, of this process and of
/// others; apart from that the lock in its folder keeps other processes away.
///
/// It opens, closes, reads and writes. Everything else is in its rooms, such as `transports` and
/// `invitations`: each is a value that asks the node for a turn and works on its core then.
package actor Node {
  let core: NodeCore
  /// The streams by which others learn that the data may have changed.
  nonisolated let observers = ChangeObservers()
  /// The readings of records, which wait for no turn.
  nonisolated let reads: RecordReads

  /// The wall clock: milliseconds since 1970.
  package static func wallClock() -> UInt64 {
    UInt64(max(0, Date().timeIntervalSince1970 * 1000))
  }

  private init(
    folder: NodeFolder, lock: NodeLock, identity: DeviceIdentity, schema: NodeSchema,
    profile: NodeProfile?, now: @escaping @Sendable () -> UInt64, folders: SharedFolders?
  ) throws {
    core = try NodeCore(
      folder: folder, lock: lock, identity: identity, schema: schema, profile: profile, now: now,
      folders: folders, observers: observers)
    reads = RecordReads(path: folder.database, of: schema)
  }

  /// Creates a node in a folder that contains none.
  ///
  /// - Throws: `exists` if there is one, `corrupt` if there is data of one without its key.
  /// - Parameters:
  ///   - personID: the person of the node, if that person has had devices before.
  ///   - folders: what stands for shared folders; nil for those on disk.
  package static func create(
    at path: String, person: String, personID: PersonID? = nil, device: String,
    passphrase: [UInt8]?, schema: NodeSchema,
    now: @escaping @Sendable () -> UInt64 = Node.wallClock, folders: SharedFolders? = nil
  ) async throws -> Node {
    let folder = NodeFolder(path)
    try folder.prepare()
    let lock = try NodeLock(folder)
    try lock.take(waitMilliseconds: 5_000)
    guard try !folder.holdsNode() else {
      try folder.requireDatabase()
      throw HearthError(
        .exists, "there is a node in \(path) already: use it, or choose another --home")
    }
    try folder.checkKeyIsNotMissing()
    try DurableFile.write([], to: folder.beginning, mode: 0o600)
    try folder.clear()
    // SQLite gives its files the mode of this one.
    try DurableFile.write([], to: folder.database, mode: 0o600)
    let (identity, master) = try DeviceIdentity.generate()
    let file = try KeyFile.seal([SecretBytes(master)], passphrase: try wrapped(passphrase))
    let own = try personID ?? HearthMembership.personID(madeBy: deviceID(of: identity))
    let profile = NodeProfile(
      personID: own.hex, personName: person, deviceName: device)
    let node = try Node(
      folder: folder, lock: lock, identity: identity, schema: schema, profile: profile, now: now,
      folders: folders)
    try await node.found()
    try DurableFile.write(file, to: folder.keyFile, mode: mode_t(KeyFile.requiredFileMode))
    folder.noteCompleted()
    return node
  }

  /// Opens the node in a folder.
  ///
  /// - Parameters:
  ///   - trustingFiles: whether to accept the files without a check for a copy or a restored
  ///     backup; tests use it to see what transports find then.
  ///   - folders: what stands for shared folders; nil for those on disk.
  package static func open(
    at path: String, passphrase: [UInt8]? = nil, schema: NodeSchema,
    waitMilliseconds: Int = 5_000, trustingFiles: Bool = false,
    now: @escaping @Sendable () -> UInt64 = Node.wallClock, folders: SharedFolders? = nil
  ) async throws -> Node {
    let folder = NodeFolder(path)
    try folder.checkKeyIsNotMissing()
    guard try folder.holdsNode() else {
      throw HearthError(
        .noNode, "there is no node in \(path): make one with `hearth init --person NAME`")
    }
    let lock = try NodeLock(folder)
    try lock.take(waitMilliseconds: waitMilliseconds)
    folder.noteCompleted()
    guard let bytes = try DurableFile.read(folder.keyFile, atMost: KeyFile.maximumFileBytes) else {
      throw HearthError(.noNode, "there is no key file in \(path)")
    }
    try folder.requireDatabase()
    let secrets: [SecretBytes]
    do {
      if try KeyFile.mode(of: bytes) != .plain, passphrase == nil {
        throw HearthError(
          .passphrase, "this node's key is protected: give its passphrase, for example in a file")
      }
      secrets = try KeyFile.open(bytes, passphrase: try wrapped(passphrase))
    } catch let error as HearthError {
      throw error
    } catch let error as CryptoError where error.code == .wrongPassphrase {
      throw HearthError(.passphrase, "the passphrase is wrong", cause: error)
    } catch {
      throw HearthError(
        .corrupt, "the key file \(folder.keyFile) is damaged: restore it from a copy of yours",
        cause: error)
    }
    guard let master = secrets.first else {
      throw HearthError(.corrupt, "the key file \(folder.keyFile) holds no key")
    }
    let node = try Node(
      folder: folder, lock: lock, identity: try DeviceIdentity(master: try master.key()),
      schema: schema, profile: nil, now: now, folders: folders)
    try await node.recogniseItself(trustingFiles: trustingFiles)
    try await node.followRules()
    return node
  }

  /// Whether a folder contains a key that only a passphrase opens.
  package static func isProtected(at path: String) -> Bool { NodeFolder(path).isProtected }

  private static func wrapped(_ passphrase: [UInt8]?) throws -> Passphrase? {
    guard var bytes = passphrase else { return nil }
    guard !bytes.isEmpty else {
      throw HearthError(
        .passphrase, "the passphrase is empty: type one, or check the file that contains it")
    }
    return try Passphrase(consuming: &bytes)
  }

  /// Closes the node; no other call may follow.
  package func close() async throws {
    // The readers first: who closes last moves the write-ahead log into the database.
    var failure: (any Error)?
    do { try await reads.close() } catch { failure = error }
    try core.close()
    if let failure { throw failure }
  }

  // MARK: Start and rollback detection

  private func followRules() throws {
    guard try !MembershipRules.isFollowed(in: core.store) else { return }
    try core.replicas.fold()
    try MembershipRules.followMembershipRules(in: &core.engine, nowMilliseconds: core.now())
  }

  private func found() throws {
    try followRules()
    _ = try GroupCreation.create(
      GroupFounding(
        database: .personal, zoneNames: [NodeCore.privateName], person: person,
        personName: profile.personName, deviceName: profile.deviceName),
      in: &core.engine, nowMilliseconds: core.now())
    try Anchor.drop(core.anchorFile, for: core.engine)
  }

  /// Checks whether the data is where this node left it; begins a new incarnation if not.
  private func recogniseItself(trustingFiles: Bool) throws {
    let verdict = try Anchor.judge(core.anchorFile, for: core.engine)
    if case .moved(let reason) = verdict, !trustingFiles {
      try core.replicas.fold()
      try NewIncarnation.begin(reason: reason, in: &core.engine, nowMilliseconds: core.now())
      try Anchor.drop(core.anchorFile, for: core.engine)
    }
  }

  // MARK: Turns

  /// Looks at what is here, without a turn: what another process has written may be missing.
  func looking<Result: Sendable>(
    _ look: @Sendable (NodeCore) throws -> Result
  ) throws -> Result {
    try core.replicas.fold()
    return try look(core)
  }

  /// Looks at what is here and asks others, without a turn.
  func looking<Result: Sendable>(
    _ look: @Sendable (NodeCore) async throws -> Result
  ) async throws -> Result {
    try core.replicas.fold()
    return try await look(core)
  }

  /// Runs a call that asks for zones and records only, while no other process works.
  func reading<Result: Sendable>(
    _ read: @Sendable (NodeCore) throws -> Result
  ) throws -> Result {
    try core.replicas.reading { try read(core) }
  }

  /// Runs a call that asks for zones and records only, and that waits for its turn however long
  /// that takes.
  func readingPatiently<Result: Sendable>(
    _ read: @Sendable (NodeCore) throws -> Result
  ) async throws -> Result {
    try await core.replicas.readingPatiently { try read(core) }
  }

  /// Runs a call that works on what is here, while no other process does.
  func working<Result: Sendable>(
    _ work: @Sendable (NodeCore) throws -> Result
  ) throws -> Result {
    try core.replicas.working { try work(core) }
  }

  /// Runs a call that works on what is here and waits in between, and that waits for its turn
  /// however long that takes.
  func workingPatiently<Result: Sendable>(
    _ work: @Sendable (NodeCore) async throws -> Result
  ) async throws -> Result {
    // A closure of the actor: a task-local value would else let the work resume elsewhere.
    try await core.replicas.working(isPatient: true) { try await work(core) }
  }

  /// The nodes whose gate the present task has.
  @TaskLocal private static var gates: Set<ObjectIdentifier> = []

  /// Runs a call that exchanges with transports while no other one does; it may call another one.
  func alone<Result: Sendable>(
    _ work: @Sendable (NodeCore) async throws -> Result
  ) async throws -> Result {
    let id = ObjectIdentifier(self)
    guard !Node.gates.contains(id) else {
      return try await core.replicas.working { try await work(core) }
    }
    return try await core.replicas.working {
      // The wait may fail after the gate was taken, as the node was closed meanwhile.
      var isTaken = false
      defer { if isTaken { core.gate.giveBack() } }
      try await core.replicas.whileWaiting {
        await core.gate.take()
        isTaken = true
      }
      return try await Node.$gates.withValue(Node.gates.union([id])) { try await work(core) }
    }
  }

  // MARK: Identity

  /// Who this node belongs to.
  package var profile: NodeProfile { core.profile }

  /// The person of this node.
  package var person: PersonID { core.person }

  /// This device.
  package var device: DeviceID { core.device }

  /// The path of this node's home folder.
  package var home: String { core.folder.root.path }

  /// The incarnation of the device that writes now.
  package var incarnation: Int { core.engine.author.life }

  /// Returns the zones of records, in order of database and name.
  package func dataZones() -> [ZoneState] { core.dataZones() }

  /// Returns every zone in use; of this device's private databases only the present one.
  package func allZones() -> [ZoneState] { core.allZones() }

  /// Returns the people, devices and invitations of a group.
  package func membership(of group: GroupID) throws -> Membership {
    try core.replicas.fold()
    return core.membership(of: group)
  }

  /// Returns the end of this device's membership in a group; nil while it is a member.
  package func ending(in group: GroupID) throws -> Ending? {
    try core.replicas.fold()
    return core.ending(in: group)
  }

  /// The households that the last sync admitted this node to, after its request.
  package var lastAdmissions: [ZoneID] { core.lastAdmissions }

  /// The report of the last sync over all transports; joining ends with one.
  package var lastReport: SyncReport { core.lastReport }

  /// Returns the notices of this node, oldest first.
  package func notices() throws -> [Notice] { try core.store.notices.all() }

  // MARK: Households and records

  /// Creates a household with one zone of its name.
  package func createHousehold(named name: String) throws -> ZoneID {
    try core.replicas.working {
      let created = try GroupCreation.create(
        GroupFounding(
          database: .shared, zoneNames: [name], person: person, personName: profile.personName,
          deviceName: profile.deviceName), in: &core.engine, nowMilliseconds: core.now())
      guard let zone = created.zones.first else {
        throw HearthError(.corrupt, "the household has no zone")
      }
      return zone
    }
  }

  /// Reads a zone's present records.
  package func read<Result: Sendable>(
    _ zone: ZoneID, _ body: @Sendable (any ProjectionSource) throws -> Result
  ) throws -> Result {
    // Another process may have written while this one waits: what is known of its rows is old then.
    try core.replicas.reading {
      try core.store.readOneState { try body(try core.store.projections.source(of: zone)) }
    }
  }

  /// Writes one transaction.
  ///
  /// - Parameter body: gets the present records and the dot of the change, and returns the
  ///   operations with any result for the caller.
  package func write<Result: Sendable>(
    to zone: ZoneID,
    _ body: @Sendable (any ProjectionSource, Dot) throws -> ([HearthCRDT.Operation], Result)
  ) throws -> Result {
    let result = try core.replicas.working {
      guard try !ExchangeScope(engine: core.engine).isRetired(core.engine.zone(zone)) else {
        throw HearthError(
          .invalid,
          "this is no longer the private database, as the device now shares another one: look it "
            + "up again")
      }
      let dot = try core.engine.nextDot(in: zone)
      let (operations, result) = try core.store.readOneState {
        try body(try core.store.projections.source(of: zone), dot)
      }
      _ = try core.engine.write(operations, to: zone, nowMilliseconds: core.now())
      return result
    }
    core.announce()
    return result
  }

  // MARK: Observing

  /// Returns a stream of possible changes; several changes may be one element.
  package func news() -> AsyncStream<Void> { observers.add().stream }

  /// Returns a zone's digest, which is equal on every replica with the same changes.
  package func digest(of zone: ZoneID) throws -> [UInt8] {
    try core.replicas.working { try core.store.read { try core.engine.digest(of: zone) } }
  }

  /// Returns a sealed snapshot of a zone, in chunks.
  package func snapshot(of zone: ZoneID) throws -> [[UInt8]] {
    try core.replicas.working {
      try core.store.read { try SnapshotMaking.snapshot(of: zone, in: core.engine) }
    }
  }

  /// Rebuilds a zone's records from its log.
  package func rebuild(_ zone: ZoneID) throws {
    try core.replicas.working {
      try Rebuild.rebuild(zone, in: &core.engine, nowMilliseconds: core.now())
    }
  }

  /// Returns a fact that a program stored with the node.
  package func fact(_ name: String) throws -> [UInt8]? {
    try core.store.facts.bytes(of: "app." + name)
  }

  /// Stores a fact with the node.
  package func setFact(_ name: String, _ value: [UInt8]?) throws {
    try core.replicas.reading {
      try core.store.transaction { try core.store.facts.setBytes(of: "app." + name, to: value) }
    }
  }

  /// The wall clock of this node.
  package func nowMilliseconds() -> UInt64 { core.now() }

  /// Sets a listener for the progress of long transfers; it gets nil at their end.
  ///
  /// It is called from other threads, and should return at once.
  package func reportTransfers(to listener: @escaping TransferListener) {
    core.transferListener = listener
  }
}

extension Node {
  /// Returns a random identifier from the one source of randomness.
  package static func randomIdentifier() -> Identifier {
    guard let identifier = try? Identifier.random() else {
      preconditionFailure("sixteen random bytes are an identifier")
    }
    return identifier
  }
}

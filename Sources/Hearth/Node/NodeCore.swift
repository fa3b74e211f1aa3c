import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// Returns what stands for the shared folder of a path; nil for the folder on disk.
package typealias SharedFolders = @Sendable (_ path: String) -> (any Transport)?

/// What the rooms of a node share: its replicas, its folder, its schema, and whose turn it is.
///
/// The node's actor serialises every use of it, and lends it to a room for one call.
final class NodeCore {
  let folder: NodeFolder
  let schema: NodeSchema
  let replicas: NodeReplicas
  let clock: @Sendable () -> UInt64
  /// What the program gave for shared folders, if it gave anything.
  let folders: SharedFolders?
  let observers: ChangeObservers
  let gate = ExchangeGate()
  /// Whose turn it is to publish catalogues, which waits for strangers' relays.
  let publishingGate = ExchangeGate()
  /// The households that the last exchange admitted this node to, after its request.
  var lastAdmissions: [ZoneID] = []
  /// The report of the last exchange over all transports; joining ends with one.
  var lastReport = SyncReport()
  /// The group of a private database that this node is about to join.
  var joiningGroup: GroupID?
  /// When a sync with each transport last succeeded, by its place, as far as this process knows.
  var successes: [String: UInt64] = [:]
  /// The relays in use, by address.
  var relays: [String: RelayTransport] = [:]
  /// The listener for the progress of long transfers.
  var transferListener: TransferListener?
  let catalogueFile: CatalogueFile

  /// The name of the zone of a private database.
  static let privateName = "private"
  /// How many changes that are not sealed yet are counted at most.
  static let maximumCountedChanges = 1_000_000

  init(
    folder: NodeFolder, lock: NodeLock, identity: DeviceIdentity, schema: NodeSchema,
    profile: NodeProfile?, now: @escaping @Sendable () -> UInt64, folders: SharedFolders?,
    observers: ChangeObservers
  ) throws {
    self.observers = observers
    self.folder = folder
    self.schema = schema
    clock = now
    self.folders = folders
    catalogueFile = CatalogueFile(path: folder.catalogues)
    if let profile {
      try NodeReplicas.Content.begin(in: folder, of: identity, schema, profile)
    }
    replicas = try NodeReplicas(
      lock: lock, anchorFile: DiskAnchorFile(path: folder.anchor), now: now
    ) { wasAbandoned in
      try NodeReplicas.Content(
        of: folder, as: identity, schema, wasAbandoned: wasAbandoned, nowMilliseconds: now())
    }
  }

  /// Makes this node a device of an existing person.
  func become(_ person: PersonID, named name: String) throws {
    var changed = profile
    changed.personID = person.hex
    changed.personName = name
    try keep(changed)
  }

  /// Requires that this node is in no other household: only then can it become another person's.
  func requireNobodyElse(than name: String, besides group: GroupID) throws {
    guard households().contains(where: { $0 != group }) else { return }
    throw HearthError(
      .notAllowed,
      "this link is for a further device of \(name), but this node is \(profile.personName)'s in "
        + "another household: make a new node with `hearth init --person "
        + "\(ShellText.word(printable(name)))` in its own folder (--home PATH), and join there")
  }

  /// Keeps who this node belongs to.
  func keep(_ changed: NodeProfile) throws {
    try store.transaction { try NodeReplicas.Content.keep(changed, in: store) }
    profile = changed
  }

  /// Closes the node's files and connections; no other call may follow.
  func close() throws {
    observers.finish()
    relays = [:]
    try catalogueFile.close()
    try replicas.close()
  }
}

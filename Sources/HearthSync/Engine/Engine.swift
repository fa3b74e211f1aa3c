import HearthCRDT
import HearthCrypto
import HearthMembership

/// The sans-I/O core of a node: zones, keys, membership, and the rules by which changes are made,
/// verified, ordered and applied.
///
/// The engine is a value: the same store, inputs, times and randomness give the same result. It
/// calls its store inside transactions and never touches a clock, a socket or a file. Its memory
/// follows the store: a failed transaction also discards its changes in memory.
package struct Engine<S: Store> {
  package let store: S
  package let identity: DeviceIdentity
  /// This device.
  package let device: DeviceID
  /// The incarnation of this device that writes new changes.
  package internal(set) var incarnation: UInt64
  /// The zones in order of id.
  package internal(set) var zones: [ZoneState]
  /// Each group's people and devices.
  var memberships: [GroupID: Membership]
  /// Whether the epoch keys are open and the memberships resolved; otherwise only zones and heads
  /// may be asked for.
  package internal(set) var isFolded = false
  /// The clock of new changes.
  var clock: HybridClock
  /// The version of the program's schema, which changes report to others.
  package var schemaVersion: UInt32
  /// The group of the private database in use; nil if there is none.
  package internal(set) var privateGroup: GroupID?
  /// The permissions of each role.
  let policy: RolePolicy
  /// The application of this node: it founds and joins only groups of that one.
  package let application: ApplicationIdentifier
  /// Shown segments of control zones that were verified and opened, by digest.
  var openedShown: [Identifier: ShownSegment] = [:]
  /// Excerpts of stored segments that citations were checked against.
  let excerpts = ExcerptMemory()
  /// Contradictions found during a rebuild, to be shown to the group.
  var unprovenForks: [ForkEvidence] = []
  /// Whether the histories of a log are currently being shown, which defers the consequences.
  var isShowing = false

  /// The author of new changes.
  package var author: Author { Author(device: device, incarnation: incarnation) }

  /// A zone by its id.
  package func zone(_ id: ZoneID) throws -> ZoneState {
    zones[try place(of: id)]
  }

  /// The people and devices of a group.
  package func membership(of group: GroupID) -> Membership {
    // An empty membership in its place would make everybody a stranger.
    precondition(isFolded, "the engine was asked for people before it folded the control logs")
    return memberships[group] ?? Membership()
  }

  /// The control zone of a group.
  package func controlZone(of group: GroupID) throws -> ZoneState {
    guard let zone = zones.first(where: { $0.group == group && $0.kind == .control }) else {
      throw SyncError(.notFound, "group \(group.hex) has no control zone here")
    }
    return zone
  }

  /// The index of a zone in ``zones``.
  func place(of id: ZoneID) throws -> Int {
    guard let place = zones.firstIndex(where: { $0.id == id }) else {
      throw SyncError(.notFound, "zone \(id.hex) is not known to this node")
    }
    return place
  }

  /// Adds a zone whose keys are known.
  mutating func add(
    zone: ZoneID, of group: GroupID, kind: ZoneKind, database: DatabaseKind, name: String,
    secret: ZoneSecret, epochs: [EpochKey]
  ) throws {
    guard !zones.contains(where: { $0.id == zone }) else {
      throw SyncError(.exists, "this node already has zone \(name)")
    }
    let stored = StoredZone(
      id: zone, group: group, kind: kind, database: database, name: name,
      wrappedSecret: try secret.protected(by: identity, zoneID: zone.bytes),
      wrappedEpochs: try epochs.map { try $0.protected(by: identity) })
    try store.zones.save(stored)
    var state = ZoneState(stored, secret: secret, epochs: epochs, heads: [])
    state.recognise([device] + membership(of: group).cards.keys.sorted())
    zones.append(state)
    zones.sort { $0.id < $1.id }
  }

  /// The data zones of a group.
  func dataZoneIDs(of group: GroupID) -> [ZoneID] {
    zones.filter { $0.group == group && $0.kind == .data }.map(\.id)
  }

  /// All zones of a group, including the control zone.
  func zoneIDs(of group: GroupID) -> [ZoneID] {
    zones.filter { $0.group == group }.map(\.id)
  }
}

/// The id of the device that an identity is for.
package func deviceID(of identity: DeviceIdentity) throws -> DeviceID {
  guard let device = Identifier(bytes: identity.publicKeys.deviceID) else {
    throw SyncError(.corrupt, "the device id has the wrong length")
  }
  return device
}

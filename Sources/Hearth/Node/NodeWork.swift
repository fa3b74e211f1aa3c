import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// A part of a node's work, which the node lends its core for one call.
protocol NodeWork {
  var core: NodeCore { get }
}

extension NodeCore: NodeWork {
  var core: NodeCore { self }
}

extension NodeWork {
  var folder: NodeFolder { core.folder }

  var schema: NodeSchema { core.schema }

  var replicas: NodeReplicas { core.replicas }

  var store: ReplicaStore { replicas.store }

  var engine: Engine<ReplicaStore> {
    get { replicas.engine }
    nonmutating _modify { yield &replicas.engine }
  }

  /// Who this node belongs to.
  var profile: NodeProfile {
    get { replicas.profile }
    nonmutating set { replicas.profile = newValue }
  }

  /// The rollback guard: a file outside the database that records how far the own logs are sealed.
  var anchorFile: any AnchorFile { replicas.anchorFile }

  /// The person of this node.
  var person: PersonID { Identifier(hex: profile.personID) ?? .zero }

  /// This device.
  var device: DeviceID { engine.device }

  /// The wall clock of this node.
  func now() -> UInt64 { core.clock() }

  /// Notifies the observers of what was written since the last time.
  func announce() { core.observers.announce(replicas.takeTouched()) }

  /// Performs all steps or none: a rejected device keeps no zones, keys or transport of the
  /// household.
  func takeBack<Result>(unlessDone steps: () throws -> Result) throws -> Result {
    let before = (engine, profile)
    do {
      return try store.transaction {
        (engine, profile) = before
        return try steps()
      }
    } catch {
      (engine, profile) = before
      throw error
    }
  }
}

// The groups and zones of a node.
extension NodeWork {
  /// The people, devices and invitations of a group.
  func membership(of group: GroupID) -> Membership { engine.membership(of: group) }

  /// The end of this device's membership in a group; nil while it is a member.
  func ending(in group: GroupID) -> Ending? { Ending(of: device, in: membership(of: group)) }

  /// The households that this node is or was in.
  func households() -> [GroupID] {
    Set(engine.zones.filter { $0.database == .shared }.map(\.group)).sorted()
  }

  /// The zones of records, in order of database and name.
  func dataZones() -> [ZoneState] {
    allZones().filter { $0.kind == .data }
      .sorted { ($0.database.rawValue, $0.name, $0.id) < ($1.database.rawValue, $1.name, $1.id) }
  }

  /// Every zone in use; of this device's private databases only the present one.
  func allZones() -> [ZoneState] {
    engine.zones.filter { !ExchangeScope(engine: engine).isRetired($0) }.map(shown)
  }

  /// A zone with the name in its records.
  ///
  /// If the records are unreadable, it has its first name; a call that reads more of the zone meets
  /// and reports the same fault.
  func shown(_ zone: ZoneState) -> ZoneState {
    guard let zoneName = schema.zoneName, zone.kind == .data, zone.database == .shared,
      let name = try? zoneName(store.projections.source(of: zone.id))
    else { return zone }
    var zone = zone
    zone.name = name
    return zone
  }

  /// The zones of a group, the control zone first.
  func zones(of group: GroupID) -> [ZoneID] {
    engine.zones.filter { $0.group == group }
      .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }.map(\.id)
  }

  /// The zone of a group's records.
  func recordZone(of group: GroupID) throws -> ZoneID {
    guard let zone = engine.zones.first(where: { $0.group == group && $0.kind == .data })
    else { throw HearthError(.corrupt, "the household has no zone of records") }
    return zone.id
  }

  func identifier(_ bytes: [UInt8]) throws -> Identifier {
    guard let identifier = Identifier(bytes: bytes) else {
      throw HearthError(.corrupt, "an id has the wrong length")
    }
    return identifier
  }
}

import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// One node of the measurements: an engine over a store on disk, without transports.
final class Replica {
  let store: ReplicaStore
  var engine: Engine<ReplicaStore>
  /// The household's zone; set once the replica is in one.
  private(set) var zone: ZoneID = .zero
  let path: String
  private var now: UInt64 = 1_760_000_000_000

  private static let schemas = [Chore.schema, Points.schema]

  /// Creates or opens a replica whose files lie in a folder of its own.
  init(_ folder: String, identity: DeviceIdentity) throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true)
    path = folder + "/node.db"
    store = try ReplicaStore(
      path: path, schema: Replica.schemas, projections: [WeekBoard()])
    engine = try Engine(store: store, identity: identity, incarnation: 1, nowMilliseconds: now)
    if let data = engine.zones.first(where: { $0.kind == .data }) { zone = data.id }
  }

  /// The same device for the same number in every process, so that a node can be opened again.
  static func identity(_ number: Int) throws -> DeviceIdentity {
    var seed = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: SecretKey.count)
    return try DeviceIdentity(master: try SecretKey(consuming: &seed))
  }

  /// A clock that moves one millisecond a call, so that runs repeat exactly.
  func tick() -> UInt64 {
    now += 1
    return now
  }

  /// Replicas of one household, the first of which founded it; all know each other.
  static func family(_ count: Int, in root: String) throws -> [Replica] {
    let all = try (1...count).map { number in
      try Replica("\(root)/r\(number)", identity: try identity(number))
    }
    let founder = all[0]
    let made = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: ["Home"],
        person: try Identifier.random(), personName: "P1",
        deviceName: "d1"), in: &founder.engine, nowMilliseconds: founder.tick())
    let control = try founder.engine.controlZone(of: made.group).id
    for replica in all { replica.zone = made.zones[0] }
    guard count > 1 else { return all }
    let invitation = try InvitationMaking.invite(
      to: made.group, named: "Home", role: .member, maximumUses: count,
      expiresMilliseconds: founder.now + 3_600_000, in: &founder.engine,
      nowMilliseconds: founder.tick())
    for (place, replica) in all.enumerated().dropFirst() {
      let capsule = try JoiningByInvitation.begin(
        invitation.capsule, with: invitation.secret, in: &replica.engine,
        nowMilliseconds: replica.tick())
      _ = try replica.pull(from: founder, zone: control)
      try JoiningByInvitation.finish(
        capsule, with: invitation.secret,
        person: try Identifier.random(), personName: "P\(place + 1)",
        deviceName: "d\(place + 1)", in: &replica.engine, nowMilliseconds: replica.tick())
      _ = try founder.pull(from: replica, zone: control)
    }
    for replica in all.dropFirst() { _ = try replica.pull(from: founder, zone: control) }
    return all
  }

  /// Writes actions as one transaction.
  func write(_ actions: some Collection<Action>) throws {
    var operations: [HearthCRDT.Operation] = []
    operations.reserveCapacity(actions.count)
    for action in actions { operations += action.operations }
    _ = try engine.write(operations, to: zone, nowMilliseconds: tick())
  }

  /// Writes awards as one transaction of events.
  func award(_ actions: some Collection<Action>) throws {
    let dot = try engine.nextDot(in: zone)
    var operations: [HearthCRDT.Operation] = []
    operations.reserveCapacity(actions.count)
    for action in actions {
      guard case .award(let award) = action else { continue }
      let id = eventID(in: zone, type: Points.type, dot: dot, index: operations.count)
      operations.append(
        HearthCRDT.Operation(
          RecordKey(type: Points.type, id: id), .event(Points.fields(of: award))))
    }
    _ = try engine.write(operations, to: zone, nowMilliseconds: tick())
  }

  /// The sealed segments that another replica lacks; own new changes are sealed first.
  func news(for other: Replica, zone: ZoneID) throws -> [[UInt8]] {
    _ = try Sealing.seal(zone, in: &engine)
    let known = try other.engine.zone(zone).frontier
    return try store.log.segments(of: zone).filter { $0.last > known[$0.author] }.compactMap {
      try store.log.bytes(of: $0.digest, in: zone)
    }
  }

  /// Receives sealed segments.
  func receive(_ segments: [[UInt8]], zone: ZoneID) throws {
    let report = try engine.receive(segments, in: zone, nowMilliseconds: tick())
    guard report.refused.isEmpty, report.waiting.isEmpty, report.forks.isEmpty else {
      throw BenchError("segments were not applied: \(report)")
    }
  }

  /// Gets what another replica has; how many bytes moved.
  func pull(from other: Replica, zone: ZoneID) throws -> Int {
    let segments = try other.news(for: self, zone: zone)
    try receive(segments, zone: zone)
    return segments.reduce(0) { $0 + $1.count }
  }

  func pull(from other: Replica) throws -> Int {
    try pull(from: other, zone: zone)
  }

  func digest() throws -> [UInt8] {
    try engine.digest(of: zone)
  }

  /// Starts the empty household from another replica's snapshot; its size.
  func bootstrap(from other: Replica) throws -> Int {
    let chunks = try SnapshotMaking.snapshot(of: other.zone, in: other.engine)
    try SnapshotLoading.bootstrap(zone, from: chunks, in: &engine, nowMilliseconds: tick())
    return chunks.reduce(0) { $0 + $1.count }
  }

  /// The bytes of the database and its log.
  func diskBytes() -> Int {
    ["", "-wal"].reduce(0) { sum, suffix in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
      return sum + (attributes?[.size] as? Int ?? 0)
    }
  }
}

/// Whether all replicas hold the same state, byte for byte.
func areEqual(_ replicas: [Replica]) throws -> Bool {
  Set(try replicas.map { try $0.digest() }).count == 1
}

import HearthCRDT
import HearthCrypto
import HearthMembership
import TestSupport

@testable import HearthSync

/// A member that seals what no honest program would: it has every key, and no manners.
struct Forge {
  let identity: DeviceIdentity
  let zone: ZoneState
  var author: Author
  var head: LogHead
  /// What it has seen of the control zone.
  var control: Frontier
  /// The control zone itself, for what its logs are cited by.
  private var controlZone: ZoneState

  /// Takes over the keys of a member, who writes as another life of its device.
  init(_ engine: Engine<MemoryStore>, _ zone: ZoneID, incarnation: UInt64? = nil) throws {
    identity = engine.identity
    self.zone = try engine.zone(zone)
    author = Author(device: engine.device, incarnation: incarnation ?? engine.incarnation)
    head = self.zone.head(of: author)
    controlZone = try engine.controlZone(of: self.zone.group)
    control = controlZone.frontier
  }

  /// Tells the members' log of this life of a member, as an honest program does: the sealed
  /// announcement, which the forge's records cite from then on.
  mutating func announce(
    _ engine: Engine<MemoryStore>, under epoch: EpochKey? = nil
  ) throws -> [UInt8] {
    var herald = try Forge(engine, controlZone.id, incarnation: author.incarnation)
    let dot = Dot(author: author, sequence: 1)
    let key = RecordKey(
      type: ControlOperation.type,
      id: eventID(in: controlZone.id, type: ControlOperation.type, dot: dot, index: 0))
    let body = ControlOperation.heartbeat([]).encoded
    let change = Change(
      dot: dot, previousHash: herald.head.hash,
      seen: herald.honest(controlZone.frontier, in: controlZone, from: Frontier()),
      time: HybridTime(milliseconds: EngineFamily.now),
      operations: [
        Operation(key, .event([EventField(ControlOperation.bodyField, .bytes(body))]))
      ])
    herald.head.sequence = 1
    herald.head.hash = herald.hash(change)
    control.advance(author, to: 1)
    controlZone.set(herald.head)
    return try herald.seal([change], .init(epoch: epoch))
  }

  /// Takes over what another member has of the members' log.
  mutating func look(through engine: Engine<MemoryStore>) throws {
    controlZone = try engine.controlZone(of: zone.group)
    control = controlZone.frontier
  }

  /// What the forge has beyond its last citation, as an honest program cites it.
  private func honest(_ frontier: Frontier, in zone: ZoneState, from known: Frontier)
    -> FrontierDifference
  {
    frontier.covers(known)
      ? frontier.difference(from: known) { zone.head(of: $0).hash } : .none
  }

  /// The next change of the log, chained to the last.
  ///
  /// It cites what the forge has seen of the control zone, or a frontier; what is cited of logs as
  /// the forge knows them is proven.
  mutating func change(
    seen: Frontier = Frontier(), controlSeen: Frontier? = nil,
    time: UInt64 = EngineFamily.now,
    _ bodies: [Operation.Body] = [.insert], record: Int = 1
  ) -> Change {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(record))
    let cited =
      controlSeen.map { honest($0, in: controlZone, from: Frontier()) }
      ?? honest(control, in: controlZone, from: head.controlSeen)
    let change = Change(
      dot: Dot(author: author, sequence: head.sequence + 1), previousHash: head.hash,
      seen: honest(seen, in: zone, from: Frontier()),
      controlSeen: cited,
      time: HybridTime(milliseconds: time), operations: bodies.map { Operation(key, $0) })
    head.sequence += 1
    head.hash = hash(change)
    head.controlSeen = head.controlSeen.raised(by: cited) ?? head.controlSeen
    return change
  }

  /// The next change of the log with operations on any records.
  mutating func change(
    operations: (Dot) -> [Operation], time: UInt64 = EngineFamily.now
  ) -> Change {
    let dot = Dot(author: author, sequence: head.sequence + 1)
    let change = Change(
      dot: dot, previousHash: head.hash, seen: .none,
      controlSeen: honest(control, in: controlZone, from: head.controlSeen),
      time: HybridTime(milliseconds: time), operations: operations(dot))
    head.sequence += 1
    head.hash = hash(change)
    head.controlSeen = head.controlSeen.raised(by: change.controlSeen) ?? head.controlSeen
    return change
  }

  /// The next change of the log, which cites the end of another forge's log as it is.
  mutating func change(
    following other: LogHead?, _ bodies: [Operation.Body], record: Int = 1
  ) -> Change {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(record))
    var past = head.past
    if let other { past.advance(other.author, to: other.sequence) }
    let change = Change(
      dot: Dot(author: author, sequence: head.sequence + 1), previousHash: head.hash,
      seen: past.difference(from: head.past) { _ in other?.hash ?? [] },
      controlSeen: honest(control, in: controlZone, from: head.controlSeen),
      time: HybridTime(milliseconds: EngineFamily.now),
      operations: bodies.map { Operation(key, $0) })
    head.sequence += 1
    head.hash = hash(change)
    head.seen = head.seen.raised(by: change.seen) ?? head.seen
    head.controlSeen = head.controlSeen.raised(by: change.controlSeen) ?? head.controlSeen
    return change
  }

  func hash(_ change: Change) -> [UInt8] {
    var writer = ByteWriter()
    change.encode(into: &writer)
    return zone.secret.chainHash(of: writer.bytes)
  }

  /// What can be told wrongly when sealing.
  struct Lies {
    var body: [UInt8]?
    var zoneID: [UInt8]?
    var secret: ZoneSecret?
    var epoch: EpochKey?
    var incarnation: UInt64?
    var first: UInt64?
    var last: UInt64?
    var before: [UInt8]?
    var after: [UInt8]?
    var signer: DeviceIdentity?
    var weight: Int?
    var type = EnvelopeType.segment
  }

  /// Seals changes, with lies where they are told.
  func seal(_ changes: [Change], _ lies: Lies = Lies()) throws -> [UInt8] {
    let epoch = try lies.epoch ?? unwrapped(zone.currentEpoch)
    let first = try unwrapped(changes.first)
    let last = try unwrapped(changes.last)
    return try Envelope.seal(
      type: lies.type, zoneID: lies.zoneID ?? zone.id.bytes, device: lies.signer ?? identity,
      incarnation: lies.incarnation ?? author.incarnation, epoch: epoch,
      zone: lies.secret ?? zone.secret, firstSeq: lies.first ?? first.dot.sequence,
      lastSeq: lies.last ?? last.dot.sequence, chainBefore: lies.before ?? first.previousHash,
      chainAfter: lies.after ?? hash(last), body: lies.body ?? ChangeBatch.encode(changes),
      weight: lies.weight ?? ChangeBatch.weight(of: changes))
  }

  private struct Missing: Error {}

  private func unwrapped<Item>(_ item: Item?) throws -> Item {
    guard let item else { throw Missing() }
    return item
  }
}

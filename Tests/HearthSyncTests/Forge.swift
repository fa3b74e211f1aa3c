import HearthCRDT
import HearthCrypto
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

  /// Takes over the keys of a member, who writes as another life of its device.
  init(_ engine: Engine<MemoryStore>, _ zone: ZoneID, incarnation: UInt64? = nil) throws {
    identity = engine.identity
    self.zone = try engine.zone(zone)
    author = Author(device: engine.device, incarnation: incarnation ?? engine.incarnation)
    head = self.zone.head(of: author)
    control = try engine.controlZone(of: self.zone.group).frontier
  }

  /// The next change of the log, chained to the last; it cites what the forge has seen of the
  /// control zone, or a frontier beyond what the log has cited.
  mutating func change(
    seen: Frontier = Frontier(), controlSeen: Frontier? = nil,
    time: UInt64 = EngineFamily.now,
    _ bodies: [Operation.Body] = [.insert], record: Int = 1
  ) -> Change {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(record))
    let cited =
      controlSeen?.difference(from: Frontier())
      ?? (control.covers(head.controlSeen)
        ? control.difference(from: head.controlSeen) : .none)
    let change = Change(
      dot: Dot(author: author, sequence: head.sequence + 1), previousHash: head.hash,
      seen: seen.difference(from: Frontier()),
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
      controlSeen: control.covers(head.controlSeen)
        ? control.difference(from: head.controlSeen) : .none,
      time: HybridTime(milliseconds: time), operations: operations(dot))
    head.sequence += 1
    head.hash = hash(change)
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

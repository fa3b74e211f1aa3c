import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// A sealed file as a hostile member gives it to others.
package struct HostileFile: Sendable {
  /// What every transport calls it.
  package let name: SegmentName
  /// The sealed bytes.
  package let bytes: [UInt8]
}

/// Why a deed cannot be done.
package struct HostileError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Somebody with valid keys and a program that checks nothing.
///
/// It takes from a node of its own what every device of a household has (keys, its place in its own
/// log, what it knows of others), and writes whatever it likes: each change continues a hash chain,
/// is sealed under an epoch's key and signed, so that only what it says can give it away. The node
/// itself is not changed: whoever does one deed after the other uses one of these for all of them.
package struct HostileMember {
  /// The household's zone that is written.
  package let zone: ZoneID
  /// The person whose keys these are.
  package let person: PersonID
  /// How far every author's log was known when this began.
  package let heads: [LogHead]
  /// The people of the household.
  package let membership: Membership
  /// Where everything comes from that is left to chance.
  package var dice: Dice

  private let identity: DeviceIdentity
  let device: DeviceID
  private let secret: ZoneSecret
  private let epoch: EpochKey
  private let zoneTag: Identifier
  private let authorTag: Identifier
  /// What was known of the household's records when this began: all that it can have seen.
  package let known: Frontier
  private let control: Frontier
  private let hashes: [Author: [UInt8]]
  private let controlHashes: [Author: [UInt8]]
  /// What its clock shows, or is said to show.
  var nowMilliseconds: UInt64
  /// Where the log stands that is written at the moment.
  package private(set) var head: LogHead
  /// Every change that was made so far, as it will stand in a file.
  package private(set) var written: [Change] = []

  /// Takes over what a device has of a household.
  ///
  /// - Parameters:
  ///   - engine: the device's engine, of which nothing is changed.
  ///   - zone: the household's zone of records.
  /// - Throws: `HostileError` where the device has no keys of the zone.
  package init<S: Store>(
    of engine: Engine<S>, writing zone: ZoneID, seed: UInt64, nowMilliseconds: UInt64
  ) throws {
    let state = try engine.zone(zone)
    guard let stored = try engine.store.zones().first(where: { $0.id == zone }),
      let epoch = state.epochs.last
    else { throw HostileError("this device has no keys of \(zone.hex)") }
    self.zone = zone
    self.epoch = epoch
    self.nowMilliseconds = nowMilliseconds
    identity = engine.identity
    device = engine.device
    secret = try ZoneSecret.recovered(stored.wrappedSecret, by: engine.identity, zoneID: zone.bytes)
    membership = engine.membership(of: state.group)
    guard let member = membership.allDevices.first(where: { $0.id == engine.device }) else {
      throw HostileError("this device does not belong to the household of \(zone.hex)")
    }
    person = member.person
    heads = state.heads
    known = state.frontier
    let members = try engine.controlZone(of: state.group)
    control = members.frontier
    hashes = Dictionary(uniqueKeysWithValues: state.heads.map { ($0.author, $0.hash) })
    controlHashes = Dictionary(uniqueKeysWithValues: members.heads.map { ($0.author, $0.hash) })
    zoneTag = state.tag
    authorTag = state.authorTag(of: engine.device)
    head = state.head(of: engine.author)
    // Two devices with one seed do not give their records the same ids.
    dice = Dice(seed: seed &+ device.low)
  }

  /// Goes on under another life of the device, whose log is empty.
  package mutating func begin(life: UInt64) {
    let incarnation = life << 32 | dice.next() & 0xffff_ffff
    head = LogHead(author: Author(device: device, incarnation: incarnation))
  }

  /// The next change of the log, with whatever operations, and citing whatever besides what is
  /// known.
  ///
  /// What is known is cited by its true hash; what nobody has written has none but a guess.
  ///
  /// - Parameter owned: what it owns to have seen, besides what its log says already; everything
  ///   that is known if nil.
  package mutating func change(
    _ operations: [Operation], citing invented: Frontier = Frontier(), owning owned: Frontier? = nil
  ) -> Change {
    let guess = invented.entries.isEmpty ? [] : dice.bytes(32)
    let seen = (owned ?? known).joined(with: invented).joined(with: head.past).difference(
      from: head.past,
      citing: { invented[$0] > known[$0] ? guess : hashes[$0] ?? [] })
    let controlSeen = control.joined(with: head.controlSeen).difference(
      from: head.controlSeen, citing: { controlHashes[$0] ?? [] })
    let sequence = head.sequence + 1
    let time = max(
      head.time.rawValue + 1, HybridTime(milliseconds: nowMilliseconds).rawValue)
    let change = Change(
      dot: Dot(author: head.author, sequence: sequence), previousHash: head.hash, seen: seen,
      controlSeen: controlSeen, time: HybridTime(rawValue: time), operations: operations)
    head.sequence = sequence
    head.hash = hash(after: change)
    head.time = change.time
    head.seen = head.seen.raised(by: seen) ?? head.seen
    head.controlSeen = head.controlSeen.raised(by: controlSeen) ?? head.controlSeen
    written.append(change)
    return change
  }

  /// Leaves out changes: nobody will ever see them, and what follows says they were there.
  package mutating func skip(_ number: UInt64) {
    head.sequence += number
    head.hash = dice.bytes(32)
  }

  /// The dot that the next change will have.
  package var nextDot: Dot { Dot(author: head.author, sequence: head.sequence + 1) }

  /// An event as the next change may have it at a place among its operations.
  package func event(_ type: TypeID, at index: Int, _ fields: [EventField]) -> Operation {
    let id = eventID(in: zone, type: type, dot: nextDot, index: index)
    return Operation(
      RecordKey(type: type, id: id), .event(fields.sorted { $0.field < $1.field }))
  }

  /// Seals consecutive changes into one file.
  ///
  /// - Parameter weight: how much work it declares; as much as there is if nil.
  package func seal(_ changes: [Change], weight: Int? = nil) throws -> HostileFile {
    guard let first = changes.first, let last = changes.last else {
      throw HostileError("a file without changes")
    }
    return file(
      try Envelope.seal(
        type: .segment, zoneID: zone.bytes, device: identity,
        incarnation: first.dot.author.incarnation, epoch: epoch, zone: secret,
        firstSeq: first.dot.sequence, lastSeq: last.dot.sequence,
        chainBefore: first.previousHash, chainAfter: hash(after: last),
        body: ChangeBatch.encode(changes), weight: weight ?? ChangeBatch.weight(of: changes)),
      first.dot.author.incarnation, first.dot.sequence...last.dot.sequence)
  }

  /// A file that says it is of a suite that nobody knows yet, with noise in it.
  ///
  /// It needs no key at all beyond the names of the zone and the author.
  package mutating func sealOfNewerSuite(byteCount: Int, first: UInt64) throws -> HostileFile {
    var bytes = try Envelope.seal(
      type: .segment, zoneID: zone.bytes, device: identity, incarnation: head.author.incarnation,
      epoch: epoch, zone: secret, firstSeq: first, lastSeq: first, chainBefore: dice.bytes(32),
      chainAfter: dice.bytes(32), body: dice.bytes(byteCount))
    bytes[HostileMember.suiteOffset] = Envelope.suite + 1
    return file(bytes, head.author.incarnation, first...first)
  }

  /// Where the suite stands in an envelope.
  private static var suiteOffset: Int { 4 }

  private func file(
    _ bytes: [UInt8], _ incarnation: UInt64, _ range: ClosedRange<UInt64>
  ) -> HostileFile {
    HostileFile(
      name: SegmentName(
        zoneTag: zoneTag, authorTag: authorTag, incarnation: incarnation, first: range.lowerBound,
        last: range.upperBound, digest: segmentDigest(bytes)), bytes: bytes)
  }

  private func hash(after change: Change) -> [UInt8] {
    var writer = ByteWriter()
    change.encode(into: &writer)
    return secret.chainHash(of: writer.bytes)
  }
}

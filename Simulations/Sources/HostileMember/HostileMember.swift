import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

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

  let group: GroupID
  private let identity: DeviceIdentity
  let device: DeviceID
  private let pen: ZonePen
  let controlPen: ZonePen
  /// What was known of the household's records when this began: all that it can have seen.
  package let known: Frontier
  private let control: Frontier
  private let hashes: [Author: [UInt8]]
  private let controlHashes: [Author: [UInt8]]
  /// How far every author's log in the control zone was known.
  let controlHeads: [LogHead]
  /// This life's log in the control zone.
  var herald: Herald
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
    self.zone = zone
    self.nowMilliseconds = nowMilliseconds
    group = state.group
    identity = engine.identity
    device = engine.device
    pen = try ZonePen(of: engine, in: state)
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
    controlHeads = members.heads
    controlPen = try ZonePen(of: engine, in: members)
    herald = Herald(
      controlPen, as: engine.identity, from: members.head(of: engine.author),
      knowing: members.heads)
    head = state.head(of: engine.author)
    // Two devices with one seed do not give their records the same ids.
    dice = Dice(seed: seed &+ device.low)
  }

  /// Goes on under another life of the device, whose logs are empty.
  ///
  /// Records of a life of which the control log tells nothing count nowhere (decision 0061): see
  /// ``announce()``.
  package mutating func begin(life: UInt64) {
    let incarnation = life << 32 | dice.next() & 0xffff_ffff
    head = LogHead(author: Author(device: device, incarnation: incarnation))
    herald = Herald(
      controlPen, as: identity, from: LogHead(author: head.author), knowing: controlHeads)
  }

  /// Tells the control log of this life, as an honest program does before its first record; what
  /// follows cites it.
  package mutating func announce() throws -> HostileFile {
    try sealControl([controlChange([.heartbeat([])])])
  }

  /// The next change of this life's log in the control zone.
  package mutating func controlChange(_ said: [ControlOperation]) -> Change {
    herald.change(said, nowMilliseconds: nowMilliseconds)
  }

  /// Seals consecutive changes of this life's log in the control zone.
  package func sealControl(_ changes: [Change]) throws -> HostileFile { try herald.seal(changes) }

  /// The next change of the log, with whatever operations, and citing whatever besides what is
  /// known.
  ///
  /// What is known is cited by its true hash; what nobody has written has none but a guess.
  ///
  /// - Parameters:
  ///   - owned: what it owns to have seen, besides what its log says already; everything that is
  ///     known if nil.
  ///   - other: this member in another life, whose logs it has seen, and cites as they truly are.
  package mutating func change(
    _ operations: [Operation], citing invented: Frontier = Frontier(),
    owning owned: Frontier? = nil, following other: HostileMember? = nil
  ) -> Change {
    let guess = invented.entries.isEmpty ? [] : dice.bytes(32)
    let lives = [other?.head].compactMap(\.self).filter { $0.sequence > 0 }
    let seen = (owned ?? known).joined(with: invented)
      .joined(with: Frontier(lives.map { ($0.author, $0.sequence) })).joined(with: head.past)
      .difference(
        from: head.past,
        citing: { author in
          if let life = lives.first(where: { $0.author == author }) { return life.hash }
          return invented[author] > known[author] ? guess : hashes[author] ?? []
        })
    let told = [herald.head, other?.herald.head].compactMap(\.self)
    let controlSeen = control.joined(with: Frontier(told.map { ($0.author, $0.sequence) }))
      .joined(with: head.controlSeen)
      .difference(
        from: head.controlSeen,
        citing: { author in
          told.first { $0.author == author }?.hash ?? controlHashes[author] ?? []
        })
    let sequence = head.sequence + 1
    let time = max(
      head.time.rawValue + 1, HybridTime(milliseconds: nowMilliseconds).rawValue)
    let change = Change(
      dot: Dot(author: head.author, sequence: sequence), previousHash: head.hash, seen: seen,
      controlSeen: controlSeen, time: HybridTime(rawValue: time), operations: operations)
    head.sequence = sequence
    head.hash = pen.hash(after: change)
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
    try pen.seal(changes, by: identity, weight: weight)
  }

  /// A file that says it is of a suite that nobody knows yet, with noise in it.
  ///
  /// - Parameter isControl: whether it lies in the control zone.
  package mutating func sealOfNewerSuite(
    byteCount: Int, first: UInt64, isControl: Bool = false
  ) throws -> HostileFile {
    let chain = (before: dice.bytes(32), after: dice.bytes(32))
    let noise = dice.bytes(byteCount)
    let place = isControl ? controlPen : pen
    return try place.sealOfNewerSuite(
      noise, by: identity, incarnation: head.author.incarnation, first: first, chain: chain)
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// A household of engines over memory stores, joined and in step, that exchange by hand.
package struct EngineFamily {
  /// The engines; the first one founded the household.
  package var members: [Engine<MemoryStore>]
  package let group: GroupID
  /// The one zone of records.
  package let zone: ZoneID
  package let control: ZoneID
  /// An open invitation, for further engines.
  package let capsule: [UInt8]
  package let secret: InviteSecret
  /// The wall clock of all of them.
  package static let now: UInt64 = 1_790_000_000_000

  /// Makes a household.
  package init(_ count: Int) throws {
    var founder = try EngineFamily.engine()
    let made = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: ["Home"], person: EngineFamily.id(1), personName: "Anna",
        deviceName: "device 0"), in: &founder, nowMilliseconds: EngineFamily.now)
    group = made.group
    zone = made.zones[0]
    control = try founder.controlZone(of: group).id
    let invitation = try InvitationMaking.invite(
      to: group, named: "Home", role: .member, maximumUses: 1_000,
      expiresMilliseconds: EngineFamily.now * 2, in: &founder, nowMilliseconds: EngineFamily.now)
    capsule = invitation.capsule
    secret = invitation.secret
    members = [founder]
    for number in 1..<max(1, count) { try join(number) }
    try settle()
  }

  /// Lets one more engine join, by what the founder has.
  package mutating func join(_ number: Int) throws {
    var engine = try EngineFamily.engine()
    let opened = try JoiningByInvitation.begin(
      capsule, with: secret, in: &engine, nowMilliseconds: EngineFamily.now)
    _ = try engine.receive(
      try published(0, control), in: control, nowMilliseconds: EngineFamily.now)
    try JoiningByInvitation.finish(
      opened, with: secret, person: EngineFamily.id(number + 1), personName: "P\(number)",
      deviceName: "device \(number)", in: &engine, nowMilliseconds: EngineFamily.now)
    members.append(engine)
    let joined = try published(members.count - 1, control)
    _ = try members[0].receive(joined, in: control, nowMilliseconds: EngineFamily.now)
  }

  /// An engine of a device of its own over an empty store.
  package static func engine(
    of application: ApplicationIdentifier = .household
  ) throws -> Engine<MemoryStore> {
    let identity = try DeviceIdentity.generate().0
    return try Engine(
      store: MemoryStore(), identity: identity,
      incarnation: Incarnations.first(of: identity),
      policy: RolePolicy(otherwise: .init(.writers)), application: application,
      nowMilliseconds: now)
  }

  package static func id(_ number: Int) -> Identifier {
    Identifier(high: 0xfa, low: UInt64(number))
  }

  /// All sealed segments that a member holds of a zone, its newest changes sealed first.
  package mutating func published(_ member: Int, _ zone: ZoneID) throws -> [[UInt8]] {
    _ = try Sealing.seal(zone, in: &members[member])
    let store = members[member].store
    return try store.log.segments(of: zone).compactMap {
      try store.log.bytes(of: $0.digest, in: zone)
    }
  }

  /// Gives everybody everything, control zones first.
  package mutating func settle() throws {
    for zone in [control, zone, zone] {
      for giver in members.indices {
        let blobs = try published(giver, zone)
        for taker in members.indices where taker != giver {
          _ = try members[taker].receive(blobs, in: zone, nowMilliseconds: EngineFamily.now)
        }
      }
    }
  }

  /// Writes operations on one record.
  package mutating func write(
    _ member: Int, _ record: Int, _ bodies: [Operation.Body], now: UInt64 = EngineFamily.now
  ) throws {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(record))
    _ = try members[member].write(
      bodies.map { Operation(key, $0) }, to: zone, nowMilliseconds: now)
  }

  /// A few operations of all kinds on one of a few records.
  package mutating func writeAtRandom(_ member: Int, _ random: inout SplitMix64) throws {
    let bodies = (0...random.below(3)).map { _ -> Operation.Body in
      let value = Value.int(Int64(random.below(5)))
      switch random.below(7) {
      case 0: return .assign(FieldID(.history, 2), value)
      case 1: return .count(FieldID(.counter, 3), Int64(random.below(9)) - 4)
      case 2: return .include(FieldID(.set, 4), value)
      case 3: return .exclude(FieldID(.set, 4), value)
      default: return .assign(FieldID(.register, UInt16(random.below(3)) + 5), value)
      }
    }
    let last: [Operation.Body] = random.oneIn(12) ? [.delete] : []
    try write(member, random.below(6), bodies + last)
  }

  /// The digest of each member's records.
  package func digests() throws -> Set<[UInt8]> {
    Set(try members.map { try $0.digest(of: zone) })
  }

  /// An engine as it opens over a copy of its disk, in the life that the disk knows.
  package static func copied(_ engine: Engine<MemoryStore>) throws -> Engine<MemoryStore> {
    let store = engine.store.copied()
    let incarnation = try store.facts.value(of: Incarnations.currentFact) ?? engine.incarnation
    return try Engine(
      store: store, identity: engine.identity, incarnation: incarnation,
      policy: RolePolicy(otherwise: .init(.writers)), nowMilliseconds: now)
  }

  /// The same engine, opened anew over its store.
  package static func reopened<S: Store>(_ engine: Engine<S>) throws -> Engine<S> {
    try Engine(
      store: engine.store, identity: engine.identity, incarnation: engine.incarnation,
      nowMilliseconds: now)
  }
}

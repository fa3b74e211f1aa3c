import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync
import TestSupport
import Testing

@testable import HearthStore

@Suite("One engine over two stores")
struct DifferentialTests {
  /// What one step of an engine shows to the outside.
  private static func outcome<S: Store>(
    _ engine: inout Engine<S>, _ blobs: [[UInt8]], in zone: ZoneID
  ) throws -> [String] {
    let report = try engine.receive(blobs, in: zone, nowMilliseconds: EngineFamily.now)
    return try [
      "\(report.applied) \(report.authors) \(report.forks)", "\(report.refused)",
      "\(report.waiting.sorted { $0.key.rawValue < $1.key.rawValue })",
      "\(try engine.zone(zone).heads)", "\(try engine.digest(of: zone))",
      "\(engine.store.zones.heads(of: zone).sorted { $0.author < $1.author })",
      "\(engine.store.pending.segments(in: zone).map { "\($0.digest) \($0.reason)" })",
      "\(engine.store.log.segments(of: zone).map { "\($0)" }.sorted())",
    ]
  }

  /// Segments of a household that wrote at random, in two zones, some damaged, in random order.
  private static func material(
    _ family: inout EngineFamily, _ random: inout SplitMix64
  ) throws -> [(ZoneID, [UInt8])] {
    for _ in 0..<50 {
      let member = random.below(3)
      try family.writeAtRandom(member, &random)
      if random.oneIn(3) {
        let blobs = try family.published(member, family.zone)
        let taker = random.below(3)
        if taker != member {
          _ = try family.members[taker].receive(
            blobs, in: family.zone, nowMilliseconds: EngineFamily.now)
        }
      }
    }
    try family.settle()
    var material: [(ZoneID, [UInt8])] = []
    for zone in [family.control, family.zone] {
      for var blob in try family.published(0, zone) {
        material.append((zone, blob))
        if random.oneIn(6) {
          blob[random.below(blob.count)] ^= 1 << UInt8(random.below(8))
          material.append((zone, blob))
        }
      }
    }
    return material.shuffled(using: &random)
  }

  @Test(
    "The same segments in any order give the same reports, heads, logs and digests in both",
    arguments: [UInt64(1), 2, 3, 4])
  func receiving(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var family = try EngineFamily(3)
    let material = try Self.material(&family, &random)
    let scratch = try Scratch()
    let disk = try scratch.open(
      [RecordSchema(.record(7), "seven", [FieldSchema(FieldID(.register, 5), "five", .int)])])
    let identity = try DeviceIdentity.generate().0
    let incarnation = try Incarnations.first(of: identity)
    var one = try Engine(
      store: MemoryStore(), identity: identity, incarnation: incarnation,
      nowMilliseconds: EngineFamily.now)
    var two = try Engine(
      store: disk, identity: identity, incarnation: incarnation, nowMilliseconds: EngineFamily.now)
    _ = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &one, nowMilliseconds: EngineFamily.now)
    _ = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &two, nowMilliseconds: EngineFamily.now)
    for step in 0..<60 {
      let zone = random.oneIn(4) ? family.control : family.zone
      let blobs = material.filter { $0.0 == zone && random.oneIn(8) }.map(\.1)
      let left = try Self.outcome(&one, blobs, in: zone)
      let right = try Self.outcome(&two, blobs, in: zone)
      guard left == right else {
        Issue.record("seed \(seed), step \(step):\n\(left)\n\(right)")
        return
      }
      if random.oneIn(10) {
        one = try EngineFamily.reopened(one)
        two = try EngineFamily.reopened(two)
      }
      if random.oneIn(10) {
        try Rebuild.rebuild(zone, in: &one, nowMilliseconds: EngineFamily.now)
        try Rebuild.rebuild(zone, in: &two, nowMilliseconds: EngineFamily.now)
        #expect(try Self.outcome(&one, [], in: zone) == Self.outcome(&two, [], in: zone))
      }
    }
    // In the end, with everything, both are where the family is.
    for zone in [family.control, family.zone] {
      let blobs = material.filter { $0.0 == zone }.map(\.1)
      #expect(try Self.outcome(&one, blobs, in: zone) == Self.outcome(&two, blobs, in: zone))
    }
    #expect(try one.digest(of: family.zone) == family.members[0].digest(of: family.zone))
    #expect(try family.digests().count == 1)
    #expect(try disk.notices.all() == one.store.notices.all())
  }

  @Test("The same own writes, seals and new lives give the same state in both", arguments: [5, 6])
  func writing(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let scratch = try Scratch()
    let disk = try scratch.open()
    let identity = try DeviceIdentity.generate().0
    var one = try Engine(
      store: MemoryStore(), identity: identity, incarnation: 1 << 32,
      nowMilliseconds: EngineFamily.now)
    let made = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: ["Home"], person: EngineFamily.id(1), personName: "Anna",
        deviceName: "d"), in: &one, nowMilliseconds: EngineFamily.now)
    // The second store begins as a copy of the first.
    let control = try one.controlZone(of: made.group).id
    try disk.transaction {
      for zone in one.store.zones.all() { try disk.zones.save(zone) }
      for (place, bytes) in try one.store.log.changes(
        of: one.author, in: control, after: 0, limit: 99
      ).enumerated() {
        try disk.log.append(
          bytes, dot: Dot(author: one.author, sequence: UInt64(place + 1)), to: control)
      }
    }
    var two = try Engine(
      store: disk, identity: identity, incarnation: 1 << 32, nowMilliseconds: EngineFamily.now)
    try Rebuild.rebuild(control, in: &two, nowMilliseconds: EngineFamily.now)
    two = try EngineFamily.reopened(two)
    for step in 0..<400 {
      let key = RecordKey(type: Thing.type, id: recordID(random.below(5)))
      let operations = (0...random.below(3)).map { _ in
        HearthCRDT.Operation(key, random.thingBody())
      }
      let now = EngineFamily.now + UInt64(step)
      let first = Result { try one.write(operations, to: made.zones[0], nowMilliseconds: now) }
      let second = Result { try two.write(operations, to: made.zones[0], nowMilliseconds: now) }
      #expect((try? first.get()) == (try? second.get()), "seed \(seed), step \(step)")
      if random.oneIn(60) {
        #expect(try Sealing.seal(made.zones[0], in: &one) == Sealing.seal(made.zones[0], in: &two))
      }
      if random.oneIn(25) {
        one = try EngineFamily.reopened(one)
        two = try EngineFamily.reopened(two)
      }
      guard random.oneIn(20) else { continue }
      #expect(try one.digest(of: made.zones[0]) == two.digest(of: made.zones[0]), "step \(step)")
    }
    try Rebuild.rebuild(made.zones[0], in: &two, nowMilliseconds: EngineFamily.now)
    #expect(try one.digest(of: made.zones[0]) == two.digest(of: made.zones[0]))
  }
}

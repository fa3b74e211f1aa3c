import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("The private database, by engines")
struct PrivateEngineTests {
  private static let now = EngineFamily.now
  private static let register = FieldID(.register, 1)

  /// Engines of one person that share a private database, the first one's.
  private struct Devices {
    var engines: [Engine<MemoryStore>]
    let group: GroupID
    var person: PersonID { EngineFamily.id(1) }

    init(_ count: Int) throws {
      var founder = try EngineFamily.engine()
      group = try GroupCreation.create(
        GroupFounding(
          database: .personal, zoneNames: ["private"], person: EngineFamily.id(1),
          personName: "Anna", deviceName: "device 0"), in: &founder, nowMilliseconds: now
      ).group
      engines = [founder]
      for number in 1..<count { try add("device \(number)") }
      try meet()
    }

    var zone: ZoneID {
      engines[0].zones.first { $0.group == group && $0.kind == .data }?.id ?? .zero
    }

    /// All that an engine holds of the group, the control zone first.
    mutating func blobs(of place: Int) throws -> [(zone: ZoneID, bytes: [[UInt8]])] {
      try engines[place].zones.filter { $0.group == group }
        .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }.map { zone in
          _ = try Sealing.seal(zone.id, in: &engines[place])
          let store = engines[place].store
          return (
            zone.id,
            try store.log.segments(of: zone.id).compactMap {
              try store.log.bytes(of: $0.digest, in: zone.id)
            }
          )
        }
    }

    mutating func add(_ name: String) throws {
      let secret = try InviteSecret.random().companion()
      let made = try InvitationMaking.invite(
        to: group, named: "private", role: .owner, person: person, maximumUses: 1,
        expiresMilliseconds: now * 2, in: &engines[0], nowMilliseconds: now, secret: secret)
      var engine = try EngineFamily.engine()
      _ = try GroupCreation.create(
        GroupFounding(
          database: .personal, zoneNames: ["private"], person: person, personName: "Anna",
          deviceName: name), in: &engine, nowMilliseconds: now)
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: secret, in: &engine, nowMilliseconds: now)
      for (zone, bytes) in try blobs(of: 0) {
        _ = try engine.receive(bytes, in: zone, nowMilliseconds: now)
      }
      try JoiningByInvitation.finish(
        opened, with: secret, person: person, personName: "Anna", deviceName: name,
        in: &engine, nowMilliseconds: now)
      try PrivateGroupChoice.use(group, in: &engine)
      engines.append(engine)
    }

    mutating func give(_ giver: Int, to taker: Int) throws {
      for (zone, bytes) in try blobs(of: giver) {
        _ = try engines[taker].receive(bytes, in: zone, nowMilliseconds: now)
      }
    }

    mutating func meet() throws {
      for _ in 0..<2 {
        for giver in engines.indices {
          for taker in engines.indices where taker != giver { try give(giver, to: taker) }
        }
      }
    }

    mutating func set(_ place: Int, _ record: Int, _ value: Int64) throws {
      let key = RecordKey(type: .record(7), id: EngineFamily.id(record))
      _ = try engines[place].write(
        [Operation(key, .assign(register, .int(value)))], to: zone, nowMilliseconds: now)
    }

    func shown(_ place: Int, _ record: Int) throws -> Value? {
      let key = RecordKey(type: .record(7), id: EngineFamily.id(record))
      return try engines[place].store.records.states(of: [key], in: zone)[0]?.shown(register)
    }
  }

  @Test("The first private group of a device is in use until another is named, also when reopened")
  func inUse() throws {
    let devices = try Devices(2)
    #expect(devices.engines.allSatisfy { $0.privateGroup == devices.group })
    let second = devices.engines[1]
    let former = try #require(second.zones.first { ExchangeScope(engine: second).isRetired($0) })
    #expect(former.group != devices.group && former.database == .personal)
    #expect(!ExchangeScope(engine: second).exchangedGroups.contains(former.group))
    let again = try EngineFamily.reopened(second)
    #expect(
      again.privateGroup == devices.group
        && ExchangeScope(engine: again).exchangedGroups == [devices.group])
  }

  @Test("It goes over transports once somebody is invited, and not before")
  func exchanged() throws {
    var engine = try EngineFamily.engine()
    #expect(engine.privateGroup == nil && !ExchangeScope(engine: engine).isPrivateDatabaseShared)
    let group = try GroupCreation.create(
      GroupFounding(
        database: .personal, zoneNames: ["private"], person: EngineFamily.id(1),
        personName: "Anna", deviceName: "laptop"), in: &engine, nowMilliseconds: Self.now
    ).group
    #expect(ExchangeScope(engine: engine).exchangedGroups.isEmpty)
    _ = try InvitationMaking.invite(
      to: group, named: "private", role: .owner, person: EngineFamily.id(1), maximumUses: 1,
      expiresMilliseconds: Self.now * 2, in: &engine, nowMilliseconds: Self.now)
    #expect(ExchangeScope(engine: engine).exchangedGroups == [group])
    let household = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: ["Home"], person: EngineFamily.id(1), personName: "Anna",
        deviceName: "laptop"), in: &engine, nowMilliseconds: Self.now
    ).group
    #expect(throws: SyncError(.invalidOperation, "")) {
      try PrivateGroupChoice.use(household, in: &engine)
    }
  }

  @Test("What two devices set apart from each other merges on both")
  func concurrent() throws {
    var devices = try Devices(3)
    try devices.set(0, 1, 10)
    try devices.set(1, 2, 20)
    try devices.set(0, 3, 30)
    try devices.set(2, 3, 31)
    try devices.meet()
    for place in 0..<3 {
      #expect(try devices.shown(place, 1) == .int(10))
      #expect(try devices.shown(place, 2) == .int(20))
      #expect(try devices.shown(place, 3) == devices.shown(0, 3))
    }
    #expect(Set(try devices.engines.map { try $0.digest(of: devices.zone) }).count == 1)
  }

  @Test("A member of the household with all bytes, tags and old capsules opens nothing")
  func stranger() throws {
    var devices = try Devices(2)
    try devices.set(0, 1, 10)
    try devices.meet()
    let family = try EngineFamily(2)
    var ben = family.members[1]
    for (zone, bytes) in try devices.blobs(of: 1) {
      let state = try devices.engines[0].zone(zone)
      for blob in bytes {
        // Even where the zone's tag is copied into a zone of one's own, no key fits.
        let opener = SegmentOpener(zone: try ben.zone(family.zone), membership: Membership())
        #expect(throws: (any Error).self) { _ = try opener.open(blob) }
        for own in ben.zones {
          let report = try? ben.receive([blob], in: own.id, nowMilliseconds: Self.now)
          #expect(report?.applied ?? 0 == 0)
        }
      }
      #expect(!ben.zones.contains { $0.tag == state.tag })
    }
    // The companion of one link opens no other capsule, and neither does the link itself.
    let (one, other) = (try InviteSecret.random(), try InviteSecret.random())
    let made = try InvitationMaking.invite(
      to: devices.group, named: "private", role: .owner, person: devices.person, maximumUses: 1,
      expiresMilliseconds: Self.now * 2, in: &devices.engines[0], nowMilliseconds: Self.now,
      secret: one.companion())
    _ = try InvitationCapsule(opening: made.capsule, with: one.companion())
    for wrong in [one, other, try other.companion()] {
      #expect(throws: CryptoError.self) {
        _ = try InvitationCapsule(opening: made.capsule, with: wrong)
      }
    }
  }

  @Test("A revoked device reads nothing new and writes nothing that counts; one link admits one")
  func revoked() throws {
    var devices = try Devices(3)
    try devices.set(2, 1, 1)
    try devices.meet()
    let lost = devices.engines[2].device
    try MemberChanges.revoke(
      lost, from: devices.group, in: &devices.engines[0], nowMilliseconds: Self.now)
    try devices.set(0, 1, 2)
    try devices.set(2, 2, 66)
    try devices.meet()
    #expect(try devices.shown(1, 1) == .int(2))
    #expect(try devices.shown(2, 1) == .int(1))
    #expect(try devices.shown(0, 2) == nil)
    #expect(try devices.shown(1, 2) == nil)
    let secret = try InviteSecret.random().companion()
    let made = try InvitationMaking.invite(
      to: devices.group, named: "private", role: .owner, person: devices.person, maximumUses: 1,
      expiresMilliseconds: Self.now * 2, in: &devices.engines[0], nowMilliseconds: Self.now,
      secret: secret)
    var late = try EngineFamily.engine()
    for isFirst in [true, false] {
      var engine = isFirst ? try EngineFamily.engine() : late
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: secret, in: &engine, nowMilliseconds: Self.now)
      let givers = isFirst ? [0] : [0, devices.engines.count - 1]
      for giver in givers {
        for (zone, bytes) in try devices.blobs(of: giver) {
          _ = try engine.receive(bytes, in: zone, nowMilliseconds: Self.now)
        }
      }
      func finish() throws {
        try JoiningByInvitation.finish(
          opened, with: secret, person: devices.person, personName: "Anna", deviceName: "late",
          in: &engine, nowMilliseconds: Self.now)
      }
      if isFirst {
        try finish()
        devices.engines.append(engine)
        try devices.give(devices.engines.count - 1, to: 0)
      } else {
        #expect(throws: SyncError(.used, "")) { try finish() }
        late = engine
      }
    }
  }

  @Test("Keys are replaced by age in the one in use, and a former one is left alone")
  func age() throws {
    var devices = try Devices(2)
    let later = Self.now + 31 * 24 * 60 * 60 * 1_000
    let first = try devices.engines[0].zone(devices.zone).currentEpoch?.id
    let former = devices.engines[1].zones.filter {
      ExchangeScope(engine: devices.engines[1]).isRetired($0)
    }
    try Maintenance.maintain(in: &devices.engines[0], nowMilliseconds: later)
    try Maintenance.maintain(in: &devices.engines[1], nowMilliseconds: later)
    try devices.meet()
    #expect(try devices.engines[0].zone(devices.zone).currentEpoch?.id != first)
    try devices.set(0, 1, 1)
    try devices.meet()
    #expect(try devices.shown(1, 1) == .int(1))
    #expect(former.count == 2)
    for zone in former {
      #expect(try devices.engines[1].zone(zone.id).epochs.count == zone.epochs.count)
    }
  }

  @Test("Who was revoked in every household is to be cut off, whoever is in one or in none is not")
  func cutOff() throws {
    var devices = try Devices(3)
    try devices.meet()
    var first = devices.engines[0]
    let household = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: ["Home"], person: devices.person, personName: "Anna",
        deviceName: "device 0"), in: &first, nowMilliseconds: Self.now
    ).group
    #expect(ExchangeScope(engine: first).devicesToCutOff().isEmpty, "devices of no household")
    let control = try first.controlZone(of: household).id
    for place in 1..<3 {
      var other = devices.engines[place]
      let made = try InvitationMaking.invite(
        to: household, named: "Home", role: .owner, person: devices.person, maximumUses: 1,
        expiresMilliseconds: Self.now * 2, in: &first, nowMilliseconds: Self.now)
      func published(_ engine: inout Engine<MemoryStore>) throws -> [[UInt8]] {
        _ = try Sealing.seal(control, in: &engine)
        let store = engine.store
        return try store.log.segments(of: control).compactMap {
          try store.log.bytes(of: $0.digest, in: control)
        }
      }
      let opened = try JoiningByInvitation.begin(
        made.capsule, with: made.secret, in: &other, nowMilliseconds: Self.now)
      _ = try other.receive(published(&first), in: control, nowMilliseconds: Self.now)
      try JoiningByInvitation.finish(
        opened, with: made.secret, person: devices.person, personName: "Anna",
        deviceName: "device \(place)", in: &other, nowMilliseconds: Self.now)
      _ = try first.receive(published(&other), in: control, nowMilliseconds: Self.now)
    }
    #expect(ExchangeScope(engine: first).devicesToCutOff().isEmpty)
    let lost = devices.engines[1].device
    try MemberChanges.revoke(lost, from: household, in: &first, nowMilliseconds: Self.now)
    #expect(ExchangeScope(engine: first).devicesToCutOff() == [lost])
    try MemberChanges.revoke(lost, from: devices.group, in: &first, nowMilliseconds: Self.now)
    #expect(ExchangeScope(engine: first).devicesToCutOff().isEmpty)
  }

  @Test("A companion is carried up to its limit, and read up to it")
  func limits() throws {
    var engine = try EngineFamily.engine()
    let group = try GroupCreation.create(
      GroupFounding(
        database: .shared, zoneNames: ["Home"], person: EngineFamily.id(1), personName: "Anna",
        deviceName: "laptop"), in: &engine, nowMilliseconds: Self.now
    ).group
    let most = InvitationCapsule.maximumCompanionBytes
    func invite(_ count: Int) throws -> MadeInvitation {
      try InvitationMaking.invite(
        to: group, named: "Home", role: .owner, person: EngineFamily.id(1), maximumUses: 1,
        expiresMilliseconds: Self.now * 2, in: &engine, nowMilliseconds: Self.now,
        companion: [UInt8](repeating: 1, count: count))
    }
    let made = try invite(most)
    var opened = try InvitationCapsule(opening: made.capsule, with: made.secret)
    #expect(opened.companion.count == most && opened.person == EngineFamily.id(1))
    #expect(throws: SyncError(.tooLarge, "")) { _ = try invite(most + 1) }
    opened.companion.append(1)
    #expect(throws: CodecError.self) { _ = try InvitationCapsule(decoding: opened.encoded) }
  }
}

import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Devices with the same changes compare what they hold")
struct ComparingTests {
  private let week = ComparisonIntervals.comparisonMilliseconds
  private let hour = ComparisonIntervals.lookMilliseconds
  private let day = ComparisonIntervals.riskMilliseconds

  /// Three members who have everything and have been in touch.
  private func world() throws -> NewcomerWorld {
    var world = try NewcomerWorld(3)
    try world.sync(all: [0, 1, 2])
    return world
  }

  private func sync(_ member: Int, _ world: inout NewcomerWorld, at later: UInt64) throws {
    let report = try world.family.members[member].exchange(
      over: world.shelf, named: "shelf", anchorFile: ForgetfulAnchor(),
      nowMilliseconds: NewcomerWorld.now + later)
    #expect(report.failure == nil)
  }

  /// Changes a record behind the log's back, as a failing disk does.
  private func rot(_ member: Int, _ value: Int64, in world: NewcomerWorld) throws {
    let family = world.family
    let key = RecordKey(type: .record(7), id: EngineFamily.id(1))
    let store = family.members[member].store
    var state = try #require(try store.records.states(of: [key], in: family.zone)[0])
    let zone = try family.members[member].zone(family.zone)
    let head = zone.head(of: family.members[0].author)
    state.apply(
      .assign(EngineFamily.register, .int(value)),
      version: Version(dot: Dot(author: head.author, sequence: head.sequence), time: head.time),
      past: zone.frontier)
    let changed = RecordChange(key: key, state: state, isNew: false)
    try store.transaction { try store.records.save([changed], in: family.zone) }
  }

  private func notices(_ member: Int, _ world: NewcomerWorld) -> [Notice] {
    world.family.members[member].store.notices.all().filter { $0.kind == .difference }
  }

  private func differing(_ member: Int, _ world: NewcomerWorld) throws -> [DeviceID] {
    try ComparedState.stateDifferences(in: world.family.zone, by: world.family.members[member]).map(
      \.device)
  }

  private func statements(_ world: NewcomerWorld, by member: Int, as seen: Int) -> Int {
    let device = world.family.members[member].device
    return world.family.membership(seen).audit().count {
      guard case .zoneDigest = $0.operation else { return false }
      return $0.device == device
    }
  }

  private func areAlike(_ world: NewcomerWorld) throws -> Bool {
    try Set((0..<3).map { try world.digest($0) }).count == 1
  }

  @Test("Equal devices say nothing but what one of them holds, and that where there is news")
  func equal() throws {
    var world = try world()
    for member in 0..<3 { #expect(statements(world, by: member, as: member) == 0) }
    try sync(0, &world, at: week - 1)
    #expect(statements(world, by: 0, as: 0) == 0)
    for round in 0..<3 as Range<UInt64> {
      for member in [0, 1, 2, 0, 1, 2] { try sync(member, &world, at: week + round * hour) }
    }
    #expect((0..<3).map { statements(world, by: $0, as: 2) } == [1, 0, 0])
    for member in [1, 2, 0] { try sync(member, &world, at: 3 * week) }
    #expect((0..<3).map { statements(world, by: $0, as: 0) } == [1, 0, 0], "nothing is new")
    try world.family.set(2, 5, 50)
    for member in [2, 0, 1] { try sync(member, &world, at: 3 * week + hour) }
    for member in [1, 2, 0] { try sync(member, &world, at: 5 * week) }
    #expect((0..<3).map { statements(world, by: $0, as: 0) } == [1, 1, 0])
    for member in 0..<3 {
      #expect(notices(member, world).isEmpty)
      #expect(try differing(member, world).isEmpty)
    }
  }

  @Test("What a disk changed is mended by the log once another device says what it holds, and told")
  func rot() throws {
    var world = try world()
    let truth = try world.digest(0)
    try rot(1, 666, in: world)
    #expect(try world.digest(1) != truth)
    try sync(0, &world, at: week)
    try sync(1, &world, at: week)
    #expect(try world.digest(1) == truth)
    let told = notices(1, world)
    #expect(told.count == 1 && told.first?.device == world.family.members[0].device)
    #expect(told.first?.text.contains("on this device did not match its log") == true)
    #expect(told.first?.text.contains("and match now") == true)
    for member in [2, 0, 1, 0] { try sync(member, &world, at: week + 2 * hour) }
    #expect(try areAlike(world))
    #expect(notices(1, world).count == 1)
    for member in 0..<3 { #expect(try differing(member, world).isEmpty) }
    #expect(notices(0, world).isEmpty && notices(2, world).isEmpty)
  }

  @Test("Whoever says something wrong in good faith is answered, looks at itself and is mended")
  func wrongStatement() throws {
    var world = try world()
    let truth = try world.digest(0)
    try rot(0, 666, in: world)
    try sync(0, &world, at: week)
    try sync(1, &world, at: week)
    let told = try #require(notices(1, world).first)
    #expect(told.text.contains("device 0") && told.text.contains("reports other records"))
    #expect(told.text.contains("the records here match the log"))
    #expect(try differing(1, world) == [world.family.members[0].device])
    #expect(try world.digest(1) == truth)
    #expect(statements(world, by: 1, as: 1) == 1, "the answer")
    try sync(0, &world, at: week + hour)
    #expect(try world.digest(0) == truth)
    #expect(notices(0, world).map(\.device) == [world.family.members[1].device])
    try sync(1, &world, at: week + hour)
    try sync(2, &world, at: week + hour)
    #expect(try differing(1, world).isEmpty)
    #expect(notices(1, world).count == 1)
    #expect(notices(2, world).isEmpty)
  }

  @Test("What a disk changed while nothing was new is found by the weekly look, without anybody")
  func ownLook() throws {
    var world = try world()
    let truth = try world.digest(0)
    try sync(0, &world, at: week)
    try rot(0, 666, in: world)
    try sync(0, &world, at: 2 * week - 1)
    #expect(try world.digest(0) != truth)
    try sync(0, &world, at: 2 * week)
    #expect(try world.digest(0) == truth)
    #expect(notices(0, world).map(\.device) == [world.family.members[0].device])
    #expect(notices(0, world).first?.text.contains("although no change arrived") == true)
  }

  @Test("A liar makes nobody work or speak more than once a week")
  func liar() throws {
    var world = try world()
    let zone = world.family.zone
    try sync(1, &world, at: 0)
    let mark = try #require(
      try ComparedState.comparisonMark(of: world.zone(2), in: world.family.members[2]))
    let store = world.family.members[1].store
    let before = store.recordRemovals
    for round in 0..<49 as Range<UInt64> {
      let lie = ControlOperation.ZoneDigest(
        zone: zone, mark: mark, digest: [UInt8](repeating: UInt8(round), count: 32))
      try GroupOperations.perform(
        [.zoneDigest(lie)], in: world.family.group, by: &world.family.members[2],
        nowMilliseconds: NewcomerWorld.now)
      try sync(2, &world, at: 0)
      try sync(1, &world, at: round * 7 * hour)
    }
    // Once in each week that began; each time the members' log and the zone.
    #expect(store.recordRemovals - before == 3 * 2)
    #expect(store.rowRemovals == store.recordRemovals)
    #expect(notices(1, world).count == 3)
    #expect(Set(notices(1, world).map(\.device)) == [world.family.members[2].device])
    #expect(try differing(1, world) == [world.family.members[2].device])
    #expect(statements(world, by: 1, as: 1) == 1)
    // Somebody removed is not listed any more.
    try world.family.remove(2, by: 0)
    try sync(0, &world, at: 49 * 7 * hour)
    try sync(1, &world, at: 49 * 7 * hour)
    #expect(try differing(1, world).isEmpty)
  }

  @Test("Where there is news all the time, all together say what they hold each four weeks")
  func pace() throws {
    var world = try world()
    for number in 1...26 as ClosedRange<UInt64> {
      try world.family.set(0, 4, Int64(number))
      for member in 0..<3 { try sync(member, &world, at: number * week) }
    }
    for member in 0..<2 { try sync(member, &world, at: 26 * week) }
    // Each of the three people in twelve weeks, whoever else has news.
    let counts = (0..<3).map { statements(world, by: $0, as: 0) }
    #expect(counts.allSatisfy { (2...3).contains($0) }, "\(counts)")
    // Without news nobody writes anything.
    for number in 27...28 as ClosedRange<UInt64> {
      for member in 0..<3 { try sync(member, &world, at: number * week) }
    }
    #expect((0..<3).map { statements(world, by: $0, as: 0) } == counts)
    for member in 0..<3 { #expect(notices(member, world).isEmpty) }
  }

  /// A device that has said nothing so far says what it holds a day after a moment, and once.
  ///
  /// Its joining may be confirmed meanwhile, which is news: then one of the others says so too.
  private func tells(
    _ member: Int, _ world: inout NewcomerWorld, after later: UInt64, othersAtMost most: Int = 0
  ) throws {
    try sync(member, &world, at: later + day - 1)
    #expect(statements(world, by: member, as: member) == 0)
    for _ in 0..<2 { try sync(member, &world, at: later + day) }
    #expect(statements(world, by: member, as: member) == 1)
    try sync(member, &world, at: later + 2 * day)
    #expect(statements(world, by: member, as: member) == 1)
    // The others compare, agree, and have nothing to add.
    for other in [0, 2] {
      try sync(other, &world, at: later + 2 * day)
      #expect(notices(other, world).isEmpty)
    }
    #expect([0, 2].reduce(0) { $0 + statements(world, by: $1, as: 2) } <= most)
    #expect(notices(member, world).isEmpty)
  }

  @Test("A device that has built its records anew says within a day what it holds")
  func afterRebuild() throws {
    var world = try world()
    try Rebuild.rebuild(
      world.family.zone, in: &world.family.members[1], nowMilliseconds: NewcomerWorld.now + hour)
    try tells(1, &world, after: hour)
  }

  @Test("A device that has begun from a snapshot says within a day what it holds")
  func afterSnapshot() throws {
    var world = try world()
    let late = try world.family.joinFromSnapshot(of: 0)
    try tells(late, &world, after: 0, othersAtMost: 1)
  }

  @Test("A device that has refused a false claim says within a day what it holds")
  func afterFalseClaim() throws {
    var world = try world()
    let zone = world.family.zone
    var forge = try Forge(world.family.members[2], zone)
    try forge.look(through: world.family.members[2])
    var change = forge.change(record: 9)
    change.seen = FrontierDifference(
      heads: [CitedHead(author: world.family.members[0].author, sequence: 1, hash: 0xbad)])
    forge.head.hash = forge.hash(change)
    let report = try world.family.members[1].receive(
      [try forge.seal([change])], in: zone, nowMilliseconds: NewcomerWorld.now + hour)
    #expect(report.falseClaims.count == 1)
    try sync(1, &world, at: hour + day - 1)
    #expect(statements(world, by: 1, as: 1) == 0)
    try sync(1, &world, at: hour + day)
    #expect(statements(world, by: 1, as: 1) == 1)
    // Who hears of the claim only now compares at once, and agrees.
    for _ in 0..<2 { try sync(0, &world, at: hour + day) }
    #expect(notices(0, world).isEmpty && notices(1, world).isEmpty)
  }

  @Test("A device that has seen a log with two histories says within a day what it holds")
  func afterFork() throws {
    var world = try world()
    let zone = world.family.zone
    var left = try Forge(world.family.members[2], zone)
    try left.look(through: world.family.members[2])
    var right = left
    let moment = NewcomerWorld.now + hour
    _ = try world.family.members[1].receive(
      [try left.seal([left.change(record: 10)])], in: zone, nowMilliseconds: moment)
    let report = try world.family.members[1].receive(
      [try right.seal([right.change(record: 11)])], in: zone, nowMilliseconds: moment)
    #expect(report.forks.count == 1)
    try sync(1, &world, at: hour + day - 1)
    #expect(statements(world, by: 1, as: 1) == 0)
    try sync(1, &world, at: hour + day)
    #expect(statements(world, by: 1, as: 1) == 1)
  }

  @Test("Whatever happens every day, a device says what it holds no more than once a week")
  func flood() throws {
    var world = try world()
    for number in 1...16 as ClosedRange<UInt64> {
      try world.family.set(1, 3, Int64(number))
      try Rebuild.rebuild(
        world.family.zone, in: &world.family.members[1],
        nowMilliseconds: NewcomerWorld.now + number * day)
      try sync(1, &world, at: number * day)
    }
    let count = statements(world, by: 1, as: 1)
    #expect(count == 2 || count == 3, "\(count) in 16 days")
    #expect(notices(1, world).isEmpty)
  }

  @Test("A point is another one where one more operation decides what counts")
  func marks() throws {
    var world = try world()
    func mark(_ member: Int) throws -> Identifier {
      try #require(
        try ComparedState.comparisonMark(of: world.zone(member), in: world.family.members[member]))
    }
    let before = try mark(0)
    #expect(try mark(1) == before)
    // What only tells how a device stands changes nothing.
    try MemberChanges.heartbeat(
      in: world.family.group, by: &world.family.members[0], nowMilliseconds: NewcomerWorld.now)
    #expect(try mark(0) == before)
    try world.family.setRole(1, .child, by: 0)
    #expect(try mark(0) != before)
    #expect(try mark(1) == before)
    try world.sync(all: [0, 1])
    #expect(try mark(0) == mark(1))
    try world.family.set(0, 1, 9)
    #expect(try mark(0) != mark(1))
  }

  /// One step of a family: somebody writes, syncs, comes, goes or gets another role.
  private func step(
    _ world: inout NewcomerWorld, _ here: inout [Int], _ random: inout SplitMix64, at later: UInt64
  ) throws {
    let member = here[random.below(here.count)]
    let subject = here[1 + random.below(here.count - 1)]
    // The owner may not have heard of a newcomer yet.
    let isKnown = world.family.membership(0).isActive(world.family.members[subject].device)
    switch random.below(20) {
    case 0 where isKnown:
      try world.family.setRole(subject, [.child, .member, .admin][random.below(3)], by: 0)
    case 1 where here.count > 3 && isKnown:
      try world.family.remove(subject, by: 0)
      here.removeAll { $0 == subject }
    case 2 where here.count < 6:
      let made = try world.invite(by: 0)
      try sync(0, &world, at: later)
      here.append(try world.follow(made))
    case 3: try world.setRule(random.oneIn(2) ? .full : .fromJoin)
    case 4...9: try world.family.set(member, random.below(6), Int64(random.below(99)))
    case 10: for other in here { try sync(other, &world, at: later) }
    default: try sync(member, &world, at: later)
    }
  }

  @Test("Families whose people come and go compare, and find no difference", arguments: 0..<8)
  func random(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed))
    var world = try NewcomerWorld(4)
    var here = [0, 1, 2, 3]
    var later: UInt64 = 0
    for number in 0..<120 {
      later += UInt64(random.below(48)) * hour
      try step(&world, &here, &random, at: later)
      for member in here {
        let told = notices(member, world).map(\.text)
        #expect(told.isEmpty, "seed \(seed), step \(number), member \(member)")
      }
    }
    // In the end all know the same, and the next statement is due.
    for _ in 0..<3 { for member in here { try sync(member, &world, at: later) } }
    later += ComparisonIntervals.statementMilliseconds
    for _ in 0..<2 { for member in here { try sync(member, &world, at: later) } }
    for member in here { #expect(notices(member, world).isEmpty, "seed \(seed), the end") }
    let compared = try here.reduce(0) { sum, member in
      let fact = world.family.members[member].store.facts.bytes(
        of: "cache.compared.\(world.family.zone.hex)")
      return sum + (try fact.map { try StateComparison($0).peers.count } ?? 0)
    }
    #expect(compared > 0, "seed \(seed)")
  }

  @Test("A statement, and what is remembered of comparing, has one spelling")
  func bytes() throws {
    let statement = ControlOperation.zoneDigest(
      .init(
        zone: EngineFamily.id(1), mark: EngineFamily.id(2),
        digest: [UInt8](repeating: 7, count: 32)))
    let bytes = statement.encoded
    #expect(bytes.first == 26 && bytes.count == 65)
    #expect(try ControlOperation(decoding: bytes) == statement)
    for wrong in [Array(bytes.dropLast()), bytes + [0]] {
      #expect(throws: CodecError.self) { try ControlOperation(decoding: wrong) }
    }
    var known = StateComparison()
    #expect(try StateComparison(known.bytes) == known)
    known.owe(by: 8, every: 5)
    #expect(known.isOwed && known.lookedMilliseconds == 3)
    known.owe(by: 100, every: 5)
    #expect(known.lookedMilliseconds == 3, "what is due before stays so")
    known.owe(by: 5, every: 8)
    #expect(known.lookedMilliseconds == 1)
    known.lookedMilliseconds = 5
    for number in 1...StateComparison.maximumLooks + 1 {
      known.note(
        .init(
          mark: EngineFamily.id(number), digest: [UInt8](repeating: 1, count: 32),
          milliseconds: UInt64(number)))
    }
    known.stated = known.looks.last
    for number in [3, 1, 2, 3] {
      known.set(.init(device: EngineFamily.id(number), statement: EngineFamily.id(9)))
    }
    #expect(known.looks.count == StateComparison.maximumLooks)
    #expect(known.digest(at: EngineFamily.id(1)) == nil)
    #expect(known.peers.map(\.device) == (1...3).map(EngineFamily.id))
    #expect(try StateComparison(known.bytes) == known)
    for wrong in [[], Array(known.bytes.dropLast()), known.bytes + [0]] {
      #expect(throws: CodecError.self) { try StateComparison(wrong) }
    }
  }
}

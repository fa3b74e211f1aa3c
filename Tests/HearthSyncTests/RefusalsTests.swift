import HearthCRDT
import HearthCrypto
import HearthMembership
import InlineExecution
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("What was refused is remembered")
struct RefusalsTests {
  private func digest(_ number: Int) -> Identifier { Identifier(high: 1, low: UInt64(number)) }

  private func refused(_ number: Int, _ kind: Refusals.Kind = .forever) -> Refusals.Refused {
    Refusals.Refused(digest: digest(number), kind: kind)
  }

  @Test("What can never be used stays so, and the rest as long as nothing is known that may help")
  func kinds() throws {
    var refusals = Refusals()
    #expect(refusals.isEmpty)
    refusals.note(
      [refused(1), refused(2, .members), refused(3, .stranger), refused(4, .newer)], knowing: [7])
    func vain(_ isKnown: Bool, _ zone: ZoneKind, _ knowledge: [UInt8]) -> [Int] {
      (1...5).filter {
        refusals.isVain(digest($0), isKnown: isKnown, in: zone, knowing: knowledge)
      }
    }
    #expect(vain(false, .control, [7]) == [1, 2, 3, 4])
    #expect(vain(false, .control, [8]) == [1, 4])
    // In a zone of records only who is known may write.
    #expect(vain(false, .data, [8]) == [1, 3, 4])
    #expect(vain(true, .data, [7]) == [1, 2, 4])
    #expect(vain(true, .control, [7]) == [1, 2, 4])
    // What was tried with what is known now is not tried again, and the rest is.
    refusals.note([refused(2, .members)], knowing: [8])
    #expect(vain(false, .control, [8]) == [1, 2, 4])
    #expect((1...5).filter { refusals.isForever(digest($0)) } == [1])
    let read = try Refusals(decoding: refusals.encoded)
    #expect(read.encoded == refusals.encoded)
    refusals = read
    #expect(vain(false, .control, [8]) == [1, 2, 4])
    #expect(vain(false, .control, [7]) == [1, 4])
  }

  @Test("Beyond the bound the oldest are forgotten, and each has its turn")
  func bound() throws {
    let most = Refusals.maximumCount
    var refusals = Refusals()
    refusals.note((0..<most).map { refused($0, .stranger) }, knowing: [])
    #expect(refusals.isFull)
    // Noted once more it is the youngest.
    refusals.note([refused(0)], knowing: [])
    refusals.note((most..<most + 10).map { refused($0) }, knowing: [])
    #expect(refusals.contains(digest(0)) && refusals.contains(digest(most + 9)))
    #expect((1...10).allSatisfy { !refusals.contains(digest($0)) })
    #expect(refusals.contains(digest(11)))
    #expect(try Refusals(decoding: refusals.encoded).encoded == refusals.encoded)
    // A flood of more than is remembered is gone through from where the last round stopped.
    var small = Refusals()
    var turns: [Int] = []
    for _ in 0..<10 {
      let next = (0..<10).sorted { small.isBefore(digest($0), digest($1)) }.prefix(3)
      turns += next
      small.note(next.map { refused($0) }, knowing: [])
    }
    #expect(turns == (0..<30).map { $0 % 10 })
  }

  @Test("What is damaged, or was noted under other rules, counts as nothing noted")
  func damaged() throws {
    let family = try EngineFamily(1)
    let store = family.members[0].store
    try store.transaction {
      try Refusals.add([refused(1), refused(2, .stranger)], of: family.zone, in: store) { [5] }
    }
    let good = try Refusals(of: family.zone, in: store).encoded
    #expect(try Refusals(decoding: good).contains(digest(1)))
    #expect(try Refusals(of: family.control, in: store).isEmpty)
    for place in good.indices {
      for bit in 0..<8 {
        var bad = good
        bad[place] ^= 1 << bit
        #expect((try? Refusals(decoding: bad)) == nil, "byte \(place), bit \(bit)")
      }
    }
    // Whole, and noted under other rules: their first number follows their length.
    var other = Array(good.dropLast(Identifier.byteCount))
    other[1] += 1
    other += segmentDigest(other).bytes
    #expect((try? Refusals(decoding: other)) == nil)
    for bad in [[], Array(good.dropLast()), good + [0], other] {
      let name = "cache.refused.\(family.zone.hex)"
      try store.transaction { try store.facts.setBytes(of: name, to: bad) }
      #expect(try Refusals(of: family.zone, in: store).isEmpty)
    }
  }

  /// What a member would not fetch of files that lie on a transport.
  private func vain(
    _ names: [SegmentName], _ member: Int, _ zone: ZoneID, _ family: EngineFamily
  ) throws -> Set<SegmentName> {
    let engine = family.members[member]
    return try FetchChoice(engine: engine).examined(in: engine.zone(zone)).vain(among: names)
  }

  @Test("Files of lives that nobody was told of are fetched once, by whatever program, and useless")
  func unannounced() throws {
    var world = try NewcomerWorld()
    var names: [SegmentName] = []
    for life in 0..<20 as Range<UInt64> {
      var forge = try Forge(
        world.family.members[1], world.family.zone, incarnation: (9 + life) << 32)
      names.append(try world.shelf.put(try forge.seal([forge.change(record: 1)])))
    }
    try world.sync(0)
    #expect(world.reports[0]?.receivedBytes ?? 0 > 0)
    for _ in 0..<2 {
      world.family.members[0] = try EngineFamily.copied(world.family.members[0])
      try world.sync(0)
      #expect(world.reports[0]?.receivedBytes == 0)
      // They are told of all the same.
      #expect(world.reports[0]?.problems.count == 20 && world.reports[0]?.isPartial == true)
    }
    #expect(try vain(names, 0, world.family.zone, world.family) == Set(names))
    #expect(
      try UselessFiles(engine: world.family.members[0]).useless(names, in: world.family.zone)
        == Set(names))
    // Who asks for a check has everything looked into.
    let report = try world.family.members[0].exchange(
      over: world.shelf, named: "shelf", anchorFile: ForgetfulAnchor(), checking: .all,
      nowMilliseconds: now)
    #expect(report.receivedBytes > 0)
  }

  @Test("Files for which the members' log has no place are fetched again once it has moved")
  func noPlace() throws {
    var family = try EngineFamily(3)
    let announcements = try (0..<UInt64(Limits.maximumLives + 1)).map { life in
      var forge = try Forge(family.members[1], family.zone, incarnation: (life + 2) << 32)
      return try forge.announce(family.members[1])
    }
    let shelf = MemoryShelf()
    let names = try announcements.map { try shelf.put($0) }
    let first = try family.members[0].receive(
      announcements, in: family.control, nowMilliseconds: now)
    #expect(first.refused.count == 2)
    let gone = Set(first.refused.map(\.digest))
    let left = names.filter { gone.contains($0.digest) }
    // The batch itself moved the log.
    #expect(try vain(left, 0, family.control, family).isEmpty)
    let again = try family.members[0].receive(
      left.compactMap { shelf.segments[$0] }, in: family.control, nowMilliseconds: now)
    #expect(again.refused.count == 2)
    #expect(try vain(left, 0, family.control, family) == Set(left))
    // Own upkeep speaks for nobody and frees no place.
    try MemberChanges.heartbeat(in: family.group, by: &family.members[0], nowMilliseconds: now)
    #expect(try vain(left, 0, family.control, family) == Set(left))
    _ = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .reader, maximumUses: 1,
      expiresMilliseconds: now * 2, in: &family.members[0], nowMilliseconds: now)
    #expect(try vain(left, 0, family.control, family).isEmpty)
    _ = try family.members[0].receive(
      left.compactMap { shelf.segments[$0] }, in: family.control, nowMilliseconds: now)
    #expect(try vain(left, 0, family.control, family) == Set(left))
    try MemberChanges.heartbeat(in: family.group, by: &family.members[2], nowMilliseconds: now)
    _ = try family.members[0].receive(
      try family.published(2, family.control), in: family.control, nowMilliseconds: now)
    #expect(try vain(left, 0, family.control, family).isEmpty)
    // Nobody clears what may have a place later.
    #expect(try UselessFiles(engine: family.members[0]).useless(left, in: family.control).isEmpty)
  }

  @Test("In the members' log a file of an unknown device is of use until it was looked into")
  func unread() throws {
    let family = try EngineFamily(2)
    let engine = family.members[0]
    for id in [family.control, family.zone] {
      let name = SegmentName(
        zoneTag: try engine.zone(id).tag, authorTag: EngineFamily.id(99), incarnation: 1, first: 1,
        last: 1, digest: digest(7))
      #expect(
        try UselessFiles(engine: engine).useless([name], in: id).isEmpty == (id == family.control))
      try engine.store.transaction {
        try Refusals.add([refused(7, .stranger)], of: id, in: engine.store) { [] }
      }
      #expect(try UselessFiles(engine: engine).useless([name], in: id) == [name])
    }
  }

  @Test("What members wrote is fetched before what strangers wrote, also in the first sync")
  func strangersLast() throws {
    let family = try EngineFamily(2)
    let zone = try family.members[0].zone(family.control)
    func name(_ tag: Identifier, _ change: UInt64) -> SegmentName {
      SegmentName(
        zoneTag: zone.tag, authorTag: tag, incarnation: 1, first: change, last: change,
        digest: digest(Int(change)))
    }
    let member = zone.authorTag(of: family.members[1].device)
    let strangers = [Identifier(high: 0, low: 1), Identifier(high: .max, low: 1)]
    let names = (strangers + [member]).flatMap { tag in (1...3).map { name(tag, $0) } }.sorted()
    let examined = try FetchChoice(engine: family.members[0]).examined(in: zone)
    let turns = examined.inTurn(names)
    #expect(
      turns == names.filter { $0.authorTag == member } + names.filter { $0.authorTag != member })
  }

  @Test("Of a removed device what lies behind a gap beyond its cut is useless, and the rest is not")
  func beyondCut() throws {
    var family = try EngineFamily(3)
    try family.set(1, 1, 1)
    try family.meet([0, 1, 2])
    let zone = try family.members[0].zone(family.zone)
    let author = family.members[1].author
    let end = zone.head(of: author).sequence
    func name(_ first: UInt64, _ last: UInt64) -> SegmentName {
      SegmentName(
        zoneTag: zone.tag, authorTag: zone.authorTag(of: author.device),
        incarnation: author.incarnation, first: first, last: last, digest: digest(Int(last)))
    }
    let names = [name(end + 1, end + 1), name(end + 3, end + 4)]
    #expect(try UselessFiles(engine: family.members[0]).useless(names, in: family.zone).isEmpty)
    try family.remove(1, by: 0)
    #expect(
      try UselessFiles(engine: family.members[0]).useless(names, in: family.zone) == [names[1]])
  }

  @Test("A pending segment that decays in the store does not keep the good file away")
  func decayed() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let good = try forge.seal([forge.change(record: 1)])
    var bad = good
    bad[bad.count - 1] ^= 1
    let store = family.members[2].store
    try store.transaction {
      try store.pending.save(
        PendingSegment(digest: segmentDigest(good), reason: .format, bytes: bad), in: family.zone)
    }
    let report = try family.members[2].receive([bad], in: family.zone, nowMilliseconds: now)
    #expect(report.refused.count == 2)
    let refusals = try Refusals(of: family.zone, in: store)
    #expect(refusals.isForever(segmentDigest(bad)))
    #expect(!refusals.contains(segmentDigest(good)))
    let name = try MemoryShelf().put(good)
    #expect(try vain([name], 2, family.zone, family).isEmpty)
    let later = try family.members[2].receive([good], in: family.zone, nowMilliseconds: now)
    #expect(later.applied == 1)
  }

  @Test("Refused files that claim the changes of a good one cost no rounds in the next sync")
  func rounds() throws {
    var world = try NewcomerWorld()
    let rounds = FetchRounds.maximumRounds
    var forge = try Forge(world.family.members[1], world.family.zone)
    let good = try forge.seal([forge.change([.assign(EngineFamily.register, .int(70))])])
    let right = try world.shelf.put(good)
    for number in 1...rounds + 20 {
      let noise = [UInt8](repeating: UInt8(number), count: 300)
      world.shelf.segments[
        SegmentName(
          zoneTag: right.zoneTag, authorTag: right.authorTag, incarnation: right.incarnation,
          first: right.first, last: right.last + UInt64(number), digest: segmentDigest(noise))
      ] = noise
    }
    try world.sync(0)
    #expect(try world.family.shown(0, 1) != .int(70))
    world.family.members[0] = try EngineFamily.copied(world.family.members[0])
    try world.sync(0)
    #expect(try world.family.shown(0, 1) == .int(70))
  }
}

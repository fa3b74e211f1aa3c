import HearthCRDT
import HearthCrypto
import HearthMembership
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now
private let anna = 0
private let ben = 1
private let mallory = 2

@Suite("A member who claims to have seen what nobody can have seen")
struct FalseClaimTests {
  static let text = FieldID(.register, 1)
  static let amount = FieldID(.counter, 3)
  static let tags = FieldID(.set, 4)

  /// A citation of a member's log, with any hash.
  private func citing(_ author: Author, _ sequence: UInt64, hash: UInt64 = 0xbad) -> CitedHead {
    CitedHead(author: author, sequence: sequence, hash: hash)
  }

  /// Everybody's digest after somebody took batches one after another, on a copy of what it has.
  private func taking(
    _ batches: [[[UInt8]]], by member: Int, of family: EngineFamily
  ) throws -> Engine<MemoryStore> {
    var engine = try EngineFamily.copied(family.members[member])
    for batch in batches {
      _ = try engine.receive(batch, in: family.zone, nowMilliseconds: now)
    }
    return engine
  }

  private func record(
    _ number: Int, of engine: Engine<MemoryStore>, in family: EngineFamily
  ) throws -> RecordState? {
    let key = RecordKey(type: .record(7), id: EngineFamily.id(number))
    return try engine.store.records.states(of: [key], in: family.zone)[0]
  }

  /// A change of Mallory's that deletes a record, empties a set and sets a value, over everything
  /// that it says to have seen.
  private func lie(_ forge: inout Forge, citing heads: [CitedHead]) -> Change {
    var change = forge.change([
      .assign(FalseClaimTests.text, .int(666)), .exclude(FalseClaimTests.tags, .int(1)),
    ])
    change.seen = FrontierDifference(heads: heads.sorted { $0.author < $1.author })
    change.operations.append(
      Operation(RecordKey(type: .record(7), id: EngineFamily.id(2)), .delete))
    // Sealed anew, as it says something else now.
    forge.head.hash = forge.hash(change)
    return change
  }

  /// Ben's news: what the lie would cover if it were believed.
  private func writeNews(_ family: inout EngineFamily) throws {
    try family.write(
      ben, 1, [.assign(FalseClaimTests.text, .int(1)), .include(FalseClaimTests.tags, .int(1))])
    try family.write(ben, 2, [.assign(FalseClaimTests.text, .int(2))])
  }

  @Test("A claim to have seen somebody's future erases nothing, in every order of delivery")
  func future() throws {
    var family = try EngineFamily(4)
    let victim = family.members[ben].author
    var forge = try Forge(family.members[mallory], family.zone)
    let lie = lie(&forge, citing: [citing(victim, 2)])
    let after = forge.change(record: 9)
    let lies = [try forge.seal([lie]), try forge.seal([after])]
    try writeNews(&family)
    let news = try family.published(ben, family.zone)
    try family.write(anna, 3, [.insert])
    let others = try family.published(anna, family.zone)
    var digests: Set<[UInt8]> = []
    for order in orders(of: [[lies[0]], [lies[1]], news, others]) {
      let engine = try taking(order, by: 3, of: family)
      digests.insert(try engine.digest(of: family.zone))
      let first = try #require(try record(1, of: engine, in: family))
      #expect(first.shown(FalseClaimTests.text) == .int(1))
      #expect(first.siblings(of: FalseClaimTests.text) == 1)
      #expect(first.elements(of: FalseClaimTests.tags) == [.int(1)])
      #expect(try record(2, of: engine, in: family)?.life.isDeleted == false)
      // Loud, once, with the one who lied.
      let notices = engine.store.notices.all().filter { $0.kind == .falseClaim }
      #expect(notices.count == 1)
      #expect(notices.first?.device == family.members[mallory].device)
      #expect(notices.first?.text.contains("device 2 published a change") == true)
      let claims = try FalseClaims(engine: engine).claims(in: family.zone)
      #expect(claims.map(\.author) == [family.members[mallory].author])
      #expect(claims.first?.cited == Dot(author: victim, sequence: 2))
      #expect(claims.first?.kind == .content)
      // What waits proves nothing against others.
      #expect(try WaitingSegments(engine: engine).segments(in: family.zone).isEmpty)
    }
    #expect(digests.count == 1)
  }

  @Test("Who begins from a snapshot ends the same logs, and knows what else rests on their ends")
  func newcomer() throws {
    var family = try EngineFamily(3)
    try writeNews(&family)
    try family.settle()
    // Mallory cites Ben's log with a made-up hash, and an accomplice what Mallory never wrote.
    var forge = try Forge(family.members[mallory], family.zone)
    let liar = forge.author
    let bytes = try forge.seal([lie(&forge, citing: [citing(family.members[ben].author, 1)])])
    var whole = try taking([[bytes]], by: anna, of: family)
    var accomplice = try Forge(family.members[ben], family.zone)
    var change = accomplice.change(record: 9)
    change.seen = FrontierDifference(heads: [citing(liar, 7)])
    accomplice.head.hash = accomplice.hash(change)
    _ = try whole.receive([try accomplice.seal([change])], in: family.zone, nowMilliseconds: now)
    #expect(try whole.zone(family.zone).head(of: accomplice.author).seen[liar] == 7)
    let chunks = try SnapshotMaking.snapshot(of: family.zone, in: whole)
    var late = try EngineFamily.engine()
    _ = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &late, nowMilliseconds: now)
    _ = try late.receive(
      try family.published(anna, family.control), in: family.control, nowMilliseconds: now)
    try SnapshotLoading.bootstrap(family.zone, from: chunks, in: &late, nowMilliseconds: now)
    // The lie cites what lies below the snapshot: nobody who begins there can compare it.
    _ = try late.receive([bytes], in: family.zone, nowMilliseconds: now)
    let digest = try whole.digest(of: family.zone)
    for _ in 0..<2 {
      #expect(try late.zone(family.zone).head(of: liar).sequence == 0)
      #expect(try FalseClaims(engine: late).claims(in: family.zone).map(\.author) == [liar])
      #expect(try late.digest(of: family.zone) == digest)
      try Rebuild.rebuild(family.zone, in: &late, nowMilliseconds: now)
    }
  }

  @Test("What a liar gave to one alone reaches all, and they hold the same")
  func passedOn() throws {
    var world = try NewcomerWorld()
    let zone = world.family.zone
    var forge = try Forge(world.family.members[mallory], zone)
    try forge.look(through: world.family.members[mallory])
    let told = lie(&forge, citing: [citing(world.family.members[ben].author, 1)])
    let bytes = try forge.seal([told])
    _ = try world.family.members[anna].receive([bytes], in: zone, nowMilliseconds: now)
    #expect(try FalseClaims(engine: world.family.members[anna]).claims(in: zone).count == 1)
    try world.sync(all: [anna, ben])
    #expect(
      try FalseClaims(engine: world.family.members[ben]).claims(in: zone).map(\.author) == [
        forge.author
      ])
    let digests = try [anna, ben].map { try world.family.members[$0].digest(of: zone) }
    #expect(digests[0] == digests[1])
    // It is given once.
    try world.sync(anna)
    #expect(world.reports[anna]?.published == 0)
  }

  @Test("Who claims to have seen what never comes is named on the device it is about, only there")
  func never() throws {
    var world = try NewcomerWorld()
    let (zone, group) = (world.family.zone, world.family.group)
    let victim = world.family.members[ben].author
    let reached = try world.zone(ben).head(of: victim).sequence
    var forge = try Forge(world.family.members[mallory], zone)
    try forge.look(through: world.family.members[mallory])
    let bytes = try forge.seal([lie(&forge, citing: [citing(victim, reached + 50)])])
    for member in [anna, ben] {
      let report = try world.family.members[member].receive(
        [bytes], in: zone, nowMilliseconds: now)
      #expect(report.applied == 0 && report.waiting == [.cause: 1])
    }
    try world.sync(all: [anna, ben])
    let liar = world.family.members[mallory].device
    #expect(
      try UnwrittenClaims(engine: world.family.members[ben]).claims(in: group)
        == [UnwrittenClaim(device: liar, zone: zone, count: 50)])
    // Nobody else can know where Ben's log ends, and a claim that may be true is no evidence.
    #expect(
      try UnwrittenClaims(engine: world.family.members[anna]).claims(in: group).isEmpty)
    for member in [anna, ben] {
      let told = world.family.members[member].store.notices.all().filter { $0.kind == .falseClaim }
      #expect(told.map(\.device) == (member == ben ? [liar] : []))
      #expect(try FalseClaims(engine: world.family.members[member]).claims(in: zone).isEmpty)
    }
    // The others go on, also Ben below what is claimed; he is told once.
    try world.family.set(ben, 1, 77)
    try world.family.set(anna, 3, 78)
    try world.sync(all: [anna, ben])
    #expect(try world.family.shown(anna, 1) == .int(77))
    #expect(try world.family.shown(ben, 3) == .int(78))
    #expect(try world.digest(anna) == world.digest(ben))
    let told = world.family.members[ben].store.notices.all().filter { $0.kind == .falseClaim }
    #expect(told.count == 1)
    #expect(told.first?.text.contains("50 changes of this device that this device never") == true)
    #expect(
      try UnwrittenClaims(engine: world.family.members[ben]).claims(in: group).map(\.count)
        == [49])
    // Of an earlier incarnation there may be more than a restored device knows.
    try NewIncarnation.begin(
      reason: "restored", in: &world.family.members[ben], nowMilliseconds: now)
    #expect(
      try UnwrittenClaims(engine: world.family.members[ben]).claims(in: group).isEmpty)
  }

  @Test("A heartbeat that claims too much is such a claim too, until its device is removed")
  func neverInHeartbeat() throws {
    var world = try NewcomerWorld()
    let (zone, group) = (world.family.zone, world.family.group)
    let victim = world.family.members[ben].author
    let reached = try world.zone(ben).head(of: victim).sequence
    let said = ControlOperation.ZoneFrontier(
      zone: zone, frontier: Frontier([(victim, reached + 7)]))
    try GroupOperations.perform(
      [.heartbeat([said])], in: group, by: &world.family.members[mallory], nowMilliseconds: now)
    try world.sync(all: [mallory, anna, ben])
    let liar = world.family.members[mallory].device
    #expect(
      try UnwrittenClaims(engine: world.family.members[ben]).claims(in: group)
        == [UnwrittenClaim(device: liar, zone: zone, count: 7)])
    #expect(
      try UnwrittenClaims(engine: world.family.members[anna]).claims(in: group).isEmpty)
    #expect(
      world.family.members[ben].store.notices.all().filter { $0.kind == .falseClaim }.map(\.device)
        == [liar])
    try world.family.remove(mallory, by: anna)
    try world.sync(all: [anna, ben])
    #expect(
      try UnwrittenClaims(engine: world.family.members[ben]).claims(in: group).isEmpty)
  }

  @Test("What waits of a device that was removed is no claim any more")
  func neverOfRemoved() throws {
    var family = try EngineFamily(3)
    let victim = family.members[ben].author
    var forge = try Forge(family.members[mallory], family.zone)
    let lie = lie(&forge, citing: [citing(victim, 1)])
    _ = try family.members[ben].receive(
      [try forge.seal([lie])], in: family.zone, nowMilliseconds: now)
    #expect(
      try UnwrittenClaims(engine: family.members[ben]).claims(in: family.group).map(\.count) == [1])
    try family.remove(mallory, by: anna)
    try family.send(anna, to: [ben])
    #expect(try family.members[ben].store.pending.entries(in: family.zone).count == 1)
    #expect(try UnwrittenClaims(engine: family.members[ben]).claims(in: family.group).isEmpty)
  }

  @Test("The log of who lied ends before the lie; rebuilding, opening and auditing agree")
  func rebuilding() throws {
    var family = try EngineFamily(4)
    var forge = try Forge(family.members[mallory], family.zone)
    let honest = try forge.seal([forge.change(record: 8)])
    let lie = lie(&forge, citing: [citing(family.members[ben].author, 1)])
    let bytes = try forge.seal([lie, forge.change(record: 9)])
    try writeNews(&family)
    let news = try family.published(ben, family.zone)
    var engine = try taking([[honest], [bytes], news], by: 3, of: family)
    #expect(try engine.zone(family.zone).head(of: forge.author).sequence == 1)
    let digest = try engine.digest(of: family.zone)
    try Rebuild.rebuild(family.zone, in: &engine, nowMilliseconds: now)
    #expect(try engine.digest(of: family.zone) == digest)
    #expect(try ZoneAudit(engine: engine).audit(family.zone).findings.isEmpty)
    #expect(
      try ZoneAudit(engine: engine).auditRecords(of: family.zone, nowMilliseconds: now) == nil)
    let again = try EngineFamily.copied(engine)
    #expect(try FalseClaims(engine: again).claims(in: family.zone).count == 1)
    #expect(again.store.notices.all().filter { $0.kind == .falseClaim }.count == 1)
    // Whoever goes on, goes on; the next life of the device too.
    _ = try engine.write(
      [Operation(RecordKey(type: .record(7), id: EngineFamily.id(1)), .insert)], to: family.zone,
      nowMilliseconds: now)
    #expect(try engine.digest(of: family.zone) != digest)
  }

  @Test("A wrong hash of a change that others have is refused at the head, before it, and in parts")
  func content() throws {
    var family = try EngineFamily(4)
    let victim = family.members[ben].author
    for record in 1...5 { try family.write(ben, record, [.insert]) }
    let early = try family.published(ben, family.zone)
    for record in 6...9 { try family.write(ben, record, [.insert]) }
    let all = try family.published(ben, family.zone)
    let zone = try family.members[ben].zone(family.zone)
    for sequence in [1, 3, 5, 6, 9] as [UInt64] {
      for batches in [[all], [early, all]] {
        var engine = try taking(batches, by: 3, of: family)
        var forge = try Forge(family.members[mallory], family.zone)
        let lie = lie(&forge, citing: [citing(victim, sequence)])
        let report = try engine.receive(
          [try forge.seal([lie])], in: family.zone, nowMilliseconds: now)
        #expect(report.applied == 0 && report.waiting == [.falseClaim: 1], "\(sequence)")
      }
    }
    // The truth is taken, also by who wrote it and has not sealed it.
    let logged = try LogReader(engine: family.members[ben]).unsealedChanges(of: family.zone)
    #expect(logged.isEmpty)
    let opened = try all.flatMap {
      try LogReader(engine: family.members[ben]).changes(inSegment: $0, of: family.zone) ?? []
    }
    for change in opened where [1, 3, 5, 6, 9].contains(change.change.dot.sequence) {
      let sequence = change.change.dot.sequence
      var engine = try taking([early, all], by: 3, of: family)
      var forge = try Forge(family.members[mallory], family.zone)
      let truth = lie(
        &forge, citing: [citing(victim, sequence, hash: CitedHead.prefix(of: change.hash))])
      let report = try engine.receive(
        [try forge.seal([truth])], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 1 && report.falseClaims.isEmpty, "\(sequence)")
    }
    #expect(zone.head(of: victim).sequence == 9)
  }

  @Test("Who wrote a change compares it with what is cited of it, before it is sealed too")
  func unsealed() throws {
    for isTrue in [true, false] {
      for sequence in [1, 2, 4] as [UInt64] {
        var family = try EngineFamily(3)
        for record in 1...4 { try family.write(ben, record, [.insert]) }
        let log = try LogReader(engine: family.members[ben]).unsealedChanges(of: family.zone)
        let logged = try #require(log.first { $0.change.dot.sequence == sequence })
        let hash = CitedHead.prefix(of: logged.hash) ^ (isTrue ? 0 : 1)
        var forge = try Forge(family.members[mallory], family.zone)
        let change = lie(
          &forge, citing: [citing(family.members[ben].author, sequence, hash: hash)])
        let report = try family.members[ben].receive(
          [try forge.seal([change])], in: family.zone, nowMilliseconds: now)
        #expect(report.applied == (isTrue ? 1 : 0), "\(sequence)")
        #expect(report.falseClaims.map(\.kind) == (isTrue ? [] : [.content]), "\(sequence)")
        #expect(
          try LogReader(engine: family.members[ben]).unsealedChanges(of: family.zone).count == 4)
      }
    }
  }

  @Test("Whoever cites a change without what that had seen is refused, in every order")
  func openPast() throws {
    var family = try EngineFamily(4)
    try writeNews(&family)
    let news = try family.published(ben, family.zone)
    _ = try family.members[anna].receive(news, in: family.zone, nowMilliseconds: now)
    try family.write(anna, 1, [.assign(FalseClaimTests.text, .int(5))])
    let seen = try family.published(anna, family.zone).filter { !news.contains($0) }
    let head = try family.members[anna].zone(family.zone).head(of: family.members[anna].author)
    var forge = try Forge(family.members[mallory], family.zone)
    let lie = lie(
      &forge,
      citing: [citing(head.author, head.sequence, hash: CitedHead.prefix(of: head.hash))])
    let bytes = try forge.seal([lie])
    try family.write(anna, 4, [.insert])
    let later = try family.published(anna, family.zone).filter {
      !news.contains($0) && !seen.contains($0)
    }
    var digests: Set<[UInt8]> = []
    for order in orders(of: [news, seen, later, [bytes]]) {
      let engine = try taking(order, by: 3, of: family)
      digests.insert(try engine.digest(of: family.zone))
      let claims = try FalseClaims(engine: engine).claims(in: family.zone)
      #expect(claims.map(\.kind) == [.past])
      #expect(claims.first?.cited == Dot(author: family.members[ben].author, sequence: 2))
      #expect(claims.first?.author == forge.author)
    }
    #expect(digests.count == 1)
  }

  @Test("Nobody cites records without the members' operations that their author had seen")
  func openPastInControl() throws {
    var family = try EngineFamily(4)
    var forge = try Forge(family.members[mallory], family.zone)
    // The founder closes an invitation and writes on; what Mallory cites had seen that.
    let invite = try #require(family.members[anna].membership(of: family.group).invites.first)
    try GroupOperations.perform(
      [.inviteClose(invite: invite.operation.invite)], in: family.group, by: &family.members[anna],
      nowMilliseconds: now)
    try family.write(anna, 1, [.insert])
    let control = try family.published(anna, family.control)
    let records = try family.published(anna, family.zone)
    let head = try family.members[anna].zone(family.zone).head(of: family.members[anna].author)
    let lie = lie(
      &forge,
      citing: [citing(head.author, head.sequence, hash: CitedHead.prefix(of: head.hash))])
    let bytes = try forge.seal([lie])
    var engine = try EngineFamily.copied(family.members[3])
    _ = try engine.receive(control, in: family.control, nowMilliseconds: now)
    for batch in [[bytes], records] {
      _ = try engine.receive(batch, in: family.zone, nowMilliseconds: now)
    }
    let claims = try FalseClaims(engine: engine).claims(in: family.zone)
    #expect(claims.map(\.isControl) == [true])
    #expect(claims.map(\.kind) == [.past])
    // And by a hash that nobody's operation has.
    var other = try Forge(family.members[mallory], family.zone)
    var invented = other.change(record: 7)
    invented.controlSeen = FrontierDifference(
      heads: invented.controlSeen.heads.map {
        CitedHead(author: $0.author, sequence: $0.sequence, hash: $0.hash ^ 1)
      })
    var second = try EngineFamily.copied(family.members[3])
    _ = try second.receive(
      [try other.seal([invented])], in: family.zone, nowMilliseconds: now)
    #expect(try FalseClaims(engine: second).claims(in: family.zone).map(\.kind) == [.content])
  }

  @Test(
    "Who had received one of two histories is held back until the other is shown, and then counts")
  func oneOfTwoHistories() throws {
    var family = try EngineFamily(4)
    let base = try Forge(family.members[mallory], family.zone)
    var (left, right) = (base, base)
    let one = try left.seal([left.change(record: 10)])
    let two = try right.seal([right.change(record: 11)])
    // Ben received the one history and wrote on; Anna received the other.
    _ = try family.members[ben].receive([one], in: family.zone, nowMilliseconds: now)
    try family.write(ben, 1, [.assign(FalseClaimTests.text, .int(1))])
    _ = try family.members[anna].receive([two], in: family.zone, nowMilliseconds: now)
    let honest = try family.published(ben, family.zone).filter { $0 != one }
    let report = try family.members[anna].receive(
      honest, in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 0 && report.waiting == [.falseClaim: 1])
    // The contradiction is found, shown and ends that log for everybody; Ben's change counts.
    for _ in 0..<3 { try family.settle() }
    _ = try family.members[anna].receive([one], in: family.zone, nowMilliseconds: now)
    for _ in 0..<3 { try family.settle() }
    #expect(try family.digests().count == 1)
    for engine in family.members {
      #expect(try record(1, of: engine, in: family)?.shown(FalseClaimTests.text) == .int(1))
      #expect(try FalseClaims(engine: engine).claims(in: family.zone).isEmpty)
      #expect(try engine.zone(family.zone).head(of: base.author).sequence == 0)
    }
  }

  @Test("What lies below a snapshot is judged alike, whatever comes first and when built anew")
  func belowSnapshot() throws {
    var world = try NewcomerWorld()
    try world.setRule(.fromJoin)
    try world.sync(all: [0, 1, 2])
    let made = try world.invite()
    try world.sync(0)
    let nina = try world.follow(made)
    try world.sync(all: [0, 1, 2, nina])
    let (family, zone) = (world.family, world.family.zone)
    #expect(try family.members[nina].store.snapshots.base(of: zone) != nil)
    // Ben's whole log in one segment under the present key, with a change that Nina lacks.
    var ben = try Forge(family.members[1], zone)
    let opener = SegmentOpener(zone: try world.zone(1), membership: family.membership(1))
    let before = try family.members[1].store.log.segments(of: zone)
      .filter { $0.author == ben.author }.sorted { $0.first < $1.first }
      .flatMap { stored in
        let bytes = try #require(
          try family.members[1].store.log.bytes(of: stored.digest, in: zone))
        return try #require(opener.reopened(bytes, author: ben.author)).changes
      }
    #expect(before.count > 1)
    let merged = try ben.seal(before + [ben.change(record: 5)])
    // A lie about Ben's first change, for which the snapshot stands.
    var mallory = try Forge(family.members[2], zone)
    let lie = try mallory.seal([lie(&mallory, citing: [citing(ben.author, 1)])])
    var digests: Set<[UInt8]> = []
    for order in orders(of: [[merged], [lie]]) {
      var engine = try taking(order, by: nina, of: family)
      #expect(try engine.zone(zone).head(of: ben.author).sequence == ben.head.sequence)
      digests.insert(try engine.digest(of: zone))
      try Rebuild.rebuild(zone, in: &engine, nowMilliseconds: now)
      digests.insert(try engine.digest(of: zone))
    }
    #expect(digests.count == 1)
  }

  @Test("Others who took a lie on trust are not held back with it")
  func othersGoOn() throws {
    var family = try EngineFamily(4)
    var forge = try Forge(family.members[mallory], family.zone)
    try writeNews(&family)
    let news = try family.published(ben, family.zone)
    let lie = lie(&forge, citing: [citing(family.members[ben].author, 1)])
    let bytes = try forge.seal([lie])
    // Anna began from a snapshot, as it were: she cannot check, and writes on top.
    var trusting = try Forge(family.members[anna], family.zone)
    var honest = trusting.change(record: 5)
    honest.seen = FrontierDifference(
      heads: [
        citing(
          forge.author, 1, hash: CitedHead.prefix(of: forge.head.hash))
      ])
    let built = try trusting.seal([honest])
    var digests: Set<[UInt8]> = []
    for order in orders(of: [news, [bytes], [built]]) {
      let engine = try taking(order, by: 3, of: family)
      digests.insert(try engine.digest(of: family.zone))
      #expect(try engine.zone(family.zone).head(of: trusting.author).sequence == 1)
      #expect(try engine.zone(family.zone).head(of: forge.author).sequence == 0)
    }
    #expect(digests.count == 1)
  }
}

extension RecordState {
  fileprivate func siblings(of field: FieldID) -> Int {
    entries.first { $0.id == field }.map {
      if case .register(let register) = $0.field { register.siblings.count } else { 0 }
    } ?? 0
  }

  fileprivate func elements(of field: FieldID) -> [Value] {
    entries.first { $0.id == field }.map {
      if case .set(let set) = $0.field {
        set.elements.filter { !$0.additions.isEmpty }.map(\.value)
      } else {
        []
      }
    } ?? []
  }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

@Suite("Receiving in any order")
struct ReceiveOrderTests {
  @Test(
    "Any order, doubling and batching of the segments ends in the same digest, causes first",
    arguments: [UInt64(1), 2, 3, 4, 5])
  func orders(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var family = try EngineFamily(4)
    for _ in 0..<60 {
      let member = random.below(3)
      try family.writeAtRandom(member, &random)
      let taker = random.below(3)
      if random.oneIn(2), taker != member {
        let blobs = try family.published(member, family.zone)
        _ = try family.members[taker].receive(blobs, in: family.zone, nowMilliseconds: now)
      }
    }
    var blobs: Set<[UInt8]> = []
    for member in 0..<3 { blobs.formUnion(try family.published(member, family.zone)) }
    var order = blobs.sorted { segmentDigest($0) < segmentDigest($1) }
    order.shuffle(using: &random)
    order += order.filter { _ in random.oneIn(4) }
    var last = Frontier()
    var rest = order[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(1 + random.below(4)))
      rest = rest.dropFirst(batch.count)
      let report = try family.members[3].receive(batch, in: family.zone, nowMilliseconds: now)
      #expect(report.refused.isEmpty, "seed \(seed)")
      let zone = try family.members[3].zone(family.zone)
      #expect(zone.frontier.covers(last), "seed \(seed): went back")
      for head in zone.heads {
        #expect(zone.frontier.covers(head.seen), "seed \(seed): \(head.author) before its causes")
      }
      last = zone.frontier
      if random.oneIn(5) { family.members[3] = try EngineFamily.reopened(family.members[3]) }
    }
    #expect(try family.members[3].store.pending.segments(in: family.zone).isEmpty, "seed \(seed)")
    try family.settle()
    #expect(try family.digests().count == 1, "seed \(seed)")
  }

  @Test("A data change waits for the membership operations that its author had seen")
  func control() throws {
    var family = try EngineFamily(2)
    let link = try InvitationMaking.invite(
      to: family.group, named: "Home", role: .member, maximumUses: 1, expiresMilliseconds: now * 2,
      in: &family.members[0], nowMilliseconds: now)
    #expect(!link.capsule.isEmpty)
    try family.write(0, 1, [.insert])
    let data = try family.published(0, family.zone)
    let report = try family.members[1].receive(data, in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 0 && report.waiting == [.cause: 1])
    let control = try family.published(0, family.control)
    _ = try family.members[1].receive(control, in: family.control, nowMilliseconds: now)
    let again = try family.members[1].receive([], in: family.zone, nowMilliseconds: now)
    #expect(again.applied == 1)
  }
}

@Suite("Opening an engine again")
struct ReopenTests {
  @Test("After any write, small or large, sealed or not, the head is the one that was")
  func everyPoint() throws {
    var family = try EngineFamily(1)
    let large = [UInt8](repeating: 1, count: OwnTail.headBytes)
    for step in 1...(2 * OwnTail.headInterval + 3) {
      let value = step % 97 == 0 ? Value.bytes(large) : .int(Int64(step))
      try family.write(0, step % 5, [.assign(FieldID(.register, 1), value)])
      if step % 211 == 0 { _ = try Sealing.seal(family.zone, in: &family.members[0]) }
      // Near each saved head, and now and then elsewhere.
      guard step % 97 < 2 || step % 256 < 3 || step % 211 < 2 || step % 31 == 0 else { continue }
      let again = try EngineFamily.reopened(family.members[0])
      #expect(
        try again.zone(family.zone).heads == family.members[0].zone(family.zone).heads,
        "step \(step)")
      if step % 2 == 0 { family.members[0] = again }
    }
    #expect(try ZoneAudit(engine: family.members[0]).audit(family.zone).findings.isEmpty)
  }

  @Test("An own change that the disk damaged is an error with a remedy, not a trap")
  func damaged() throws {
    var family = try EngineFamily(1)
    try family.write(0, 1, [.insert])
    let store = family.members[0].store
    let author = family.members[0].author
    try store.transaction {
      try store.log.removeChanges(of: author, in: family.zone, through: 9)
      try store.log.append([1, 2, 3], dot: Dot(author: author, sequence: 1), to: family.zone)
    }
    let error = #expect(throws: SyncError.self) {
      try EngineFamily.reopened(family.members[0])
    }
    #expect(error?.code == .corrupt)
    #expect(error?.message.contains("join again") == true)
  }

  @Test("A log that lacks a segment is not taken for the whole: nothing is rebuilt from it")
  func lostSegment() throws {
    var family = try EngineFamily(2)
    for record in 0..<3 {
      try family.write(1, record, [.insert])
      _ = try family.published(1, family.zone)
    }
    try family.settle()
    let store = family.members[0].store
    let digest = try family.members[0].digest(of: family.zone)
    let heads = try family.members[0].zone(family.zone).heads
    let lost = try #require(try store.log.segments(of: family.zone).first { $0.first == 2 })
    try store.transaction { try store.log.removeSegment(lost.digest, in: family.zone) }
    let error = #expect(throws: SyncError.self) {
      try Rebuild.rebuild(family.zone, in: &family.members[0], nowMilliseconds: now)
    }
    #expect(error?.code == .corrupt)
    #expect(try family.members[0].digest(of: family.zone) == digest)
    #expect(try family.members[0].zone(family.zone).heads == heads)
    #expect(try ZoneAudit(engine: family.members[0]).audit(family.zone).findings.count == 1)
  }

  @Test("A store that fails at any write leaves memory and store as they were")
  func failures() throws {
    var random = SplitMix64(seed: 8)
    var family = try EngineFamily(3)
    for _ in 0..<12 { try family.writeAtRandom(1, &random) }
    let blobs = try family.published(1, family.zone)
    for _ in 0..<3 { try family.writeAtRandom(0, &random) }
    let zone = family.zone
    let group = family.group
    let calls: [(String, (inout Engine<MemoryStore>) throws -> Void)] = [
      (
        "write",
        {
          _ = try $0.write(
            [Operation(RecordKey(type: .record(7), id: .zero), .insert)], to: zone,
            nowMilliseconds: now)
        }
      ),
      ("receive", { _ = try $0.receive(blobs, in: zone, nowMilliseconds: now) }),
      ("seal", { _ = try Sealing.seal(zone, in: &$0) }),
      ("rebuild", { try Rebuild.rebuild(zone, in: &$0, nowMilliseconds: now) }),
      (
        "new life",
        { try NewIncarnation.begin(reason: "r", in: &$0, nowMilliseconds: now) }
      ),
      (
        "invite",
        {
          _ = try InvitationMaking.invite(
            to: group, named: "H", role: .member, maximumUses: 1, expiresMilliseconds: now,
            in: &$0, nowMilliseconds: now)
        }
      ),
    ]
    for (what, call) in calls { try failAtEachWrite(what, call, &family) }
    try family.settle()
    #expect(try family.digests().count == 1)
  }

  /// Lets a call fail at its first write, then at its second, until it succeeds.
  private func failAtEachWrite(
    _ what: String, _ call: (inout Engine<MemoryStore>) throws -> Void,
    _ family: inout EngineFamily
  ) throws {
    var writes = 0
    while true {
      let before = family.members[0]
      let store = before.store
      store.writesUntilFailure = writes
      let isDone: Bool
      do {
        try call(&family.members[0])
        isDone = true
      } catch is MemoryStore.Misuse {
        isDone = false
      }
      store.writesUntilFailure = nil
      let again = try EngineFamily.reopened(family.members[0])
      let engine = family.members[0]
      #expect(engine.zones.map(\.heads) == again.zones.map(\.heads), "\(what) at \(writes)")
      #expect(engine.incarnation == again.incarnation)
      if isDone { break }
      #expect(engine.zones.map(\.heads) == before.zones.map(\.heads), "\(what) at \(writes)")
      #expect(engine.incarnation == before.incarnation, "\(what) at \(writes)")
      writes += 1
    }
    #expect(writes > 0, "\(what)")
  }
}

@Suite("Limits on writing")
struct WriteLimitTests {
  private func attempt(_ family: inout EngineFamily, _ operations: [Operation]) -> SyncError? {
    do {
      _ = try family.members[0].write(operations, to: family.zone, nowMilliseconds: now)
      return nil
    } catch {
      return error as? SyncError
    }
  }

  private let key = RecordKey(type: .record(7), id: .zero)

  @Test("A value, a transaction, its operations: each at its limit and one beyond")
  func sizes() throws {
    var family = try EngineFamily(2)
    let field = FieldID(.register, 1)
    // Each in a record of its own: together they would pass what one author may put into one.
    var records = 0
    for (count, code) in [
      (Limits.maximumValueBytes, nil), (Limits.maximumValueBytes + 1, SyncError.Code.tooLarge),
    ] {
      for value in [
        Value.bytes([UInt8](repeating: 7, count: count)),
        .text(String(repeating: "x", count: count)),
      ] {
        let bodies: [Operation.Body] = [
          .assign(field, value), .include(FieldID(.set, 2), value),
          .exclude(FieldID(.set, 2), value), .assign(FieldID(.history, 3), value),
        ]
        for body in bodies {
          records += 1
          let own = RecordKey(type: key.type, id: EngineFamily.id(records))
          #expect(attempt(&family, [Operation(own, body)])?.code == code)
        }
      }
    }
    let many = { [Operation](repeating: Operation(key, .insert), count: $0) }
    #expect(attempt(&family, many(Limits.maximumOperations)) == nil)
    #expect(attempt(&family, many(Limits.maximumOperations + 1))?.code == .tooLarge)
    #expect(attempt(&family, [])?.code == .invalidOperation)
    // The bytes of a whole change: found by trying, as its frame has a length of its own.
    let whole = Limits.maximumValueBytes
    func change(_ extra: Int) -> [Operation] {
      [
        Operation(key, .assign(field, .bytes([UInt8](repeating: 1, count: whole)))),
        Operation(key, .assign(field, .bytes([UInt8](repeating: 2, count: extra)))),
      ]
    }
    var most = Limits.maximumChangeBytes - whole - 200
    #expect(attempt(&family, change(most)) == nil)
    while attempt(&family, change(most + 1)) == nil { most += 1 }
    #expect(attempt(&family, change(most + 1))?.code == .tooLarge)
    // What was written can be sealed, opened and applied elsewhere.
    try family.settle()
    #expect(try family.digests().count == 1)
  }

  @Test("An event's fields come in order, each once, 64 at most, with the id of its place")
  func events() throws {
    var family = try EngineFamily(2)
    let type = TypeID.event(9)
    func event(_ numbers: [UInt16], index: Int = 0) throws -> [Operation] {
      let dot = try family.members[0].nextDot(in: family.zone)
      let id = eventID(in: family.zone, type: type, dot: dot, index: index)
      return [
        Operation(
          RecordKey(type: type, id: id),
          .event(numbers.map { EventField(FieldID(.register, $0), .int(1)) }))
      ]
    }
    #expect(attempt(&family, try event(Array(1...64))) == nil)
    #expect(attempt(&family, try event(Array(1...65)))?.code == .tooLarge)
    #expect(attempt(&family, try event([2, 1]))?.code == .invalidOperation)
    #expect(attempt(&family, try event([3, 3]))?.code == .invalidOperation)
    #expect(attempt(&family, try event([1], index: 1))?.code == .invalidOperation)
    #expect(attempt(&family, try event([])) == nil)
    family.members[0] = try EngineFamily.reopened(family.members[0])
    try family.settle()
    #expect(try family.digests().count == 1)
  }

  @Test("Names of 256 bytes are taken; of 257 nothing is founded, joined or kept")
  func names() throws {
    for (count, isTaken) in [(256, true), (257, false)] {
      let name = String(repeating: "n", count: count)
      for place in 0..<3 {
        var engine = try EngineFamily.engine()
        let founding = GroupFounding(
          database: .shared, zoneNames: [place == 0 ? name : "Home"], person: EngineFamily.id(1),
          personName: place == 1 ? name : "Anna", deviceName: place == 2 ? name : "d")
        let made = try? GroupCreation.create(founding, in: &engine, nowMilliseconds: now)
        #expect((made != nil) == isTaken, "\(count) at \(place)")
        #expect(engine.zones.isEmpty != isTaken)
        if let made { #expect(engine.membership(of: made.group).genesis != nil) }
      }
      let family = try EngineFamily(1)
      var joiner = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        family.capsule, with: family.secret, in: &joiner, nowMilliseconds: now)
      let store = family.members[0].store
      let control = try store.log.segments(of: family.control).compactMap {
        try store.log.bytes(of: $0.digest, in: family.control)
      }
      _ = try joiner.receive(control, in: family.control, nowMilliseconds: now)
      let joined = Result {
        try JoiningByInvitation.finish(
          opened, with: family.secret, person: EngineFamily.id(5), personName: name,
          deviceName: "d", in: &joiner, nowMilliseconds: now)
      }
      #expect(((try? joined.get()) != nil) == isTaken, "\(count)")
    }
  }
}

@Suite("What to fetch and what to give")
struct SyncPlanTests {
  private func name(_ segment: StoredSegment, in zone: ZoneState) -> SegmentName {
    SegmentName(
      zoneTag: zone.tag, authorTag: zone.authorTag(of: segment.author.device),
      incarnation: segment.author.incarnation, first: segment.first, last: segment.last,
      digest: segment.digest)
  }

  /// Somebody who has followed the invitation, and has the members' log and nothing else.
  private func latecomer(in family: inout EngineFamily) throws -> Engine<MemoryStore> {
    var late = try EngineFamily.engine()
    _ = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &late, nowMilliseconds: now)
    _ = try late.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    return late
  }

  /// A transport that lost something gets exactly that.
  private func expectGivenAgain(
    _ all: [SegmentName], _ stored: [StoredSegment], in zone: ZoneState, by device: DeviceID
  ) {
    for lost in all {
      let rest = TransportListing(segments: all.filter { $0 != lost })
      let given = SyncPlan(zone: zone, stored: stored, pending: []).publications(
        to: rest, stored: stored, trusted: [], of: zone, by: device)
      #expect(given.map(\.name) == [lost])
    }
  }

  @Test(
    "From any part of a listing, what is fetched brings the log on, never back; equals are silent",
    arguments: [UInt64(1), 2, 3])
  func law(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var family = try EngineFamily(3)
    for _ in 0..<40 {
      let member = random.below(2)
      try family.writeAtRandom(member, &random)
      if random.oneIn(3) { _ = try family.published(member, family.zone) }
    }
    try family.settle()
    let source = family.members[0]
    let zone = try source.zone(family.zone)
    let stored = try source.store.log.segments(of: family.zone)
    let all = stored.map { name($0, in: zone) }
    var late = try latecomer(in: &family)
    func plan() throws -> SyncPlan {
      SyncPlan(
        zone: try late.zone(family.zone), stored: try late.store.log.segments(of: family.zone),
        pending: try late.store.pending.segments(in: family.zone).map(\.digest))
    }
    for round in 0..<30 {
      let part = round < 29 ? all.filter { _ in random.oneIn(3) } : all
      let listing = TransportListing(segments: part)
      let failed = Set(round < 29 ? part.filter { _ in random.oneIn(5) } : [])
      let names = try plan().fetches(from: listing, except: failed)
      #expect(Set(names).count == names.count, "seed \(seed): one twice")
      #expect(failed.isDisjoint(with: names))
      #expect(Set(part).isSuperset(of: names))
      let before = try late.zone(family.zone).frontier
      let blobs = try names.compactMap {
        try source.store.log.bytes(of: $0.digest, in: family.zone)
      }
      _ = try late.receive(blobs, in: family.zone, nowMilliseconds: now)
      #expect(try late.zone(family.zone).frontier.covers(before), "seed \(seed)")
      // The same listing again brings nothing but what failed.
      let again = try plan().fetches(from: listing, except: failed)
      #expect(again.isEmpty, "seed \(seed), round \(round)")
    }
    #expect(try late.digest(of: family.zone) == source.digest(of: family.zone))
    let listing = TransportListing(segments: all)
    #expect(try plan().fetches(from: listing).isEmpty)
    #expect(
      try plan().publications(
        to: listing, stored: late.store.log.segments(of: family.zone), trusted: [], of: zone,
        by: late.device
      ).isEmpty)
    expectGivenAgain(all, stored, in: zone, by: source.device)
  }

  @Test("A larger segment that covers smaller ones is fetched in their place")
  func covering() throws {
    let family = try EngineFamily(1)
    let zone = try family.members[0].zone(family.zone)
    let device = family.members[0].device
    let tag = zone.authorTag(of: device)
    func name(_ first: UInt64, _ last: UInt64) -> SegmentName {
      SegmentName(
        zoneTag: zone.tag, authorTag: tag, incarnation: 1, first: first, last: last,
        digest: EngineFamily.id(Int(first * 100 + last)))
    }
    let plan = SyncPlan(zone: zone, stored: [], pending: [])
    let listing = TransportListing(
      segments: [name(1, 2), name(1, 5), name(3, 4), name(6, 6), name(5, 9), name(12, 13)])
    #expect(plan.fetches(from: listing) == [name(1, 5), name(5, 9), name(12, 13)])
    #expect(
      plan.fetches(from: listing, except: [name(1, 5)])
        == [name(1, 2), name(3, 4), name(5, 9), name(12, 13)])
    let own = [name(1, 5), name(6, 6)].map {
      StoredSegment(
        author: Author(device: device, incarnation: 1), first: $0.first, last: $0.last,
        digest: $0.digest, byteCount: 1)
    }
    #expect(
      plan.superseded(on: listing, by: own, of: zone, tag: tag) == [name(1, 2), name(3, 4)])
    // Not before the larger one is there, and nobody else's.
    #expect(plan.superseded(on: listing, by: [own[1]], of: zone, tag: tag).isEmpty)
    #expect(plan.superseded(on: listing, by: own, of: zone, tag: EngineFamily.id(4)).isEmpty)
    // What its author merged is still stored by others, for whom it is there in vain as well.
    let kept = [name(1, 2), name(1, 5), name(3, 4), name(6, 6)].map {
      StoredSegment(
        author: Author(device: device, incarnation: 1), first: $0.first, last: $0.last,
        digest: $0.digest, byteCount: 1)
    }
    #expect(plan.superseded(on: listing, by: kept, of: zone, tag: tag).isEmpty)
    #expect(
      plan.superseded(on: listing, by: kept, of: zone, tag: tag, sparesKnown: false)
        == [name(1, 2), name(3, 4)])
  }

  @Test("Names that are not trusted do not count, however much they claim; trusted ones do")
  func untrusted() throws {
    let family = try EngineFamily(1)
    let zone = try family.members[0].zone(family.zone)
    let ben = Author(device: EngineFamily.id(77), incarnation: 1)
    let reader = family.members[0].device
    let stored = [(1, 2), (3, 4), (5, 9)].map { first, last in
      StoredSegment(
        author: ben, first: first, last: last, digest: EngineFamily.id(Int(first)), byteCount: 1)
    }
    func name(_ first: UInt64, _ last: UInt64, _ digest: Int) -> SegmentName {
      SegmentName(
        zoneTag: zone.tag, authorTag: zone.authorTag(of: ben.device), incarnation: 1, first: first,
        last: last, digest: EngineFamily.id(digest))
    }
    let claim = name(1, Frontier.maximumSequence, 50)
    // A digest that is known does not vouch for another range.
    let other = name(1, 9, 3)
    let packed = name(1, 4, 51)
    let plan = SyncPlan(zone: zone, stored: stored, pending: [])
    let listing = TransportListing(segments: [packed, other, claim, name(5, 9, 5)])
    func given(_ trusted: Set<SegmentName>) -> [UInt64] {
      plan.publications(
        to: listing, stored: stored, trusted: trusted, of: zone, by: reader
      ).map(\.name.first)
    }
    #expect(given([]) == [1, 3])
    #expect(given([packed]) == [])
    #expect(given([name(1, 2, 1), name(3, 4, 3)]) == [1, 3], "trusted, but not listed")
    // A merged one of one's own goes beside the small ones, until it is there; others' do not.
    let merged = StoredSegment(
      author: ben, first: 1, last: 4, digest: EngineFamily.id(51), byteCount: 1)
    let small = [name(1, 2, 1), name(3, 4, 3)]
    func isGiven(by device: DeviceID, beside names: [SegmentName]) -> Bool {
      !plan.publications(
        to: TransportListing(segments: names), stored: [merged], trusted: Set(names), of: zone,
        by: device
      ).isEmpty
    }
    #expect(isGiven(by: ben.device, beside: small))
    #expect(!isGiven(by: reader, beside: small))
    #expect(!isGiven(by: ben.device, beside: small + [name(1, 9, 52)]))
    #expect(
      SyncPlan.names(in: listing, covering: [name(3, 4, 3)], except: [claim]) == [other, packed])
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now
private let tags = FieldID(.set, 4)
private let cost = FieldID(.history, 2)

@Suite("What one member can make the others work")
struct CostTests {
  private let key = RecordKey(type: .record(7), id: EngineFamily.id(1))

  /// Changes that put many elements into one record, the last first.
  private func setBomb(_ forge: inout Forge, changes: Int, each: Int) -> [Change] {
    (0..<changes).map { number in
      forge.change(
        (0..<each).map { .include(tags, .int(Int64(changes * each - number * each - $0))) })
    }
  }

  @Test("A set of 20,000 elements is cut alike by all, costs its bytes, and its author is named")
  func setBomb() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let bytes = try forge.seal(setBomb(&forge, changes: 10, each: 2_000))
    #expect(bytes.count > 20_000)
    try family.write(0, 1, [.include(tags, .text("mine"))])
    let mine = try family.published(0, family.zone)
    _ = try family.members[0].receive([bytes], in: family.zone, nowMilliseconds: now)
    _ = try family.members[2].receive([bytes] + mine, in: family.zone, nowMilliseconds: now)
    #expect(
      try family.members[0].digest(of: family.zone) == family.members[2].digest(of: family.zone))
    let state = try #require(
      try family.members[2].store.records.states(of: [key], in: family.zone)[0])
    // The third change would pass the limit, and so would each one after it.
    #expect(state.elements(tags).count == 4_000 + 1)
    #expect(state.elements(tags).contains(.text("mine")))
    for member in [0, 2] {
      let notices = family.members[member].store.notices.all()
      #expect(notices.map(\.kind) == [.limit])
      #expect(notices.first?.device == forge.author.device)
      #expect(notices.first?.text.contains("device 1 put more into one record") == true)
      try expectOverfull(key, by: forge.author, 3...10, member, family)
    }
    // Told once, and built anew it is the same; everybody writes on.
    let more = try forge.seal([forge.change([.include(tags, .int(-1))])])
    _ = try family.members[2].receive([more], in: family.zone, nowMilliseconds: now)
    #expect(family.members[2].store.notices.all().count == 1)
    let digest = try family.members[2].digest(of: family.zone)
    try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
    #expect(try family.members[2].digest(of: family.zone) == digest)
    #expect(family.members[2].store.notices.all().count == 1)
    try expectOverfull(key, by: forge.author, 3...10, 2, family)
    try family.write(2, 1, [.include(tags, .int(-2))])
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
  }

  /// That a record takes no more of an author, and which changes count for nothing.
  private func expectOverfull(
    _ key: RecordKey, by author: Author, _ changes: ClosedRange<UInt64>, _ member: Int,
    _ family: EngineFamily
  ) throws {
    let held = try VoidChanges(engine: family.members[member]).quarantined(in: family.group)
    #expect(held.map(\.changes) == [changes] && held.map(\.cause) == [.beyondLimit])
    #expect(
      try OverfullRecords.overfullRecords(in: family.zone, with: family.members[member].store) == [
        OverfullRecord(zone: family.zone, author: author, key: key, changes: changes.count)
      ])
  }

  @Test("A change of which one operation passes a limit counts for nothing, on whatever records")
  func wholeChange() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let full = RecordKey(type: .record(7), id: EngineFamily.id(1))
    let other = RecordKey(type: .record(7), id: EngineFamily.id(2))
    func include(_ range: Range<Int>) -> [Operation] {
      range.map { Operation(full, .include(tags, .int(Int64($0)))) }
    }
    func assign(_ value: Int64) -> Operation {
      Operation(other, .assign(EngineFamily.register, .int(value)))
    }
    let changes = [
      forge.change(operations: { _ in [assign(1)] + include(0..<4_000) }),
      forge.change(operations: { _ in [assign(2)] + include(4_000..<4_097) }),
      forge.change(operations: { _ in [assign(3)] + include(4_000..<4_096) }),
      forge.change(operations: { _ in include(5_000..<5_001) + [assign(4)] }),
      forge.change(operations: { _ in [Operation(full, .delete)] }),
    ]
    let bytes = try forge.seal(changes)
    for member in [0, 2] {
      _ = try family.members[member].receive([bytes], in: family.zone, nowMilliseconds: now)
      let records = try family.members[member].store.records.states(
        of: [full, other], in: family.zone)
      #expect(records[0]?.elements(tags).count == 4_096)
      #expect(records[0]?.life.isDeleted == true)
      #expect(records[1]?.shown(EngineFamily.register) == .int(3))
      let held = try VoidChanges(engine: family.members[member]).quarantined(in: family.group)
      #expect(held.map(\.changes) == [2...2, 4...4])
      #expect(held.allSatisfy { $0.cause == .beyondLimit })
    }
    #expect(
      try family.members[0].digest(of: family.zone) == family.members[2].digest(of: family.zone))
  }

  @Test("A further device of a person puts 1,024 units into a record, and all cut alike")
  func furtherDevice() throws {
    var family = try EngineFamily(3)
    let second = try family.join(by: 1, role: .reader, person: try family.person(1))
    try family.settle()
    var blobs: [[UInt8]] = []
    for member in [1, second] {
      var forge = try Forge(family.members[member], family.zone)
      let changes = (0..<5).map { number in
        forge.change(
          (0..<500).map { .include(tags, .int(Int64(member * 10_000 + number * 500 + $0))) })
      }
      blobs.append(try forge.seal(changes))
    }
    for (member, order) in [(0, blobs), (2, blobs.reversed())] {
      _ = try family.members[member].receive(order, in: family.zone, nowMilliseconds: now)
      let state = try #require(
        try family.members[member].store.records.states(of: [key], in: family.zone)[0])
      #expect(state.elements(tags).count == 5 * 500 + 2 * 500)
      let held = try OverfullRecords.overfullRecords(
        in: family.zone, with: family.members[member].store)
      #expect(held.map(\.author) == [family.members[second].author])
      #expect(held.map(\.changes) == [3])
    }
    // It tells its own person so as well.
    for number in 0..<2 {
      try family.write(
        second, 2, (0..<512).map { .include(tags, .int(Int64(number * 512 + $0))) })
    }
    let error = #expect(throws: SyncError.self) {
      try family.write(second, 2, [.include(tags, .int(-1))])
    }
    #expect(error?.message.contains("1024 elements of sets or 256 KiB of long values") == true)
  }

  @Test("A history of 3,000 values is cut alike by all, whoever wrote between")
  func historyBomb() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    var changes: [Change] = []
    for number in 0..<3_000 { changes.append(forge.change([.assign(cost, .int(Int64(number)))])) }
    let bytes = try forge.seal(changes)
    #expect(bytes.count > 3_000 * ChangeBatch.changeWeight)
    try family.write(0, 1, [.assign(cost, .int(-5))])
    let mine = try family.published(0, family.zone)
    _ = try family.members[0].receive([bytes], in: family.zone, nowMilliseconds: now)
    _ = try family.members[2].receive([bytes], in: family.zone, nowMilliseconds: now)
    _ = try family.members[2].receive(mine, in: family.zone, nowMilliseconds: now)
    #expect(
      try family.members[0].digest(of: family.zone) == family.members[2].digest(of: family.zone))
    let state = try #require(
      try family.members[2].store.records.states(of: [key], in: family.zone)[0])
    guard case .history(let history) = state[cost] else {
      Issue.record("no history")
      return
    }
    #expect(history.entries.count == 1_024 + 1)
    #expect(family.members[2].store.notices.all().map(\.kind) == [.limit])
    try expectOverfull(key, by: forge.author, 1_025...3_000, 2, family)
  }

  @Test("An own change that would be cut is refused with what to do, and leaves nothing")
  func ownLimit() throws {
    var family = try EngineFamily(1)
    try family.write(0, 1, (0..<4_096).map { .include(tags, .int(Int64($0))) })
    let before = try family.members[0].digest(of: family.zone)
    let error = #expect(throws: SyncError.self) {
      try family.write(0, 1, [.insert, .include(tags, .int(9_999))])
    }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains("use another record") == true)
    #expect(try family.members[0].digest(of: family.zone) == before)
    try family.write(0, 2, [.include(tags, .int(9_999))])
    #expect(family.members[0].store.notices.all().isEmpty)
  }

  @Test("A segment that declares other work than it holds is refused before it is unpacked")
  func lies() throws {
    var family = try EngineFamily(2)
    var forge = try Forge(family.members[1], family.zone)
    let changes = [
      forge.change([.insert, .include(tags, .int(1))], record: 2),
      forge.change(record: 3),
    ]
    let weight = ChangeBatch.weight(of: changes)
    // Two changes, three operations, and the news of the control zone that the first had seen.
    #expect(weight == 2 * 8 + 3 * 3 + changes[0].controlSeen.heads.count)
    for lie in [0, 1, weight - 1, weight + 1, 250] {
      let report = try family.members[0].receive(
        [try forge.seal(changes, .init(weight: lie))], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 0 && report.refused.count == 1, "\(lie)")
    }
    let report = try family.members[0].receive(
      [try forge.seal(changes)], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 2 && report.refused.isEmpty)
  }

  @Test("What waits for a gap is opened once, and again when the gap closes; nothing else is")
  func gaps() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    var blobs: [[UInt8]] = []
    for number in 0..<150 { blobs.append(try forge.seal([forge.change(record: number)])) }
    let store = family.members[2].store
    let report = try family.members[2].receive(
      Array(blobs.dropFirst()), in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 0 && report.waiting == [.gap: 149])
    let reads = store.pendingReads
    for record in 0..<5 {
      try family.write(0, record, [.count(FieldID(.counter, 1), 1)])
      let news = try family.published(0, family.zone)
      let report = try family.members[2].receive(news, in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 1 && report.waiting == [.gap: 149])
    }
    let waiting = try WaitingSegments(engine: family.members[2]).segments(in: family.zone)
    #expect(waiting.count == 149 && waiting.first?.first == 2)
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
    #expect(store.pendingReads == reads)
    let last = try family.members[2].receive([blobs[0]], in: family.zone, nowMilliseconds: now)
    #expect(last.applied == 150 && last.waiting.isEmpty)
    #expect(store.pendingReads == reads + 149)
    #expect(try store.pending.segments(in: family.zone).isEmpty)
  }

  @Test("What waits behind a gap is verified, and opened only once the gap closes")
  func closed() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let first = try forge.seal([forge.change(record: 1)])
    let second = try forge.seal([forge.change(record: 2)])
    let third = forge.change(record: 3)
    let good = try forge.seal([third])
    // What it holds is refused where it is opened.
    let bad = try forge.seal([third], .init(weight: 250))
    var forged = good
    forged[forged.count - 1] ^= 1
    let early = try family.members[2].receive(
      [second, bad, forged], in: family.zone, nowMilliseconds: now)
    #expect(early.refused.map(\.digest) == [segmentDigest(forged)])
    #expect(early.waiting == [.gap: 2])
    let late = try family.members[2].receive([first], in: family.zone, nowMilliseconds: now)
    #expect(late.refused.map(\.digest) == [segmentDigest(bad)])
    #expect(late.applied == 2 && late.waiting.isEmpty)
    let last = try family.members[2].receive([good], in: family.zone, nowMilliseconds: now)
    #expect(last.applied == 1 && last.refused.isEmpty)
    #expect(try family.members[2].store.pending.segments(in: family.zone).isEmpty)
  }

  @Test("What waits behind a gap stays closed while a zone is built anew")
  func closedInRebuild() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let first = try forge.seal([forge.change(record: 1)])
    _ = try forge.seal([forge.change(record: 2)])
    // What it holds is refused where it is opened.
    let bad = try forge.seal([forge.change(record: 3)], .init(weight: 250))
    let early = try family.members[2].receive([first, bad], in: family.zone, nowMilliseconds: now)
    #expect(early.applied == 1 && early.waiting == [.gap: 1])
    try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
    let waiting = try family.members[2].store.pending.segments(in: family.zone)
    #expect(waiting.map(\.digest) == [segmentDigest(bad)])
    #expect(waiting.map(\.reason) == [.gap])
  }

  @Test("New segments are opened log by log in order, whatever order they come in")
  func order() throws {
    var family = try EngineFamily(3)
    var forges = try (0..<2).map { try Forge(family.members[$0], family.zone) }
    var blobs: [[UInt8]] = []
    for number in 0..<20 {
      blobs.append(
        try forges[number % 2].seal([forges[number % 2].change(record: number)]))
    }
    var random = SplitMix64(seed: 5)
    let foreign: [UInt8] = [1, 2, 3]
    let shuffled = [foreign] + blobs.shuffled(using: &random)
    var intake = Intake(shuffled, waiting: [])
    var logs: [Identifier: [UInt64]] = [:]
    var taken: [[UInt8]] = []
    while let sealed = intake.takeFresh() {
      taken.append(sealed.bytes)
      #expect(segmentDigest(sealed.bytes) == sealed.digest)
      guard let frame = try? EnvelopeFrame(sealed.bytes) else { continue }
      logs[Identifier(frame.authorTag), default: []].append(frame.firstSeq)
    }
    #expect(taken.first == foreign && Set(taken) == Set(shuffled))
    #expect(logs.count == 2 && logs.values.allSatisfy { $0 == $0.sorted() && $0.count == 10 })
    let report = try family.members[2].receive(shuffled, in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 20 && report.waiting.isEmpty)
  }

  @Test("What is beyond the end of a log with two histories is evidence, not a gap")
  func beyondFork() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let first = try forge.seal([forge.change(record: 1)])
    var other = forge
    let one = try forge.seal([forge.change(record: 2)])
    let two = try other.seal([other.change(record: 3)])
    _ = forge.change(record: 4)
    let far = try forge.seal([forge.change(record: 5)])
    let forked = try family.members[2].receive(
      [first, one, two], in: family.zone, nowMilliseconds: now)
    #expect(forked.forks.count == 1)
    let report = try family.members[2].receive([far], in: family.zone, nowMilliseconds: now)
    #expect(report.waiting[.gap] == nil && report.waiting[.quarantine] ?? 0 > 1)
    #expect(try WaitingSegments(engine: family.members[2]).segments(in: family.zone).isEmpty)
  }

  @Test("Of a log that a newcomer cites before its end, no more is opened than the cited segment")
  func citation() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let blobs = try (0..<20).map { try forge.seal([forge.change(record: $0)]) }
    _ = try family.members[2].receive(
      Array(blobs.dropLast()), in: family.zone, nowMilliseconds: now)
    try family.write(2, 1, [.insert])
    let news = try #require(try family.published(2, family.zone).last { !blobs.contains($0) })
    _ = try family.members[0].receive(blobs, in: family.zone, nowMilliseconds: now)
    family.members[0] = try EngineFamily.reopened(family.members[0])
    let reads = family.members[0].store.segmentReads
    let report = try family.members[0].receive([news], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 1 && report.falseClaims.isEmpty)
    #expect(family.members[0].store.segmentReads - reads == 1)
  }

  @Test("What waits for others is opened when they come, whichever of them it waits for")
  func causes() throws {
    var family = try EngineFamily(3)
    for record in 1...3 { try family.write(0, record, [.insert]) }
    let founder = family.members[0].author
    let blobs = try family.published(0, family.zone)
    _ = try family.members[1].receive(blobs, in: family.zone, nowMilliseconds: now)
    var forge = try Forge(family.members[1], family.zone)
    let first = forge.change(seen: Frontier([(founder, UInt64(3))]), record: 7)
    let bytes = try forge.seal([first, forge.change(record: 8)])
    let store = family.members[2].store
    let report = try family.members[2].receive([bytes], in: family.zone, nowMilliseconds: now)
    #expect(report.waiting == [.cause: 1])
    let entry = try #require(try store.pending.entries(in: family.zone).first)
    #expect(entry.wait.missing == Dot(author: founder, sequence: 3))
    #expect(
      try WaitingSegments(engine: family.members[2]).segments(in: family.zone).first?.seen[
        founder] == 3)
    let reads = store.pendingReads
    _ = try family.members[2].receive([], in: family.zone, nowMilliseconds: now)
    #expect(store.pendingReads == reads)
    let last = try family.members[2].receive(blobs, in: family.zone, nowMilliseconds: now)
    #expect(last.applied == 5 && last.waiting.isEmpty)
  }

  private func entry(
    _ number: Int, tag: UInt64 = 1, bytes: Int, _ reason: PendingReason = .gap
  ) -> PendingEntry {
    PendingEntry(
      digest: Identifier(high: tag, low: UInt64(number)), reason: reason, wait: PendingWait(),
      authorTag: Identifier(high: 0, low: tag), incarnation: 1, first: UInt64(number),
      last: UInt64(number), epochTag: Identifier(high: 0, low: 0), byteCount: bytes)
  }

  @Test(
    "So much of one device, of strangers and in all may wait, and not one more: the farthest go")
  func room() {
    let some = 1 << 20
    #expect(WaitingRoom.maximumDeviceBytes == 16 * some)
    let full = (1...16).map { entry($0, bytes: some) }
    #expect(WaitingRoom.excess(of: full).isEmpty)
    let more = WaitingRoom.excess(of: full + [entry(17, bytes: 1), entry(9, tag: 2, bytes: 1)])
    #expect(more.keys.map(\.low) == [17])
    let nearer = WaitingRoom.excess(of: full + [entry(0, bytes: 1)])
    #expect(nearer.keys.map(\.low) == [16])

    #expect(WaitingRoom.maximumDeviceSegments == 4_096)
    let many = (1...4_096).map { entry($0, bytes: 300) }
    #expect(WaitingRoom.excess(of: many).isEmpty)
    #expect(WaitingRoom.excess(of: many + [entry(4_097, bytes: 300)]).keys.map(\.low) == [4_097])

    #expect(WaitingRoom.maximumUnverifiedSegments == 512)
    let unread = (1...512).map { entry($0, tag: UInt64($0), bytes: 300, .format) }
    #expect(WaitingRoom.excess(of: unread).isEmpty)
    #expect(WaitingRoom.excess(of: unread + [entry(513, bytes: 300, .format)]).count == 1)
    // What seems to be of a newer program takes no space of newcomers, and what they need none.
    let large = (1...4).map { entry($0, bytes: some, .author) }
    #expect(WaitingRoom.excess(of: unread + large).isEmpty)
    #expect(WaitingRoom.excess(of: unread + large + [entry(5, bytes: 1, .author)]).count == 1)
    // Under an unknown key nobody can verify what an unknown device wrote.
    let closed = [entry(5, tag: 9, bytes: 1, .epoch)]
    #expect(WaitingRoom.excess(of: large + closed).isEmpty)
    #expect(WaitingRoom.excess(of: large + closed) { $0.low != 9 }.keys.map(\.low) == [5])

    #expect(WaitingRoom.maximumBytes == 64 * some)
    let all = (1...4).flatMap { tag in
      (1...16).map { entry($0, tag: UInt64(tag), bytes: some, .epoch) }
    }
    #expect(WaitingRoom.excess(of: all).isEmpty)
    // Whoever has little waiting keeps it, however much others have.
    #expect(
      WaitingRoom.excess(of: all + [entry(99, tag: 5, bytes: 1)]).keys.map(\.low) == [16])
  }

  @Test("Of a removed device nothing stays that waits beyond what was known of it")
  func removed() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    var blobs: [[UInt8]] = []
    for number in 0..<20 { blobs.append(try forge.seal([forge.change(record: number)])) }
    for member in [0, 2] {
      _ = try family.members[member].receive([blobs[0]], in: family.zone, nowMilliseconds: now)
    }
    let report = try family.members[2].receive(
      Array(blobs.dropFirst(2)), in: family.zone, nowMilliseconds: now)
    #expect(report.waiting == [.gap: 18])
    try family.remove(1, by: 0)
    let control = try family.published(0, family.control)
    _ = try family.members[2].receive(control, in: family.control, nowMilliseconds: now)
    let later = try family.members[2].receive(
      Array(blobs.dropFirst(2)), in: family.zone, nowMilliseconds: now)
    #expect(later.waiting.isEmpty)
    #expect(try family.members[2].store.pending.segments(in: family.zone).isEmpty)
    #expect(try family.members[2].zone(family.zone).head(of: forge.author).sequence == 1)
  }

  @Test("What many files behind a gap change is not written once for each of them")
  func writtenTogether() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let blobs = try (0..<65).map { _ in try forge.seal([forge.change(record: 1)]) }
    _ = try family.members[2].receive(
      Array(blobs.dropFirst()), in: family.zone, nowMilliseconds: now)
    let before = family.members[2].store.flushes
    let report = try family.members[2].receive([blobs[0]], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 65)
    #expect(family.members[2].store.flushes - before <= 8)
  }

  @Test("A bad file in the log of a removed device costs nobody another sync")
  func removedAndForged() throws {
    var world = try NewcomerWorld()
    var forge = try Forge(world.family.members[1], world.family.zone)
    let blobs = try (0..<3).map { try forge.seal([forge.change(record: $0)]) }
    let start = forge.head.sequence - 3
    let tag = try world.zone(0).authorTag(of: forge.author.device)
    func name(_ blob: [UInt8], _ number: Int) throws -> SegmentName {
      SegmentName(
        zoneTag: try world.zone(0).tag, authorTag: tag, incarnation: forge.author.incarnation,
        first: start + UInt64(number), last: start + UInt64(number), digest: segmentDigest(blob))
    }
    // A copy of the second with another signature, which is tried first.
    let bad = try #require(
      (1..<16_384).lazy.map { number in
        var copy = blobs[1]
        copy[copy.count - 1] ^= UInt8(number & 0xff)
        copy[copy.count - 2] ^= UInt8(number >> 8)
        return copy
      }.first { segmentDigest($0) < segmentDigest(blobs[1]) })
    for (number, blob) in blobs.enumerated() {
      world.shelf.publish(try name(blob, number + 1), blob)
    }
    world.shelf.publish(try name(bad, 2), bad)
    try world.family.remove(1, by: 0)
    let control = try world.family.published(0, world.family.control)
    _ = try world.family.members[2].receive(
      control, in: world.family.control, nowMilliseconds: now)
    try world.sync(2)
    #expect(try world.zone(2).head(of: forge.author).sequence == forge.head.sequence)
  }

  @Test("A batch with more work than a slice is applied whole, in slices, and alike")
  func slices() throws {
    #expect(SliceOpening.sliceWeight == 300_000)
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    var blobs: [[UInt8]] = []
    for number in 0..<4 {
      let changes = (0..<10).map { _ in
        forge.change([Operation.Body](repeating: .insert, count: 3_334), record: number)
      }
      blobs.append(try forge.seal(changes))
    }
    let flushes = family.members[0].store.flushes
    let together = try family.members[0].receive(blobs, in: family.zone, nowMilliseconds: now)
    #expect(together.applied == 40)
    // Three segments fill a slice, the fourth has one of its own.
    #expect(family.members[0].store.flushes - flushes == 2)
    for blob in blobs.reversed() {
      _ = try family.members[2].receive([blob], in: family.zone, nowMilliseconds: now)
    }
    #expect(
      try family.members[0].digest(of: family.zone) == family.members[2].digest(of: family.zone))
  }
}

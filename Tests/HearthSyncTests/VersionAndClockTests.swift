import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("Segments of a newer version")
struct NewerFormatTests {
  /// A body that the next version might write around the same changes.
  private func newer(_ changes: [Change]) -> [UInt8] {
    var body = ChangeBatch.encode(changes)
    body[0] = ChangeBatch.formatVersion + 1
    return body + Array("and what a newer version adds".utf8)
  }

  @Test("A newer body is kept unapplied, passed on byte for byte, and the author's later ones wait")
  func body() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let first = try forge.seal([forge.change(record: 1)])
    let changes = [forge.change(record: 2), forge.change(record: 3)]
    let middle = try forge.seal(changes, .init(body: newer(changes)))
    let last = try forge.seal([forge.change(record: 4)])
    let report = try family.members[2].receive(
      [last, middle, first], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 1)
    #expect(report.refused.isEmpty)
    #expect(report.waiting == [.format: 1, .gap: 1])
    // It is in the log, which is what goes on to transports.
    let stored = try #require(
      try family.members[2].store.log.segments(of: family.zone).first { $0.first == 2 })
    #expect([stored.last, UInt64(stored.byteCount)] == [3, UInt64(middle.count)])
    #expect(stored.author == forge.author)
    #expect(try family.members[2].store.log.bytes(of: stored.digest, in: family.zone) == middle)
    let plan = SyncPlan(
      zone: try family.members[2].zone(family.zone),
      stored: try family.members[2].store.log.segments(of: family.zone), pending: [])
    let published = plan.publications(
      to: TransportListing(), stored: try family.members[2].store.log.segments(of: family.zone),
      trusted: [], of: forge.zone, by: family.members[2].device)
    #expect(published.contains { $0.name.digest == segmentDigest(middle) && $0.name.first == 2 })
    // Again, opened again, built anew and audited: nothing else.
    let digest = try family.members[2].digest(of: family.zone)
    _ = try family.members[2].receive([middle], in: family.zone, nowMilliseconds: now)
    family.members[2] = try EngineFamily.reopened(family.members[2])
    try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
    #expect(try family.members[2].digest(of: family.zone) == digest)
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
    #expect(try family.members[2].store.pending.segments(in: family.zone).count == 2)
  }

  /// Changes as version 1 sealed them, which weighed an operation as 1.
  private func sealedEarlier(_ changes: [Change], by forge: Forge) throws -> [UInt8] {
    var body = ChangeBatch.encode(changes)
    body[0] = 1
    let operations = changes.reduce(0) { $0 + $1.operations.count }
    let weight = ChangeBatch.weight(of: changes) - 2 * operations
    return try forge.seal(changes, .init(body: body, weight: weight))
  }

  @Test("A body of an earlier version is read where its bytes pay for its work today")
  func earlier() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let light = try sealedEarlier([forge.change(record: 1)], by: forge)
    #expect(
      try family.members[2].receive([light], in: family.zone, nowMilliseconds: now).applied == 1)
    // Of the weight that it declares it takes no byte more or less.
    let change = forge.change(record: 2)
    var body = ChangeBatch.encode([change])
    body[0] = 1
    let wrong = try forge.seal([change], .init(body: body))
    let report = try family.members[2].receive([wrong], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 0 && report.refused.count == 1)
    // What was taken is built anew, opened and audited like everything else.
    let digest = try family.members[2].digest(of: family.zone)
    family.members[2] = try EngineFamily.reopened(family.members[2])
    try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
    #expect(try family.members[2].digest(of: family.zone) == digest)
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
  }

  @Test("A dense body of an earlier version is refused from outside, and read where it was taken")
  func dense() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let change = forge.change(Array(repeating: .insert, count: 900))
    let dense = try sealedEarlier([change], by: forge)
    #expect(dense.count < 3 * 900)
    let report = try family.members[2].receive([dense], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 0 && report.waiting.isEmpty)
    #expect(report.refused.map(\.reason).contains { $0.contains("earlier version of Hearth") })
    let zone = try family.members[2].zone(family.zone)
    let membership = family.members[2].membership(of: family.group)
    let opener = SegmentOpener(zone: zone, membership: membership, isStored: true)
    guard case .opened(let taken) = try opener.open(dense) else {
      Issue.record("it is not opened")
      return
    }
    #expect(taken.changes[0].operations.count == 900)
  }

  @Test("A log's newer bodies are passed on, in whatever order they come")
  func bodies() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let first = try forge.seal([forge.change(record: 1)])
    var newerOnes: [[UInt8]] = []
    for record in 2..<6 {
      let changes = [forge.change(record: record)]
      newerOnes.append(try forge.seal(changes, .init(body: newer(changes))))
    }
    let store = family.members[2].store
    func kept() throws -> [UInt64] {
      try store.log.segments(of: family.zone).filter { $0.author == forge.author }.map(\.first)
        .sorted()
    }
    let together = try family.members[2].receive(
      [newerOnes[1], newerOnes[0], first], in: family.zone, nowMilliseconds: now)
    #expect(together.applied == 1 && together.waiting == [.format: 2])
    #expect(try kept() == [1, 2, 3])
    let behind = try family.members[2].receive(
      [newerOnes[3]], in: family.zone, nowMilliseconds: now)
    #expect(behind.waiting == [.format: 3])
    #expect(try kept() == [1, 2, 3, 5])
    let next = try family.members[2].receive(
      [newerOnes[2]], in: family.zone, nowMilliseconds: now)
    #expect(next.waiting == [.format: 4] && next.refused.isEmpty)
    #expect(try kept() == [1, 2, 3, 4, 5])
  }

  @Test("After an upgrade what was kept is applied, and leaves the waiting room")
  func upgrade() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let one = try forge.seal([forge.change(record: 2)])
    let two = try forge.seal([forge.change(record: 3)])
    // As an older version would have kept what this one can read.
    let store = family.members[2].store
    try store.transaction {
      try store.pending.save(
        PendingSegment(digest: segmentDigest(one), reason: .format, bytes: one), in: family.zone)
      try store.pending.save(
        PendingSegment(digest: segmentDigest(two), reason: .gap, bytes: two), in: family.zone)
      try store.log.save(
        StoredSegment(
          author: forge.author, first: 1, last: 1, digest: segmentDigest(one),
          byteCount: one.count),
        bytes: one, in: family.zone)
    }
    family.members[2] = try EngineFamily.reopened(family.members[2])
    let report = try family.members[2].receive([], in: family.zone, nowMilliseconds: now)
    #expect(report.applied == 2)
    #expect(try store.pending.segments(in: family.zone).isEmpty)
    #expect(try store.log.segments(of: family.zone).filter { $0.author == forge.author }.count == 2)
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
  }

  @Test("A newer suite or type of this zone is kept; of another zone, or cut, it is refused")
  func frames() throws {
    var family = try EngineFamily(2)
    var forge = try Forge(family.members[1], family.zone)
    let good = try forge.seal([forge.change()])
    for (place, value) in [(4, 2), (4, 255), (5, 3), (5, 0)] {
      var newer = good
      newer[place] = UInt8(value)
      let report = try family.members[0].receive([newer], in: family.zone, nowMilliseconds: now)
      #expect(report.waiting[.format] != nil, "byte \(place) is \(value)")
      #expect(report.refused.isEmpty)
      var foreign = newer
      foreign[6] ^= 1
      let cut = Array(newer.prefix(EnvelopeFormat.overheadBytes - 1))
      for bad in [foreign, cut] {
        let report = try family.members[0].receive([bad], in: family.zone, nowMilliseconds: now)
        #expect(report.refused.count == 1, "byte \(place) is \(value)")
      }
    }
  }

  @Test("Nobody can speak for this device with a segment that it cannot read")
  func ownName() throws {
    var family = try EngineFamily(2)
    try family.write(0, 1, [.insert])
    let good = try #require(try family.published(0, family.zone).first)
    var forged = good
    forged[4] = 2
    forged.replaceSubrange(70..<78, with: [UInt8](repeating: 255, count: 8))
    _ = try family.members[0].receive([forged], in: family.zone, nowMilliseconds: now)
    let own = try family.members[0].store.log.segments(of: family.zone)
    #expect(own.map(\.last) == [1])
  }

  @Test("One that turns out to be wrong after an upgrade leaves the log too")
  func wrong() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let bad = try forge.seal([forge.change()], .init(body: [1, 2, 3]))
    let store = family.members[2].store
    try store.transaction {
      try store.pending.save(
        PendingSegment(digest: segmentDigest(bad), reason: .format, bytes: bad), in: family.zone)
      try store.log.save(
        StoredSegment(
          author: forge.author, first: 1, last: 1, digest: segmentDigest(bad),
          byteCount: bad.count),
        bytes: bad, in: family.zone)
    }
    let report = try family.members[2].receive([], in: family.zone, nowMilliseconds: now)
    #expect(report.refused.count == 1)
    #expect(try store.pending.segments(in: family.zone).isEmpty)
    #expect(try store.log.bytes(of: segmentDigest(bad), in: family.zone) == nil)
  }
}

@Suite("Clocks that are ahead")
struct ClockNoticeTests {
  @Test("A change at five minutes ahead says nothing; one beyond is applied and told once a device")
  func once() throws {
    var family = try EngineFamily(3)
    let bound = now + HybridClock.maximumLeadMilliseconds
    var forge = try Forge(family.members[1], family.zone)
    let steps: [(UInt64, Int)] = [(bound, 0), (bound + 1, 1), (bound + 99_999_999, 1)]
    for (place, (time, notices)) in steps.enumerated() {
      let bytes = try forge.seal([forge.change(time: time, record: place)])
      let report = try family.members[2].receive([bytes], in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 1)
      #expect(family.members[2].store.notices.all().count == notices, "\(time)")
      family.members[2] = try EngineFamily.reopened(family.members[2])
    }
    let notice = try #require(family.members[2].store.notices.all().first)
    #expect(notice.kind == .clock)
    #expect(notice.device == forge.author.device)
    #expect(notice.text.contains("clock of device 1 is 5 minutes ahead"))
    // The own clock follows by five minutes at most.
    try family.write(2, 1, [.insert])
    let own = try family.members[2].zone(family.zone).head(of: family.members[2].author)
    #expect(own.time.milliseconds <= bound)
    // Another device is told of by itself.
    var second = try Forge(family.members[0], family.zone)
    _ = try family.members[2].receive(
      [try second.seal([second.change(time: now * 2)])], in: family.zone, nowMilliseconds: now)
    #expect(family.members[2].store.notices.all().map(\.kind) == [.clock, .clock])
  }
}

import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

@Suite("A member that does what no honest program would")
struct HostileTests {
  private func author(_ number: UInt64) -> Author {
    Author(device: EngineFamily.id(900), incarnation: number << 32)
  }

  @Test("A change that cites again what its log had cited ends its author's log, and no other's")
  func backwards() throws {
    for isControl in [false, true] {
      var family = try EngineFamily(3)
      try family.write(0, 1, [.insert])
      try family.settle()
      var forge = try Forge(family.members[1], family.zone)
      let past = Frontier([(family.members[0].author, UInt64(1))])
      let first = forge.change(seen: past, record: 2)
      let second =
        isControl
        ? forge.change(controlSeen: past, record: 3) : forge.change(seen: past, record: 3)
      let bytes = try forge.seal([first])
      let rest = try forge.seal([second, forge.change(record: 4)])
      // Others' news comes in the same batch.
      try family.write(0, 9, [.assign(FieldID(.register, 1), .int(1))])
      let others = try family.published(0, family.zone)
      let report = try family.members[2].receive(
        [bytes, rest] + others, in: family.zone, nowMilliseconds: now)
      #expect(report.applied == 2)
      #expect(report.forks == [Dot(author: forge.author, sequence: 2)])
      let notice = try #require(family.members[2].store.notices.all().last)
      #expect(notice.kind == .fork)
      #expect(notice.text.contains("device 1 published an impossible change"))
      // A newcomer that meets it first of all comes to the same.
      _ = try family.members[0].receive(
        [bytes, rest], in: family.zone, nowMilliseconds: now)
      #expect(
        try family.members[0].digest(of: family.zone)
          == family.members[2].digest(of: family.zone))
      try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
      #expect(
        try family.members[0].digest(of: family.zone)
          == family.members[2].digest(of: family.zone))
      #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
    }
  }

  @Test("A first change of all that cannot be is refused and leaves no trace")
  func firstOverflow() throws {
    var family = try EngineFamily(3)
    let founder = family.members[0].author
    var forge = try Forge(family.members[1], family.zone)
    forge.author = Author(device: forge.author.device, incarnation: 7 << 32)
    forge.head = LogHead(author: forge.author)
    let before = try family.members[2].digest(of: family.zone)
    let announcement = try forge.announce(family.members[1])
    _ = try family.members[2].receive(
      [announcement], in: family.control, nowMilliseconds: now)
    let many = Frontier((1...4_000).map { (author($0), UInt64(1)) } + [(founder, UInt64(1))])
    var change = forge.change()
    change.seen = many.difference(from: Frontier())
    // One author more than there may be, which only two changes together can claim.
    #expect(Limits.maximumAuthors == 4_000)
    let report = try family.members[2].receive(
      [try forge.seal([change])], in: family.zone, nowMilliseconds: now)
    #expect(report.refused.count == 1)
    #expect(try family.members[2].digest(of: family.zone) == before)
    #expect(try family.members[2].zone(family.zone).head(of: forge.author).sequence == 0)
  }

  @Test("A person writes a 256th life and is told what to do at the 257th")
  func ownLives() throws {
    var family = try EngineFamily(1)
    let announcements = try (1..<UInt64(Limits.maximumLives)).map { life in
      var forge = try Forge(family.members[0], family.zone, incarnation: life << 33)
      return try forge.announce(family.members[0])
    }
    _ = try family.members[0].receive(
      announcements, in: family.control, nowMilliseconds: now)
    try family.write(0, 1, [.insert])
    #expect(
      try family.members[0].zone(family.control).lives(of: family.members[0].device)
        == Limits.maximumLives)
    try NewIncarnation.begin(
      reason: "a test", in: &family.members[0], nowMilliseconds: now)
    let error = #expect(throws: SyncError.self) { try family.write(0, 1, [.insert]) }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains("join again") == true)
  }

  @Test("Rubbish that nobody can verify fills at most 4 MiB, then is refused")
  func waiting() throws {
    #expect(WaitingRoom.maximumUnverifiedBytes == 4 << 20)
    var family = try EngineFamily(1)
    let tag = try family.members[0].zone(family.zone).tag
    func rubbish(_ number: UInt8) -> [UInt8] {
      var bytes = [UInt8](repeating: number, count: EnvelopeFormat.maximumEnvelopeBytes)
      bytes.replaceSubrange(0..<6, with: Array("HRE1".utf8) + [9, 1])
      bytes.replaceSubrange(6..<22, with: tag.bytes)
      bytes.replaceSubrange(62..<78, with: [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1])
      return bytes
    }
    let fit = (4 << 20) / EnvelopeFormat.maximumEnvelopeBytes
    let first = try family.members[0].receive(
      (0..<fit).map { rubbish(UInt8($0)) }, in: family.zone, nowMilliseconds: now)
    #expect(first.refused.isEmpty)
    #expect(first.waiting == [.format: fit])
    let second = try family.members[0].receive(
      [rubbish(200), rubbish(201)], in: family.zone, nowMilliseconds: now)
    #expect(second.refused.count == 2)
    #expect(try family.members[0].store.pending.segments(in: family.zone).count == fit)
    // Nobody looks into it again.
    let reads = family.members[0].store.pendingReads
    _ = try family.members[0].receive([], in: family.zone, nowMilliseconds: now)
    #expect(family.members[0].store.pendingReads == reads)
  }

  @Test("A file of an unknown suite that claims more changes than there can be is refused")
  func endlessRange() throws {
    var family = try EngineFamily(2)
    let zone = try family.members[0].zone(family.zone)
    let ben = zone.authorTag(of: family.members[1].device)
    func forged(through last: UInt64) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: EnvelopeFormat.overheadBytes)
      bytes.replaceSubrange(0..<6, with: Array("HRE1".utf8) + [9, 1])
      bytes.replaceSubrange(6..<22, with: zone.tag.bytes)
      bytes.replaceSubrange(22..<38, with: ben.bytes)
      bytes[69] = 1
      bytes.replaceSubrange(
        70..<78, with: (0..<8).map { UInt8(truncatingIfNeeded: last >> (56 - 8 * $0)) })
      return bytes
    }
    for last in [Frontier.maximumSequence + 1, .max] {
      let report = try family.members[0].receive(
        [forged(through: last)], in: family.zone, nowMilliseconds: now)
      #expect(report.refused.count == 1 && report.waiting.isEmpty, "\(last)")
    }
    let report = try family.members[0].receive(
      [forged(through: Frontier.maximumSequence)], in: family.zone, nowMilliseconds: now)
    #expect(report.refused.isEmpty && report.waiting == [.format: 1])
    #expect(EnvelopeFormat.maximumSequence == Frontier.maximumSequence)
  }
}

@Suite("Two histories under one number")
struct ForkTests {
  /// Two copies of member 1 that both went on, as segments of each; and what both share.
  private func fork(
    _ family: inout EngineFamily
  ) throws -> (shared: [UInt8], left: [[UInt8]], right: [[UInt8]]) {
    let forge = try Forge(family.members[1], family.zone)
    var base = forge
    let shared = try base.seal([base.change(record: 1), base.change(record: 2)])
    var sides: [[[UInt8]]] = []
    for side in [10, 20] {
      var copy = base
      sides.append([
        try copy.seal([copy.change(record: side)]),
        try copy.seal([copy.change(record: side + 1), copy.change(record: side + 2)]),
      ])
    }
    return (shared, sides[0], sides[1])
  }

  @Test("Evidence is kept, later changes are held back, and the rest converges, in both orders")
  func bothOrders() throws {
    var family = try EngineFamily(4)
    let (shared, left, right) = try fork(&family)
    let founder = family.members[0]
    for (place, sides) in [[left, right], [right, left]].enumerated() {
      let member = place == 0 ? 0 : 2
      _ = try family.members[member].receive([shared], in: family.zone, nowMilliseconds: now)
      let one = try family.members[member].receive(
        [sides[0][0]], in: family.zone, nowMilliseconds: now)
      #expect(one.applied == 1 && one.forks.isEmpty)
      let two = try family.members[member].receive(
        sides[1], in: family.zone, nowMilliseconds: now)
      #expect(two.applied == 0)
      #expect(two.forks.count == 1)
      #expect(two.waiting[.quarantine] ?? 0 >= 1)
      let three = try family.members[member].receive(
        [sides[0][1]], in: family.zone, nowMilliseconds: now)
      #expect(three.applied == 0, "held back")
      let pending = try family.members[member].store.pending.segments(in: family.zone)
      #expect(pending.contains { $0.reason == .quarantine && sides[1].contains($0.bytes) })
      // Told once.
      _ = try family.members[member].receive(left + right, in: family.zone, nowMilliseconds: now)
      #expect(family.members[member].store.notices.all().map(\.kind) == [.fork])
    }
    // The others, who saw different histories, write on and meet.
    for member in [0, 2] {
      try family.write(member, 50, [.count(FieldID(.counter, 1), 1)])
      try family.write(member, 1, [.delete])
    }
    for zone in [family.control, family.zone] {
      for (giver, taker) in [(0, 2), (2, 0), (0, 3), (2, 3)] {
        let blobs = try family.published(giver, zone)
        _ = try family.members[taker].receive(blobs, in: zone, nowMilliseconds: now)
      }
    }
    // Both showed the group what they had, so all go back to what the two histories share.
    let digests = try [0, 2, 3].map { try family.members[$0].digest(of: family.zone) }
    #expect(Set(digests).count == 1)
    let forked = try family.members[3].zone(family.zone).heads.first { $0.forkedAt != nil }
    #expect(forked?.sequence == 2 && forked?.forkedAt == 3)
    let key = RecordKey(type: .record(7), id: EngineFamily.id(50))
    for member in [0, 2, 3] {
      let state = try family.members[member].store.records.states(of: [key], in: family.zone)[0]
      #expect(state?.shown(FieldID(.counter, 1)) == .int(2), "member \(member)")
    }
    #expect(founder.device != family.members[2].device)
  }

  @Test("Building the zone anew, opening again and auditing change nothing")
  func rebuild() throws {
    for order in 0..<4 {
      var family = try EngineFamily(3)
      let (shared, left, right) = try fork(&family)
      let blobs = [
        [[shared], left, right], [[shared], right, left],
        [[shared], [left[0]], right, [left[1]]], [left, right, [shared]],
      ][order]
      for batch in blobs {
        _ = try family.members[2].receive(batch, in: family.zone, nowMilliseconds: now)
      }
      try family.write(2, 60, [.insert])
      let digest = try family.members[2].digest(of: family.zone)
      let heads = try family.members[2].zone(family.zone).heads
      let pending = try family.members[2].store.pending.segments(in: family.zone)
      #expect(heads.contains { $0.forkedAt != nil }, "order \(order)")
      for _ in 0..<2 {
        try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
        #expect(try family.members[2].digest(of: family.zone) == digest, "order \(order)")
        #expect(try family.members[2].zone(family.zone).heads == heads, "order \(order)")
        #expect(
          try family.members[2].store.pending.segments(in: family.zone) == pending, "order \(order)"
        )
        family.members[2] = try EngineFamily.reopened(family.members[2])
        #expect(try family.members[2].zone(family.zone).heads == heads, "order \(order)")
        #expect(
          try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty,
          "order \(order)")
      }
    }
  }

  @Test("A segment applied in part before its author contradicted itself survives a rebuild")
  func partial() throws {
    var family = try EngineFamily(3)
    try family.write(0, 9, [.insert])
    let blobs = try family.published(0, family.zone)
    _ = try family.members[1].receive(blobs, in: family.zone, nowMilliseconds: now)
    var forge = try Forge(family.members[1], family.zone)
    let unseen = Frontier([(family.members[0].author, UInt64(1))])
    let first = forge.change(record: 1)
    var other = forge
    let waits = forge.change(seen: unseen, record: 2)
    let partial = try forge.seal([first, waits])
    let contradiction = try other.seal([other.change(record: 3), other.change(record: 4)])
    let one = try family.members[2].receive([partial], in: family.zone, nowMilliseconds: now)
    #expect(one.applied == 1 && one.waiting == [.cause: 1])
    let two = try family.members[2].receive(
      [try other.seal([first]), contradiction], in: family.zone, nowMilliseconds: now)
    // What was begun goes on first, so nothing moves until its cause is here.
    #expect(two.applied == 0 && two.forks.isEmpty)
    // The two that wait contradict each other, which is shown, so the log ends before both.
    let ended = try family.members[2].zone(family.zone).forkEnds[forge.author]
    #expect(ended == 2)
    let three = try family.members[2].receive(blobs, in: family.zone, nowMilliseconds: now)
    #expect(three.applied == 1 && three.forks.isEmpty)
    #expect(try family.members[2].zone(family.zone).head(of: forge.author).sequence == 1)
    let digest = try family.members[2].digest(of: family.zone)
    try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
    #expect(try family.members[2].digest(of: family.zone) == digest)
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
  }

  @Test("A segment applied in part whose rest is held back survives a rebuild too")
  func partialHeldBack() throws {
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[1], family.zone)
    let past = Frontier([(family.members[0].author, UInt64(1))])
    try family.write(0, 9, [.insert])
    let blobs = try family.published(0, family.zone)
    _ = try family.members[1].receive(blobs, in: family.zone, nowMilliseconds: now)
    forge = try Forge(family.members[1], family.zone)
    // Each in a segment of its own: in one the columns cannot go back.
    let bytes = try [
      [forge.change(seen: past, record: 1)],
      [forge.change(seen: past, record: 2), forge.change(record: 3)],
    ].map { try forge.seal($0) }
    _ = try family.members[2].receive(blobs + bytes, in: family.zone, nowMilliseconds: now)
    let heads = try family.members[2].zone(family.zone).heads
    #expect(heads.first { $0.author == forge.author }?.sequence == 1)
    let digest = try family.members[2].digest(of: family.zone)
    try Rebuild.rebuild(family.zone, in: &family.members[2], nowMilliseconds: now)
    #expect(try family.members[2].digest(of: family.zone) == digest)
    #expect(try family.members[2].zone(family.zone).heads == heads)
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
  }
}

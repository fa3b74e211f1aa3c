import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now
private let anna = 0
private let ben = 1
private let mallory = 2
private let cleo = 3

@Suite("Verdicts on causes that hang on nothing but what is here")
struct CausalVerdictTests {
  private func taking(
    _ batches: [[[UInt8]]], by member: Int, of family: EngineFamily
  ) throws -> Engine<MemoryStore> {
    var engine = try EngineFamily.copied(family.members[member])
    for batch in batches {
      _ = try engine.receive(batch, in: family.zone, nowMilliseconds: now)
    }
    return engine
  }

  /// A change that cites what it is told to, by number and hash.
  private func change(
    _ forge: inout Forge, citing heads: [CitedHead], record: Int = 1,
    _ bodies: [HearthCRDT.Operation.Body] = [.insert]
  ) -> Change {
    var change = forge.change(bodies, record: record)
    change.seen = FrontierDifference(heads: heads.sorted { $0.author < $1.author })
    forge.head.hash = forge.hash(change)
    return change
  }

  /// Citations that no log may make beside another: of more authors than there may be.
  private var crowd: [CitedHead] {
    (1...Limits.maximumAuthors).map {
      CitedHead(author: Author(device: EngineFamily.id($0), incarnation: 1), sequence: 1, hash: 0)
    }
  }

  private func cited(_ head: LogHead) -> CitedHead {
    CitedHead(author: head.author, sequence: head.sequence, hash: CitedHead.prefix(of: head.hash))
  }

  // MARK: Logs that end without proof

  @Test("Whether an impossible change is here decides nothing about what lies before it")
  func impossible() throws {
    var family = try EngineFamily(4)
    try family.write(anna, 2, [.insert])
    let news = try family.published(anna, family.zone)
    let head = try family.members[anna].zone(family.zone).head(of: family.members[anna].author)
    var forge = try Forge(family.members[mallory], family.zone)
    let good =
      try news + [
        forge.seal([change(&forge, citing: [cited(head)], record: 5)]),
        forge.seal([forge.change(record: 6)]),
      ]
    let impossible = try forge.seal([change(&forge, citing: crowd)])
    var other = try Forge(family.members[ben], family.zone)
    let lie = try other.seal([
      change(&other, citing: [CitedHead(author: forge.author, sequence: 1, hash: 0xbad)], record: 7)
    ])
    var digests: Set<[UInt8]> = []
    for order in orders(of: [good, [impossible], [lie]]) {
      var engine = try taking(order, by: cleo, of: family)
      digests.insert(try engine.digest(of: family.zone))
      #expect(
        try FalseClaims(engine: engine).claims(in: family.zone).map(\.author) == [other.author]
      )
      try Rebuild.rebuild(family.zone, in: &engine, nowMilliseconds: now)
      digests.insert(try engine.digest(of: family.zone))
    }
    #expect(digests.count == 1)
  }

  @Test("A log with two histories that nobody can show keeps its citers when a zone is built anew")
  func unproven() throws {
    var family = try EngineFamily(5)
    // The log with two histories is tried before the one that it waits for.
    let order = (1...3).sorted { family.members[$0].author < family.members[$1].author }
    let (liar, citer, other) = (order[0], order[1], order[2])
    let large = [UInt8](repeating: 7, count: ControlLimits.maximumEvidenceBytes)
    var random = SplitMix64(seed: 4)
    func value() -> HearthCRDT.Operation.Body {
      .assign(
        FieldID(.register, 1),
        .bytes(large.map { _ in UInt8(truncatingIfNeeded: random.next()) }))
    }
    var left = try Forge(family.members[liar], family.zone)
    var right = left
    let first = try left.seal([left.change([value()], record: 5)])
    var witness = try Forge(family.members[other], family.zone)
    let seen = try witness.seal([witness.change(record: 8)])
    let second = try left.seal([
      change(&left, citing: [cited(witness.head)], record: 6, [value()])
    ])
    _ = right.change([value()], record: 5)
    let early = right.head
    let contradiction = [
      try right.seal([right.change([value()], record: 9)])
    ]
    var honest = try Forge(family.members[citer], family.zone)
    let built = try honest.seal([
      change(
        &honest,
        citing: [
          CitedHead(
            author: right.author, sequence: 1, hash: CitedHead.prefix(of: early.hash))
        ], record: 7)
    ])
    var engine = try taking(
      [[first], [seen], [second], contradiction, [built]], by: 4, of: family)
    #expect(try engine.zone(family.zone).head(of: honest.author).sequence == 1)
    let digest = try engine.digest(of: family.zone)
    try Rebuild.rebuild(family.zone, in: &engine, nowMilliseconds: now)
    #expect(try engine.digest(of: family.zone) == digest)
    try family.settle()
  }

  // MARK: What waits

  private func entry(
    _ number: Int, _ wait: PendingWait, _ reason: PendingReason, life: UInt64 = 1,
    bytes: Int = 300
  ) -> PendingEntry {
    PendingEntry(
      digest: Identifier(high: life, low: UInt64(number)), reason: reason, wait: wait,
      authorTag: EngineFamily.id(1), incarnation: life, first: UInt64(number),
      last: UInt64(number), epochTag: .zero, byteCount: bytes)
  }

  @Test("What a log is held back for, or is applied in part, is never pushed out by what waits")
  func kept() throws {
    let author = Author(device: EngineFamily.id(2), incarnation: 9)
    let claim = FalseClaim(
      author: author, sequence: 5_000, kind: .past, cited: Dot(author: author, sequence: 3),
      isControl: true)
    let gaps = (1...WaitingRoom.maximumDeviceSegments).map { entry($0, PendingWait(), .gap) }
    let held = entry(5_000, PendingWait(claim: claim), .falseClaim, life: 2, bytes: 16 << 20)
    let begun = entry(6_000, PendingWait(isPartlyApplied: true), .cause, life: 3, bytes: 16 << 20)
    #expect(WaitingRoom.excess(of: gaps + [held, begun]).isEmpty)
    #expect(WaitingRoom.excess(of: gaps + [entry(7_000, PendingWait(), .gap)]).count == 1)
    // Of one log only the first is free.
    let again = [
      entry(5_001, held.wait, .falseClaim, life: 2), entry(6_001, begun.wait, .cause, life: 3),
    ]
    #expect(
      Set(WaitingRoom.excess(of: gaps + [held, begun] + again).keys.map(\.low)) == [5_001, 6_001])
    for wait in [held.wait, begun.wait, PendingWait(missing: claim.cited, isInControl: true)] {
      #expect(try PendingWait(decoding: wait.encoded) == wait)
    }
    for wrong in [[16, 0, 0], held.wait.encoded + [0], Array(held.wait.encoded.dropLast())] {
      #expect(throws: CodecError.self) { try PendingWait(decoding: wrong) }
    }
  }

  @Test("Building a zone anew fails for changes that are gone, and not for such as wait")
  func waitingIsNotLost() throws {
    let family = try EngineFamily(4)
    var forge = try Forge(family.members[mallory], family.zone)
    let lie = try forge.seal([
      change(
        &forge, citing: [CitedHead(author: family.members[ben].author, sequence: 1, hash: 0xbad)])
    ])
    var other = try Forge(family.members[ben], family.zone)
    let news = try other.seal([other.change(record: 3)])
    var honest = try Forge(family.members[anna], family.zone)
    let built = try honest.seal([change(&honest, citing: [cited(forge.head)], record: 4)])
    var engine = try taking([[news], [lie], [built]], by: cleo, of: family)
    #expect(try engine.zone(family.zone).head(of: honest.author).sequence == 1)
    let store = engine.store
    let claim = try #require(
      try store.pending.entries(in: family.zone).first { $0.reason == .falseClaim })
    #expect(claim.wait.claim?.author == forge.author)
    // As a program did that let it be pushed out.
    let bytes = try #require(try store.pending.bytes(of: claim.digest, in: family.zone))
    try store.transaction { try store.pending.remove(claim.digest, in: family.zone) }
    try Rebuild.rebuild(family.zone, in: &engine, nowMilliseconds: now)
    let entries = try store.pending.entries(in: family.zone)
    #expect(entries.map(\.reason) == [.cause])
    #expect(entries.first?.wait.missing == Dot(author: forge.author, sequence: 1))
    // It comes again: the others go on, and nobody is told twice.
    _ = try engine.receive([bytes], in: family.zone, nowMilliseconds: now)
    #expect(try engine.zone(family.zone).head(of: honest.author).sequence == 1)
    #expect(store.notices.all().filter { $0.kind == .falseClaim }.count == 1)
    // Reading who lies opens nothing.
    let reads = store.pendingReads
    #expect(try FalseClaims(engine: engine).claims(in: family.zone).count == 1)
    #expect(store.pendingReads == reads)
    let lost = try #require(
      try store.log.segments(of: family.zone).first { $0.author == other.author })
    try store.transaction { try store.log.removeSegment(lost.digest, in: family.zone) }
    #expect(throws: SyncError(.corrupt, "")) {
      try Rebuild.rebuild(family.zone, in: &engine, nowMilliseconds: now)
    }
  }

  @Test("What is applied of a segment whose rest cannot be is there for those who cite it")
  func partOfImpossible() throws {
    var family = try EngineFamily(4)
    try family.write(anna, 2, [.insert])
    let news = try family.published(anna, family.zone)
    _ = try family.members[mallory].receive(news, in: family.zone, nowMilliseconds: now)
    var forge = try Forge(family.members[mallory], family.zone)
    let head = try family.members[anna].zone(family.zone).head(of: family.members[anna].author)
    let first = change(&forge, citing: [cited(head)], record: 5)
    let early = forge.head
    let second = forge.change(record: 6)
    let whole = try forge.seal([first, second, change(&forge, citing: crowd)])
    var other = try Forge(family.members[ben], family.zone)
    let built = try other.seal([change(&other, citing: [cited(early), cited(head)], record: 7)])
    let engine = try taking([news, [whole], [built]], by: cleo, of: family)
    #expect(try engine.zone(family.zone).head(of: forge.author).sequence == 2)
    #expect(try engine.zone(family.zone).head(of: forge.author).forkedAt == 3)
    #expect(try engine.zone(family.zone).head(of: other.author).sequence == 1)
  }

  // MARK: Below a snapshot

  @Test("Who took a lie below its snapshot on trust refutes nobody who did not")
  func belowBase() throws {
    var family = try EngineFamily(3)
    for record in 1...3 { try family.write(ben, record, [.insert]) }
    try family.settle()
    let late = try family.joinFromSnapshot(of: anna)
    var forge = try Forge(family.members[mallory], family.zone)
    try forge.look(through: family.members[mallory])
    let lie = try forge.seal([
      change(
        &forge, citing: [CitedHead(author: family.members[ben].author, sequence: 1, hash: 0xbad)])
    ])
    _ = try family.members[anna].receive([lie], in: family.zone, nowMilliseconds: now)
    #expect(try FalseClaims(engine: family.members[anna]).claims(in: family.zone).count == 1)
    let taken = try family.members[late].receive([lie], in: family.zone, nowMilliseconds: now)
    #expect(taken.applied == 1, "nobody can tell here")
    try family.write(late, 9, [.insert])
    let trusting = try family.published(late, family.zone).filter { $0 != lie }
    // A further newcomer, before the lie reaches it.
    _ = try family.members[anna].receive(trusting, in: family.zone, nowMilliseconds: now)
    #expect(
      try family.members[anna].zone(family.zone).head(of: family.members[late].author).sequence
        == 1)
    let later = try family.joinFromSnapshot(of: anna)
    try family.write(anna, 8, [.insert])
    let honest = try family.published(anna, family.zone)
    try expectTrust(in: forge.author, by: late, after: honest, &family)
    // The further one is told by the snapshot which log ended, and waits for nothing of it.
    let early = try family.members[later].receive(
      honest, in: family.zone, nowMilliseconds: now)
    #expect(early.falseClaims.isEmpty && early.waiting.isEmpty && early.applied == 1)
    let rest = try family.members[later].receive([lie], in: family.zone, nowMilliseconds: now)
    #expect(rest.applied == 0)
    #expect(
      try FalseClaims(engine: family.members[later]).claims(in: family.zone).map(\.kind) == [
        .summedUp
      ])
    let digest = try family.members[anna].digest(of: family.zone)
    #expect(try family.members[later].digest(of: family.zone) == digest)
    // Whoever has everything is certain.
    #expect(
      try StoredClaims.uncertainChanges(in: family.zone, with: family.members[anna].store).isEmpty)
  }

  /// Who took a lie on trust takes what an honest one wrote, refutes nobody and is uncertain.
  private func expectTrust(
    in liar: Author, by late: Int, after honest: [[UInt8]], _ family: inout EngineFamily
  ) throws {
    let author = family.members[anna].author
    for place in 0..<2 {
      let report = try family.members[late].receive(
        honest, in: family.zone, nowMilliseconds: now)
      #expect(report.falseClaims.isEmpty)
      #expect(try FalseClaims(engine: family.members[late]).claims(in: family.zone).isEmpty)
      let head = try family.members[late].zone(family.zone).head(of: author)
      #expect(try head == family.members[anna].zone(family.zone).head(of: author))
      #expect(
        try StoredClaims.uncertainChanges(in: family.zone, with: family.members[late].store)[
          liar] == 1)
      // Opened and built anew it stays so.
      family.members[late] = try EngineFamily.copied(family.members[late])
      if place == 0 {
        try Rebuild.rebuild(family.zone, in: &family.members[late], nowMilliseconds: now)
      }
    }
  }

  // MARK: Further histories

  @Test("A third history that parts before the proven end is shown, and who had it counts")
  func third() throws {
    for isShort in [true, false] {
      var family = try EngineFamily(5)
      var base = try Forge(family.members[mallory], family.zone)
      let start = try base.seal([base.change(record: 10)])
      var third = base
      let shared = try base.seal([base.change(record: 11)])
      var (left, right) = (base, base)
      let one = [start, shared, try left.seal([left.change(record: 12)])]
      let two = [start, shared, try right.seal([right.change(record: 13)])]
      var further = [third.change(record: 14)]
      if !isShort { further += [third.change(record: 15), third.change(record: 16)] }
      let other = [start, try third.seal(further)]
      for (member, blobs) in [(anna, one), (cleo, two), (ben, isShort ? other : [start])] {
        _ = try family.members[member].receive(blobs, in: family.zone, nowMilliseconds: now)
      }
      if !isShort {
        // He has no more of it than what others have otherwise, and gets the rest later.
        var part = third
        part.head = LogHead(author: third.author)
        _ = try family.members[ben].receive(
          [try third.seal([further[0]])], in: family.zone, nowMilliseconds: now)
      }
      try family.write(ben, 1, [.assign(FieldID(.register, 1), .int(1))])
      let honest = try family.published(ben, family.zone)
      for (giver, taker) in [(one, cleo), (two, anna)] {
        _ = try family.members[taker].receive(giver, in: family.zone, nowMilliseconds: now)
      }
      for _ in 0..<2 {
        let control = try [anna, cleo].flatMap { try family.published($0, family.control) }
        for member in [anna, cleo, 4] {
          _ = try family.members[member].receive(
            control, in: family.control, nowMilliseconds: now)
        }
      }
      let ended = try family.members[anna].zone(family.zone)
      #expect(ended.forkEnds[base.author] == 3)
      #expect(ended.head(of: base.author).sequence == 2)
      // The further history comes, by who had received it.
      for blobs in [honest, isShort ? other : honest + other] {
        _ = try family.members[anna].receive(blobs, in: family.zone, nowMilliseconds: now)
      }
      #expect(try family.members[anna].zone(family.zone).forkEnds[base.author] == 2)
      for _ in 0..<3 { try family.settle() }
      #expect(try family.digests().count == 1)
      try expectOneChange(of: base.author, in: family)
    }
  }

  /// Everybody has one change of a forked log, and of Ben, whom nobody refutes.
  private func expectOneChange(of liar: Author, in family: EngineFamily) throws {
    for (number, engine) in family.members.enumerated() {
      let zone = try engine.zone(family.zone)
      #expect(zone.forkEnds[liar] == 2, "member \(number)")
      #expect(zone.head(of: liar).sequence == 1, "member \(number)")
      #expect(zone.head(of: family.members[ben].author).sequence == 1, "member \(number)")
      #expect(
        try FalseClaims(engine: engine).claims(in: family.zone).isEmpty, "member \(number)")
    }
  }

  @Test("Two histories of a log of which neither can be applied are shown too, and others go on")
  func blockedHistories() throws {
    for isRefuted in [true, false] {
      var family = try EngineFamily(4)
      try family.write(anna, 2, [.insert])
      let news = try family.published(anna, family.zone)
      var left = try Forge(family.members[mallory], family.zone)
      var right = left
      // The one cites what nobody wrote, or will never write; the other went to Ben alone.
      let bad = try left.seal([
        change(
          &left,
          citing: [
            CitedHead(
              author: family.members[anna].author, sequence: isRefuted ? 1 : 9, hash: 0xbad)
          ], record: 5)
      ])
      let good = try right.seal([right.change(record: 6)])
      _ = try family.members[ben].receive([good], in: family.zone, nowMilliseconds: now)
      try family.write(ben, 7, [.insert])
      let honest = try family.published(ben, family.zone).filter { $0 != good }
      for batch in [news, [bad], honest, [good]] {
        _ = try family.members[cleo].receive(batch, in: family.zone, nowMilliseconds: now)
      }
      for _ in 0..<3 { try family.settle() }
      #expect(try family.digests().count == 1, "refuted: \(isRefuted)")
      for engine in family.members {
        let zone = try engine.zone(family.zone)
        #expect(zone.forkEnds[left.author] == 1)
        #expect(zone.head(of: family.members[ben].author).sequence == 1)
      }
    }
  }

  @Test("A log has 8 proven ends at most; one more, and it ends before its first change")
  func manyHistories() throws {
    #expect(Limits.maximumForkEnds == 8)
    var family = try EngineFamily(3)
    var forge = try Forge(family.members[mallory], family.zone)
    var states = [forge]
    var log: [[UInt8]] = []
    for record in 1...11 {
      log.append(try forge.seal([forge.change(record: record)]))
      states.append(forge)
    }
    _ = try family.members[anna].receive(log, in: family.zone, nowMilliseconds: now)
    for end in (2...10).reversed() {
      var other = states[end - 1]
      let history = try other.seal([other.change(record: 40 + end)])
      _ = try family.members[anna].receive([history], in: family.zone, nowMilliseconds: now)
      let known = try family.members[anna].zone(family.zone)
      let expected = UInt64(end > 2 ? end : 1)
      #expect(known.forkEnds[forge.author] == expected)
      #expect(known.head(of: forge.author).sequence == expected - 1)
    }
    for _ in 0..<2 { try family.settle() }
    #expect(try family.digests().count == 1)
  }

  // MARK: Places

  @Test("A life without a place is waited for until all places are taken, and never after")
  func places() throws {
    let family = try EngineFamily(3)
    let membership = family.members[0].membership(of: family.group)
    let device = family.members[1].device
    let next = Author(device: device, incarnation: 9_999 << 32)
    func isHere(lives: Int, areSeen: Bool = true) throws -> Bool {
      var zone = try family.members[0].zone(family.control)
      for life in 2..<UInt64(lives + 1) {
        var head = LogHead(author: Author(device: device, incarnation: life << 32))
        head.sequence = 1
        zone.set(head)
      }
      if areSeen {
        var witness = zone.head(of: family.members[2].author)
        witness.seen = Frontier(
          zone.heads.filter { $0.author.device == device }.map { ($0.author, 1) })
        zone.set(witness)
      }
      let causes = CauseCheck(
        room: AuthorRoom(membership, sponsors: [:], control: zone),
        control: zone.reached)
      let news = FrontierDifference(heads: [])
      var seen = zone.frontier
      #expect(
        causes.missing(
          in: news, controlSeen: seen, try family.members[0].zone(family.zone), claims: [:]) == nil)
      seen.advance(next, to: 1)
      let missing = causes.missing(
        in: news, controlSeen: seen, try family.members[0].zone(family.zone), claims: [:])
      #expect(
        missing == nil
          || missing == MissingCause(dot: Dot(author: next, sequence: 1), isControl: true))
      return missing == nil
    }
    #expect(try !isHere(lives: 1))
    #expect(try !isHere(lives: Limits.maximumLives))
    #expect(try !isHere(lives: Limits.maximumLives + Limits.maximumCitedLives - 1))
    let most = Limits.maximumLives + Limits.maximumCitedLives
    #expect(try isHere(lives: most))
    // Lives that nobody else has seen use up none of these places.
    #expect(try !isHere(lives: most, areSeen: false))
  }

  @Test("Whether there was a place left is told by what the author had seen, whenever it is asked")
  func placesThen() throws {
    let family = try EngineFamily(3)
    let membership = family.members[0].membership(of: family.group)
    let control = try family.members[0].zone(family.control)
    let room = AuthorRoom(membership, sponsors: [:], control: control)
    let device = family.members[1].device
    let life = Author(device: device, incarnation: 9_999 << 32)
    func seen(_ lives: Int) -> Frontier {
      Frontier((0..<lives).map { (Author(device: device, incarnation: UInt64($0) << 32), 1) })
    }
    #expect(!room.hadNoPlace(for: life, knowing: seen(Limits.maximumLives - 1)))
    #expect(room.hadNoPlace(for: life, knowing: seen(Limits.maximumLives)))
    // It had a place where its author is known.
    var known = seen(Limits.maximumLives)
    known.advance(life, to: 1)
    #expect(!room.hadNoPlace(for: life, knowing: known))
    let other = Author(device: family.members[2].device, incarnation: 9_999 << 32)
    #expect(!room.hadNoPlace(for: other, knowing: seen(Limits.maximumLives)))
  }

  @Test("A digest that was worked out to attest it is dropped when the zone is built anew")
  func attestedDigest() throws {
    var family = try EngineFamily(1)
    try family.write(anna, 1, [.insert])
    let fact = StateDigest.checkedDigestFact(of: family.zone)
    let store = family.members[anna].store
    try store.transaction { try store.facts.set(fact, to: [1]) }
    try Rebuild.rebuild(family.zone, in: &family.members[anna], nowMilliseconds: now)
    #expect(try store.facts.value(of: fact) == nil)
  }
}

/// All orders of a few things.
func orders<Item>(of items: [Item]) -> [[Item]] {
  guard items.count > 1 else { return [items] }
  return items.indices.flatMap { place -> [[Item]] in
    var rest = items
    let first = rest.remove(at: place)
    return orders(of: rest).map { [first] + $0 }
  }
}

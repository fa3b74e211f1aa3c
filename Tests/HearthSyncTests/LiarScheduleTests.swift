import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

/// A folder of which each look shows only a part.
private final class LossyFolder: Transport {
  let shelf: MemoryShelf
  /// Which files are hidden for the time being.
  private let hides: (Identifier) -> Bool

  init(_ shelf: MemoryShelf, hiding hides: @escaping (Identifier) -> Bool) {
    self.shelf = shelf
    self.hides = hides
  }

  func place(of name: SegmentName) -> String { shelf.place(of: name) }
  func list(zoneTag: Identifier) -> TransportListing {
    let all = shelf.list(zoneTag: zoneTag)
    return TransportListing(
      segments: all.segments.filter { !hides($0.digest) }, snapshots: all.snapshots)
  }
  func fetch(_ name: SegmentName) throws -> [UInt8] { try shelf.fetch(name) }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) { shelf.publish(name, bytes) }
  func remove(_ name: SegmentName) { shelf.remove(name) }
  func fetch(_ name: BlobName) throws -> [UInt8]? { try shelf.fetch(name) }
  func publish(_ name: BlobName, _ bytes: [UInt8]) throws { try shelf.publish(name, bytes) }
  func remove(_ name: BlobName) { shelf.remove(name) }
}

@Suite("Random schedules of honest devices and one that lies")
struct LiarScheduleTests {
  private struct World {
    var inner: NewcomerWorld
    var random: SplitMix64
    /// The honest members, by place in the family.
    var honest = [0, 1, 2]
    let liar = 3
    /// Where the liar's logs have been: it goes on from any of these.
    var states: [Forge]
    var lives: UInt64 = 100

    var family: EngineFamily { inner.family }

    /// Whether the liar cites changes that nobody has written yet.
    let citesFuture: Bool
    /// Whether people join and begin from snapshots.
    let hasNewcomers: Bool

    init(seed: UInt64, citesFuture: Bool, hasNewcomers: Bool) throws {
      self.citesFuture = citesFuture
      self.hasNewcomers = hasNewcomers

      inner = try NewcomerWorld(4)
      // The last one of the world's members is an admin, by whom nobody is let in here.
      states = [try Forge(inner.family.members[3], inner.family.zone)]
      random = SplitMix64(seed: seed)
    }

    /// One exchange of an honest member with the folder, of which so much is hidden.
    mutating func exchange(_ member: Int, hiding isHidden: Bool) throws {
      let salt = random.next()
      let folder = LossyFolder(inner.shelf) { digest in
        isHidden && (digest.low ^ salt) % 3 == 0
      }
      let report = try inner.family.members[member].exchange(
        over: folder, named: "folder", anchorFile: ForgetfulAnchor(),
        nowMilliseconds: NewcomerWorld.now)
      #expect(report.failure == nil)
    }

    mutating func step() throws {
      let member = honest[random.below(honest.count)]
      switch random.below(12) {
      case 0..<4: try inner.family.writeAtRandom(member, &random)
      case 4..<8: try exchange(member, hiding: true)
      case 8 where hasNewcomers && honest.count < 5 && random.oneIn(2): try letIn()
      default: try lie()
      }
    }

    /// Somebody joins by the founder's invitation and begins from the founder's snapshot.
    mutating func letIn() throws {
      try exchange(0, hiding: false)
      let chunks = try SnapshotMaking.snapshot(of: family.zone, in: family.members[0])
      let tag = try inner.zone(0).tag
      for (name, chunk) in zip(SnapshotPlan.names(of: chunks, zoneTag: tag), chunks) {
        try inner.shelf.publish(name, chunk)
      }
      var engine = try EngineFamily.engine()
      let opened = try JoiningByInvitation.begin(
        family.capsule, with: family.secret, in: &engine, nowMilliseconds: NewcomerWorld.now)
      var report = TransportReport(setting: "folder")
      try engine.pull(
        family.control, from: inner.shelf, anchorFile: ForgetfulAnchor(),
        nowMilliseconds: NewcomerWorld.now, &report)
      try JoiningByInvitation.finish(
        opened, with: family.secret, person: EngineFamily.id(700 + family.members.count),
        personName: "N\(family.members.count)", deviceName: "device \(family.members.count)",
        in: &engine, nowMilliseconds: NewcomerWorld.now)
      inner.family.members.append(engine)
      honest.append(family.members.count - 1)
      try exchange(family.members.count - 1, hiding: false)
    }

    /// The liar cites the founder's first change by a hash that it made up.
    ///
    /// It never goes on beside this change: a file whose changes are all here already is not read,
    /// so another history of that life could hide the lie from everybody.
    mutating func lieForSure() throws {
      try beginLife()
      guard var forge = states.last else { return }
      var change = forge.change([.insert], record: 3)
      change.seen = FrontierDifference(
        heads: [CitedHead(author: family.members[0].author, sequence: 1, hash: random.next())])
      forge.head.hash = forge.hash(change)
      try publish(try forge.seal([change]), in: family.zone)
      states.removeLast()
    }

    /// The liar publishes something, from where one of its logs has been.
    mutating func lie() throws {
      if random.oneIn(6) { try beginLife() }
      // Mostly it goes on, sometimes beside what it said before.
      let place = random.oneIn(3) ? random.below(states.count) : states.count - 1
      var forge = states[place]
      var changes: [Change] = []
      for _ in 0...random.below(3) {
        var change = forge.change(
          [.assign(FieldID(.register, 5), .int(Int64(random.below(1_000))))],
          record: random.below(6))
        let heads = try citations(beyond: forge.head.seen)
        change.seen = FrontierDifference(heads: heads)
        if random.oneIn(12) {
          change.controlSeen = FrontierDifference(
            heads: change.controlSeen.heads.map {
              CitedHead(author: $0.author, sequence: $0.sequence, hash: $0.hash ^ 1)
            })
        }
        forge.head.hash = forge.hash(change)
        forge.head.seen = forge.head.seen.raised(by: change.seen) ?? forge.head.seen
        changes.append(change)
        states.append(forge)
      }
      try publish(try forge.seal(changes), in: family.zone)
    }

    private mutating func beginLife() throws {
      lives += 1
      var forge = try Forge(family.members[liar], family.zone, incarnation: lives << 32)
      let announcement = try forge.announce(family.members[liar])
      try publish(announcement, in: family.control)
      states.append(forge)
    }

    private mutating func publish(_ bytes: [UInt8], in zone: ZoneID) throws {
      let frame = try EnvelopeFrame(bytes)
      inner.shelf.publish(
        SegmentName(
          zoneTag: Identifier(frame.zoneTag), authorTag: Identifier(frame.authorTag),
          incarnation: frame.incarnation, first: frame.firstSeq, last: frame.lastSeq,
          digest: segmentDigest(bytes)), bytes)
    }

    /// What a change of the liar says to have seen: some of what a member has, true or not.
    private mutating func citations(beyond known: Frontier) throws -> [CitedHead] {
      let zone = try family.members[honest[random.below(honest.count)]].zone(family.zone)
      let own = family.members[liar].device
      var cited: [CitedHead] = []
      for head in zone.heads where head.author.device != own {
        let truth = CitedHead(
          author: head.author, sequence: head.sequence, hash: CitedHead.prefix(of: head.hash))
        switch random.below(8) {
        case 0: cited.append(truth)
        case 1 where citesFuture:
          cited.append(
            CitedHead(
              author: head.author, sequence: head.sequence + UInt64(random.below(3)) + 1,
              hash: random.next()))
        case 2:
          cited.append(
            CitedHead(
              author: head.author,
              sequence: UInt64(random.below(Int(head.sequence)) + 1), hash: random.next()))
        default: break
        }
      }
      // Logs of its own, of other lives and other histories.
      if random.oneIn(3) {
        let other = states[random.below(states.count)]
        if other.head.sequence > 0 {
          cited.append(
            CitedHead(
              author: other.author, sequence: other.head.sequence,
              hash: random.oneIn(2) ? CitedHead.prefix(of: other.head.hash) : random.next()))
        }
      }
      var news: [Author: CitedHead] = [:]
      for head in cited where head.sequence > known[head.author] { news[head.author] = head }
      return news.values.sorted { $0.author < $1.author }
    }
  }

  @Test(
    "Honest replicas with equal knowledge are equal, and no honest log ends",
    arguments: Array(0..<12) + [81, 120],
    [(true, true), (true, false), (false, true), (false, false)])
  func liar(seed: UInt64, kind: (Bool, Bool)) throws {
    var world = try World(seed: seed, citesFuture: kind.0, hasNewcomers: kind.1)
    try world.lieForSure()
    for _ in 0..<36 { try world.step() }
    for _ in 0..<8 {
      for member in world.honest { try world.exchange(member, hiding: false) }
    }
    let family = world.family
    let liar = family.members[world.liar].device
    var digests: [Bool: Set<[UInt8]>] = [:]
    for member in world.honest {
      let engine = family.members[member]
      let zone = try engine.zone(family.zone)
      // Nobody honest is held back anywhere, and nothing of theirs is missing.
      #expect(
        try FalseClaims(engine: engine).claims(in: family.zone).allSatisfy {
          $0.author.device == liar
        },
        "seed \(seed), member \(member)")
      #expect(
        zone.forkEnds.keys.allSatisfy { $0.device == liar }, "seed \(seed), member \(member)")
      for other in world.honest {
        for head in try family.members[other].zone(family.zone).heads
        where head.author.device == family.members[other].device {
          let here = zone.head(of: head.author)
          let isWhole =
            here.sequence == head.sequence && here.hash == head.hash && here.forkedAt == nil
          let words: Comment =
            "seed \(seed) \(kind): what \(other) wrote, with \(member): \(here.sequence)"
          #expect(isWhole, words)
        }
      }
      // Only who took on trust what lies below a snapshot may differ, in the liar's changes.
      let isCertain = try StoredClaims.uncertainChanges(in: family.zone, with: engine.store).keys
        .allSatisfy { $0.device != liar }
      digests[isCertain, default: []].insert(try engine.digest(of: family.zone))
    }
    if !world.hasNewcomers { #expect(digests[true]?.count == 1, "seed \(seed)") }
    let named =
      try FalseClaims(engine: family.members[0]).claims(in: family.zone).map(\.author.device)
      + family.members[0].zone(family.zone).forkEnds.keys.map(\.device)
    #expect(named.contains(liar), "seed \(seed): the liar is named")
  }
}

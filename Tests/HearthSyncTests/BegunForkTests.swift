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

@Suite("Two histories of a log of which only the beginning counts")
struct BegunForkTests {
  /// Two segments of Mallory's: of the first only one change can be applied, as the next cites what
  /// Ben never wrote; the second says something else under the number of the one that counts.
  private func histories(in family: EngineFamily) throws -> (begun: [UInt8], other: [UInt8]) {
    var forge = try Forge(family.members[mallory], family.zone)
    var beside = forge
    let first = forge.change([.insert], record: 1)
    var second = forge.change([.insert], record: 2)
    second.seen = FrontierDifference(
      heads: [CitedHead(author: family.members[ben].author, sequence: 9, hash: 0xbad)])
    forge.head.hash = forge.hash(second)
    let begun = try forge.seal([first, second])
    return (begun, try beside.seal([beside.change([.insert], record: 3)]))
  }

  /// Where Mallory's log ends for everybody once somebody has received batches.
  private func proven(
    after batches: (_ begun: [UInt8], _ other: [UInt8]) -> [[[UInt8]]]
  ) throws -> UInt64? {
    var family = try EngineFamily(3)
    try family.write(ben, 1, [.insert])
    let author = family.members[mallory].author
    let (begun, other) = try histories(in: family)
    for batch in batches(begun, other) {
      _ = try family.members[anna].receive(batch, in: family.zone, nowMilliseconds: now)
    }
    return try family.members[anna].zone(family.zone).forkEnds[author]
  }

  @Test("What stands behind a segment that waits is compared, in whatever batches it comes")
  func behindWaiting() throws {
    #expect(try proven { [[$0], [$1]] } == 1)
    #expect(try proven { [[$1], [$0]] } == 1)
    #expect(try proven { [[$0, $1]] } == 1)
    #expect(try proven { [[$1, $0]] } == 1)
  }

  @Test("A history that is shorter than what counts of the begun one is compared with it")
  func shorter() throws {
    for isTogether in [false, true] {
      var family = try EngineFamily(3)
      try family.write(ben, 1, [.insert])
      let author = family.members[mallory].author
      var forge = try Forge(family.members[mallory], family.zone)
      var beside = forge
      var changes = (0..<3).map { _ in forge.change([.insert], record: 1) }
      changes[2].seen = FrontierDifference(
        heads: [CitedHead(author: family.members[ben].author, sequence: 9, hash: 0xbad)])
      let begun = try forge.seal(changes)
      let other = try beside.seal([beside.change([.insert], record: 3)])
      for batch in isTogether ? [[begun, other]] : [[begun], [other]] {
        let report = try family.members[anna].receive(batch, in: family.zone, nowMilliseconds: now)
        #expect(report.applied == (batch.contains(begun) ? 2 : 0))
      }
      #expect(try family.members[anna].zone(family.zone).forkEnds[author] == 1)
    }
  }

  @Test("A history that parts from the begun one before the proven end is shown too")
  func third() throws {
    var family = try EngineFamily(3)
    let author = family.members[mallory].author
    let root = try Forge(family.members[mallory], family.zone)
    /// A history of so many equal changes, then one that says how it is called.
    func history(_ common: Int, then record: Int) throws -> [UInt8] {
      var forge = root
      var changes: [Change] = []
      for _ in 0..<common { changes.append(forge.change([.insert], record: 1)) }
      changes.append(forge.change([.insert], record: record))
      return try forge.seal(changes)
    }
    // The first two part at the third change, so two of the first are applied and no segment of the
    // log is whole; the third history parts at the second.
    for blob in [try history(2, then: 2), try history(2, then: 3), try history(1, then: 4)] {
      _ = try family.members[anna].receive([blob], in: family.zone, nowMilliseconds: now)
    }
    #expect(try family.members[anna].zone(family.zone).forkEnds[author] == 2)
    // The same where the proof of the first two came from somebody else.
    let proof = try family.published(anna, family.control)
    _ = try family.members[ben].receive(proof, in: family.control, nowMilliseconds: now)
    #expect(try family.members[ben].zone(family.zone).forkEnds[author] == 2)
  }

  @Test("A history that cannot be shown does not take the place of the applied one in a rebuild")
  func unshown() throws {
    var family = try EngineFamily(3)
    let zone = family.zone
    func receive(_ blob: [UInt8]) throws {
      _ = try family.members[anna].receive([blob], in: zone, nowMilliseconds: now)
    }
    var forge = try Forge(family.members[mallory], zone)
    let root = forge
    let first = forge.change([.insert], record: 1)
    var beside = forge
    try receive(try forge.seal([first, forge.change([.insert], record: 2)]))
    // Anna's change rests on both of Mallory's, of which the second then ends the log.
    try family.write(anna, 7, [.insert])
    _ = try family.published(anna, zone)
    try receive(try beside.seal([beside.change([.insert], record: 3)]))
    let author = family.members[mallory].author
    #expect(try family.members[anna].zone(zone).forkEnds[author] == 2)
    // The third history parts at the first change, is too large to be shown, and has seen what Anna
    // had not seen when she wrote.
    try family.write(ben, 8, [.insert])
    for blob in try family.published(ben, zone) { try receive(blob) }
    var other = root
    var changes = [other.change([.insert], record: 4)]
    let seen = try family.members[ben].zone(zone).head(of: family.members[ben].author)
    changes[0].seen = FrontierDifference(
      heads: [
        CitedHead(
          author: seen.author, sequence: seen.sequence, hash: CitedHead.prefix(of: seen.hash))
      ])
    other.head.hash = other.hash(changes[0])
    // Random letters, which cannot be packed.
    var random = SplitMix64(seed: 1)
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-")
    let text = String((0..<Limits.maximumValueBytes - 16).map { _ in letters[random.below(64)] })
    changes.append(
      other.change([.insert, .assign(EngineFamily.register, .text(text))], record: 5))
    let blob = try other.seal(changes)
    #expect(blob.count > ControlLimits.maximumEvidenceBytes)
    try receive(blob)
    let before = try family.members[anna].zone(zone).heads
    try Rebuild.rebuild(zone, in: &family.members[anna], nowMilliseconds: now)
    #expect(try family.members[anna].zone(zone).heads == before)
  }

  @Test("A log is known only up to a false claim, also where it is proven to end later")
  func claimBeforeFork() throws {
    var family = try EngineFamily(3)
    try family.write(ben, 1, [.insert])
    try family.settle()
    let zone = try family.members[anna].zone(family.zone)
    let author = family.members[mallory].author
    let claim = FalseClaim(
      author: author, sequence: 2, kind: .content,
      cited: Dot(author: family.members[ben].author, sequence: 1), isControl: false)
    let room = try Introductions.room(of: zone, in: family.members[anna])
    func limit(_ forkEnd: UInt64?, _ uncertain: UInt64?) -> (UInt64, Bool) {
      var zone = zone
      zone.forkEnds[author] = forkEnd
      let logs = CitationJudge.Logs(
        zone: zone, room: room,
        claims: uncertain == nil ? [author: claim] : [:],
        uncertain: uncertain.map { [author: $0] } ?? [:], isControl: false
      ) { _, _ in .unreadable }
      return (logs.limit(of: author), logs.isUncertain(author, through: 5))
    }
    #expect(limit(nil, nil) == (1, false))
    #expect(limit(6, nil) == (1, false))
    #expect(limit(2, nil) == (1, false))
    #expect(limit(1, nil) == (0, false))
    // What others may judge otherwise stays so below a proven end.
    #expect(limit(6, 2) == (5, true))
    #expect(limit(2, 2) == (1, false))
  }
}

import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

private let now = EngineFamily.now

/// A transport in memory that can fail.
private final class FailingTransport: Transport {
  var segments: [SegmentName: [UInt8]] = [:]
  var blobs: [BlobName: [UInt8]] = [:]
  /// How many chunks can still be published.
  var room = Int.max
  /// Why no chunk can be read, if so.
  var fault: TransportError?
  var fetches = 0

  func place(of name: SegmentName) -> String { "\(name.digest)" }
  func list(zoneTag: Identifier) -> TransportListing {
    TransportListing(segments: segments.keys.sorted(), snapshots: blobs.keys.sorted())
  }
  func fetch(_ name: SegmentName) throws -> [UInt8] { segments[name] ?? [] }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) { segments[name] = bytes }
  func remove(_ name: SegmentName) { segments[name] = nil }
  func fetch(_ name: BlobName) throws -> [UInt8]? {
    fetches += 1
    if let fault { throw fault }
    return blobs[name]
  }
  func publish(_ name: BlobName, _ bytes: [UInt8]) throws {
    guard room > 0 else { throw FailingTransport.broken }
    room -= 1
    blobs[name] = bytes
  }
  func remove(_ name: BlobName) { blobs[name] = nil }

  static let broken = TransportError(
    .inputOutput, place: "memory", message: "it broke", remedy: "none")
}

@Suite("Giving snapshots to a transport that fails")
struct SnapshotGivingTests {
  /// A household whose log is worth a snapshot of more than one chunk.
  private func family() throws -> EngineFamily {
    var family = try EngineFamily(1)
    var random = SplitMix64(seed: 5)
    for record in 0..<5 {
      let bytes = (0..<400_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      try family.write(0, record, [.assign(FieldID(.register, 1), .bytes(bytes))])
    }
    _ = try Sealing.seal(family.zone, in: &family.members[0])
    return family
  }

  private func give(_ family: EngineFamily, _ transport: FailingTransport) async throws -> Int {
    let engine = family.members[0]
    let tag = try engine.zone(family.zone).tag
    let ports = ExchangePorts(
      transport: transport, turns: OwnTurns(engine), anchorFile: NoAnchor(), nowMilliseconds: now)
    var report = TransportReport(setting: "memory")
    try await SnapshotPublishing(ports: ports).publish(
      of: family.zone, holding: transport.list(zoneTag: tag),
      stored: engine.store.log.segments(of: family.zone), &report)
    return report.publishedSnapshots
  }

  @Test("A snapshot whose publication was cut off is followed by a whole one, and removed")
  func interrupted() async throws {
    let family = try family()
    let transport = FailingTransport()
    transport.room = 1
    await #expect(throws: TransportError.self) { try await give(family, transport) }
    #expect(transport.blobs.count == 1)
    let cut = try #require(transport.blobs.keys.first)
    transport.room = .max
    #expect(try await give(family, transport) == 1)
    #expect(transport.blobs[cut] == nil)
    #expect(SnapshotPlan.sorted(Array(transport.blobs.keys)).complete.count == 1)
    transport.fetches = 0
    #expect(try await give(family, transport) == 0)
    #expect(transport.fetches == 0, "remembered")
  }

  @Test("A snapshot that cannot be read now is looked into again; a malformed one is not")
  func passing() async throws {
    let family = try family()
    let transport = FailingTransport()
    #expect(try await give(family, transport) == 1)
    // Another node of the same device's household, that has not looked yet.
    try family.members[0].store.transaction {
      try family.members[0].store.facts.setBytes(
        of: "cache.snapshots.by.\(family.zone.hex)", to: nil)
    }
    transport.fault = FailingTransport.broken
    let before = transport.blobs
    _ = try await give(family, transport)
    transport.blobs = before
    transport.fault = nil
    transport.fetches = 0
    #expect(try await give(family, transport) == 0, "it is good after all")
    #expect(transport.fetches == 1)
    #expect(!SnapshotMemory.isLasting(SyncError(.notFound, "a key that is not known")))
    #expect(!SnapshotMemory.isLasting(FailingTransport.broken))
    #expect(SnapshotMemory.isLasting(SyncError(.malformed, "another zone's")))
    #expect(SnapshotMemory.isLasting(CodecError(.notCanonical, "authors", offset: 0)))
  }
}

private final class NoAnchor: AnchorFile {
  func read(atMost limit: Int) -> [UInt8]? { nil }
  func replace(_ bytes: [UInt8]) {}
  func identity() -> [UInt8] { [] }
}

@Suite("A zone that rests on a snapshot")
struct BaseSnapshotTests {
  /// Anna and Ben, and a newcomer who began from a snapshot of what both wrote.
  private func family() throws -> EngineFamily {
    var family = try EngineFamily(2)
    for member in [0, 1] { try family.write(member, member, [.insert]) }
    try family.settle()
    let chunks = try SnapshotMaking.snapshot(of: family.zone, in: family.members[0])
    var late = try EngineFamily.engine()
    _ = try JoiningByInvitation.begin(
      family.capsule, with: family.secret, in: &late, nowMilliseconds: now)
    _ = try late.receive(
      try family.published(0, family.control), in: family.control, nowMilliseconds: now)
    try SnapshotLoading.bootstrap(family.zone, from: chunks, in: &late, nowMilliseconds: now)
    family.members.append(late)
    return family
  }

  @Test("An audit misses what is lost right behind the snapshot, not only what lies between")
  func lostBehindBase() throws {
    var family = try family()
    for _ in 0..<2 {
      try family.write(1, 5, [.insert])
      let blobs = try family.published(1, family.zone)
      _ = try family.members[2].receive(blobs, in: family.zone, nowMilliseconds: now)
    }
    #expect(try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.isEmpty)
    let store = family.members[2].store
    let lost = try #require(try store.log.segments(of: family.zone).first { $0.first == 2 })
    try store.transaction { try store.log.removeSegment(lost.digest, in: family.zone) }
    #expect(
      try ZoneAudit(engine: family.members[2]).audit(family.zone).findings.map(\.changes) == [2...2]
    )
  }

  /// Lets the third member replace its snapshot by what a transport holds of some authors.
  private func replace(
    in family: inout EngineFamily, by authors: [Author], within bytes: Int = 1 << 20
  ) throws -> [TransportProblem] {
    let (transport, id, ben) = (FailingTransport(), family.zone, family.members[1].author)
    let zone = try family.members[2].zone(id)
    let source = family.members[0].store.log
    for segment in try source.segments(of: id) where authors.contains(segment.author) {
      transport.publish(segment.name(in: zone), try source.bytes(of: segment.digest, in: id) ?? [])
    }
    return try family.members[2].withTurns { turns in
      let ports = ExchangePorts(
        transport: transport, turns: turns, anchorFile: NoAnchor(), nowMilliseconds: now)
      var report = TransportReport(setting: "memory")
      try await BaseRefetch(ports: ports, maximumBytes: bytes).replaceBase(
        of: id, contradictedBy: ben, holding: transport.list(zoneTag: zone.tag), &report)
      return report.problems
    }
  }

  @Test("A wrong snapshot stays where the transport lacks what else is in it")
  func kept() throws {
    var family = try family()
    let zone = try family.members[2].zone(family.zone)
    let (anna, ben) = (family.members[0].author, family.members[1].author)
    // Anna's change is in the snapshot, and only Ben's is on the transport.
    let problems = try replace(in: &family, by: [ben])
    #expect(problems.contains { $0.fault.contains("still uses a wrong snapshot") })
    #expect(try family.members[2].zone(family.zone).heads == zone.heads)
    #expect(try family.members[2].store.snapshots.base(of: family.zone) != nil)
    #expect(try replace(in: &family, by: [anna, ben]).isEmpty)
    #expect(try family.members[2].zone(family.zone).heads == zone.heads)
    #expect(try family.members[2].store.snapshots.base(of: family.zone) == nil)
  }

  @Test("A wrong snapshot stays where more would have to be held than may be")
  func tooLarge() throws {
    var family = try family()
    let zone = try family.members[2].zone(family.zone)
    let authors = [family.members[0].author, family.members[1].author]
    let problems = try replace(in: &family, by: authors, within: 100)
    #expect(problems.contains { $0.fault.contains("more than") })
    #expect(try family.members[2].zone(family.zone).heads == zone.heads)
    #expect(try family.members[2].store.snapshots.base(of: family.zone) != nil)
  }

  @Test(
    "A base with what somebody wrote beyond a cut is not built on",
    arguments: [true, false])
  func cutInBase(isRemoved: Bool) throws {
    var family = try EngineFamily(2)
    let ben = try family.join(by: 0, role: .admin)
    try family.set(1, 1, 1)
    try family.meet([0, 1, ben])
    // Ben has the first of Cara's changes when he takes something away; Anna has both, and a
    // newcomer begins from what she sums up.
    if isRemoved { try family.remove(1, by: ben) } else { try family.setRole(1, .reader, by: ben) }
    try family.set(1, 1, 2)
    try family.send(1, to: [0])
    let chunks = try SnapshotMaking.snapshot(of: family.zone, in: family.members[0])
    let late = try family.join(by: 0, role: .member)
    try SnapshotLoading.bootstrap(
      family.zone, from: chunks, in: &family.members[late], nowMilliseconds: now)
    #expect(try family.shown(late, 1) == .int(2))
    #expect(
      try BaseAuthors(engine: family.members[late]).authorLessenedInBase(of: family.zone) == nil)
    let blobs = try family.published(ben, family.control)
    for member in [0, late] {
      _ = try family.members[member].receive(blobs, in: family.control, nowMilliseconds: now)
    }
    #expect(
      try BaseAuthors(engine: family.members[late]).authorLessenedInBase(of: family.zone)
        == family.members[1].author)
    // So it takes the changes one by one, and has what everybody has.
    let transport = FailingTransport()
    let zone = try family.members[late].zone(family.zone)
    _ = try family.published(0, family.zone)
    for segment in try family.members[0].store.log.segments(of: family.zone) {
      let bytes = try family.members[0].store.log.bytes(of: segment.digest, in: family.zone)
      transport.publish(segment.name(in: zone), bytes ?? [])
    }
    var report = TransportReport(setting: "memory")
    try family.members[late].pull(
      family.zone, from: transport, anchorFile: NoAnchor(), nowMilliseconds: now, &report)
    #expect(try family.shown(late, 1) == .int(1))
    #expect(try family.areEqual([0, late]))
    #expect(
      try BaseAuthors(engine: family.members[late]).authorLessenedInBase(of: family.zone) == nil)
  }
}

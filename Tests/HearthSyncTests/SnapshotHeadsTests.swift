import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Heads of a snapshot that take more than one chunk")
struct SnapshotHeadsTests {
  /// An engine whose zone has the logs of many authors who had seen each other, and its snapshot.
  private func crowd(
    _ count: UInt64, beginning: UInt64 = 1
  ) throws -> (engine: Engine<MemoryStore>, zone: ZoneState, chunks: [[UInt8]]) {
    let family = try EngineFamily(1)
    var engine = family.members[0]
    let authors = (0..<count).map { Author(device: EngineFamily.id(Int($0)), incarnation: 1) }
    let all = Frontier(authors.map { ($0, 70_000 + beginning) })
    let place = try engine.place(of: family.zone)
    for author in authors {
      var head = LogHead(author: author)
      head.sequence = 70_000 + beginning
      head.hash = [UInt8](repeating: 7, count: 32)
      head.seen = all
      head.controlSeen = all
      engine.zones[place].set(head)
    }
    let chunks = try SnapshotMaking.snapshot(of: family.zone, in: engine)
    return (engine, engine.zones[place], chunks)
  }

  private func code(_ body: () throws -> Void) -> SyncError.Code? {
    do { try body() } catch { return (error as? SyncError)?.code }
    return nil
  }

  @Test("They are read from as many chunks as they need, and no more is opened")
  func readsSeveral() throws {
    let (engine, zone, chunks) = try crowd(600)
    let count = chunks.count
    #expect(count > 2)
    let opening = SnapshotOpening(of: zone, in: engine)
    for given in 0..<count {
      let beginning = Array(chunks.prefix(given))
      #expect(try opening.wholeHeads(of: beginning, of: count) == nil)
      #expect(code { _ = try opening.heads(of: beginning, of: count) } == .notFound)
    }
    let (heads, heldBack, isOwn) = try opening.heads(of: chunks, of: count)
    #expect(heads.map(\.author) == zone.heads.filter { $0.sequence > 0 }.map(\.author))
    #expect(heads.map(\.controlSeen) == zone.heads.filter { $0.sequence > 0 }.map(\.controlSeen))
    #expect(heldBack.isEmpty && isOwn)
    // The usual heads are in the first chunk: a second one that is none is not opened.
    let (other, few, small) = try crowd(3)
    #expect(small.count == 1)
    #expect(
      try SnapshotOpening(of: few, in: other).wholeHeads(of: small + [[1, 2]], of: 1)?.heads.count
        == few.heads.count { $0.sequence > 0 })
  }

  @Test("Chunks of two snapshots, of another order or cut ones are not taken together")
  func refusesMixtures() throws {
    let (engine, zone, chunks) = try crowd(600)
    let opening = SnapshotOpening(of: zone, in: engine)
    var later = engine
    var head = try #require(zone.heads.last)
    head.sequence += 1
    later.zones[try later.place(of: zone.id)].set(head)
    let others = try SnapshotMaking.snapshot(of: zone.id, in: later)
    let count = chunks.count
    #expect(others.count == count)
    #expect(
      code { _ = try opening.heads(of: [chunks[0], others[1], chunks[2]], of: count) }
        == .malformed)
    #expect(code { _ = try opening.heads(of: [chunks[0], chunks[2]], of: count) } == .malformed)
    // One that ends in its heads is damaged, and nothing is missing.
    #expect(throws: CodecError.self) {
      let last = try SnapshotOpening(of: zone, in: engine).heads(
        of: [try cut(chunks[0], in: zone, by: engine)], of: 1)
      Issue.record("\(last.heads.count) heads of a cut snapshot")
    }
  }

  /// The same content as the only chunk of a snapshot.
  private func cut(
    _ chunk: [UInt8], in zone: ZoneState, by engine: Engine<MemoryStore>
  ) throws -> [UInt8] {
    let epoch = try #require(zone.currentEpoch)
    let body = try Envelope.open(chunk, zoneID: zone.id.bytes, epoch: epoch)
    let digest = StateDigest.digest(ofStream: body)
    return try Envelope.seal(
      type: .snapshotChunk, zoneID: zone.id.bytes, device: engine.identity,
      incarnation: engine.incarnation, epoch: epoch, zone: zone.secret, firstSeq: 1, lastSeq: 1,
      chainBefore: digest, chainAfter: digest, body: body)
  }

  @Test("A base snapshot with such heads is read from its container")
  func readsBase() throws {
    let (engine, zone, chunks) = try crowd(600)
    try engine.store.transaction {
      try engine.store.snapshots.saveBase(SnapshotOpening.container(of: chunks), of: zone.id)
    }
    let heads = try BaseSnapshot(engine: engine).baseHeads(of: zone)
    #expect(heads.map(\.author) == zone.heads.filter { $0.sequence > 0 }.map(\.author))
    try engine.store.transaction {
      try engine.store.snapshots.saveBase(
        Array(SnapshotOpening.container(of: chunks).dropLast(9)), of: zone.id)
    }
    #expect(code { _ = try BaseSnapshot(engine: engine).baseHeads(of: zone) } == .corrupt)
  }
}

import HearthCRDT
import HearthCrypto
import InlineExecution
import TestSupport
import Testing

@testable import HearthSync

private let now = EngineFamily.now

/// A transport in memory that does something whenever it is asked.
private final class BusyTransport: Transport {
  var segments: [SegmentName: [UInt8]] = [:]
  /// What happens in the process while this transport gives a listing, or takes a segment.
  var whileListing: (Identifier) throws -> Void = { _ in }
  var whilePublishing: (SegmentName) throws -> Void = { _ in }
  var canDecay = false

  func place(of name: SegmentName) -> String { "\(name.digest)" }
  func list(zoneTag: Identifier) throws -> TransportListing {
    let listing = TransportListing(
      segments: segments.keys.filter { $0.zoneTag == zoneTag }.sorted())
    try whileListing(zoneTag)
    return listing
  }
  func fetch(_ name: SegmentName) -> [UInt8] { segments[name] ?? [] }
  func publish(_ name: SegmentName, _ bytes: [UInt8]) throws {
    segments[name] = bytes
    try whilePublishing(name)
  }
  func remove(_ name: SegmentName) { segments[name] = nil }
  func fetch(_ name: BlobName) -> [UInt8]? { nil }
  func publish(_ name: BlobName, _ bytes: [UInt8]) {}
  func remove(_ name: BlobName) {}
}

/// The guard against old states, and how often it was written.
private final class NotedAnchor: AnchorFile {
  var bytes: [UInt8]?
  var count = 0

  func read(atMost limit: Int) -> [UInt8]? { bytes }
  func replace(_ bytes: [UInt8]) {
    self.bytes = bytes
    count += 1
  }
  func identity() -> [UInt8] { [1] }
}

@Suite("What happens while an exchange waits for its transport")
struct MeanwhileTests {
  private func exchange(
    _ family: inout EngineFamily, over transport: BusyTransport, with anchor: NotedAnchor,
    meanwhile: (OwnTurns<MemoryStore>) -> Void
  ) throws -> TransportReport {
    try family.members[0].withTurns { turns in
      meanwhile(turns)
      var exchange = Exchange(
        over: transport, named: "memory", with: turns, anchorFile: anchor, nowMilliseconds: now)
      try await exchange.run()
      return exchange.report
    }
  }

  private func write(_ record: Int, in zone: ZoneID, _ engine: inout Engine<MemoryStore>) throws {
    _ = try engine.write(
      [
        Operation(
          RecordKey(type: .record(7), id: EngineFamily.id(record)),
          .assign(FieldID(.register, 1), .int(1)))
      ], to: zone, nowMilliseconds: now)
  }

  @Test("Changes that are sealed while a transport is given to do not count as taken by it")
  func sealedMeanwhile() throws {
    var family = try EngineFamily(1)
    let (zone, transport) = (family.zone, BusyTransport())
    let tag = try family.members[0].zone(zone).tag
    try write(1, in: zone, &family.members[0])
    _ = try exchange(&family, over: transport, with: NotedAnchor()) { turns in
      var isDone = false
      transport.whilePublishing = { name in
        guard !isDone, name.zoneTag == tag else { return }
        isDone = true
        try turns.turn { engine in
          try write(2, in: zone, &engine)
          _ = try Sealing.seal(zone, in: &engine)
        }
      }
    }
    let state = try family.members[0].zone(zone)
    #expect(state.head(of: family.members[0].author).sequence == 2)
    #expect(try AcknowledgedChanges.unsyncedCount(of: state, in: family.members[0]) == 1)
  }

  @Test("What another exchange gives while a listing is on its way is not missed in it")
  func givenMeanwhile() throws {
    var family = try EngineFamily(1)
    let (zone, transport) = (family.zone, BusyTransport())
    transport.canDecay = true
    let tag = try family.members[0].zone(zone).tag
    try write(1, in: zone, &family.members[0])
    _ = try exchange(&family, over: transport, with: NotedAnchor()) { _ in }
    // The listing is read, and before it is here another exchange with the same transport is over.
    let report = try exchange(&family, over: transport, with: NotedAnchor()) { turns in
      var isDone = false
      transport.whileListing = { listed in
        guard !isDone, listed == tag else { return }
        isDone = true
        var other = turns.engine
        try write(2, in: zone, &other)
        _ = try other.exchange(
          over: transport, named: "memory", anchorFile: NotedAnchor(), nowMilliseconds: now)
        _ = try other.exchange(
          over: transport, named: "memory", anchorFile: NotedAnchor(), nowMilliseconds: now)
        try turns.turn { $0 = other }
      }
    }
    #expect(report.lost == 0, "\(report)")
  }

  @Test("The guard against old states is written before what was sealed meanwhile leaves")
  func anchored() throws {
    var family = try EngineFamily(1)
    let (zone, transport, anchor) = (family.zone, BusyTransport(), NotedAnchor())
    let tag = try family.members[0].zone(zone).tag
    var countAtSeal: Int?
    var isGiven = false
    _ = try exchange(&family, over: transport, with: anchor) { turns in
      // While the control zone is given to, a call seals a change in the zone of records.
      transport.whilePublishing = { name in
        if countAtSeal == nil {
          #expect(name.zoneTag != tag)
          countAtSeal = anchor.count
          try turns.turn { engine in
            try write(1, in: zone, &engine)
            _ = try Sealing.seal(zone, in: &engine)
          }
        } else if name.zoneTag == tag {
          isGiven = true
          #expect(anchor.count > countAtSeal ?? .max)
        }
      }
    }
    #expect(isGiven)
  }
}

import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync
import HearthTransport

/// What came of one round over one transport.
package struct TransportReport: Sendable {
  /// The transport's place.
  package let setting: String
  /// Why nothing could be exchanged at all, in words.
  package internal(set) var failure: String?
  /// How many changes were taken from it.
  package internal(set) var received = 0
  /// How many segments were given to it.
  package internal(set) var published = 0
  /// How many bytes were given to it.
  package internal(set) var publishedBytes = 0
  /// How many segments wait for others.
  package internal(set) var waiting = 0
  /// What could not be used.
  package internal(set) var problems: [TransportProblem] = []

  init(setting: String) {
    self.setting = setting
  }

  /// Whether data may be missing.
  package var isPartial: Bool { problems.contains(where: \.hidesData) }
}

/// What came of one round over all transports.
package struct SyncReport: Sendable {
  package internal(set) var transports: [TransportReport] = []

  /// How many changes were taken from all.
  package var received: Int { transports.reduce(0) { $0 + $1.received } }
  /// How many segments were given to all.
  package var published: Int { transports.reduce(0) { $0 + $1.published } }
}

extension Node {
  /// Exchanges what is new with every transport.
  ///
  /// A transport that fails is reported and harms no other.
  package func sync() throws -> SyncReport {
    var report = SyncReport()
    for setting in try transports() {
      let transport = folderTransport(setting.path)
      var one = TransportReport(setting: setting.path)
      do {
        for zone in sharedZones() { try pull(zone, from: transport, &one) }
        for zone in sharedZones() { try push(zone, to: transport, &one) }
      } catch let error as TransportError {
        one.failure = "\(error)"
      }
      report.transports.append(one)
    }
    if report.received > 0 { announce() }
    return report
  }

  /// The zones that go over shared transports: control zones first, since the others need them.
  private func sharedZones() -> [ZoneID] {
    engine.zones.filter { $0.database == .shared }
      .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }.map(\.id)
  }

  // MARK: Taking

  private static let batchBytes = 8 * 1024 * 1024

  /// Takes what a transport has of a zone that is new here.
  func pull(_ zone: ZoneID, from transport: some Transport, _ report: inout TransportReport) throws
  {
    let tag = try engine.zone(zone).tag
    let listing = try transport.list(zoneTag: tag)
    report.problems += listing.problems
    try checkOwnLife(zone, listing)
    var failed: Set<SegmentName> = []
    var isDone = false
    while !isDone {
      isDone = true
      let plan = try SyncPlan(
        zone: engine.zone(zone), stored: store.segments(of: zone),
        pending: store.pending(in: zone).map(\.digest))
      let names = plan.fetches(from: listing, except: failed)
      let before = failed.count
      try take(names, of: zone, from: transport, &failed, &report)
      // Where something failed, others that cover the same changes are tried.
      if failed.count > before { isDone = false }
    }
    if try !store.pending(in: zone).isEmpty {
      try receive([], names: [:], in: zone, &failed, &report)
    }
  }

  private func take(
    _ names: [SegmentName], of zone: ZoneID, from transport: some Transport,
    _ failed: inout Set<SegmentName>, _ report: inout TransportReport
  ) throws {
    var batch: [[UInt8]] = []
    var batchNames: [Identifier: SegmentName] = [:]
    var bytes = 0
    for name in names {
      do {
        let blob = try transport.fetch(name)
        batch.append(blob)
        batchNames[name.digest] = name
        bytes += blob.count
      } catch let error as TransportError {
        failed.insert(name)
        report.problems.append(error.problem(hidesData: true))
      }
      if bytes >= Node.batchBytes {
        try receive(batch, names: batchNames, in: zone, &failed, &report)
        batch = []
        batchNames = [:]
        bytes = 0
      }
    }
    if !batch.isEmpty { try receive(batch, names: batchNames, in: zone, &failed, &report) }
  }

  private func receive(
    _ blobs: [[UInt8]], names: [Identifier: SegmentName], in zone: ZoneID,
    _ failed: inout Set<SegmentName>, _ report: inout TransportReport
  ) throws {
    let received = try engine.receive(blobs, in: zone, nowMilliseconds: now())
    report.received += received.applied
    report.waiting = received.waiting.values.reduce(0, +)
    for (digest, reason) in received.refused {
      let name = names[digest]
      if let name { failed.insert(name) }
      report.problems.append(
        TransportProblem(
          place: name.flatMap { FolderLayout.path(of: $0)?.joined(separator: "/") }
            ?? "a waiting segment",
          fault: reason,
          remedy: "delete the file: its author puts a good one back", hidesData: true))
    }
  }

  /// Starts a new life where another copy of this node has published under the current one.
  private func checkOwnLife(_ zone: ZoneID, _ listing: TransportListing) throws {
    let state = try engine.zone(zone)
    let author = engine.author
    let tag = state.authorTag(of: author.device)
    let sealed = try store.segments(of: zone).filter { $0.author == author }.map(\.last).max() ?? 0
    let foreign = listing.segments.filter {
      $0.authorTag == tag && $0.incarnation == author.incarnation && $0.last > sealed
    }
    guard !foreign.isEmpty else { return }
    try engine.beginNewLife(
      reason: "another copy of this node has published changes that this one does not have",
      reissuing: state.head(of: author).sequence > sealed, nowMilliseconds: now())
    try writeAnchor()
  }

  // MARK: Giving

  /// Gives a transport what it lacks of a zone.
  func push(_ zone: ZoneID, to transport: some Transport, _ report: inout TransportReport) throws {
    guard engine.membership(of: try engine.zone(zone).group).device(engine.device) != nil else {
      return
    }
    if try engine.seal(zone) > 0 { try writeAnchor() }
    let merged = try engine.compact(zone)
    let state = try engine.zone(zone)
    let listing = try transport.list(zoneTag: state.tag)
    let stored = try store.segments(of: zone)
    let plan = SyncPlan(zone: state, stored: stored, pending: [])
    for (segment, name) in plan.publications(
      to: listing, stored: stored, tag: { state.authorTag(of: $0.device) })
    {
      guard let bytes = try store.bytes(of: segment.digest, in: zone) else { continue }
      try transport.publish(name, bytes)
      report.published += 1
      report.publishedBytes += bytes.count
    }
    if merged > 0 { try dropSuperseded(zone, stored: stored, on: transport) }
  }

  private func dropSuperseded(
    _ zone: ZoneID, stored: [StoredSegment], on transport: some Transport
  ) throws {
    let state = try engine.zone(zone)
    let own = stored.filter { $0.author.device == engine.device }.map { segment in
      SegmentName(
        zoneTag: state.tag, authorTag: state.authorTag(of: segment.author.device),
        incarnation: segment.author.incarnation, first: segment.first, last: segment.last,
        digest: segment.digest)
    }
    let listing = try transport.list(zoneTag: state.tag)
    let plan = SyncPlan(zone: state, stored: stored, pending: [])
    for name in plan.superseded(on: listing, own: own) { try transport.remove(name) }
  }
}

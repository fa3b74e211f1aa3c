import HearthCRDT
import HearthMembership

/// The step of an exchange that publishes snapshots for newcomers.
///
/// Decisions 0016 and 0051 explain the reasons.
struct SnapshotPublishing<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// Publishes the snapshots that the transport lacks: a new one if it saves enough, and this
  /// zone's base if the transport has nothing instead.
  func publish(
    of id: ZoneID, holding listing: TransportListing, stored: [StoredSegment],
    _ report: inout TransportReport
  ) async throws {
    if let base = try ports.turn({
      try SnapshotGiving(engine: $0).baseToForward(of: id, to: listing)
    }) {
      Probe.snapshotForwarded.hit()
      try await publish(base, &report)
    }
    guard try ports.turn({ try SnapshotGiving(engine: $0).mayGiveSnapshot(of: id, stored: stored) })
    else { return }
    let known = try await SnapshotFetch(ports: ports).knownSnapshots(of: id, listing, &report)
    let made = try ports.turn { engine in
      guard
        try SnapshotGiving(engine: engine).isSnapshotDue(
          of: id, known: known, listing, stored: stored)
      else {
        return NamedSnapshot?.none
      }
      // The snapshot is noted as begun, so that a later round can remove what an interruption left;
      // it is finished only with the last chunk.
      return try SnapshotGiving(engine: engine).beginSnapshot(of: id)
    }
    guard let made else { return }
    try await publish(made, &report)
    let dropped = try ports.turn { try SnapshotGiving(engine: $0).finish(made, of: id, listing) }
    guard !dropped.isEmpty else { return }
    Probe.snapshotReplaced.hit()
    try await ports.transport.remove(dropped)
  }

  private func publish(
    _ snapshot: NamedSnapshot, _ report: inout TransportReport
  ) async throws {
    for (name, chunk) in snapshot.chunks {
      try await ports.transport.publish(name, chunk)
      report.publishedBytes += chunk.count
    }
    report.publishedSnapshots += 1
    Probe.snapshotPublished.hit()
  }
}

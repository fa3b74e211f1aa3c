import HearthCRDT
import HearthCrypto
import HearthMembership

// Publishing snapshots for newcomers; decisions 0016 and 0051 explain the reasons.
extension Exchange {
  /// Publishes the snapshots that the transport lacks: a new one if it saves enough, and this
  /// zone's base if the transport has nothing instead.
  mutating func giveSnapshots(
    of id: ZoneID, holding listing: TransportListing, stored: [StoredSegment]
  ) async throws {
    if let base = try turn({ try SnapshotGiving(engine: $0).baseToForward(of: id, to: listing) }) {
      Probe.snapshotForwarded.hit()
      try await publish(base)
    }
    guard try turn({ try SnapshotGiving(engine: $0).mayGiveSnapshot(of: id, stored: stored) })
    else { return }
    let known = try await knownSnapshots(of: id, listing)
    let made = try turn { engine in
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
    try await publish(made)
    let dropped = try turn { try SnapshotGiving(engine: $0).finish(made, of: id, listing) }
    guard !dropped.isEmpty else { return }
    Probe.snapshotReplaced.hit()
    for name in dropped { try await transport.remove(name) }
  }

  private mutating func publish(_ snapshot: NamedSnapshot) async throws {
    for (name, chunk) in snapshot.chunks {
      try await transport.publish(name, chunk)
      report.publishedBytes += chunk.count
    }
    report.publishedSnapshots += 1
    Probe.snapshotPublished.hit()
  }
}

/// A sealed snapshot with the names of its chunks.
struct NamedSnapshot {
  let group: Identifier
  let chunks: [(name: BlobName, bytes: [UInt8])]
  /// What is stored about it once it is published.
  var known: KnownSnapshot?
}

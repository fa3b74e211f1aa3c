import HearthCRDT
import HearthMembership

/// The step of an exchange that fetches snapshots, and examines which there are.
struct SnapshotFetch<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// The first chunk of a snapshot, which says what the snapshot holds.
  func first(
    of snapshot: SnapshotPlan.Complete, _ report: inout TransportReport
  ) async throws -> [UInt8] {
    try await fetch(snapshot.chunks[0], &report)
  }

  /// All chunks of a snapshot.
  ///
  /// - Parameter first: The first chunk, if it is here.
  func chunks(
    of snapshot: SnapshotPlan.Complete, after first: [UInt8]? = nil,
    _ report: inout TransportReport
  ) async throws -> [[UInt8]] {
    var chunks = first.map { [$0] } ?? []
    for name in snapshot.chunks.dropFirst(chunks.count) {
      chunks.append(try await fetch(name, &report))
    }
    return chunks
  }

  /// The listing's snapshots; each is examined once by this node.
  func knownSnapshots(
    of id: ZoneID, _ listing: TransportListing, _ report: inout TransportReport
  ) async throws -> [KnownSnapshot] {
    var look = try ports.turn { try SnapshotLooks(engine: $0).snapshotLook(of: id, listing) }
    for snapshot in look.unknown where !look.isEnough {
      let first: [UInt8]
      do {
        first = try await self.first(of: snapshot, &report)
      } catch {
        guard SnapshotMemory.isOfSnapshot(error) else { throw error }
        continue
      }
      if let known = try ports.turn({ try SnapshotLooks(engine: $0).known(snapshot, first, of: id) }
      ) {
        look.note(known)
      }
    }
    return try ports.turn { [look] in try SnapshotLooks(engine: $0).finish(look, of: id) }
  }

  private func fetch(
    _ name: BlobName, _ report: inout TransportReport
  ) async throws -> [UInt8] {
    guard let bytes = try await ports.transport.fetch(name) else {
      throw SyncError(.notFound, "chunk \(name.index + 1) of \(name.count) is missing")
    }
    report.receivedBytes += bytes.count
    return bytes
  }
}

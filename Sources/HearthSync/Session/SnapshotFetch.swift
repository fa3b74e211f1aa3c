import HearthCRDT
import HearthMembership

/// The step of an exchange that fetches snapshots, and examines which there are.
struct SnapshotFetch<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// The first chunks of a snapshot, as many as say what the snapshot holds.
  func beginning(
    of snapshot: SnapshotPlan.Complete, in id: ZoneID, _ report: inout TransportReport
  ) async throws -> [[UInt8]] {
    let count = snapshot.chunks.count
    var chunks = [try await fetch(snapshot.chunks[0], &report)]
    guard count > 1 else { return chunks }
    let opening = try ports.turn { SnapshotOpening(of: try $0.zone(id), in: $0) }
    func isEnough() -> Bool {
      // What is wrong with them is reported when the heads are read.
      do { return try opening.wholeHeads(of: chunks, of: count) != nil } catch { return true }
    }
    let most = min(count, SnapshotOpening.maximumHeadChunks)
    while chunks.count < most, !isEnough() {
      for name in snapshot.chunks[chunks.count..<min(2 * chunks.count, most)] {
        chunks.append(try await fetch(name, &report))
      }
    }
    return chunks
  }

  /// All chunks of a snapshot.
  ///
  /// - Parameter beginning: The first chunks, as far as they are here.
  func chunks(
    of snapshot: SnapshotPlan.Complete, after beginning: [[UInt8]] = [],
    _ report: inout TransportReport
  ) async throws -> [[UInt8]] {
    var chunks = beginning
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
      let beginning: [[UInt8]]
      do {
        beginning = try await self.beginning(of: snapshot, in: id, &report)
      } catch {
        guard SnapshotMemory.isOfSnapshot(error) else { throw error }
        continue
      }
      let known = try ports.turn {
        try SnapshotLooks(engine: $0).known(snapshot, beginning, of: id)
      }
      if let known { look.note(known) }
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

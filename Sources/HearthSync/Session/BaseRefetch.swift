import HearthCRDT
import HearthMembership

/// The step of an exchange that takes changes one by one in the place of a snapshot that was wrong.
///
/// Decisions 0051 and 0065 explain the reasons.
struct BaseRefetch<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>
  /// The most bytes of files that are kept in memory to replace a snapshot.
  var maximumBytes = 256 * 1024 * 1024

  /// Takes a zone's changes one by one instead of the snapshot that the zone began from.
  ///
  /// The replicas say which files they need, and change nothing before all are here. If the
  /// transport does not hold every change that is here, the zone stays unchanged and the report
  /// says so.
  func replaceBase(
    of id: ZoneID, contradictedBy author: Author?, holding listing: TransportListing,
    _ report: inout TransportReport
  ) async throws {
    guard
      let attempt = try ports.turn({
        try BaseReplacement.replacementAttempt(of: id, holding: listing, in: $0)
      })
    else {
      return try noteWrongBase(of: id, "no changes that could replace it have arrived", &report)
    }
    let (now, anchorFile) = (ports.nowMilliseconds, ports.anchorFile)
    var files: [SegmentName: [UInt8]?] = [:]
    var room = maximumBytes
    while true {
      var taken: Taking?
      do {
        try ports.turn {
          try BaseReplacement.replaceBase(
            of: id, contradictedBy: author, by: files, from: listing, anchorFile: anchorFile,
            in: &$0, nowMilliseconds: now, &taken)
        }
        if var taken { SegmentFetch(ports: ports).note(&taken, &report) }
        return
      } catch let error as LacksFiles {
        for name in error.names {
          let bytes = try await fetched(name, &report)
          files[name] = .some(bytes)
          room -= bytes?.count ?? 0
          guard room >= 0 else {
            try ports.turn {
              try SnapshotAttempts.remember(replacement: attempt, of: id, in: $0.store)
            }
            return try noteWrongBase(
              of: id, "more than \(maximumBytes >> 20) MiB of changes would replace it",
              &report)
          }
        }
      } catch let error as SyncError where error.code == .snapshotContradicted {
        if var taken { SegmentFetch(ports: ports).note(&taken, &report) }
        try ports.turn { try SnapshotAttempts.remember(replacement: attempt, of: id, in: $0.store) }
        return try noteWrongBase(of: id, "\(error)", &report)
      }
    }
  }

  /// A file's bytes; nil if it cannot be fetched, which is reported.
  private func fetched(
    _ name: SegmentName, _ report: inout TransportReport
  ) async throws -> [UInt8]? {
    do {
      let bytes = try await ports.transport.fetch(name)
      report.receivedBytes += bytes.count
      return bytes
    } catch let error as TransportError {
      Probe.fetchFailed.hit()
      report.problems.append(error.problem(hidesData: true))
      return nil
    }
  }

  private func noteWrongBase(
    of id: ZoneID, _ reason: String, _ report: inout TransportReport
  ) throws {
    report.problems.append(
      try ports.turn { BaseReplacement.wrongBase(of: try $0.zone(id), reason) })
  }
}

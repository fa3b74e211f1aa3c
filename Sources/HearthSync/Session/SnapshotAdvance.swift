import HearthCRDT
import HearthMembership

/// The step of an exchange that continues a zone that is not empty from a later snapshot.
///
/// Decision 0051 explains the reasons.
struct SnapshotAdvance<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// Continues a zone that is not empty from a later snapshot, if that holds changes that stay
  /// closed here, or if the zone's base is outdated.
  ///
  /// - Parameter isOutdated: Whether the zone's base snapshot can no longer be trusted.
  /// - Returns: Whether the zone is based on another snapshot now.
  @discardableResult
  func goOn(
    _ id: ZoneID, holding listing: TransportListing, isOutdated: Bool,
    _ report: inout TransportReport
  ) async throws -> Bool {
    guard !listing.snapshots.isEmpty,
      let need = try ports.turn({
        try SnapshotContinuation.snapshotNeed(of: id, isOutdated: isOutdated, in: $0)
      })
    else { return false }
    let known = try await SnapshotFetch(ports: ports).knownSnapshots(of: id, listing, &report)
    let (later, tried) = try ports.turn { engine in
      (
        try SnapshotContinuation.laterSnapshots(of: id, need, among: known, listing, in: engine),
        try SnapshotAttempts.triedSnapshots(of: id, in: engine)
      )
    }
    let words = later.map(\.word)
    for (candidate, word) in later where !tried.contains(candidate.group) {
      do {
        switch try await goOn(
          id, from: candidate, word, among: words, isOutdated: isOutdated, listing, &report)
        {
        case .taken(let changes, let waiting):
          report.received += changes
          report.waiting = waiting
          report.begunFromSnapshots += 1
          Probe.snapshotTakenLater.hit()
          return true
        case .refused(let problem):
          if let problem { report.problems.append(problem) }
        case .useless: continue
        }
      } catch {
        guard SnapshotMemory.isOfSnapshot(error) else { throw error }
        if SnapshotMemory.isLasting(error) {
          try ports.turn { try SnapshotAttempts.noteTried(candidate.group, of: id, in: $0) }
        }
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: candidate.group), error))
      }
    }
    return false
  }

  private func goOn(
    _ id: ZoneID, from candidate: SnapshotPlan.Complete, _ word: SnapshotWord,
    among words: [SnapshotWord], isOutdated: Bool, _ listing: TransportListing,
    _ report: inout TransportReport
  ) async throws -> SnapshotOutcome {
    let belief = try ports.turn {
      try SnapshotChoice.belief(in: candidate, word, among: words, of: id, listing, by: $0)
    }
    if case .refused(let problem) = belief { return .refused(problem) }
    let chunks = try await SnapshotFetch(ports: ports).chunks(of: candidate, &report)
    let opening = try ports.turn { SnapshotOpening(of: try $0.zone(id), in: $0) }
    let digest = try await ports.turns.aside { try opening.stream(of: chunks).digest }
    let now = ports.nowMilliseconds
    return try ports.turn {
      try SnapshotContinuation.goOn(
        id, from: chunks, digest, candidate, word, belief: belief, among: words,
        isOutdated: isOutdated,
        listing, in: &$0, nowMilliseconds: now)
    }
  }
}

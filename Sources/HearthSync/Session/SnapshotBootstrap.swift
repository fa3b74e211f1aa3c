import HearthCRDT
import HearthMembership

/// The step of an exchange that begins an empty zone from another device's snapshot.
///
/// Decisions 0016 and 0065 explain the reasons.
struct SnapshotBootstrap<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// Begins an empty zone from the best snapshot of the transport: the good one that covers most.
  ///
  /// A bad one is named in the report, and the next one is tried. If there is none, the changes are
  /// taken one by one.
  ///
  /// - Returns: Whether to take changes now: false while another process loads a snapshot.
  func begin(
    _ id: ZoneID, holding listing: TransportListing, _ report: inout TransportReport
  ) async throws -> Bool {
    guard try ports.turn({ try SnapshotChoice.mayBegin(id, in: $0) }) else {
      try await clearLeftovers(of: id)
      return true
    }
    let goesOn = try await beginFromBest(id, holding: listing, &report)
    // Changes that are taken beside a load of another exchange would spoil it.
    if goesOn { try await ports.turns.loading {} }
    return goesOn
  }

  private func beginFromBest(
    _ id: ZoneID, holding listing: TransportListing, _ report: inout TransportReport
  ) async throws -> Bool {
    guard !listing.snapshots.isEmpty else { return true }
    let candidates = try await candidates(for: id, listing, &report)
    let words = candidates.map(\.word)
    for candidate in candidates {
      do {
        switch try await begin(id, from: candidate, among: words, listing, &report) {
        case .refused(let problem):
          if let problem { report.problems.append(problem) }
        case .changed: return true
        case .takenOver: return false
        case .taken:
          report.begunFromSnapshots += 1
          Probe.snapshotUsed.hit()
          report.received += Int(clamping: candidate.weight)
          return true
        }
      } catch {
        guard SnapshotMemory.isOfSnapshot(error) else { throw error }
        Probe.snapshotRefused.hit()
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: candidate.snapshot.group), error))
      }
    }
    return true
  }

  /// Removes what a load has left that did not end, of a zone that has changes now.
  private func clearLeftovers(of id: ZoneID) async throws {
    let isLeft = try ports.turn { try ZoneDraft.isLeft(of: id, in: $0.store) }
    guard isLeft else { return }
    let draft = try ports.turn { try ZoneDraft(of: id, in: $0.store) }
    do {
      while try !ports.turn({ try draft.clear(isEnd: true, in: $0.store) }) {
        try await ports.turns.aside {}
      }
    } catch is DraftTaken {}
  }

  /// Fetches a snapshot and begins from it, if it is believed.
  private func begin(
    _ id: ZoneID, from candidate: SnapshotCandidate, among words: [SnapshotWord],
    _ listing: TransportListing, _ report: inout TransportReport
  ) async throws -> SnapshotLoad<Turns, Link>.Outcome {
    let belief = try ports.turn {
      try SnapshotChoice.belief(
        in: candidate.snapshot, candidate.word, among: words, of: id, listing, by: $0)
    }
    if case .refused(let problem) = belief { return .refused(problem) }
    let chunks = try await SnapshotFetch(ports: ports).chunks(
      of: candidate.snapshot, after: candidate.beginning, &report)
    return try await SnapshotLoad(
      ports: ports, candidate: candidate, words: words, listing: listing
    ).load(chunks, into: id)
  }

  /// The snapshots that may be used, the one that covers most first.
  private func candidates(
    for id: ZoneID, _ listing: TransportListing, _ report: inout TransportReport
  ) async throws -> [SnapshotCandidate] {
    let (complete, incomplete) = SnapshotPlan.sorted(listing.snapshots)
    for group in incomplete.prefix(SnapshotPlan.consideredSnapshots) {
      Probe.snapshotIncomplete.hit()
      let error = SyncError(.malformed, "some of its chunks are missing")
      report.problems.append(SnapshotPlan.problem(with: SnapshotPlan.place(of: group), error))
    }
    var candidates: [SnapshotCandidate] = []
    let ordered = try ports.turn { try SnapshotChoice.ordered(complete, of: id, in: $0) }
    for snapshot in ordered.prefix(SnapshotPlan.fetchedSnapshots)
    where candidates.count < SnapshotPlan.consideredSnapshots {
      do {
        let beginning = try await SnapshotFetch(ports: ports)
          .beginning(of: snapshot, in: id, &report)
        if let candidate = try ports.turn({
          try SnapshotChoice.candidate(snapshot, beginning, of: id, listing, in: $0)
        }) {
          candidates.append(candidate)
        }
      } catch {
        guard SnapshotMemory.isOfSnapshot(error) else { throw error }
        Probe.snapshotNoCandidate.hit()
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: snapshot.group), error))
      }
    }
    return candidates.sorted {
      $0.weight != $1.weight ? $0.weight > $1.weight : $0.snapshot.group < $1.snapshot.group
    }
  }
}

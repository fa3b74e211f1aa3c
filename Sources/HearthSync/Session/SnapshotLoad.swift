import HearthCRDT
import HearthMembership

/// The step of a bootstrap that loads a snapshot in slices, between which other work goes on.
///
/// Decision 0078 explains the reasons.
struct SnapshotLoad<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>
  let candidate: SnapshotCandidate
  let words: [SnapshotWord]
  let listing: TransportListing

  /// How a load ended.
  enum Outcome {
    /// The zone is based on the snapshot now.
    case taken
    /// This device does not believe the snapshot; with the problem to report.
    case refused(TransportProblem?)
    /// The zone has other changes now; it is as if nothing was loaded.
    case changed
    /// A later load of the same zone is under way.
    case takenOver
  }

  /// Opens the chunks of the snapshot and loads it into a zone.
  func load(_ chunks: [[UInt8]], into id: ZoneID) async throws -> Outcome {
    let opening = try ports.turn { SnapshotOpening(of: try $0.zone(id), in: $0) }
    let snapshot = try await ports.turns.aside { try OpenedSnapshot(chunks, by: opening) }
    return try await ports.turns.loading {
      switch try ports.turn({ try begin(id, snapshot, in: $0) }) {
      case .ended(let outcome): return outcome
      case .begun(let draft, let seen):
        do {
          return try await load(snapshot, chunks, into: draft, afterSeeing: seen)
        } catch is DraftTaken {
          return .takenOver
        }
      }
    }
  }

  /// What a load comes to before anything is written.
  private enum Beginning {
    case ended(Outcome)
    /// It writes to a draft; with how far the control log reaches.
    case begun(ZoneDraft, Frontier)
  }

  private func begin(
    _ id: ZoneID, _ snapshot: OpenedSnapshot, in engine: Engine<Turns.Replicas>
  ) throws -> Beginning {
    let belief = try belief(in: snapshot, of: id, by: engine)
    if case .refused(let problem) = belief { return .ended(.refused(problem)) }
    let zone = try engine.zone(id)
    guard try SnapshotChoice.mayTake(heads: snapshot.ends.heads, in: zone, by: engine) else {
      return .ended(.changed)
    }
    let seen = try engine.controlZone(of: zone.group).frontier
    return .begun(try ZoneDraft(of: id, in: engine.store), seen)
  }

  private func load(
    _ snapshot: OpenedSnapshot, _ chunks: [[UInt8]], into draft: ZoneDraft,
    afterSeeing seen: Frontier
  ) async throws -> Outcome {
    do {
      try await clear(draft, isEnd: false)
      try await write(snapshot, chunks, to: draft)
      let outcome = try ports.turn {
        try end(draft, snapshot, afterSeeing: seen, chunks.count, in: &$0)
      }
      // Whoever takes the draft over now removes what is left.
      do { try await clear(draft, isEnd: true) } catch is DraftTaken {}
      return outcome
    } catch {
      guard SnapshotMemory.isOfSnapshot(error) else { throw error }
      try await clear(draft, isEnd: true)
      throw error
    }
  }

  private func belief(
    in snapshot: OpenedSnapshot, of id: ZoneID, by engine: Engine<Turns.Replicas>
  ) throws -> SnapshotBelief {
    try SnapshotChoice.belief(
      in: candidate, snapshot.digest, among: words, of: id, listing, by: engine)
  }

  /// Removes what the draft holds.
  private func clear(_ draft: ZoneDraft, isEnd: Bool) async throws {
    while try !ports.turn({ try draft.clear(isEnd: isEnd, in: $0.store) }) {
      try await ports.turns.aside {}
    }
  }

  /// Writes everything of a snapshot to the draft.
  private func write(
    _ snapshot: OpenedSnapshot, _ chunks: [[UInt8]], to draft: ZoneDraft
  ) async throws {
    let container = try await ports.turns.aside { SnapshotOpening.container(of: chunks) }
    try ports.turn { engine in
      try draft.write(in: engine.store) { store in
        try store.zones.learn(snapshot.authors)
        try store.snapshots.saveBase(container, of: draft.zone)
      }
    }
    var rest = snapshot
    var turns = 0
    while true {
      let (slice, further) = try await ports.turns.aside { [rest] in
        var rest = rest
        return (try rest.nextSlice(), rest)
      }
      rest = further
      guard let slice else { break }
      try ports.turn { engine in
        try draft.write(in: engine.store) {
          try SnapshotLoading.insert(slice, into: draft.zone, in: $0)
        }
      }
      try await settle(after: &turns)
    }
    try await derive(draft)
  }

  /// After how many turns that write a draft their transactions are settled.
  private static var turnsBeforeSettling: Int { 6 }

  /// Settles the transactions of the draft aside, every few turns.
  ///
  /// Each touches pages all over the tables' indexes. Sooner or later somebody would have to wait
  /// until all of them have been moved.
  private func settle(after turns: inout Int) async throws {
    turns += 1
    guard turns.isMultiple(of: SnapshotLoad.turnsBeforeSettling),
      let settling = try ports.turn({ $0.store.drafts.settling })
    else { return }
    try await ports.turns.aside { try settling() }
  }

  /// How many derived rows a turn writes.
  private static var rowsInTurn: Int { 256 }

  /// Derives the rows of everything in the draft.
  ///
  /// A row may depend on many records, such as all completions of a daily chore for ten years.
  /// Therefore only the writing of rows takes turns.
  private func derive(_ draft: ZoneDraft) async throws {
    let derivation = try ports.turn { try draft.derivation(in: $0.store) }
    let count = SnapshotLoad.rowsInTurn
    var turns = 0
    do {
      try await ports.turns.aside { try derivation.compute() }
      while true {
        let rows = try await ports.turns.aside { try derivation.next(atMost: count) }
        guard !rows.isEmpty else { break }
        try ports.turn { try draft.insert(rows, in: $0.store) }
        try await settle(after: &turns)
      }
    } catch {
      // The first error is reported.
      try? derivation.close()
      throw error
    }
    try derivation.close()
  }

  /// Bases the zone on the draft, with the own changes that were made meanwhile.
  ///
  /// - Parameter seen: How far the control log reached when the load began.
  private func end(
    _ draft: ZoneDraft, _ snapshot: OpenedSnapshot, afterSeeing seen: Frontier, _ count: Int,
    in engine: inout Engine<Turns.Replicas>
  ) throws -> Outcome {
    let zone = try engine.zone(draft.zone)
    guard try SnapshotChoice.mayTake(heads: snapshot.ends.heads, in: zone, by: engine) else {
      return .changed
    }
    let control = try engine.controlZone(of: zone.group)
    let isJudgedAnew = control.frontier != seen
    if isJudgedAnew {
      // Its maker may have lost the right to make it.
      _ = try SnapshotChoice.checkedHeads(
        ofSnapshot: candidate.beginning, of: count, in: zone, listing, by: engine)
      let belief = try belief(in: snapshot, of: zone.id, by: engine)
      if case .refused(let problem) = belief { return .refused(problem) }
    }
    let before = engine
    do {
      try engine.store.transaction {
        engine = before
        try draft.check(in: engine.store)
        try Rebuild.rebuildWithin(
          zone.id, onto: snapshot.ends, in: &engine, nowMilliseconds: ports.nowMilliseconds)
        guard try engine.zone(zone.id).frontier.covers(zone.frontier) else { throw LosesChanges() }
        guard isJudgedAnew else { return }
        try engine.store.projections.update(
          for: [RecordKey(type: ControlOperation.type, id: .zero)], in: control.id)
      }
    } catch {
      engine = before
      guard error is LosesChanges else { throw error }
      return .changed
    }
    return .taken
  }
}

/// The error that a zone would lack own changes that it has.
private struct LosesChanges: Error {}

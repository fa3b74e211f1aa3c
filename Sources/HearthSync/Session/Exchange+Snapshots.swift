import HearthCRDT
import HearthMembership

// Beginning from other devices' snapshots; decisions 0016, 0051 and 0065 explain the reasons.
extension Exchange {
  // MARK: Beginning

  /// Begins an empty zone from the best snapshot of the transport: the good one that covers most.
  ///
  /// A bad one is named in the report, and the next one is tried. If there is none, the changes are
  /// taken one by one.
  mutating func begin(_ id: ZoneID, holding listing: TransportListing) async throws {
    guard !listing.snapshots.isEmpty, try turn({ try SnapshotChoice.mayBegin(id, in: $0) }) else {
      return
    }
    let candidates = try await candidates(for: id, listing)
    let words = candidates.map(\.word)
    for candidate in candidates {
      do {
        if case .refused(let problem) = try await begin(id, from: candidate, among: words, listing)
        {
          if let problem { report.problems.append(problem) }
          continue
        }
        report.begunFromSnapshots += 1
        Probe.snapshotUsed.hit()
        report.received += Int(clamping: candidate.weight)
        return
      } catch {
        guard SnapshotMemory.isOfSnapshot(error) else { throw error }
        Probe.snapshotRefused.hit()
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: candidate.snapshot.group), error))
      }
    }
  }

  /// Fetches a snapshot and begins from it, if it is believed.
  private mutating func begin(
    _ id: ZoneID, from candidate: SnapshotCandidate, among words: [SnapshotWord],
    _ listing: TransportListing
  ) async throws -> SnapshotBelief {
    let belief = try turn {
      try SnapshotChoice.belief(
        in: candidate.snapshot, candidate.word, among: words, of: id, listing, by: $0)
    }
    if case .refused = belief { return belief }
    var chunks = [candidate.first]
    for name in candidate.snapshot.chunks.dropFirst() { chunks.append(try await fetch(name)) }
    let now = nowMilliseconds
    return try turn { [chunks] in
      try SnapshotChoice.begin(
        id, from: chunks, candidate, belief: belief, among: words, listing, in: &$0,
        nowMilliseconds: now)
    }
  }

  /// The snapshots that may be used, the one that covers most first.
  private mutating func candidates(
    for id: ZoneID, _ listing: TransportListing
  ) async throws -> [SnapshotCandidate] {
    let (complete, incomplete) = SnapshotPlan.sorted(listing.snapshots)
    for group in incomplete.prefix(SnapshotPlan.consideredSnapshots) {
      Probe.snapshotIncomplete.hit()
      let error = SyncError(.malformed, "some of its chunks are missing")
      report.problems.append(SnapshotPlan.problem(with: SnapshotPlan.place(of: group), error))
    }
    var candidates: [SnapshotCandidate] = []
    let ordered = try turn { try SnapshotChoice.ordered(complete, of: id, in: $0) }
    for snapshot in ordered.prefix(SnapshotPlan.fetchedSnapshots)
    where candidates.count < SnapshotPlan.consideredSnapshots {
      do {
        let first = try await fetch(snapshot.chunks[0])
        if let candidate = try turn({
          try SnapshotChoice.candidate(snapshot, first, of: id, listing, in: $0)
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

  private mutating func fetch(_ name: BlobName) async throws -> [UInt8] {
    guard let bytes = try await transport.fetch(name) else {
      throw SyncError(.notFound, "chunk \(name.index + 1) of \(name.count) is missing")
    }
    report.receivedBytes += bytes.count
    return bytes
  }

  // MARK: Going on

  /// Continues a zone that is not empty from a later snapshot, if that holds changes that stay
  /// closed here, or if the zone's base is outdated.
  ///
  /// - Parameter isOutdated: Whether the zone's base snapshot can no longer be trusted.
  /// - Returns: Whether the zone is based on another snapshot now.
  @discardableResult
  mutating func goOn(
    _ id: ZoneID, holding listing: TransportListing, isOutdated: Bool
  ) async throws -> Bool {
    guard !listing.snapshots.isEmpty,
      let need = try turn({
        try SnapshotContinuation.snapshotNeed(of: id, isOutdated: isOutdated, in: $0)
      })
    else { return false }
    let known = try await knownSnapshots(of: id, listing)
    let (later, tried) = try turn { engine in
      (
        try SnapshotContinuation.laterSnapshots(of: id, need, among: known, listing, in: engine),
        try SnapshotAttempts.triedSnapshots(of: id, in: engine)
      )
    }
    let words = later.map(\.word)
    for (candidate, word) in later where !tried.contains(candidate.group) {
      do {
        switch try await goOn(
          id, from: candidate, word, among: words, isOutdated: isOutdated, listing)
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
          try turn { try SnapshotAttempts.noteTried(candidate.group, of: id, in: $0) }
        }
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: candidate.group), error))
      }
    }
    return false
  }

  private mutating func goOn(
    _ id: ZoneID, from candidate: SnapshotPlan.Complete, _ word: SnapshotWord,
    among words: [SnapshotWord], isOutdated: Bool, _ listing: TransportListing
  ) async throws -> SnapshotOutcome {
    let belief = try turn {
      try SnapshotChoice.belief(in: candidate, word, among: words, of: id, listing, by: $0)
    }
    if case .refused(let problem) = belief { return .refused(problem) }
    var chunks: [[UInt8]] = []
    for name in candidate.chunks { chunks.append(try await fetch(name)) }
    let now = nowMilliseconds
    return try turn { [chunks] in
      try SnapshotContinuation.goOn(
        id, from: chunks, candidate, word, belief: belief, among: words, isOutdated: isOutdated,
        listing, in: &$0, nowMilliseconds: now)
    }
  }

  /// The listing's snapshots; each is examined once by this node.
  mutating func knownSnapshots(
    of id: ZoneID, _ listing: TransportListing
  ) async throws -> [KnownSnapshot] {
    var look = try turn { try SnapshotLooks(engine: $0).snapshotLook(of: id, listing) }
    for snapshot in look.unknown where !look.isEnough {
      let first: [UInt8]
      do {
        first = try await fetch(snapshot.chunks[0])
      } catch {
        guard SnapshotMemory.isOfSnapshot(error) else { throw error }
        continue
      }
      if let known = try turn({ try SnapshotLooks(engine: $0).known(snapshot, first, of: id) }) {
        look.note(known)
      }
    }
    return try turn { [look] in try SnapshotLooks(engine: $0).finish(look, of: id) }
  }

  // MARK: A snapshot that was wrong

  /// Attests what a zone holds here if another person's snapshot ends at the same point, and
  /// reports one that says something else.
  mutating func attest(_ id: ZoneID, holding listing: TransportListing) async throws {
    guard !listing.snapshots.isEmpty,
      try turn({ try AttestationCheck(engine: $0).looksAtSnapshots(of: id) })
    else { return }
    let known = try await knownSnapshots(of: id, listing)
    let now = nowMilliseconds
    report.problems += try turn {
      try Attestation.attest(id, beside: known, in: &$0, nowMilliseconds: now)
    }
  }

  /// Takes a zone's changes one by one instead of the snapshot that the zone began from.
  ///
  /// The replicas say which files they need, and change nothing before all are here. If the
  /// transport does not hold every change that is here, the zone stays unchanged and the report
  /// says so.
  mutating func replaceBase(
    of id: ZoneID, contradictedBy author: Author?, holding listing: TransportListing
  ) async throws {
    guard
      let attempt = try turn({
        try BaseReplacement.replacementAttempt(of: id, holding: listing, in: $0)
      })
    else {
      return try noteWrongBase(of: id, "no changes that could replace it have arrived")
    }
    let (now, anchorFile) = (nowMilliseconds, anchorFile)
    var files: [SegmentName: [UInt8]?] = [:]
    var room = replacementBytes
    while true {
      var taken: Taking?
      do {
        try turn {
          try BaseReplacement.replaceBase(
            of: id, contradictedBy: author, by: files, from: listing, anchorFile: anchorFile,
            in: &$0, nowMilliseconds: now, &taken)
        }
        if var taken { note(&taken) }
        return
      } catch let error as LacksFiles {
        for name in error.names {
          let bytes = try await fetched(name)
          files[name] = .some(bytes)
          room -= bytes?.count ?? 0
          guard room >= 0 else {
            try turn { try SnapshotAttempts.remember(replacement: attempt, of: id, in: $0.store) }
            return try noteWrongBase(
              of: id, "more than \(replacementBytes >> 20) MiB of changes would replace it")
          }
        }
      } catch let error as SyncError where error.code == .snapshotContradicted {
        if var taken { note(&taken) }
        try turn { try SnapshotAttempts.remember(replacement: attempt, of: id, in: $0.store) }
        return try noteWrongBase(of: id, "\(error)")
      }
    }
  }

  /// A file's bytes; nil if it cannot be fetched, which is reported.
  private mutating func fetched(_ name: SegmentName) async throws -> [UInt8]? {
    do {
      let bytes = try await transport.fetch(name)
      report.receivedBytes += bytes.count
      return bytes
    } catch let error as TransportError {
      Probe.fetchFailed.hit()
      report.problems.append(error.problem(hidesData: true))
      return nil
    }
  }

  private mutating func noteWrongBase(of id: ZoneID, _ reason: String) throws {
    report.problems.append(try turn { BaseReplacement.wrongBase(of: try $0.zone(id), reason) })
  }
}

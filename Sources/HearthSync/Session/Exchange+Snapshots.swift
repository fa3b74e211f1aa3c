import HearthCRDT
import HearthMembership

// Snapshots of others are taken; decisions 0016, 0051 and 0065 say why it is so.
extension Exchange {
  // MARK: Beginning

  /// Begins an empty zone from the best snapshot of the transport: the good one that covers most.
  ///
  /// One that is not is named in the report, and the next one is tried; without any, the changes
  /// are taken one by one.
  mutating func begin(_ id: ZoneID, holding listing: TransportListing) async throws {
    guard !listing.snapshots.isEmpty, try turn({ try $0.mayBegin(id) }) else { return }
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
        guard Replicas.isOfSnapshot(error) else { throw error }
        Probe.snapshotRefused.hit()
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: candidate.snapshot.group), error))
      }
    }
  }

  /// Fetches a snapshot and begins from it, where it is believed.
  private mutating func begin(
    _ id: ZoneID, from candidate: SnapshotCandidate, among words: [SnapshotWord],
    _ listing: TransportListing
  ) async throws -> SnapshotBelief {
    let belief = try turn {
      try $0.belief(in: candidate.snapshot, candidate.word, among: words, of: id, listing)
    }
    if case .refused = belief { return belief }
    var chunks = [candidate.first]
    for name in candidate.snapshot.chunks.dropFirst() { chunks.append(try await fetch(name)) }
    let now = nowMilliseconds
    return try turn { [chunks] in
      try $0.begin(
        id, from: chunks, candidate, belief: belief, among: words, listing, nowMilliseconds: now)
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
    let ordered = try turn { try $0.ordered(complete, of: id) }
    for snapshot in ordered.prefix(SnapshotPlan.fetchedSnapshots)
    where candidates.count < SnapshotPlan.consideredSnapshots {
      do {
        let first = try await fetch(snapshot.chunks[0])
        if let candidate = try turn({ try $0.candidate(snapshot, first, of: id, listing) }) {
          candidates.append(candidate)
        }
      } catch {
        guard Replicas.isOfSnapshot(error) else { throw error }
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

  /// Goes on from a later snapshot of a zone that is not empty, where it holds changes that stay
  /// closed here, or where the one that the zone rests on is outdated.
  ///
  /// - Parameter isOutdated: whether the zone rests on a snapshot that cannot be trusted any more.
  /// - Returns: whether the zone rests on another snapshot now.
  @discardableResult
  mutating func goOn(
    _ id: ZoneID, holding listing: TransportListing, isOutdated: Bool
  ) async throws -> Bool {
    guard !listing.snapshots.isEmpty,
      let need = try turn({ try $0.snapshotNeed(of: id, isOutdated: isOutdated) })
    else { return false }
    let known = try await knownSnapshots(of: id, listing)
    let (later, tried) = try turn { engine in
      (
        try engine.laterSnapshots(of: id, need, among: known, listing),
        try engine.triedSnapshots(of: id)
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
        guard Replicas.isOfSnapshot(error) else { throw error }
        if Replicas.isLasting(error) { try turn { try $0.noteTried(candidate.group, of: id) } }
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: candidate.group), error))
      }
    }
    return false
  }

  private mutating func goOn(
    _ id: ZoneID, from candidate: SnapshotPlan.Complete, _ word: SnapshotWord,
    among words: [SnapshotWord], isOutdated: Bool, _ listing: TransportListing
  ) async throws -> Replicas.SnapshotOutcome {
    let belief = try turn {
      try $0.belief(in: candidate, word, among: words, of: id, listing)
    }
    if case .refused(let problem) = belief { return .refused(problem) }
    var chunks: [[UInt8]] = []
    for name in candidate.chunks { chunks.append(try await fetch(name)) }
    let now = nowMilliseconds
    return try turn { [chunks] in
      try $0.goOn(
        id, from: chunks, candidate, word, belief: belief, among: words, isOutdated: isOutdated,
        listing, nowMilliseconds: now)
    }
  }

  /// The listing's snapshots, each looked into once in the life of this node.
  mutating func knownSnapshots(
    of id: ZoneID, _ listing: TransportListing
  ) async throws -> [KnownSnapshot] {
    var look = try turn { try $0.snapshotLook(of: id, listing) }
    for snapshot in look.unknown where !look.isEnough {
      let first: [UInt8]
      do {
        first = try await fetch(snapshot.chunks[0])
      } catch {
        guard Replicas.isOfSnapshot(error) else { throw error }
        continue
      }
      if let known = try turn({ try $0.known(snapshot, first, of: id) }) { look.note(known) }
    }
    return try turn { [look] in try $0.finish(look, of: id) }
  }

  // MARK: A snapshot that was wrong

  /// Attests what a zone holds here where a snapshot of somebody else's ends at the same point, and
  /// tells of one that says something else.
  mutating func attest(_ id: ZoneID, holding listing: TransportListing) async throws {
    guard !listing.snapshots.isEmpty, try turn({ try $0.looksAtSnapshots(of: id) }) else { return }
    let known = try await knownSnapshots(of: id, listing)
    let now = nowMilliseconds
    report.problems += try turn { try $0.attest(id, beside: known, nowMilliseconds: now) }
  }

  /// Takes a zone's changes one by one in place of the snapshot that it began from.
  ///
  /// The replicas say which files they need, and change nothing before all are here. Where the
  /// transport does not hold every change that is here, the zone stays as it is and the report says
  /// so.
  mutating func replaceBase(
    of id: ZoneID, contradictedBy author: Author?, holding listing: TransportListing
  ) async throws {
    guard let attempt = try turn({ try $0.replacementAttempt(of: id, holding: listing) }) else {
      return try noteWrongBase(of: id, "no changes that could replace it have arrived")
    }
    let (now, anchorFile) = (nowMilliseconds, anchorFile)
    var files: [SegmentName: [UInt8]?] = [:]
    var room = replacementBytes
    while true {
      var taken: Taking?
      do {
        try turn {
          try $0.replaceBase(
            of: id, contradictedBy: author, by: files, from: listing, anchorFile: anchorFile,
            nowMilliseconds: now, &taken)
        }
        if var taken { note(&taken) }
        return
      } catch let error as LacksFiles {
        for name in error.names {
          let bytes = try await fetched(name)
          files[name] = .some(bytes)
          room -= bytes?.count ?? 0
          guard room >= 0 else {
            try turn { try $0.remember(replacement: attempt, of: id) }
            return try noteWrongBase(
              of: id, "more than \(replacementBytes >> 20) MiB of changes would replace it")
          }
        }
      } catch let error as SyncError where error.code == .snapshotContradicted {
        if var taken { note(&taken) }
        try turn { try $0.remember(replacement: attempt, of: id) }
        return try noteWrongBase(of: id, "\(error)")
      }
    }
  }

  /// A file's bytes; nil, and a problem reported, where it cannot be fetched.
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
    report.problems.append(try turn { Replicas.wrongBase(of: try $0.zone(id), reason) })
  }
}

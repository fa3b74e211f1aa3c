import HearthCRDT
import HearthCrypto
import HearthMembership

/// Replacement of a base snapshot that the changes contradict.
enum BaseReplacement {
  /// The mark of an attempt to do without a zone's snapshot; nil if that attempt was made in vain.
  static func replacementAttempt(
    of id: ZoneID, holding listing: TransportListing, in engine: Engine<some Store>
  ) throws -> Identifier? {
    let attempt = try SnapshotAttempts.replacement(of: id, holding: listing, in: engine)
    return try SnapshotAttempts.triedReplacements(of: id, in: engine.store).contains(attempt)
      ? nil : attempt
  }

  /// Takes a zone's changes one by one instead of the snapshot that the zone began from.
  ///
  /// The replacement is all or nothing. If the files do not hold every change that is here, except
  /// those of the author whom the snapshot misquotes, the zone stays unchanged.
  ///
  /// - Parameters:
  ///   - files: The files of the listing that were fetched so far; nil for those that could not be.
  ///   - taken: Afterwards the result of the files, for the report.
  /// - Throws: ``LacksFiles`` if further files are needed; `snapshotContradicted` if the zone stays
  ///   unchanged.
  static func replaceBase(
    of id: ZoneID, contradictedBy author: Author?, by files: [SegmentName: [UInt8]?],
    from listing: TransportListing, anchorFile: any AnchorFile, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64,
    _ taken: inout Taking?
  ) throws {
    if try Sealing.seal(id, in: &engine) > 0 { try Anchor.drop(anchorFile, for: engine) }
    let before = engine
    do {
      try engine.store.transaction {
        engine = before
        try engine.store.snapshots.removeBase(of: id)
        try StoredClaims.save(heldBack: [], ofBaseOf: id, in: engine.store)
        // Pending segments are judged again too: a wrong snapshot refutes authors who cite the
        // truth.
        try Rebuild.rebuildWithin(id, in: &engine, nowMilliseconds: nowMilliseconds)
        taken = try takeAll(
          of: id, among: files, listing, in: &engine, nowMilliseconds: nowMilliseconds)
        let old = try before.zone(id)
        // Nobody has the changes beyond the end of a log with two histories. Changes that are held
        // back for their citations are here.
        let refuted = Set(
          try engine.store.pending.entries(in: id).filter { $0.reason == .falseClaim }
            .compactMap { $0.author(in: old) })
        let needed = old.heads.filter { $0.author != author || author?.device == engine.device }
          .filter { !refuted.contains($0.author) }
          .map { ($0.author, min($0.sequence, (old.forkEnds[$0.author] ?? .max) - 1)) }
        guard try engine.zone(id).frontier.covers(Frontier(needed)) else {
          throw SyncError(
            .snapshotContradicted, "some of the changes that would replace it are missing")
        }
        try rewrite(try takeBackMiscited(in: id, by: engine), of: id, nowMilliseconds, in: &engine)
      }
    } catch {
      engine = before
      throw error
    }
    if engine.incarnation != before.incarnation { try Anchor.drop(anchorFile, for: engine) }
  }

  /// Takes what is new in a listing from files that were fetched before.
  private static func takeAll(
    of id: ZoneID, among files: [SegmentName: [UInt8]?], _ listing: TransportListing,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> Taking {
    var taking = try FetchRounds.taking(of: id, from: listing, in: engine.store)
    // The replacement is all or nothing: a bound of its own limits what it fetches in vain.
    taking.waste.isLimited = false
    var names = try FetchRounds.goOn(&taking, in: &engine, nowMilliseconds: nowMilliseconds)
    while !names.isEmpty {
      let lacking = names.filter { files[$0] == nil }
      guard lacking.isEmpty else { throw LacksFiles(names: lacking) }
      let fetched = names.compactMap { name in
        (files[name] ?? nil).map { (name: name, bytes: $0) }
      }
      let found = Set(fetched.map(\.name))
      for name in names where !found.contains(name) { taking.fail(name) }
      if !fetched.isEmpty {
        try FetchRounds.receive(fetched, &taking, in: &engine, nowMilliseconds: nowMilliseconds)
      }
      names = try FetchRounds.goOn(&taking, in: &engine, nowMilliseconds: nowMilliseconds)
    }
    return taking
  }

  /// Takes back own changes that cite what the wrong snapshot said of others' logs.
  ///
  /// No device that has those logs accepts such changes, whoever misled this device.
  private static func takeBackMiscited(in id: ZoneID, by engine: Engine<some Store>) throws
    -> [Change]
  {
    let zone = try engine.zone(id)
    let claimed = try engine.store.pending.entries(in: id).filter {
      $0.reason == .falseClaim && $0.author(in: zone)?.device == engine.device
    }
    let authors = Set(claimed.compactMap { $0.author(in: zone) })
    guard !authors.isEmpty else { return [] }
    let opener = SegmentOpener(zone: zone, membership: engine.membership(of: zone.group))
    var changes: [Dot: Change] = [:]
    for segment in try engine.store.log.segments(of: id) where authors.contains(segment.author) {
      let reached = zone.head(of: segment.author).sequence
      guard segment.last > reached,
        let bytes = try engine.store.log.bytes(of: segment.digest, in: id),
        let opened = opener.reopened(bytes, author: segment.author)
      else { continue }
      for change in opened.changes where change.dot.sequence > reached {
        changes[change.dot] = change
      }
      if segment.first > reached { try engine.store.log.removeSegment(segment.digest, in: id) }
    }
    for entry in try engine.store.pending.entries(in: id)
    where entry.author(in: zone).map(authors.contains) ?? false {
      try engine.store.pending.remove(entry.digest, in: id)
    }
    return changes.keys.sorted().compactMap { changes[$0] }
  }

  /// Reissues such changes in a new incarnation: the log of the previous one ends before them.
  private static func rewrite(
    _ changes: [Change], of id: ZoneID, _ nowMilliseconds: UInt64,
    in engine: inout Engine<some Store>
  ) throws {
    guard !changes.isEmpty else { return }
    try NewIncarnation.begin(
      reason: "this device had begun from a wrong snapshot, which its changes cite",
      in: &engine, nowMilliseconds: nowMilliseconds)
    try Reissue.reissue(
      changes.map { (id, $0) }, now: nowMilliseconds, isOwnLife: false, in: &engine)
  }

  /// The problem with a base snapshot that is wrong, for a reason.
  static func wrongBase(of zone: ZoneState, _ reason: String) -> TransportProblem {
    TransportProblem(
      place: "zone \(zone.name)", fault: "the zone still uses a wrong snapshot: \(reason)",
      remedy: "let the other devices sync, then sync again", hidesData: true)
  }
}

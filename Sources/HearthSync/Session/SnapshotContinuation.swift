import HearthCRDT
import HearthCrypto
import HearthMembership

/// Why a zone that is not empty needs a later snapshot.
enum SnapshotNeed {
  /// The zone's base snapshot can no longer be trusted.
  case outdated
  /// Changes up to these ones stay closed on this device.
  case closed([Dot])
}

/// The result of an attempt to continue from a snapshot.
enum SnapshotOutcome {
  /// The zone is now based on the snapshot, with the number of changes that it brought and of
  /// segments that are pending.
  case taken(changes: Int, waiting: Int)
  /// The snapshot lacks changes that are here, or cannot be trusted either; nothing was changed.
  case useless
  /// The snapshot is not believed; with the problem to report.
  case refused(TransportProblem?)
}

/// Continuation from a later snapshot, for newcomers without the keys of earlier changes.
///
/// Decision 0051 explains the reasons.
enum SnapshotContinuation {

  // MARK: Going on from a later snapshot

  /// Why a zone needs a later snapshot than its base; nil if it does not.
  static func snapshotNeed(of id: ZoneID, isOutdated: Bool, in engine: Engine<some Store>) throws
    -> SnapshotNeed?
  {
    let zone = try engine.zone(id)
    guard zone.kind == .data, !zone.frontier.isEmpty,
      engine.membership(of: zone.group).history.withholdsKeys
    else { return nil }
    if isOutdated { return .outdated }
    let closed = try ClosedSegments(engine: engine).closedSegments(of: zone).compactMap {
      ClosedSegments(engine: engine).waitingEnd(of: $0, in: zone)
    }
    return closed.isEmpty ? nil : .closed(closed)
  }

  /// The complete snapshots of a listing that serve a zone's need, the one that covers most first.
  ///
  /// - Parameter known: The snapshots that were examined.
  static func laterSnapshots(
    of id: ZoneID, _ need: SnapshotNeed, among known: [KnownSnapshot],
    _ listing: TransportListing, in engine: Engine<some Store>
  ) throws -> [(snapshot: SnapshotPlan.Complete, word: SnapshotWord)] {
    let zone = try engine.zone(id)
    let serving = known.filter { snapshot in
      guard !snapshot.frontier.isEmpty, zone.holdsEpoch(tagged: snapshot.epoch) else {
        return false
      }
      guard case .closed(let closed) = need else { return true }
      return closed.contains {
        snapshot.frontier[$0.author] > zone.head(of: $0.author).sequence
      }
    }
    let words = Dictionary(
      serving.map { ($0.group, SnapshotWords.word(of: $0, in: zone, by: engine)) },
      uniquingKeysWith: { first, _ in first })
    let present = try engine.store.snapshots.base(of: zone.id).flatMap {
      SnapshotPlan.names(of: try SnapshotOpening.chunks(of: $0), zoneTag: zone.tag).first?.group
    }
    return SnapshotPlan.sorted(listing.snapshots).complete
      .compactMap { snapshot in
        words[snapshot.group].flatMap { snapshot.group == present ? nil : (snapshot, $0) }
      }
      .sorted {
        (SnapshotPlan.weight(of: $0.word.frontier), $0.snapshot.group)
          > (SnapshotPlan.weight(of: $1.word.frontier), $1.snapshot.group)
      }
  }

  /// Continues from the chunks of a later snapshot.
  ///
  /// Either nothing that was applied here is lost, or the zone stays unchanged.
  ///
  /// - Parameter digest: The digest of the chunks' content, which was opened.
  static func goOn(
    _ id: ZoneID, from chunks: [[UInt8]], _ digest: [UInt8], _ candidate: SnapshotPlan.Complete,
    _ word: SnapshotWord, belief: SnapshotBelief, among words: [SnapshotWord],
    isOutdated: Bool, _ listing: TransportListing, in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> SnapshotOutcome {
    guard !chunks.isEmpty else { return .refused(nil) }
    let zone = try engine.zone(id)
    _ = try SnapshotChoice.checkedHeads(
      ofSnapshot: chunks, of: chunks.count, in: zone, listing, by: engine)
    if case .needsVoice = belief {
      guard try SnapshotTrust(engine: engine).isVouched(word, digest, by: words, in: zone) else {
        return .refused(
          try SnapshotTrust(engine: engine).problemWithBelief(
            in: candidate, word, of: zone, listing))
      }
    }
    guard
      let waiting = try rest(id, on: chunks, isOutdated: isOutdated, nowMilliseconds, in: &engine)
    else {
      try SnapshotAttempts.noteTried(candidate.group, of: id, in: engine)
      return .useless
    }
    let weight = SnapshotPlan.weight(of: try engine.zone(id).frontier)
    let before = SnapshotPlan.weight(of: zone.frontier)
    return .taken(changes: Int(clamping: weight > before ? weight - before : 0), waiting: waiting)
  }

  /// Bases a zone on another snapshot, then applies its own log and the pending segments.
  ///
  /// - Returns: The number of segments that are pending afterwards; nil if nothing was changed,
  ///   because the snapshot lacks changes that are here or cannot be trusted either.
  private static func rest(
    _ id: ZoneID, on chunks: [[UInt8]], isOutdated: Bool, _ nowMilliseconds: UInt64,
    in engine: inout Engine<some Store>
  ) throws -> Int? {
    let container = SnapshotOpening.container(of: chunks)
    let before = engine
    var waiting = 0
    do {
      try engine.store.transaction {
        engine = before
        let zone = try engine.zone(id)
        // Pending segments were not judged by the keys that sealed them, unlike applied ones.
        let pending = try engine.store.pending.segments(in: id)
        for segment in pending { try engine.store.pending.remove(segment.digest, in: id) }
        try engine.store.snapshots.saveBase(container, of: id)
        try Rebuild.rebuildWithin(id, in: &engine, nowMilliseconds: nowMilliseconds)
        let now = try engine.zone(id)
        let lost = zone.heads.first { head in
          !continues(head, now.head(of: head.author), in: engine)
            && !isLossAllowed(of: head, in: zone, isOutdated: isOutdated, by: engine)
        }
        if let lost { throw LacksChanges(author: lost.author) }
        if try isOutdated && BaseAuthors(engine: engine).authorLessenedInBase(of: id) != nil {
          throw LacksChanges(author: engine.author)
        }
        for segment in pending { try engine.store.pending.save(segment, in: id) }
        let received = try engine.receive([], in: id, nowMilliseconds: nowMilliseconds)
        waiting = received.waiting.values.reduce(0, +)
      }
    } catch is LacksChanges {
      engine = before
      return nil
    } catch {
      engine = before
      throw error
    }
    return waiting
  }

  /// Whether another state of a log contains everything of it; only this device decides how far its
  /// own log goes.
  private static func continues(_ head: LogHead, _ now: LogHead, in engine: Engine<some Store>)
    -> Bool
  {
    if now.sequence == head.sequence { return now.hash == head.hash }
    return now.sequence > head.sequence && head.author != engine.author
  }

  /// Whether a log may be shorter after a zone was based on another snapshot, because what ended
  /// the log has no effect.
  private static func isLossAllowed(
    of head: LogHead, in zone: ZoneState, isOutdated: Bool, by engine: Engine<some Store>
  ) -> Bool {
    zone.forkEnds[head.author] != nil
      || isOutdated && head.author.device != engine.device
        && engine.membership(of: zone.group).changes.isOverruled(
          Dot(author: head.author, sequence: head.sequence), in: zone.id, at: head.controlSeen)
  }
}

/// The error that a snapshot lacks changes of an author that are here.
private struct LacksChanges: Error {
  let author: Author
}

import HearthCRDT
import HearthCrypto
import HearthMembership

/// Rebuilding of a zone's records from its snapshot and its log.
package enum Rebuild {
  /// Rebuilds a zone's records from its snapshot and its log.
  ///
  /// A changed judgement may end a log or make it wait; its segments are then kept with the pending
  /// ones.
  ///
  /// - Throws: `corrupt` if the log lacks applied changes. Nothing is then changed.
  package static func rebuild(
    _ zone: ZoneID, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    try rebuild(zone, without: nil, in: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Rebuilds a zone in which an author's last changes may have been taken back before.
  ///
  /// - Parameter opened: What a check has just opened of the zone's log.
  static func rebuild(
    _ zone: ZoneID, without author: Author?, opened: OpenedMemory? = nil,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let before = engine
    do {
      let frontier = try engine.zone(zone).frontier
      let proven = try engine.zone(zone).forkEnds
      try engine.store.transaction {
        try rebuildWithin(
          zone, opened: opened, in: &engine, nowMilliseconds: nowMilliseconds)
        let reached = try engine.zone(zone).frontier
        let short = frontier.entries.filter {
          $0.author != author && reached[$0.author] < $0.sequence && proven[$0.author] == nil
        }
        let lost = short.isEmpty ? nil : try lost(among: short, in: zone, by: engine)
        if let lost {
          throw SyncError(
            .corrupt,
            "the log of \(try engine.zone(zone).name) lacks changes of \(lost.author) beyond "
              + "\(reached[lost.author]): the records stay as they are; run `hearth verify`")
        }
      }
    } catch {
      engine = before
      throw error
    }
  }

  /// The first log whose next change is missing; a change that is pending or makes a false claim is
  /// not.
  ///
  /// The own log is never pending: the next own change would take the number of the pending one.
  private static func lost(
    among logs: [Frontier.Entry], in id: ZoneID, by engine: Engine<some Store>
  ) throws -> Frontier.Entry? {
    let zone = try engine.zone(id)
    var waiting: Set<Author> = []
    for entry in try engine.store.pending.entries(in: id)
    where entry.reason == .cause || entry.reason == .falseClaim {
      guard let author = entry.author(in: zone), author != engine.author else { continue }
      let next = zone.head(of: author).sequence + 1
      if entry.first <= next, next <= entry.last { waiting.insert(author) }
    }
    return logs.first { !waiting.contains($0.author) }
  }

  /// The work of ``rebuild(_:nowMilliseconds:)`` within its transaction.
  ///
  /// - Parameters:
  ///   - draft: Where logs stand in the snapshot whose records are in the zone's draft; nil to take
  ///     the records from the zone's base.
  ///   - opened: What a check has just opened of the zone's log.
  static func rebuildWithin(
    _ zone: ZoneID, onto draft: SnapshotEnds? = nil, opened: OpenedMemory? = nil,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let place = try engine.place(of: zone)
    if draft == nil { Work.rebuilds.add(1) }
    let proven = engine.zones[place].forkEnds
    let voids = try StoredVoids.roleVoids(of: zone, in: engine.store)
    try StoredVoids.save(RoleVoids(), of: zone, in: engine.store)
    let ends = engine.zones[place].heads.filter { $0.forkedAt != nil && proven[$0.author] == nil }
    let segments = try engine.store.log.segments(of: zone).sorted {
      ($0.author, $0.first) < ($1.author, $1.first)
    }
    let blobs = try segments.compactMap { try engine.store.log.bytes(of: $0.digest, in: zone) }
    let unsealed = try unsealedChanges(at: place, in: engine)
    if let draft {
      try clearHeads(at: place, in: &engine)
      try engine.store.drafts.exchange(of: zone)
      try SnapshotLoading.take(draft, into: zone, in: &engine, nowMilliseconds: nowMilliseconds)
    } else {
      try loadBase(at: place, in: &engine, nowMilliseconds: nowMilliseconds)
    }
    try engine.store.facts.set(StateDigest.checkedDigestFact(of: zone), to: nil)
    let report = try ZoneIntake.receive(
      blobs, in: zone, ends: ends, isRebuilding: true, opened: opened, by: &engine,
      nowMilliseconds: nowMilliseconds)
    engine.unprovenForks += report.evidence
    Probe.rebuiltWithUnsealed.hit(if: unsealed.contains(where: { !$0.isEmpty }))
    for encoded in unsealed where !Mutant.rebuildForgetsUnsealed.isActive {
      try replay(encoded, at: place, in: &engine)
    }
    try holdBack(ends, at: place, in: &engine)
    try VoidNotices(engine: engine).tell(
      of: try StoredVoids.roleVoids(of: zone, in: engine.store).changes(besides: voids),
      in: engine.zones[place],
      nowMilliseconds: nowMilliseconds)
    try ComparisonMemory.compareSoon(
      engine.zones[place], in: engine.store, nowMilliseconds: nowMilliseconds)
    // Unsealed operations may be what shows the histories of a log.
    if engine.zones[place].kind == .control {
      try MembershipRefresh.refresh(of: engine.zones[place].group, in: &engine)
    }
  }

  /// The own changes that are in no segment yet, log by log.
  private static func unsealedChanges(
    at place: Int, in engine: Engine<some Store>
  ) throws -> [[[UInt8]]] {
    let zone = engine.zones[place]
    return try zone.heads.map(\.author).filter { $0.device == engine.device }
      .map { author in
        try engine.store.log.changes(
          of: author, in: zone.id, after: 0, limit: Limits.maximumSegmentChanges * 100)
      }
  }

  /// Leaves a zone only what its base snapshot holds, if it has one.
  private static func loadBase(
    at place: Int, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    let zone = engine.zones[place].id
    try engine.store.records.removeAll(of: zone)
    try engine.store.projections.removeRows(of: zone)
    try clearHeads(at: place, in: &engine)
    guard let base = try engine.store.snapshots.base(of: zone) else { return }
    Probe.rebuiltFromSnapshot.hit()
    try SnapshotLoading.load(
      snapshot: try SnapshotOpening.chunks(of: base), into: zone, isAccepted: true, in: &engine,
      nowMilliseconds: nowMilliseconds)
  }

  private static func clearHeads(at place: Int, in engine: inout Engine<some Store>) throws {
    try engine.store.zones.removeHeads(of: engine.zones[place].id)
    engine.zones[place].resetHeads()
  }

  /// Ends logs again that had ended before, as far as they were not found to end now.
  private static func holdBack(
    _ ends: [LogHead], at place: Int, in engine: inout Engine<some Store>
  ) throws {
    for end in ends {
      var head = engine.zones[place].head(of: end.author)
      guard head.forkedAt == nil, head.sequence > 0 else { continue }
      head.forkedAt = end.forkedAt
      engine.zones[place].set(head)
      try engine.store.zones.save([head], of: engine.zones[place].id)
    }
  }

  /// Reapplies own unsealed changes unmodified.
  private static func replay(
    _ encoded: [[UInt8]], at place: Int, in engine: inout Engine<some Store>
  ) throws {
    for bytes in encoded {
      let change = try OwnTail.stored(bytes, in: engine.zones[place])
      var head = engine.zones[place].head(of: change.dot.author)
      guard change.dot.sequence == head.sequence + 1 else { continue }
      let hash = engine.zones[place].chainHash(of: bytes)
      guard let seen = head.seen.raised(by: change.seen),
        let controlSeen = head.controlSeen.raised(by: change.controlSeen)
      else { continue }
      var past = seen
      past.advance(head.author, to: head.sequence)
      let zone = engine.zones[place]
      var applier = Applier(zone: zone.id, store: engine.store, policy: engine.policy)
      try applier.prepare(for: CollectionOfOne(change))
      let judgement =
        zone.kind == .data
        ? engine.membership(of: zone.group).changes.judge(change.dot, in: zone.id, at: controlSeen)
        : nil
      let membership = engine.membership(of: zone.group)
      try applier.apply(
        change, past: past, as: judgement,
        by: membership.changes.author(of: change.dot, at: controlSeen)
      ) { membership.changes.standing(of: $0, knownTo: change.dot.author.device, at: controlSeen) }
      try applier.flush()
      _ = try StoredVoids.note(applier.voids, in: zone.id, with: engine.store)
      try head.advance(over: change, hash: hash)
      engine.zones[place].set(head)
    }
    try engine.store.zones.save(engine.zones[place].heads, of: engine.zones[place].id)
  }
}

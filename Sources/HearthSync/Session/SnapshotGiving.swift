import HearthCRDT
import HearthCrypto
import HearthMembership

/// Which snapshots this device gives, and when.
///
/// Decisions 0016 and 0051 explain the reasons.
struct SnapshotGiving<S: Store> {
  let engine: Engine<S>

  /// The snapshot that a zone began from, unchanged, if a transport has neither the changes in it
  /// nor any other snapshot.
  func baseToForward(
    of id: ZoneID, to listing: TransportListing
  ) throws -> NamedSnapshot? {
    let zone = try engine.zone(id)
    guard zone.kind == .data, SnapshotPlan.sorted(listing.snapshots).complete.isEmpty,
      let base = try engine.store.snapshots.base(of: zone.id),
      try !SyncPlan.holdsAll(
        BaseSnapshot(engine: engine).baseHeads(of: zone), of: zone, in: listing)
    else { return nil }
    return SnapshotMemory.named(try SnapshotOpening.chunks(of: base), in: zone)
  }

  /// Whether this device may make a snapshot of a zone, and the zone has enough changes for one.
  func mayGiveSnapshot(of id: ZoneID, stored: [StoredSegment]) throws -> Bool {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    guard zone.kind == .data, let role = membership.role(of: engine.device),
      role.rank >= Role.admin.rank,
      zone.heads.allSatisfy({
        $0.forkedAt == nil
          || membership.history.withholdsKeys && NewcomerNeeds(engine: engine).isEnded($0, zone)
      })
    else { return false }
    return try membership.history.withholdsKeys || engine.store.snapshots.base(of: id) != nil
      || SnapshotPlan.pays(stored, applied: zone.frontier, beyond: Frontier())
  }

  /// Whether a new snapshot saves enough or somebody needs one, in addition to the known ones.
  func isSnapshotDue(
    of id: ZoneID, known: [KnownSnapshot], _ listing: TransportListing, stored: [StoredSegment]
  ) throws -> Bool {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    let keys = Set(
      NewcomerKeys(engine: engine).keysForNewcomers(of: zone).map { Identifier($0.tag) })
    let mayServe = try NewcomerNeeds(engine: engine).epochsForAllMembers(
      known.map(\.epoch), of: zone)
    let serving = try known.filter {
      try zone.frontier.covers($0.frontier)
        && !AttestationCheck(engine: engine).isRefuted(
          SnapshotWords.word(of: $0, in: zone, by: engine), in: zone)
        && (!membership.history.withholdsKeys
          || keys.contains($0.epoch) && mayServe.contains($0.epoch))
    }
    let isAsked =
      membership.person(of: engine.device).map { membership.isAskedForWord($0.id) } ?? false
    let said = try serving.filter {
      try !isAsked
        || SnapshotTrust(engine: engine).isSaid(
          SnapshotWords.word(of: $0, in: zone, by: engine), in: zone)
    }
    return try SnapshotPlan.pays(
      stored, applied: zone.frontier, beyond: SnapshotPlan.furthest(of: serving))
      || NewcomerNeeds(engine: engine).isSnapshotNeeded(
        by: keys, of: zone, beyond: SnapshotPlan.furthest(of: said), stored: stored)
      || SnapshotTrust(engine: engine).isOwnWordNeeded(of: zone, known: known, holding: listing)
  }

  /// Makes a snapshot of a zone and notes that it was begun; nil if there is no key for it.
  func beginSnapshot(of id: ZoneID) throws -> NamedSnapshot? {
    let zone = try engine.zone(id)
    guard let epoch = zone.currentEpoch.map({ Identifier($0.tag) }) else { return nil }
    let chunks = try SnapshotMaking.snapshot(of: id, in: engine)
    guard var named = SnapshotMemory.named(chunks, in: zone) else { return nil }
    var own = KnownSnapshot(
      group: named.group, isOwn: true, maker: zone.authorTag(of: engine.device), epoch: epoch,
      mark: SnapshotMark.mark(of: zone.heads, try FalseClaims(engine: engine).heldBack(in: zone)),
      link: try chunks.first.map { try Envelope.parseHeader($0).linkBefore }
        ?? SnapshotMemory.noLink,
      frontier: Frontier())
    try SnapshotMemory.remember([own], of: zone, in: engine.store)
    own.frontier = zone.frontier
    named.known = own
    return named
  }

  /// Notes that a snapshot was published.
  ///
  /// - Returns: What it replaces: own snapshots except the newest, and the remains of interrupted
  ///   publications.
  func finish(
    _ snapshot: NamedSnapshot, of id: ZoneID, _ listing: TransportListing
  ) throws -> [BlobName] {
    let zone = try engine.zone(id)
    if let known = snapshot.known {
      try SnapshotMemory.remember([known], of: zone, in: engine.store)
    }
    let complete = Set(SnapshotPlan.sorted(listing.snapshots).complete.map(\.group))
    let own = try SnapshotMemory.remembered(of: zone, in: engine.store).filter {
      $0.isOwn && $0.group != snapshot.group
    }
    let whole = own.filter { complete.contains($0.group) }
      .sorted { SnapshotPlan.weight(of: $0.frontier) > SnapshotPlan.weight(of: $1.frontier) }
    // A newcomer with an invitation that is still open has only the key of that time.
    let promised = try NewcomerNeeds(engine: engine).epochsOfOpenInvites(in: zone).compactMap {
      epoch in
      whole.first { $0.epoch == epoch }?.group
    }
    let kept = whole.prefix(SnapshotPlan.keptSnapshots - 1).map(\.group) + promised
    let dropped = Set(own.map(\.group)).subtracting(kept)
    return listing.snapshots.filter { dropped.contains($0.group) }
  }
}

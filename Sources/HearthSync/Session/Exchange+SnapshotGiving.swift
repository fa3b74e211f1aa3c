import HearthCRDT
import HearthCrypto
import HearthMembership

// Snapshots are given where newcomers need them; decisions 0016 and 0051 say why it is so.
extension Exchange {
  /// Gives the transport the snapshots it lacks: a new one where that pays, and the one that this
  /// zone began from where the transport has nothing instead.
  mutating func giveSnapshots(
    of id: ZoneID, holding listing: TransportListing, stored: [StoredSegment]
  ) async throws {
    if let base = try turn({ try $0.baseToForward(of: id, to: listing) }) {
      Probe.snapshotForwarded.hit()
      try await publish(base)
    }
    guard try turn({ try $0.mayGiveSnapshot(of: id, stored: stored) }) else { return }
    let known = try await knownSnapshots(of: id, listing)
    let made = try turn { engine in
      guard try engine.isSnapshotDue(of: id, known: known, listing, stored: stored) else {
        return NamedSnapshot?.none
      }
      // Begun, so that a later round can remove what a cut left; done only with the last chunk.
      return try engine.beginSnapshot(of: id)
    }
    guard let made else { return }
    try await publish(made)
    let dropped = try turn { try $0.finish(made, of: id, listing) }
    guard !dropped.isEmpty else { return }
    Probe.snapshotReplaced.hit()
    for name in dropped { try await transport.remove(name) }
  }

  private mutating func publish(_ snapshot: NamedSnapshot) async throws {
    for (name, chunk) in snapshot.chunks {
      try await transport.publish(name, chunk)
      report.publishedBytes += chunk.count
    }
    report.publishedSnapshots += 1
    Probe.snapshotPublished.hit()
  }
}

/// A sealed snapshot with the names of its chunks.
struct NamedSnapshot {
  let group: Identifier
  let chunks: [(name: BlobName, bytes: [UInt8])]
  /// What is to be remembered of it once it is given.
  fileprivate var known: KnownSnapshot?
}

extension Engine {
  /// The snapshot that a zone began from, as it came, where a transport has neither the changes in
  /// it nor any other snapshot.
  fileprivate func baseToForward(
    of id: ZoneID, to listing: TransportListing
  ) throws -> NamedSnapshot? {
    let zone = try zone(id)
    guard zone.kind == .data, SnapshotPlan.sorted(listing.snapshots).complete.isEmpty,
      let base = try store.snapshots.base(of: zone.id),
      try !SyncPlan.holdsAll(baseHeads(of: zone), of: zone, in: listing)
    else { return nil }
    return Engine.named(try Engine.chunks(of: base), in: zone)
  }

  private static func named(_ chunks: [[UInt8]], in zone: ZoneState) -> NamedSnapshot? {
    let names = SnapshotPlan.names(of: chunks, zoneTag: zone.tag)
    return names.first.map {
      NamedSnapshot(group: $0.group, chunks: zip(names, chunks).map { (name: $0, bytes: $1) })
    }
  }

  /// Whether this device may make a snapshot of a zone, and there is enough for one.
  fileprivate func mayGiveSnapshot(of id: ZoneID, stored: [StoredSegment]) throws -> Bool {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    guard zone.kind == .data, let role = membership.role(of: device),
      role.rank >= Role.admin.rank,
      zone.heads.allSatisfy({
        $0.forkedAt == nil || membership.history.withholdsKeys && isEnded($0, zone)
      })
    else { return false }
    return try membership.history.withholdsKeys || store.snapshots.base(of: id) != nil
      || SnapshotPlan.pays(stored, applied: zone.frontier, beyond: Frontier())
  }

  /// Whether a new snapshot pays, or somebody needs one, beside those that are known.
  fileprivate func isSnapshotDue(
    of id: ZoneID, known: [KnownSnapshot], _ listing: TransportListing, stored: [StoredSegment]
  ) throws -> Bool {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    let keys = Set(keysForNewcomers(of: zone).map { Identifier($0.tag) })
    let mayServe = try epochsForAllMembers(known.map(\.epoch), of: zone)
    let serving = try known.filter {
      try zone.frontier.covers($0.frontier) && !isRefuted(word(of: $0, in: zone), in: zone)
        && (!membership.history.withholdsKeys
          || keys.contains($0.epoch) && mayServe.contains($0.epoch))
    }
    let isAsked = membership.person(of: device).map { membership.isAskedForWord($0.id) } ?? false
    let said = try serving.filter { try !isAsked || isSaid(word(of: $0, in: zone), in: zone) }
    return try SnapshotPlan.pays(
      stored, applied: zone.frontier, beyond: SnapshotPlan.furthest(of: serving))
      || isSnapshotNeeded(
        by: keys, of: zone, beyond: SnapshotPlan.furthest(of: said), stored: stored)
      || isOwnWordNeeded(of: zone, known: known, holding: listing)
  }

  /// Makes a snapshot of a zone and remembers that it was begun; nil where there is no key for it.
  fileprivate func beginSnapshot(of id: ZoneID) throws -> NamedSnapshot? {
    let zone = try zone(id)
    guard let epoch = zone.currentEpoch.map({ Identifier($0.tag) }) else { return nil }
    let chunks = try snapshot(of: id)
    guard var named = Engine.named(chunks, in: zone) else { return nil }
    var own = KnownSnapshot(
      group: named.group, isOwn: true, maker: zone.authorTag(of: device), epoch: epoch,
      mark: Engine.mark(of: zone.heads, try heldBack(in: zone)),
      link: try chunks.first.map { try Envelope.parseHeader($0).linkBefore } ?? Engine.noLink,
      frontier: Frontier())
    try remember([own], of: zone)
    own.frontier = zone.frontier
    named.known = own
    return named
  }

  /// Remembers that a snapshot is given.
  ///
  /// - Returns: what it replaces: own snapshots but the newest, and what is left of publications
  ///   that were cut off.
  fileprivate func finish(
    _ snapshot: NamedSnapshot, of id: ZoneID, _ listing: TransportListing
  ) throws -> [BlobName] {
    let zone = try zone(id)
    if let known = snapshot.known { try remember([known], of: zone) }
    let complete = Set(SnapshotPlan.sorted(listing.snapshots).complete.map(\.group))
    let own = try remembered(of: zone).filter { $0.isOwn && $0.group != snapshot.group }
    let whole = own.filter { complete.contains($0.group) }
      .sorted { SnapshotPlan.weight(of: $0.frontier) > SnapshotPlan.weight(of: $1.frontier) }
    // Whoever comes by an invitation that is still open has the key of then, and no other.
    let promised = try epochsOfOpenInvites(in: zone).compactMap { epoch in
      whole.first { $0.epoch == epoch }?.group
    }
    let kept = whole.prefix(SnapshotPlan.keptSnapshots - 1).map(\.group) + promised
    let dropped = Set(own.map(\.group)).subtracting(kept)
    return listing.snapshots.filter { dropped.contains($0.group) }
  }
}

import HearthCRDT
import HearthMembership

/// What this device publishes to a transport.
struct Publications<S: Store> {
  let engine: Engine<S>

  /// Notes how far the own logs are sealed before anything read in the same turn leaves the node:
  /// another exchange or a call may have sealed changes since the round began.
  func keepUp(_ anchorFile: any AnchorFile) throws {
    if !Mutant.anchorsLate.isActive { try Anchor.keepUp(anchorFile, with: engine) }
  }

  /// The most bytes of evidence that are passed on for a zone, the shortest first: a member with
  /// many incarnations can make one piece in each.
  private static var evidenceBytes: Int { 4 * 1024 * 1024 }

  /// The bytes of the first of some segments, up to a total size, and the number of segments taken.
  func batch(
    _ segments: ArraySlice<(segment: StoredSegment, name: SegmentName)>, of id: ZoneID,
    atMost limit: Int
  ) throws -> (files: [(name: SegmentName, bytes: [UInt8])], count: Int) {
    var files: [(name: SegmentName, bytes: [UInt8])] = []
    var (count, byteCount) = (0, 0)
    for (segment, name) in segments where byteCount < limit {
      count += 1
      guard let bytes = try engine.store.log.bytes(of: segment.digest, in: id) else { continue }
      Probe.passedOn.hit(if: segment.author.device != engine.device)
      files.append((name, bytes))
      byteCount += bytes.count
    }
    return (files, count)
  }

  /// The evidence of a zone that a transport lacks.
  func evidence(
    of id: ZoneID, except listed: Set<Identifier>
  ) throws -> [(name: SegmentName, bytes: [UInt8])] {
    let zone = try engine.zone(id)
    var room = Self.evidenceBytes
    let entries = try engine.store.pending.entries(in: id).filter { $0.reason == .falseClaim }
      .sorted { ($0.byteCount, $0.digest) < ($1.byteCount, $1.digest) }
      .prefix { entry in
        room -= entry.byteCount
        return room >= 0
      }
    return try entries.compactMap { entry in
      guard !listed.contains(entry.digest),
        let bytes = try engine.store.pending.bytes(of: entry.digest, in: id)
      else { return nil }
      let name = SegmentName(
        zoneTag: zone.tag, authorTag: entry.authorTag, incarnation: entry.incarnation,
        first: entry.first, last: entry.last, digest: entry.digest)
      return (name, bytes)
    }
  }

  /// The own segments that a transport lacks.
  func ownPublications(
    of id: ZoneID, to listing: TransportListing
  ) throws -> [(segment: StoredSegment, name: SegmentName)] {
    let state = try engine.zone(id)
    let own = try engine.store.log.segments(of: id).filter { $0.author.device == engine.device }
    let trusted = try NameTrust(engine: engine).trustedNames(of: state, in: listing, stored: own)
    return SyncPlan(zone: state, stored: own, pending: []).publications(
      to: listing, stored: own, trusted: trusted, of: state, by: engine.device)
  }

  /// The files of a zone on a transport that larger files there have replaced.
  ///
  /// Each device removes its own replaced files. A device of an owner or admin also removes those
  /// of former devices, because a stale copy of a folder may bring them back, and at a relay those
  /// of all devices. Every device removes those of an author with many such files, because that
  /// author does not use this transport, or would have removed them.
  ///
  /// - Returns: The files that are stored here, which need not be examined, and the others.
  func superseded(
    on listing: TransportListing, of id: ZoneID, stored: [StoredSegment], keepsAuthorsApart: Bool
  ) throws -> (known: [SegmentName], unknown: [SegmentName]) {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    let isAdmin = membership.role(of: engine.device)?.rank ?? 0 >= Role.admin.rank
    let plan = SyncPlan(zone: zone, known: [])
    // Nothing proves the name of a stored segment that waits for a newer program.
    let applied = Dictionary(
      grouping: stored.filter { $0.last <= zone.frontier[$0.author] }, by: \.author.device)
    let listed = Dictionary(grouping: listing.segments, by: \.authorTag)
    var superseded: [SegmentName] = []
    let others = membership.allDevices.map(\.id).filter { $0 != engine.device }
    for author in [engine.device] + others {
      let tag = zone.authorTag(of: author)
      guard let names = listed[tag], let held = applied[author] else { continue }
      let found = plan.superseded(
        on: TransportListing(segments: names), by: held, of: zone, tag: tag,
        sparesKnown: author == engine.device)
      if author != engine.device, !isAdmin || membership.isActive(author) {
        // If authors cannot remove what others published in their place, an admin does so at once.
        let isFew = found.count < Compaction.compactionThreshold
        guard !isFew || isAdmin && keepsAuthorsApart,
          !found.isEmpty, !Mutant.leavesOthersMerged.isActive
        else { continue }
        Probe.othersMergedDropped.hit()
      }
      superseded += found
    }
    let held = Set(applied.values.joined().map { $0.name(in: zone) })
    return (superseded.filter { held.contains($0) }, superseded.filter { !held.contains($0) })
  }
}

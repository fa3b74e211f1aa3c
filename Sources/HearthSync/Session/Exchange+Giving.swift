import HearthCRDT
import HearthMembership

// What a transport lacks goes there, and what larger files have replaced is taken away.
extension Exchange {
  /// How many bytes of segments are given to a transport at a time: bounds memory.
  private static var givenBytes: Int { 1024 * 1024 }

  /// Gives the transport what it lacks of a zone.
  ///
  /// - Parameter isAlone: whether no other copy of this node was noticed in this round.
  mutating func push(
    _ id: ZoneID, holding listing: TransportListing, isAlone: Bool
  ) async throws {
    let anchorFile = anchorFile
    let (stored, sealed) = try turn { engine in
      _ = try engine.compact(id)
      try engine.keepUp(anchorFile)
      return (try engine.store.log.segments(of: id), try engine.sealedChanges(of: id))
    }
    let publications = try await publications(of: id, holding: listing, stored: stored)
    var held = listing
    if Mutant.removesBeforeMerged.isActive, isAlone {
      held.segments += publications.map(\.name)
      try await tidy(id, holding: held)
      held = listing
    }
    held.segments += try await give(publications, of: id)
    try await giveEvidence(of: id, holding: held)
    try turn { try $0.noteGiven(sealed, of: id) }
    try await giveSnapshots(of: id, holding: held, stored: stored)
    // Another copy of this node may hold what this one lacks: in such a round nothing goes.
    guard isAlone else { return }
    try await tidy(id, holding: held)
  }

  /// Gives stored segments to the transport, a bounded number of bytes at a time.
  ///
  /// - Returns: those that were given; others may have been merged meanwhile.
  @discardableResult
  private mutating func give(
    _ segments: [(segment: StoredSegment, name: SegmentName)], of id: ZoneID
  ) async throws -> [SegmentName] {
    var given: [SegmentName] = []
    var rest = segments[...]
    while !rest.isEmpty {
      let (batch, count) = try turn { try $0.batch(rest, of: id, atMost: Exchange.givenBytes) }
      rest = rest.dropFirst(count)
      guard !batch.isEmpty else { continue }
      try await transport.publish(batch)
      report.published += batch.count
      report.publishedBytes += batch.reduce(0) { $0 + $1.bytes.count }
      given += batch.map(\.name)
      if Mutant.forgetsPublished.isActive {
        try turn { engine in
          for (name, _) in batch {
            try engine.store.transaction { try engine.store.log.removeSegment(name.digest, in: id) }
          }
        }
      }
    }
    return given
  }

  /// Gives the transport the changes for which logs are held back here, where it lacks them.
  ///
  /// Whoever made a false claim may have sent it to a few alone. All must come to hold it: it is
  /// part of what a zone's digest stands for, and who lacks it waits for what rests on the log's
  /// end.
  private mutating func giveEvidence(of id: ZoneID, holding listing: TransportListing) async throws
  {
    let listed = Set(listing.segments.map(\.digest))
    for (name, bytes) in try turn({ try $0.evidence(of: id, except: listed) }) {
      try await transport.publish(name, bytes)
      Probe.evidencePassedOn.hit()
      report.published += 1
      report.publishedBytes += bytes.count
    }
  }

  /// Gives the transport the own segments that it lacks, under the last key that was held here.
  ///
  /// What a device had not given to anybody when it was removed counts for nothing, but an admin
  /// may adopt it: so it must reach the others, where the transport still takes it. Nothing of
  /// others goes, no snapshot, and nothing is taken away: those who belong to the group see to
  /// that. A relay gives and takes nothing any more once it has heard of the removal; then there is
  /// no listing.
  mutating func giveLeft(of id: ZoneID, holding listing: TransportListing) async throws {
    let anchorFile = anchorFile
    let (own, sealed) = try turn { engine in
      try engine.keepUp(anchorFile)
      return (try engine.ownPublications(of: id, to: listing), try engine.sealedChanges(of: id))
    }
    try await give(own, of: id)
    try turn { try $0.noteGiven(sealed, of: id) }
  }

  /// Takes away the files that larger ones, which are there as well, have replaced.
  private mutating func tidy(
    _ id: ZoneID, holding listing: TransportListing
  ) async throws {
    let keepsAuthorsApart = transport.keepsAuthorsApart
    let (stored, known, unknown) = try turn { engine in
      let stored = try engine.store.log.segments(of: id)
      let (known, unknown) = try engine.superseded(
        on: listing, of: id, stored: stored, keepsAuthorsApart: keepsAuthorsApart)
      return (stored, known, unknown)
    }
    let dropped = known + (try await examine(unknown, of: id, stored: stored, listing))
    guard !dropped.isEmpty else { return }
    Probe.supersededDropped.hit()
    try await transport.remove(dropped)
  }
}

extension Engine {
  /// Notes how far the own logs are sealed, before what is read in the same turn leaves the node:
  /// another exchange or a call may have sealed changes since the round began.
  fileprivate func keepUp(_ anchorFile: any AnchorFile) throws {
    if !Mutant.anchorsLate.isActive { try Anchor.keepUp(anchorFile, with: self) }
  }

  /// How many bytes of evidence are passed on for a zone, the shortest first: a member with many
  /// lives can make one piece in each.
  private static var evidenceBytes: Int { 4 * 1024 * 1024 }

  /// The bytes of the first of some segments, and how many segments that were: until there are so
  /// many bytes, or no more segments.
  fileprivate func batch(
    _ segments: ArraySlice<(segment: StoredSegment, name: SegmentName)>, of id: ZoneID,
    atMost limit: Int
  ) throws -> (files: [(name: SegmentName, bytes: [UInt8])], count: Int) {
    var files: [(name: SegmentName, bytes: [UInt8])] = []
    var (count, byteCount) = (0, 0)
    for (segment, name) in segments where byteCount < limit {
      count += 1
      guard let bytes = try store.log.bytes(of: segment.digest, in: id) else { continue }
      Probe.passedOn.hit(if: segment.author.device != device)
      files.append((name, bytes))
      byteCount += bytes.count
    }
    return (files, count)
  }

  /// The evidence of a zone that a transport lacks.
  fileprivate func evidence(
    of id: ZoneID, except listed: Set<Identifier>
  ) throws -> [(name: SegmentName, bytes: [UInt8])] {
    let zone = try zone(id)
    var room = Engine.evidenceBytes
    let entries = try store.pending.entries(in: id).filter { $0.reason == .falseClaim }
      .sorted { ($0.byteCount, $0.digest) < ($1.byteCount, $1.digest) }
      .prefix { entry in
        room -= entry.byteCount
        return room >= 0
      }
    return try entries.compactMap { entry in
      guard !listed.contains(entry.digest),
        let bytes = try store.pending.bytes(of: entry.digest, in: id)
      else { return nil }
      let name = SegmentName(
        zoneTag: zone.tag, authorTag: entry.authorTag, incarnation: entry.incarnation,
        first: entry.first, last: entry.last, digest: entry.digest)
      return (name, bytes)
    }
  }

  /// The own segments that a transport lacks.
  fileprivate func ownPublications(
    of id: ZoneID, to listing: TransportListing
  ) throws -> [(segment: StoredSegment, name: SegmentName)] {
    let state = try zone(id)
    let own = try store.log.segments(of: id).filter { $0.author.device == device }
    let trusted = try trustedNames(of: state, in: listing, stored: own)
    return SyncPlan(zone: state, stored: own, pending: []).publications(
      to: listing, stored: own, trusted: trusted, of: state, by: device)
  }

  /// The files of a zone on a transport that larger ones, which are there as well, have replaced.
  ///
  /// Each device takes away its own; an owner's or admin's those of devices that are gone, whose
  /// files may come back by a stale copy of a folder, and at a relay those of all; and everybody
  /// those of an author of whom many such files lie there: it does not come by this transport, or
  /// it would have taken them away.
  ///
  /// - Returns: those that are stored here, which need not be looked into, and the others.
  fileprivate func superseded(
    on listing: TransportListing, of id: ZoneID, stored: [StoredSegment], keepsAuthorsApart: Bool
  ) throws -> (known: [SegmentName], unknown: [SegmentName]) {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    let isAdmin = membership.role(of: device)?.rank ?? 0 >= Role.admin.rank
    let plan = SyncPlan(zone: zone, known: [])
    // Nobody vouches for the name of a stored segment that waits for a newer program.
    let applied = Dictionary(
      grouping: stored.filter { $0.last <= zone.frontier[$0.author] }, by: \.author.device)
    let listed = Dictionary(grouping: listing.segments, by: \.authorTag)
    var superseded: [SegmentName] = []
    let others = membership.allDevices.map(\.id).filter { $0 != device }
    for author in [device] + others {
      let tag = zone.authorTag(of: author)
      guard let names = listed[tag], let held = applied[author] else { continue }
      let found = plan.superseded(
        on: TransportListing(segments: names), by: held, of: zone, tag: tag,
        sparesKnown: author == device)
      if author != device, !isAdmin || membership.isActive(author) {
        // Where authors cannot take away what others gave in their place, an admin does it at once.
        let isFew = found.count < Engine.compactionThreshold
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

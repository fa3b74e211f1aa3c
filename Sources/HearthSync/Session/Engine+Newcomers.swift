import HearthCRDT
import HearthCrypto
import HearthMembership

// What newcomers begin from who are not given the keys of before; decision 0051 says why it is so.
extension Engine {
  // MARK: Giving

  /// Whether a transport needs a new snapshot of a zone for those who come now.
  ///
  /// They cannot open what is sealed under other keys than theirs, so a snapshot under theirs must
  /// reach beyond all of it. Looks into the stored segments that the newest one does not reach.
  ///
  /// - Parameters:
  ///   - keys: the tags of the epochs whose keys newcomers get.
  ///   - reached: how far the newest snapshot under one of these keys reaches.
  func isSnapshotNeeded(
    by keys: Set<Identifier>, of zone: ZoneState, beyond reached: Frontier,
    stored: [StoredSegment]
  ) throws -> Bool {
    let membership = membership(of: zone.group)
    guard membership.history.withholdsKeys, !Mutant.noSnapshotForNewcomers.isActive else {
      return false
    }
    // What this device has of before its own coming is in none of its segments.
    let base = try baseHeads(of: zone)
    let isBeyond = base.contains {
      min($0.sequence, zone.frontier[$0.author]) > reached[$0.author]
    }
    if isBeyond { return true }
    for segment in stored
    where segment.last > reached[segment.author] && segment.last <= zone.frontier[segment.author] {
      guard let bytes = try store.log.bytes(of: segment.digest, in: zone.id) else { continue }
      let header = try Envelope.parseHeader(bytes, minimumSuite: membership.acceptedSuite)
      if !keys.contains(Identifier(header.epochTag)) {
        Probe.snapshotForNewcomers.hit()
        return true
      }
    }
    return false
  }

  /// Those of some epochs' tags under which a snapshot serves the members too who are not given
  /// every key; all of them while the present key would not serve either.
  ///
  /// Somebody may have been let in by who did not know yet that newcomers read everything: the key
  /// of those who come now is not that member's. O(n) for n devices and each epoch.
  func epochsForAllMembers(
    _ tags: [Identifier], of zone: ZoneState
  ) throws -> Set<Identifier> {
    let membership = membership(of: zone.group)
    guard membership.history.withholdsKeys, !Mutant.forgetsWhoCameMeanwhile.isActive,
      let current = zone.currentEpoch.map({ Identifier($0.tag) })
    else { return Set(tags) }
    let wanted = Set(tags + [current])
    var serving: Set<Identifier> = []
    for epoch in membership.keys.epochs(of: zone.id) {
      let tag = Identifier(try EpochKey.tag(ofID: epoch.grant.epoch))
      guard wanted.contains(tag) else { continue }
      let isForAll = membership.devices.allSatisfy {
        membership.history.mayBeGiven(epoch, of: .data, to: $0.id)
      }
      if isForAll { serving.insert(tag) }
    }
    return serving.contains(current) ? serving : Set(tags)
  }

  /// The tags of the epochs of a zone that open invitations carry.
  func epochsOfOpenInvites(in zone: ZoneState) throws -> [Identifier] {
    try membership(of: zone.group).keys.epochsOfOpenInvites(in: zone.id).map {
      Identifier(try EpochKey.tag(ofID: $0.grant.epoch))
    }
  }

  /// Whether a log that was held back ended for everybody, so that its head stands for one history.
  func isEnded(_ head: LogHead, _ zone: ZoneState) -> Bool {
    zone.forkEnds[head.author].map { head.sequence < $0 } ?? false
  }

  // MARK: What stays closed

  /// The tags of the epochs of a zone whose keys nobody gives this device, once it is in the group.
  func closedTags(in zone: ZoneState) throws -> Set<Identifier> {
    let membership = membership(of: zone.group)
    guard zone.kind == .data, membership.history.withholdsKeys, membership.isActive(device) else {
      return []
    }
    let closed = membership.keys.epochs(of: zone.id).filter { epoch in
      zone.epoch(id: epoch.grant.epoch) == nil
        && !membership.history.mayBeGiven(epoch, of: zone.kind, to: device)
    }
    return Set(try closed.map { Identifier(try EpochKey.tag(ofID: $0.grant.epoch)) })
  }

  /// Whether a snapshot is under a key that this device does not have while keys are withheld from
  /// newcomers: it is of no use here, and nothing is wrong with it.
  func isWithheld(_ chunk: [UInt8], in zone: ZoneState) throws -> Bool {
    let membership = membership(of: zone.group)
    guard membership.history.withholdsKeys else { return false }
    let header = try Envelope.parseHeader(chunk, minimumSuite: membership.acceptedSuite)
    return zone.epoch(tag: header.epochTag) == nil
  }

  /// Whether a segment that waits for a key holds nothing new any more: a snapshot took the zone
  /// beyond it.
  func isOutrun(
    _ segment: PendingEntry, in zone: ZoneState, _ membership: Membership
  ) -> Bool {
    guard zone.kind == .data, membership.history.withholdsKeys,
      let end = waitingEnd(of: segment, in: zone)
    else { return false }
    return end.sequence <= zone.head(of: end.author).sequence
  }

  /// Where a segment ends that waits for a key; nil for any other.
  private func waitingEnd(of segment: PendingEntry, in zone: ZoneState) -> Dot? {
    guard segment.reason == .epoch, let device = zone.deviceByTag[segment.authorTag] else {
      return nil
    }
    return Dot(
      author: Author(device: device, incarnation: segment.incarnation), sequence: segment.last)
  }

  /// Whether a zone waits for an owner's or admin's snapshot: there are changes under keys that
  /// nobody gives this device, or what it began from may hold what does not count any more.
  package func awaitsSnapshot(_ id: ZoneID) throws -> Bool {
    let zone = try zone(id)
    if try !closedSegments(of: zone).isEmpty { return true }
    return try membership(of: zone.group).history.withholdsKeys
      && authorLessenedInBase(of: id) != nil
  }

  /// The segments that lie here under keys that nobody gives this device; not those whose key is
  /// only late.
  func closedSegments(of zone: ZoneState) throws -> [PendingEntry] {
    let tags = try closedTags(in: zone)
    guard !tags.isEmpty else { return [] }
    return try store.pending.entries(in: zone.id).filter { segment in
      segment.reason == .epoch && tags.contains(segment.epochTag)
    }
  }

  // MARK: Going on from a later snapshot

  /// Why a zone that is not empty would go on from a later snapshot.
  enum SnapshotNeed {
    /// The one that it rests on cannot be trusted any more.
    case outdated
    /// Changes that end there stay closed here.
    case closed([Dot])
  }

  /// Whether a zone needs a later snapshot than the one that it rests on; nil if it does not.
  func snapshotNeed(of id: ZoneID, isOutdated: Bool) throws -> SnapshotNeed? {
    let zone = try zone(id)
    guard zone.kind == .data, !zone.frontier.isEmpty,
      membership(of: zone.group).history.withholdsKeys
    else { return nil }
    if isOutdated { return .outdated }
    let closed = try closedSegments(of: zone).compactMap { waitingEnd(of: $0, in: zone) }
    return closed.isEmpty ? nil : .closed(closed)
  }

  /// The complete snapshots of a listing that serve a zone's need, the one that covers most first.
  ///
  /// - Parameter known: what was looked into.
  func laterSnapshots(
    of id: ZoneID, _ need: SnapshotNeed, among known: [KnownSnapshot],
    _ listing: TransportListing
  ) throws -> [(snapshot: SnapshotPlan.Complete, word: SnapshotWord)] {
    let zone = try zone(id)
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
      serving.map { ($0.group, word(of: $0, in: zone)) }, uniquingKeysWith: { first, _ in first })
    let present = try store.snapshots.base(of: zone.id).flatMap {
      SnapshotPlan.names(of: try Engine.chunks(of: $0), zoneTag: zone.tag).first?.group
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

  /// What came of an attempt to go on from a snapshot.
  enum SnapshotOutcome {
    /// The zone rests on it now: so many changes came with it, and so many segments wait.
    case taken(changes: Int, waiting: Int)
    /// It lacks what is here, or cannot be trusted either; nothing was changed.
    case useless
    /// It is not believed; with what is to be told of that.
    case refused(TransportProblem?)
  }

  /// Goes on from the chunks of a later snapshot.
  ///
  /// Nothing that was applied here is lost by it, or the zone stays as it was.
  mutating func goOn(
    _ id: ZoneID, from chunks: [[UInt8]], _ candidate: SnapshotPlan.Complete,
    _ word: SnapshotWord, belief: SnapshotBelief, among words: [SnapshotWord],
    isOutdated: Bool, _ listing: TransportListing, nowMilliseconds: UInt64
  ) throws -> SnapshotOutcome {
    guard let first = chunks.first else { return .refused(nil) }
    let zone = try zone(id)
    _ = try checkedHeads(ofSnapshot: first, of: chunks.count, in: zone, listing)
    if case .needsVoice = belief {
      guard try isVouched(word, chunks, by: words, in: zone) else {
        return .refused(try problemWithBelief(in: candidate, word, of: zone, listing))
      }
    }
    guard let waiting = try rest(id, on: chunks, isOutdated: isOutdated, nowMilliseconds) else {
      try noteTried(candidate.group, of: id)
      return .useless
    }
    let weight = SnapshotPlan.weight(of: try self.zone(id).frontier)
    let before = SnapshotPlan.weight(of: zone.frontier)
    return .taken(changes: Int(clamping: weight > before ? weight - before : 0), waiting: waiting)
  }

  /// Puts a zone on another snapshot: its own log is applied to that, then what waits.
  ///
  /// - Returns: how many segments wait then; nil where the snapshot lacks what is here, or cannot
  ///   be trusted either, and nothing was changed.
  private mutating func rest(
    _ id: ZoneID, on chunks: [[UInt8]], isOutdated: Bool, _ nowMilliseconds: UInt64
  ) throws -> Int? {
    var container = ByteWriter(capacity: chunks.reduce(0) { $0 + $1.count + 4 })
    container.varint(chunks.count)
    for chunk in chunks { container.blob(chunk) }
    let before = self
    var waiting = 0
    do {
      try store.transaction {
        self = before
        let zone = try self.zone(id)
        _ = try openSnapshot(container.bytes, zone: zone, isAccepted: false)
        // What waits was not judged by the keys that it is under, as what is applied was.
        let pending = try store.pending.segments(in: id)
        for segment in pending { try store.pending.remove(segment.digest, in: id) }
        try store.snapshots.saveBase(container.bytes, of: id)
        try rebuildWithin(id, nowMilliseconds: nowMilliseconds)
        let now = try self.zone(id)
        let lost = zone.heads.first { head in
          !continues(head, now.head(of: head.author))
            && !isLossAllowed(of: head, in: zone, isOutdated: isOutdated)
        }
        if let lost { throw LacksChanges(author: lost.author) }
        if try isOutdated && authorLessenedInBase(of: id) != nil {
          throw LacksChanges(author: author)
        }
        for segment in pending { try store.pending.save(segment, in: id) }
        let received = try receive([], in: id, nowMilliseconds: nowMilliseconds)
        waiting = received.waiting.values.reduce(0, +)
      }
    } catch is LacksChanges {
      self = before
      return nil
    } catch {
      self = before
      throw error
    }
    return waiting
  }

  /// Whether everything of a log is in another state of it; this device alone says how far its own
  /// goes.
  private func continues(_ head: LogHead, _ now: LogHead) -> Bool {
    if now.sequence == head.sequence { return now.hash == head.hash }
    return now.sequence > head.sequence && head.author != author
  }

  /// Whether a log may be shorter after a zone was put on another snapshot: what ended it counts
  /// for nothing.
  private func isLossAllowed(of head: LogHead, in zone: ZoneState, isOutdated: Bool) -> Bool {
    zone.forkEnds[head.author] != nil
      || isOutdated && head.author.device != device
        && membership(of: zone.group).changes.isOverruled(
          Dot(author: head.author, sequence: head.sequence), in: zone.id, at: head.controlSeen)
  }

  // MARK: What was tried

  private static func triedName(of zone: ZoneState) -> String { "snapshots.tried.\(zone.id.hex)" }

  /// The snapshots that were tried in vain since the zone has been what it is.
  func triedSnapshots(of id: ZoneID) throws -> Set<Identifier> {
    let zone = try zone(id)
    guard let bytes = try store.facts.value(of: Engine.triedName(of: zone)) else { return [] }
    var reader = ByteReader(bytes)
    guard try reader.frontier("frontier") == zone.frontier else { return [] }
    var tried: Set<Identifier> = []
    for _ in 0..<(try reader.count("snapshots", itemBytes: Identifier.byteCount)) {
      tried.insert(try reader.identifier("snapshot"))
    }
    try reader.finish()
    return tried
  }

  /// What stands for all that decides whether a zone can do without its snapshot: the snapshot, the
  /// segments there are, the keys held, and what is known of the members.
  func replacement(of id: ZoneID, holding listing: TransportListing) throws -> Identifier {
    let zone = try zone(id)
    var writer = ByteWriter()
    if let base = try store.snapshots.base(of: id) { writer.raw(Blake2b.hash(base, count: 16)) }
    for name in listing.segments { writer.identifier(name.digest) }
    for epoch in zone.epochs { writer.raw(epoch.id) }
    writer.frontier(try controlZone(of: zone.group).reached)
    return Identifier(bytes: Blake2b.hash(writer.bytes, count: Identifier.byteCount)) ?? .zero
  }

  private static func replacementName(of id: ZoneID) -> String { "base.kept.\(id.hex)" }

  /// What a zone's snapshot was to be replaced by in vain, on each transport that was tried last.
  func triedReplacements(of id: ZoneID) throws -> [Identifier] {
    guard let bytes = try store.facts.value(of: Engine.replacementName(of: id)) else { return [] }
    var reader = ByteReader(bytes)
    return try (0..<bytes.count / Identifier.byteCount).map { _ in
      try reader.identifier("attempt")
    }
  }

  func remember(replacement: Identifier, of id: ZoneID) throws {
    var writer = ByteWriter()
    let tried = try triedReplacements(of: id) + [replacement]
    for attempt in tried.suffix(Engine.rememberedReplacements) { writer.identifier(attempt) }
    try store.transaction { try store.facts.set(Engine.replacementName(of: id), to: writer.bytes) }
  }

  /// More than a node has ways.
  private static var rememberedReplacements: Int { 16 }

  /// Notes that a snapshot was tried in vain.
  func noteTried(_ snapshot: Identifier, of id: ZoneID) throws {
    let zone = try zone(id)
    let tried = try triedSnapshots(of: id).union([snapshot])
    var writer = ByteWriter()
    writer.frontier(zone.frontier)
    let kept = tried.sorted().prefix(SnapshotPlan.fetchedSnapshots)
    writer.varint(kept.count)
    for group in kept { writer.identifier(group) }
    try store.transaction { try store.facts.set(Engine.triedName(of: zone), to: writer.bytes) }
  }
}

/// A snapshot lacks changes of somebody that are here.
private struct LacksChanges: Error {
  let author: Author
}

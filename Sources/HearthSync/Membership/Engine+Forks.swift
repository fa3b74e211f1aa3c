import HearthCRDT
import HearthMembership

// A proven fork ends the log at the same place for everybody.
extension Engine {
  /// The contradicting segments; nil unless both are stored here and small enough to be shown.
  func evidence(of fork: CausalQueue.Fork, in zone: ZoneState) throws -> ForkEvidence? {
    let limit = ControlOperation.maximumEvidenceBytes
    guard zone.kind == .data, fork.segment.bytes.count <= limit else { return nil }
    let fits: (Identifier, Int) -> Bool = { $0 != fork.segment.digest && $1 <= limit }
    let fresh = fork.applied.flatMap { fits($0.digest, $0.bytes.count) ? $0 : nil }
    guard let applied = try fresh ?? applied(fork.author, fork.sequence, in: zone, where: fits)
    else { return nil }
    return ForkEvidence(
      zone.id, fork.author, (applied.digest, applied.bytes),
      (fork.segment.digest, fork.segment.bytes))
  }

  /// A segment with an applied change: a segment of the log, or one of which only the first changes
  /// are applied.
  ///
  /// Segments that the log keeps unread for newer versions may claim any content, so only a few are
  /// tried.
  ///
  /// - Parameter fits: Whether a segment with this digest and size is acceptable.
  private func applied(
    _ author: Author, _ sequence: UInt64, in zone: ZoneState,
    where fits: (Identifier, Int) -> Bool = { _, _ in true }
  ) throws -> OpenedSegment? {
    let opener = SegmentOpener(zone: zone, membership: membership(of: zone.group))
    func opened(_ bytes: [UInt8]?) -> OpenedSegment? {
      guard let bytes, case .opened(let segment)? = try? opener.open(bytes),
        segment.author == author, segment.first <= sequence, sequence <= segment.last
      else { return nil }
      return segment
    }
    let stored = try store.log.segments(of: zone.id).filter {
      $0.author == author && $0.first <= sequence && sequence <= $0.last
        && fits($0.digest, $0.byteCount)
    }
    for segment in stored.prefix(Engine.triedHolders) {
      if let found = opened(try store.log.bytes(of: segment.digest, in: zone.id)) { return found }
    }
    let head = zone.head(of: author)
    let begun = try store.pending.entries(in: zone.id).filter {
      $0.wait.isPartlyApplied && $0.author(in: zone) == author
        && $0.first <= sequence && sequence <= $0.last && fits($0.digest, $0.byteCount)
    }
    for entry in begun.prefix(Engine.triedHolders) {
      let found = opened(try store.pending.bytes(of: entry.digest, in: zone.id))
      if let found, found.agrees(with: head) { return found }
    }
    return nil
  }

  /// The number of tried segments that claim to contain a change.
  private static var triedHolders: Int { 8 }

  /// Evidence that the logs of pending segments fork at their next change.
  ///
  /// This node may never apply either segment, although another device has one and builds on it.
  func evidence(
    among contradictions: [(OpenedSegment, OpenedSegment)], in zone: ZoneState
  ) -> [ForkEvidence] {
    let limit = ControlOperation.maximumEvidenceBytes
    return contradictions.filter { $0.bytes.count <= limit && $1.bytes.count <= limit }.map {
      ForkEvidence(zone.id, $0.author, ($0.digest, $0.bytes), ($1.digest, $1.bytes))
    }
  }

  /// The forks among segments that lie within the applied log but contradict it.
  ///
  /// Only a few are compared per batch: each comparison opens a stored segment.
  func hiddenForks(
    in covered: [OpenedSegment], of zone: ZoneState
  ) throws -> [CausalQueue.Fork] {
    let suspects = covered.filter { $0.author.device != device }
    guard !suspects.isEmpty else { return [] }
    let known = Set(try store.log.segments(of: zone.id).map(\.digest))
    var forks: [CausalQueue.Fork] = []
    for segment in suspects.filter({ !known.contains($0.digest) }).prefix(Engine.comparedSegments) {
      guard let holder = try applied(segment.author, segment.last, in: zone),
        holder.hash(after: segment.last) != segment.hash(after: segment.last)
      else { continue }
      forks.append(
        CausalQueue.Fork(author: segment.author, sequence: segment.last, segment: segment))
    }
    return forks
  }

  /// Evidence that a log ends earlier than proven so far: segments of a further history that parts
  /// from the applied log before the proven end.
  ///
  /// Devices that received such a history cite it, and their citations count only once the history
  /// is shown.
  func earlierForks(in waiting: [OpenedSegment], of zone: ZoneState) throws -> [ForkEvidence] {
    let suspects = waiting.filter { zone.forkEnds[$0.author] != nil }
    guard zone.kind == .data, !suspects.isEmpty else { return [] }
    return try suspects.compactMap { segment in
      let head = zone.head(of: segment.author)
      let place = min(segment.last, head.sequence)
      guard place > 0, segment.first <= place + 1,
        let own = place == head.sequence
          ? head.hash
          : try applied(segment.author, place, in: zone)?.hash(after: place),
        own != segment.hash(after: place)
      else { return nil }
      return try evidence(
        of: CausalQueue.Fork(author: segment.author, sequence: place, segment: segment), in: zone)
    }
  }

  /// The number of segments without new changes that are compared with the applied log per batch.
  private static var comparedSegments: Int { 64 }

  /// Shows contradictions to the group, unless the group knows them already.
  mutating func proveForks(_ evidence: [ForkEvidence], nowMilliseconds: UInt64) throws {
    for found in evidence {
      let zone = try zone(found.zone)
      let membership = membership(of: zone.group)
      guard membership.isActive(device),
        let end = forkEnd(found.first, found.second, of: found.author, in: zone, membership),
        end < zone.forkEnds[found.author] ?? .max
      else { continue }
      try perform(
        [
          .forkProof(
            .init(
              zone: found.zone, author: found.author, first: found.first, second: found.second))
        ], in: zone.group, nowMilliseconds: nowMilliseconds)
    }
  }

  /// Reissues, once, what this copy of the device published in its own forked logs.
  ///
  /// The device had reported those changes as saved, but a fork voids them. The other copy reissues
  /// its own history. If the other copy is gone, its history stays in quarantine.
  mutating func reissueForked(of group: GroupID, nowMilliseconds: UInt64) throws {
    for zone in zones where zone.group == group && zone.kind == .data {
      for (author, end) in zone.forkEnds.sorted(by: { $0.key < $1.key })
      where author.device == device {
        let fact = "fork.\(zone.id.hex).\(author.incarnation)"
        // A further history may end the log earlier than the first two did.
        var before = UInt64.max
        if let bytes = try store.facts.value(of: fact) {
          var reader = ByteReader(bytes)
          before = try reader.fixed64("end of a log")
        }
        guard end < before else { continue }
        let opener = SegmentOpener(zone: zone, membership: membership(of: group))
        var changes: [UInt64: Change] = [:]
        for segment in try store.log.segments(of: zone.id)
        where segment.author == author && segment.last >= end {
          guard let bytes = try store.log.bytes(of: segment.digest, in: zone.id),
            case .opened(let opened)? = try? opener.open(bytes)
          else { continue }
          for change in opened.changes where (end..<before).contains(change.dot.sequence) {
            changes[change.dot.sequence] = change
          }
        }
        Probe.forkReissued.hit(if: !changes.isEmpty)
        try store.transaction {
          try store.facts.set(fact, to: end.fixedBytes)
          try reissue(
            changes.sorted { $0.key < $1.key }.map { (zone.id, $0.value) }, now: nowMilliseconds)
        }
      }
    }
  }

  /// Determines the ends of all logs whose fork has been shown.
  mutating func learnForks(of group: GroupID, _ membership: Membership) throws {
    if let control = zones.firstIndex(where: { $0.group == group && $0.kind == .control }) {
      zones[control].forkEnds = membership.forks.ends
    }
    var ends: [Int: [Author: Set<UInt64>]] = [:]
    for said in membership.said(.forkProof) where said.counts {
      guard case .forkProof(let proof) = said.item.operation,
        let zone = zones.firstIndex(where: { $0.id == proof.zone && $0.group == group }),
        zones[zone].kind == .data,
        let end = forkEnd(proof.first, proof.second, of: proof.author, in: zones[zone], membership)
      else { continue }
      ends[zone, default: [:]][proof.author, default: []].insert(end)
    }
    for (zone, logs) in ends.sorted(by: { $0.key < $1.key }) {
      for (author, proven) in logs.sorted(by: { $0.key < $1.key }) {
        // Each further history costs every reader one more proof, so only a few per log are
        // examined.
        let end = proven.count > Limits.maximumForkEnds ? 1 : proven.min()
        zones[zone].forkEnds[author] = min(zones[zone].forkEnds[author] ?? .max, end ?? .max)
      }
    }
  }

  /// The first change with two proven contents; nil if the proof proves nothing.
  private func forkEnd(
    _ first: [UInt8], _ second: [UInt8], of author: Author, in zone: ZoneState,
    _ membership: Membership
  ) -> UInt64? {
    let opener = SegmentOpener(zone: zone, membership: membership)
    guard case .opened(let first)? = try? opener.open(first),
      case .opened(let second)? = try? opener.open(second),
      first.author == author, second.author == author
    else { return nil }
    let start = max(first.first, second.first) - 1
    let end = min(first.last, second.last)
    guard start <= end else { return nil }
    let differing = (start...end).first { first.hash(after: $0) != second.hash(after: $0) }
    return differing.map { max(1, $0) }
  }
}

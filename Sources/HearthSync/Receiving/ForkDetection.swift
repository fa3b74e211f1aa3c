import HearthCRDT
import HearthMembership

/// Detection of forks: two contradicting segments of one log.
struct ForkDetection<S: Store> {
  let engine: Engine<S>

  /// The contradicting segments; nil unless both are stored here and small enough to be shown.
  func evidence(of fork: CausalQueue.Fork, in zone: ZoneState) throws -> ForkEvidence? {
    let limit = ControlLimits.maximumEvidenceBytes
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
    let opener = SegmentOpener(zone: zone, membership: engine.membership(of: zone.group))
    func opened(_ bytes: [UInt8]?) -> OpenedSegment? {
      guard let bytes, case .opened(let segment)? = try? opener.open(bytes),
        segment.author == author, segment.first <= sequence, sequence <= segment.last
      else { return nil }
      return segment
    }
    let stored = try engine.store.log.segments(of: zone.id).filter {
      $0.author == author && $0.first <= sequence && sequence <= $0.last
        && fits($0.digest, $0.byteCount)
    }
    for segment in stored.prefix(Self.triedHolders) {
      if let found = opened(try engine.store.log.bytes(of: segment.digest, in: zone.id)) {
        return found
      }
    }
    let head = zone.head(of: author)
    let begun = try engine.store.pending.entries(in: zone.id).filter {
      $0.wait.isPartlyApplied && $0.author(in: zone) == author
        && $0.first <= sequence && sequence <= $0.last && fits($0.digest, $0.byteCount)
    }
    for entry in begun.prefix(Self.triedHolders) {
      let found = opened(try engine.store.pending.bytes(of: entry.digest, in: zone.id))
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
    let limit = ControlLimits.maximumEvidenceBytes
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
    let suspects = covered.filter { $0.author.device != engine.device }
    guard !suspects.isEmpty else { return [] }
    let known = Set(try engine.store.log.segments(of: zone.id).map(\.digest))
    var forks: [CausalQueue.Fork] = []
    for segment in suspects.filter({ !known.contains($0.digest) }).prefix(Self.comparedSegments) {
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
}

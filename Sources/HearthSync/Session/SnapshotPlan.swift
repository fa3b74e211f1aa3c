import HearthCRDT
import HearthCrypto

/// Decides about the snapshots of a zone on a transport, from its listing alone.
package enum SnapshotPlan {
  /// A snapshot is worth publishing when at least so many changes lie beyond the newest one.
  ///
  /// Few in simulations, so that short runs come to it.
  package static var worthwhileChanges: UInt64 {
    #if HEARTH_SIMULATION
      48
    #else
      4_096
    #endif
  }
  /// Or when the segments of those changes have at least so many bytes.
  package static var worthwhileBytes: UInt64 { 1024 * 1024 }
  /// How many own snapshots stay on a transport.
  package static var keptSnapshots: Int { 2 }
  /// How many good snapshots of a listing are considered.
  package static var consideredSnapshots: Int { 16 }
  /// How many are fetched to find them, the first chunk of each.
  ///
  /// A bound on what strangers can cause: what they make does not count as considered.
  package static var fetchedSnapshots: Int { 128 }

  /// A snapshot of which a transport lists every chunk, in order.
  package struct Complete: Equatable, Sendable {
    package let group: Identifier
    package let chunks: [BlobName]
  }

  /// The complete snapshots of a listing, in order of group, and the groups of the others.
  ///
  /// A snapshot's group is the digest of its chunks' digests, so that no chunk can be exchanged.
  package static func sorted(
    _ names: [BlobName]
  ) -> (complete: [Complete], incomplete: [Identifier]) {
    var groups: [Identifier: [BlobName]] = [:]
    for name in names where name.kind == .snapshot { groups[name.group, default: []].append(name) }
    var complete: [Complete] = []
    var incomplete: [Identifier] = []
    for group in groups.keys.sorted() {
      let chunks = (groups[group] ?? []).sorted { $0.index < $1.index }
      let isComplete =
        chunks.enumerated().allSatisfy { $0.element.index == $0.offset }
        && chunks.allSatisfy { $0.count == chunks.count }
        && self.group(of: chunks.map(\.digest)) == group
      if isComplete {
        complete.append(Complete(group: group, chunks: chunks))
      } else {
        incomplete.append(group)
      }
    }
    return (complete, incomplete)
  }

  /// The names of a snapshot's chunks.
  package static func names(of chunks: [[UInt8]], zoneTag: Identifier) -> [BlobName] {
    let digests = chunks.map(segmentDigest)
    let group = group(of: digests)
    return digests.enumerated().map { index, digest in
      BlobName(
        kind: .snapshot, scope: zoneTag, group: group, index: index, count: digests.count,
        digest: digest)
    }
  }

  private static func group(of digests: [Identifier]) -> Identifier {
    segmentDigest(digests.flatMap(\.bytes))
  }

  /// Whether a new snapshot pays: so much of the log lies beyond the newest one.
  ///
  /// Only applied segments count: what a segment says of itself that could not be opened yet is
  /// anybody's word, and a snapshot would not hold its changes.
  ///
  /// - Parameters:
  ///   - stored: the segments of the zone's log.
  ///   - applied: how far each author's log is applied.
  ///   - newest: how far the newest acceptable snapshot reaches; empty if there is none.
  package static func pays(
    _ stored: [StoredSegment], applied: Frontier, beyond newest: Frontier
  ) -> Bool {
    var changes: UInt64 = 0
    var bytes: UInt64 = 0
    for segment in stored
    where 1 <= segment.first && segment.first <= segment.last
      && segment.last <= applied[segment.author]
    {
      let from = max(newest[segment.author], segment.first - 1)
      guard segment.last > from else { continue }
      changes = sum(changes, segment.last - from)
      // A large segment of which little is new counts little.
      let share = Double(segment.last - from) / Double(segment.last - segment.first + 1)
      bytes = sum(bytes, UInt64(Double(segment.byteCount) * share))
    }
    return changes >= worthwhileChanges || bytes >= worthwhileBytes
  }

  /// A sum that stays at the greatest number where it would exceed it.
  private static func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }

  /// How many changes a frontier covers, for comparing snapshots.
  static func weight(of frontier: Frontier) -> UInt64 {
    frontier.entries.reduce(0) { sum($0, $1.sequence) }
  }

  /// Why a snapshot's heads cannot be true, or nil.
  ///
  /// Segments go before the snapshot of them, so one that claims more of an author than the
  /// transport's segments of that author reach would hide changes that are still to come.
  static func fault(
    in heads: [LogHead], _ heldBack: [Dot], of zone: ZoneState, control: Frontier,
    listing: TransportListing
  ) -> String? {
    let ends = SyncPlan.ends(of: listing)
    func end(of author: Author) -> UInt64? {
      let tag = zone.authorTag(of: author.device)
      return ends[TagAuthor(tag: tag, incarnation: author.incarnation)]
    }
    for head in heads {
      guard control.covers(head.controlSeen) else {
        return "it builds on membership operations that this device still lacks"
      }
      if let reached = end(of: head.author), reached < head.sequence {
        return "it claims \(head.sequence) changes of \(head.author), "
          + "whose segments here end at \(reached)"
      }
    }
    return tooFar(in: heads, heldBack, of: zone, end: end)
  }

  /// Why what the heads' authors had seen cannot be true: records may name changes that far, so
  /// that one deleted by changes to come would stay so whatever these say.
  ///
  /// Beyond the heads lies only what others cite of a log that two histories ended, and that is on
  /// the transport or here; and what they cite of a log that ends before a false claim, of which
  /// nothing will ever count.
  private static func tooFar(
    in heads: [LogHead], _ heldBack: [Dot], of zone: ZoneState, end: (Author) -> UInt64?
  ) -> String? {
    let seen = heads.reduce(Frontier()) { $0.joined(with: $1.seen) }
    let reached = Frontier(heads.map { ($0.author, $0.sequence) })
    let ended = Set(heldBack.map(\.author))
    let fault = seen.entries.first { entry in
      !ended.contains(entry.author)
        && entry.sequence
          > max(reached[entry.author], end(entry.author) ?? 0, zone.reached[entry.author])
    }
    return fault.map {
      "it cites \($0.sequence) changes of \($0.author), whose segments here end at "
        + "\(end($0.author) ?? 0)"
    }
  }

  /// Where a person finds a snapshot.
  static func place(of group: Identifier) -> String { "snapshot \(group.hex.prefix(8))" }

  /// What a report says of a snapshot that was not used; nothing is lost by it.
  static func problem(with place: String, _ error: any Error) -> TransportProblem {
    TransportProblem(
      place: place, fault: "this snapshot is not used: \(error)",
      remedy: "nothing is lost: the changes are read one by one; if this persists, tell an admin",
      hidesData: false)
  }
}

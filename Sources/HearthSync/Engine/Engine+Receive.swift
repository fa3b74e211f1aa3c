import HearthCRDT
import HearthCrypto

/// What came of receiving segments of one zone.
package struct ReceiveReport: Sendable {
  /// How many changes were applied.
  package internal(set) var applied = 0
  /// Which authors had news, in order.
  package internal(set) var authors: [Author] = []
  /// The segments that cannot be used, by digest, with the reason in words.
  package internal(set) var refused: [(digest: Identifier, reason: String)] = []
  /// How many segments wait, by reason.
  package internal(set) var waiting: [PendingReason: Int] = [:]
  /// The authors that were found to have published two histories.
  package internal(set) var forks: [Dot] = []

  package init() {}
}

extension Engine {
  /// Receives sealed segments of one zone: verifies, orders, applies, stores.
  ///
  /// One transaction: either everything that could be taken is durable when this returns, or
  /// nothing is changed. Segments that must wait are stored and tried again with the next news;
  /// one that cannot be right is refused and named in the report, and harms no other. Where an
  /// author's log does not continue what the zone's snapshot says of it, that is an error
  /// (`snapshotContradicted`) and no author is blamed.
  package mutating func receive(
    _ blobs: [[UInt8]], in zone: ZoneID, nowMilliseconds: UInt64
  ) throws -> ReceiveReport {
    let place = try place(of: zone)
    var draft = zones[place]
    var report = ReceiveReport()
    var tickedClock = clock
    let membership = membership(of: draft.group)
    try store.transaction {
      draft = zones[place]
      report = ReceiveReport()
      tickedClock = clock
      let pending = try store.pending(in: zone)
      let opener = SegmentOpener(zone: draft, membership: membership)
      var unopened: [PendingSegment] = []
      let opened = open(blobs + pending.map(\.bytes), with: opener, &unopened, &report)
      var queue = CausalQueue(
        opened,
        control: draft.kind == .data ? try controlZone(of: draft.group).frontier : nil)
      try queue.run(on: &draft)
      try checkBase(of: draft.id, against: queue.forks)
      try apply(queue, in: zone, &tickedClock, nowMilliseconds: nowMilliseconds, &report)
      try settle(queue, pending: pending, unopened: unopened, draft: draft, &report)
      try noteForks(queue.forks, in: draft, nowMilliseconds: nowMilliseconds, &report)
    }
    zones[place] = draft
    clock = tickedClock
    if draft.kind == .control, report.applied > 0 { try refreshMembership(of: draft.group) }
    return report
  }

  /// Opens each blob once; a damaged one is reported and passed over.
  private func open(
    _ blobs: [[UInt8]], with opener: SegmentOpener, _ unopened: inout [PendingSegment],
    _ report: inout ReceiveReport
  ) -> [OpenedSegment] {
    var opened: [OpenedSegment] = []
    var seen: Set<Identifier> = []
    for bytes in blobs {
      let digest = segmentDigest(bytes)
      guard seen.insert(digest).inserted else { continue }
      do {
        switch try opener.open(bytes) {
        case .opened(let segment): opened.append(segment)
        case .waits(let reason):
          unopened.append(PendingSegment(digest: digest, reason: reason, bytes: bytes))
        }
      } catch {
        report.refused.append((digest, "\(error)"))
      }
    }
    return opened
  }

  private func apply(
    _ queue: CausalQueue, in zone: ZoneID, _ clock: inout HybridClock, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    guard !queue.ready.isEmpty else { return }
    var applier = Applier(zone: zone, store: store)
    try applier.prepare(for: queue.ready.lazy.map(\.change))
    for item in queue.ready {
      try applier.apply(item.change, past: item.past)
      _ = clock.receive(item.change.time, nowMilliseconds: nowMilliseconds)
    }
    try applier.flush()
    report.applied = queue.ready.count
    report.authors = Set(queue.ready.map(\.change.dot.author)).sorted()
  }

  /// Moves segments between the pending area and the log, and saves the heads that moved.
  private func settle(
    _ queue: CausalQueue, pending: [PendingSegment], unopened: [PendingSegment],
    draft: ZoneState, _ report: inout ReceiveReport
  ) throws {
    let waiting =
      unopened
      + queue.waiting.map { segment, reason in
        PendingSegment(digest: segment.digest, reason: reason, bytes: segment.bytes)
      }
    let stay = Set(waiting.map(\.digest))
    for segment in pending where !stay.contains(segment.digest) {
      try store.removePending(segment.digest, in: draft.id)
    }
    let present = Dictionary(
      pending.map { ($0.digest, $0.reason) }, uniquingKeysWith: { first, _ in first })
    for segment in waiting {
      report.waiting[segment.reason, default: 0] += 1
      if present[segment.digest] != segment.reason { try store.save(segment, in: draft.id) }
    }
    for segment in queue.complete {
      let stored = StoredSegment(
        author: segment.author, first: segment.first, last: segment.last, digest: segment.digest,
        byteCount: segment.bytes.count)
      try store.save(stored, bytes: segment.bytes, in: draft.id)
    }
    let before = try zone(draft.id)
    try store.save(
      draft.heads.filter { before.head(of: $0.author) != $0 }, of: draft.id)
  }

  private func noteForks(
    _ forks: [CausalQueue.Fork], in zone: ZoneState, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    for fork in forks {
      report.forks.append(Dot(author: fork.author, sequence: fork.sequence))
      // The contradicting segment is kept as evidence, beside the one that was applied.
      try store.save(
        PendingSegment(
          digest: fork.segment.digest, reason: .quarantine, bytes: fork.segment.bytes),
        in: zone.id)
      try store.add(
        Notice(
          kind: .fork, zone: zone.id, device: fork.author.device,
          text: "two different histories were published under one number "
            + "(\(fork.author) #\(fork.sequence)): its later changes are held back",
          milliseconds: nowMilliseconds))
    }
  }
}

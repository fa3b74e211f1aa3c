import HearthCRDT
import HearthCrypto
import HearthMembership

/// Showing of a control zone's forked logs, with all their histories, to the group.
enum HistoryShowing {
  /// Why an incarnation ends whose sequence numbers another copy has used, in words.
  static var copyReason: String {
    "another copy of this node has published changes under the same numbers"
  }

  // MARK: Showing

  /// Shows the forked logs that this device has and nobody has shown yet.
  ///
  /// What the shown histories change is left to the caller.
  ///
  /// - Parameter contradicted: The changes for which this device has just seen two contents.
  /// - Returns: Whether anything was shown.
  static func show(
    of group: GroupID, contradicted: [Dot], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> Bool {
    engine.isShowing = true
    try leaveContradictedLife(
      of: group, contradicted, in: &engine, nowMilliseconds: nowMilliseconds)
    var written = false
    // A shown segment may contain further histories that must be shown.
    for _ in 0..<ShownHistories.maximumDepth {
      let isNew = try showOnce(
        of: group, contradicted: contradicted, in: &engine, nowMilliseconds: nowMilliseconds)
      guard isNew else { break }
      written = true
    }
    engine.isShowing = false
    return written
  }

  /// Starts a new incarnation if the current one is contradicted.
  private static func leaveContradictedLife(
    of group: GroupID, _ contradicted: [Dot], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    guard let own = contradicted.filter({ $0.author == engine.author }).map(\.sequence).min(),
      engine.membership(of: group).isActive(engine.device)
    else { return }
    let control = try engine.controlZone(of: group).id
    try NewIncarnation.begin(
      reason: copyReason,
      takingBack: [OwnLogEnd(zone: control, author: engine.author, first: own)],
      in: &engine, nowMilliseconds: nowMilliseconds)
  }

  /// Shows every segment once.
  ///
  /// - Returns: Whether there was anything to show.
  private static func showOnce(
    of group: GroupID, contradicted: [Dot], in engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws -> Bool {
    let control = try engine.controlZone(of: group)
    // This includes devices that belong to the group only by a history that nobody has shown yet.
    guard engine.membership(of: group).card(of: engine.device) != nil,
      try Introductions.room(of: control, in: engine).admits(engine.author, in: control),
      control.forkEnds[engine.author] == nil
    else { return false }
    var starts = control.forkEnds
    for dot in contradicted { starts[dot.author] = min(starts[dot.author] ?? .max, dot.sequence) }
    // Operations of a log that will be cut off are not shown permanently.
    let lasting = try ShownHistoryReader(engine: engine).shownHistories(
      in: Membership.items(
        of: try engine.store.records.events(of: ControlOperation.type, in: control.id)
      )
      .filter { $0.version.dot.sequence < control.forkEnds[$0.version.dot.author] ?? .max },
      of: group)
    var ledger = lasting.ledgers[engine.device] ?? ShownLedger()
    var due: [OpenedSegment] = []
    for (life, start) in starts.sorted(by: { $0.key < $1.key }) {
      var tree = ShownTree(lasting.segments(of: life))
      let stored = Set(
        try engine.store.log.segments(of: control.id).filter { $0.author == life }.map(\.digest))
      let held = try held(of: life, from: start, in: control, by: &engine)
      let applied = held.filter { stored.contains($0.digest) }
      // All segments or none: separate pieces would count as several histories.
      if !applied.allSatisfy({ tree.holds($0.stretch) }) {
        for segment in applied where ledger.takes(segment.stretch) {
          tree.add(segment.stretch)
          due.append(segment)
        }
      }
      for segment in held where !stored.contains(segment.digest) {
        guard tree.mayTake(segment.stretch, from: start),
          ledger.takes(segment.stretch, isApplied: false, hasApplied: !applied.isEmpty)
        else { continue }
        tree.add(segment.stretch)
        due.append(segment)
      }
    }
    for segment in due {
      try show(segment, in: group, by: &engine, nowMilliseconds: nowMilliseconds)
    }
    return !due.isEmpty
  }

  /// This device's sealed segments of an incarnation from a change on, in order.
  private static func held(
    of life: Author, from start: UInt64, in control: ZoneState, by engine: inout Engine<some Store>
  ) throws -> [OpenedSegment] {
    let opener = SegmentOpener(zone: control, membership: engine.membership(of: control.group))
    var bytes = try engine.store.log.segments(of: control.id)
      .filter { $0.author == life && $0.last >= start }
      .compactMap { try engine.store.log.bytes(of: $0.digest, in: control.id) }
    bytes += try engine.store.pending.segments(in: control.id)
      .filter { $0.reason == .quarantine || $0.reason == .cause || $0.reason == .gap }
      .map(\.bytes)
    var held: [Identifier: OpenedSegment] = [:]
    for bytes in bytes {
      guard case .opened(let segment)? = try? opener.open(bytes), segment.author == life,
        segment.last >= start
      else { continue }
      held[segment.digest] = segment
    }
    return held.values.sorted {
      ($0.first, $0.last, $0.digest) < ($1.first, $1.last, $1.digest)
    }
  }

  /// Writes a segment into the log, in as many parts as it needs.
  private static func show(
    _ segment: OpenedSegment, in group: GroupID, by engine: inout Engine<some Store>,
    nowMilliseconds: UInt64
  ) throws {
    let limit = ControlLimits.maximumEvidenceBytes
    let count = (segment.bytes.count + limit - 1) / limit
    for part in 0..<count {
      // No check for effect: a shown segment counts whoever shows it, and this device may seem to
      // be a stranger until everything is shown.
      _ = try ControlWriting.write(
        [
          .branch(
            author: segment.author, digest: segment.digest, part: part, parts: count,
            bytes: Array(segment.bytes.dropFirst(part * limit).prefix(limit)))
        ], group: group, in: &engine, nowMilliseconds: nowMilliseconds)
    }
  }
}

extension OpenedSegment {
  /// The changes by sequence number and content.
  fileprivate var stretch: Stretch {
    Stretch(
      author: author,
      nodes: (first...last).map { .init(sequence: $0, hash: hash(after: $0)) },
      before: .init(sequence: first - 1, hash: chain[0]))
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership

// A forked log of a control zone is shown completely, and all its histories count.
extension Engine {
  /// Why an incarnation ends whose sequence numbers another copy has used, in words.
  static var copyReason: String {
    "another copy of this node has published changes under the same numbers"
  }

  // MARK: Reading

  /// The forked logs of a group, as far as operations show them.
  ///
  /// A shown segment proves itself by its author's signature. It does not matter which device shows
  /// it, except for the quota of each device.
  func shownHistories(in items: [ControlItem], of group: GroupID) throws -> ShownHistories {
    var histories = ShownHistories()
    guard items.contains(where: { $0.operation.kind == 23 }) else { return histories }
    let control = try controlZone(of: group)
    let opener = SegmentOpener(zone: control, membership: membership(of: group))
    for _ in 0..<ShownHistories.maximumDepth {
      var parts = ShownParts()
      for item in items { parts.add(item.operation, at: item.version.dot, in: nil) }
      for (number, run) in histories.forks.runs.enumerated() {
        for (place, change) in run.changes.enumerated() {
          let dot = Dot(author: run.life, sequence: run.first + UInt64(place))
          for event in change.events { parts.add(event.operation, at: dot, in: number) }
        }
      }
      var opened = histories.opened
      let shown = parts.whole.compactMap { whole -> ShownHistories.Showing? in
        if opened[whole.digest] == nil {
          opened[whole.digest] =
            openedShown[whole.digest] ?? self.opened(whole.bytes, whole.digest, with: opener)
        }
        return opened[whole.digest].map { .init(by: whole.device, segment: $0) }
      }
      let deeper = ShownHistories(shown, opened: opened)
      guard deeper.counted != histories.counted else { return deeper }
      histories = deeper
    }
    return histories
  }

  private func opened(
    _ bytes: [UInt8], _ digest: Identifier, with opener: SegmentOpener
  ) -> ShownSegment? {
    guard segmentDigest(bytes) == digest, case .opened(let segment)? = try? opener.open(bytes)
    else { return nil }
    return segment.shown(in: opener.zone.id)
  }

  // MARK: Showing

  /// Shows the forked logs that this device has and nobody has shown yet.
  ///
  /// - Parameter contradicted: The changes for which this device has just seen two contents.
  mutating func showHistories(
    of group: GroupID, contradicted: [Dot], nowMilliseconds: UInt64
  ) throws {
    let ends = try controlZone(of: group).forkEnds
    guard !contradicted.isEmpty || !ends.isEmpty, !isShowing else { return }
    var draft = self
    try store.transaction {
      draft = self
      draft.isShowing = true
      let before = draft.membership(of: group)
      try draft.leaveContradictedLife(of: group, contradicted, nowMilliseconds: nowMilliseconds)
      var written = false
      // A shown segment may contain further histories that must be shown.
      for _ in 0..<ShownHistories.maximumDepth {
        let isNew = try draft.showOnce(
          of: group, contradicted: contradicted, nowMilliseconds: nowMilliseconds)
        guard isNew else { break }
        written = true
      }
      draft.isShowing = false
      if written { try draft.settle(group, after: before, nowMilliseconds: nowMilliseconds) }
    }
    self = draft
  }

  /// Starts a new incarnation if the current one is contradicted.
  private mutating func leaveContradictedLife(
    of group: GroupID, _ contradicted: [Dot], nowMilliseconds: UInt64
  ) throws {
    guard let own = contradicted.filter({ $0.author == author }).map(\.sequence).min(),
      membership(of: group).isActive(device)
    else { return }
    let control = try controlZone(of: group).id
    try beginNewLife(
      reason: Engine.copyReason,
      takingBack: [OwnLogEnd(zone: control, author: author, first: own)],
      nowMilliseconds: nowMilliseconds)
  }

  /// Shows every segment once.
  ///
  /// - Returns: Whether there was anything to show.
  private mutating func showOnce(
    of group: GroupID, contradicted: [Dot], nowMilliseconds: UInt64
  ) throws -> Bool {
    let control = try controlZone(of: group)
    // This includes devices that belong to the group only by a history that nobody has shown yet.
    guard membership(of: group).card(of: device) != nil,
      try room(of: control).admits(author, in: control),
      control.forkEnds[author] == nil
    else { return false }
    var starts = control.forkEnds
    for dot in contradicted { starts[dot.author] = min(starts[dot.author] ?? .max, dot.sequence) }
    // Operations of a log that will be cut off are not shown permanently.
    let lasting = try shownHistories(
      in: Membership.items(of: try store.records.events(of: ControlOperation.type, in: control.id))
        .filter { $0.version.dot.sequence < control.forkEnds[$0.version.dot.author] ?? .max },
      of: group)
    var ledger = lasting.ledgers[device] ?? ShownLedger()
    var due: [OpenedSegment] = []
    for (life, start) in starts.sorted(by: { $0.key < $1.key }) {
      var tree = ShownTree(lasting.segments(of: life))
      let stored = Set(
        try store.log.segments(of: control.id).filter { $0.author == life }.map(\.digest))
      let held = try held(of: life, from: start, in: control)
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
    for segment in due { try show(segment, in: group, nowMilliseconds: nowMilliseconds) }
    return !due.isEmpty
  }

  /// This device's sealed segments of an incarnation from a change on, in order.
  private mutating func held(
    of life: Author, from start: UInt64, in control: ZoneState
  ) throws -> [OpenedSegment] {
    let opener = SegmentOpener(zone: control, membership: membership(of: control.group))
    var bytes = try store.log.segments(of: control.id)
      .filter { $0.author == life && $0.last >= start }
      .compactMap { try store.log.bytes(of: $0.digest, in: control.id) }
    bytes += try store.pending.segments(in: control.id)
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
  private mutating func show(
    _ segment: OpenedSegment, in group: GroupID, nowMilliseconds: UInt64
  ) throws {
    let limit = ControlLimits.maximumEvidenceBytes
    let count = (segment.bytes.count + limit - 1) / limit
    for part in 0..<count {
      // No check for effect: a shown segment counts whoever shows it, and this device may seem to
      // be a stranger until everything is shown.
      _ = try writeControl(
        [
          .branch(
            .init(
              author: segment.author, digest: segment.digest, part: part, parts: count,
              bytes: Array(segment.bytes.dropFirst(part * limit).prefix(limit))))
        ], group: group, nowMilliseconds: nowMilliseconds)
    }
  }
}

/// Assembles the parts of shown segments.
///
/// Only parts from one log are combined, so nobody can spoil what another device shows.
private struct ShownParts {
  private struct Source: Hashable {
    let author: Author
    let run: Int?
    let digest: Identifier
    let parts: Int
  }

  private struct Found {
    var last: UInt64 = 0
    var bytes: [Int: [UInt8]] = [:]
  }

  private var parts: [Source: Found] = [:]

  mutating func add(_ operation: ControlOperation, at dot: Dot, in run: Int?) {
    guard case .branch(let part) = operation else { return }
    let source = Source(author: dot.author, run: run, digest: part.digest, parts: part.parts)
    var found = parts[source] ?? Found()
    guard found.bytes.updateValue(part.bytes, forKey: part.part) == nil else { return }
    found.last = max(found.last, dot.sequence)
    parts[source] = found
  }

  /// The complete segments, those of each device in the order of its logs.
  var whole: [(device: DeviceID, digest: Identifier, bytes: [UInt8])] {
    parts.filter { $0.value.bytes.count == $0.key.parts }
      .sorted { left, right in
        if left.key.author != right.key.author { return left.key.author < right.key.author }
        let runs = (left.key.run ?? -1, right.key.run ?? -1)
        if runs.0 != runs.1 { return runs.0 < runs.1 }
        return left.value.last != right.value.last
          ? left.value.last < right.value.last : left.key.digest < right.key.digest
      }
      .map { source, found in
        (
          source.author.device, source.digest,
          (0..<source.parts).flatMap { found.bytes[$0] ?? [] }
        )
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

  /// The segment's membership operations.
  fileprivate func shown(in zone: ZoneID) -> ShownSegment {
    let shown = changes.map { change in
      let hash = hash(after: change.dot.sequence)
      var citations: [Citation] = []
      let events = change.operations.enumerated().compactMap {
        index, operation -> ShownChange.Event? in
        guard operation.isWellFormed, operation.key.type == ControlOperation.type,
          case .event(let fields) = operation.body,
          operation.key.id
            == eventID(
              in: zone, type: ControlOperation.type, dot: change.dot, index: index)
        else { return nil }
        citations += Citation.of(fields)
        guard
          let body = fields.first(where: { $0.field == ControlOperation.bodyField })?.value.bytes,
          let control = try? ControlOperation(decoding: body)
        else { return nil }
        return ShownChange.Event(
          id: derivedIdentifier("HRTH/branch-event/v1", operation.key.id.bytes + hash),
          eventID: operation.key.id, operation: control)
      }
      return ShownChange(
        seen: change.seen, time: change.time, citations: citations, events: events)
    }
    return ShownSegment(digest: digest, author: author, first: first, chain: chain, changes: shown)
  }
}

import HearthCRDT
import HearthCrypto

// A log of a control zone that has two histories is shown whole, and all of it counts.
extension Engine {
  /// Why a life ends whose numbers another copy has used, in words.
  static var copyReason: String {
    "another copy of this node has published changes under the same numbers"
  }

  // MARK: Reading

  /// The logs of a group that have more than one history, as far as operations show it.
  ///
  /// A shown segment proves itself, by its author's signature: it does not matter who shows it.
  func shownHistories(in items: [ControlItem], of group: GroupID) throws -> ControlForks {
    guard items.contains(where: { $0.operation.kind == 23 }) else { return ControlForks() }
    let control = try controlZone(of: group)
    let opener = SegmentOpener(zone: control, membership: membership(of: group))
    var shown: [Identifier: ShownSegment] = [:]
    while true {
      let forks = ControlForks(shown)
      var parts = ShownParts()
      for item in items { parts.add(item.operation, by: item.version.dot.author, in: nil) }
      for (number, run) in forks.runs.enumerated() {
        for event in run.changes.flatMap(\.events) {
          parts.add(event.operation, by: run.life, in: number)
        }
      }
      let count = shown.count
      for (digest, bytes) in parts.whole where shown[digest] == nil {
        shown[digest] = openedShown[digest] ?? opened(bytes, digest, with: opener)
      }
      guard shown.count > count else { return forks }
    }
  }

  private func opened(
    _ bytes: [UInt8], _ digest: Identifier, with opener: SegmentOpener
  ) -> ShownSegment? {
    guard segmentDigest(bytes) == digest, case .opened(let segment)? = try? opener.open(bytes)
    else { return nil }
    return ShownSegment(segment, of: opener.zone.id)
  }

  // MARK: Showing

  /// Shows what this device holds of logs with two histories and nobody has shown yet.
  ///
  /// - Parameter contradicted: changes of which this device has seen two contents just now.
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
      var isNew = true
      var written = false
      while isNew {
        isNew = try draft.showOnce(
          of: group, contradicted: contradicted, nowMilliseconds: nowMilliseconds)
        written = written || isNew
      }
      draft.isShowing = false
      if written { try draft.settle(group, after: before, nowMilliseconds: nowMilliseconds) }
    }
    self = draft
  }

  /// Goes on in a new life where the contradiction is in this one.
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

  /// Shows every segment once; whether there was anything to show.
  private mutating func showOnce(
    of group: GroupID, contradicted: [Dot], nowMilliseconds: UInt64
  ) throws -> Bool {
    let control = try controlZone(of: group)
    // Also who belongs to the group only by a history that nobody has shown yet.
    guard membership(of: group).card(of: device) != nil, control.admits(author),
      control.forkEnds[author] == nil
    else { return false }
    var starts = control.forkEnds
    for dot in contradicted { starts[dot.author] = min(starts[dot.author] ?? .max, dot.sequence) }
    // What a log says that will be cut off is not shown for good.
    let lasting = try shownHistories(
      in: Membership.items(of: try store.events(of: ControlOperation.type, in: control.id))
        .filter { $0.version.dot.sequence < control.forkEnds[$0.version.dot.author] ?? .max },
      of: group
    ).segments.values
    var due: [OpenedSegment] = []
    for (life, start) in starts.sorted(by: { $0.key < $1.key }) {
      var tree = ShownTree(lasting.filter { $0.author == life })
      let applied = Set(
        try store.segments(of: control.id).filter { $0.author == life }.map(\.digest))
      for segment in try held(of: life, from: start, in: control)
      where tree.takes(segment, from: start, isApplied: applied.contains(segment.digest)) {
        due.append(segment)
      }
    }
    for segment in due { try show(segment, in: group, nowMilliseconds: nowMilliseconds) }
    return !due.isEmpty
  }

  /// The sealed segments of a life that this device holds from a change on, in order.
  private mutating func held(
    of life: Author, from start: UInt64, in control: ZoneState
  ) throws -> [OpenedSegment] {
    let opener = SegmentOpener(zone: control, membership: membership(of: control.group))
    var bytes = try store.segments(of: control.id)
      .filter { $0.author == life && $0.last >= start }
      .compactMap { try store.bytes(of: $0.digest, in: control.id) }
    bytes += try store.pending(in: control.id)
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
    let limit = ControlOperation.maximumEvidenceBytes
    let count = (segment.bytes.count + limit - 1) / limit
    for part in 0..<count {
      // Whether it has effect is not asked: it counts whoever shows it, and until all is shown this
      // very device may seem to be a stranger.
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

/// The parts of shown segments, to be put together.
///
/// Parts of one log only: nobody spoils what another one shows.
private struct ShownParts {
  private struct Source: Hashable {
    let author: Author
    let run: Int?
    let digest: Identifier
    let parts: Int
  }

  private var parts: [Source: [Int: [UInt8]]] = [:]

  mutating func add(_ operation: ControlOperation, by author: Author, in run: Int?) {
    guard case .branch(let part) = operation else { return }
    let source = Source(author: author, run: run, digest: part.digest, parts: part.parts)
    if parts[source]?[part.part] == nil {
      parts[source, default: [:]][part.part] = part.bytes
    }
  }

  /// The segments of which every part is here.
  var whole: [(digest: Identifier, bytes: [UInt8])] {
    parts.compactMap { source, found in
      guard found.count == source.parts else { return nil }
      return (source.digest, (0..<source.parts).flatMap { found[$0] ?? [] })
    }
  }
}

/// What is shown of one life, to find what is not.
struct ShownTree {
  /// The most histories of one life that a device shows.
  static let maximumHistories = 8
  /// The most segments of one life that are shown, by anybody, before a device shows no more.
  static let maximumSegments = 256

  private var nodes: Set<ShownSegment.Node> = []
  private var parents: Set<ShownSegment.Node> = []
  private var count = 0

  init(_ segments: [ShownSegment]) {
    for segment in segments { add(segment.nodes, after: segment.chain[0]) }
  }

  private mutating func add(_ new: [ShownSegment.Node], after hash: [UInt8]) {
    count += 1
    guard let first = new.first else { return }
    parents.insert(ShownSegment.Node(sequence: first.sequence - 1, hash: hash))
    parents.formUnion(new.dropLast())
    nodes.formUnion(new)
  }

  /// Adds a segment, unless it says nothing new, hangs in the air, or is one too many.
  ///
  /// What this device has applied is never too many, or the author could fill the limits with
  /// decoys and so take away what others rest on.
  mutating func takes(
    _ segment: OpenedSegment, from start: UInt64, isApplied: Bool = false
  ) -> Bool {
    let new = (segment.first...segment.last).map {
      ShownSegment.Node(sequence: $0, hash: segment.hash(after: $0))
    }
    let before = ShownSegment.Node(sequence: segment.first - 1, hash: segment.chain[0])
    guard !nodes.isSuperset(of: new), segment.first <= start || nodes.contains(before),
      count < ShownTree.maximumSegments || isApplied
    else { return false }
    var after = self
    after.add(new, after: segment.chain[0])
    guard after.histories <= max(histories, ShownTree.maximumHistories) || isApplied else {
      return false
    }
    self = after
    return true
  }

  /// How many histories end here.
  private var histories: Int { nodes.subtracting(parents).count }
}

extension ShownSegment {
  /// What an opened segment says of the group.
  init(_ segment: OpenedSegment, of zone: ZoneID) {
    digest = segment.digest
    author = segment.author
    first = segment.first
    chain = segment.chain
    changes = segment.changes.map { change in
      let hash = segment.hash(after: change.dot.sequence)
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
  }
}

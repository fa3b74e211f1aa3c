import HearthCRDT
import HearthCrypto
import HearthMembership

/// The histories of forked logs that members have shown.
struct ShownHistoryReader<S: Store> {
  let engine: Engine<S>

  /// The forked logs of a group, as far as operations show them.
  ///
  /// A shown segment proves itself by its author's signature. It does not matter which device shows
  /// it, except for the quota of each device.
  func shownHistories(in items: [ControlItem], of group: GroupID) throws -> ShownHistories {
    var histories = ShownHistories()
    guard items.contains(where: { $0.operation.kind == 23 }) else { return histories }
    let control = try engine.controlZone(of: group)
    let opener = SegmentOpener(zone: control, membership: engine.membership(of: group))
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
            engine.openedShown[whole.digest] ?? self.opened(whole.bytes, whole.digest, with: opener)
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
    guard case .branch(_, let digest, let part, let count, let bytes) = operation else { return }
    let source = Source(author: dot.author, run: run, digest: digest, parts: count)
    var found = parts[source] ?? Found()
    guard found.bytes.updateValue(bytes, forKey: part) == nil else { return }
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

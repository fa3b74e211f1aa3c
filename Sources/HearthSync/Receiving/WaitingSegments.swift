import HearthCRDT

/// A verified segment on this node that is pending on other changes.
package struct WaitingSegment: Sendable {
  /// The author of the segment.
  package let author: Author
  /// The first change in the segment.
  package let first: UInt64
  /// The last change in the segment.
  package let last: UInt64
  /// What the author had seen of the zone after the segment, at least.
  package let seen: Frontier
  /// What the author had seen of the group's control zone after the segment, at least.
  package let controlSeen: Frontier
}

/// The segments of a zone that count as here but are not applied.
package struct WaitingSegments<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The segments of a zone that are pending on missing changes or cannot be opened, by author and
  /// then first change.
  ///
  /// What their authors had seen proves that changes exist which this node has not received.
  /// Changes list only what was new to their author, so if earlier changes are missing, the result
  /// is a lower bound. The call opens no segment: what the authors had seen was noted when the
  /// segments were opened.
  package func segments(in id: ZoneID) throws -> [WaitingSegment] {
    let state = try engine.zone(id)
    let entries = try engine.store.pending.entries(in: id)
    // After a false claim, an author's later citations prove nothing.
    let liars = Set(entries.filter { $0.reason == .falseClaim }.compactMap { $0.author(in: state) })
    var found: [WaitingSegment] = []
    var reached: [Author: (sequence: UInt64, seen: Frontier, controlSeen: Frontier)] = [:]
    for entry in entries.sorted(by: PendingEntry.isBefore) {
      guard entry.reason == .gap || entry.reason == .cause, let author = entry.author(in: state),
        !liars.contains(author)
      else { continue }
      let head = state.head(of: author)
      var (sequence, seen, controlSeen) =
        reached[author] ?? (head.sequence, head.seen, head.controlSeen)
      if entry.last > sequence {
        sequence = entry.last
        seen = seen.joined(with: entry.wait.seen)
        controlSeen = controlSeen.joined(with: entry.wait.controlSeen)
      }
      reached[author] = (sequence, seen, controlSeen)
      found.append(
        WaitingSegment(
          author: author, first: entry.first, last: entry.last, seen: seen,
          controlSeen: controlSeen))
    }
    found += try closed(in: state)
    found.sort { ($0.author, $0.first, $1.last) < ($1.author, $1.first, $0.last) }
    return found
  }

  /// The segments that stay closed in a zone whose history this node may not read completely.
  ///
  /// They are on this node, although nobody here can read them. The result relies on what the
  /// envelopes claim, so a transport could exaggerate. In all other zones, segments that no key
  /// opens count as missing.
  private func closed(in zone: ZoneState) throws -> [WaitingSegment] {
    try ClosedSegments(engine: engine).closedSegments(of: zone).compactMap { pending in
      guard let device = zone.deviceByTag[pending.authorTag] else { return nil }
      return WaitingSegment(
        author: Author(device: device, incarnation: pending.incarnation), first: pending.first,
        last: pending.last, seen: Frontier(), controlSeen: Frontier())
    }
  }
}

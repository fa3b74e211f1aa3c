import HearthCRDT

/// A segment that is here and verified, and that waits for other changes.
package struct WaitingSegment: Sendable {
  /// Who wrote it.
  package let author: Author
  /// The first change in it.
  package let first: UInt64
  /// The last change in it.
  package let last: UInt64
  /// What its author had seen of its zone after it, at least.
  package let seen: Frontier
  /// What its author had seen of the group's control zone after it, at least.
  package let controlSeen: Frontier
}

extension Engine {
  /// What waits in a zone for changes that are not here, or stays closed, by author and then first
  /// change.
  ///
  /// By what their authors had seen they prove that there are changes which nobody has given to
  /// this node. Changes say what was new to their author, so where some of its own are missing
  /// too it had seen that at least. Opens none: what they had seen was noted when they were.
  package func waitingSegments(in id: ZoneID) throws -> [WaitingSegment] {
    let state = try zone(id)
    let entries = try store.pendingEntries(in: id)
    // Whoever was found to cite what nobody wrote proves nothing by what is cited after that.
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

  /// What lies closed in a zone of somebody who may not read it all: it is here, though nobody can
  /// say what it is.
  ///
  /// By what the envelopes say of themselves, so that a transport could claim more: elsewhere what
  /// no key opens counts as missing.
  private func closed(in zone: ZoneState) throws -> [WaitingSegment] {
    try closedSegments(of: zone).compactMap { pending in
      guard let device = zone.deviceByTag[pending.authorTag] else { return nil }
      return WaitingSegment(
        author: Author(device: device, incarnation: pending.incarnation), first: pending.first,
        last: pending.last, seen: Frontier(), controlSeen: Frontier())
    }
  }
}

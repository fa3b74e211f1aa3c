import HearthCRDT
import HearthCrypto

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
  /// too it had seen that at least. Opens every such segment: the cost follows their bytes.
  package func waitingSegments(in id: ZoneID) throws -> [WaitingSegment] {
    let state = try zone(id)
    let opener = SegmentOpener(zone: state, membership: membership(of: state.group))
    var opened: [OpenedSegment] = []
    for pending in try store.pending(in: id) where [.gap, .cause].contains(pending.reason) {
      guard case .opened(let segment)? = try? opener.open(pending.bytes, digest: pending.digest)
      else { continue }
      opened.append(segment)
    }
    opened.sort { ($0.author, $0.first, $1.last) < ($1.author, $1.first, $0.last) }
    var found: [WaitingSegment] = []
    var reached: [Author: (sequence: UInt64, seen: Frontier, controlSeen: Frontier)] = [:]
    for segment in opened {
      let head = state.head(of: segment.author)
      var (sequence, seen, controlSeen) =
        reached[segment.author] ?? (head.sequence, head.seen, head.controlSeen)
      for change in segment.changes where change.dot.sequence > sequence {
        sequence = change.dot.sequence
        // What cannot be counted is not believed.
        seen = seen.raised(by: change.seen) ?? seen
        controlSeen = controlSeen.raised(by: change.controlSeen) ?? controlSeen
      }
      reached[segment.author] = (sequence, seen, controlSeen)
      found.append(
        WaitingSegment(
          author: segment.author, first: segment.first, last: segment.last,
          seen: seen, controlSeen: controlSeen))
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
      guard let frame = try? EnvelopeFrame(pending.bytes),
        let device = zone.deviceByTag[Identifier(frame.authorTag)]
      else { return nil }
      return WaitingSegment(
        author: Author(device: device, incarnation: frame.incarnation), first: frame.firstSeq,
        last: frame.lastSeq, seen: Frontier(), controlSeen: Frontier())
    }
  }
}

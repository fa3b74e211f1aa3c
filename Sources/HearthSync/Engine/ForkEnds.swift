import HearthCRDT
import HearthMembership

/// Where forked logs end, equally for everybody.
enum ForkEnds {
  /// Determines the ends of all logs whose fork has been shown.
  static func learnForks(
    of group: GroupID, _ membership: Membership, in engine: inout Engine<some Store>
  ) throws {
    if let control = engine.zones.firstIndex(where: { $0.group == group && $0.kind == .control }) {
      engine.zones[control].forkEnds = membership.forks.ends
    }
    var ends: [Int: [Author: Set<UInt64>]] = [:]
    for said in membership.said(.forkProof) where said.counts {
      guard case .forkProof(let id, let author, let first, let second) = said.item.operation,
        let zone = engine.zones.firstIndex(where: { $0.id == id && $0.group == group }),
        engine.zones[zone].kind == .data,
        let end = forkEnd(first, second, of: author, in: engine.zones[zone], membership)
      else { continue }
      ends[zone, default: [:]][author, default: []].insert(end)
    }
    for (zone, logs) in ends.sorted(by: { $0.key < $1.key }) {
      for (author, proven) in logs.sorted(by: { $0.key < $1.key }) {
        // Each further history costs every reader one more proof, so only a few per log are
        // examined.
        let end = proven.count > Limits.maximumForkEnds ? 1 : proven.min()
        engine.zones[zone].forkEnds[author] = min(
          engine.zones[zone].forkEnds[author] ?? .max, end ?? .max)
      }
    }
  }

  /// The first change with two proven contents; nil if the proof proves nothing.
  static func forkEnd(
    _ first: [UInt8], _ second: [UInt8], of author: Author, in zone: ZoneState,
    _ membership: Membership
  ) -> UInt64? {
    let opener = SegmentOpener(zone: zone, membership: membership)
    guard case .opened(let first)? = try? opener.open(first),
      case .opened(let second)? = try? opener.open(second),
      first.author == author, second.author == author
    else { return nil }
    let start = max(first.first, second.first) - 1
    let end = min(first.last, second.last)
    guard start <= end else { return nil }
    let differing = (start...end).first { first.hash(after: $0) != second.hash(after: $0) }
    return differing.map { max(1, $0) }
  }
}

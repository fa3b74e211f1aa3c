import HearthCRDT
import HearthMembership

/// Proof of forks to the group, and the own changes that a fork took away.
enum ForkProof {
  /// Shows contradictions to the group, unless the group knows them already.
  static func proveForks(
    _ evidence: [ForkEvidence], in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    for found in evidence {
      let zone = try engine.zone(found.zone)
      let membership = engine.membership(of: zone.group)
      guard membership.isActive(engine.device),
        let end = ForkEnds.forkEnd(
          found.first, found.second, of: found.author, in: zone, membership),
        end < zone.forkEnds[found.author] ?? .max
      else { continue }
      try GroupOperations.perform(
        [
          .forkProof(
            zone: found.zone, author: found.author, first: found.first, second: found.second)
        ], in: zone.group, by: &engine, nowMilliseconds: nowMilliseconds)
    }
  }

  /// Reissues, once, what this copy of the device published in its own forked logs.
  ///
  /// The device had reported those changes as saved, but a fork voids them. The other copy reissues
  /// its own history. If the other copy is gone, its history stays in quarantine.
  static func reissueForked(
    of group: GroupID, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    for zone in engine.zones where zone.group == group && zone.kind == .data {
      for (author, end) in zone.forkEnds.sorted(by: { $0.key < $1.key })
      where author.device == engine.device {
        let fact = Fact(number: "fork.\(zone.id.hex).\(author.incarnation)")
        // A further history may end the log earlier than the first two did.
        let before = try engine.store.facts.value(of: fact) ?? .max
        guard end < before else { continue }
        let opener = SegmentOpener(zone: zone, membership: engine.membership(of: group))
        var changes: [UInt64: Change] = [:]
        for segment in try engine.store.log.segments(of: zone.id)
        where segment.author == author && segment.last >= end {
          guard let bytes = try engine.store.log.bytes(of: segment.digest, in: zone.id),
            case .opened(let opened)? = try? opener.open(bytes)
          else { continue }
          for change in opened.changes where (end..<before).contains(change.dot.sequence) {
            changes[change.dot.sequence] = change
          }
        }
        Probe.forkReissued.hit(if: !changes.isEmpty)
        try engine.store.transaction {
          try engine.store.facts.set(fact, to: end)
          try Reissue.reissue(
            changes.sorted { $0.key < $1.key }.map { (zone.id, $0.value) }, now: nowMilliseconds,
            in: &engine)
        }
      }
    }
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership

/// The authors whose changes a zone's base snapshot contains.
package struct BaseAuthors<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The first author whose changes the zone's base snapshot may judge wrongly; nil if there is
  /// none.
  ///
  /// The snapshot may contain void changes of the author, or lack effective ones. It does not say
  /// whether its maker knew of a removal or of a lost role. If it reaches beyond the cut of such an
  /// operation, only the changes themselves can show which of them count. No change of a forked log
  /// beyond its end counts. If keys are withheld from newcomers, this node may be unable to open
  /// the changes; then the judgement relies on what the author of the snapshot's epoch had seen.
  package func authorLessenedInBase(of id: ZoneID) throws -> Author? {
    let zone = try engine.zone(id)
    let membership = engine.membership(of: zone.group)
    let mayBe = membership.changes.hasTriedCuts
    guard zone.kind == .data, try engine.store.snapshots.base(of: id, atMost: 1) != nil else {
      return nil
    }
    // If keys are withheld, only another snapshot would help, and nobody has to make one.
    let late =
      membership.history.withholdsKeys ? [] : membership.entries.devicesBelonging(since: Frontier())
    guard mayBe || !zone.forkEnds.isEmpty || !late.isEmpty,
      let (first, heads, _) = try BaseSnapshot(engine: engine).base(of: zone)
    else { return nil }
    // The snapshot's maker had seen everything that its changes cite.
    let known = heads.reduce(Frontier()) { $0.joined(with: $1.controlSeen) }
    let left = late.isEmpty ? [] : membership.entries.devicesBelonging(since: known)
    if let head = heads.first(where: { left.contains($0.author.device) }) { return head.author }
    // The log forks, and neither history counts beyond the fork (decision 0025).
    let forked = heads.first { head in
      zone.forkEnds[head.author].map { head.sequence >= $0 } ?? false
    }
    if let forked, !Mutant.keepsForkedBase.isActive { return forked.author }
    let tag = try Envelope.parseHeader(first, minimumSuite: membership.acceptedSuite).epochTag
    let epoch = try membership.keys.epochs(of: id).first {
      try EpochKey.tag(ofID: $0.grant.epoch) == tag
    }
    return heads.first { head in
      let dot = Dot(author: head.author, sequence: head.sequence)
      guard !membership.history.withholdsKeys else {
        return membership.changes.isMisjudged(dot, in: id, at: head.controlSeen, byMakerOf: epoch)
      }
      return membership.changes.isOverruled(dot, in: id, at: head.controlSeen)
        || membership.changes.lacksEffective(dot, in: id, byMakerOf: epoch)
          && !Mutant.keepsOverruledBase.isActive
    }?.author
  }
}

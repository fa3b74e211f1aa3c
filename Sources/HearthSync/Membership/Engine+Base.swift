import HearthCRDT
import HearthCrypto
import HearthMembership

extension Engine {
  /// An author of whose changes the snapshot that a zone began from may hold what they do not count
  /// for, or lack what they do.
  ///
  /// A snapshot does not tell whether its maker knew of a removal, or of a role that was lost.
  /// Where it reaches beyond the cut of one, only the changes themselves can say what counts. Nil
  /// where nobody's log does. Of a log that ended before a contradiction all beyond does not count.
  /// Where keys are withheld from newcomers the changes themselves may be closed here; then it
  /// counts that the maker knew what its key was made after.
  package func authorLessenedInBase(of id: ZoneID) throws -> Author? {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    let mayBe = membership.withholdsKeys ? membership.hasTriedCuts : membership.hasCuts
    guard zone.kind == .data, try store.baseSnapshot(of: id, atMost: 1) != nil else { return nil }
    // Where keys are withheld nothing but another snapshot would help, and nobody need make one.
    let late =
      membership.withholdsKeys ? [] : membership.devicesBelonging(since: Frontier())
    guard mayBe || !zone.forkEnds.isEmpty || !late.isEmpty,
      let (first, heads, _) = try base(of: zone)
    else { return nil }
    // Its maker had seen what the changes in it cite.
    let known = heads.reduce(Frontier()) { $0.joined(with: $1.controlSeen) }
    let left = late.isEmpty ? [] : membership.devicesBelonging(since: known)
    if let head = heads.first(where: { left.contains($0.author.device) }) { return head.author }
    // One of two histories, of which neither counts (decision 0025).
    let forked = heads.first { head in
      zone.forkEnds[head.author].map { head.sequence >= $0 } ?? false
    }
    if let forked, !Mutant.keepsForkedBase.isActive { return forked.author }
    guard membership.withholdsKeys else {
      return heads.first { head in
        let dot = Dot(author: head.author, sequence: head.sequence)
        return membership.isOverruled(dot, in: id, at: head.controlSeen)
      }?.author
    }
    let tag = try Envelope.parseHeader(first, minimumSuite: membership.acceptedSuite).epochTag
    let epoch = try membership.epochs(of: id).first {
      try EpochKey.tag(ofID: $0.grant.epoch) == tag
    }
    return heads.first { head in
      let dot = Dot(author: head.author, sequence: head.sequence)
      return membership.isMisjudged(dot, in: id, at: head.controlSeen, byMakerOf: epoch)
    }?.author
  }
}

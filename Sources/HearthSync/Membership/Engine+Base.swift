import HearthCRDT

extension Engine {
  /// An author of whose changes the snapshot that a zone began from may hold what they do not count
  /// for.
  ///
  /// A snapshot does not tell whether its maker knew of a removal, or of a role that was lost.
  /// Where it reaches beyond the cut of one, only the changes themselves can say what counts. Nil
  /// where nobody's log does.
  func authorLessenedInBase(of id: ZoneID) throws -> Author? {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    guard zone.kind == .data, membership.hasCuts,
      let base = try store.baseSnapshot(of: id)
    else { return nil }
    let chunks = try Engine.chunks(of: base)
    guard let first = chunks.first else { return nil }
    let heads = try heads(ofSnapshot: first, of: chunks.count, zone: zone, isAccepted: true).heads
    return heads.first { head in
      let dot = Dot(author: head.author, sequence: head.sequence)
      return membership.isOverruled(dot, in: id, at: head.controlSeen)
    }?.author
  }
}

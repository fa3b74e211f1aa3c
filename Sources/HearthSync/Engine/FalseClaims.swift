import HearthCRDT
import HearthMembership

/// Changes that cite what their authors cannot have seen.
///
/// Such changes are held back, kept as evidence and reported.
package struct FalseClaims<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// A false claim in words, with its author and its consequences.
  package func words(for claim: FalseClaim, in zone: ZoneState) -> String {
    let name = DeviceNames(engine: engine).name(claim.author.device, in: zone)
    let cited = DeviceNames(engine: engine).name(claim.cited.author.device, in: zone)
    let what =
      switch claim.kind {
      case .content:
        "it cites a change of \(cited) (\(claim.cited)) with content that \(cited) did not write"
      case .past:
        "it cites a change that had seen \(claim.cited) of \(cited), but claims not to have seen it"
      case .summedUp:
        "the snapshot that \(zone.name) began from shows that it cites changes that \(name) cannot "
          + "have seen"
      }
    return "\(name) published a change (\(claim.author)#\(claim.sequence)) that no honest program "
      + "writes: \(what). This change and the later ones of this incarnation of \(name) are "
      + "quarantined; all other changes count"
  }

  /// The changes of a zone that are held back for their citations, by author.
  ///
  /// They are known from evidence on this node, or from the zone's base snapshot.
  package func claims(in id: ZoneID) throws -> [FalseClaim] {
    let waiting = FalseClaim.claims(in: try engine.store.pending.entries(in: id))
    return FalseClaim.earliest(waiting, try StoredClaims.baseClaims(of: id, in: engine.store))
      .values
      .sorted { $0.author < $1.author }
  }

  /// The held-back changes, equal on all nodes with the same data.
  ///
  /// A fork that ends a log earlier takes precedence.
  func heldBack(in zone: ZoneState) throws -> [Dot] {
    try claims(in: zone.id)
      .filter { $0.sequence < zone.forkEnds[$0.author] ?? .max }
      .map { Dot(author: $0.author, sequence: $0.sequence) }
  }
}

import HearthCRDT
import HearthCrypto

/// How far transports have taken this device's changes.
///
/// A sealed change is not taken yet: a folder may be full, or a relay may refuse it.
package enum AcknowledgedChanges {
  /// The fact that stores how far transports have taken the own logs of a zone.
  private static func fact(of zone: ZoneID) -> Fact<Frontier> {
    Fact(frontier: "given." + zone.hex).asCache
  }

  /// How far any transport has taken the own logs of a zone, including those of earlier
  /// incarnations.
  package static func acknowledged(of id: ZoneID, in store: some Store) throws -> Frontier {
    try store.facts.value(of: fact(of: id)) ?? Frontier()
  }

  /// The number of this device's changes in a zone that no transport has taken.
  package static func unsyncedCount(of zone: ZoneState, in engine: Engine<some Store>) throws
    -> UInt64
  {
    let acknowledged = try acknowledged(of: zone.id, in: engine.store)
    return zone.heads.filter { $0.author.device == engine.device }.reduce(0) { sum, head in
      sum
        + (head.sequence > acknowledged[head.author]
          ? head.sequence - acknowledged[head.author] : 0)
    }
  }

  /// How far the own logs of a zone are sealed.
  static func sealedChanges(of id: ZoneID, in engine: Engine<some Store>) throws -> Frontier {
    let state = try engine.zone(id)
    return Frontier(
      try state.heads.compactMap { head -> (Author, UInt64)? in
        guard head.author.device == engine.device, head.sequence > 0 else { return nil }
        let unsealed = try engine.store.log.changes(
          of: head.author, in: id, after: 0, limit: Int(clamping: head.sequence)
        ).count
        return (head.author, head.sequence - min(head.sequence, UInt64(unsealed)))
      }.filter { $0.1 > 0 })
  }

  /// Notes that a transport holds the own logs of a zone up to a frontier.
  static func note(_ sealed: Frontier, of id: ZoneID, in store: some Store) throws {
    let before = try acknowledged(of: id, in: store)
    let joined = before.joined(with: sealed)
    guard joined != before else { return }
    try store.transaction { try store.facts.set(fact(of: id), to: joined) }
  }
}

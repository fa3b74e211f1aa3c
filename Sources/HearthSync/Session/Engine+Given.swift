import HearthCRDT
import HearthCrypto

// How far some way has taken this device's changes: sealed is not given, as a folder may be full or
// a relay may refuse.
extension Engine {
  /// The fact by which a node remembers how far its own logs of a zone were given away.
  private static func givenFact(of zone: ZoneID) -> String { "given." + zone.hex }

  /// How far some transport has taken the own logs of a zone, those of earlier lives among them.
  package func given(of id: ZoneID) throws -> Frontier {
    guard let bytes = try store.facts.value(of: Engine.givenFact(of: id)) else { return Frontier() }
    var reader = ByteReader(bytes)
    let given = try reader.frontier("changes")
    try reader.finish()
    return given
  }

  /// How many of the changes of this device in a zone no transport has taken.
  package func unsyncedCount(of zone: ZoneState) throws -> UInt64 {
    let given = try given(of: zone.id)
    return zone.heads.filter { $0.author.device == device }.reduce(0) { sum, head in
      sum + (head.sequence > given[head.author] ? head.sequence - given[head.author] : 0)
    }
  }

  /// How far the own logs of a zone are sealed.
  func sealedChanges(of id: ZoneID) throws -> Frontier {
    let state = try zone(id)
    return Frontier(
      try state.heads.compactMap { head -> (Author, UInt64)? in
        guard head.author.device == device, head.sequence > 0 else { return nil }
        let unsealed = try store.log.changes(
          of: head.author, in: id, after: 0, limit: Int(clamping: head.sequence)
        ).count
        return (head.author, head.sequence - min(head.sequence, UInt64(unsealed)))
      }.filter { $0.1 > 0 })
  }

  /// Remembers that a transport holds the own logs of a zone so far.
  func noteGiven(_ sealed: Frontier, of id: ZoneID) throws {
    let before = try given(of: id)
    let joined = before.joined(with: sealed)
    guard joined != before else { return }
    var writer = ByteWriter(capacity: 64)
    writer.frontier(joined)
    try store.transaction { try store.facts.set(Engine.givenFact(of: id), to: writer.bytes) }
  }
}

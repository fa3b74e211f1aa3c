import HearthCRDT
import HearthMembership

/// Stored judgements about a zone's logs.
package enum StoredClaims {
  private static func baseClaimsFact(_ zone: ZoneID) -> String { "base-claims.\(zone.hex)" }

  /// The false claims for which logs were held back in a zone's base snapshot.
  ///
  /// The claims cite changes below the snapshot, which a node that bootstrapped from it cannot
  /// compare.
  static func baseClaims(of zone: ZoneID, in store: some Store) throws -> [Author: FalseClaim] {
    guard let bytes = try store.facts.value(of: baseClaimsFact(zone)) else { return [:] }
    var reader = ByteReader(bytes)
    let heldBack = try reader.frontier("changes held back")
    try reader.finish()
    return Dictionary(
      uniqueKeysWithValues: heldBack.entries.map {
        ($0.author, FalseClaim(summedUp: Dot(author: $0.author, sequence: $0.sequence)))
      })
  }

  /// Stores the changes that a zone's base snapshot holds back.
  static func save(heldBack changes: [Dot], ofBaseOf zone: ZoneID, in store: some Store) throws {
    var writer = ByteWriter()
    writer.frontier(Frontier(changes.map { ($0.author, $0.sequence) }))
    let fact = changes.isEmpty ? nil : writer.bytes
    guard try store.facts.value(of: baseClaimsFact(zone)) != fact else { return }
    try store.facts.set(baseClaimsFact(zone), to: fact)
  }

  private static func uncertainFact(_ zone: ZoneID) -> String { "uncertain.\(zone.hex)" }

  /// The first change of each log of a zone that was judged without the changes it cites.
  package static func uncertainChanges(in zone: ZoneID, with store: some Store) throws -> [Author:
    UInt64]
  {
    guard let bytes = try store.facts.value(of: uncertainFact(zone)) else { return [:] }
    var reader = ByteReader(bytes)
    let noted = try reader.frontier("uncertain changes")
    try reader.finish()
    return Dictionary(uniqueKeysWithValues: noted.entries.map { ($0.author, $0.sequence) })
  }

  /// Stores the first change of each log that was judged without the changes it cites.
  static func save(uncertain: [Author: UInt64], of zone: ZoneID, in store: some Store) throws {
    var writer = ByteWriter()
    writer.frontier(Frontier(uncertain.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }))
    let fact = uncertain.isEmpty ? nil : writer.bytes
    guard try store.facts.value(of: uncertainFact(zone)) != fact else { return }
    try store.facts.set(uncertainFact(zone), to: fact)
  }
}

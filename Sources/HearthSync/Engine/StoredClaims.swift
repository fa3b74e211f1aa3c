import HearthCRDT
import HearthMembership

/// Stored judgements about a zone's logs.
package enum StoredClaims {
  private static func baseClaimsFact(_ zone: ZoneID) -> Fact<Frontier> {
    Fact(frontier: "base-claims.\(zone.hex)")
  }

  /// The false claims for which logs were held back in a zone's base snapshot.
  ///
  /// The claims cite changes below the snapshot, which a node that bootstrapped from it cannot
  /// compare.
  static func baseClaims(of zone: ZoneID, in store: some Store) throws -> [Author: FalseClaim] {
    let heldBack = try store.facts.value(of: baseClaimsFact(zone)) ?? Frontier()
    return Dictionary(
      uniqueKeysWithValues: heldBack.entries.map {
        ($0.author, FalseClaim(summedUp: Dot(author: $0.author, sequence: $0.sequence)))
      })
  }

  /// Stores the changes that a zone's base snapshot holds back.
  static func save(heldBack changes: [Dot], ofBaseOf zone: ZoneID, in store: some Store) throws {
    try keep(
      Frontier(changes.map { ($0.author, $0.sequence) }), as: baseClaimsFact(zone), in: store)
  }

  private static func uncertainFact(_ zone: ZoneID) -> Fact<Frontier> {
    Fact(frontier: "uncertain.\(zone.hex)")
  }

  /// The first change of each log of a zone that was judged without the changes it cites.
  package static func uncertainChanges(in zone: ZoneID, with store: some Store) throws -> [Author:
    UInt64]
  {
    let noted = try store.facts.value(of: uncertainFact(zone)) ?? Frontier()
    return Dictionary(uniqueKeysWithValues: noted.entries.map { ($0.author, $0.sequence) })
  }

  /// Stores the first change of each log that was judged without the changes it cites.
  static func save(uncertain: [Author: UInt64], of zone: ZoneID, in store: some Store) throws {
    let changes = Frontier(uncertain.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    try keep(changes, as: uncertainFact(zone), in: store)
  }

  /// Stores changes under a fact, which is not set if there are none.
  private static func keep(
    _ changes: Frontier, as fact: Fact<Frontier>, in store: some Store
  ) throws {
    let present = changes.isEmpty ? nil : changes
    guard try store.facts.value(of: fact) != present else { return }
    try store.facts.set(fact, to: present)
  }
}

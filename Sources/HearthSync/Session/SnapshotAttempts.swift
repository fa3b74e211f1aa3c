import HearthCRDT
import HearthCrypto
import HearthMembership

/// The stored memory of snapshots that were tried in vain.
enum SnapshotAttempts {
  /// The snapshots that were tried in vain while a zone had some changes.
  private struct Tried {
    let frontier: Frontier
    let snapshots: [Identifier]
  }

  private static func triedFact(of zone: ZoneState) -> Fact<Tried> {
    Fact("snapshots.tried.\(zone.id.hex)") { tried, writer in
      writer.frontier(tried.frontier)
      writer.varint(tried.snapshots.count)
      for group in tried.snapshots { writer.identifier(group) }
    } read: { reader in
      let frontier = try reader.frontier("frontier")
      let count = try reader.count("snapshots", itemBytes: Identifier.byteCount)
      return Tried(
        frontier: frontier,
        snapshots: try (0..<count).map { _ in try reader.identifier("snapshot") })
    }.asCache
  }

  /// The snapshots that were tried in vain since the zone last changed.
  static func triedSnapshots(of id: ZoneID, in engine: Engine<some Store>) throws -> Set<Identifier>
  {
    let zone = try engine.zone(id)
    guard let tried = try engine.store.facts.value(of: triedFact(of: zone)),
      tried.frontier == zone.frontier
    else { return [] }
    return Set(tried.snapshots)
  }

  /// A mark of everything that decides whether a zone can do without its snapshot: the snapshot,
  /// the available segments, the known keys, and what is known of the members.
  static func replacement(
    of id: ZoneID, holding listing: TransportListing, in engine: Engine<some Store>
  ) throws -> Identifier {
    let zone = try engine.zone(id)
    var writer = ByteWriter()
    if let base = try engine.store.snapshots.base(of: id) {
      writer.raw(Blake2b.hash(base, count: 16))
    }
    for name in listing.segments { writer.identifier(name.digest) }
    for epoch in zone.epochs { writer.raw(epoch.id) }
    writer.frontier(try engine.controlZone(of: zone.group).reached)
    return Identifier(bytes: Blake2b.hash(writer.bytes, count: Identifier.byteCount)) ?? .zero
  }

  private static func replacementFact(of id: ZoneID) -> Fact<[Identifier]> {
    Fact("base.kept.\(id.hex)") { attempts in
      attempts.flatMap(\.bytes)
    } decode: { bytes in
      var reader = ByteReader(bytes)
      return try (0..<bytes.count / Identifier.byteCount).map { _ in
        try reader.identifier("attempt")
      }
    }.asCache
  }

  /// The marks of the last vain attempts to replace a zone's snapshot, one for each transport that
  /// was tried.
  static func triedReplacements(of id: ZoneID, in store: some Store) throws -> [Identifier] {
    try store.facts.value(of: replacementFact(of: id)) ?? []
  }

  /// Stores that a zone's snapshot was to be replaced in vain.
  static func remember(replacement: Identifier, of id: ZoneID, in store: some Store) throws {
    let tried = try triedReplacements(of: id, in: store) + [replacement]
    let kept = Array(tried.suffix(rememberedReplacements))
    try store.transaction { try store.facts.set(replacementFact(of: id), to: kept) }
  }

  /// The number of stored attempts, which is larger than the number of a node's transports.
  private static var rememberedReplacements: Int { 16 }

  /// Notes that a snapshot was tried in vain.
  static func noteTried(_ snapshot: Identifier, of id: ZoneID, in engine: Engine<some Store>) throws
  {
    let zone = try engine.zone(id)
    let tried = try triedSnapshots(of: id, in: engine).union([snapshot])
    let kept = Array(tried.sorted().prefix(SnapshotPlan.fetchedSnapshots))
    try engine.store.transaction {
      try engine.store.facts.set(
        triedFact(of: zone), to: Tried(frontier: zone.frontier, snapshots: kept))
    }
  }
}

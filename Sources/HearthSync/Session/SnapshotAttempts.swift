import HearthCRDT
import HearthCrypto
import HearthMembership

/// The stored memory of snapshots that were tried in vain.
enum SnapshotAttempts {
  private static func triedName(of zone: ZoneState) -> String { "snapshots.tried.\(zone.id.hex)" }

  /// The snapshots that were tried in vain since the zone last changed.
  static func triedSnapshots(of id: ZoneID, in engine: Engine<some Store>) throws -> Set<Identifier>
  {
    let zone = try engine.zone(id)
    guard let bytes = try engine.store.facts.value(of: triedName(of: zone)) else { return [] }
    var reader = ByteReader(bytes)
    guard try reader.frontier("frontier") == zone.frontier else { return [] }
    var tried: Set<Identifier> = []
    for _ in 0..<(try reader.count("snapshots", itemBytes: Identifier.byteCount)) {
      tried.insert(try reader.identifier("snapshot"))
    }
    try reader.finish()
    return tried
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

  private static func replacementName(of id: ZoneID) -> String { "base.kept.\(id.hex)" }

  /// The marks of the last vain attempts to replace a zone's snapshot, one for each transport that
  /// was tried.
  static func triedReplacements(of id: ZoneID, in store: some Store) throws -> [Identifier] {
    guard let bytes = try store.facts.value(of: replacementName(of: id)) else { return [] }
    var reader = ByteReader(bytes)
    return try (0..<bytes.count / Identifier.byteCount).map { _ in
      try reader.identifier("attempt")
    }
  }

  /// Stores that a zone's snapshot was to be replaced in vain.
  static func remember(replacement: Identifier, of id: ZoneID, in store: some Store) throws {
    var writer = ByteWriter()
    let tried = try triedReplacements(of: id, in: store) + [replacement]
    for attempt in tried.suffix(rememberedReplacements) { writer.identifier(attempt) }
    try store.transaction { try store.facts.set(replacementName(of: id), to: writer.bytes) }
  }

  /// The number of stored attempts, which is larger than the number of a node's transports.
  private static var rememberedReplacements: Int { 16 }

  /// Notes that a snapshot was tried in vain.
  static func noteTried(_ snapshot: Identifier, of id: ZoneID, in engine: Engine<some Store>) throws
  {
    let zone = try engine.zone(id)
    let tried = try triedSnapshots(of: id, in: engine).union([snapshot])
    var writer = ByteWriter()
    writer.frontier(zone.frontier)
    let kept = tried.sorted().prefix(SnapshotPlan.fetchedSnapshots)
    writer.varint(kept.count)
    for group in kept { writer.identifier(group) }
    try engine.store.transaction {
      try engine.store.facts.set(triedName(of: zone), to: writer.bytes)
    }
  }
}

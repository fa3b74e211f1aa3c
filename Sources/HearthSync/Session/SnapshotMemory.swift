import HearthCRDT
import HearthCrypto
import HearthMembership

/// The stored memory of snapshots that were examined.
enum SnapshotMemory {
  /// The link of a snapshot that is not acceptable.
  static var noLink: Bytes32 {
    Bytes32(exactly: [UInt8](repeating: 0, count: Bytes32.count))
  }

  private static func fact(of zone: ZoneState) -> Fact<[KnownSnapshot]> {
    Fact("snapshots.by.\(zone.id.hex)") { kept, writer in
      writer.varint(kept.count)
      for item in kept {
        writer.identifier(item.group)
        writer.byte(item.isOwn ? 1 : 0)
        writer.identifier(item.maker)
        writer.identifier(item.epoch)
        writer.identifier(item.mark)
        writer.raw(item.link.array)
        writer.frontier(item.frontier)
      }
    } read: { reader in
      try (0..<(try reader.count("snapshots", itemBytes: 98))).map { _ in
        KnownSnapshot(
          group: try reader.identifier("group"), isOwn: try reader.byte("own") == 1,
          maker: try reader.identifier("maker"), epoch: try reader.identifier("epoch"),
          mark: try reader.identifier("mark"),
          link: Bytes32(exactly: try reader.raw(Bytes32.count, "link")),
          frontier: try reader.frontier("frontier"))
      }
    }.asCache
  }

  /// The stored snapshots of a zone.
  static func remembered(of zone: ZoneState, in store: some Store) throws -> [KnownSnapshot] {
    try store.facts.value(of: fact(of: zone)) ?? []
  }

  /// Adds snapshots to the stored ones; those of several transports are mixed, so the last few are
  /// kept.
  static func remember(_ known: [KnownSnapshot], of zone: ZoneState, in store: some Store) throws {
    let groups = Set(known.map(\.group))
    let all = try remembered(of: zone, in: store).filter { !groups.contains($0.group) } + known
    let kept = Array(all.suffix(4 * SnapshotPlan.fetchedSnapshots))
    try store.transaction { try store.facts.set(fact(of: zone), to: kept) }
  }

  /// Whether an error concerns a snapshot's bytes, which come from outside, and not this node.
  static func isOfSnapshot(_ error: any Error) -> Bool {
    if let error = error as? TransportError { return error.code != .folderMissing }
    if let error = error as? SyncError { return error.code != .corrupt }
    return error is CodecError || error is CryptoError
  }

  /// Whether an error is a verdict about a snapshot's bytes that no later examination can change.
  ///
  /// A failing disk, a chunk that is still arriving, and a key, device or format that is not known
  /// yet may all change before the next sync. Who may make snapshots can change too, but then the
  /// next snapshot comes soon, and nobody has to fetch this one again until then.
  static func isLasting(_ error: any Error) -> Bool {
    switch error {
    case is CodecError: true
    case let error as CryptoError:
      [.malformed, .badLength, .tooLarge, .authenticationFailed, .badSignature]
        .contains(error.code)
    case let error as SyncError:
      [.malformed, .tooLarge, .notAuthentic, .notAllowed].contains(error.code)
    default: false
    }
  }

  /// A sealed snapshot with the names of its chunks; nil if it has no chunks.
  static func named(_ chunks: [[UInt8]], in zone: ZoneState) -> NamedSnapshot? {
    let names = SnapshotPlan.names(of: chunks, zoneTag: zone.tag)
    return names.first.map {
      NamedSnapshot(group: $0.group, chunks: zip(names, chunks).map { (name: $0, bytes: $1) })
    }
  }
}

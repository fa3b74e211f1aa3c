import HearthCRDT
import HearthCrypto
import HearthMembership

/// What snapshots say: their makers, marks and links.
enum SnapshotWords {
  /// What a snapshot says, from its first chunk, its heads and its held-back changes.
  static func word(
    of first: [UInt8], _ heads: [LogHead], _ heldBack: [Dot], in zone: ZoneState,
    by engine: Engine<some Store>
  ) throws -> SnapshotWord {
    let header = try Envelope.parseHeader(
      first, minimumSuite: engine.membership(of: zone.group).acceptedSuite)
    return word(
      of: KnownSnapshot(
        group: .zero, isOwn: false, maker: Identifier(header.authorTag),
        epoch: Identifier(header.epochTag), mark: SnapshotMark.mark(of: heads, heldBack),
        link: header.linkBefore,
        frontier: Frontier(heads.map { ($0.author, $0.sequence) })), in: zone, by: engine)
  }

  /// What a snapshot says that was examined before.
  static func word(of known: KnownSnapshot, in zone: ZoneState, by engine: Engine<some Store>)
    -> SnapshotWord
  {
    let maker = zone.deviceByTag[known.maker]
    return SnapshotWord(
      maker: maker, person: maker.flatMap { engine.membership(of: zone.group).person(of: $0)?.id },
      epoch: known.epoch, mark: known.mark, link: known.link, frontier: known.frontier)
  }
}

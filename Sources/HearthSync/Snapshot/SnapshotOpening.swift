import HearthCRDT
import HearthCrypto
import HearthMembership

/// Verification and opening of a snapshot's chunks.
package enum SnapshotOpening {
  /// The largest accepted snapshot, before decompression of its records.
  package static var maximumSnapshotBytes: Int { 1024 * 1024 * 1024 }

  /// Verifies, opens and joins the chunks, each of which must link to the digest of the whole.
  static func openSnapshot(
    _ container: [UInt8], zone: ZoneState, isAccepted: Bool, in engine: Engine<some Store>
  ) throws -> [UInt8] {
    var stream: [UInt8] = []
    var links: Set<Bytes32> = []
    var usedEpoch: EpochKey?
    let chunks = try chunks(of: container)
    for (index, bytes) in chunks.enumerated() {
      let chunk = try open(
        chunk: bytes, at: index, of: chunks.count, zone: zone, isAccepted: isAccepted, in: engine)
      stream += chunk.body
      guard stream.count <= maximumSnapshotBytes else {
        throw SyncError(.tooLarge, "the snapshot is larger than this program accepts")
      }
      links.formUnion([chunk.header.linkBefore, chunk.header.linkAfter])
      usedEpoch = chunk.epoch
    }
    let digest = StateDigest.digest(ofStream: stream)
    guard let usedEpoch, links == [try usedEpoch.link(digest)] else {
      throw SyncError(.notAuthentic, "the snapshot's content does not match its digest")
    }
    return stream
  }

  /// The chunks of a container.
  static func chunks(of container: [UInt8]) throws -> [[UInt8]] {
    var reader = ByteReader(container)
    var chunks: [[UInt8]] = []
    for _ in 0..<(try reader.count("chunks", itemBytes: 64)) {
      chunks.append(try reader.blob("chunk", atMost: EnvelopeFormat.maximumEnvelopeBytes))
    }
    try reader.finish()
    return chunks
  }

  private static func open(
    chunk: [UInt8], at index: Int, of number: Int, zone: ZoneState, isAccepted: Bool,
    in engine: Engine<some Store>
  ) throws -> (header: EnvelopeHeader, epoch: EpochKey, body: [UInt8]) {
    let header = try Envelope.parseHeader(
      chunk, minimumSuite: engine.membership(of: zone.group).acceptedSuite)
    guard header.type == .snapshotChunk, Identifier(header.zoneTag) == zone.tag,
      header.firstSeq == UInt64(index + 1), header.lastSeq == UInt64(number)
    else { throw SyncError(.malformed, "chunk \(index + 1) does not belong to this snapshot") }
    guard let epoch = zone.epoch(tag: header.epochTag) else {
      throw SyncError(.notFound, "this device does not know the key of the snapshot")
    }
    if !isAccepted { try checkAuthor(of: chunk, header, zone: zone, in: engine) }
    let body = try Envelope.open(chunk, zoneID: zone.id.bytes, epoch: epoch)
    return (header, epoch, body)
  }

  /// Rejects a chunk that is not signed by an owner or admin of the group, or by this device.
  private static func checkAuthor(
    of chunk: [UInt8], _ header: EnvelopeHeader, zone: ZoneState, in engine: Engine<some Store>
  ) throws {
    let membership = engine.membership(of: zone.group)
    guard let device = zone.deviceByTag[Identifier(header.authorTag)],
      let card = membership.device(device)?.card
    else { throw SyncError(.notFound, "this device does not know the snapshot's author") }
    guard let role = membership.role(of: device),
      role.rank >= Role.admin.rank || device == engine.device
    else {
      throw SyncError(
        .notAllowed, "\(card.name) made it, but only snapshots by an owner or admin are used")
    }
    try Envelope.verifySignature(
      chunk, zoneID: zone.id.bytes,
      keys: try membership.keys(of: device, showing: card))
  }

  /// Verifies a snapshot's first chunk and reads the snapshot's heads and held-back changes.
  ///
  /// - Parameters:
  ///   - chunk: The first chunk.
  ///   - number: The number of chunks.
  static func heads(
    ofSnapshot chunk: [UInt8], of number: Int, zone: ZoneState, isAccepted: Bool,
    in engine: Engine<some Store>
  ) throws -> (heads: [LogHead], heldBack: [Dot], isOwn: Bool) {
    let chunk = try open(
      chunk: chunk, at: 0, of: number, zone: zone, isAccepted: isAccepted, in: engine)
    let isOwn = Identifier(chunk.header.authorTag) == zone.authorTag(of: engine.device)
    let reader = try SnapshotReader(chunk.body, zone: zone.id)
    return (reader.heads, reader.heldBack, isOwn)
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership

/// Verification and opening of a snapshot's chunks, by what this device knows of a zone.
///
/// It has no store, so the replicas are free for other work while a large snapshot is opened.
package struct SnapshotOpening: Sendable {
  private let zone: ZoneState
  private let membership: Membership
  private let device: DeviceID
  private let isAccepted: Bool

  /// The largest accepted snapshot, before decompression of its records.
  package static var maximumSnapshotBytes: Int { 1024 * 1024 * 1024 }

  /// - Parameter isAccepted: Whether this node has accepted the snapshot before. Its author then
  ///   need no longer be an admin.
  init(of zone: ZoneState, isAccepted: Bool = false, in engine: Engine<some Store>) {
    self.zone = zone
    membership = engine.membership(of: zone.group)
    device = engine.device
    self.isAccepted = isAccepted
  }

  /// The zone's id.
  var zoneID: ZoneID { zone.id }

  /// Verifies, opens and joins the chunks, each of which must link to the digest of the whole.
  func stream(of chunks: [[UInt8]]) throws -> (bytes: [UInt8], digest: [UInt8]) {
    var stream: [UInt8] = []
    var links: Set<Bytes32> = []
    var usedEpoch: EpochKey?
    for (index, bytes) in chunks.enumerated() {
      let chunk = try open(chunk: bytes, at: index, of: chunks.count)
      stream += chunk.body
      guard stream.count <= SnapshotOpening.maximumSnapshotBytes else {
        throw SyncError(.tooLarge, "the snapshot is larger than this program accepts")
      }
      links.formUnion([chunk.header.linkBefore, chunk.header.linkAfter])
      usedEpoch = chunk.epoch
    }
    let digest = StateDigest.digest(ofStream: stream)
    guard let usedEpoch, links == [try usedEpoch.link(digest)] else {
      throw SyncError(.notAuthentic, "the snapshot's content does not match its digest")
    }
    return (stream, digest)
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

  /// The container of some chunks, which a zone keeps as its base.
  static func container(of chunks: [[UInt8]]) -> [UInt8] {
    var container = ByteWriter(capacity: chunks.reduce(8) { $0 + $1.count + 4 })
    container.varint(chunks.count)
    for chunk in chunks { container.blob(chunk) }
    return container.bytes
  }

  private func open(
    chunk: [UInt8], at index: Int, of number: Int
  ) throws -> (header: EnvelopeHeader, epoch: EpochKey, body: [UInt8]) {
    guard chunk.count <= EnvelopeFormat.maximumEnvelopeBytes else {
      throw SyncError(.tooLarge, "chunk \(index + 1) is larger than this program accepts")
    }
    let header = try Envelope.parseHeader(chunk, minimumSuite: membership.acceptedSuite)
    guard header.type == .snapshotChunk, Identifier(header.zoneTag) == zone.tag,
      header.firstSeq == UInt64(index + 1), header.lastSeq == UInt64(number)
    else { throw SyncError(.malformed, "chunk \(index + 1) does not belong to this snapshot") }
    guard let epoch = zone.epoch(tag: header.epochTag) else {
      throw SyncError(.notFound, "this device does not know the key of the snapshot")
    }
    if !isAccepted { try checkAuthor(of: chunk, header) }
    let body = try Envelope.open(chunk, zoneID: zone.id.bytes, epoch: epoch)
    return (header, epoch, body)
  }

  /// Rejects a chunk that is not signed by an owner or admin of the group, or by this device.
  private func checkAuthor(of chunk: [UInt8], _ header: EnvelopeHeader) throws {
    guard let author = zone.deviceByTag[Identifier(header.authorTag)],
      let card = membership.device(author)?.card
    else { throw SyncError(.notFound, "this device does not know the snapshot's author") }
    guard let role = membership.role(of: author),
      role.rank >= Role.admin.rank || author == device
    else {
      throw SyncError(
        .notAllowed, "\(card.name) made it, but only snapshots by an owner or admin are used")
    }
    try Envelope.verifySignature(
      chunk, zoneID: zone.id.bytes,
      keys: try membership.keys(of: author, showing: card))
  }

  /// The most chunks that a snapshot's heads may take: 64 MiB.
  ///
  /// The heads say what each author had seen, so their size grows with the square of the number of
  /// authors. Usually they are in the first chunk.
  static let maximumHeadChunks = 64

  /// Verifies a snapshot's first chunks and reads the snapshot's heads and held-back changes.
  ///
  /// - Parameters:
  ///   - beginning: The first chunks; those after the heads are not opened.
  ///   - number: The number of chunks.
  /// - Throws: What is wrong with them; `notFound` if the heads continue in a chunk that is not
  ///   given, and `tooLarge` if they take more than ``maximumHeadChunks``.
  func heads(
    of beginning: [[UInt8]], of number: Int
  ) throws -> (heads: [LogHead], heldBack: [Dot], isOwn: Bool) {
    if let heads = try wholeHeads(of: beginning, of: number) { return heads }
    throw beginning.count < SnapshotOpening.maximumHeadChunks
      ? SyncError(.notFound, "chunk \(beginning.count + 1) of the snapshot is missing")
      : SyncError(.tooLarge, "the snapshot has longer heads than this program accepts")
  }

  /// The same; nil if the heads continue in a chunk that is not given.
  ///
  /// Reads again each time the chunks have doubled, so the cost stays linear in their number.
  func wholeHeads(
    of beginning: [[UInt8]], of number: Int
  ) throws -> (heads: [LogHead], heldBack: [Dot], isOwn: Bool)? {
    var stream: [UInt8] = []
    var first: EnvelopeHeader?
    let beginning = beginning.prefix(SnapshotOpening.maximumHeadChunks)
    for (index, bytes) in beginning.enumerated() {
      let chunk = try open(chunk: bytes, at: index, of: number)
      let start = first ?? chunk.header
      first = start
      guard start.authorTag == chunk.header.authorTag, start.linkBefore == chunk.header.linkBefore
      else { throw SyncError(.malformed, "chunk \(index + 1) belongs to another snapshot") }
      stream += chunk.body
      guard (index + 1).nonzeroBitCount == 1 || index + 1 == beginning.count else { continue }
      do {
        let reader = try SnapshotReader(stream, zone: zone.id)
        let isOwn = Identifier(start.authorTag) == zone.authorTag(of: device)
        return (reader.heads, reader.heldBack, isOwn)
      } catch let error as CodecError where error.code == .truncated && index + 1 < number {
        Probe.snapshotHeadsLong.hit()
      }
    }
    return nil
  }
}

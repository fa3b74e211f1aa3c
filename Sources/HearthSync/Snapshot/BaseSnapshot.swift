import HearthCRDT
import HearthCrypto
import HearthMembership

/// Whose log contradicts the snapshot that a zone began from.
struct BaseContradiction: Error {
  let author: Author
}

/// The snapshot that a zone began from.
struct BaseSnapshot<S: Store> {
  let engine: Engine<S>

  /// Where each author's log stood in the zone's base snapshot; empty without one.
  func baseHeads(of zone: ZoneState) throws -> [LogHead] { try base(of: zone)?.heads ?? [] }

  /// The zone's base snapshot: its first chunk, and where each author's log stood and ended in it.
  func base(
    of zone: ZoneState
  ) throws -> (chunk: [UInt8], heads: [LogHead], heldBack: [Dot])? {
    // Reads only the number of chunks and the chunks of the heads: the others may be many.
    let opening = SnapshotOpening(of: zone, isAccepted: true, in: engine)
    var room = EnvelopeFormat.maximumEnvelopeBytes + 20
    while let start = try engine.store.snapshots.base(of: zone.id, atMost: room) {
      let (count, chunks) = try beginning(of: start)
      guard count > 0, let first = chunks.first else { return nil }
      if let (heads, heldBack, _) = try opening.wholeHeads(of: chunks, of: count) {
        return (first, heads, heldBack)
      }
      guard start.count == room, chunks.count < SnapshotOpening.maximumHeadChunks else {
        throw SyncError(.corrupt, "the base snapshot of \(zone.name) is cut: run `hearth verify`")
      }
      room *= 2
    }
    return nil
  }

  /// The number of chunks in the beginning of a container, and those that it has whole.
  private func beginning(of start: [UInt8]) throws -> (count: Int, chunks: [[UInt8]]) {
    var reader = ByteReader(start)
    let count = Int(clamping: try reader.varint("chunks"))
    var chunks: [[UInt8]] = []
    while chunks.count < min(count, SnapshotOpening.maximumHeadChunks) {
      do {
        chunks.append(try reader.blob("chunk", atMost: EnvelopeFormat.maximumEnvelopeBytes))
      } catch {
        guard error.code == .truncated, !chunks.isEmpty else { throw error }
        break
      }
    }
    return (count, chunks)
  }

  /// The name of the person whose device made a snapshot.
  private func nameOfMaker(of first: [UInt8], in zone: ZoneState) throws -> String {
    let membership = engine.membership(of: zone.group)
    let header = try Envelope.parseHeader(first, minimumSuite: membership.acceptedSuite)
    let maker = zone.deviceByTag[Identifier(header.authorTag)]
    return maker.flatMap { membership.person(of: $0)?.name } ?? "an unknown person"
  }

  /// Refuses logs with contradicting changes that do not continue what the zone's snapshot says.
  ///
  /// The chain hash of a head is its author's own word, sealed and signed in the next segment.
  /// Where the two differ and nothing of the author was applied since, the snapshot is wrong, or
  /// hides one of two histories: either way the changes themselves must decide.
  func checkBase(of id: ZoneID, against authors: [Author]) throws {
    guard !authors.isEmpty else { return }
    let zone = try engine.zone(id)
    guard let base = try base(of: zone) else { return }
    for author in authors {
      guard let head = base.heads.first(where: { $0.author == author }),
        head.sequence == zone.head(of: author).sequence
      else { continue }
      throw SyncError(
        .snapshotContradicted,
        "\(try nameOfMaker(of: base.chunk, in: zone)) recorded \(author) in it, at change "
          + "\(head.sequence), differently from what that device wrote",
        cause: BaseContradiction(author: author))
    }
  }
}

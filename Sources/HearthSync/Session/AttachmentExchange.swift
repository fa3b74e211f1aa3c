import HearthCRDT
import HearthMembership

/// The step of an exchange that gives a transport the chunks of attachments that it lacks, and
/// removes those that nobody needs any more.
///
/// It fetches nothing: a chunk is downloaded when somebody looks at its attachment.
struct AttachmentExchange<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// The most chunks of a zone that a node knows of.
  ///
  /// Whoever can write to a transport can name more there; those beyond are not noted, and so not
  /// removed either.
  private static var maximumChunks: Int { 65_536 }

  /// The most chunks of a zone that one exchange removes.
  ///
  /// Each is a request of its own. Whoever fills a transport with chunks must not make everybody's
  /// syncs long.
  private static var maximumRemovals: Int { 256 }

  /// Gives and removes what is due in a zone.
  ///
  /// - Parameter isAlone: Whether no other copy of this node was noticed in this round; nothing is
  ///   removed otherwise.
  func run(
    of id: ZoneID, holding listing: TransportListing, isAlone: Bool,
    _ report: inout TransportReport
  ) async throws {
    let listed = Set(listing.attachments.map(\.digest))
    let now = ports.nowMilliseconds
    let (tag, known) = try ports.turn { engine in
      let zone = try engine.zone(id)
      guard zone.kind == .data else { return (zone.tag, [KnownChunk]()) }
      return (zone.tag, try Self.known(in: id, listed: listed, by: engine))
    }
    func name(_ digest: Identifier) -> BlobName {
      BlobName(kind: .attachment, scope: tag, digest: digest)
    }
    for chunk in known where chunk.isWanted && !listed.contains(chunk.digest) {
      guard
        let bytes = try ports.turn({ try $0.store.attachments.bytes(of: chunk.digest, in: id) })
      else { continue }
      try await ports.transport.publish(name(chunk.digest), bytes)
      report.published += 1
      report.publishedBytes += bytes.count
    }
    guard isAlone else { return }
    let over = known.lazy.filter { $0.isOver(at: now) && listed.contains($0.digest) }
    for chunk in over.prefix(Self.maximumRemovals) {
      try await ports.transport.remove(name(chunk.digest))
    }
  }

  /// What this node knows of a zone's chunks, with those that the transport lists.
  private static func known(
    in id: ZoneID, listed: Set<Identifier>, by engine: Engine<Turns.Replicas>
  ) throws -> [KnownChunk] {
    let known = try engine.store.attachments.chunks(of: id)
    let news = listed.subtracting(known.map(\.digest)).sorted()
      .prefix(max(0, maximumChunks - known.count))
    guard !news.isEmpty else { return known }
    try engine.store.transaction { try engine.store.attachments.note(Array(news), in: id) }
    return known
  }
}

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
  /// That is more than one member can store in a relay's mailbox (200,000), and than a folder's
  /// listing names. Those beyond are noted when others are forgotten; until then they are not
  /// removed.
  private static var maximumChunks: Int { 262_144 }

  /// The most chunks of a zone that one exchange notes, so that no turn becomes long.
  private static var maximumNotes: Int { 4_096 }

  /// How many chunks one turn reads.
  private static var turnChunks: Int { 8_192 }

  /// The most chunks of a zone that one exchange removes: three requests to a relay.
  ///
  /// Whoever fills a transport with chunks must not make everybody's syncs long.
  private static var maximumRemovals: Int { 1_024 }

  /// Gives and removes what is due in a zone.
  ///
  /// - Parameter isAlone: Whether no other copy of this node was noticed in this round; nothing is
  ///   removed otherwise.
  func run(
    of id: ZoneID, holding listing: TransportListing, isAlone: Bool,
    _ report: inout TransportReport
  ) async throws {
    let names = listing.attachments.map(\.digest)
    let now = ports.nowMilliseconds
    let (tag, kind) = try ports.turn { engine in
      let zone = try engine.zone(id)
      return (zone.tag, zone.kind)
    }
    guard kind == .data else { return }
    let known = try known(in: id)
    try note(names, besides: known, in: id)
    func name(_ digest: Identifier) -> BlobName {
      BlobName(kind: .attachment, scope: tag, digest: digest)
    }
    let listed = Set(names)
    for chunk in known where chunk.isWanted && !listed.contains(chunk.digest) {
      guard
        let bytes = try ports.turn({ try $0.store.attachments.bytes(of: chunk.digest, in: id) })
      else { continue }
      try await ports.transport.publish(name(chunk.digest), bytes)
      report.published += 1
      report.publishedBytes += bytes.count
    }
    guard isAlone else { return }
    let over = known.filter { $0.isOver(at: now) && listed.contains($0.digest) }
    guard !over.isEmpty else { return }
    try await ports.transport.remove(Self.due(of: over, at: now).map { name($0.digest) })
  }

  /// What this node knows of a zone's chunks, in order of digest.
  ///
  /// It reads them in several turns, as any member decides how many there are.
  func known(in id: ZoneID) throws -> [KnownChunk] {
    var known: [KnownChunk] = []
    var isMore = true
    while isMore {
      let next = try ports.turn { [last = known.last?.digest] engine in
        try engine.store.attachments.chunks(of: id, after: last, atMost: Self.turnChunks)
      }
      known += next
      isMore = next.count == Self.turnChunks
    }
    return known
  }

  /// Notes some of the listed chunks that this node does not know.
  private func note(
    _ listed: [Identifier], besides known: [KnownChunk], in id: ZoneID
  ) throws {
    let room = min(Self.maximumNotes, Self.maximumChunks - known.count)
    guard room > 0 else { return }
    let digests = Set(known.map(\.digest))
    let news = Array(listed.lazy.filter { !digests.contains($0) }.prefix(room))
    guard !news.isEmpty else { return }
    try ports.turn { engine in
      try engine.store.transaction { try engine.store.attachments.note(news, in: id) }
    }
  }

  /// Those of some chunks that this exchange removes.
  ///
  /// A relay lets only managers remove what others stored. Each hour has another choice, so that
  /// what a device may remove is not behind what it may not for ever, whenever it syncs.
  private static func due(of chunks: [KnownChunk], at now: UInt64) -> [KnownChunk] {
    guard chunks.count > maximumRemovals else { return chunks }
    let hour = now / (60 * 60 * 1_000)
    // Multiplied by 2^64 over the golden ratio (Fibonacci hashing): a device that syncs at the same
    // hour of each day, too, comes everywhere.
    let place = (hour &* 0x9e37_79b9_7f4a_7c15) >> 32
    let start = Int((place * UInt64(chunks.count)) >> 32)
    return Array((chunks[start...] + chunks[..<start]).prefix(maximumRemovals))
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership

/// A verified and opened segment.
struct OpenedSegment {
  let digest: Identifier
  let bytes: [UInt8]
  let author: Author
  let first: UInt64
  let last: UInt64
  /// The id of the epoch under which the segment is sealed.
  let epoch: [UInt8]
  /// The changes with their chain hashes filled in.
  let changes: [Change]
  /// The chain hash before the first change, then after each change.
  let chain: [[UInt8]]
  /// The declared work, which equals the actual work.
  let weight: Int
  /// Counts the changes in simulations as long as they are in memory.
  let held: Work.Held

  /// Whether the segment continues, or contains, the history that ends in a head.
  func agrees(with head: LogHead) -> Bool {
    first <= head.sequence + 1 && head.sequence <= last && hash(after: head.sequence) == head.hash
  }

  /// Whether the segment reaches the last change of a head of its log with another content.
  func contradicts(_ head: LogHead) -> Bool {
    author == head.author && first <= head.sequence + 1 && head.sequence <= last
      && !agrees(with: head)
  }

  /// The chain hash after a change of the segment, or right before its first.
  func hash(after sequence: UInt64) -> [UInt8] {
    chain[Int(sequence - (first - 1))]
  }
}

/// The result of an attempt to open a segment.
enum OpeningResult {
  /// The segment is verified and readable.
  case opened(OpenedSegment)
  /// The segment cannot be judged yet and stays pending for this reason.
  case waits(PendingReason)
}

/// The result of an attempt to open a segment that leaves introductions to be proven.
enum UnprovenOpening {
  /// The segment is verified and readable.
  case opened(OpenedSegment)
  /// The segment is readable, and its author is a device that introduces itself. No signature was
  /// checked: use the segment only after ``SegmentOpener/proven(_:_:)``.
  case introduces(OpenedSegment, IntroductionClaim)
  /// The segment cannot be judged yet and stays pending for this reason.
  case waits(PendingReason)
}

/// Opens segments of one zone and makes every check that needs no knowledge of other changes.
///
/// The security contract defines the order of the checks: size, magic, suite and type; zone;
/// author; signature; epoch and authenticity; padding and columns; inner author; chain.
struct SegmentOpener {
  let zone: ZoneState
  let membership: Membership
  /// Whether the opener reads segments that this node has accepted before, under the rules of that
  /// time.
  var isStored = false

  /// Opens sealed bytes.
  ///
  /// - Parameters:
  ///   - digest: The digest of the bytes, if it is known.
  ///   - staysClosed: Returns the reason why a segment of this author with this first change stays
  ///     pending, so that it need not be unpacked. The opener asks only after it has verified the
  ///     signature: no one else's segment can be pending in an author's name.
  /// - Throws: If no later news of people or keys can make the bytes usable.
  func open(
    _ bytes: [UInt8], digest: Identifier? = nil,
    staysClosed: (Author, UInt64) -> PendingReason? = { _, _ in nil }
  ) throws -> OpeningResult {
    switch try openUnproven(bytes, digest: digest, staysClosed: staysClosed) {
    case .opened(let segment): return .opened(segment)
    case .waits(let reason): return .waits(reason)
    case .introduces(let segment, let claim):
      guard try proven(segment, claim) == nil else { return .opened(segment) }
      Probe.authorUnknown.hit()
      return .waits(.author)
    }
  }

  /// Checks the proof and the signature of a segment whose author introduces itself; nil if nothing
  /// vouches for the author.
  ///
  /// - Throws: If something vouches for the author, who did not sign the segment.
  func proven(_ segment: OpenedSegment, _ claim: IntroductionClaim) throws -> Introduction? {
    guard let introduction = membership.introductions.proven(claim) else { return nil }
    try verify(segment.bytes, author: segment.author, card: introduction.card)
    return introduction
  }

  /// Opens sealed bytes like ``open(_:digest:staysClosed:)``, except that it leaves the proof of a
  /// device that introduces itself to the caller.
  ///
  /// Such a proof costs several signatures, which a caller without room for the device saves.
  func openUnproven(
    _ bytes: [UInt8], digest: Identifier? = nil,
    staysClosed: (Author, UInt64) -> PendingReason? = { _, _ in nil }
  ) throws -> UnprovenOpening {
    let header: EnvelopeHeader
    do {
      header = try Envelope.parseHeader(bytes, minimumSuite: membership.acceptedSuite)
    } catch let error as CryptoError
      where error.code == .unsupportedSuite || error.code == .unsupportedType
    {
      let frame = try EnvelopeFrame(bytes)
      guard Identifier(frame.zoneTag) == zone.tag else {
        throw SyncError(.notAuthentic, "this segment belongs to another zone")
      }
      // Only a newer suite is worth waiting for.
      guard frame.suite >= membership.acceptedSuite else {
        throw SyncError(
          .notAuthentic, "this segment uses suite \(frame.suite), which the group does not accept")
      }
      return .waits(.format)
    }
    guard header.type == .segment else {
      throw SyncError(.malformed, "this is not a segment but a \(header.type)")
    }
    guard Identifier(header.zoneTag) == zone.tag else {
      throw SyncError(.notAuthentic, "this segment belongs to another zone")
    }
    let authorTag = Identifier(header.authorTag)
    // The node recognises its own device before the log admits it; until then, nothing counts as
    // that device's.
    guard let device = zone.deviceByTag[authorTag], let card = membership.card(of: device)
    else { return try openUnknown(bytes, digest: digest, header, authorTag: authorTag) }
    let author = Author(device: device, incarnation: header.incarnation)
    try verify(bytes, author: author, card: card)
    guard let epoch = zone.epoch(tag: header.epochTag) else {
      return .waits(.epoch)
    }
    let content = try Envelope.openWeighed(bytes, zoneID: zone.id.bytes, epoch: epoch)
    if let reason = staysClosed(author, header.firstSeq), !isNewer(content.body) {
      return .waits(reason)
    }
    guard let changes = try decode(content, header, of: bytes) else { return .waits(.format) }
    return .opened(
      try finish(
        bytes, digest: digest, header, author: author, changes: changes, epoch: epoch))
  }

  /// Opens a segment of an unknown device.
  ///
  /// In the control zone, the device may introduce itself: its first change carries the keys that
  /// hash to its id, and the proof that vouches for it. In other zones, and while nothing can vouch
  /// for the device, the segment stays pending.
  private func openUnknown(
    _ bytes: [UInt8], digest: Identifier?, _ header: EnvelopeHeader, authorTag: Identifier
  ) throws -> UnprovenOpening {
    guard let epoch = zone.epoch(tag: header.epochTag) else { return .waits(.epoch) }
    guard zone.kind == .control else {
      Probe.authorUnknown.hit()
      return .waits(.author)
    }
    guard
      let changes = try decode(
        try Envelope.openWeighed(bytes, zoneID: zone.id.bytes, epoch: epoch), header, of: bytes)
    else { return .waits(.format) }
    guard let author = changes.first?.dot.author,
      zone.authorTag(of: author.device) == authorTag
    else { throw SyncError(.notAuthentic, "the author does not match the segment's header") }
    guard let claim = claim(in: changes) else {
      Probe.authorUnknown.hit()
      return .waits(.author)
    }
    return .introduces(
      try finish(
        bytes, digest: digest, header, author: author, changes: changes, epoch: epoch), claim)
  }

  /// The changes of a segment of an unknown author; nil if they cannot be read.
  ///
  /// No signature vouches for the changes: use only self-proving content, such as a key that its
  /// epoch's id commits to.
  func changesOfUnknown(_ bytes: [UInt8]) -> [Change]? {
    guard let header = try? Envelope.parseHeader(bytes), header.type == .segment,
      Identifier(header.zoneTag) == zone.tag, let epoch = zone.epoch(tag: header.epochTag),
      let body = try? Envelope.openWeighed(bytes, zoneID: zone.id.bytes, epoch: epoch)
    else { return nil }
    return try? decode(body, header, of: bytes)
  }

  /// Reopens a segment that was verified before it was stored; nil if it cannot be read.
  func reopened(_ bytes: [UInt8], author: Author) -> OpenedSegment? {
    guard
      let header = try? Envelope.parseHeader(bytes, minimumSuite: membership.acceptedSuite),
      header.type == .segment, Identifier(header.zoneTag) == zone.tag,
      let epoch = zone.epoch(tag: header.epochTag),
      let body = try? Envelope.openWeighed(bytes, zoneID: zone.id.bytes, epoch: epoch),
      let changes = try? decode(body, header, of: bytes, isTaken: true)
    else { return nil }
    return try? finish(
      bytes, digest: nil, header, author: author, changes: changes, epoch: epoch)
  }

  /// The claim by which a device introduces itself that the log does not name.
  ///
  /// It is the one use of an invitation or of recovery words in the log's first change, with keys
  /// that hash to the device's id. No honest device uses two ways in, and each costs a signature.
  private func claim(in changes: [Change]) -> IntroductionClaim? {
    guard let first = changes.first, first.dot.sequence == 1 else { return nil }
    let entries = first.controlOperations.filter { $0.phase == 0 }
    guard entries.count == 1 else { return nil }
    return membership.introductions.claim(
      of: entries[0], at: first.dot, in: zone.group, naming: first.namedWords)
  }

  private func verify(_ bytes: [UInt8], author: Author, card: DeviceCard) throws {
    if Mutant.skipsSignature.isActive { return }
    let keys = try membership.keys(of: author.device, showing: card)
    try Envelope.verifySignature(bytes, zoneID: zone.id.bytes, keys: keys)
  }

  /// Whether a newer version of Hearth wrote a body.
  private func isNewer(_ body: [UInt8]) -> Bool {
    body.first.map { $0 > ChangeBatch.formatVersion } ?? false
  }

  /// The changes of a body; nil if a newer version of Hearth wrote it.
  ///
  /// An earlier version declared less work for the same changes. The opener accepts such a segment
  /// from outside only if it has at least one byte for each unit of work by the present weights, as
  /// segments of this version do.
  private func decode(
    _ content: (body: [UInt8], weight: Int), _ header: EnvelopeHeader, of bytes: [UInt8],
    isTaken: Bool = false
  ) throws -> [Change]? {
    if isNewer(content.body) { return nil }
    let changes: [Change]
    do {
      changes = try ChangeBatch.decode(
        content.body, incarnation: header.incarnation, first: header.firstSeq,
        weight: content.weight)
    } catch {
      throw SyncError(.malformed, "the segment's content is malformed: \(error)", cause: error)
    }
    guard UInt64(changes.count) == header.lastSeq - header.firstSeq + 1 else {
      throw SyncError(
        .malformed, "the segment holds \(changes.count) changes, but its header says otherwise")
    }
    let isOfToday = content.body.first == ChangeBatch.formatVersion
    guard isStored || isTaken || isOfToday || ChangeBatch.weight(of: changes) <= bytes.count else {
      throw SyncError(
        .malformed,
        "an earlier version of Hearth wrote it, with more changes than a file of its size may "
          + "hold today")
    }
    return changes
  }

  /// Fills in the chain hashes and checks them against the links in the header.
  private func finish(
    _ bytes: [UInt8], digest: Identifier?, _ header: EnvelopeHeader, author: Author,
    changes: [Change], epoch: EpochKey
  ) throws -> OpenedSegment {
    guard let start = changes.first, start.dot.author == author else {
      throw SyncError(.notAuthentic, "the author does not match the segment's header")
    }
    guard header.firstSeq > 1 || start.previousHash == LogHead(author: author).hash else {
      throw SyncError(.notAuthentic, "the segment's first change does not begin its author's log")
    }
    var chained = changes
    var chain = [start.previousHash]
    chain.reserveCapacity(changes.count + 1)
    var writer = ByteWriter(capacity: 512)
    for place in chained.indices {
      chained[place].previousHash = chain[place]
      writer.removeAll()
      chained[place].encode(into: &writer)
      guard writer.count <= Limits.maximumChangeBytes else {
        throw SyncError(.malformed, "change \(chained[place].dot) is longer than allowed")
      }
      chain.append(writer.bytes.withUnsafeBytes { zone.secret.chainHash(of: $0) })
    }
    let fits =
      try epoch.link(chain[0]) == header.linkBefore
      && epoch.link(chain[changes.count]) == header.linkAfter
    guard fits || Mutant.skipsChain.isActive else {
      throw SyncError(.notAuthentic, "the segment's hash chain does not match its header")
    }
    return OpenedSegment(
      digest: digest ?? segmentDigest(bytes), bytes: bytes, author: author, first: header.firstSeq,
      last: header.lastSeq, epoch: epoch.id, changes: chained, chain: chain,
      weight: ChangeBatch.weight(of: changes),
      held: Work.Held(chained.reduce(0) { $0 + $1.heldBytes }))
  }
}

/// The digest by which transports and the store name sealed bytes: BLAKE2b-128.
package func segmentDigest(_ bytes: [UInt8]) -> Identifier {
  guard let digest = Identifier(bytes: Blake2b.hash(bytes, count: 16)) else {
    preconditionFailure("a digest has 16 bytes")
  }
  return digest
}

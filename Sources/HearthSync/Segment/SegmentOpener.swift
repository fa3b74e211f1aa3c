import HearthCRDT
import HearthCrypto
import HearthMembership

/// A segment that was verified and opened.
struct OpenedSegment {
  let digest: Identifier
  let bytes: [UInt8]
  let author: Author
  let first: UInt64
  let last: UInt64
  /// The id of the epoch that it is sealed under.
  let epoch: [UInt8]
  /// The changes with their chain hashes filled in.
  let changes: [Change]
  /// The chain hash before the first change, then after each.
  let chain: [[UInt8]]
  /// The work that it declared, which is what it holds.
  let weight: Int
  /// What vouches for its author where the log does not name it.
  var introduction: Introduction?

  /// Whether the segment continues, or contains, the history that ends in a head.
  func agrees(with head: LogHead) -> Bool {
    first <= head.sequence + 1 && head.sequence <= last && hash(after: head.sequence) == head.hash
  }

  /// The chain hash after a change of the segment, or right before its first.
  func hash(after sequence: UInt64) -> [UInt8] {
    chain[Int(sequence - (first - 1))]
  }
}

/// What came of trying to open a segment.
enum OpeningResult {
  /// Verified and readable.
  case opened(OpenedSegment)
  /// Cannot be judged yet; it waits for this.
  case waits(PendingReason)
}

/// Opens segments of one zone: every check that needs no knowledge of other changes.
///
/// The order of the checks is that of the security contract: size, magic, suite and type; zone;
/// author; signature; epoch and authenticity; padding and columns; inner author; chain.
struct SegmentOpener {
  let zone: ZoneState
  let membership: Membership
  /// Whether it opens what this node has taken before, by the rules of then.
  var isStored = false

  /// Opens sealed bytes.
  ///
  /// - Parameters:
  ///   - digest: that of the bytes, if it is known.
  ///   - staysClosed: for what a segment of an author with this first change has to wait, so that
  ///     it need not be unpacked. Asked once its signature is verified: nobody else's segments can
  ///     wait in an author's name.
  /// - Throws: for bytes that no news of people or keys will ever make usable.
  func open(
    _ bytes: [UInt8], digest: Identifier? = nil,
    staysClosed: (Author, UInt64) -> PendingReason? = { _, _ in nil }
  ) throws -> OpeningResult {
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
      // Only what is newer is worth waiting for.
      guard frame.suite >= membership.acceptedSuite else {
        throw SyncError(
          .notAuthentic, "this segment is of suite \(frame.suite), which the group does not accept")
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
    // The own device is recognised before the log admits it; nothing counts as its until then.
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

  /// A segment of a device that is not known yet.
  ///
  /// In the control zone the device may introduce itself: its first change carries the keys that
  /// hash to its id, and what vouches for it. The signature is then verified with those keys.
  /// Elsewhere, and while nothing here vouches for it, the segment waits.
  private func openUnknown(
    _ bytes: [UInt8], digest: Identifier?, _ header: EnvelopeHeader, authorTag: Identifier
  ) throws -> OpeningResult {
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
    else { throw SyncError(.notAuthentic, "the author inside is not the one outside") }
    guard let introduction = introduction(in: changes, of: author.device) else {
      Probe.authorUnknown.hit()
      return .waits(.author)
    }
    try verify(bytes, author: author, card: introduction.card)
    var opened = try finish(
      bytes, digest: digest, header, author: author, changes: changes, epoch: epoch)
    opened.introduction = introduction
    return .opened(opened)
  }

  /// The changes of a segment whose author is not known yet; nil if there are none to be read.
  ///
  /// No signature vouches for them: only what proves itself may be taken from them, such as a key
  /// that its epoch's id commits to.
  func changesOfUnknown(_ bytes: [UInt8]) -> [Change]? {
    guard let header = try? Envelope.parseHeader(bytes), header.type == .segment,
      Identifier(header.zoneTag) == zone.tag, let epoch = zone.epoch(tag: header.epochTag),
      let body = try? Envelope.openWeighed(bytes, zoneID: zone.id.bytes, epoch: epoch)
    else { return nil }
    return try? decode(body, header, of: bytes)
  }

  /// Opens a segment again that was verified before it was stored; nil if it cannot be read.
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

  /// What vouches for a device that the log does not name: an invitation or recovery words, with
  /// keys that hash to its id.
  private func introduction(in changes: [Change], of device: DeviceID) -> Introduction? {
    for change in changes {
      for operation in change.operations where operation.key.type == ControlOperation.type {
        guard case .event(let fields) = operation.body,
          let body = fields.first(where: { $0.field == ControlOperation.bodyField })?.value.bytes,
          let control = try? ControlOperation(decoding: body)
        else { continue }
        let found = membership.introduction(control, at: change.dot, in: zone.group)
        if let found { return found }
      }
    }
    return nil
  }

  private func verify(_ bytes: [UInt8], author: Author, card: DeviceCard) throws {
    if Mutant.skipsSignature.isActive { return }
    let keys = try membership.keys(of: author.device, showing: card)
    try Envelope.verifySignature(bytes, zoneID: zone.id.bytes, keys: keys)
  }

  /// Whether a newer version of this program wrote a body.
  private func isNewer(_ body: [UInt8]) -> Bool {
    body.first.map { $0 > ChangeBatch.formatVersion } ?? false
  }

  /// The changes of a body; nil if a newer version of this program wrote it.
  ///
  /// An earlier version declared less work for the same changes. From outside such a segment is
  /// taken where it has a byte for each unit by the present weights, as one of this version has.
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
      throw SyncError(.malformed, "the segment holds \(changes.count) changes, not as many as said")
    }
    let isOfToday = content.body.first == ChangeBatch.formatVersion
    guard isStored || isTaken || isOfToday || ChangeBatch.weight(of: changes) <= bytes.count else {
      throw SyncError(
        .malformed,
        "an earlier version of Hearth wrote it, with more changes in it than so many bytes may "
          + "hold today")
    }
    return changes
  }

  /// Fills in the chain hashes and checks them against the links outside.
  private func finish(
    _ bytes: [UInt8], digest: Identifier?, _ header: EnvelopeHeader, author: Author,
    changes: [Change], epoch: EpochKey
  ) throws -> OpenedSegment {
    guard let start = changes.first, start.dot.author == author else {
      throw SyncError(.notAuthentic, "the author inside is not the one outside")
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
      throw SyncError(.notAuthentic, "the segment's hash chain does not fit its ends")
    }
    return OpenedSegment(
      digest: digest ?? segmentDigest(bytes), bytes: bytes, author: author, first: header.firstSeq,
      last: header.lastSeq, epoch: epoch.id, changes: chained, chain: chain,
      weight: ChangeBatch.weight(of: changes))
  }
}

/// The digest by which transports and the store name sealed bytes: BLAKE2b-128.
package func segmentDigest(_ bytes: [UInt8]) -> Identifier {
  guard let digest = Identifier(bytes: Blake2b.hash(bytes, count: 16)) else {
    preconditionFailure("a digest has 16 bytes")
  }
  return digest
}

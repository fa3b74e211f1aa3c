import HearthCRDT
import HearthCrypto
import HearthMembership

// Which names of a listing are believed; decision 0019 says why it is so.
extension Engine {
  /// How many files that other segments would replace are looked into in one round.
  package static var examinedFiles: Int { 256 }

  /// The names that are known to hold what they say: of segments that are applied and stored here,
  /// and of files that were looked into.
  package func trustedNames(
    of zone: ZoneState, in listing: TransportListing, stored: [StoredSegment]
  ) throws -> Set<SegmentName> {
    let waiting = Set(try store.pending.entries(in: zone.id).map(\.digest))
    var trusted = Set(
      stored.filter { !waiting.contains($0.digest) && $0.last <= zone.frontier[$0.author] }
        .map { $0.name(in: zone) })
    let verdicts = try verdicts(of: zone.id)
    guard !verdicts.isEmpty else { return trusted }
    for name in listing.segments {
      guard verdicts[NameVerdicts.key(of: name)]?.isBelieved == true else { continue }
      trusted.insert(name)
    }
    return trusted
  }

  /// The stored segments that a transport lacks, and which files seem to hold them under other
  /// names.
  ///
  /// - Parameter right: the files that were looked into and proved to be what they say.
  func publications(
    of id: ZoneID, to listing: TransportListing, stored: [StoredSegment],
    right: [SegmentName] = []
  ) throws -> (missing: [(segment: StoredSegment, name: SegmentName)], suspects: [SegmentName]) {
    let zone = try zone(id)
    // Mostly all are there under their own names, and nothing need be believed.
    guard !SyncPlan.unlisted(stored, on: listing, of: zone).isEmpty else { return ([], []) }
    let trusted = try trustedNames(of: zone, in: listing, stored: stored).union(right)
    let missing = SyncPlan(zone: zone, stored: stored, pending: []).publications(
      to: listing, stored: stored, trusted: trusted, of: zone, by: device)
    guard !missing.isEmpty else { return ([], []) }
    return (
      missing, SyncPlan.names(in: listing, covering: missing.map(\.name), except: trusted)
    )
  }

  /// What a file proves to be; nil while that cannot be told.
  func verdict(
    on bytes: [UInt8], under name: SegmentName, of id: ZoneID, stored: [StoredSegment]
  ) throws -> NameVerdict? {
    let zone = try zone(id)
    let opener = SegmentOpener(zone: zone, membership: membership(of: zone.group))
    guard let result = try? opener.open(bytes) else { return .wrong }
    switch result {
    case .waits(.format): return .wrong
    case .waits(.epoch): return closedVerdict(on: bytes, under: name, in: zone)
    case .waits: return nil
    case .opened(let segment):
      guard zone.authorTag(of: segment.author.device) == name.authorTag,
        segment.author.incarnation == name.incarnation, segment.first == name.first,
        segment.last == name.last
      else { return .wrong }
      let head = zone.head(of: segment.author)
      guard segment.first <= head.sequence else { return nil }
      if segment.last >= head.sequence {
        return segment.hash(after: head.sequence) == head.hash ? .right : .wrong
      }
      guard let hash = try hash(after: segment.last, of: segment.author, in: zone, stored) else {
        return nil
      }
      return segment.hash(after: segment.last) == hash ? .right : .wrong
    }
  }

  /// What a file proves to be whose key is not here: opening it got as far as the key, which comes
  /// after the signature.
  private func closedVerdict(
    on bytes: [UInt8], under name: SegmentName, in zone: ZoneState
  ) -> NameVerdict? {
    guard let header = try? Envelope.parseHeader(bytes),
      Identifier(header.authorTag) == name.authorTag, header.incarnation == name.incarnation,
      header.firstSeq == name.first, header.lastSeq == name.last,
      let device = zone.deviceByTag[name.authorTag]
    else { return nil }
    let membership = membership(of: zone.group)
    guard membership.card(of: device) != nil else { return nil }
    // Under the key of a removal that came to nothing, say.
    let isLost = membership.keyHolders.isLost(keyTagged: header.epochTag, of: zone.id, zone.kind)
    return isLost && !Mutant.believesClosedFiles.isActive ? .closed : .signed
  }

  /// The chain hash after a change that a stored segment holds; nil if none does.
  func hash(
    after sequence: UInt64, of author: Author, in zone: ZoneState, _ stored: [StoredSegment]
  ) throws -> [UInt8]? {
    let opener = SegmentOpener(zone: zone, membership: membership(of: zone.group))
    for segment in stored
    where segment.author == author && segment.first <= sequence && sequence <= segment.last {
      guard let bytes = try store.log.bytes(of: segment.digest, in: zone.id),
        case .opened(let opened)? = try? opener.open(bytes), opened.author == author,
        opened.first <= sequence, sequence <= opened.last
      else { continue }
      return opened.hash(after: sequence)
    }
    return nil
  }

  // MARK: Two contents

  /// The files of a listing that may hold another history of a log that is here: each that says to
  /// hold the same changes as a stored segment, under another digest, and was not looked into; of a
  /// log of which somebody cites another content, each file.
  func equivocationCandidates(
    in id: ZoneID, _ listing: TransportListing, stored: [StoredSegment]
  ) throws -> [SegmentName] {
    let zone = try zone(id)
    let known = Set(stored.map(\.digest)).union(try store.pending.entries(in: id).map(\.digest))
    let unknown = listing.segments.filter { !known.contains($0.digest) }
    // Mostly every file is one that is stored here.
    guard !unknown.isEmpty else { return [] }
    let held = Set(stored.map { $0.name(in: zone).changes })
    func tagged(_ author: Author) -> TagAuthor {
      TagAuthor(tag: zone.authorTag(of: author.device), incarnation: author.incarnation)
    }
    let ends = Dictionary(uniqueKeysWithValues: zone.forkEnds.map { (tagged($0.key), $0.value) })
    // Whoever cites another content of a log may have it from any file of that log.
    let doubted = Set(
      try falseClaims(in: id).filter { $0.kind == .content && !$0.isControl }
        .map { tagged($0.cited.author) })
    let verdicts = try verdicts(of: id)
    return unknown.filter {
      (held.contains($0.changes) || doubted.contains($0.author))
        && $0.first < ends[$0.author] ?? .max && verdicts[NameVerdicts.key(of: $0)] == nil
    }
  }

  // MARK: Memory

  private static func memoryOfNames(of zone: ZoneID) -> String { "names.\(zone.hex)" }
  private static func holdersOfKeys(of zone: ZoneID) -> String { "names.holders.\(zone.hex)" }

  /// What was found out; of files that are closed here only while the same people have the keys.
  func verdicts(of zone: ZoneID) throws -> NameVerdicts {
    guard let fact = try store.facts.value(of: Engine.memoryOfNames(of: zone)) else {
      return NameVerdicts()
    }
    var verdicts = try NameVerdicts(decoding: fact)
    if verdicts.hasClosed,
      try store.facts.value(of: Engine.holdersOfKeys(of: zone)) != digestOfHolders(of: zone)
    {
      verdicts.forgetClosed()
    }
    return verdicts
  }

  private func digestOfHolders(of zone: ZoneID) throws -> [UInt8] {
    membership(of: try self.zone(zone).group).keys.digestOfHolders(of: zone)
  }

  func remember(
    _ verdicts: NameVerdicts, of zone: ZoneID, _ listing: TransportListing
  ) throws {
    let bytes = verdicts.encoded(preferring: listing)
    try store.transaction {
      try store.facts.set(Engine.memoryOfNames(of: zone), to: bytes)
      guard verdicts.hasClosed else { return }
      try store.facts.set(Engine.holdersOfKeys(of: zone), to: digestOfHolders(of: zone))
    }
  }
}

extension SegmentName {
  /// Whose it says to be.
  var author: TagAuthor {
    TagAuthor(tag: authorTag, incarnation: incarnation)
  }

  /// The name without its digest: which changes it says to hold.
  fileprivate var changes: SegmentName {
    SegmentName(
      zoneTag: zoneTag, authorTag: authorTag, incarnation: incarnation, first: first, last: last,
      digest: .zero)
  }
}

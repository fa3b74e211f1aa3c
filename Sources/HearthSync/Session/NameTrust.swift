import HearthCRDT
import HearthCrypto
import HearthMembership

/// Which names of a listing are believed.
///
/// Decision 0019 explains the reasons.
package struct NameTrust<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// The names that are known to be true: of segments that are applied and stored here, and of
  /// files that were examined.
  package func trustedNames(
    of zone: ZoneState, in listing: TransportListing, stored: [StoredSegment]
  ) throws -> Set<SegmentName> {
    let waiting = Set(try engine.store.pending.entries(in: zone.id).map(\.digest))
    var trusted = Set(
      stored.filter { !waiting.contains($0.digest) && $0.last <= zone.frontier[$0.author] }
        .map { $0.name(in: zone) })
    let verdicts = try NameMemory.verdicts(of: zone.id, in: engine)
    guard !verdicts.isEmpty else { return trusted }
    for name in listing.segments {
      guard verdicts[NameVerdicts.key(of: name)]?.isBelieved == true else { continue }
      trusted.insert(name)
    }
    return trusted
  }

  /// The stored segments that a transport lacks, and the files that seem to hold them under other
  /// names.
  ///
  /// - Parameter right: The files that were examined and are what they claim to be.
  func publications(
    of id: ZoneID, to listing: TransportListing, stored: [StoredSegment],
    right: [SegmentName] = []
  ) throws -> (missing: [(segment: StoredSegment, name: SegmentName)], suspects: [SegmentName]) {
    let zone = try engine.zone(id)
    // Usually all are there under their own names, and no other name has to be believed.
    guard !SyncPlan.unlisted(stored, on: listing, of: zone).isEmpty else { return ([], []) }
    let trusted = try trustedNames(of: zone, in: listing, stored: stored).union(right)
    let missing = SyncPlan(zone: zone, stored: stored, pending: []).publications(
      to: listing, stored: stored, trusted: trusted, of: zone, by: engine.device)
    guard !missing.isEmpty else { return ([], []) }
    return (
      missing, SyncPlan.names(in: listing, covering: missing.map(\.name), except: trusted)
    )
  }

  /// The verdict about a file's content; nil if it cannot be determined.
  func verdict(
    on bytes: [UInt8], under name: SegmentName, of id: ZoneID, stored: [StoredSegment]
  ) throws -> NameVerdict? {
    let zone = try engine.zone(id)
    let opener = SegmentOpener(zone: zone, membership: engine.membership(of: zone.group))
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

  /// The verdict about a file whose key is not here: opening it reached the key, which is used
  /// after the signature was checked.
  private func closedVerdict(
    on bytes: [UInt8], under name: SegmentName, in zone: ZoneState
  ) -> NameVerdict? {
    guard let header = try? Envelope.parseHeader(bytes),
      Identifier(header.authorTag) == name.authorTag, header.incarnation == name.incarnation,
      header.firstSeq == name.first, header.lastSeq == name.last,
      let device = zone.deviceByTag[name.authorTag]
    else { return nil }
    let membership = engine.membership(of: zone.group)
    guard membership.card(of: device) != nil else { return nil }
    // For example under the key of a removal that has no effect.
    let isLost = membership.keyHolders.isLost(keyTagged: header.epochTag, of: zone.id, zone.kind)
    return isLost && !Mutant.believesClosedFiles.isActive ? .closed : .signed
  }

  /// The chain hash after a change in a stored segment; nil if no stored segment contains it.
  private func hash(
    after sequence: UInt64, of author: Author, in zone: ZoneState, _ stored: [StoredSegment]
  ) throws -> [UInt8]? {
    let opener = SegmentOpener(zone: zone, membership: engine.membership(of: zone.group))
    for segment in stored
    where segment.author == author && segment.first <= sequence && sequence <= segment.last {
      guard let bytes = try engine.store.log.bytes(of: segment.digest, in: zone.id),
        case .opened(let opened)? = try? opener.open(bytes), opened.author == author,
        opened.first <= sequence, sequence <= opened.last
      else { continue }
      return opened.hash(after: sequence)
    }
    return nil
  }

  // MARK: Two contents

  /// The files of a listing that may hold another history of a log that is here.
  ///
  /// Each such file claims to hold the same changes as a stored segment, has another digest, and
  /// was not examined. If somebody cites other content of a log, every file of that log is a
  /// candidate.
  func equivocationCandidates(
    in id: ZoneID, _ listing: TransportListing, stored: [StoredSegment]
  ) throws -> [SegmentName] {
    let zone = try engine.zone(id)
    let known = Set(stored.map(\.digest)).union(
      try engine.store.pending.entries(in: id).map(\.digest))
    let unknown = listing.segments.filter { !known.contains($0.digest) }
    // Usually every file is stored here.
    guard !unknown.isEmpty else { return [] }
    let held = Set(stored.map { $0.name(in: zone).changes })
    func tagged(_ author: Author) -> TagAuthor {
      TagAuthor(tag: zone.authorTag(of: author.device), incarnation: author.incarnation)
    }
    let ends = Dictionary(uniqueKeysWithValues: zone.forkEnds.map { (tagged($0.key), $0.value) })
    // An author who cites other content of a log may have it from any file of that log.
    let doubted = Set(
      try FalseClaims(engine: engine).claims(in: id).filter {
        $0.kind == .content && !$0.isControl
      }
      .map { tagged($0.cited.author) })
    let verdicts = try NameMemory.verdicts(of: id, in: engine)
    return unknown.filter {
      (held.contains($0.changes) || doubted.contains($0.author))
        && $0.first < ends[$0.author] ?? .max && verdicts[NameVerdicts.key(of: $0)] == nil
    }
  }
}

extension SegmentName {
  /// The log that the name claims.
  var author: TagAuthor {
    TagAuthor(tag: authorTag, incarnation: incarnation)
  }

  /// The name without its digest: the changes that it claims.
  fileprivate var changes: SegmentName {
    SegmentName(
      zoneTag: zoneTag, authorTag: authorTag, incarnation: incarnation, first: first, last: last,
      digest: .zero)
  }
}

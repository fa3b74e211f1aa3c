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
    let waiting = Set(try store.pendingEntries(in: zone.id).map(\.digest))
    var trusted = Set(
      stored.filter { !waiting.contains($0.digest) && $0.last <= zone.frontier[$0.author] }
        .map { SyncPlan.name(of: $0, in: zone) })
    let verdicts = try verdicts(of: zone.id)
    guard !verdicts.isEmpty else { return trusted }
    for name in listing.segments {
      guard verdicts[NameVerdicts.key(of: name)]?.isBelieved == true else { continue }
      trusted.insert(name)
    }
    return trusted
  }

  /// The stored segments that a transport lacks, after a look into the files that seem to hold
  /// them under other names; each file is looked into once in the life of this node.
  ///
  /// - Returns: as ``SyncPlan/publications(to:stored:trusted:of:by:)``.
  func publications(
    of zone: ZoneState, to transport: some Transport, holding listing: TransportListing,
    stored: [StoredSegment], _ report: inout TransportReport
  ) throws -> [(segment: StoredSegment, name: SegmentName)] {
    // Mostly all are there under their own names, and nothing need be believed.
    guard !SyncPlan.unlisted(stored, on: listing, of: zone).isEmpty else { return [] }
    var trusted = try trustedNames(of: zone, in: listing, stored: stored)
    let plan = SyncPlan(zone: zone, stored: stored, pending: [])
    let missing = plan.publications(
      to: listing, stored: stored, trusted: trusted, of: zone, by: device)
    guard !missing.isEmpty else { return [] }
    let suspects = SyncPlan.names(
      in: listing, covering: missing.map(\.name), except: trusted)
    let right = try examine(suspects, of: zone, on: transport, stored: stored, listing, &report)
    guard !right.isEmpty else { return missing }
    trusted.formUnion(right)
    return plan.publications(
      to: listing, stored: stored, trusted: trusted, of: zone, by: device)
  }

  /// Looks into files once and remembers what they proved to be.
  ///
  /// - Returns: those whose changes are the ones that are here, as far as can be told.
  func examine(
    _ names: [SegmentName], of zone: ZoneState, on transport: some Transport,
    stored: [StoredSegment], _ listing: TransportListing, _ report: inout TransportReport
  ) throws -> [SegmentName] {
    guard !names.isEmpty else { return [] }
    var verdicts = try verdicts(of: zone.id)
    var right: [SegmentName] = []
    var examined = 0
    for name in names {
      let key = NameVerdicts.key(of: name)
      if let verdict = verdicts[key] {
        if verdict.isBelieved { right.append(name) }
        continue
      }
      guard examined < Engine.examinedFiles else { continue }
      examined += 1
      // What cannot be read now may be readable later.
      guard let bytes = try? transport.fetch(name) else { continue }
      report.receivedBytes += bytes.count
      guard let verdict = try verdict(on: bytes, under: name, of: zone, stored: stored)
      else { continue }
      verdicts[key] = verdict
      if verdict.isBelieved { right.append(name) }
    }
    if examined > 0 { try remember(verdicts, of: zone.id, listing) }
    return right
  }

  /// What a file proves to be; nil while that cannot be told.
  private func verdict(
    on bytes: [UInt8], under name: SegmentName, of zone: ZoneState, stored: [StoredSegment]
  ) throws -> NameVerdict? {
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
    let isLost = membership.isLost(keyTagged: header.epochTag, of: zone.id, zone.kind)
    return isLost && !Mutant.believesClosedFiles.isActive ? .closed : .signed
  }

  /// The chain hash after a change that a stored segment holds; nil if none does.
  func hash(
    after sequence: UInt64, of author: Author, in zone: ZoneState, _ stored: [StoredSegment]
  ) throws -> [UInt8]? {
    let opener = SegmentOpener(zone: zone, membership: membership(of: zone.group))
    for segment in stored
    where segment.author == author && segment.first <= sequence && sequence <= segment.last {
      guard let bytes = try store.bytes(of: segment.digest, in: zone.id),
        case .opened(let opened)? = try? opener.open(bytes), opened.author == author,
        opened.first <= sequence, sequence <= opened.last
      else { continue }
      return opened.hash(after: sequence)
    }
    return nil
  }

  // MARK: Two contents

  /// How many files of the very same changes as others are looked into in one round.
  private static var examinedTwins: Int { 16 }

  /// Looks for two histories of one author among files that bring nothing new: each file that says
  /// to hold the same changes as a stored segment, under another digest, is looked into once; of a
  /// log of which somebody cites another content, each file.
  ///
  /// Without this, who has received one of two changes under one number would never fetch the
  /// other, and would differ for ever from who received that one.
  mutating func examineTwins(
    in id: ZoneID, on transport: some Transport, holding listing: TransportListing,
    nowMilliseconds: UInt64, _ report: inout TransportReport
  ) throws {
    if Mutant.neverLooksForTwins.isActive { return }
    let zone = try zone(id)
    let stored = try store.segments(of: id)
    let known = Set(stored.map(\.digest)).union(try store.pendingEntries(in: id).map(\.digest))
    let unknown = listing.segments.filter { !known.contains($0.digest) }
    // Mostly every file is one that is stored here.
    guard !unknown.isEmpty else { return }
    let held = Set(stored.map { SyncPlan.name(of: $0, in: zone).changes })
    func tagged(_ author: Author) -> SyncPlan.TagAuthor {
      SyncPlan.TagAuthor(tag: zone.authorTag(of: author.device), incarnation: author.incarnation)
    }
    let ends = Dictionary(uniqueKeysWithValues: zone.forkEnds.map { (tagged($0.key), $0.value) })
    // Whoever cites another content of a log may have it from any file of that log.
    let doubted = Set(
      try falseClaims(in: id).filter { $0.kind == .content && !$0.isControl }
        .map { tagged($0.cited.author) })
    let verdicts = try verdicts(of: id)
    let twins = unknown.filter {
      (held.contains($0.changes) || doubted.contains($0.author))
        && $0.first < ends[$0.author] ?? .max && verdicts[NameVerdicts.key(of: $0)] == nil
    }
    guard !twins.isEmpty else { return }
    let contradicting = try contradictions(
      among: twins, of: zone, on: transport, stored: stored, listing, &report)
    guard !contradicting.isEmpty else { return }
    // Receiving tells a fork from rubbish, proves it to the others, and keeps the evidence.
    let received = try receive(contradicting, in: id, nowMilliseconds: nowMilliseconds)
    Probe.twinContradicts.hit(if: !received.forks.isEmpty)
    report.received += received.applied
  }

  /// The first file of each author that contradicts what is here; they are sorted by first change.
  private func contradictions(
    among twins: [SegmentName], of zone: ZoneState, on transport: some Transport,
    stored: [StoredSegment], _ listing: TransportListing, _ report: inout TransportReport
  ) throws -> [[UInt8]] {
    var verdicts = try verdicts(of: zone.id)
    var found: [SyncPlan.TagAuthor: [UInt8]] = [:]
    var examined = 0
    for name in twins where found[name.author] == nil && examined < Engine.examinedTwins {
      examined += 1
      // What cannot be read now may be readable later.
      guard let bytes = try? transport.fetch(name) else { continue }
      report.receivedBytes += bytes.count
      guard let verdict = try verdict(on: bytes, under: name, of: zone, stored: stored)
      else { continue }
      verdicts[NameVerdicts.key(of: name)] = verdict
      if verdict == .wrong { found[name.author] = bytes }
    }
    try remember(verdicts, of: zone.id, listing)
    return found.sorted { $0.key < $1.key }.map(\.value)
  }

  // MARK: Memory

  private static func memoryOfNames(of zone: ZoneID) -> String { "names.\(zone.hex)" }
  private static func holdersOfKeys(of zone: ZoneID) -> String { "names.holders.\(zone.hex)" }

  /// What was found out; of files that are closed here only while the same people have the keys.
  private func verdicts(of zone: ZoneID) throws -> NameVerdicts {
    guard let fact = try store.fact(Engine.memoryOfNames(of: zone)) else { return NameVerdicts() }
    var verdicts = try NameVerdicts(decoding: fact)
    if verdicts.hasClosed,
      try store.fact(Engine.holdersOfKeys(of: zone)) != digestOfHolders(of: zone)
    {
      verdicts.forgetClosed()
    }
    return verdicts
  }

  private func digestOfHolders(of zone: ZoneID) throws -> [UInt8] {
    membership(of: try self.zone(zone).group).digestOfHolders(of: zone)
  }

  private func remember(
    _ verdicts: NameVerdicts, of zone: ZoneID, _ listing: TransportListing
  ) throws {
    let bytes = verdicts.encoded(preferring: listing)
    try store.transaction {
      try store.setFact(Engine.memoryOfNames(of: zone), bytes)
      guard verdicts.hasClosed else { return }
      try store.setFact(Engine.holdersOfKeys(of: zone), digestOfHolders(of: zone))
    }
  }
}

extension SegmentName {
  /// Whose it says to be.
  fileprivate var author: SyncPlan.TagAuthor {
    SyncPlan.TagAuthor(tag: authorTag, incarnation: incarnation)
  }

  /// The name without its digest: which changes it says to hold.
  fileprivate var changes: SegmentName {
    SegmentName(
      zoneTag: zoneTag, authorTag: authorTag, incarnation: incarnation, first: first, last: last,
      digest: .zero)
  }
}

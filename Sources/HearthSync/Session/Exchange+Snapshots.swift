import HearthCRDT
import HearthCrypto
import HearthMembership

// The snapshot half of an exchange; decision 0016 says why it is so.
extension Engine {
  // MARK: Beginning from a snapshot

  /// Begins an empty zone from the best snapshot of a transport: the good one that covers most.
  ///
  /// One that is not is named in the report, and the next one is tried; without any, the changes
  /// are taken one by one.
  mutating func begin(
    _ id: ZoneID, fromSnapshotOf transport: some Transport, holding listing: TransportListing,
    nowMilliseconds: UInt64, _ report: inout TransportReport
  ) throws {
    let zone = try zone(id)
    guard zone.kind == .data, zone.frontier.isEmpty, !listing.snapshots.isEmpty else { return }
    let candidates = try candidates(for: zone, on: transport, listing, &report)
    let words = candidates.map(\.word)
    for candidate in candidates {
      do {
        let isBelieved = try isBelieved(candidate.word, in: zone)
        guard isBelieved || words.contains(where: { mayVouch($0, for: candidate.word, zone) })
        else {
          try tellUnbelieved(candidate.snapshot, candidate.word, in: zone, listing, &report)
          continue
        }
        var chunks = [candidate.first]
        for name in candidate.snapshot.chunks.dropFirst() {
          chunks.append(try fetch(name, from: transport, &report))
        }
        guard try isBelieved || isVouched(candidate.word, chunks, by: words, in: zone) else {
          try tellUnbelieved(candidate.snapshot, candidate.word, in: zone, listing, &report)
          continue
        }
        try bootstrap(id, from: chunks, nowMilliseconds: nowMilliseconds)
        report.begunFromSnapshots += 1
        Probe.snapshotUsed.hit()
        report.received += Int(clamping: candidate.weight)
        return
      } catch {
        guard Engine.isOfSnapshot(error) else { throw error }
        Probe.snapshotRefused.hit()
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: candidate.snapshot.group), error))
      }
    }
  }

  /// A snapshot whose first chunk was verified.
  struct Candidate {
    let snapshot: SnapshotPlan.Complete
    let first: [UInt8]
    let word: SnapshotWord
    let weight: UInt64
  }

  /// The snapshots that may be used, the one that covers most first.
  private func candidates(
    for zone: ZoneState, on transport: some Transport, _ listing: TransportListing,
    _ report: inout TransportReport
  ) throws -> [Candidate] {
    let (complete, incomplete) = SnapshotPlan.sorted(listing.snapshots)
    for group in incomplete.prefix(SnapshotPlan.consideredSnapshots) {
      Probe.snapshotIncomplete.hit()
      let error = SyncError(.malformed, "some of its chunks are missing")
      report.problems.append(SnapshotPlan.problem(with: SnapshotPlan.place(of: group), error))
    }
    let control = try controlZone(of: zone.group).reached
    var candidates: [Candidate] = []
    let good = Set(try remembered(of: zone).filter { !$0.frontier.isEmpty }.map(\.group))
    // What was good before goes first; only what is signed by an owner or admin counts.
    let ordered =
      complete.filter { good.contains($0.group) }
      + complete.filter { !good.contains($0.group) }
    for snapshot in ordered.prefix(SnapshotPlan.fetchedSnapshots)
    where candidates.count < SnapshotPlan.consideredSnapshots {
      do {
        let first = try fetch(snapshot.chunks[0], from: transport, &report)
        if try isWithheld(first, in: zone) { continue }
        let (heads, heldBack, _) = try heads(
          ofSnapshot: first, of: snapshot.chunks.count, zone: zone, isAccepted: false)
        if let fault = SnapshotPlan.fault(
          in: heads, heldBack, of: zone, control: control, listing: listing)
        {
          throw SyncError(.notAuthentic, fault)
        }
        candidates.append(try candidate(snapshot, first, heads, heldBack, in: zone))
      } catch {
        guard Engine.isOfSnapshot(error) else { throw error }
        Probe.snapshotNoCandidate.hit()
        report.problems.append(
          SnapshotPlan.problem(with: SnapshotPlan.place(of: snapshot.group), error))
      }
    }
    return candidates.sorted {
      $0.weight != $1.weight ? $0.weight > $1.weight : $0.snapshot.group < $1.snapshot.group
    }
  }

  func fetch(
    _ name: BlobName, from transport: some Transport, _ report: inout TransportReport
  ) throws -> [UInt8] {
    guard let bytes = try transport.fetch(name) else {
      throw SyncError(.notFound, "chunk \(name.index + 1) of \(name.count) is missing")
    }
    report.receivedBytes += bytes.count
    return bytes
  }

  // MARK: A snapshot that was wrong

  /// Whose log contradicts the snapshot that a zone began from.
  struct BaseContradiction: Error {
    let author: Author
  }

  /// Refuses a log that does not continue what the zone's snapshot says of it.
  ///
  /// The chain hash of a head is its author's own word, sealed and signed in the next segment.
  /// Where the two differ and nothing of the author was applied since, the snapshot is wrong, or
  /// hides one of two histories: either way the changes themselves must decide.
  func checkBase(of id: ZoneID, against forks: [CausalQueue.Fork]) throws {
    guard !forks.isEmpty else { return }
    let zone = try zone(id)
    guard let base = try base(of: zone) else { return }
    for fork in forks {
      guard let head = base.heads.first(where: { $0.author == fork.author }),
        head.sequence == zone.head(of: fork.author).sequence
      else { continue }
      throw SyncError(
        .snapshotContradicted,
        "what \(try nameOfMaker(of: base.chunk, in: zone)) says in it of \(fork.author) at change "
          + "\(head.sequence) is not what that device wrote",
        cause: BaseContradiction(author: fork.author))
    }
  }

  /// Takes a zone's changes one by one in place of the snapshot that it began from.
  ///
  /// All or nothing: where the transport does not hold every change that is here, but for those of
  /// the author whom the snapshot misquotes, the zone stays as it is and the report says so.
  mutating func replaceBase(
    of id: ZoneID, contradictedBy author: Author?, from transport: some Transport,
    holding listing: TransportListing,
    anchorFile: some AnchorFile, _ nowMilliseconds: UInt64, _ report: inout TransportReport
  ) throws {
    let attempt = try replacement(of: id, holding: listing)
    guard try !triedReplacements(of: id).contains(attempt) else {
      report.problems.append(
        Engine.wrongBase(of: try zone(id), "nothing has come since that could take its place"))
      return
    }
    if try seal(id) > 0 { try Anchor.drop(anchorFile, for: self) }
    let before = self
    do {
      try store.transaction {
        self = before
        try store.removeBaseSnapshot(of: id)
        try save(heldBack: [], ofBaseOf: id)
        // What waits is judged anew too: a wrong snapshot refutes who cites the truth.
        try rebuildWithin(id, nowMilliseconds: nowMilliseconds)
        try takeAll(of: id, from: transport, holding: listing, nowMilliseconds, &report)
        let old = try before.zone(id)
        // Nobody has what is beyond the end of a log with two histories, and what is held back for
        // what it cites is here.
        let refuted = Set(
          try store.pendingEntries(in: id).filter { $0.reason == .falseClaim }
            .compactMap { $0.author(in: old) })
        let needed = old.heads.filter { $0.author != author || author?.device == device }
          .filter { !refuted.contains($0.author) }
          .map { ($0.author, min($0.sequence, (old.forkEnds[$0.author] ?? .max) - 1)) }
        guard try zone(id).frontier.covers(Frontier(needed)) else {
          throw SyncError(
            .snapshotContradicted, "and not every change that is needed instead is there")
        }
        try rewrite(try takeBackMiscited(in: id), of: id, nowMilliseconds)
      }
    } catch let error as SyncError where error.code == .snapshotContradicted {
      self = before
      try remember(replacement: attempt, of: id)
      report.problems.append(Engine.wrongBase(of: try zone(id), "\(error)"))
    } catch {
      self = before
      throw error
    }
    if incarnation != before.incarnation { try Anchor.drop(anchorFile, for: self) }
  }

  /// Takes back own changes that cite what the wrong snapshot said of others' logs.
  ///
  /// Nobody who has those logs takes such changes, whoever misled this device.
  private func takeBackMiscited(in id: ZoneID) throws -> [Change] {
    let zone = try zone(id)
    let claimed = try store.pendingEntries(in: id).filter {
      $0.reason == .falseClaim && $0.author(in: zone)?.device == device
    }
    let authors = Set(claimed.compactMap { $0.author(in: zone) })
    guard !authors.isEmpty else { return [] }
    let opener = SegmentOpener(zone: zone, membership: membership(of: zone.group))
    var changes: [Dot: Change] = [:]
    for segment in try store.segments(of: id) where authors.contains(segment.author) {
      let reached = zone.head(of: segment.author).sequence
      guard segment.last > reached, let bytes = try store.bytes(of: segment.digest, in: id),
        let opened = opener.reopened(bytes, author: segment.author)
      else { continue }
      for change in opened.changes where change.dot.sequence > reached {
        changes[change.dot] = change
      }
      if segment.first > reached { try store.removeSegment(segment.digest, in: id) }
    }
    for entry in try store.pendingEntries(in: id)
    where entry.author(in: zone).map(authors.contains) ?? false {
      try store.removePending(entry.digest, in: id)
    }
    return changes.keys.sorted().compactMap { changes[$0] }
  }

  /// Writes such changes again in a new life: the log of the one before ends in front of them.
  private mutating func rewrite(
    _ changes: [Change], of id: ZoneID, _ nowMilliseconds: UInt64
  ) throws {
    guard !changes.isEmpty else { return }
    try beginNewLife(
      reason: "this device had begun from a wrong snapshot, which its changes cite",
      nowMilliseconds: nowMilliseconds)
    try reissue(changes.map { (id, $0) }, now: nowMilliseconds, isOwnLife: false)
  }

  private static func wrongBase(of zone: ZoneState, _ reason: String) -> TransportProblem {
    TransportProblem(
      place: "zone \(zone.name)", fault: "the zone still rests on a wrong snapshot: \(reason)",
      remedy: "let the other devices sync, then sync again", hidesData: true)
  }

  // MARK: Giving

  /// Gives a transport the snapshots it lacks: a new one where that pays, and the one that this
  /// zone began from where the transport has nothing instead.
  func giveSnapshots(
    of id: ZoneID, to transport: some Transport, holding listing: TransportListing,
    stored: [StoredSegment], _ report: inout TransportReport
  ) throws {
    let zone = try zone(id)
    guard zone.kind == .data else { return }
    try forwardBase(of: zone, to: transport, holding: listing, &report)
    let membership = membership(of: zone.group)
    guard let role = membership.role(of: device), role.rank >= Role.admin.rank,
      zone.heads.allSatisfy({ $0.forkedAt == nil || membership.withholdsKeys && isEnded($0, zone) }
      ),
      try membership.withholdsKeys || store.baseSnapshot(of: id) != nil
        || SnapshotPlan.pays(stored, applied: zone.frontier, beyond: Frontier())
    else { return }
    let keys = Set(keysForNewcomers(of: zone).map { Identifier($0.tag) })
    let known = try knownSnapshots(of: zone, on: transport, listing, &report)
    let mayServe = try epochsForAllMembers(known.map(\.epoch), of: zone)
    let serving = try known.filter {
      try zone.frontier.covers($0.frontier) && !isRefuted(word(of: $0, in: zone), in: zone)
        && (!membership.withholdsKeys || keys.contains($0.epoch) && mayServe.contains($0.epoch))
    }
    let isAsked = membership.person(of: device).map { membership.isAskedForWord($0.id) } ?? false
    let said = try serving.filter { try !isAsked || isSaid(word(of: $0, in: zone), in: zone) }
    guard
      try SnapshotPlan.pays(
        stored, applied: zone.frontier, beyond: SnapshotPlan.furthest(of: serving))
        || isSnapshotNeeded(
          by: keys, of: zone, beyond: SnapshotPlan.furthest(of: said), stored: stored)
        || isOwnWordNeeded(of: zone, known: known, holding: listing)
    else { return }
    guard let epoch = zone.currentEpoch.map({ Identifier($0.tag) }) else { return }
    let chunks = try snapshot(of: id)
    let names = SnapshotPlan.names(of: chunks, zoneTag: zone.tag)
    guard let group = names.first?.group else { return }
    var own = KnownSnapshot(
      group: group, isOwn: true, maker: zone.authorTag(of: device), epoch: epoch,
      mark: Engine.mark(of: zone.heads, try heldBack(in: zone)),
      link: try chunks.first.map { try Envelope.parseHeader($0).linkBefore } ?? Engine.noLink,
      frontier: Frontier())
    // Begun, so that a later round can remove what a cut left; done only with the last chunk.
    try remember([own], of: zone)
    try publish(chunks, as: names, to: transport, &report)
    own.frontier = zone.frontier
    try remember([own], of: zone)
    try dropOld(of: zone, but: group, on: transport, listing)
  }

  private func publish(
    _ chunks: [[UInt8]], as names: [BlobName], to transport: some Transport,
    _ report: inout TransportReport
  ) throws {
    for (name, chunk) in zip(names, chunks) {
      try transport.publish(name, chunk)
      report.publishedBytes += chunk.count
    }
    report.publishedSnapshots += 1
    Probe.snapshotPublished.hit()
  }

  /// Removes own snapshots but the newest, and what is left of publications that were cut off,
  /// after a newer one is there.
  private func dropOld(
    of zone: ZoneState, but newest: Identifier, on transport: some Transport,
    _ listing: TransportListing
  ) throws {
    let complete = Set(SnapshotPlan.sorted(listing.snapshots).complete.map(\.group))
    let own = try remembered(of: zone).filter { $0.isOwn && $0.group != newest }
    let whole = own.filter { complete.contains($0.group) }
      .sorted { SnapshotPlan.weight(of: $0.frontier) > SnapshotPlan.weight(of: $1.frontier) }
    // Whoever comes by an invitation that is still open has the key of then, and no other.
    let promised = try epochsOfOpenInvites(in: zone).compactMap { epoch in
      whole.first { $0.epoch == epoch }?.group
    }
    let kept = whole.prefix(SnapshotPlan.keptSnapshots - 1).map(\.group) + promised
    let dropped = Set(own.map(\.group)).subtracting(kept)
    guard !dropped.isEmpty else { return }
    Probe.snapshotReplaced.hit()
    for name in listing.snapshots where dropped.contains(name.group) { try transport.remove(name) }
  }

  /// Gives a transport the snapshot that this zone began from, as it came, where the transport has
  /// neither the changes in it nor any other snapshot.
  private func forwardBase(
    of zone: ZoneState, to transport: some Transport, holding listing: TransportListing,
    _ report: inout TransportReport
  ) throws {
    guard SnapshotPlan.sorted(listing.snapshots).complete.isEmpty,
      let base = try store.baseSnapshot(of: zone.id)
    else { return }
    guard try !SyncPlan.holdsAll(baseHeads(of: zone), of: zone, in: listing) else { return }
    Probe.snapshotForwarded.hit()
    let chunks = try Engine.chunks(of: base)
    let names = SnapshotPlan.names(of: chunks, zoneTag: zone.tag)
    try publish(chunks, as: names, to: transport, &report)
  }
}

// MARK: - Memory of what was looked into

/// A snapshot that was verified once, so that an admin's node need not fetch it at every sync.
struct KnownSnapshot {
  let group: Identifier
  let isOwn: Bool
  /// The tag of the device that made it.
  let maker: Identifier
  /// The tag of the epoch that it is sealed under.
  let epoch: Identifier
  /// Stands for its heads, as in an attestation; zero if it is not acceptable.
  let mark: Identifier
  /// Its digest, masked by the key of its epoch; zero if it is not acceptable.
  let link: Bytes32
  /// How far it reaches; nowhere if it is not acceptable.
  var frontier: Frontier
}

extension Engine {
  /// The listing's snapshots, each looked into once in the life of this node; without those whose
  /// maker was an owner or admin then and is none now, as no newcomer begins from them.
  func knownSnapshots(
    of zone: ZoneState, on transport: some Transport, _ listing: TransportListing,
    _ report: inout TransportReport
  ) throws -> [KnownSnapshot] {
    let complete = SnapshotPlan.sorted(listing.snapshots).complete
    let listed = Set(complete.map(\.group))
    // One whose publication was begun and not noted as done is looked into like any other.
    let remembered = try remembered(of: zone).filter {
      listed.contains($0.group) && !($0.isOwn && $0.frontier.isEmpty)
    }
    var known = remembered
    let seen = Set(remembered.map(\.group))
    let closed = try closedTags(in: zone)
    var good = remembered.count { !$0.frontier.isEmpty }
    for snapshot in complete.lazy.filter({ !seen.contains($0.group) })
      .prefix(SnapshotPlan.fetchedSnapshots)
    where good < SnapshotPlan.consideredSnapshots {
      var (epoch, maker) = (Identifier.zero, Identifier.zero)
      do {
        let first = try fetch(snapshot.chunks[0], from: transport, &report)
        let header = try Envelope.parseHeader(
          first, minimumSuite: membership(of: zone.group).acceptedSuite)
        (epoch, maker) = (Identifier(header.epochTag), Identifier(header.authorTag))
        let (heads, heldBack, isOwn) = try heads(
          ofSnapshot: first, of: snapshot.chunks.count, zone: zone, isAccepted: false)
        known.append(
          KnownSnapshot(
            group: snapshot.group, isOwn: isOwn, maker: maker, epoch: epoch,
            mark: Engine.mark(of: heads, heldBack), link: header.linkBefore,
            frontier: Frontier(heads.map { ($0.author, $0.sequence) })))
        good += 1
      } catch {
        guard Engine.isOfSnapshot(error) else { throw error }
        guard Engine.isLasting(error) || closed.contains(epoch) else { continue }
        known.append(
          KnownSnapshot(
            group: snapshot.group, isOwn: false, maker: maker, epoch: epoch, mark: .zero,
            link: Engine.noLink, frontier: Frontier()))
      }
    }
    if known.count > remembered.count { try remember(known, of: zone) }
    return known.filter { $0.frontier.isEmpty || mayStillMake($0, of: zone) }
  }

  /// Whether the maker of a snapshot that was good once is an owner or admin still.
  private func mayStillMake(_ snapshot: KnownSnapshot, of zone: ZoneState) -> Bool {
    if snapshot.isOwn || Mutant.trustsFormerMakers.isActive { return true }
    let maker = zone.deviceByTag[snapshot.maker]
    let role = maker.flatMap { membership(of: zone.group).role(of: $0) }
    let isSo = role?.rank ?? 0 >= Role.admin.rank
    Probe.snapshotOfFormerAdmin.hit(if: !isSo)
    return isSo
  }

  private static var noLink: Bytes32 {
    Bytes32(exactly: [UInt8](repeating: 0, count: Bytes32.count))
  }

  private static func memoryName(of zone: ZoneState) -> String { "snapshots.by.\(zone.id.hex)" }

  func remembered(of zone: ZoneState) throws -> [KnownSnapshot] {
    guard let bytes = try store.fact(Engine.memoryName(of: zone)) else { return [] }
    var reader = ByteReader(bytes)
    var known: [KnownSnapshot] = []
    for _ in 0..<(try reader.count("snapshots", itemBytes: 98)) {
      known.append(
        KnownSnapshot(
          group: try reader.identifier("group"), isOwn: try reader.byte("own") == 1,
          maker: try reader.identifier("maker"), epoch: try reader.identifier("epoch"),
          mark: try reader.identifier("mark"),
          link: Bytes32(exactly: try reader.raw(Bytes32.count, "link")),
          frontier: try reader.frontier("frontier")))
    }
    try reader.finish()
    return known
  }

  /// Adds to what is remembered; of several transports, so the last few are kept.
  private func remember(_ known: [KnownSnapshot], of zone: ZoneState) throws {
    let groups = Set(known.map(\.group))
    let all = try remembered(of: zone).filter { !groups.contains($0.group) } + known
    let kept = all.suffix(4 * SnapshotPlan.fetchedSnapshots)
    var writer = ByteWriter()
    writer.varint(kept.count)
    for item in kept {
      writer.identifier(item.group)
      writer.byte(item.isOwn ? 1 : 0)
      writer.identifier(item.maker)
      writer.identifier(item.epoch)
      writer.identifier(item.mark)
      writer.raw(item.link.array)
      writer.frontier(item.frontier)
    }
    try store.transaction { try store.setFact(Engine.memoryName(of: zone), writer.bytes) }
  }

  /// Whether an error speaks of a snapshot's bytes, which come from outside, and not of this node.
  static func isOfSnapshot(_ error: any Error) -> Bool {
    if let error = error as? TransportError { return error.code != .folderMissing }
    if let error = error as? SyncError { return error.code != .corrupt }
    return error is CodecError || error is CryptoError
  }

  /// Whether an error is a verdict about a snapshot's bytes that no later look can change.
  ///
  /// A disk that fails, a chunk on its way, a key, device or format that is not known yet may all
  /// be otherwise at the next sync. Who may make snapshots can change too, but then the next one
  /// comes soon, and until then nobody has to fetch this one again.
  static func isLasting(_ error: any Error) -> Bool {
    switch error {
    case is CodecError: true
    case let error as CryptoError:
      [.malformed, .badLength, .tooLarge, .authenticationFailed, .badSignature]
        .contains(error.code)
    case let error as SyncError:
      [.malformed, .tooLarge, .notAuthentic, .notAllowed].contains(error.code)
    default: false
    }
  }
}

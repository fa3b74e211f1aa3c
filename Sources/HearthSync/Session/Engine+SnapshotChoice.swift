import HearthCRDT
import HearthCrypto
import HearthMembership

/// Whose log contradicts the snapshot that a zone began from.
struct BaseContradiction: Error {
  let author: Author
}

// Which snapshots are good for what; decision 0016 says why it is so.
extension Engine {
  // MARK: Beginning from a snapshot

  /// Whether a zone is to begin from a snapshot, if there is a good one.
  func mayBegin(_ id: ZoneID) throws -> Bool {
    let zone = try zone(id)
    return zone.kind == .data && zone.frontier.isEmpty
  }

  /// The complete snapshots of a listing in the order in which they are looked into.
  ///
  /// What was good before goes first; only what is signed by an owner or admin counts.
  func ordered(
    _ complete: [SnapshotPlan.Complete], of id: ZoneID
  ) throws -> [SnapshotPlan.Complete] {
    let good = Set(try remembered(of: zone(id)).filter { !$0.frontier.isEmpty }.map(\.group))
    return complete.filter { good.contains($0.group) }
      + complete.filter { !good.contains($0.group) }
  }

  /// Verifies the first chunk of a snapshot; nil if it is under a key that is withheld here.
  ///
  /// - Throws: what is wrong with it.
  func candidate(
    _ snapshot: SnapshotPlan.Complete, _ first: [UInt8], of id: ZoneID, _ listing: TransportListing
  ) throws -> SnapshotCandidate? {
    let zone = try zone(id)
    if try isWithheld(first, in: zone) { return nil }
    let (heads, heldBack) = try checkedHeads(
      ofSnapshot: first, of: snapshot.chunks.count, in: zone, listing)
    let word = try word(of: first, heads, heldBack, in: zone)
    return SnapshotCandidate(
      snapshot: snapshot, first: first, word: word, weight: SnapshotPlan.weight(of: word.frontier))
  }

  /// The heads of a snapshot and what it holds back, where they may be true.
  func checkedHeads(
    ofSnapshot first: [UInt8], of count: Int, in zone: ZoneState, _ listing: TransportListing
  ) throws -> (heads: [LogHead], heldBack: [Dot]) {
    let (heads, heldBack, _) = try heads(
      ofSnapshot: first, of: count, zone: zone, isAccepted: false)
    if let fault = SnapshotPlan.fault(
      in: heads, heldBack, of: zone, control: try controlZone(of: zone.group).reached,
      listing: listing)
    {
      throw SyncError(.notAuthentic, fault)
    }
    return (heads, heldBack)
  }

  /// How far this device believes what a snapshot says, beside what others say.
  func belief(
    in snapshot: SnapshotPlan.Complete, _ word: SnapshotWord, among words: [SnapshotWord],
    of id: ZoneID, _ listing: TransportListing
  ) throws -> SnapshotBelief {
    let zone = try zone(id)
    if try isBelieved(word, in: zone) { return .believed }
    if words.contains(where: { mayVouch($0, for: word, zone) }) { return .needsVoice }
    return .refused(try problemWithBelief(in: snapshot, word, of: zone, listing))
  }

  /// Begins an empty zone from the chunks of a snapshot; nothing where no other person's snapshot
  /// says the same and one has to.
  ///
  /// - Returns: whether it was begun, or what is to be told of a snapshot that is not believed.
  mutating func begin(
    _ id: ZoneID, from chunks: [[UInt8]], _ candidate: SnapshotCandidate, belief: SnapshotBelief,
    among words: [SnapshotWord], _ listing: TransportListing, nowMilliseconds: UInt64
  ) throws -> SnapshotBelief {
    if case .needsVoice = belief {
      let zone = try zone(id)
      guard try isVouched(candidate.word, chunks, by: words, in: zone) else {
        return .refused(
          try problemWithBelief(in: candidate.snapshot, candidate.word, of: zone, listing))
      }
    }
    try bootstrap(id, from: chunks, nowMilliseconds: nowMilliseconds)
    return .believed
  }

  // MARK: A snapshot that was wrong

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
        "\(try nameOfMaker(of: base.chunk, in: zone)) recorded \(fork.author) in it, at change "
          + "\(head.sequence), differently from what that device wrote",
        cause: BaseContradiction(author: fork.author))
    }
  }

  /// What stands for the attempt to do without a zone's snapshot; nil where it was made in vain.
  func replacementAttempt(
    of id: ZoneID, holding listing: TransportListing
  ) throws -> Identifier? {
    let attempt = try replacement(of: id, holding: listing)
    return try triedReplacements(of: id).contains(attempt) ? nil : attempt
  }

  /// Takes a zone's changes one by one in place of the snapshot that it began from.
  ///
  /// All or nothing: where the files do not hold every change that is here, but for those of the
  /// author whom the snapshot misquotes, the zone stays as it is.
  ///
  /// - Parameters:
  ///   - files: what was fetched of the listing so far; nil for what could not be.
  ///   - taken: afterwards what came of the files, to be reported.
  /// - Throws: ``LacksFiles`` where further files are needed; `snapshotContradicted` where the zone
  ///   stays as it is.
  mutating func replaceBase(
    of id: ZoneID, contradictedBy author: Author?, by files: [SegmentName: [UInt8]?],
    from listing: TransportListing, anchorFile: any AnchorFile, nowMilliseconds: UInt64,
    _ taken: inout Taking?
  ) throws {
    if try seal(id) > 0 { try Anchor.drop(anchorFile, for: self) }
    let before = self
    do {
      try store.transaction {
        self = before
        try store.snapshots.removeBase(of: id)
        try save(heldBack: [], ofBaseOf: id)
        // What waits is judged anew too: a wrong snapshot refutes who cites the truth.
        try rebuildWithin(id, nowMilliseconds: nowMilliseconds)
        taken = try takeAll(of: id, among: files, listing, nowMilliseconds: nowMilliseconds)
        let old = try before.zone(id)
        // Nobody has what is beyond the end of a log with two histories, and what is held back for
        // what it cites is here.
        let refuted = Set(
          try store.pending.entries(in: id).filter { $0.reason == .falseClaim }
            .compactMap { $0.author(in: old) })
        let needed = old.heads.filter { $0.author != author || author?.device == device }
          .filter { !refuted.contains($0.author) }
          .map { ($0.author, min($0.sequence, (old.forkEnds[$0.author] ?? .max) - 1)) }
        guard try zone(id).frontier.covers(Frontier(needed)) else {
          throw SyncError(
            .snapshotContradicted, "some of the changes that would replace it are missing")
        }
        try rewrite(try takeBackMiscited(in: id), of: id, nowMilliseconds)
      }
    } catch {
      self = before
      throw error
    }
    if incarnation != before.incarnation { try Anchor.drop(anchorFile, for: self) }
  }

  /// Takes what is new of a listing from files that were fetched before.
  private mutating func takeAll(
    of id: ZoneID, among files: [SegmentName: [UInt8]?], _ listing: TransportListing,
    nowMilliseconds: UInt64
  ) throws -> Taking {
    var taking = try taking(of: id, from: listing)
    // All or nothing: what it may fetch in vain has a bound of its own.
    taking.waste.isLimited = false
    var names = try goOn(&taking, nowMilliseconds: nowMilliseconds)
    while !names.isEmpty {
      let lacking = names.filter { files[$0] == nil }
      guard lacking.isEmpty else { throw LacksFiles(names: lacking) }
      let fetched = names.compactMap { name in
        (files[name] ?? nil).map { (name: name, bytes: $0) }
      }
      let found = Set(fetched.map(\.name))
      for name in names where !found.contains(name) { taking.fail(name) }
      if !fetched.isEmpty {
        try receive(fetched, &taking, nowMilliseconds: nowMilliseconds)
      }
      names = try goOn(&taking, nowMilliseconds: nowMilliseconds)
    }
    return taking
  }

  /// Takes back own changes that cite what the wrong snapshot said of others' logs.
  ///
  /// Nobody who has those logs takes such changes, whoever misled this device.
  private func takeBackMiscited(in id: ZoneID) throws -> [Change] {
    let zone = try zone(id)
    let claimed = try store.pending.entries(in: id).filter {
      $0.reason == .falseClaim && $0.author(in: zone)?.device == device
    }
    let authors = Set(claimed.compactMap { $0.author(in: zone) })
    guard !authors.isEmpty else { return [] }
    let opener = SegmentOpener(zone: zone, membership: membership(of: zone.group))
    var changes: [Dot: Change] = [:]
    for segment in try store.log.segments(of: id) where authors.contains(segment.author) {
      let reached = zone.head(of: segment.author).sequence
      guard segment.last > reached, let bytes = try store.log.bytes(of: segment.digest, in: id),
        let opened = opener.reopened(bytes, author: segment.author)
      else { continue }
      for change in opened.changes where change.dot.sequence > reached {
        changes[change.dot] = change
      }
      if segment.first > reached { try store.log.removeSegment(segment.digest, in: id) }
    }
    for entry in try store.pending.entries(in: id)
    where entry.author(in: zone).map(authors.contains) ?? false {
      try store.pending.remove(entry.digest, in: id)
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

  static func wrongBase(of zone: ZoneState, _ reason: String) -> TransportProblem {
    TransportProblem(
      place: "zone \(zone.name)", fault: "the zone still uses a wrong snapshot: \(reason)",
      remedy: "let the other devices sync, then sync again", hidesData: true)
  }
}

/// Files of a transport are needed that were not fetched yet.
struct LacksFiles: Error {
  let names: [SegmentName]
}

// MARK: - Memory of what was looked into

/// What is known of the snapshots of a listing while they are looked into.
struct SnapshotLook {
  fileprivate(set) var known: [KnownSnapshot]
  /// Those of which nothing is known.
  let unknown: [SnapshotPlan.Complete]
  fileprivate var hasNews = false

  /// Whether as many good ones are known as are considered.
  var isEnough: Bool {
    known.count { !$0.frontier.isEmpty } >= SnapshotPlan.consideredSnapshots
  }

  fileprivate init(known: [KnownSnapshot], unknown: [SnapshotPlan.Complete]) {
    self.known = known
    self.unknown = unknown
  }

  mutating func note(_ snapshot: KnownSnapshot) {
    known.append(snapshot)
    hasNews = true
  }
}

extension Engine {
  /// What is known of a listing's snapshots, and which of them have to be looked into.
  func snapshotLook(of id: ZoneID, _ listing: TransportListing) throws -> SnapshotLook {
    let complete = SnapshotPlan.sorted(listing.snapshots).complete
    let listed = Set(complete.map(\.group))
    // One whose publication was begun and not noted as done is looked into like any other.
    let remembered = try remembered(of: zone(id)).filter {
      listed.contains($0.group) && !($0.isOwn && $0.frontier.isEmpty)
    }
    let seen = Set(remembered.map(\.group))
    return SnapshotLook(
      known: remembered,
      unknown: Array(
        complete.lazy.filter { !seen.contains($0.group) }.prefix(SnapshotPlan.fetchedSnapshots)))
  }

  /// Looks into the first chunk of a snapshot; nil while nothing lasting can be said.
  func known(
    _ snapshot: SnapshotPlan.Complete, _ first: [UInt8], of id: ZoneID
  ) throws -> KnownSnapshot? {
    let zone = try zone(id)
    let closed = try closedTags(in: zone)
    var (epoch, maker) = (Identifier.zero, Identifier.zero)
    do {
      let header = try Envelope.parseHeader(
        first, minimumSuite: membership(of: zone.group).acceptedSuite)
      (epoch, maker) = (Identifier(header.epochTag), Identifier(header.authorTag))
      let (heads, heldBack, isOwn) = try heads(
        ofSnapshot: first, of: snapshot.chunks.count, zone: zone, isAccepted: false)
      return KnownSnapshot(
        group: snapshot.group, isOwn: isOwn, maker: maker, epoch: epoch,
        mark: Engine.mark(of: heads, heldBack), link: header.linkBefore,
        frontier: Frontier(heads.map { ($0.author, $0.sequence) }))
    } catch {
      guard Engine.isOfSnapshot(error) else { throw error }
      guard Engine.isLasting(error) || closed.contains(epoch) else { return nil }
      return KnownSnapshot(
        group: snapshot.group, isOwn: false, maker: maker, epoch: epoch, mark: .zero,
        link: Engine.noLink, frontier: Frontier())
    }
  }

  /// Remembers what was looked into; gives what is known without those whose maker was an owner or
  /// admin then and is none now, as no newcomer begins from them.
  func finish(_ look: SnapshotLook, of id: ZoneID) throws -> [KnownSnapshot] {
    let zone = try zone(id)
    if look.hasNews { try remember(look.known, of: zone) }
    return look.known.filter { $0.frontier.isEmpty || mayStillMake($0, of: zone) }
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

  static var noLink: Bytes32 {
    Bytes32(exactly: [UInt8](repeating: 0, count: Bytes32.count))
  }

  private static func memoryName(of zone: ZoneState) -> String { "snapshots.by.\(zone.id.hex)" }

  func remembered(of zone: ZoneState) throws -> [KnownSnapshot] {
    guard let bytes = try store.facts.value(of: Engine.memoryName(of: zone)) else { return [] }
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
  func remember(_ known: [KnownSnapshot], of zone: ZoneState) throws {
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
    try store.transaction { try store.facts.set(Engine.memoryName(of: zone), to: writer.bytes) }
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

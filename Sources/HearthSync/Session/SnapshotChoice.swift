import HearthCRDT
import HearthCrypto
import HearthMembership

/// The choice of the snapshot that an empty zone begins from.
///
/// Decision 0016 explains the reasons.
enum SnapshotChoice {
  // MARK: Beginning from a snapshot

  /// Whether a zone should begin from a snapshot if there is a good one.
  ///
  /// It should if it is empty, or if it was when a load began that did not end.
  static func mayBegin(_ id: ZoneID, in engine: Engine<some Store>) throws -> Bool {
    let zone = try engine.zone(id)
    guard zone.kind == .data else { return false }
    return try zone.frontier.isEmpty
      || ZoneDraft.isLeft(of: id, in: engine.store) && mayTake(heads: [], in: zone, by: engine)
  }

  /// Whether a zone may be based on a snapshot with these heads: it has no other base, and no
  /// changes but own ones, which the snapshot lacks.
  static func mayTake(
    heads: [LogHead], in zone: ZoneState, by engine: Engine<some Store>
  ) throws -> Bool {
    guard !zone.frontier.isEmpty else { return true }
    return try zone.frontier.entries.allSatisfy { entry in
      entry.author.device == engine.device && !heads.contains { $0.author == entry.author }
    } && engine.store.snapshots.base(of: zone.id, atMost: 1) == nil
  }

  /// The complete snapshots of a listing in the order in which they are examined.
  ///
  /// Those that were good before come first. Only snapshots that are signed by an owner or admin
  /// count.
  static func ordered(
    _ complete: [SnapshotPlan.Complete], of id: ZoneID, in engine: Engine<some Store>
  ) throws -> [SnapshotPlan.Complete] {
    let good = Set(
      try SnapshotMemory.remembered(of: engine.zone(id), in: engine.store).filter {
        !$0.frontier.isEmpty
      }.map(\.group))
    return complete.filter { good.contains($0.group) }
      + complete.filter { !good.contains($0.group) }
  }

  /// Verifies the first chunks of a snapshot; nil if it is under a key that is withheld here.
  ///
  /// - Throws: What is wrong with it.
  static func candidate(
    _ snapshot: SnapshotPlan.Complete, _ beginning: [[UInt8]], of id: ZoneID,
    _ listing: TransportListing, in engine: Engine<some Store>
  ) throws -> SnapshotCandidate? {
    let zone = try engine.zone(id)
    guard let first = beginning.first else { return nil }
    if try ClosedSegments(engine: engine).isWithheld(first, in: zone) { return nil }
    let (heads, heldBack) = try checkedHeads(
      ofSnapshot: beginning, of: snapshot.chunks.count, in: zone, listing, by: engine)
    let word = try SnapshotWords.word(of: first, heads, heldBack, in: zone, by: engine)
    return SnapshotCandidate(
      snapshot: snapshot, beginning: beginning, word: word,
      weight: SnapshotPlan.weight(of: word.frontier))
  }

  /// A snapshot's heads and held-back changes, if they can be true.
  static func checkedHeads(
    ofSnapshot beginning: [[UInt8]], of count: Int, in zone: ZoneState, _ listing: TransportListing,
    by engine: Engine<some Store>
  ) throws -> (heads: [LogHead], heldBack: [Dot]) {
    let (heads, heldBack, _) = try SnapshotOpening(of: zone, in: engine)
      .heads(of: beginning, of: count)
    if let fault = SnapshotPlan.fault(
      in: heads, heldBack, of: zone, control: try engine.controlZone(of: zone.group).reached,
      listing: listing)
    {
      throw SyncError(.notAuthentic, fault)
    }
    return (heads, heldBack)
  }

  /// How far this device believes a snapshot, considering what others say.
  static func belief(
    in snapshot: SnapshotPlan.Complete, _ word: SnapshotWord, among words: [SnapshotWord],
    of id: ZoneID, _ listing: TransportListing, by engine: Engine<some Store>
  ) throws -> SnapshotBelief {
    let zone = try engine.zone(id)
    if try SnapshotTrust(engine: engine).isBelieved(word, in: zone) { return .believed }
    if words.contains(where: { SnapshotTrust(engine: engine).mayVouch($0, for: word, zone) }) {
      return .needsVoice
    }
    return .refused(
      try SnapshotTrust(engine: engine).problemWithBelief(in: snapshot, word, of: zone, listing))
  }

  /// How far this device believes a snapshot whose content has a digest: it does, or it does not.
  static func belief(
    in candidate: SnapshotCandidate, _ digest: [UInt8], among words: [SnapshotWord], of id: ZoneID,
    _ listing: TransportListing, by engine: Engine<some Store>
  ) throws -> SnapshotBelief {
    let belief = try belief(
      in: candidate.snapshot, candidate.word, among: words, of: id, listing, by: engine)
    guard case .needsVoice = belief else { return belief }
    let (zone, trust) = (try engine.zone(id), SnapshotTrust(engine: engine))
    if try trust.isVouched(candidate.word, digest, by: words, in: zone) { return .believed }
    return .refused(
      try trust.problemWithBelief(in: candidate.snapshot, candidate.word, of: zone, listing))
  }
}

/// The error that files of a transport are needed that were not fetched yet.
struct LacksFiles: Error {
  let names: [SegmentName]
}

// MARK: - The examination of a listing

/// What is known of a listing's snapshots while they are examined.
struct SnapshotLook {
  private(set) var known: [KnownSnapshot]
  /// The snapshots that were not examined yet.
  let unknown: [SnapshotPlan.Complete]
  var hasNews = false

  /// Whether enough good snapshots are known.
  var isEnough: Bool {
    known.count { !$0.frontier.isEmpty } >= SnapshotPlan.consideredSnapshots
  }

  init(known: [KnownSnapshot], unknown: [SnapshotPlan.Complete]) {
    self.known = known
    self.unknown = unknown
  }

  mutating func note(_ snapshot: KnownSnapshot) {
    known.append(snapshot)
    hasNews = true
  }
}

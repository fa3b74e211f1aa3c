import HearthCRDT

/// What another copy of this node has published beside the own logs.
///
/// A look examines one by one the files on a transport that have the own tag and are not the own
/// ones.
struct OtherCopyLook {
  /// The files to examine.
  fileprivate(set) var files: [SegmentName] = []
  /// Whether the copy has written under the current incarnation.
  fileprivate var usesCurrentLife = false
  /// The first unsealed change of each own log that it contradicts.
  fileprivate var contradicted: [Author: UInt64] = [:]
  /// The files that need no second look.
  fileprivate var compared: Set<Identifier> = []
  fileprivate var hasCompared = false
  fileprivate var log: OwnLog?
}

/// The own logs of a zone, with sealed segments opened on demand.
private struct OwnLog {
  let own: [StoredSegment]
  let unsealed: [Dot: [UInt8]]
  var opened: [Identifier: [Dot: [UInt8]]] = [:]

  private let unsealedAuthors: Set<Author>

  init(own: [StoredSegment], unsealed: [LoggedChange]) {
    self.own = own
    unsealedAuthors = Set(unsealed.map(\.change.dot.author))
    self.unsealed = Dictionary(
      unsealed.map { ($0.change.dot, $0.hash) }, uniquingKeysWith: { first, _ in first })
  }

  func hasUnsealed(of author: Author) -> Bool { unsealedAuthors.contains(author) }
}

/// What a node does where a transport shows that another copy of the node is running.
enum OtherCopy {
  /// The most files under the own tag that are examined at a time; a few are usual.
  private static var examinedOwnFiles: Int { 64 }

  /// Finds the files that another copy of this node may have published under its incarnations.
  static func otherCopyLook(
    in id: ZoneID, _ listing: TransportListing, by engine: Engine<some Store>
  ) throws -> OtherCopyLook {
    var look = OtherCopyLook()
    let tag = try engine.zone(id).authorTag(of: engine.device)
    let own = try ownSegments(of: id, in: engine)
    var known = Set(own.map(\.digest))
    let suspects = listing.segments.filter { $0.authorTag == tag && !known.contains($0.digest) }
    guard !suspects.isEmpty else { return look }
    known.formUnion(try engine.store.pending.entries(in: id).map(\.digest))
    look.compared = try comparedFiles(of: id, in: engine.store)
    let news = suspects.filter {
      !known.contains($0.digest) && !look.compared.contains(NameVerdicts.key(of: $0))
    }
    guard !news.isEmpty else { return look }
    look.log = OwnLog(own: own, unsealed: try LogReader(engine: engine).unsealedChanges(of: id))
    look.files = news.suffix(examinedOwnFiles)
    return look
  }

  private static func ownSegments(of id: ZoneID, in engine: Engine<some Store>) throws
    -> [StoredSegment]
  {
    try engine.store.log.segments(of: id).filter { $0.author.device == engine.device }
  }

  /// Compares one file with the own logs.
  ///
  /// A name proves nothing, because anybody who can write to the folder chooses it. Only segments
  /// that this device has signed count. Changes that the other copy has too stay unchanged.
  static func compare(
    _ bytes: [UInt8], named name: SegmentName, in id: ZoneID, _ look: inout OtherCopyLook,
    by engine: Engine<some Store>
  ) throws {
    guard let former = look.log,
      let found = try? LogReader(engine: engine).changes(inSegment: bytes, of: id),
      found.first?.change.dot.author.device == engine.device
    else { return }
    // Another exchange may have merged own segments since the last turn.
    var log = OwnLog(
      own: try ownSegments(of: id, in: engine),
      unsealed: try LogReader(engine: engine).unsealedChanges(of: id))
    log.opened = former.opened
    let isEqual = try compare(found, with: &log, in: id, &look, by: engine)
    if isEqual { try takeOver(found, sealedAs: name, bytes, in: id, by: engine) }
    // What an ended incarnation wrote beside what is sealed here calls for nothing any more.
    if isEqual || found.allSatisfy({ isOver($0.change.dot.author, log, in: engine) }) {
      look.compared.insert(NameVerdicts.key(of: name))
      look.hasCompared = true
    }
    look.log = log
  }

  /// Begins a new incarnation if another copy has written under this one, and reissues the
  /// colliding changes.
  static func settle(
    _ look: OtherCopyLook, in id: ZoneID, _ listing: TransportListing,
    anchorFile: any AnchorFile, by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    if look.hasCompared { try remember(compared: look.compared, of: id, listing, in: engine.store) }
    var ends = look.contradicted.keys.sorted().map {
      OwnLogEnd(zone: id, author: $0, first: look.contradicted[$0] ?? 1)
    }
    guard look.usesCurrentLife else {
      Probe.earlierLifeContradicted.hit(if: !ends.isEmpty)
      if !ends.isEmpty { try Reissue.rewrite(ends, in: &engine, nowMilliseconds: nowMilliseconds) }
      return
    }
    Probe.foreignOwnSegment.hit()
    // Unsealed changes in other zones may collide too, with files that have not arrived yet.
    ends += engine.zones.filter { $0.id != id && $0.group == (try? engine.zone(id).group) }.map {
      OwnLogEnd(zone: $0.id, author: engine.author, first: 1)
    }
    try NewIncarnation.begin(
      reason: "another copy of this node has published changes that this one does not have",
      takingBack: ends, in: &engine, nowMilliseconds: nowMilliseconds)
    try Anchor.drop(anchorFile, for: engine)
  }

  /// Keeps a segment in which a copy of this node has sealed the same changes that are unsealed
  /// here: they need not be sealed again, and no longer collide with anything.
  private static func takeOver(
    _ found: [LoggedChange], sealedAs name: SegmentName, _ bytes: [UInt8], in id: ZoneID,
    by engine: Engine<some Store>
  ) throws {
    guard let author = found.first?.change.dot.author, segmentDigest(bytes) == name.digest else {
      return
    }
    let own = try LogReader(engine: engine).unsealedChanges(of: id).map(\.change.dot).filter {
      $0.author == author
    }
    guard let first = own.first?.sequence, let last = found.last?.change.dot.sequence,
      name.first <= first, first <= last
    else { return }
    Probe.ownSegmentTakenOver.hit()
    try engine.store.transaction {
      let head = try engine.zone(id).head(of: author)
      try engine.store.log.save(
        StoredSegment(
          author: author, first: name.first, last: last, digest: name.digest,
          byteCount: bytes.count), bytes: bytes, in: id)
      // The head is saved first: opening reads own changes only beyond it.
      try engine.store.zones.save([head], of: id)
      try engine.store.log.removeChanges(of: author, in: id, through: last)
    }
  }

  // MARK: Memory

  private static func memoryOfOwnFiles(of zone: ZoneID) -> Fact<[Identifier]> {
    Fact("own-names.\(zone.hex)") { keys, writer in
      writer.varint(keys.count)
      for key in keys { writer.identifier(key) }
    } read: { reader in
      let count = try reader.count("own files", itemBytes: 16, atMost: NameVerdicts.maximumCount)
      return try (0..<count).map { _ in try reader.identifier("own file") }
    }.asCache
  }

  /// The files under the own tag that need no second look.
  ///
  /// They held what the own logs hold, which stays true because only contradicting changes are ever
  /// taken back; or an ended incarnation wrote them.
  private static func comparedFiles(of zone: ZoneID, in store: some Store) throws -> Set<Identifier>
  {
    Set(try store.facts.value(of: memoryOfOwnFiles(of: zone)) ?? [])
  }

  /// Stores the examined files of the present listing, and forgets those that are gone.
  private static func remember(
    compared: Set<Identifier>, of zone: ZoneID, _ listing: TransportListing, in store: some Store
  ) throws {
    let present = Set(listing.segments.map { NameVerdicts.key(of: $0) })
    let kept = Array(present.intersection(compared).sorted().prefix(NameVerdicts.maximumCount))
    try store.transaction { try store.facts.set(memoryOfOwnFiles(of: zone), to: kept) }
  }

  /// The hash after an own change; nil if the change is not here.
  private static func hash(
    after dot: Dot, in id: ZoneID, _ log: inout OwnLog, by engine: Engine<some Store>
  ) throws -> [UInt8]? {
    if let hash = log.unsealed[dot] { return hash }
    let segment = log.own.first {
      $0.author == dot.author && ($0.first...$0.last).contains(dot.sequence)
    }
    guard let segment else { return nil }
    if let known = log.opened[segment.digest] { return known[dot] }
    var hashes: [Dot: [UInt8]] = [:]
    if let bytes = try engine.store.log.bytes(of: segment.digest, in: id) {
      for logged in try LogReader(engine: engine).changes(inSegment: bytes, of: id) ?? [] {
        hashes[logged.change.dot] = logged.hash
      }
    }
    log.opened[segment.digest] = hashes
    return hashes[dot]
  }

  private static func isOver(_ life: Author, _ log: OwnLog, in engine: Engine<some Store>) -> Bool {
    life != engine.author && !log.hasUnsealed(of: life)
  }

  /// Compares found changes with the own log.
  ///
  /// - Returns: Whether everything that was found is the same here.
  private static func compare(
    _ found: [LoggedChange], with log: inout OwnLog, in id: ZoneID, _ look: inout OtherCopyLook,
    by engine: Engine<some Store>
  ) throws -> Bool {
    // Equal hashes at the end prove everything before equal.
    guard let last = found.last,
      try hash(after: last.change.dot, in: id, &log, by: engine) != last.hash
    else { return true }
    for logged in found {
      let dot = logged.change.dot
      guard try hash(after: dot, in: id, &log, by: engine) != logged.hash else { continue }
      if log.unsealed[dot] != nil {
        look.contradicted[dot.author] = min(
          look.contradicted[dot.author] ?? .max, dot.sequence)
      }
      // The change is beyond the own log, or differs from it.
      look.usesCurrentLife = look.usesCurrentLife || dot.author == engine.author
      return false
    }
    return false
  }
}

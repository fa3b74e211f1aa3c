import HearthCRDT

/// What another copy of this node has published, beside the own logs.
///
/// A look goes one by one through the files that lie on a transport under the own tag and are not
/// the own ones.
struct OtherCopyLook {
  /// The files to look into.
  fileprivate(set) var files: [SegmentName] = []
  /// Whether the copy has written under the current life.
  fileprivate var usesCurrentLife = false
  /// The first unsealed change of each own log that it contradicts.
  fileprivate var contradicted: [Author: UInt64] = [:]
  /// The files that need no second look.
  fileprivate var compared: Set<Identifier> = []
  fileprivate var hasCompared = false
  fileprivate var log: OwnLog?
}

/// The own logs of a zone, sealed segments opened as they are asked for.
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

// What a node does where a transport shows that another copy of it is at work.
extension Engine {
  /// How many files under the own tag are looked into at a time; a few are the rule.
  private static var examinedOwnFiles: Int { 64 }

  /// Finds the files that another copy of this node may have published under its lives.
  func otherCopyLook(in id: ZoneID, _ listing: TransportListing) throws -> OtherCopyLook {
    var look = OtherCopyLook()
    let tag = try zone(id).authorTag(of: device)
    let own = try ownSegments(of: id)
    var known = Set(own.map(\.digest))
    let suspects = listing.segments.filter { $0.authorTag == tag && !known.contains($0.digest) }
    guard !suspects.isEmpty else { return look }
    known.formUnion(try store.pending.entries(in: id).map(\.digest))
    look.compared = try comparedFiles(of: id)
    let news = suspects.filter {
      !known.contains($0.digest) && !look.compared.contains(NameVerdicts.key(of: $0))
    }
    guard !news.isEmpty else { return look }
    look.log = OwnLog(own: own, unsealed: try unsealedChanges(of: id))
    look.files = news.suffix(Engine.examinedOwnFiles)
    return look
  }

  private func ownSegments(of id: ZoneID) throws -> [StoredSegment] {
    try store.log.segments(of: id).filter { $0.author.device == device }
  }

  /// Compares one file with the own logs.
  ///
  /// A name proves nothing, as whoever can write to the folder chooses it: only segments that this
  /// device has signed count. Changes that the other copy has as well are left as they are.
  func compare(
    _ bytes: [UInt8], named name: SegmentName, in id: ZoneID, _ look: inout OtherCopyLook
  ) throws {
    guard let former = look.log, let found = try? changes(inSegment: bytes, of: id),
      found.first?.change.dot.author.device == device
    else { return }
    // Another exchange may have merged own segments since the last turn.
    var log = OwnLog(own: try ownSegments(of: id), unsealed: try unsealedChanges(of: id))
    log.opened = former.opened
    let isEqual = try compare(found, with: &log, in: id, &look)
    if isEqual { try takeOver(found, sealedAs: name, bytes, in: id) }
    // What a life that is over says beside what is sealed here calls for nothing any more.
    if isEqual || found.allSatisfy({ isOver($0.change.dot.author, log) }) {
      look.compared.insert(NameVerdicts.key(of: name))
      look.hasCompared = true
    }
    look.log = log
  }

  /// Begins a new life where another copy has written under this one, and writes again what
  /// collides.
  mutating func settle(
    _ look: OtherCopyLook, in id: ZoneID, _ listing: TransportListing,
    anchorFile: any AnchorFile, nowMilliseconds: UInt64
  ) throws {
    if look.hasCompared { try remember(compared: look.compared, of: id, listing) }
    var ends = look.contradicted.keys.sorted().map {
      OwnLogEnd(zone: id, author: $0, first: look.contradicted[$0] ?? 1)
    }
    guard look.usesCurrentLife else {
      Probe.earlierLifeContradicted.hit(if: !ends.isEmpty)
      if !ends.isEmpty { try rewrite(ends, nowMilliseconds: nowMilliseconds) }
      return
    }
    Probe.foreignOwnSegment.hit()
    // What is unsealed in other zones may collide as well, with what has not arrived yet.
    ends += zones.filter { $0.id != id && $0.group == (try? zone(id).group) }.map {
      OwnLogEnd(zone: $0.id, author: author, first: 1)
    }
    try beginNewLife(
      reason: "another copy of this node has published changes that this one does not have",
      takingBack: ends, nowMilliseconds: nowMilliseconds)
    try Anchor.drop(anchorFile, for: self)
  }

  /// Keeps a segment in which a copy of this node has sealed the same changes, where they are
  /// unsealed here: they need not be sealed again, and can collide with nothing any more.
  private func takeOver(
    _ found: [LoggedChange], sealedAs name: SegmentName, _ bytes: [UInt8], in id: ZoneID
  ) throws {
    guard let author = found.first?.change.dot.author, segmentDigest(bytes) == name.digest else {
      return
    }
    let own = try unsealedChanges(of: id).map(\.change.dot).filter { $0.author == author }
    guard let first = own.first?.sequence, let last = found.last?.change.dot.sequence,
      name.first <= first, first <= last
    else { return }
    Probe.ownSegmentTakenOver.hit()
    try store.transaction {
      let head = try zone(id).head(of: author)
      try store.log.save(
        StoredSegment(
          author: author, first: name.first, last: last, digest: name.digest,
          byteCount: bytes.count), bytes: bytes, in: id)
      // The head is saved first: opening reads own changes only beyond it.
      try store.zones.save([head], of: id)
      try store.log.removeChanges(of: author, in: id, through: last)
    }
  }

  // MARK: Memory

  private static func memoryOfOwnFiles(of zone: ZoneID) -> String { "own-names.\(zone.hex)" }

  /// The files under the own tag that need no second look: they held what the own logs hold, which
  /// stays so, as only what contradicts is ever taken back; or a life that is over wrote them.
  private func comparedFiles(of zone: ZoneID) throws -> Set<Identifier> {
    guard let bytes = try store.facts.value(of: Engine.memoryOfOwnFiles(of: zone)) else {
      return []
    }
    var reader = ByteReader(bytes)
    var keys: Set<Identifier> = []
    for _ in 0..<(try reader.count("own files", itemBytes: 16, atMost: NameVerdicts.maximumCount)) {
      keys.insert(try reader.identifier("own file"))
    }
    try reader.finish()
    return keys
  }

  /// Remembers files of the present listing; those that are gone are forgotten.
  private func remember(
    compared: Set<Identifier>, of zone: ZoneID, _ listing: TransportListing
  ) throws {
    let present = Set(listing.segments.map { NameVerdicts.key(of: $0) })
    let kept = present.intersection(compared).sorted().prefix(NameVerdicts.maximumCount)
    var writer = ByteWriter(capacity: 16 * kept.count + 4)
    writer.varint(kept.count)
    for key in kept { writer.identifier(key) }
    try store.transaction {
      try store.facts.set(Engine.memoryOfOwnFiles(of: zone), to: writer.bytes)
    }
  }

  /// The hash after an own change; nil if it is not here.
  private func hash(
    after dot: Dot, in id: ZoneID, _ log: inout OwnLog
  ) throws -> [UInt8]? {
    if let hash = log.unsealed[dot] { return hash }
    let segment = log.own.first {
      $0.author == dot.author && ($0.first...$0.last).contains(dot.sequence)
    }
    guard let segment else { return nil }
    if let known = log.opened[segment.digest] { return known[dot] }
    var hashes: [Dot: [UInt8]] = [:]
    if let bytes = try store.log.bytes(of: segment.digest, in: id) {
      for logged in try changes(inSegment: bytes, of: id) ?? [] {
        hashes[logged.change.dot] = logged.hash
      }
    }
    log.opened[segment.digest] = hashes
    return hashes[dot]
  }

  private func isOver(_ life: Author, _ log: OwnLog) -> Bool {
    life != author && !log.hasUnsealed(of: life)
  }

  /// - Returns: whether everything that was found is the same here.
  private func compare(
    _ found: [LoggedChange], with log: inout OwnLog, in id: ZoneID, _ look: inout OtherCopyLook
  ) throws -> Bool {
    // Equal hashes at the end prove everything before equal.
    guard let last = found.last,
      try hash(after: last.change.dot, in: id, &log) != last.hash
    else { return true }
    for logged in found {
      let dot = logged.change.dot
      guard try hash(after: dot, in: id, &log) != logged.hash else { continue }
      if log.unsealed[dot] != nil {
        look.contradicted[dot.author] = min(
          look.contradicted[dot.author] ?? .max, dot.sequence)
      }
      // Beyond what is here, or other than what is here.
      look.usesCurrentLife = look.usesCurrentLife || dot.author == author
      return false
    }
    return false
  }
}

import HearthCRDT
import HearthCrypto
import HearthMembership

/// What a zone has at hand while it receives: new sealed segments, and those that wait.
///
/// What waits stays sealed. It is opened when what it lacks is here, and looked for by that: a log
/// that moved on asks only for those that wait for this log.
struct Intake {
  /// A segment that waits.
  struct Waiting {
    var entry: PendingEntry
    /// Its bytes, if they have been read.
    var bytes: [UInt8]?
    /// How the store has it; nil if it does not.
    let stored: PendingEntry?
  }

  /// A sealed segment that is to be opened.
  struct Sealed {
    let digest: Identifier
    let bytes: [UInt8]
    /// How it waited until now; nil for a new one.
    let waited: Waiting?
  }

  /// What waits, by digest.
  private(set) var waiting: [Identifier: Waiting] = [:]
  /// What left the waiting room in this call and was stored.
  private(set) var gone: [Identifier: PendingEntry] = [:]
  /// What was dropped without being opened and was stored, in order.
  private(set) var dropped: [PendingEntry] = []
  private var fresh: [(digest: Identifier, bytes: [UInt8])]
  private var next = 0
  /// What may be opened now, in no order.
  private var ready: Set<Identifier> = []
  /// Which wait for a log to move on.
  private var blocked: [Author: [Identifier]] = [:]
  /// Which are of a log.
  private var own: [Author: [Identifier]] = [:]
  /// Those of a log that waited behind a gap when they were looked for, in order.
  private var gaps: [Author: ArraySlice<PendingEntry>] = [:]
  /// How many of those are opened with what closes it.
  private var lookAheads: [Author: Int] = [:]

  /// - Parameter blobs: new segments; those that wait already and doubles are left out.
  init(_ blobs: [[UInt8]], waiting entries: [PendingEntry]) {
    var seen = Set(entries.map(\.digest))
    fresh = Intake.ordered(
      blobs.map { (segmentDigest($0), $0) }.filter { seen.insert($0.0).inserted })
    for entry in entries {
      waiting[entry.digest] = Waiting(entry: entry, bytes: nil, stored: entry)
    }
  }

  /// Puts each log's segments in order, in the places that they hold together: so none is taken
  /// for one behind a gap that comes with what fills it.
  private static func ordered(
    _ blobs: [(digest: Identifier, bytes: [UInt8])]
  ) -> [(digest: Identifier, bytes: [UInt8])] {
    var places: [TagAuthor: [(place: Int, first: UInt64, last: UInt64)]] = [:]
    for (place, blob) in blobs.enumerated() {
      guard let frame = try? EnvelopeFrame(blob.bytes) else { continue }
      let log = TagAuthor(
        tag: Identifier(frame.authorTag), incarnation: frame.incarnation)
      places[log, default: []].append((place, frame.firstSeq, frame.lastSeq))
    }
    var result = blobs
    for own in places.values {
      let sorted = own.sorted {
        ($0.first, $1.last, $0.place) < ($1.first, $0.last, $1.place)
      }
      for (target, source) in zip(own, sorted) { result[target.place] = blobs[source.place] }
    }
    return result
  }

  /// Whether there are new segments.
  var hasFresh: Bool { next < fresh.count }

  /// Notes of every waiting segment whether it may be opened, and for which log it waits if not.
  mutating func sort(in zone: ZoneState, by isReady: (PendingEntry) -> Bool) {
    for entry in waiting.values.map(\.entry).sorted(by: PendingEntry.isBefore) {
      file(entry, in: zone)
      if isReady(entry) { ready.insert(entry.digest) }
    }
  }

  /// For what logs are held back that make false claims: what waits for that says it.
  var claims: [Author: FalseClaim] { FalseClaim.claims(in: waiting.values.map(\.entry)) }

  private mutating func file(_ entry: PendingEntry, in zone: ZoneState) {
    // Also of who introduces itself, and is not known before it counts.
    if entry.reason == .cause, let missing = entry.wait.missing, !entry.wait.isInControl {
      blocked[missing.author, default: []].append(entry.digest)
    }
    guard let author = entry.author(in: zone) else { return }
    own[author, default: []].append(entry.digest)
    guard entry.reason == .gap else { return }
    blocked[author, default: []].append(entry.digest)
    gaps[author] = nil
  }

  /// Looks again at what waits for logs that moved on.
  mutating func moved(_ authors: [Author], by isReady: (PendingEntry) -> Bool) {
    for author in authors {
      for digest in blocked[author] ?? [] {
        guard let entry = waiting[digest]?.entry, isReady(entry) else { continue }
        ready.insert(digest)
      }
    }
  }

  /// The entries of what may be opened now, in order.
  var readyEntries: [PendingEntry] {
    ready.compactMap { waiting[$0]?.entry }.sorted(by: PendingEntry.isBefore)
  }

  /// Of a log's waiting segments the one that is tried first, if it continues what is here.
  func next(after head: LogHead) -> PendingEntry? {
    (own[head.author] ?? []).compactMap { waiting[$0]?.entry }
      .filter { $0.first <= head.sequence + 1 && [.cause, .gap, .falseClaim].contains($0.reason) }
      .min(by: PendingEntry.isBefore)
  }

  /// Of a log's waiting segments those behind a gap that are opened with what closes it, in order.
  mutating func behindGap(of author: Author) -> [PendingEntry] {
    let order =
      gaps[author]
      ?? (own[author] ?? []).compactMap { waiting[$0]?.entry }.filter { $0.reason == .gap }
      .sorted { ($0.first, $0.last, $0.digest) < ($1.first, $1.last, $1.digest) }[...]
    let left = order.drop { waiting[$0.digest]?.entry.reason != .gap }
    gaps[author] = left
    var found: [PendingEntry] = []
    for entry in left where waiting[entry.digest]?.entry.reason == .gap {
      guard found.count < lookAheads[author] ?? 1 else { break }
      found.append(entry)
    }
    return found
  }

  /// Notes whether all that was opened of a log was applied: then more is opened the next time.
  mutating func note(_ author: Author, isWhole: Bool) {
    let lookAhead = lookAheads[author] ?? 1
    lookAheads[author] = isWhole ? min(lookAhead * 2, Limits.maximumSegmentChanges) : 1
  }

  /// Takes out a waiting segment to open it.
  mutating func takeWaiting(
    _ digest: Identifier, reading bytes: (Identifier) throws -> [UInt8]?
  ) rethrows -> Sealed? {
    ready.remove(digest)
    guard let found = waiting.removeValue(forKey: digest) else { return nil }
    if let stored = found.stored { gone[digest] = stored }
    guard let bytes = try found.bytes ?? bytes(digest) else { return nil }
    return Sealed(digest: digest, bytes: bytes, waited: found)
  }

  /// Takes the next new segment.
  mutating func takeFresh() -> Sealed? {
    guard next < fresh.count else { return nil }
    defer {
      fresh[next].bytes = []
      next += 1
    }
    return Sealed(digest: fresh[next].digest, bytes: fresh[next].bytes, waited: nil)
  }

  /// Puts a segment to those that wait.
  mutating func wait(_ segment: PendingSegment, in zone: ZoneState) {
    let entry = segment.entry
    let stored = gone.removeValue(forKey: segment.digest)
    waiting[segment.digest] = Waiting(entry: entry, bytes: segment.bytes, stored: stored)
    file(entry, in: zone)
  }

  /// Notes that a segment waits which the store has already.
  mutating func waitsStored(_ segment: PendingSegment, in zone: ZoneState) {
    gone[segment.digest] = nil
    waiting[segment.digest] = Waiting(
      entry: segment.entry, bytes: segment.bytes, stored: segment.entry)
    file(segment.entry, in: zone)
  }

  /// Drops what waits and is not wanted; says what was dropped.
  mutating func drop(where isUnwanted: (PendingEntry) -> Bool) -> [PendingEntry] {
    let unwanted = waiting.values.map(\.entry).filter(isUnwanted)
      .sorted(by: PendingEntry.isBefore)
    for entry in unwanted {
      if let stored = waiting[entry.digest]?.stored { dropped.append(stored) }
      waiting[entry.digest] = nil
    }
    return unwanted
  }
}

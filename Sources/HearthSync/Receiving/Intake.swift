import HearthCRDT
import HearthCrypto
import HearthMembership

/// The segments of a zone during a receive call: new sealed segments, and pending ones.
///
/// Pending segments stay sealed. A segment is opened when its missing change arrives, and is
/// indexed by that change: a log that advances checks only the segments that wait for it.
struct Intake {
  /// A pending segment.
  struct Waiting {
    var entry: PendingEntry
    /// The bytes, if they have been read.
    var bytes: [UInt8]?
    /// The entry in the store; nil if the store lacks the segment.
    let stored: PendingEntry?
  }

  /// A sealed segment that is to be opened.
  struct Sealed {
    let digest: Identifier
    let bytes: [UInt8]
    /// The segment's former pending entry; nil for a new segment.
    let waited: Waiting?
    /// The opened segment, if it is still in memory.
    var opened: OpenedSegment?
  }

  /// A segment that is not kept.
  struct Refused {
    let author: Author
    /// The id of the epoch under which the segment is sealed.
    let epoch: [UInt8]
    let digest: Identifier
    let kind: Refusals.Kind
    /// The sealed bytes, if its author may still get a place in this call.
    let bytes: [UInt8]?
  }

  /// The pending segments by digest.
  private(set) var waiting: [Identifier: Waiting] = [:]
  /// The stored entries that left the waiting room in this call.
  private(set) var gone: [Identifier: PendingEntry] = [:]
  /// The stored entries that were dropped without being opened, in order.
  private(set) var dropped: [PendingEntry] = []
  private var fresh: [(digest: Identifier, bytes: [UInt8])]
  private var next = 0
  /// The segments that are not kept, as far as this call has come.
  private(set) var refused: [Refused] = []
  /// The segments that may be opened now, unordered.
  private var ready: Set<Identifier> = []
  /// The segments that wait for a log to advance.
  private var blocked: [Author: Set<Identifier>] = [:]
  /// The segments of each log.
  private var own: [Author: Set<Identifier>] = [:]
  /// The segments of this call that wait for another log and are still in memory.
  private var memory: OpenedMemory
  /// The segments of each log that were behind a gap at the last search, in order.
  private var gaps: [Author: ArraySlice<PendingEntry>] = [:]
  /// The number of segments behind a gap that are opened together with the segment that closes it.
  private var lookAheads: [Author: Int] = [:]

  /// - Parameters:
  ///   - blobs: New segments; duplicates and pending ones are skipped.
  ///   - isRebuilding: Whether all of it was applied before, so that no opening is spared.
  ///   - opened: What a check has just opened of the new segments.
  init(
    _ blobs: [[UInt8]], waiting entries: [PendingEntry], isRebuilding: Bool = false,
    opened: OpenedMemory? = nil
  ) {
    var seen = Set(entries.map(\.digest))
    fresh = Intake.ordered(
      blobs.map { (segmentDigest($0), $0) }.filter { seen.insert($0.0).inserted })
    memory =
      opened
      ?? OpenedMemory(
        received: fresh.reduce(0) { $0 + $1.bytes.count }, isBounded: !isRebuilding)
    for entry in entries {
      waiting[entry.digest] = Waiting(entry: entry, bytes: nil, stored: entry)
    }
  }

  /// Sorts each log's segments within the positions that they occupy together.
  ///
  /// Thus no segment is treated as lying behind a gap that a segment of the same batch fills.
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

  /// Whether new segments remain that name a member's device as their author.
  func hasFresh(ofMembersOf zone: ZoneState, _ membership: Membership) -> Bool {
    fresh[next...].contains { Intake.isOfMember($0.bytes, of: zone, membership) }
  }

  /// Whether a sealed segment names a member's device as its author.
  ///
  /// Only members can vouch for a stranger. If strangers' segments counted too, each batch of a
  /// flood would have all pending ones opened again.
  static func isOfMember(
    _ bytes: [UInt8], of zone: ZoneState, _ membership: Membership
  ) -> Bool {
    guard let frame = try? EnvelopeFrame(bytes),
      let device = zone.deviceByTag[Identifier(frame.authorTag)]
    else { return false }
    return membership.isActive(device)
  }

  /// Records for every pending segment whether it may be opened, and otherwise which log it waits
  /// for.
  mutating func sort(in zone: ZoneState, by isReady: (PendingEntry) -> Bool) {
    for entry in waiting.values.map(\.entry).sorted(by: PendingEntry.isBefore) {
      file(entry, in: zone)
      if isReady(entry) { ready.insert(entry.digest) }
    }
  }

  /// The false claims for which logs are held back, taken from the pending segments.
  var claims: [Author: FalseClaim] { FalseClaim.claims(in: waiting.values.map(\.entry)) }

  private mutating func file(_ entry: PendingEntry, in zone: ZoneState) {
    // This includes self-introducing authors, who are unknown until their introduction counts.
    if entry.reason == .cause, let missing = entry.wait.missing, !entry.wait.isInControl {
      blocked[missing.author, default: []].insert(entry.digest)
    }
    guard let author = entry.author(in: zone) else { return }
    own[author, default: []].insert(entry.digest)
    guard entry.reason == .gap else { return }
    blocked[author, default: []].insert(entry.digest)
    gaps[author] = nil
  }

  /// Checks again the segments that wait for logs that advanced.
  mutating func moved(_ authors: [Author], by isReady: (PendingEntry) -> Bool) {
    for author in authors {
      for digest in blocked[author] ?? [] {
        guard let entry = waiting[digest]?.entry, isReady(entry) else { continue }
        ready.insert(digest)
      }
    }
  }

  /// The entries of the segments that may be opened now, in order.
  ///
  /// One that was opened before and waited again is opened anew only as far as this call allows.
  var readyEntries: [PendingEntry] {
    ready.compactMap { waiting[$0]?.entry }.filter { memory.mayOpen($0) }
      .sorted(by: PendingEntry.isBefore)
  }

  /// Records which of the pending segments may be opened now; those that may already still may.
  mutating func retry(where isReady: (PendingEntry) -> Bool) {
    for waiting in waiting.values where isReady(waiting.entry) {
      ready.insert(waiting.entry.digest)
    }
  }

  /// The digests of the pending segments that contain no applied change.
  var unapplied: Set<Identifier> {
    Set(waiting.values.lazy.map(\.entry).filter { !$0.wait.isPartlyApplied }.map(\.digest))
  }

  /// A log's first pending segment in retry order, if it continues the applied log.
  func next(after head: LogHead, except closed: Set<Identifier>) -> PendingEntry? {
    (own[head.author] ?? []).compactMap { waiting[$0]?.entry }
      .filter { !closed.contains($0.digest) }
      .filter { $0.first <= head.sequence + 1 && [.cause, .gap, .falseClaim].contains($0.reason) }
      .min(by: PendingEntry.isBefore)
  }

  /// A log's pending segments behind a gap that are opened together with the segment that closes
  /// it, in order.
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

  /// The segments in memory that wait for a change of a log up to one, in order.
  func inMemory(waitingFor author: Author, through sequence: UInt64) -> [PendingEntry] {
    (blocked[author] ?? []).compactMap { waiting[$0]?.entry }.filter {
      guard $0.reason == .cause, let missing = $0.wait.missing, !$0.wait.isInControl else {
        return false
      }
      return missing.author == author && missing.sequence <= sequence
        && memory.contains($0.digest)
    }.sorted(by: PendingEntry.isBefore)
  }

  /// Notes whether all opened segments of a log were applied; if so, more are opened the next time.
  mutating func note(_ author: Author, isWhole: Bool) {
    let lookAhead = lookAheads[author] ?? 1
    lookAheads[author] = isWhole ? min(lookAhead * 2, Limits.maximumSegmentChanges) : 1
  }

  /// Takes out a pending segment to open it.
  mutating func takeWaiting(
    _ digest: Identifier, reading bytes: (Identifier) throws -> [UInt8]?
  ) rethrows -> Sealed? {
    ready.remove(digest)
    guard let found = waiting.removeValue(forKey: digest) else { return nil }
    if let stored = found.stored { gone[digest] = stored }
    guard let bytes = try found.bytes ?? bytes(digest) else { return nil }
    return Sealed(
      digest: digest, bytes: bytes, waited: found, opened: memory.take(found.entry))
  }

  /// Notes what a queue has opened: what waits for another log stays in memory for a while.
  mutating func note(openedBy queue: CausalQueue) {
    for segment in queue.complete { memory.noteComplete(segment.digest) }
    for item in queue.waiting where item.reason == .cause { memory.keep(item.segment) }
  }

  /// Takes the next new segment.
  mutating func takeFresh() -> Sealed? {
    guard next < fresh.count else { return nil }
    defer {
      fresh[next].bytes = []
      next += 1
    }
    let (digest, bytes) = fresh[next]
    return Sealed(digest: digest, bytes: bytes, waited: nil, opened: memory.take(digest))
  }

  /// Notes the segments that a queue refused.
  mutating func note(refusedBy queue: CausalQueue) {
    func refusal(_ segment: OpenedSegment, as kind: Refusals.Kind, isFinal: Bool) -> Refused {
      Refused(
        author: segment.author, epoch: segment.epoch, digest: segment.digest, kind: kind,
        bytes: isFinal ? nil : segment.bytes)
    }
    refused += queue.impossible.map { refusal($0, as: .forever, isFinal: true) }
    refused += queue.refused.map {
      refusal($0, as: .members, isFinal: !queue.causes.isControlZone)
    }
  }

  /// Makes refused segments new again if their authors have got a place since, and returns whether
  /// there are any.
  ///
  /// What came last in a call may have given places to the authors of what came first.
  mutating func retryRefused(where isAdmitted: (Author) -> Bool) -> Bool {
    let known = refused.count
    var answers: [Author: Bool] = [:]
    refused.removeAll { segment in
      guard let bytes = segment.bytes else { return false }
      let isRetried = answers[segment.author] ?? isAdmitted(segment.author)
      answers[segment.author] = isRetried
      if isRetried { fresh.append((segment.digest, bytes)) }
      return isRetried
    }
    return refused.count < known
  }

  /// Adds a segment to the pending ones.
  mutating func wait(_ segment: PendingSegment, in zone: ZoneState) {
    let entry = segment.entry
    let stored = gone.removeValue(forKey: segment.digest)
    waiting[segment.digest] = Waiting(entry: entry, bytes: segment.bytes, stored: stored)
    file(entry, in: zone)
  }

  /// Notes a pending segment that the store has already.
  mutating func waitsStored(_ segment: PendingSegment, in zone: ZoneState) {
    gone[segment.digest] = nil
    waiting[segment.digest] = Waiting(
      entry: segment.entry, bytes: segment.bytes, stored: segment.entry)
    file(segment.entry, in: zone)
  }

  /// Drops unwanted pending segments and returns them.
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

import HearthCRDT
import HearthCrypto
import HearthMembership

/// Opening of received and pending segments, slice by slice.
package enum SliceOpening {
  /// The declared work that is opened before it is applied.
  ///
  /// The limit bounds memory, since a segment declares all its work, and never splits a household's
  /// usual news.
  package static var sliceWeight: Int { 300_000 }

  /// The number of sealed bytes that are opened before they are applied.
  package static var sliceBytes: Int { 4 << 20 }

  /// Opens the next segments, up to the size of a slice; nil if nothing is left that may be opened.
  ///
  /// Segments behind a gap in their log stay closed: the envelope reveals the gap, and its author
  /// has signed the envelope. An attacker who seals unusable segments thus makes others verify and
  /// decrypt them, and no more.
  static func nextSlice(
    of intake: inout Intake, in zone: ZoneState, _ readiness: Readiness,
    _ report: inout ReceiveReport, with store: some Store
  ) throws -> Slice? {
    let opener = SegmentOpener(
      zone: zone, membership: readiness.membership, isStored: readiness.isRebuilding)
    var slice = Slice()
    func read(_ digest: Identifier) throws -> [UInt8]? {
      try store.pending.bytes(of: digest, in: zone.id)
    }
    for entry in intake.readyEntries where !isFull(slice) {
      guard let sealed = try intake.takeWaiting(entry.digest, reading: read) else { continue }
      open(sealed, with: opener, readiness, into: &slice, &report)
    }
    while !isFull(slice), let sealed = intake.takeFresh() {
      open(sealed, with: opener, readiness, into: &slice, &report)
    }
    guard slice.count > 0 else {
      guard intake.retryRefused(where: { readiness.causes.room.admits($0, in: zone) }) else {
        return nil
      }
      return try nextSlice(of: &intake, in: zone, readiness, &report, with: store)
    }
    // A log continues with its partly applied segment first.
    for author in slice.authors {
      guard let next = intake.next(after: zone.head(of: author), except: readiness.later),
        let sealed = try intake.takeWaiting(next.digest, reading: read)
      else { continue }
      open(sealed, with: opener, readiness, into: &slice, &report)
    }
    try openFollowing(of: &intake, reading: read, with: opener, readiness, into: &slice, &report)
    try addWaiting(for: &slice, of: &intake, reading: read, with: opener, readiness, &report)
    return slice
  }

  /// Opens pending segments behind gaps that a slice closes, so that changes from many files are
  /// written once.
  ///
  /// For each log, it opens twice as many as were applied the last time. Segments that are opened
  /// in vain thus cost no more than applied ones.
  private static func openFollowing(
    of intake: inout Intake, reading bytes: (Identifier) throws -> [UInt8]?,
    with opener: SegmentOpener, _ readiness: Readiness, into slice: inout Slice,
    _ report: inout ReceiveReport
  ) throws {
    for author in slice.authors {
      for entry in intake.behindGap(of: author) where !isFull(slice) {
        guard entry.first <= slice.end(of: author, in: opener.zone) + 1,
          !readiness.later.contains(entry.digest)
        else { break }
        guard let sealed = try intake.takeWaiting(entry.digest, reading: bytes) else { continue }
        open(sealed, with: opener, readiness, into: &slice, &report)
      }
    }
  }

  /// Adds what waits for the logs of a slice and is still in memory, so that logs that cite each
  /// other by turns go on together.
  ///
  /// Otherwise each turn would take a slice of its own, which goes through all that waits.
  private static func addWaiting(
    for slice: inout Slice, of intake: inout Intake,
    reading bytes: (Identifier) throws -> [UInt8]?, with opener: SegmentOpener,
    _ readiness: Readiness, _ report: inout ReceiveReport
  ) throws {
    var awaited = slice.authors
    while let author = awaited.popLast() {
      let end = slice.end(of: author, in: opener.zone)
      for entry in intake.inMemory(waitingFor: author, through: end)
      where !readiness.later.contains(entry.digest) {
        guard let sealed = try intake.takeWaiting(entry.digest, reading: bytes) else { continue }
        open(sealed, with: opener, readiness, into: &slice, &report)
        if let author = entry.author(in: opener.zone) { awaited.append(author) }
      }
    }
  }

  private static func isFull(_ slice: Slice) -> Bool {
    slice.weight >= sliceWeight || slice.bytes >= sliceBytes
  }

  /// Opens one segment; a damaged one is reported and skipped.
  private static func open(
    _ sealed: Intake.Sealed, with opener: SegmentOpener, _ readiness: Readiness,
    into slice: inout Slice, _ report: inout ReceiveReport
  ) {
    let zone = opener.zone
    slice.bytes += sealed.bytes.count
    slice.count += 1
    if let waited = sealed.waited {
      slice.waited.insert(sealed.digest)
      if !waited.entry.wait.isPartlyApplied { slice.unjudged.insert(sealed.digest) }
    }
    if sealed.waited?.stored?.reason == .format { slice.unread.insert(sealed.digest) }
    if let segment = sealed.opened,
      readiness.reason(
        toKeepClosed: segment.author, from: segment.first,
        before: sealed.waited?.stored?.reason, slice, in: zone) == nil
    {
      return slice.add(segment, in: zone)
    }
    do {
      let result = try opener.openUnproven(sealed.bytes, digest: sealed.digest) { author, first in
        readiness.reason(
          toKeepClosed: author, from: first, before: sealed.waited?.stored?.reason, slice, in: zone)
      }
      switch result {
      case .opened(let segment): slice.add(segment, in: zone)
      case .introduces(let segment, let claim):
        slice.weight += segment.weight
        slice.introducing.append((segment, claim))
        slice.note(segment.author, segment.first...segment.last, in: zone)
      case .waits(let reason):
        let segment = PendingSegment(
          digest: sealed.digest, reason: reason, bytes: sealed.bytes)
        slice.unopened.append(segment)
      }
    } catch {
      report.refuse(sealed.bytes, digest: sealed.digest, error)
    }
  }
}

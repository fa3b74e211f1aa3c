import HearthCRDT
import HearthCrypto
import HearthMembership

// How a zone receives segments slice by slice, and which pending segments it opens.
extension Engine {
  /// The declared work that is opened before it is applied.
  ///
  /// The limit bounds memory, since a segment declares all its work, and never splits a household's
  /// usual news.
  package static var sliceWeight: Int { 300_000 }

  /// The number of sealed bytes that are opened before they are applied.
  package static var sliceBytes: Int { 4 << 20 }

  /// Segments that were opened together, and those that could not be opened.
  struct Slice {
    var opened: [OpenedSegment] = []
    var unopened: [PendingSegment] = []
    /// The segments that were pending before.
    var waited: Set<Identifier> = []
    /// The previously pending segments that were not partly applied, and so not judged, before.
    var unjudged: Set<Identifier> = []
    /// The segments that were pending on a newer version of Hearth.
    var unread: Set<Identifier> = []
    var weight = 0
    var bytes = 0
    var count = 0
    /// How far each log will be applied with its opened segments, if nothing holds them back.
    private var ends: [Author: UInt64] = [:]

    /// Notes an opened segment.
    mutating func note(_ author: Author, _ changes: ClosedRange<UInt64>, in zone: ZoneState) {
      let end = end(of: author, in: zone)
      if changes.lowerBound <= end + 1 { ends[author] = max(end, changes.upperBound) }
    }

    /// The logs with opened segments, in order, each with whether all of them were applied.
    func logs(in zone: ZoneState) -> [(author: Author, isWhole: Bool)] {
      Set(opened.map(\.author)).sorted().map {
        ($0, zone.head(of: $0).sequence >= end(of: $0, in: zone))
      }
    }

    /// Up to where a log's segments are worth opening: behind a gap they stay pending anyway.
    func end(of author: Author, in zone: ZoneState) -> UInt64 {
      ends[author] ?? zone.head(of: author).sequence
    }
  }

  /// The facts that decide whether a pending segment is worth opening.
  struct Readiness {
    let zone: ZoneState
    let membership: Membership
    /// Decides which changes are applied, or not awaited.
    var causes: CauseCheck
    /// Whether all segments are opened, because the zone is being rebuilt.
    let isRebuilding: Bool
    /// Whether segments of unknown authors were tried with the current knowledge of people.
    let hasTriedStrangers: Bool
    /// Whether this version of Hearth has tried the segments of newer versions.
    let hasTriedFormats: Bool
    /// Whether a control zone has new segments of members, which may vouch for strangers.
    let hasNews: Bool

    /// Whether the reason for a segment's wait is resolved.
    ///
    /// - Parameter claims: The false claims for which logs are held back.
    func isReady(
      _ entry: PendingEntry, in zone: ZoneState, _ claims: [Author: FalseClaim]
    ) -> Bool {
      if isRebuilding, entry.reason != .gap { return true }
      switch entry.reason {
      case .quarantine, .falseClaim: return false
      case .format: return !hasTriedFormats
      case .epoch: return zone.holdsEpoch(tagged: entry.epochTag)
      case .author:
        guard let device = zone.deviceByTag[entry.authorTag], membership.card(of: device) != nil
        else { return hasNews || !hasTriedStrangers }
        return true
      case .gap:
        guard let head = head(of: entry, in: zone), !Mutant.opensWhatWaits.isActive else {
          return true
        }
        // Changes beyond the end of a log are evidence, which needs no opening either.
        return head.forkedAt != nil || head.sequence + 1 >= zone.forkEnds[head.author] ?? .max
          || entry.first <= head.sequence + 1
      case .cause:
        guard let head = head(of: entry, in: zone), head.forkedAt == nil,
          let missing = entry.wait.missing
        else { return true }
        return causes.isHere(
          MissingCause(dot: missing, isControl: entry.wait.isInControl), in: zone, claims: claims)
      }
    }

    private func head(of entry: PendingEntry, in zone: ZoneState) -> LogHead? {
      entry.author(in: zone).map(zone.head)
    }

    /// The reason to keep a segment closed whatever it contains; nil if it must be opened to
    /// decide.
    ///
    /// In a control zone, all segments are opened: they may contain keys, and pending ones may show
    /// whom their author has seen. Segments of authors without admission are opened too, and then
    /// refused with a notice. During a rebuild, only segments that were pending on a gap stay
    /// closed: nothing is known of the others yet.
    func reason(
      toKeepClosed author: Author, from first: UInt64, before: PendingReason?, _ slice: Slice,
      in zone: ZoneState
    ) -> PendingReason? {
      guard zone.kind == .data, !isRebuilding || before == .gap, !Mutant.skipsGaps.isActive,
        !Mutant.opensWhatWaits.isActive, first > slice.end(of: author, in: zone) + 1,
        causes.room.admits(author, in: zone)
      else { return nil }
      let head = zone.head(of: author)
      // Changes beyond the end of a log are kept as evidence.
      if head.forkedAt != nil || head.sequence + 1 >= zone.forkEnds[author] ?? .max {
        return .quarantine
      }
      Probe.gapInLog.hit()
      return .gap
    }
  }

  /// - Parameter hasWaiting: Whether there are pending segments, whose reasons must be checked.
  func readiness(
    of zone: ZoneState, _ membership: Membership, isRebuilding: Bool, hasNews: Bool,
    hasWaiting: Bool
  ) throws -> Readiness {
    Readiness(
      zone: zone, membership: membership,
      causes: CauseCheck(
        room: try room(of: zone),
        control: zone.kind == .data ? try controlZone(of: zone.group).reached : nil),
      isRebuilding: isRebuilding,
      hasTriedStrangers: try !hasWaiting
        || store.facts.value(of: Engine.strangersFact(zone.id)) == people(around: zone),
      hasTriedFormats: try !hasWaiting
        || store.facts.value(of: Engine.formatsFact(zone.id)) == Engine.formats,
      hasNews: zone.kind == .control && hasNews)
  }

  private static func strangersFact(_ zone: ZoneID) -> String { "pending.strangers.\(zone.hex)" }
  private static func formatsFact(_ zone: ZoneID) -> String { "pending.formats.\(zone.hex)" }

  /// The formats that this version of Hearth can read.
  private static var formats: [UInt8] { [Envelope.suite, ChangeBatch.formatVersion] }

  /// A digest of everything that decides whether an author is a stranger.
  ///
  /// It leaves out what this device wrote: whoever has written already did not build on that.
  private func people(around zone: ZoneState) throws -> [UInt8] {
    let control = zone.kind == .control ? zone : try controlZone(of: zone.group)
    var writer = ByteWriter(capacity: 256)
    writer.frontier(control.frontier.replacing(marksOf: [device]) { _ in nil })
    writer.varint(zone.epochCount)
    writer.varint(zone.deviceByTag.count)
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// A digest of everything that decides about a zone's refused segments.
  ///
  /// In the control zone this includes the changes that members are known to have seen and that are
  /// not here: their authors may be strangers whom nobody else vouches for.
  func knowledge(of zone: ZoneState) throws -> [UInt8] {
    var writer = ByteWriter(capacity: 256)
    writer.raw(try people(around: zone))
    let pending = zone.kind == .control ? try store.pending.entries(in: zone.id) : []
    for entry in pending where entry.reason == .cause && entry.author(in: zone) != nil {
      guard let missing = entry.wait.missing else { continue }
      writer.author(missing.author)
      writer.varint(missing.sequence)
    }
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// Notes the knowledge with which unreadable segments were tried; `zone` is the zone of that
  /// time.
  func noteTried(_ entries: [PendingEntry], in zone: ZoneState) throws {
    func note(_ reason: PendingReason, _ fact: String, _ value: [UInt8]) throws {
      guard entries.contains(where: { $0.reason == reason }),
        try store.facts.value(of: fact) != value
      else {
        return
      }
      try store.facts.set(fact, to: value)
    }
    try note(.author, Engine.strangersFact(zone.id), people(around: zone))
    try note(.format, Engine.formatsFact(zone.id), Engine.formats)
  }

  /// Opens the next segments, up to the size of a slice; nil if nothing is left that may be opened.
  ///
  /// Segments behind a gap in their log stay closed: the envelope reveals the gap, and its author
  /// has signed the envelope. An attacker who seals unusable segments thus makes others verify and
  /// decrypt them, and no more.
  func nextSlice(
    of intake: inout Intake, in zone: ZoneState, _ readiness: Readiness,
    _ report: inout ReceiveReport
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
    guard slice.count > 0 else { return nil }
    // A log continues with its partly applied segment first.
    for author in Set(slice.opened.map(\.author)).sorted() {
      guard let next = intake.next(after: zone.head(of: author)),
        let sealed = try intake.takeWaiting(next.digest, reading: read)
      else { continue }
      open(sealed, with: opener, readiness, into: &slice, &report)
    }
    try openFollowing(of: &intake, reading: read, with: opener, readiness, into: &slice, &report)
    return slice
  }

  /// Opens pending segments behind gaps that a slice closes, so that changes from many files are
  /// written once.
  ///
  /// For each log, it opens twice as many as were applied the last time. Segments that are opened
  /// in vain thus cost no more than applied ones.
  private func openFollowing(
    of intake: inout Intake, reading bytes: (Identifier) throws -> [UInt8]?,
    with opener: SegmentOpener, _ readiness: Readiness, into slice: inout Slice,
    _ report: inout ReceiveReport
  ) throws {
    for author in Set(slice.opened.map(\.author)).sorted() {
      for entry in intake.behindGap(of: author) where !isFull(slice) {
        guard entry.first <= slice.end(of: author, in: opener.zone) + 1 else { break }
        guard let sealed = try intake.takeWaiting(entry.digest, reading: bytes) else { continue }
        open(sealed, with: opener, readiness, into: &slice, &report)
      }
    }
  }

  private func isFull(_ slice: Slice) -> Bool {
    slice.weight >= Engine.sliceWeight || slice.bytes >= Engine.sliceBytes
  }

  /// Opens one segment; a damaged one is reported and skipped.
  private func open(
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
    do {
      let result = try opener.open(sealed.bytes, digest: sealed.digest) { author, first in
        readiness.reason(
          toKeepClosed: author, from: first, before: sealed.waited?.stored?.reason, slice, in: zone)
      }
      switch result {
      case .opened(let segment):
        slice.weight += segment.weight
        slice.opened.append(segment)
        slice.note(segment.author, segment.first...segment.last, in: zone)
      case .waits(let reason):
        let segment = PendingSegment(
          digest: sealed.digest, reason: reason, bytes: sealed.bytes)
        slice.unopened.append(segment)
      }
    } catch {
      Probe.segmentRefused.hit()
      report.refused.append((sealed.digest, "\(error)"))
      // Damage in the own store says nothing about the file, which may be needed to repair it.
      guard segmentDigest(sealed.bytes) == sealed.digest else { return }
      report.noted.append(Refusals.Refused(digest: sealed.digest, kind: .forever))
    }
  }
}

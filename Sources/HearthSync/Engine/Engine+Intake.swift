import HearthCRDT
import HearthCrypto
import HearthMembership

// How a zone takes segments slice by slice, and which of those that wait are opened.
extension Engine {
  /// How much declared work is opened before it is applied: bounds memory, as a segment declares
  /// all that it holds, and never cuts a household's usual news into two.
  package static var sliceWeight: Int { 300_000 }

  /// How many sealed bytes are opened before they are applied.
  package static var sliceBytes: Int { 4 << 20 }

  /// Segments that were opened together, and those that could not be.
  struct Slice {
    var opened: [OpenedSegment] = []
    var unopened: [PendingSegment] = []
    /// Which of them waited before.
    var waited: Set<Identifier> = []
    /// Which of those were not applied in part, and so not judged, before.
    var unjudged: Set<Identifier> = []
    /// Which of those that waited did so for a newer version of the program.
    var unread: Set<Identifier> = []
    var weight = 0
    var bytes = 0
    var count = 0
    /// How far each log will be here with what is opened of it, if nothing holds it back.
    private var ends: [Author: UInt64] = [:]

    /// Notes a segment that was opened.
    mutating func note(_ author: Author, _ changes: ClosedRange<UInt64>, in zone: ZoneState) {
      let end = end(of: author, in: zone)
      if changes.lowerBound <= end + 1 { ends[author] = max(end, changes.upperBound) }
    }

    /// Up to where a log's segments are worth opening: behind a gap they can only wait.
    func end(of author: Author, in zone: ZoneState) -> UInt64 {
      ends[author] ?? zone.head(of: author).sequence
    }
  }

  /// What decides whether a waiting segment is worth opening.
  struct Readiness {
    let zone: ZoneState
    let membership: Membership
    /// Which changes are here, or not waited for.
    let causes: CauseCheck
    /// Whether all are opened, as the zone is built anew.
    let isRebuilding: Bool
    /// Whether those of unknown authors were tried with what is known of people now.
    let hasTriedStrangers: Bool
    /// Whether this version of the program has tried those of newer ones.
    let hasTriedFormats: Bool
    /// Whether there are new segments in a control zone, which may vouch for strangers.
    let hasNews: Bool

    /// Whether what a segment waits for has come.
    ///
    /// - Parameter claims: for what logs are held back that make false claims.
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
        guard let head = head(of: entry, in: zone) else { return true }
        // What is beyond the end of a log is evidence, which needs no opening either.
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

    /// For what a segment has to wait whatever it holds; nil where it must be opened to tell.
    ///
    /// In a control zone all are opened: they may hand on keys, and what waits may say whom its
    /// author has seen. So are those of authors without a place, who are refused and named. While a
    /// zone is built anew, only what waited for that before stays closed: of the rest nothing is
    /// known yet.
    func reason(
      toKeepClosed author: Author, from first: UInt64, before: PendingReason?, _ slice: Slice,
      in zone: ZoneState
    ) -> PendingReason? {
      guard zone.kind == .data, !isRebuilding || before == .gap, !Mutant.skipsGaps.isActive,
        first > slice.end(of: author, in: zone) + 1, causes.room.admits(author, in: zone)
      else { return nil }
      let head = zone.head(of: author)
      // What is beyond the end of a log is kept as evidence.
      if head.forkedAt != nil || head.sequence + 1 >= zone.forkEnds[author] ?? .max {
        return .quarantine
      }
      Probe.gapInLog.hit()
      return .gap
    }
  }

  /// - Parameter hasWaiting: whether anything waits whose reason is to be asked for.
  func readiness(
    of zone: ZoneState, _ membership: Membership, isRebuilding: Bool, hasNews: Bool,
    hasWaiting: Bool
  ) throws -> Readiness {
    Readiness(
      zone: zone, membership: membership,
      causes: CauseCheck(
        room: room(of: zone),
        control: zone.kind == .data ? try controlZone(of: zone.group).reached : nil),
      isRebuilding: isRebuilding,
      hasTriedStrangers: try !hasWaiting
        || store.fact(Engine.strangersFact(zone.id)) == people(around: zone),
      hasTriedFormats: try !hasWaiting
        || store.fact(Engine.formatsFact(zone.id)) == Engine.formats,
      hasNews: zone.kind == .control && hasNews)
  }

  private static func strangersFact(_ zone: ZoneID) -> String { "pending.strangers.\(zone.hex)" }
  private static func formatsFact(_ zone: ZoneID) -> String { "pending.formats.\(zone.hex)" }

  /// What this version of the program can read.
  private static var formats: [UInt8] { [Envelope.suite, ChangeBatch.formatVersion] }

  /// A digest of what decides whether a stranger is one.
  private func people(around zone: ZoneState) throws -> [UInt8] {
    let control = zone.kind == .control ? zone : try controlZone(of: zone.group)
    var writer = ByteWriter(capacity: 256)
    writer.frontier(control.frontier)
    writer.varint(zone.epochCount)
    writer.varint(zone.deviceByTag.count)
    return Blake2b.hash(writer.bytes, count: 16)
  }

  /// Notes with what knowledge those were tried that nobody could read; `zone` as it was then.
  func noteTried(_ entries: [PendingEntry], in zone: ZoneState) throws {
    func note(_ reason: PendingReason, _ fact: String, _ value: [UInt8]) throws {
      guard entries.contains(where: { $0.reason == reason }), try store.fact(fact) != value else {
        return
      }
      try store.setFact(fact, value)
    }
    try note(.author, Engine.strangersFact(zone.id), people(around: zone))
    try note(.format, Engine.formatsFact(zone.id), Engine.formats)
  }

  /// Opens what comes next, as much as a slice holds; nil when nothing is left that may be opened.
  ///
  /// What follows a gap in its log stays closed: its envelope says so, and its author has signed
  /// that. Whoever seals what can never be applied makes others verify and decrypt it, and no more.
  func nextSlice(
    of intake: inout Intake, in zone: ZoneState, _ readiness: Readiness,
    _ report: inout ReceiveReport
  ) throws -> Slice? {
    let opener = SegmentOpener(
      zone: zone, membership: readiness.membership, isStored: readiness.isRebuilding)
    var slice = Slice()
    func read(_ digest: Identifier) throws -> [UInt8]? {
      try store.bytes(ofPending: digest, in: zone.id)
    }
    for entry in intake.readyEntries where !isFull(slice) {
      guard let sealed = try intake.takeWaiting(entry.digest, reading: read) else { continue }
      open(sealed, with: opener, readiness, into: &slice, &report)
    }
    while !isFull(slice), let sealed = intake.takeFresh() {
      open(sealed, with: opener, readiness, into: &slice, &report)
    }
    guard slice.count > 0 else { return nil }
    // A log goes on with what is applied of it in part first.
    for author in Set(slice.opened.map(\.author)).sorted() {
      guard let next = intake.next(after: zone.head(of: author)),
        let sealed = try intake.takeWaiting(next.digest, reading: read)
      else { continue }
      open(sealed, with: opener, readiness, into: &slice, &report)
    }
    try openFollowing(of: &intake, reading: read, with: opener, readiness, into: &slice, &report)
    return slice
  }

  /// Opens what waits behind gaps that close with a slice, so that what many files change is
  /// written once.
  ///
  /// Of each log twice as many as were applied the last time: what is opened and has to wait all
  /// the same costs no more than what is applied.
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

  /// Opens one segment; a damaged one is reported and passed over.
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
      report.unusable.append((sealed.digest, "\(error)"))
    }
  }
}

import HearthCRDT
import HearthMembership

/// The progress of taking files of a zone from a transport: the files that were fetched, and their
/// results.
///
/// It is the state of a state machine without a transport. ``FetchRounds`` says which files to
/// fetch next, and receives what was fetched.
struct Taking {
  /// What happened since the last report.
  struct News {
    /// The number of applied changes.
    var applied = 0
    /// The number of pending segments, if it was determined.
    var waiting: Int?
    /// The unusable segments, with the reason; a segment that was pending here has no name.
    var refused: [(name: SegmentName?, reason: String)] = []
    var problems: [TransportProblem] = []
  }

  /// The files of one round, and the state before it.
  struct Round {
    let names: [SegmentName]
    let failures: Int
    let unread: Int
    let waiting: Int
    /// Whether other files follow in the next round.
    let isPartial: Bool
    /// Whether the round was planned with the result of all earlier files.
    let isWhole: Bool
  }

  let zone: ZoneID
  let listing: TransportListing
  /// The digests of the segments that were pending at the beginning.
  ///
  /// They are read once, because fetched files are in `tried`. A segment in the log is fetched all
  /// the same: a rebuilt zone may not count it, and may have no room for it as a pending segment.
  let known: Set<Identifier>
  /// The files that were fetched, or could not be.
  var tried: Set<SegmentName> = []
  /// Those of them that did not stay pending on earlier changes of their logs.
  var dropped: Set<SegmentName> = []
  /// The number of them that could not be fetched or used.
  var failures = 0
  /// The number of pending segments that this program cannot read.
  var unread: Int
  /// The number of other pending segments.
  var waiting: Int
  /// The number of pending segments that turned out to be unusable.
  var refusedWaiting = 0
  var rounds = 0
  var round: Round?
  /// The files that had a round before all others; each has one at most, whatever becomes of it.
  var takenFirst: Set<SegmentName> = []
  /// The files that were not worth fetching at the last planning.
  var vain: Set<SegmentName> = []
  /// The refused files, which are already reported.
  var told: Set<SegmentName> = []
  /// The cost of files that were fetched in vain.
  var waste = Waste()
  private var hasLeft = false
  private var news = News()

  init(zone: ZoneID, listing: TransportListing, pending: [PendingEntry]) {
    self.zone = zone
    self.listing = listing
    known = Set(pending.map(\.digest))
    unread = pending.count { $0.reason == .format }
    waiting = pending.count - unread
  }

  /// Notes that a file could not be fetched.
  mutating func fail(_ name: SegmentName) {
    tried.insert(name)
    dropped.remove(name)
    failures += 1
  }

  /// Returns what happened since the last call.
  mutating func takeNews() -> News {
    defer { news = News() }
    return news
  }

  mutating func note(_ change: (inout News) -> Void) { change(&news) }

  /// Notes, once, that some files worth fetching are left to the next sync.
  mutating func leave(_ zone: ZoneState) {
    guard !hasLeft else { return }
    hasLeft = true
    news.problems.append(
      TransportProblem(
        place: "zone \(zone.name)",
        fault: "too many files could not be used: this round did not try the others",
        remedy: "delete the files that are named above, then sync again", hidesData: true))
  }
}

/// The cost, in one sync, of files that are fetched in vain although they were before, or may have
/// been.
///
/// A file that was fetched in vain is remembered. It is fetched again if other knowledge may help,
/// or if there were more such files than are remembered. For that, each device has an allowance in
/// each sync, and strangers share one; the rest is left to the next sync. The allowance of a device
/// is renewed when its log advances, and that of strangers when membership advances.
struct Waste {
  /// The allowance in bytes.
  static let maximumBytes = 2 << 20
  /// The cost of a file in addition to its bytes.
  static let fileBytes = 1_024

  /// Whether there is an allowance at all.
  var isLimited = true
  private var bytes: [Identifier: Int] = [:]
  /// The tags of known devices; strangers have the account of tag zero.
  private var known: Set<Identifier> = []
  /// The files that count if they are of no use.
  private var counted: Set<SegmentName> = []

  private func account(of name: SegmentName) -> Identifier {
    known.contains(name.authorTag) ? name.authorTag : .zero
  }

  /// Takes over which devices are known, and which of the names to fetch count.
  mutating func plan(
    _ names: [SegmentName], _ examined: ExaminedFiles, in zone: ZoneState
  ) {
    known = Set(zone.deviceByTag.keys)
    counted = Set(examined.isFull ? names : names.filter(examined.remembers))
  }

  /// Whether a file may be fetched in this sync.
  func allows(_ name: SegmentName) -> Bool {
    !isLimited || !counted.contains(name)
      || bytes[account(of: name), default: 0] < Waste.maximumBytes
  }

  /// Counts a file that was fetched in vain.
  mutating func count(_ name: SegmentName, _ byteCount: Int) {
    guard counted.contains(name) else { return }
    bytes[account(of: name), default: 0] += byteCount + Waste.fileBytes
  }

  /// Notes that logs of a zone advanced.
  mutating func renew(_ authors: [Author], of zone: ZoneState) {
    for author in authors { bytes[zone.authorTag(of: author.device)] = nil }
    if zone.kind == .control, !authors.isEmpty { bytes[.zero] = nil }
  }
}

import HearthCRDT
import HearthMembership

/// What is on its way from a transport into a zone: the files that were fetched, and what came of
/// it.
///
/// A state machine without a transport: ``Engine/goOn(_:nowMilliseconds:)`` says which files to
/// fetch next, ``Engine/receive(_:_:nowMilliseconds:)`` takes what was fetched.
struct Taking {
  /// What happened since it was reported last.
  struct News {
    /// How many changes were applied.
    var applied = 0
    /// How many segments wait, where that was found out.
    var waiting: Int?
    /// What can never be used, and why; no name where it had waited here.
    var refused: [(name: SegmentName?, reason: String)] = []
    var problems: [TransportProblem] = []
  }

  /// What was fetched in one round, and how things stood before.
  fileprivate struct Round {
    let names: [SegmentName]
    let failures: Int
    let unread: Int
    let waiting: Int
  }

  let zone: ZoneID
  let listing: TransportListing
  /// What waited when it began, by digest.
  ///
  /// Read once: what is fetched is in `tried`. That the log lists a segment is no reason not to
  /// fetch it: a zone built anew may not count it and have no room for it to wait.
  fileprivate let known: Set<Identifier>
  /// What was fetched, or could not be.
  fileprivate var tried: Set<SegmentName> = []
  /// Those of them that did not wait for what lies before them in their logs.
  fileprivate var dropped: Set<SegmentName> = []
  /// How many of them could not be fetched or used.
  fileprivate var failures = 0
  /// How many waiting segments this program cannot read.
  fileprivate var unread: Int
  /// How many others wait.
  fileprivate var waiting: Int
  /// How many waiting ones turned out to be unusable.
  fileprivate var refusedWaiting = 0
  fileprivate var rounds = 0
  fileprivate var round: Round?
  /// What was not worth fetching when it was planned last.
  fileprivate var vain: Set<SegmentName> = []
  /// What was refused, and so is told already.
  fileprivate var told: Set<SegmentName> = []
  /// What it costs that files were fetched in vain.
  var waste = Waste()
  private var hasLeft = false
  private var news = News()

  fileprivate init(zone: ZoneID, listing: TransportListing, pending: [PendingEntry]) {
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

  /// What happened since this was asked last.
  mutating func takeNews() -> News {
    defer { news = News() }
    return news
  }

  fileprivate mutating func note(_ change: (inout News) -> Void) { change(&news) }

  /// Notes that some of what is worth fetching is left to the next sync; told once.
  fileprivate mutating func leave(_ zone: ZoneState) {
    guard !hasLeft else { return }
    hasLeft = true
    news.problems.append(
      TransportProblem(
        place: "zone \(zone.name)",
        fault: "too many files could not be used: this round did not try the others",
        remedy: "delete the files that are named above, then sync again", hidesData: true))
  }
}

/// What it costs in one sync that files are fetched in vain although they were before, or may have
/// been.
///
/// What is fetched in vain is remembered. It is fetched again if other knowledge may help, or if
/// there was more of it than is remembered. For that, each device has an allowance in each sync,
/// and strangers have one together; the rest is left to the next sync. A device whose log advances
/// has its allowance anew, and where membership advances the strangers have.
struct Waste {
  /// The allowance in bytes.
  static let maximumBytes = 2 << 20
  /// What a file costs beside its bytes.
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
  fileprivate mutating func plan(
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
  fileprivate mutating func count(_ name: SegmentName, _ byteCount: Int) {
    guard counted.contains(name) else { return }
    bytes[account(of: name), default: 0] += byteCount + Waste.fileBytes
  }

  /// Notes that logs of a zone advanced.
  fileprivate mutating func renew(_ authors: [Author], of zone: ZoneState) {
    for author in authors { bytes[zone.authorTag(of: author.device)] = nil }
    if zone.kind == .control, !authors.isEmpty { bytes[.zero] = nil }
  }
}

extension Engine {
  /// How often a zone's listing is planned anew in one round where files cannot be used.
  static var maximumRounds: Int { 64 }

  /// Begins to take what a transport holds of a zone.
  func taking(of id: ZoneID, from listing: TransportListing) throws -> Taking {
    Taking(zone: id, listing: listing, pending: try store.pending.entries(in: id))
  }

  /// What to fetch next; nothing when all is taken, or the rest waits for other news or was tried
  /// too often.
  ///
  /// What waited may turn out to be unusable when it is opened. Then others that cover the same
  /// changes are tried. What was not worth fetching may be when others have arrived.
  mutating func goOn(_ taking: inout Taking, nowMilliseconds: UInt64) throws -> [SegmentName] {
    repeat {
      let isDone = try taking.round.map { try isEnough($0, taking) } ?? false
      let former = isDone ? taking.vain : nil
      taking.round = nil
      let names = try nextFiles(&taking, among: former, nowMilliseconds: nowMilliseconds)
      if !names.isEmpty { return names }
    } while try receiveWaiting(&taking, nowMilliseconds: nowMilliseconds)
      && taking.rounds < Engine.maximumRounds
    try tellRefused(&taking)
    return []
  }

  /// - Parameter former: what is to be fetched if it is worth it; nil for everything.
  private func nextFiles(
    _ taking: inout Taking, among former: Set<SegmentName>?, nowMilliseconds: UInt64
  ) throws -> [SegmentName] {
    if let former, former.isEmpty { return [] }
    let zone = try zone(taking.zone)
    let plan = SyncPlan(zone: zone, known: taking.known)
    let examined = try examined(in: zone)
    taking.vain = examined.vain(among: taking.listing.segments)
    let failed = taking.tried.subtracting(taking.dropped.filter(plan.isNext))
    var names = examined.inTurn(
      try worthFetching(
        plan.fetches(from: taking.listing, except: failed.union(taking.vain)), in: zone,
        nowMilliseconds: nowMilliseconds))
    // Strangers' files would take the room of those that a newcomer needs.
    let expected = names.filter { zone.expectedTags.contains($0.authorTag) }
    if !expected.isEmpty {
      names = expected + names.filter { !zone.expectedTags.contains($0.authorTag) }
    }
    if let former { names.removeAll { !former.contains($0) } }
    if Mutant.skipsOwnEarlierLives.isActive {
      let own = zone.authorTag(of: device)
      names.removeAll { $0.authorTag == own }
    }
    guard !names.isEmpty else { return [] }
    taking.waste.plan(names, examined, in: zone)
    let affordable = names.filter(taking.waste.allows)
    let hasRounds = taking.rounds < Engine.maximumRounds
    if !hasRounds || affordable.count < names.count { taking.leave(zone) }
    guard hasRounds, !affordable.isEmpty else { return [] }
    taking.rounds += 1
    taking.round = Taking.Round(
      names: affordable, failures: taking.failures, unread: taking.unread,
      waiting: taking.waiting)
    return affordable
  }

  /// Tells of the files that seem to hold news and can never be used, as was found out before.
  private func tellRefused(_ taking: inout Taking) throws {
    guard !taking.vain.isEmpty else { return }
    let zone = try zone(taking.zone)
    let plan = SyncPlan(zone: zone, known: taking.known)
    let examined = try examined(in: zone)
    for name in taking.listing.segments
    where taking.vain.contains(name) && !taking.told.contains(name) && !plan.reaches(name)
      && examined.isForever(name)
    {
      Probe.refusedBefore.hit()
      taking.told.insert(name)
      taking.note { $0.refused.append((name, Refusals.words)) }
    }
  }

  /// Whether what a round brought is enough.
  ///
  /// Where something failed, cannot be read, or was not what its name says, others that cover the
  /// same changes are tried; where it waits for other news, it is enough. What did not wait is
  /// tried again once what lies before it is here.
  private func isEnough(_ round: Taking.Round, _ taking: Taking) throws -> Bool {
    let plan = SyncPlan(zone: try zone(taking.zone), known: taking.known)
    let short = round.names.count { !plan.reaches($0) }
    let isEnough =
      taking.failures == round.failures && taking.unread <= round.unread
      && short <= max(0, taking.waiting - round.waiting)
      && !taking.dropped.contains(where: plan.isNext)
    Probe.otherCoverTried.hit(if: !isEnough)
    return isEnough
  }

  /// Tries once more what waits: it may wait for people or keys that only just arrived.
  ///
  /// - Returns: whether some of it turned out to be unusable.
  private mutating func receiveWaiting(
    _ taking: inout Taking, nowMilliseconds: UInt64
  ) throws -> Bool {
    guard taking.waiting + taking.unread > 0 else { return false }
    let refused = taking.refusedWaiting
    try receive([], &taking, nowMilliseconds: nowMilliseconds)
    return taking.refusedWaiting > refused
  }

  /// Takes files that were fetched.
  mutating func receive(
    _ files: [(name: SegmentName, bytes: [UInt8])], _ taking: inout Taking,
    nowMilliseconds: UInt64
  ) throws {
    var names: [Identifier: SegmentName] = [:]
    for file in files {
      taking.tried.insert(file.name)
      taking.dropped.remove(file.name)
      names[file.name.digest] = file.name
    }
    let received = try receive(
      files.map(\.bytes), in: taking.zone, nowMilliseconds: nowMilliseconds)
    let settled = Set(received.noted.filter { $0.kind != .stranger }.map(\.digest))
    let waiting = received.waiting.values.reduce(0, +)
    taking.unread = received.waiting[.format] ?? 0
    taking.waiting = waiting - taking.unread
    for (digest, reason) in received.refused {
      if let name = names[digest] {
        taking.failures += 1
        taking.told.insert(name)
        // What is remembered as refused is not fetched again before that may help.
        if !settled.contains(digest) { taking.tried.remove(name) }
      } else {
        taking.refusedWaiting += 1
      }
      if Mutant.oneBadFileStops.isActive { throw SyncError(.malformed, reason) }
    }
    taking.note { news in
      news.applied += received.applied
      news.waiting = waiting
      news.refused += received.refused.map { (names[$0.0], $0.1) }
    }
    taking.dropped.formUnion(received.dropped.compactMap { names[$0] })
    let refused = Set(received.refused.map(\.digest))
    for file in files where refused.contains(file.name.digest) {
      taking.waste.count(file.name, file.bytes.count)
    }
    taking.waste.renew(received.authors, of: try zone(taking.zone))
  }
}

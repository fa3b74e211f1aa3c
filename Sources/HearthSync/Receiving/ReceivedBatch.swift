import HearthCRDT
import HearthCrypto
import HearthMembership

/// The judgement of a change, and its author.
private struct Judged {
  let judgement: Judgement
  let writer: ChangeAuthor?
}

/// The segments that are received together, and what they have changed so far.
///
/// The caller has a transaction open, and takes over the zone and the clock once it is through.
struct ReceivedBatch<S: Store> {
  /// The zone with everything that is applied.
  private(set) var zone: ZoneState
  private(set) var clock: HybridClock
  private(set) var report = ReceiveReport()
  private let engine: Engine<S>
  private let before: ZoneState
  /// Where logs must be held back again, during a rebuild.
  private let ends: [LogHead]
  /// Where the logs stood in the snapshot that a rebuild begins from.
  private let base: [LogHead]
  private let isRebuilding: Bool
  private let nowMilliseconds: UInt64
  private var intake: Intake
  private var readiness: Readiness
  private var judged: JudgedLogs

  init(
    _ blobs: [[UInt8]], in zone: ZoneState, ends: [LogHead], isRebuilding: Bool,
    opened: OpenedMemory? = nil, by engine: Engine<S>, nowMilliseconds: UInt64
  ) throws {
    self.zone = zone
    self.engine = engine
    self.ends = ends
    self.isRebuilding = isRebuilding
    self.nowMilliseconds = nowMilliseconds
    before = zone
    clock = engine.clock
    base = isRebuilding ? try BaseSnapshot(engine: engine).baseHeads(of: zone) : []
    let membership = engine.membership(of: zone.group)
    intake = Intake(
      blobs, waiting: try engine.store.pending.entries(in: zone.id), isRebuilding: isRebuilding,
      opened: opened)
    readiness = try PendingKnowledge.readiness(
      of: zone, membership, isRebuilding: isRebuilding,
      hasNews: intake.hasFresh(ofMembersOf: zone, membership),
      hasWaiting: !intake.waiting.isEmpty, in: engine)
    if isRebuilding { readiness.later = intake.unapplied }
    // During a rebuild, only what the zone's snapshot says of the logs is known.
    judged = JudgedLogs(
      claims: FalseClaim.earliest(
        isRebuilding ? [:] : intake.claims,
        try StoredClaims.baseClaims(of: zone.id, in: engine.store)),
      uncertain: isRebuilding
        ? [:] : try StoredClaims.uncertainChanges(in: zone.id, with: engine.store))
    let (readiness, claims) = (readiness, judged.claims)
    intake.sort(in: zone) { readiness.isReady($0, in: zone, claims) }
  }

  // MARK: Slices

  /// Opens the next segments, in a rebuild first those that were applied before.
  mutating func nextSlice() throws -> Slice? {
    let slice = try SliceOpening.nextSlice(
      of: &intake, in: zone, readiness, &report, with: engine.store)
    guard slice == nil, !readiness.later.isEmpty else { return slice }
    readiness.later = []
    intake.retry { [readiness, zone, judged] in readiness.isReady($0, in: zone, judged.claims) }
    return try SliceOpening.nextSlice(of: &intake, in: zone, readiness, &report, with: engine.store)
  }

  /// Applies what can be applied of a slice, and stores it.
  mutating func receive(_ opened: Slice) throws {
    var slice = opened
    hold(&slice)
    Introductions.introduce(
      &slice, intake, in: zone, readiness.membership, to: &readiness.causes.room, &report)
    var queue = CausalQueue(
      slice.opened, causes: readiness.causes, ends: ends, judged: judged,
      evidence: try CitationSources(engine: engine).evidence(for: zone),
      isOver: EpochKeys.epochJudge(
        of: zone, unjudged: isRebuilding ? slice.unjudged : nil, in: engine))
    try queue.run(on: &zone)
    if !isRebuilding {
      try BaseSnapshot(engine: engine).checkBase(of: zone.id, against: queue.forks.map(\.author))
    }
    readiness.causes = queue.causes
    intake.note(refusedBy: queue)
    try apply(queue)
    try ReceptionNotices(engine: engine).noteFalseClaims(
      queue.falseClaims, in: zone, nowMilliseconds: nowMilliseconds, &report)
    judged = queue.judged(in: zone)
    intake.note(openedBy: queue)
    try settle(queue, slice)
    try noteForks(queue)
    for log in slice.logs(in: zone) { intake.note(log.author, isWhole: log.isWhole) }
    // What cites a log without a place does not wait for it.
    let moved =
      queue.ready.map(\.dot.author) + queue.falseClaims.map(\.author)
      + queue.refused.map(\.author)
    intake.moved(Set(moved).sorted()) { [readiness, zone, judged] in
      readiness.isReady($0, in: zone, judged.claims)
    }
  }

  /// Removes formerly pending segments that are no part of the counted history.
  ///
  /// Some are evidence against their author. Others contradict the snapshot that a rebuild begins
  /// from; they wait as before until the next exchange decides between them and the snapshot.
  private func hold(_ slice: inout Slice) {
    var held: Set<Identifier> = []
    for segment in slice.opened + slice.introducing.map(\.segment)
    where slice.waited.contains(segment.digest) {
      let isEvidence = ends.contains {
        $0.author == segment.author && !segment.agrees(with: $0)
      }
      guard isEvidence || base.contains(where: segment.contradicts) else { continue }
      held.insert(segment.digest)
      let former = isEvidence ? nil : intake.gone[segment.digest]
      slice.unopened.append(
        PendingSegment(
          digest: segment.digest, reason: former?.reason ?? .quarantine,
          wait: former?.wait ?? PendingWait(), bytes: segment.bytes))
    }
    slice.opened.removeAll { held.contains($0.digest) }
    slice.introducing.removeAll { held.contains($0.segment.digest) }
  }

  /// Notes the forks in a slice, and the evidence for contradictions.
  private mutating func noteForks(_ queue: CausalQueue) throws {
    let detection = ForkDetection(engine: engine)
    let hidden = isRebuilding ? [] : try detection.hiddenForks(in: queue.covered, of: zone)
    try ReceptionNotices(engine: engine).noteForks(
      queue.forks + hidden, in: zone, nowMilliseconds: nowMilliseconds, &intake, &report)
    report.evidence += detection.evidence(among: queue.contradictions, in: zone)
    report.evidence += try detection.earlierForks(in: queue.waiting.map(\.segment), of: zone)
  }

  // MARK: Application

  private mutating func apply(_ queue: CausalQueue) throws {
    guard !queue.ready.isEmpty else { return }
    let judgements = judgements(of: queue)
    var seen = queue.seen
    for part in parts(of: queue) {
      var applier = Applier(zone: zone.id, store: engine.store, policy: engine.policy)
      try applier.prepare(for: queue.ready[part])
      try apply(queue.ready[part], judgements[part], &seen, with: &applier)
      try applier.flush()
      try OverfullRecords.noteOverfull(
        applier.overfull, in: zone, by: engine, nowMilliseconds: nowMilliseconds)
      report.voids += applier.voids
    }
    report.applied += queue.ready.count
    report.authors = Set(report.authors + queue.ready.map(\.dot.author)).sorted()
  }

  private mutating func apply(
    _ changes: ArraySlice<Change>, _ judgements: ArraySlice<Judged?>, _ seen: inout SeenWalk,
    with applier: inout Applier<S>
  ) throws {
    var leads: [DeviceID: UInt64] = [:]
    let membership = engine.membership(of: zone.group)
    for (change, word) in zip(changes, judgements) {
      let known = seen.next(change)
      let device = change.dot.author.device
      try applier.apply(change, past: known.past, as: word?.judgement, by: word?.writer) {
        membership.changes.standing(of: $0, knownTo: device, at: known.control)
      }
      let lead = clock.receive(change.time, nowMilliseconds: nowMilliseconds)
      if lead > 0 { leads[device] = max(leads[device] ?? 0, lead) }
    }
    try ReceptionNotices(engine: engine).noteClocks(
      leads, in: zone, nowMilliseconds: nowMilliseconds)
  }

  /// The marks of frontiers that are in memory at most, before what keeps them is stored.
  private static var maximumMarks: Int { 500_000 }

  /// Whether what an operation leaves keeps all that its author had seen.
  private static func keepsPast(_ operation: Operation) -> Bool {
    if case .delete = operation.body { return true }
    return operation.key.type.keepsCause
  }

  /// The parts of a queue's changes that are applied and stored together.
  ///
  /// A deletion and some events keep all that their authors had seen, which can be far larger than
  /// they are.
  private func parts(of queue: CausalQueue) -> [Range<Int>] {
    guard queue.ready.contains(where: { $0.operations.contains { Self.keepsPast($0) } }) else {
      return [queue.ready.indices]
    }
    var seen = queue.seen
    var parts: [Range<Int>] = []
    var (begin, marks) = (0, 0)
    for (place, change) in queue.ready.enumerated() {
      let count = seen.next(change).past.entries.count
      marks += count * change.operations.count { Self.keepsPast($0) }
      guard marks > Self.maximumMarks else { continue }
      parts.append(begin..<place + 1)
      (begin, marks) = (place + 1, 0)
    }
    if begin < queue.ready.count { parts.append(begin..<queue.ready.count) }
    return parts
  }

  /// Changes of one author who had seen the same membership operations, by their places.
  private struct Run {
    let control: Frontier
    var places: [Int] = []
  }

  /// The judgement of each change; nil in a control zone.
  ///
  /// Cuts and lost roles void all changes beyond a sequence number. For an author's consecutive
  /// changes with the same known membership operations, it is therefore enough to judge the first
  /// and the last, if both judgements agree. Changes of others may stand between them.
  private func judgements(of queue: CausalQueue) -> [Judged?] {
    var result = [Judged?](repeating: nil, count: queue.ready.count)
    guard zone.kind == .data, !Mutant.judgesOnlyOwn.isActive else { return result }
    let seen = queue.seen
    var runs: [Author: Run] = [:]
    for (place, change) in queue.ready.enumerated() {
      let author = change.dot.author
      if !change.controlSeen.isEmpty {
        let run = runs[author] ?? Run(control: seen.control(of: author))
        judge(run, of: queue, &result)
        // The queue has let only changes pass that raise what their authors had seen.
        runs[author] = Run(control: run.control.raised(by: change.controlSeen) ?? run.control)
      }
      runs[author, default: Run(control: seen.control(of: author))].places.append(place)
    }
    for run in runs.values { judge(run, of: queue, &result) }
    return result
  }

  private func judge(_ run: Run, of queue: CausalQueue, _ result: inout [Judged?]) {
    guard let first = run.places.first, let last = run.places.last else { return }
    let changes = engine.membership(of: zone.group).changes
    func judge(_ place: Int) -> Judgement {
      changes.judge(queue.ready[place].dot, in: zone.id, at: run.control)
    }
    let writer = changes.author(of: queue.ready[first].dot, at: run.control)
    let judgement = judge(first)
    let areAlike = first == last || judge(last) == judgement
    for place in run.places {
      result[place] = Judged(judgement: areAlike ? judgement : judge(place), writer: writer)
    }
  }

  // MARK: Storing

  /// Stores complete segments in the log, and adds the others to the pending ones.
  private mutating func settle(_ queue: CausalQueue, _ slice: Slice) throws {
    // Segments kept unread are in the log under their own claims.
    let unread = Set(slice.unopened.filter { $0.reason == .format }.map(\.digest))
    for digest in slice.unread.subtracting(unread).sorted() {
      try engine.store.log.removeSegment(digest, in: zone.id)
    }
    for segment in slice.unopened { intake.wait(segment, in: zone) }
    for item in queue.waiting {
      intake.wait(
        PendingSegment(
          digest: item.segment.digest, reason: item.reason, wait: item.wait,
          bytes: item.segment.bytes), in: zone)
    }
    let isKept = Mutant.dropsPending.isActive
    for segment in queue.complete + (isKept ? queue.waiting.map(\.segment) : []) {
      Probe.pendingApplied.hit(if: slice.waited.contains(segment.digest))
      let stored = StoredSegment(
        author: segment.author, first: segment.first, last: segment.last, digest: segment.digest,
        byteCount: segment.bytes.count)
      try engine.store.log.save(stored, bytes: segment.bytes, in: zone.id)
      engine.excerpts.keep(
        LogExcerpt(segment), of: segment.digest, length: segment.changes.count)
    }
  }

  /// Reports what is refused, and stores it with what stays pending and how far the logs are
  /// applied now.
  mutating func finish() throws {
    try ReceptionNotices(engine: engine).refuse(
      intake.refused, in: zone, readiness.causes.room, nowMilliseconds: nowMilliseconds, &report)
    try Sponsors.add(readiness.causes.room.begun(in: zone), of: zone.id, in: engine.store)
    try StoredClaims.save(uncertain: judged.uncertain, of: zone.id, in: engine.store)
    let pending = PendingStorage(engine: engine)
    // News of the members may admit an author whom they did not know when the batch came.
    let isTriedAgain = zone.kind == .control && !isRebuilding && report.applied > 0
    try pending.tidy(
      &intake, in: zone, readiness.membership, isRebuilding: isRebuilding,
      keepsStrangers: isTriedAgain, nowMilliseconds: nowMilliseconds, &report)
    // What the batch itself brings may speak for what was refused before it was applied.
    try Refusals.add(report.noted, of: zone.id, in: engine.store) {
      try PendingKnowledge.knowledge(of: before, in: engine)
    }
    try pending.save(intake, in: zone, &report)
    try PendingKnowledge.noteTried(intake.waiting.values.map(\.entry), in: before, by: engine)
    if !Mutant.forgetsHead.isActive {
      try engine.store.zones.save(
        zone.heads.filter { before.head(of: $0.author) != $0 }, of: zone.id)
    }
    let voids = try StoredVoids.note(report.voids, in: zone.id, with: engine.store)
    if !isRebuilding {
      try VoidNotices(engine: engine).tell(of: voids, in: zone, nowMilliseconds: nowMilliseconds)
    }
  }
}

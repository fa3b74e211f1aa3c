import HearthCRDT
import HearthCrypto
import HearthMembership

/// The judgement of a change, and its author.
private struct Judged {
  let judgement: Judgement
  let writer: ChangeAuthor?
}

/// Reception of segments of one zone: verification, order, application and storing.
///
/// What a changed membership calls for is left to the caller.
enum ZoneIntake {
  /// Retries pending segments of a control zone as long as they admit somebody.
  ///
  /// A newly admitted author may have written pending segments, which may admit the next author.
  static func receiveAdmitted(
    in zone: ZoneID, by engine: inout Engine<some Store>, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    var applied = report.applied
    while applied > 0, report.waiting[.author] != nil || report.waiting[.epoch] != nil {
      let more = try receive([], in: zone, ends: [], by: &engine, nowMilliseconds: nowMilliseconds)
      applied = more.applied
      report.add(more)
    }
  }

  /// Receives segments, also during a rebuild, in which held-back logs end where they ended before.
  static func receive(
    _ blobs: [[UInt8]], in zone: ZoneID, ends: [LogHead], isRebuilding: Bool = false,
    by engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> ReceiveReport {
    let place = try engine.place(of: zone)
    var draft = engine.zones[place]
    var report = ReceiveReport()
    var tickedClock = engine.clock
    let membership = engine.membership(of: draft.group)
    try engine.store.transaction {
      draft = engine.zones[place]
      report = ReceiveReport()
      tickedClock = engine.clock
      var intake = Intake(blobs, waiting: try engine.store.pending.entries(in: zone))
      var readiness = try PendingKnowledge.readiness(
        of: draft, membership, isRebuilding: isRebuilding,
        hasNews: intake.hasFresh(ofMembersOf: draft, membership),
        hasWaiting: !intake.waiting.isEmpty, in: engine)
      var judged = try judgedLogs(
        isRebuilding ? [:] : intake.claims, of: zone, isRebuilding, in: engine.store)
      intake.sort(in: draft) { readiness.isReady($0, in: draft, judged.claims) }
      while var slice = try SliceOpening.nextSlice(
        of: &intake, in: draft, readiness, &report, with: engine.store)
      {
        hold(&slice, where: ends)
        Introductions.introduce(
          &slice, intake, in: draft, membership, to: &readiness.causes.room, &report)
        var queue = CausalQueue(
          slice.opened, causes: readiness.causes, ends: ends, judged: judged,
          evidence: try CitationSources(engine: engine).evidence(for: draft),
          isOver: EpochKeys.epochJudge(
            of: draft, unjudged: isRebuilding ? slice.unjudged : nil, in: engine))
        try queue.run(on: &draft)
        try BaseSnapshot(engine: engine).checkBase(of: draft.id, against: queue.forks.map(\.author))
        try ReceptionNotices(engine: engine).refuse(
          queue, in: draft, readiness.causes.room, isRebuilding: isRebuilding,
          nowMilliseconds: nowMilliseconds, &report)
        try apply(
          queue, in: draft, &tickedClock, by: engine, nowMilliseconds: nowMilliseconds, &report)
        try ReceptionNotices(engine: engine).noteFalseClaims(
          queue.falseClaims, in: draft, nowMilliseconds: nowMilliseconds, &report)
        judged = queue.judged(in: draft)
        try settle(queue, slice, in: draft, &intake, by: engine)
        try noteForks(
          queue, in: draft, isRebuilding: isRebuilding, by: engine,
          nowMilliseconds: nowMilliseconds,
          &intake, &report)
        for log in slice.logs(in: draft) { intake.note(log.author, isWhole: log.isWhole) }
        // What cites a log without a place does not wait for it.
        let moved =
          queue.ready.map(\.change.dot.author) + queue.falseClaims.map(\.author)
          + queue.refused.map(\.author)
        intake.moved(Set(moved).sorted()) { readiness.isReady($0, in: draft, judged.claims) }
      }
      try Sponsors.add(readiness.causes.room.begun(in: draft), of: zone, in: engine.store)
      try StoredClaims.save(uncertain: judged.uncertain, of: zone, in: engine.store)
      try keep(
        &intake, in: draft, after: engine.zones[place], membership, isRebuilding: isRebuilding,
        by: engine, nowMilliseconds: nowMilliseconds, &report)
    }
    engine.zones[place] = draft
    engine.clock = tickedClock
    try KeySearch.learnKeys(ofIntroduced: report.introduced, of: draft.group, by: &engine)
    if draft.kind == .control, report.applied > 0 {
      try MembershipRefresh.refresh(of: draft.group, in: &engine)
    }
    return report
  }

  /// Notes the forks in a slice, and the evidence for contradictions.
  private static func noteForks(
    _ queue: CausalQueue, in zone: ZoneState, isRebuilding: Bool, by engine: Engine<some Store>,
    nowMilliseconds: UInt64, _ intake: inout Intake, _ report: inout ReceiveReport
  ) throws {
    let detection = ForkDetection(engine: engine)
    let hidden = isRebuilding ? [] : try detection.hiddenForks(in: queue.covered, of: zone)
    try ReceptionNotices(engine: engine).noteForks(
      queue.forks + hidden, in: zone, nowMilliseconds: nowMilliseconds, &intake, &report)
    report.evidence += detection.evidence(among: queue.contradictions, in: zone)
    report.evidence += try detection.earlierForks(in: queue.waiting.map(\.segment), of: zone)
  }

  /// Stores what stays pending, what was refused, and how far the logs are applied now.
  ///
  /// - Parameter before: The zone before the batch.
  private static func keep(
    _ intake: inout Intake, in zone: ZoneState, after before: ZoneState, _ membership: Membership,
    isRebuilding: Bool, by engine: Engine<some Store>, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    let pending = PendingStorage(engine: engine)
    // News of the members may admit an author whom they did not know when the batch came.
    let isTriedAgain = zone.kind == .control && !isRebuilding && report.applied > 0
    try pending.tidy(
      &intake, in: zone, membership, isRebuilding: isRebuilding, keepsStrangers: isTriedAgain,
      nowMilliseconds: nowMilliseconds, &report)
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

  /// Removes evidence against an author from the formerly pending segments, because it is no part
  /// of the counted history.
  private static func hold(_ slice: inout Slice, where ends: [LogHead]) {
    func isEvidence(_ segment: OpenedSegment) -> Bool {
      slice.waited.contains(segment.digest)
        && ends.contains { $0.author == segment.author && !segment.agrees(with: $0) }
    }
    let evidence = (slice.opened + slice.introducing.map(\.segment)).filter(isEvidence)
    guard !evidence.isEmpty else { return }
    slice.unopened += evidence.map {
      PendingSegment(digest: $0.digest, reason: .quarantine, bytes: $0.bytes)
    }
    let digests = Set(evidence.map(\.digest))
    slice.opened.removeAll { digests.contains($0.digest) }
    slice.introducing.removeAll { digests.contains($0.segment.digest) }
  }

  /// How far logs were judged before; during a rebuild, what the zone's snapshot says of them.
  private static func judgedLogs(
    _ claims: [Author: FalseClaim], of zone: ZoneID, _ isRebuilding: Bool, in store: some Store
  ) throws -> JudgedLogs {
    JudgedLogs(
      claims: FalseClaim.earliest(claims, try StoredClaims.baseClaims(of: zone, in: store)),
      uncertain: isRebuilding ? [:] : try StoredClaims.uncertainChanges(in: zone, with: store))
  }

  private static func apply(
    _ queue: CausalQueue, in zone: ZoneState, _ clock: inout HybridClock,
    by engine: Engine<some Store>, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    guard !queue.ready.isEmpty else { return }
    var applier = Applier(zone: zone.id, store: engine.store, policy: engine.policy)
    try applier.prepare(for: queue.ready.lazy.map(\.change))
    var leads: [DeviceID: UInt64] = [:]
    let membership = engine.membership(of: zone.group)
    for (item, word) in zip(queue.ready, judged(queue.ready, in: zone, by: engine)) {
      try applier.apply(item.change, past: item.past, as: word?.judgement, by: word?.writer) {
        membership.changes.standing(
          of: $0, knownTo: item.change.dot.author.device, at: item.controlSeen)
      }
      let lead = clock.receive(item.change.time, nowMilliseconds: nowMilliseconds)
      if lead > 0 { leads[item.change.dot.author.device, default: 0].raise(to: lead) }
    }
    try applier.flush()
    try ReceptionNotices(engine: engine).noteClocks(
      leads, in: zone, nowMilliseconds: nowMilliseconds)
    try OverfullRecords.noteOverfull(
      applier.overfull, in: zone, by: engine, nowMilliseconds: nowMilliseconds)
    report.voids += applier.voids
    report.applied += queue.ready.count
    report.authors = Set(report.authors + queue.ready.map(\.change.dot.author)).sorted()
  }

  /// The judgement of each change; nil in a control zone.
  ///
  /// Cuts and lost roles void all changes beyond a sequence number. For consecutive changes of one
  /// author with the same known membership operations, it is therefore enough to judge the first
  /// and the last, if both judgements agree.
  private static func judged(
    _ ready: [CausalQueue.Ready], in zone: ZoneState, by engine: Engine<some Store>
  ) -> [Judged?] {
    guard zone.kind == .data, !Mutant.judgesOnlyOwn.isActive else {
      return [Judged?](repeating: nil, count: ready.count)
    }
    let membership = engine.membership(of: zone.group)
    func judge(_ item: CausalQueue.Ready) -> Judgement {
      membership.changes.judge(item.change.dot, in: zone.id, at: item.controlSeen)
    }
    var result: [Judged?] = []
    result.reserveCapacity(ready.count)
    while result.count < ready.count {
      let rest = ready[result.count...]
      let first = ready[result.count]
      let run = rest.prefix {
        $0.change.dot.author == first.change.dot.author && $0.controlSeen == first.controlSeen
      }
      let writer = membership.changes.author(of: first.change.dot, at: first.controlSeen)
      let judgement = judge(first)
      let areAlike = run.last.map { judge($0) == judgement } ?? true
      for item in run {
        result.append(Judged(judgement: areAlike ? judgement : judge(item), writer: writer))
      }
    }
    return result
  }

  /// Stores complete segments in the log, and adds the others to the pending ones.
  private static func settle(
    _ queue: CausalQueue, _ slice: Slice, in draft: ZoneState, _ intake: inout Intake,
    by engine: Engine<some Store>
  ) throws {
    // Segments kept unread are in the log under their own claims.
    let unread = Set(slice.unopened.filter { $0.reason == .format }.map(\.digest))
    for digest in slice.unread.subtracting(unread).sorted() {
      try engine.store.log.removeSegment(digest, in: draft.id)
    }
    for segment in slice.unopened { intake.wait(segment, in: draft) }
    for item in queue.waiting {
      intake.wait(
        PendingSegment(
          digest: item.segment.digest, reason: item.reason, wait: item.wait,
          bytes: item.segment.bytes), in: draft)
    }
    let isKept = Mutant.dropsPending.isActive
    for segment in queue.complete + (isKept ? queue.waiting.map(\.segment) : []) {
      Probe.pendingApplied.hit(if: slice.waited.contains(segment.digest))
      let stored = StoredSegment(
        author: segment.author, first: segment.first, last: segment.last, digest: segment.digest,
        byteCount: segment.bytes.count)
      try engine.store.log.save(stored, bytes: segment.bytes, in: draft.id)
      engine.excerpts.keep(
        LogExcerpt(segment), of: segment.digest, length: segment.changes.count)
    }
  }
}

extension UInt64 {
  fileprivate mutating func raise(to other: UInt64) { self = Swift.max(self, other) }
}

import HearthCRDT
import HearthCrypto
import HearthMembership

/// The result of receiving segments of one zone.
package struct ReceiveReport: Sendable {
  /// The number of applied changes.
  package internal(set) var applied = 0
  /// The authors with new changes, in order.
  package internal(set) var authors: [Author] = []
  /// The unusable segments by digest, with the reason in words.
  package internal(set) var refused: [(digest: Identifier, reason: String)] = []
  /// The refused segments that are remembered as such.
  var noted: [Refusals.Refused] = []
  /// The segments that do not stay pending, because they count only if an earlier change arrives.
  var dropped: [Identifier] = []
  /// The number of pending segments, by reason.
  package internal(set) var waiting: [PendingReason: Int] = [:]
  /// The changes that cite what their authors cannot have seen.
  package internal(set) var falseClaims: [FalseClaim] = []
  /// The first contradicting changes of authors that were found to have published two histories.
  package internal(set) var forks: [Dot] = []
  /// The first contradicting changes in logs of a control zone.
  var contradicted: [Dot] = []
  /// The contradictions that can be shown to anybody.
  var evidence: [ForkEvidence] = []
  /// The changes that are void by their content.
  var voids: [VoidChange] = []

  package init() {}

  /// Merges the report of a retry of pending segments.
  fileprivate mutating func add(_ later: ReceiveReport) {
    applied += later.applied
    authors = Set(authors + later.authors).sorted()
    refused += later.refused
    noted += later.noted
    dropped += later.dropped
    waiting = later.waiting
    falseClaims += later.falseClaims
    forks += later.forks
    evidence += later.evidence
    contradicted += later.contradicted
  }
}

extension Engine {
  /// Receives sealed segments of one zone: verifies, orders, applies and stores them.
  ///
  /// The call is one transaction: either everything usable is durable when it returns, or nothing
  /// has changed. Pending segments are stored and retried with the next news. An invalid segment is
  /// refused, named in the report, and harms no other.
  ///
  /// - Throws: `snapshotContradicted` if an author's log does not extend the zone's snapshot; no
  ///   author is blamed.
  package mutating func receive(
    _ blobs: [[UInt8]], in zone: ZoneID, nowMilliseconds: UInt64
  ) throws -> ReceiveReport {
    var draft = self
    var report = ReceiveReport()
    try store.transaction {
      draft = self
      let group = try draft.zone(zone).group
      let before = draft.membership(of: group)
      if try draft.zone(zone).kind == .control { try draft.learnKeys(from: blobs, in: zone) }
      report = try draft.receive(blobs, in: zone, ends: [], nowMilliseconds: nowMilliseconds)
      if try draft.zone(zone).kind == .control {
        try draft.receiveAdmitted(in: zone, nowMilliseconds: nowMilliseconds, &report)
      }
      if try draft.zone(zone).kind == .control, report.applied > 0 {
        try draft.settle(group, after: before, nowMilliseconds: nowMilliseconds)
      }
    }
    self = draft
    try proveForks(report.evidence, nowMilliseconds: nowMilliseconds)
    // This includes further segments of a log that ended earlier, as they are parts of its
    // histories.
    if try self.zone(zone).kind == .control,
      !report.contradicted.isEmpty || report.waiting[.quarantine] != nil
    {
      try showHistories(
        of: try self.zone(zone).group, contradicted: report.contradicted,
        nowMilliseconds: nowMilliseconds)
    }
    return report
  }

  /// Retries pending segments of a control zone as long as they admit somebody.
  ///
  /// A newly admitted author may have written pending segments, which may admit the next author.
  private mutating func receiveAdmitted(
    in zone: ZoneID, nowMilliseconds: UInt64, _ report: inout ReceiveReport
  ) throws {
    var applied = report.applied
    while applied > 0, report.waiting[.author] ?? 0 > 0 {
      let more = try receive([], in: zone, ends: [], nowMilliseconds: nowMilliseconds)
      applied = more.applied
      report.add(more)
    }
  }

  /// Takes the keys from a control zone's new segments, as long as each opens further ones.
  ///
  /// This includes segments of authors whose admission is readable only with those very keys.
  /// Nobody vouches for their content, but an epoch's id commits to its key. From such authors,
  /// only keys for pending segments are taken, so that nobody can fill the key ring.
  ///
  /// Each segment is opened once, or twice if a stranger wrote it, and its content is released
  /// before the next one. A member may write very many segments that each contain a key.
  private mutating func learnKeys(from blobs: [[UInt8]], in zone: ZoneID) throws {
    var due = blobs + (try keyBearers(in: zone, hasNews: !blobs.isEmpty))
    var closed: [Bytes16: [[UInt8]]] = [:]
    var strangers: [[UInt8]] = []
    // Segments that are pending on a key arrived earlier.
    var waiting = Dictionary(
      grouping: try store.pending.entries(in: zone).filter { $0.reason == .epoch }, by: \.epochTag
    ).mapValues { $0.map(\.digest) }
    let group = try self.zone(zone).group
    var ring = KeyRing(zones)
    while !due.isEmpty {
      let opener = SegmentOpener(zone: try self.zone(zone), membership: membership(of: group))
      var learnt: [Bytes16] = []
      for bytes in due {
        switch try? opener.open(bytes) {
        case .opened(let segment):
          learnt += learnKeys(from: segment.changes, of: group, into: &ring) { _, _ in true }
        case .waits(.epoch):
          closed[try Envelope.parseHeader(bytes).epochTag, default: []].append(bytes)
        case .waits(.author): strangers.append(bytes)
        case .waits, nil: break
        }
      }
      func nowOpen() throws -> [[UInt8]] {
        try learnt.flatMap { tag in
          let earlier = waiting.removeValue(forKey: Identifier(tag)) ?? []
          return (closed.removeValue(forKey: tag) ?? [])
            + (try earlier.compactMap { try store.pending.bytes(of: $0, in: zone) })
        }
      }
      due = try nowOpen()
      guard due.isEmpty, !closed.isEmpty || !waiting.isEmpty else { continue }
      // Strangers' segments are examined once: nothing becomes pending later that is not pending
      // now.
      for bytes in strangers {
        guard let changes = opener.changesOfUnknown(bytes) else { continue }
        let found = learnKeys(from: changes, of: group, into: &ring) { id, key in
          id == zone && (closed[key.tag] != nil || waiting[Identifier(key.tag)] != nil)
        }
        Probe.keyLearntFromStranger.hit(if: !found.isEmpty)
        learnt += found
      }
      strangers = []
      due = try nowOpen()
    }
    for place in ring.changed.sorted() { _ = try keepKeys(of: zones[place]) }
  }

  /// The pending segments that may contain keys: those under known keys, and those of strangers.
  ///
  /// Strangers' segments are included only if there is new knowledge to try them with.
  private func keyBearers(in zone: ZoneID, hasNews: Bool) throws -> [[UInt8]] {
    let state = try self.zone(zone)
    let readiness = try readiness(
      of: state, membership(of: state.group), isRebuilding: false, hasNews: hasNews,
      hasWaiting: true)
    return try store.pending.entries(in: zone)
      .filter {
        ($0.reason == .epoch || $0.reason == .author) && readiness.isReady($0, in: state, [:])
      }
      .compactMap { try store.pending.bytes(of: $0.digest, in: zone) }
  }

  /// Receives segments, also during a rebuild, in which held-back logs end where they ended before.
  mutating func receive(
    _ blobs: [[UInt8]], in zone: ZoneID, ends: [LogHead], isRebuilding: Bool = false,
    nowMilliseconds: UInt64
  ) throws -> ReceiveReport {
    let place = try place(of: zone)
    var draft = zones[place]
    var report = ReceiveReport()
    var tickedClock = clock
    let membership = membership(of: draft.group)
    try store.transaction {
      draft = zones[place]
      report = ReceiveReport()
      tickedClock = clock
      var intake = Intake(blobs, waiting: try store.pending.entries(in: zone))
      var readiness = try readiness(
        of: draft, membership, isRebuilding: isRebuilding, hasNews: intake.hasFresh,
        hasWaiting: !intake.waiting.isEmpty)
      var judged = try judgedLogs(isRebuilding ? [:] : intake.claims, of: zone, isRebuilding)
      intake.sort(in: draft) { readiness.isReady($0, in: draft, judged.claims) }
      while var slice = try nextSlice(of: &intake, in: draft, readiness, &report) {
        hold(&slice, where: ends)
        introduce(&slice, intake, in: draft, membership, to: &readiness.causes.room)
        var queue = CausalQueue(
          slice.opened, causes: readiness.causes, ends: ends, judged: judged,
          evidence: try evidence(for: draft),
          isOver: epochJudge(of: draft, unjudged: isRebuilding ? slice.unjudged : nil))
        try queue.run(on: &draft)
        try checkBase(of: draft.id, against: queue.forks)
        try refuse(
          queue, in: draft, readiness.causes.room, isRebuilding: isRebuilding,
          nowMilliseconds: nowMilliseconds, &report)
        try apply(queue, in: draft, &tickedClock, nowMilliseconds: nowMilliseconds, &report)
        try noteFalseClaims(
          queue.falseClaims, in: draft, nowMilliseconds: nowMilliseconds, &report)
        judged = queue.judged(in: draft)
        try settle(queue, slice, in: draft, &intake)
        let hidden = isRebuilding ? [] : try hiddenForks(in: queue.covered, of: draft)
        try noteForks(
          queue.forks + hidden, in: draft, nowMilliseconds: nowMilliseconds, &intake, &report)
        report.evidence += evidence(among: queue.contradictions, in: draft)
        report.evidence += try earlierForks(in: queue.waiting.map(\.segment), of: draft)
        for log in slice.logs(in: draft) { intake.note(log.author, isWhole: log.isWhole) }
        // What cites a log without a place does not wait for it.
        let moved =
          queue.ready.map(\.change.dot.author) + queue.falseClaims.map(\.author)
          + queue.refused.map(\.author)
        intake.moved(Set(moved).sorted()) { readiness.isReady($0, in: draft, judged.claims) }
      }
      try Sponsors.add(readiness.causes.room.begun(in: draft), of: zone, in: store)
      try save(uncertain: judged.uncertain, of: zone)
      try tidy(
        &intake, in: draft, membership, isRebuilding: isRebuilding,
        nowMilliseconds: nowMilliseconds, &report)
      // What the batch itself brings may speak for what was refused before it was applied.
      try Refusals.add(report.noted, of: zone, in: store) { try knowledge(of: zones[place]) }
      try save(intake, in: draft, &report)
      try noteTried(intake.waiting.values.map(\.entry), in: zones[place])
      if !Mutant.forgetsHead.isActive {
        try store.zones.save(
          draft.heads.filter { zones[place].head(of: $0.author) != $0 }, of: draft.id)
      }
      let voids = try note(report.voids, in: zone)
      if !isRebuilding { try tell(of: voids, in: draft, nowMilliseconds: nowMilliseconds) }
    }
    zones[place] = draft
    clock = tickedClock
    if draft.kind == .control, report.applied > 0 { try refreshMembership(of: draft.group) }
    return report
  }

  /// Removes evidence against an author from the formerly pending segments, because it is no part
  /// of the counted history.
  private func hold(_ slice: inout Slice, where ends: [LogHead]) {
    for segment in slice.opened where slice.waited.contains(segment.digest) {
      guard let end = ends.first(where: { $0.author == segment.author }), !segment.agrees(with: end)
      else { continue }
      slice.unopened.append(
        PendingSegment(digest: segment.digest, reason: .quarantine, bytes: segment.bytes))
    }
    let evidence = Set(slice.unopened.map(\.digest))
    slice.opened.removeAll { evidence.contains($0.digest) }
  }

  /// How far logs were judged before; during a rebuild, what the zone's snapshot says of them.
  private func judgedLogs(
    _ claims: [Author: FalseClaim], of zone: ZoneID, _ isRebuilding: Bool
  ) throws -> JudgedLogs {
    JudgedLogs(
      claims: FalseClaim.earliest(claims, try baseClaims(of: zone)),
      uncertain: isRebuilding ? [:] : try uncertainChanges(in: zone))
  }

  /// Reports unusable segments of known authors, and adds one notice per author.
  private func refuse(
    _ queue: CausalQueue, in zone: ZoneState, _ room: AuthorRoom, isRebuilding: Bool,
    nowMilliseconds: UInt64, _ report: inout ReceiveReport
  ) throws {
    // A rebuild judges by the membership of everything that was applied before it.
    let refused =
      queue.impossible.map { (segment: $0, kind: Refusals.Kind.forever) }
      + queue.refused.map { (segment: $0, kind: Refusals.Kind.members) }
    guard !refused.isEmpty else { return }
    for (segment, kind) in refused {
      report.noted.append(Refusals.Refused(digest: segment.digest, kind: kind))
      let isOver =
        zone.kind != .control
        && membership(of: zone.group).isKnownOver(segment.epoch, of: zone.id)
      let isMember = membership(of: zone.group).device(segment.author.device) != nil
      if kind == .members, !isOver, !isMember {
        let text = try noteArrivals(
          of: room.sponsor(of: segment.author.device), in: zone, nowMilliseconds: nowMilliseconds)
        report.refused.append((segment.digest, text))
        continue
      }
      let name = deviceName(segment.author.device, in: zone)
      let reason =
        isOver
        ? "\(name) encrypted this with a key that a removed member still has, although it had seen "
          + "the removal"
        : room.admits(segment.author, in: zone)
          ? "\(name) claims to have seen changes that cannot exist, or does not cite the start of "
            + "this incarnation in the members' log"
          : "the devices of \(name)'s owner have more than \(Limits.maximumLives) incarnations, or "
            + "the zone has more than \(Limits.maximumAuthors) authors: ask for the removal of "
            + "that person, who can join again"
      report.refused.append((segment.digest, reason))
      // The author may not have known that the key was over, and may be one of many innocent ones.
      guard !isOver else { continue }
      try noteLimit(
        of: segment.author.device, in: zone, as: "refused",
        "publishes files that can never be used: \(reason)", nowMilliseconds: nowMilliseconds)
    }
  }

  func deviceName(_ device: DeviceID, in zone: ZoneState) -> String {
    membership(of: zone.group).device(device)?.card.name ?? "device \(device.hex.prefix(8))"
  }

  private func apply(
    _ queue: CausalQueue, in zone: ZoneState, _ clock: inout HybridClock, nowMilliseconds: UInt64,
    _ report: inout ReceiveReport
  ) throws {
    guard !queue.ready.isEmpty else { return }
    var applier = Applier(zone: zone.id, store: store, policy: policy)
    try applier.prepare(for: queue.ready.lazy.map(\.change))
    var leads: [DeviceID: UInt64] = [:]
    let membership = membership(of: zone.group)
    for (item, word) in zip(queue.ready, judged(queue.ready, in: zone)) {
      try applier.apply(item.change, past: item.past, as: word?.judgement, by: word?.writer) {
        membership.standing(
          of: $0, knownTo: item.change.dot.author.device, at: item.controlSeen)
      }
      let lead = clock.receive(item.change.time, nowMilliseconds: nowMilliseconds)
      if lead > 0 { leads[item.change.dot.author.device, default: 0].raise(to: lead) }
    }
    try applier.flush()
    try noteClocks(leads, in: zone, nowMilliseconds: nowMilliseconds)
    try noteOverfull(applier.overfull, in: zone, nowMilliseconds: nowMilliseconds)
    report.voids += applier.voids
    report.applied += queue.ready.count
    report.authors = Set(report.authors + queue.ready.map(\.change.dot.author)).sorted()
  }

  /// The judgement of a change, and its author.
  private struct Judged {
    let judgement: Judgement
    let writer: Membership.Writer?
  }

  /// The judgement of each change; nil in a control zone.
  ///
  /// Cuts and lost roles void all changes beyond a sequence number. For consecutive changes of one
  /// author with the same known membership operations, it is therefore enough to judge the first
  /// and the last, if both judgements agree.
  private func judged(_ ready: [CausalQueue.Ready], in zone: ZoneState) -> [Judged?] {
    guard zone.kind == .data, !Mutant.judgesOnlyOwn.isActive else {
      return [Judged?](repeating: nil, count: ready.count)
    }
    let membership = membership(of: zone.group)
    func judge(_ item: CausalQueue.Ready) -> Judgement {
      membership.judge(item.change.dot, in: zone.id, at: item.controlSeen)
    }
    var result: [Judged?] = []
    result.reserveCapacity(ready.count)
    while result.count < ready.count {
      let rest = ready[result.count...]
      let first = ready[result.count]
      let run = rest.prefix {
        $0.change.dot.author == first.change.dot.author && $0.controlSeen == first.controlSeen
      }
      let writer = membership.author(of: first.change.dot, at: first.controlSeen)
      let judgement = judge(first)
      let areAlike = run.last.map { judge($0) == judgement } ?? true
      for item in run {
        result.append(Judged(judgement: areAlike ? judgement : judge(item), writer: writer))
      }
    }
    return result
  }

  /// Adds one notice per device whose clock is further ahead than this device accepts.
  private func noteClocks(
    _ leads: [DeviceID: UInt64], in zone: ZoneState, nowMilliseconds: UInt64
  ) throws {
    // A device that joins by these very changes is reported with its next ones, when its name is
    // known.
    let membership = membership(of: zone.group)
    for device in leads.keys.sorted() where device != self.device {
      let fact = "clock." + device.hex
      guard let lead = leads[device], membership.device(device) != nil,
        try store.facts.value(of: fact) == nil
      else { continue }
      Probe.clockNoticed.hit()
      try store.facts.set(fact, to: nowMilliseconds.fixedBytes)
      let minutes = (lead + HybridClock.maximumLeadMilliseconds) / 60_000
      try store.notices.add(
        Notice(
          kind: .clock, zone: zone.id, device: device,
          text: "the clock of \(deviceName(device, in: zone)) is \(minutes) minutes ahead of this "
            + "device's: set the date and time on both; its changes still count",
          milliseconds: nowMilliseconds))
    }
  }

  /// Stores complete segments in the log, and adds the others to the pending ones.
  private func settle(
    _ queue: CausalQueue, _ slice: Slice, in draft: ZoneState, _ intake: inout Intake
  ) throws {
    // Segments kept unread are in the log under their own claims.
    let unread = Set(slice.unopened.filter { $0.reason == .format }.map(\.digest))
    for digest in slice.unread.subtracting(unread).sorted() {
      try store.log.removeSegment(digest, in: draft.id)
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
      try store.log.save(stored, bytes: segment.bytes, in: draft.id)
      excerpts.keep(
        LogExcerpt(segment), of: segment.digest, length: segment.changes.count)
    }
  }

  /// Stores a segment of a newer version in the log too, so that it is forwarded unchanged.
  ///
  /// A segment that names this device is excluded: nobody vouches for the name in an unreadable
  /// suite, and the own log determines this device's head.
  func keepInLog(_ segment: PendingSegment, in zone: ZoneState) throws {
    let frame = try EnvelopeFrame(segment.bytes)
    guard let device = zone.deviceByTag[Identifier(frame.authorTag)], device != self.device
    else { return }
    let author = Author(device: device, incarnation: frame.incarnation)
    guard frame.lastSeq > zone.head(of: author).sequence else { return }
    try store.log.save(
      StoredSegment(
        author: author, first: frame.firstSeq, last: frame.lastSeq, digest: segment.digest,
        byteCount: segment.bytes.count), bytes: segment.bytes, in: zone.id)
  }

  private func noteForks(
    _ forks: [CausalQueue.Fork], in zone: ZoneState, nowMilliseconds: UInt64,
    _ intake: inout Intake, _ report: inout ReceiveReport
  ) throws {
    if !forks.isEmpty { try compareSoon(zone, nowMilliseconds: nowMilliseconds) }
    for fork in forks {
      report.forks.append(Dot(author: fork.author, sequence: fork.sequence))
      if fork.isDouble, zone.kind == .control {
        report.contradicted.append(Dot(author: fork.author, sequence: fork.sequence))
      } else if fork.isDouble, let evidence = try evidence(of: fork, in: zone) {
        report.evidence.append(evidence)
      }
      // The contradicting segment is kept as evidence, beside the applied one.
      let head = zone.head(of: fork.author)
      let isPartlyApplied =
        fork.segment.first <= head.sequence && fork.segment.agrees(with: head)
      let evidence = PendingSegment(
        digest: fork.segment.digest, reason: .quarantine,
        wait: PendingWait(isPartlyApplied: isPartlyApplied), bytes: fork.segment.bytes)
      try store.pending.save(evidence, in: zone.id)
      intake.waitsStored(evidence, in: zone)
      try store.notices.add(
        Notice(
          kind: .fork, zone: zone.id, device: fork.author.device,
          text: (fork.isDouble
            ? "\(deviceName(fork.author.device, in: zone)) published two different histories with "
              + "the same number"
            : "\(deviceName(fork.author.device, in: zone)) published an impossible change")
            + " (\(fork.author) #\(fork.sequence)): "
            + (fork.isDouble && zone.kind == .control
              ? "the members see both, and both count"
              : "its later changes are quarantined"),
          milliseconds: nowMilliseconds))
    }
  }
}

extension UInt64 {
  fileprivate mutating func raise(to other: UInt64) { self = Swift.max(self, other) }
}

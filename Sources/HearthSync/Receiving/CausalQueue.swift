import HearthCRDT

/// Orders opened segments of one zone: each author's changes in sequence, each change after its
/// causes.
///
/// The queue is a pure value. It verifies each author's chain where segments meet, and moves the
/// heads of the given zone state. It returns the changes to apply, the complete segments, and the
/// segments that stay pending.
struct CausalQueue {
  /// A fork of an author's log, or a change that no rule allows.
  struct Fork {
    let author: Author
    /// The first sequence number with two known contents, or the number of the impossible change.
    let sequence: UInt64
    /// The segment that contradicts the applied history.
    let segment: OpenedSegment
    /// Whether there are two histories; false for an impossible change.
    var isDouble = true
    /// The segment of the same batch with the applied history, if it came in this batch.
    var applied: OpenedSegment?
  }

  /// A segment that stays pending.
  struct Waiting {
    let segment: OpenedSegment
    let reason: PendingReason
    /// What the segment lacks.
    let wait: PendingWait
  }

  /// The changes to apply, causes first.
  ///
  /// They come without what their authors had seen: a frontier for each change would take many
  /// times the space of the change. ``seen`` goes through them and gives each its own.
  private(set) var ready: [Change] = []
  /// What the authors of ``ready`` had seen before the first of their changes.
  private(set) var seen = SeenWalk()
  /// The segments with every change applied.
  private(set) var complete: [OpenedSegment] = []
  /// The segments that contained nothing new.
  private(set) var covered: [OpenedSegment] = []
  /// The segments that stay pending.
  private(set) var waiting: [Waiting] = []
  /// The contradictions found.
  private(set) var forks: [Fork] = []
  /// The segments for which the control log gives no place or no key, and which are not kept.
  private(set) var refused: [OpenedSegment] = []
  /// The segments whose log would begin with an impossible change, whatever arrives later.
  private(set) var impossible: [OpenedSegment] = []
  /// The changes that cite what their authors cannot have seen.
  private(set) var falseClaims: [FalseClaim] = []

  /// Pairs of pending segments of a data zone's log with different next changes.
  private(set) var contradictions: [(OpenedSegment, OpenedSegment)] = []

  private var queues: [(author: Author, segments: ArraySlice<OpenedSegment>)] = []
  /// The segments of this batch with an applied change, by author.
  private var taken: [Author: [OpenedSegment]] = [:]
  private var judged: JudgedLogs
  /// The missing cause of each queue's next change that was tried last.
  private var lacking: [MissingCause?] = []
  /// The queues that wait for changes of other logs in this batch.
  private var waits = QueueWaits()
  /// Whether the epochs of segments were over for their authors, as far as that was judged.
  private var overs: [Identifier: Bool] = [:]
  /// How far the causes of refused segments were found, and what their authors had seen there.
  private var reviewed: [Identifier: (sequence: UInt64, controlSeen: Frontier)] = [:]
  /// Decides which changes are applied, or not awaited, with what the queue applied.
  private(set) var causes: CauseCheck
  /// The queues of logs that have no place yet.
  ///
  /// A change that cites such a log may give it one.
  private var placeless: Set<Int> = []
  private let evidence: CitedEvidence?
  private let ends: [LogHead]
  private let isOver: ((OpenedSegment, Frontier) -> Bool)?

  /// - Parameters:
  ///   - causes: Decides which changes are applied, or not awaited.
  ///   - ends: Where logs must be held back again, during a rebuild.
  ///   - isOver: Whether a segment's epoch was over for its author, who had seen these membership
  ///     operations; nil in a control zone.
  ///   - judged: The results of earlier slices of the same batch.
  ///   - evidence: The lookup of cited changes; nil in a control zone, whose citations are judged
  ///     when the membership is resolved.
  init(
    _ segments: [OpenedSegment], causes: CauseCheck, ends: [LogHead] = [],
    judged: JudgedLogs = JudgedLogs(), evidence: CitedEvidence? = nil,
    isOver: ((OpenedSegment, Frontier) -> Bool)? = nil
  ) {
    self.causes = causes
    self.ends = ends
    self.isOver = isOver
    self.judged = judged
    self.evidence = evidence
    for author in Set(segments.map(\.author)).sorted() {
      let own = segments.filter { $0.author == author }
      let sorted = own.sorted { $0.first != $1.first ? $0.first < $1.first : $0.last > $1.last }
      queues.append((author, sorted[...]))
    }
    lacking = [MissingCause?](repeating: nil, count: queues.count)
  }

  /// Processes segments until no log can advance.
  mutating func run(on zone: inout ZoneState) throws {
    var moved = true
    while moved {
      moved = false
      for place in queues.indices {
        if try advance(place, on: &zone) { moved = true }
        // Two logs that cite each other by turns would need a round for each change.
        while let woken = waits.popWoken() { _ = try advance(woken, on: &zone) }
      }
      if !moved { moved = passOutrun(on: &zone) }
    }
    if Mutant.countsEachDelivery.isActive, ready.isEmpty {
      for segment in covered { ready += segment.changes }
    }
    for place in placeless.sorted() {
      refused += queues[place].segments
      queues[place].segments = []
    }
    for (place, queue) in queues.enumerated() {
      if !causes.isControlZone {
        contradictions += contradictions(among: queue.segments, zone.head(of: queue.author))
      }
      for segment in queue.segments {
        waiting.append(waiting(segment, for: lacking[place], in: zone))
      }
    }
  }

  /// The segments that continue an author's head differently from the first one that does.
  private func contradictions(
    among segments: ArraySlice<OpenedSegment>, _ head: LogHead
  ) -> [(OpenedSegment, OpenedSegment)] {
    let next = segments.filter { $0.first <= head.sequence + 1 && head.sequence < $0.last }
    guard head.forkedAt == nil, let first = next.first else { return [] }
    return next.dropFirst().compactMap { other in
      let place = min(first.last, other.last)
      return first.hash(after: place) == other.hash(after: place) ? nil : (first, other)
    }
  }

  /// Processes an author's segments as far as possible.
  ///
  /// - Returns: Whether anything advanced.
  private mutating func advance(_ place: Int, on zone: inout ZoneState) throws -> Bool {
    let author = queues[place].author
    var moved = false
    lacking[place] = nil
    while try step(place, on: &zone) {
      moved = true
      // The log's next change was just found to lack something.
      if lacking[place] != nil { break }
    }
    if moved { waits.wake(by: author, reaching: zone.head(of: author).sequence) }
    if let cause = lacking[place], !cause.isControl { waits.wait(place, for: cause.dot) }
    return moved
  }

  /// Processes an author's next segment as far as possible.
  ///
  /// - Returns: Whether anything advanced.
  private mutating func step(_ place: Int, on zone: inout ZoneState) throws -> Bool {
    guard !placeless.contains(place), let segment = queues[place].segments.first else {
      return false
    }
    var head = zone.head(of: queues[place].author)
    guard causes.room.admits(head.author, in: zone) else {
      placeless.insert(place)
      return false
    }
    if Mutant.skipsGaps.isActive, segment.first > head.sequence + 1 {
      (head.sequence, head.hash) = (segment.first - 1, segment.chain[0])
    }
    guard head.forkedAt == nil, segment.first <= head.sequence + 1 else { return false }
    guard segment.last > head.sequence else {
      queues[place].segments.removeFirst()
      pass(segment, &head, &zone)
      return true
    }
    guard segment.hash(after: head.sequence) == head.hash else {
      queues[place].segments.removeFirst()
      noteOtherContinuation(segment, &head, &zone)
      return true
    }
    // The segment contains or follows a false claim. Contradictions of the log were found above.
    guard judged.claims[segment.author] == nil else { return false }
    if isOver(segment, after: head) { return refuse(segment, at: place, after: head, in: zone) }
    let before = head.sequence
    Probe.partOfSegmentKnown.hit(if: segment.first <= before)
    guard try take(segment, at: place, from: &head, on: &zone) else {
      queues[place].segments.removeFirst()
      impossible.append(segment)
      return true
    }
    if head.sequence == segment.last {
      queues[place].segments.removeFirst()
      complete.append(segment)
    }
    return head.sequence > before || judged.claims[segment.author] != nil
  }

  /// Whether the epoch of an author's next segment was over for its author.
  ///
  /// The answer does not depend on how much of the segment is applied, so it is found once.
  private mutating func isOver(_ segment: OpenedSegment, after head: LogHead) -> Bool {
    guard let isOver else { return false }
    if let known = overs[segment.digest] { return known }
    let answer = controlHeads(at: segment, from: head).map { isOver(segment, $0) } ?? false
    overs[segment.digest] = answer
    return answer
  }

  /// Notes a segment that continues another history than the applied one.
  ///
  /// In a data zone, everybody ends a forked log at the first change proven to differ, which is the
  /// last applied change or one before it. In the control zone, every other continuation is shown.
  private mutating func noteOtherContinuation(
    _ segment: OpenedSegment, _ head: inout LogHead, _ zone: inout ZoneState
  ) {
    let sequence = causes.isControlZone ? max(segment.first, head.sequence) : head.sequence
    note(Fork(author: segment.author, sequence: sequence, segment: segment), &head, &zone)
  }

  /// Refuses an author's next segment, whose epoch was over, once its causes are applied.
  ///
  /// A removal that the author cites may be void by what the author had seen besides.
  ///
  /// - Returns: Whether the segment was refused.
  private mutating func refuse(
    _ segment: OpenedSegment, at place: Int, after head: LogHead, in zone: ZoneState
  ) -> Bool {
    if let missing = missingCause(of: segment, after: head, in: zone) {
      lacking[place] = missing
      return false
    }
    queues[place].segments.removeFirst()
    refused.append(segment)
    return true
  }

  /// Removes segments that do not reach beyond the applied log, even behind a pending segment.
  ///
  /// - Returns: Whether a fork was found.
  private mutating func passOutrun(on zone: inout ZoneState) -> Bool {
    let known = forks.count
    for place in queues.indices where queues[place].segments.count > 1 {
      var head = zone.head(of: queues[place].author)
      var kept: [OpenedSegment] = []
      for segment in queues[place].segments {
        if head.forkedAt == nil, segment.last <= head.sequence {
          pass(segment, &head, &zone)
        } else {
          kept.append(segment)
        }
      }
      queues[place].segments = kept[...]
    }
    return forks.count > known
  }

  /// Notes a segment that does not reach beyond the applied log.
  ///
  /// The segment contains nothing new, or different content of the last change.
  private mutating func pass(
    _ segment: OpenedSegment, _ head: inout LogHead, _ zone: inout ZoneState
  ) {
    if segment.last == head.sequence {
      guard segment.hash(after: segment.last) == head.hash else {
        note(Fork(author: segment.author, sequence: segment.last, segment: segment), &head, &zone)
        return
      }
    } else if let held = begun(segment.author, segment.last),
      held.hash(after: segment.last) != segment.hash(after: segment.last)
    {
      // The segment parts from the counted history before its end, which stays until this is
      // proven.
      forks.append(
        Fork(author: segment.author, sequence: segment.last, segment: segment, applied: held))
      return
    }
    Probe.segmentCovered.hit()
    covered.append(segment)
  }

  /// A segment in memory with an applied change.
  private func begun(_ author: Author, _ sequence: UInt64) -> OpenedSegment? {
    taken[author]?.holder(of: sequence) ?? judged.partlyApplied(author, sequence)
  }

  /// What the author of a segment had seen of the control zone at the segment's end; nil if that is
  /// impossible.
  private func controlHeads(at segment: OpenedSegment, from head: LogHead) -> Frontier? {
    segment.changes.reduce(head.controlSeen) { heads, change in
      change.dot.sequence > head.sequence ? heads?.raised(by: change.controlSeen) : heads
    }
  }

  /// The first missing cause of the changes of a segment that continue an author's head.
  private mutating func missingCause(
    of segment: OpenedSegment, after head: LogHead, in zone: ZoneState
  ) -> MissingCause? {
    // What was found once stays, so each change is looked at as often as something was missing.
    var (sequence, controlSeen) = (head.sequence, head.controlSeen)
    if let known = reviewed[segment.digest], known.sequence > sequence {
      (sequence, controlSeen) = known
    }
    defer { reviewed[segment.digest] = (sequence, controlSeen) }
    for change in segment.changes[Int(sequence + 1 - segment.first)...] {
      guard let raised = CausalQueue.raised(controlSeen, by: change.controlSeen) else { return nil }
      let missing = causes.missing(
        in: change.seen, controlSeen: raised, zone, claims: judged.claims)
      if let missing, missing.dot.author != segment.author { return missing }
      (sequence, controlSeen) = (change.dot.sequence, raised)
    }
    return nil
  }

  /// Takes an author's next changes as far as their causes are applied.
  ///
  /// - Returns: False if the log's very first change is impossible, so there is nothing to keep.
  private mutating func take(
    _ segment: OpenedSegment, at place: Int, from head: inout LogHead, on zone: inout ZoneState
  ) throws -> Bool {
    if evidence != nil, taken[head.author]?.last?.digest != segment.digest {
      taken[head.author, default: []].append(segment)
    }
    lacking[place] = nil
    let before = head.sequence
    seen.begin(with: head)
    while head.sequence < segment.last, head.forkedAt == nil {
      if let end = zone.forkEnds[head.author], head.sequence + 1 >= end {
        head.forkedAt = end
        break
      }
      let change = segment.changes[Int(head.sequence + 1 - segment.first)]
      guard let seen = CausalQueue.raised(head.seen, by: change.seen),
        let controlSeen = CausalQueue.raised(head.controlSeen, by: change.controlSeen),
        causes.isControlZone || controlSeen[head.author] > 0 || Mutant.livesNeedNoPlace.isActive
      else {
        guard head.sequence > 0 else { return false }
        // The earlier changes of the segment count, so the segment is kept with the pending ones.
        head.forkedAt = change.dot.sequence
        forks.append(
          Fork(
            author: head.author, sequence: change.dot.sequence, segment: segment, isDouble: false))
        break
      }
      let missing = causes.missing(
        in: change.seen, controlSeen: controlSeen, zone, claims: judged.claims)
      if let missing {
        Probe.partOfSegmentTaken.hit(if: head.sequence >= segment.first)
        lacking[place] = missing
        break
      }
      var past = seen
      if !Mutant.forgetsOwnPast.isActive { past.advance(head.author, to: head.sequence) }
      guard
        try hasSeen(
          change, of: place, after: head, past: past, controlSeen: controlSeen, in: zone)
      else { break }
      ready.append(change)
      (head.seen, head.controlSeen) = (seen, controlSeen)
      advance(&head, over: change, of: segment)
    }
    if head.sequence > 0 { zone.set(head) }
    let begin = Int(before + 1 - segment.first)
    noteCitations(segment.changes[begin..<begin + Int(head.sequence - before)], in: zone)
    return true
  }

  /// Moves a head over an applied change, and holds the log back where it must end again.
  private func advance(_ head: inout LogHead, over change: Change, of segment: OpenedSegment) {
    head.sequence = change.dot.sequence
    head.hash = segment.hash(after: change.dot.sequence)
    head.time = change.time
    if let end = ends.first(where: { $0.author == head.author && $0.sequence == head.sequence }) {
      head.forkedAt = end.forkedAt
    }
  }

  /// Lets logs that applied changes of one author cite ask for a place again.
  private mutating func noteCitations(_ applied: ArraySlice<Change>, in zone: ZoneState) {
    causes.room.note(applied, in: zone)
    guard !placeless.isEmpty else { return }
    for cited in applied.lazy.flatMap(\.seen.heads) {
      let place = queues.partitionPoint { $0.author >= cited.author }
      if place < queues.count, queues[place].author == cited.author { placeless.remove(place) }
    }
  }

  /// A frontier raised by what a change saw; nil if a count or the number of authors exceeds its
  /// limit.
  ///
  /// No honest author exceeds these limits.
  private static func raised(_ frontier: Frontier, by news: FrontierDifference) -> Frontier? {
    guard let raised = frontier.raised(by: news), raised.entries.count <= Limits.maximumAuthors
    else { return nil }
    return raised
  }

  /// The results that the next slice of the batch needs.
  func judged(in zone: ZoneState) -> JudgedLogs {
    var judged = judged
    if evidence != nil { judged.keep(waiting.map(\.segment), in: zone) }
    return judged
  }

  /// Whether the author of a change can have seen what it newly cites.
  ///
  /// If it cannot, its log is held back from this change on.
  private mutating func hasSeen(
    _ change: Change, of place: Int, after head: LogHead, past: Frontier, controlSeen: Frontier,
    in zone: ZoneState
  ) throws -> Bool {
    guard let evidence, !change.seen.isEmpty || !change.controlSeen.isEmpty else { return true }
    if judged.claims.isEmpty, ends.isEmpty,
      CitationJudge.isEvident(
        change, past: past, controlSeen: controlSeen, in: zone, evidence.control)
    {
      return true
    }
    let judge = CitationJudge(
      data: .init(
        zone: zone, room: causes.room, claims: judged.claims, uncertain: judged.uncertain,
        ends: ends, isControl: false
      ) { [taken, judged] author, sequence in
        if let head = try evidence.base(author, sequence) { return .inBase(head) }
        // Segments of this batch are not in the store yet.
        if let holder = taken[author]?.holder(of: sequence)
          ?? judged.partlyApplied(author, sequence)
        {
          return .excerpt(evidence.memory.excerpt(of: holder.digest) { LogExcerpt(holder) })
        }
        return try evidence.log(author, sequence)
      },
      control: .init(
        zone: evidence.control, room: causes.room, isControl: true, find: evidence.controlLog))
    switch try judge.judge(change, after: head, past: past, controlSeen: controlSeen) {
    case .proven(let isCertain):
      if !isCertain { judged.noteUncertain(change.dot) }
      return true
    case .missing(let dot, let isControl):
      lacking[place] = MissingCause(dot: dot, isControl: isControl)
      return false
    case .refuted(let kind, let cited, let isControl, let isCertain):
      Probe.falseClaimSeen.hit()
      if !isCertain { judged.noteUncertain(change.dot) }
      let claim = FalseClaim(
        author: head.author, sequence: change.dot.sequence, kind: kind, cited: cited,
        isControl: isControl)
      judged.claims[head.author] = claim
      falseClaims.append(claim)
      return false
    }
  }

  private mutating func note(_ fork: Fork, _ head: inout LogHead, _ zone: inout ZoneState) {
    Probe.forkSeen.hit()
    head.forkedAt = fork.sequence
    zone.set(head)
    var fork = fork
    fork.applied = taken[fork.author]?.holder(of: fork.sequence)
    forks.append(fork)
  }

  private func waiting(
    _ segment: OpenedSegment, for missing: MissingCause?, in zone: ZoneState
  ) -> Waiting {
    let head = zone.head(of: segment.author)
    var wait = PendingWait(
      isPartlyApplied: segment.first <= head.sequence && segment.agrees(with: head))
    wait.note(segment.changes.drop { $0.dot.sequence <= head.sequence })
    func waiting(for reason: PendingReason) -> Waiting {
      Waiting(segment: segment, reason: reason, wait: wait)
    }
    // This includes a log that ends before its first change.
    let end = zone.forkEnds[segment.author] ?? .max
    if head.forkedAt != nil || head.sequence + 1 >= end { return waiting(for: .quarantine) }
    if let claim = judged.claims[segment.author] {
      guard segment.first <= claim.sequence, claim.sequence <= segment.last else {
        return waiting(for: .gap)
      }
      wait.claim = claim
      return waiting(for: .falseClaim)
    }
    guard segment.first <= head.sequence + 1 else {
      Probe.gapInLog.hit()
      return waiting(for: .gap)
    }
    (causes.isControlZone ? Probe.causeMissingInControl : .causeMissing).hit()
    // A segment without a missing cause of its own waits behind a partly applied segment of its
    // log.
    let cause =
      missing
      ?? MissingCause(
        dot: Dot(author: segment.author, sequence: head.sequence + 1), isControl: false)
    wait.missing = cause.dot
    wait.isInControl = cause.isControl
    return waiting(for: .cause)
  }
}

extension [OpenedSegment] {
  /// A segment that contains a change, from one author's segments in order of first change.
  fileprivate func holder(of sequence: UInt64) -> OpenedSegment? {
    var place = partitionPoint { $0.first > sequence }
    while place > 0, sequence - self[place - 1].first < UInt64(Limits.maximumSegmentChanges) {
      place -= 1
      if sequence <= self[place].last { return self[place] }
    }
    return nil
  }
}

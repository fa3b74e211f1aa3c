import HearthCRDT

/// Orders opened segments of one zone: each author's changes in sequence, each change after its
/// causes.
///
/// A pure value. It verifies each author's chain where segments meet, moves the heads of the zone
/// state it is given, and says what is to be applied, what is complete, and what still waits.
struct CausalQueue {
  /// A change that may be applied now.
  struct Ready {
    let change: Change
    /// Everything its author had seen, its own earlier changes included.
    let past: Frontier
    /// The membership operations that its author had seen.
    var controlSeen = Frontier()
  }

  /// An author that published two histories, or a change that no rule allows.
  struct Fork {
    let author: Author
    /// The first sequence number known to have two contents, or none that counts.
    let sequence: UInt64
    /// The segment that contradicts what was applied.
    let segment: OpenedSegment
    /// Whether there are two histories; false for an impossible change.
    var isDouble = true
  }

  /// The changes to apply, causes first.
  private(set) var ready: [Ready] = []
  /// The segments of which every change is applied.
  private(set) var complete: [OpenedSegment] = []
  /// The segments that held nothing new.
  private(set) var covered: [OpenedSegment] = []
  /// The segments that wait, with their reason.
  private(set) var waiting: [(OpenedSegment, PendingReason)] = []
  /// The contradictions found.
  private(set) var forks: [Fork] = []
  /// The segments beyond the limits of the zone: they are not kept.
  private(set) var refused: [OpenedSegment] = []
  /// The changes that cite what their authors cannot have seen.
  private(set) var falseClaims: [FalseClaim] = []

  private var queues: [(author: Author, segments: [OpenedSegment])] = []
  /// The segments of this batch of which something is applied, by author.
  private var taken: [Author: [OpenedSegment]] = [:]
  private var claims: ClaimedLogs
  private let control: Frontier?
  private let room: AuthorRoom
  private let evidence: CitedEvidence?
  private let ends: [LogHead]
  private let isOver: ((OpenedSegment, Frontier) -> Bool)?

  /// - Parameters:
  ///   - control: the frontier of the group's control zone, for a data zone: a change waits until
  ///     the membership operations that its author had seen are here.
  ///   - ends: where the logs of authors are to be held back again, when a zone is built anew.
  ///   - isOver: whether a segment's epoch was over in the eyes of its author, who had seen these
  ///     membership operations; nil where segments were judged before.
  ///   - room: which authors have a place.
  ///   - claims: what earlier slices of the same batch have left.
  ///   - evidence: where what is cited is looked up; nil in a control zone, whose citations are
  ///     judged when its operations are folded.
  init(
    _ segments: [OpenedSegment], control: Frontier?, ends: [LogHead] = [], room: AuthorRoom,
    claims: ClaimedLogs = ClaimedLogs(), evidence: CitedEvidence? = nil,
    isOver: ((OpenedSegment, Frontier) -> Bool)? = nil
  ) {
    self.control = control
    self.ends = ends
    self.isOver = isOver
    self.room = room
    self.claims = claims
    self.evidence = evidence
    for author in Set(segments.map(\.author)).sorted() {
      let own = segments.filter { $0.author == author }
      queues.append(
        (author, own.sorted { $0.first != $1.first ? $0.first < $1.first : $0.last > $1.last }))
    }
  }

  /// Takes everything that can be taken, until nothing moves.
  mutating func run(on zone: inout ZoneState) throws {
    var moved = true
    while moved {
      moved = false
      for place in queues.indices {
        while try step(place, on: &zone) { moved = true }
      }
    }
    if Mutant.countsEachDelivery.isActive, ready.isEmpty {
      for segment in covered {
        ready += segment.changes.map { Ready(change: $0, past: Frontier()) }
      }
    }
    for queue in queues {
      for segment in queue.segments {
        waiting.append((segment, reason(of: segment, in: zone)))
      }
    }
  }

  /// Takes what it can of an author's next segment; whether anything moved.
  private mutating func step(_ place: Int, on zone: inout ZoneState) throws -> Bool {
    guard let segment = queues[place].segments.first, claims.held[segment.author] == nil else {
      return false
    }
    var head = zone.head(of: queues[place].author)
    guard room.admits(head.author, in: zone) else {
      queues[place].segments.removeFirst()
      refused.append(segment)
      return true
    }
    if Mutant.skipsGaps.isActive, segment.first > head.sequence + 1 {
      (head.sequence, head.hash) = (segment.first - 1, segment.chain[0])
    }
    guard head.forkedAt == nil, segment.first <= head.sequence + 1 else { return false }
    guard segment.last > head.sequence else {
      queues[place].segments.removeFirst()
      if segment.last == head.sequence, segment.hash(after: segment.last) != head.hash {
        note(Fork(author: segment.author, sequence: segment.last, segment: segment), &head, &zone)
      } else {
        Probe.segmentCovered.hit()
        covered.append(segment)
      }
      return true
    }
    guard segment.hash(after: head.sequence) == head.hash else {
      queues[place].segments.removeFirst()
      let sequence = max(segment.first, head.sequence)
      note(Fork(author: segment.author, sequence: sequence, segment: segment), &head, &zone)
      return true
    }
    if let isOver, let heads = controlHeads(at: segment, from: head), isOver(segment, heads) {
      queues[place].segments.removeFirst()
      refused.append(segment)
      return true
    }
    let before = head.sequence
    Probe.partOfSegmentKnown.hit(if: segment.first <= before)
    guard try take(segment, from: &head, on: &zone) else {
      queues[place].segments.removeFirst()
      refused.append(segment)
      return true
    }
    if head.sequence == segment.last {
      queues[place].segments.removeFirst()
      complete.append(segment)
    }
    return head.sequence > before || claims.held[segment.author] != nil
  }

  /// What the author of a segment had seen of the control zone at its end; nil if that cannot be.
  private func controlHeads(at segment: OpenedSegment, from head: LogHead) -> Frontier? {
    var heads: Frontier? = control == nil ? head.seen : head.controlSeen
    for change in segment.changes where change.dot.sequence > head.sequence {
      heads = heads?.raised(by: control == nil ? change.seen : change.controlSeen)
    }
    // In the control zone the author's own operations before the last one were seen as well.
    if control == nil { heads?.advance(segment.author, to: segment.last - 1) }
    return heads
  }

  /// Takes an author's next changes as far as their causes are here; false if the first change of
  /// all is impossible, which leaves nothing to keep.
  private mutating func take(
    _ segment: OpenedSegment, from head: inout LogHead, on zone: inout ZoneState
  ) throws -> Bool {
    if evidence != nil, taken[head.author]?.last?.digest != segment.digest {
      taken[head.author, default: []].append(segment)
    }
    while head.sequence < segment.last, head.forkedAt == nil {
      if let end = zone.forkEnds[head.author], head.sequence + 1 >= end {
        head.forkedAt = end
        break
      }
      let change = segment.changes[Int(head.sequence + 1 - segment.first)]
      guard let seen = CausalQueue.raised(head.seen, by: change.seen),
        let controlSeen = CausalQueue.raised(head.controlSeen, by: change.controlSeen),
        control == nil || controlSeen[head.author] > 0 || Mutant.livesNeedNoPlace.isActive
      else {
        guard head.sequence > 0 else { return false }
        // What came before it in the segment counts, so the segment is kept with what waits.
        head.forkedAt = change.dot.sequence
        forks.append(
          Fork(
            author: head.author, sequence: change.dot.sequence, segment: segment, isDouble: false))
        break
      }
      guard isKnown(change.seen, in: zone),
        control.map({ $0.covers(controlSeen) }) ?? true || Mutant.skipsControlCauses.isActive
      else {
        Probe.partOfSegmentTaken.hit(if: head.sequence >= segment.first)
        break
      }
      var past = seen
      if !Mutant.forgetsOwnPast.isActive { past.advance(head.author, to: head.sequence) }
      guard
        try hasSeen(change, after: head, past: past, controlSeen: controlSeen, in: zone)
      else { break }
      ready.append(Ready(change: change, past: past, controlSeen: controlSeen))
      head.sequence = change.dot.sequence
      head.hash = segment.hash(after: change.dot.sequence)
      head.time = change.time
      head.seen = seen
      head.controlSeen = controlSeen
      if let end = ends.first(where: { $0.author == head.author && $0.sequence == head.sequence }) {
        head.forkedAt = end.forkedAt
      }
    }
    if head.sequence > 0 { zone.set(head) }
    return true
  }

  /// A frontier raised by what a change saw; nil where a count or the number of authors would pass
  /// its limit, which no honest author's does.
  private static func raised(_ frontier: Frontier, by news: FrontierDifference) -> Frontier? {
    guard let raised = frontier.raised(by: news), raised.entries.count <= Limits.maximumAuthors
    else { return nil }
    return raised
  }

  /// What the next slice of the batch has to know.
  func claims(in zone: ZoneState) -> ClaimedLogs {
    var claims = claims
    if evidence != nil { claims.keep(waiting.map(\.0), in: zone) }
    return claims
  }

  /// Whether what the change newly saw is here; what a forked author wrote after its fork, and what
  /// an author beyond the limits wrote, is not waited for.
  private func isKnown(_ news: FrontierDifference, in zone: ZoneState) -> Bool {
    news.heads.allSatisfy { cited in
      zone.reaches(cited.author, cited.sequence)
        || zone.head(of: cited.author).forkedAt != nil
        || (claims.held[cited.author].map { $0 <= cited.sequence } ?? false)
        || !room.admits(cited.author, in: zone) || Mutant.skipsCauses.isActive
    }
  }

  /// Whether the author of a change can have seen what it newly cites; where not, its log is held
  /// back from there on.
  private mutating func hasSeen(
    _ change: Change, after head: LogHead, past: Frontier, controlSeen: Frontier,
    in zone: ZoneState
  ) throws -> Bool {
    guard let evidence, !change.seen.isEmpty || !change.controlSeen.isEmpty else { return true }
    let judge = CitationJudge(
      data: .init(zone: zone, room: room, held: claims.held) { [taken, claims] author, sequence in
        // What came in this batch is not in the store yet.
        if let holder = taken[author]?.holder(of: sequence) ?? claims.begun(author, sequence) {
          return .excerpt(evidence.memory.excerpt(of: holder.digest) { LogExcerpt(holder) })
        }
        return try evidence.log(author, sequence)
      },
      control: .init(zone: evidence.control, room: room, find: evidence.controlLog))
    switch try judge.judge(change, after: head, past: past, controlSeen: controlSeen) {
    case .proven: return true
    case .missing: return false
    case .refuted(let kind, let cited, let isControl):
      Probe.falseClaimSeen.hit()
      claims.held[head.author] = change.dot.sequence
      falseClaims.append(
        FalseClaim(
          author: head.author, sequence: change.dot.sequence, kind: kind, cited: cited,
          isControl: isControl))
      return false
    }
  }

  private mutating func note(_ fork: Fork, _ head: inout LogHead, _ zone: inout ZoneState) {
    Probe.forkSeen.hit()
    head.forkedAt = fork.sequence
    zone.set(head)
    forks.append(fork)
  }

  private func reason(of segment: OpenedSegment, in zone: ZoneState) -> PendingReason {
    let head = zone.head(of: segment.author)
    if head.forkedAt != nil { return .quarantine }
    if let claim = claims.held[segment.author] {
      return segment.first <= claim && claim <= segment.last ? .falseClaim : .gap
    }
    let isGap = segment.first > head.sequence + 1
    (isGap ? Probe.gapInLog : control == nil ? .causeMissingInControl : .causeMissing).hit()
    return isGap ? .gap : .cause
  }
}

/// What one slice of a batch leaves to the next: where logs are held back, and what is applied in
/// part and so not in the log yet.
struct ClaimedLogs {
  /// The first change of each log that is held back for a false claim.
  fileprivate(set) var held: [Author: UInt64] = [:]
  /// The segment of each log of which a part is applied.
  private var begun: [Author: OpenedSegment] = [:]

  init(held: [Author: UInt64] = [:]) {
    self.held = held
  }

  /// The segment of a log that holds a change which is applied here, while others of it wait.
  func begun(_ author: Author, _ sequence: UInt64) -> OpenedSegment? {
    begun[author].flatMap { $0.first <= sequence && sequence <= $0.last ? $0 : nil }
  }

  /// Keeps of what waits that of which a part is applied.
  fileprivate mutating func keep(_ waiting: [OpenedSegment], in zone: ZoneState) {
    for author in begun.keys.sorted() {
      guard let segment = begun[author], zone.head(of: author).sequence >= segment.last else {
        continue
      }
      begun[author] = nil
    }
    for segment in waiting where segment.first <= zone.head(of: segment.author).sequence {
      begun[segment.author] = segment
    }
  }
}

/// Where a batch's citations are looked up.
struct CitedEvidence {
  /// The group's control zone.
  let control: ZoneState
  /// Finds a stretch of a log of the zone.
  let log: (Author, UInt64) throws -> CitedLog
  /// The same of the control zone.
  let controlLog: (Author, UInt64) throws -> CitedLog
  /// Excerpts of segments that were looked into.
  let memory: ExcerptMemory
}

extension [OpenedSegment] {
  /// Of one author's segments in order of their first change, one that holds a change.
  fileprivate func holder(of sequence: UInt64) -> OpenedSegment? {
    var place = partitionPoint { $0.first > sequence }
    while place > 0, sequence - self[place - 1].first < UInt64(Limits.maximumSegmentChanges) {
      place -= 1
      if sequence <= self[place].last { return self[place] }
    }
    return nil
  }
}

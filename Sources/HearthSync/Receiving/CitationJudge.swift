import HearthCRDT

/// Judges whether the author of a change can have seen what the change cites.
///
/// The verdict is a pure function of the logs up to the cited changes, and of the common ends of
/// logs. Whatever the order of arrival, all nodes with the same data reach the same verdict
/// (decision 0061). The cost is proportional to the new citations.
///
/// A node that bootstrapped from a snapshot cannot compare citations below it. It accepts such a
/// change and notes it as uncertain: other nodes may have ended that log there. The node therefore
/// refutes nobody for not having seen changes behind an uncertain one, and a verdict that depends
/// on an uncertain change is uncertain too.
struct CitationJudge {
  /// The result of a judgement.
  enum Verdict: Equatable {
    /// The author had the cited changes; uncertain if nodes with the full history may refute that.
    case proven(isCertain: Bool)
    /// A change needed for the judgement is missing or unreadable.
    case missing(Dot, isControl: Bool)
    /// The author cannot have had the cited change.
    case refuted(FalseClaim.Kind, cited: Dot, isControl: Bool, isCertain: Bool)
  }

  /// The logs of one zone.
  struct Logs {
    let zone: ZoneState
    /// The authors that the zone admits.
    let room: AuthorRoom
    /// The false claims for which logs are held back.
    var claims: [Author: FalseClaim] = [:]
    /// The first change of each log that others may judge differently.
    var uncertain: [Author: UInt64] = [:]
    /// Where logs that ended without proof stood, during a rebuild.
    var ends: [LogHead] = []
    let isControl: Bool
    /// Finds a stretch of a log that contains a change.
    let find: (Author, UInt64) throws -> CitedLog

    /// The sequence number up to which an author's log is the same for everybody who cites it.
    ///
    /// The log ends before the first change of a fork, a false claim or an impossible change. The
    /// limit is zero if that end is unknown, or if the log is not admitted.
    func limit(of author: Author) -> UInt64 {
      let ends = [zone.forkEnds[author], claims[author]?.sequence].compactMap { $0 }
      if let end = ends.min() { return end - 1 }
      let head = self.ends.first { $0.author == author } ?? zone.head(of: author)
      // An end directly after the last change is an impossible change. Otherwise the log forks, and
      // nobody has shown where the two histories part.
      if let end = head.forkedAt { return end > head.sequence ? end - 1 : 0 }
      let isAwaited =
        isControl ? room.isAwaitedInControl(author) : room.isAwaited(author, in: zone)
      return isAwaited ? .max : 0
    }

    /// Whether others may judge a change of a log, or one before it, differently.
    func isUncertain(_ author: Author, through sequence: UInt64) -> Bool {
      guard let first = uncertain[author] else { return false }
      return first <= sequence && first < zone.forkEnds[author] ?? .max
    }
  }

  /// The zone of the changes.
  let data: Logs
  /// The group's control zone.
  let control: Logs

  /// The judged author: what it claims to have seen, and whether the verdict is certain so far.
  private struct JudgedAuthor {
    let past: Frontier
    let controlSeen: Frontier
    var isCertain = true
  }

  /// Whether a change only cites the newest changes of logs that go on, and its author had seen all
  /// that those had seen.
  ///
  /// That is what most changes do; they need no judge, who would say that they are proven.
  static func isEvident(
    _ change: Change, past: Frontier, controlSeen: Frontier, in zone: ZoneState,
    _ control: ZoneState
  ) -> Bool {
    func isNewest(_ cited: CitedHead, in zone: ZoneState, by seen: Frontier) -> Bool {
      let head = zone.head(of: cited.author)
      return cited.sequence == head.sequence && cited.hash == CitedHead.prefix(of: head.hash)
        && head.forkedAt == nil && seen.covers(head.seen) && controlSeen.covers(head.controlSeen)
    }
    return zone.forkEnds.isEmpty && control.forkEnds.isEmpty
      && change.seen.heads.allSatisfy { isNewest($0, in: zone, by: past) }
      && change.controlSeen.heads.allSatisfy { isNewest($0, in: control, by: controlSeen) }
  }

  /// Judges a change whose causes are applied.
  ///
  /// - Parameters:
  ///   - head: The author's log before the change.
  ///   - past: Everything that the author claims to have seen, including its own log.
  ///   - controlSeen: Everything that the author claims to have seen of the control zone.
  func judge(
    _ change: Change, after head: LogHead, past: Frontier, controlSeen: Frontier
  ) throws -> Verdict {
    var judged = JudgedAuthor(past: past, controlSeen: controlSeen)
    for cited in change.seen.heads {
      if let fault = try fault(in: cited, from: head.seen[cited.author], data, &judged) {
        return fault
      }
    }
    for cited in change.controlSeen.heads {
      if let fault = try fault(in: cited, from: head.controlSeen[cited.author], control, &judged) {
        return fault
      }
    }
    return .proven(isCertain: judged.isCertain)
  }

  /// The fault in a citation; nil if there is none.
  private func fault(
    in cited: CitedHead, from known: UInt64, _ logs: Logs, _ judged: inout JudgedAuthor
  ) throws -> Verdict? {
    let limit = logs.limit(of: cited.author)
    let head = logs.zone.head(of: cited.author)
    if cited.sequence <= limit {
      if let fault = try contentFault(in: cited, head, logs, &judged) { return fault }
    } else if logs.isUncertain(cited.author, through: limit + 1) {
      judged.isCertain = false
    }
    // What a log's newest change had seen covers what all earlier ones had seen. An author who has
    // seen that much needs no check per change, which could span the whole log.
    if cited.sequence <= head.sequence,
      (logs.isControl ? judged.controlSeen : judged.past).covers(head.seen),
      judged.controlSeen.covers(head.controlSeen)
    {
      return nil
    }
    let end = min(cited.sequence, limit, head.sequence)
    var next = known + 1
    while next <= end {
      switch try logs.find(cited.author, next) {
      case .unreadable:
        return .missing(
          Dot(author: cited.author, sequence: next), isControl: logs.isControl)
      case .inBase(let base):
        if base.sequence <= end {
          func heads(_ frontier: Frontier) -> [CitedHead] {
            frontier.entries.map { CitedHead(author: $0.author, sequence: $0.sequence, hash: 0) }
          }
          let news = LogExcerpt.News(
            sequence: base.sequence, seen: heads(base.seen), controlSeen: heads(base.controlSeen))
          if let fault = pastFault(at: news, of: cited.author, logs, &judged) { return fault }
        }
        next = base.sequence + 1
      case .excerpt(let excerpt):
        let start = excerpt.news.partitionPoint { $0.sequence >= next }
        for news in excerpt.news[start...] {
          guard news.sequence <= end else { break }
          if let fault = pastFault(at: news, of: cited.author, logs, &judged) { return fault }
        }
        next = excerpt.last + 1
      }
    }
    return nil
  }

  /// The fault in the content of a cited change.
  private func contentFault(
    in cited: CitedHead, _ head: LogHead, _ logs: Logs, _ judged: inout JudgedAuthor
  ) throws -> Verdict? {
    let dot = Dot(author: cited.author, sequence: cited.sequence)
    guard head.sequence >= cited.sequence else {
      return .missing(dot, isControl: logs.isControl)
    }
    let hash: UInt64
    if cited.sequence == head.sequence {
      hash = CitedHead.prefix(of: head.hash)
    } else {
      switch try logs.find(cited.author, cited.sequence) {
      case .unreadable: return .missing(dot, isControl: logs.isControl)
      case .excerpt(let excerpt): hash = excerpt.hash(after: cited.sequence)
      case .inBase(let base):
        guard base.sequence == cited.sequence else {
          // The snapshot replaces the change, so neither its hash nor its past is known.
          judged.isCertain = false
          return nil
        }
        hash = CitedHead.prefix(of: base.hash)
      }
    }
    guard hash != cited.hash, !Mutant.citesByNumber.isActive else { return nil }
    return .refuted(
      .content, cited: dot, isControl: logs.isControl,
      isCertain: !logs.isUncertain(cited.author, through: cited.sequence))
  }

  /// The fault of an author who cites a change but lacks what that change had newly seen.
  private func pastFault(
    at news: LogExcerpt.News, of author: Author, _ logs: Logs, _ judged: inout JudgedAuthor
  ) -> Verdict? {
    if Mutant.citesWithoutPast.isActive { return nil }
    let isCertain = !logs.isUncertain(author, through: news.sequence)
    if !logs.isControl {
      for head in news.controlSeen {
        if let fault = unseenFault(head, control, isCertain, &judged) { return fault }
      }
    }
    for head in news.seen {
      if let fault = unseenFault(head, logs, isCertain, &judged) { return fault }
    }
    return nil
  }

  /// The fault of an author who must have seen a change but did not.
  private func unseenFault(
    _ head: CitedHead, _ logs: Logs, _ isCertain: Bool, _ judged: inout JudgedAuthor
  ) -> Verdict? {
    let seen = (logs.isControl ? judged.controlSeen : judged.past)[head.author]
    guard seen < head.sequence else { return nil }
    let limit = logs.limit(of: head.author)
    // Nobody needs to have seen changes beyond a log's end, or a log that ends earlier: a node that
    // bootstrapped from a snapshot by somebody who had ended that log may have nothing of it.
    if head.sequence > limit {
      if logs.isUncertain(head.author, through: limit + 1) { judged.isCertain = false }
      return nil
    }
    // Others may have ended that log there.
    if logs.isUncertain(head.author, through: seen + 1) {
      judged.isCertain = false
      return nil
    }
    // The incarnation may not have been admitted, because its person had used up the quota.
    if logs.room.hadNoPlace(for: head.author, knowing: judged.controlSeen) { return nil }
    let dot = Dot(author: head.author, sequence: head.sequence)
    // A snapshot may name logs that it does not fully contain; those must be judged first.
    guard logs.zone.reaches(head.author, head.sequence) else {
      return .missing(dot, isControl: logs.isControl)
    }
    return .refuted(.past, cited: dot, isControl: logs.isControl, isCertain: isCertain)
  }
}

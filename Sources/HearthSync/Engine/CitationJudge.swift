import HearthCRDT

/// Judges whether the author of a change can have seen what the change cites.
///
/// A pure function of the logs up to what is cited, and of where logs end for everybody: whatever
/// arrived first, all who have the same come to the same verdict (decision 0061). The cost follows
/// what is newly cited.
///
/// Who began from a snapshot cannot compare what is cited below it. Such a change is accepted and
/// noted as uncertain: others may have ended that log there. So nobody is refuted here for not
/// having seen what lies behind an uncertain change, and a verdict that leans on one is uncertain
/// too.
struct CitationJudge {
  /// What came of judging.
  enum Verdict: Equatable {
    /// The author had what it cites; uncertain where those who have everything may refute that.
    case proven(isCertain: Bool)
    /// A change is not here, or cannot be read, that is needed to tell.
    case missing(Dot, isControl: Bool)
    /// The author cannot have had it.
    case refuted(FalseClaim.Kind, cited: Dot, isControl: Bool, isCertain: Bool)
  }

  /// The logs of one zone.
  struct Logs {
    let zone: ZoneState
    /// Which authors have a place.
    let room: AuthorRoom
    /// For what logs are held back that make false claims.
    var claims: [Author: FalseClaim] = [:]
    /// The first change of each log that others may judge otherwise.
    var uncertain: [Author: UInt64] = [:]
    /// Where logs that ended without proof stood, when a zone is built anew.
    var ends: [LogHead] = []
    let isControl: Bool
    /// Finds a stretch of a log that holds a change.
    let find: (Author, UInt64) throws -> CitedLog

    /// Up to where an author's log is the same for everybody who cites it.
    ///
    /// Before the first change with which two histories, a false claim or an impossible change end
    /// it; zero where that is not known, or where there is no place for the log.
    func limit(of author: Author) -> UInt64 {
      let ends = [zone.forkEnds[author], claims[author]?.sequence].compactMap { $0 }
      if let end = ends.min() { return end - 1 }
      let head = self.ends.first { $0.author == author } ?? zone.head(of: author)
      // Right behind the last change stands one that cannot be; elsewhere are two histories of
      // which nobody has shown where they part.
      if let end = head.forkedAt { return end > head.sequence ? end - 1 : 0 }
      let isAwaited =
        isControl ? room.isAwaitedInControl(author) : room.isAwaited(author, in: zone)
      return isAwaited ? .max : 0
    }

    /// Whether others may have judged a change of a log, or one before it, otherwise.
    func isUncertain(_ author: Author, through sequence: UInt64) -> Bool {
      guard let first = uncertain[author] else { return false }
      return first <= sequence && first < zone.forkEnds[author] ?? .max
    }
  }

  /// The zone of the changes.
  let data: Logs
  /// The group's control zone.
  let control: Logs

  /// Who is judged: what it says to have seen, and whether the verdict is certain so far.
  private struct Judged {
    let past: Frontier
    let controlSeen: Frontier
    var isCertain = true
  }

  /// Judges a change whose causes are here.
  ///
  /// - Parameters:
  ///   - head: the author's log before it.
  ///   - past: all that the author says to have seen, its own log included.
  ///   - controlSeen: the same of the control zone.
  func judge(
    _ change: Change, after head: LogHead, past: Frontier, controlSeen: Frontier
  ) throws -> Verdict {
    var judged = Judged(past: past, controlSeen: controlSeen)
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

  /// What speaks against a citation; nil if nothing does.
  private func fault(
    in cited: CitedHead, from known: UInt64, _ logs: Logs, _ judged: inout Judged
  ) throws -> Verdict? {
    let limit = logs.limit(of: cited.author)
    let head = logs.zone.head(of: cited.author)
    if cited.sequence <= limit {
      if let fault = try contentFault(in: cited, head, logs, &judged) { return fault }
    } else if logs.isUncertain(cited.author, through: limit + 1) {
      judged.isCertain = false
    }
    // What the newest change of a log had seen covers what all before it had: whoever has seen that
    // need not be asked of each of them, which may be the whole log.
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

  /// What speaks against the content of a cited change.
  private func contentFault(
    in cited: CitedHead, _ head: LogHead, _ logs: Logs, _ judged: inout Judged
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
          // The snapshot stands for the change, so neither its hash nor its past is here.
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

  /// What a change had newly seen and the author of another, which cites it, had not.
  private func pastFault(
    at news: LogExcerpt.News, of author: Author, _ logs: Logs, _ judged: inout Judged
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

  /// What speaks against an author who must have seen a change.
  private func unseenFault(
    _ head: CitedHead, _ logs: Logs, _ isCertain: Bool, _ judged: inout Judged
  ) -> Verdict? {
    let seen = (logs.isControl ? judged.controlSeen : judged.past)[head.author]
    guard seen < head.sequence else { return nil }
    let limit = logs.limit(of: head.author)
    // Nobody needs to have seen what lies beyond a log's end, nor a log that ends before: whoever
    // began from a snapshot by somebody who had ended it may have nothing of it.
    if head.sequence > limit {
      if logs.isUncertain(head.author, through: limit + 1) { judged.isCertain = false }
      return nil
    }
    // Others may have ended that log there.
    if logs.isUncertain(head.author, through: seen + 1) {
      judged.isCertain = false
      return nil
    }
    // There may have been no place left for a life of somebody who has used up all of theirs.
    if logs.room.hadNoPlace(for: head.author, knowing: judged.controlSeen) { return nil }
    let dot = Dot(author: head.author, sequence: head.sequence)
    // A snapshot tells of logs of which it does not hold so much: first they have to be judged.
    guard logs.zone.reaches(head.author, head.sequence) else {
      return .missing(dot, isControl: logs.isControl)
    }
    return .refuted(.past, cited: dot, isControl: logs.isControl, isCertain: isCertain)
  }
}

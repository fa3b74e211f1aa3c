import HearthCRDT

/// A change whose author cannot have seen what it cites, so its author's log ends before it.
package struct FalseClaim: Equatable, Sendable {
  /// What is wrong with a citation.
  package enum Kind: Equatable, Sendable {
    /// The cited change has another content here: it was made up, or its author has two histories.
    case content
    /// Something that the cited log had seen is missing in what the author says to have seen.
    case past
  }

  /// Who wrote the change.
  package let author: Author
  /// The change's number.
  package let sequence: UInt64
  /// What is wrong.
  package let kind: Kind
  /// The change that is cited wrongly, or that the author must have seen.
  package let cited: Dot
  /// Whether it is one of the control zone.
  package let isControl: Bool
}

/// Judges whether the author of a change can have seen what the change cites.
///
/// A pure function of the logs up to what is cited, and of where logs end for everybody: whatever
/// arrived first, all who have the same come to the same verdict (decision 0061). The cost follows
/// what is newly cited.
struct CitationJudge {
  /// What came of judging.
  enum Verdict: Equatable {
    /// The author had what it cites.
    case proven
    /// What is needed to tell is not here, or cannot be read.
    case missing
    /// The author cannot have had it.
    case refuted(FalseClaim.Kind, cited: Dot, isControl: Bool)
  }

  /// The logs of one zone.
  struct Logs {
    let zone: ZoneState
    /// Which authors have a place.
    let room: AuthorRoom
    /// Where logs are held back for a false claim.
    var held: [Author: UInt64] = [:]
    /// Finds a stretch of a log that holds a change.
    let find: (Author, UInt64) throws -> CitedLog

    /// Up to where an author's log is the same for everybody who cites it.
    ///
    /// Before the first change with which two histories, or a false claim, end it; zero where that
    /// is not known.
    func limit(of author: Author) -> UInt64 {
      if let end = zone.forkEnds[author] { return end - 1 }
      if let claim = held[author] { return claim - 1 }
      return zone.head(of: author).forkedAt == nil ? .max : 0
    }

    /// Whether somebody who had seen so much had seen a change, as far as that can be asked.
    func covers(_ head: CitedHead, in seen: Frontier) -> Bool {
      seen[head.author] >= head.sequence
        || seen[head.author] >= min(head.sequence, limit(of: head.author))
        // Others may have had no place left for a life of somebody who has used up all of theirs.
        || room.isCrowded(head.author.device)
    }
  }

  /// The zone of the changes.
  let data: Logs
  /// The group's control zone; nil where that is the zone of the changes.
  let control: Logs?

  /// Judges a change whose causes are here.
  ///
  /// - Parameters:
  ///   - head: the author's log before it.
  ///   - past: all that the author says to have seen, its own log included.
  ///   - controlSeen: the same of the control zone.
  func judge(
    _ change: Change, after head: LogHead, past: Frontier, controlSeen: Frontier
  ) throws -> Verdict {
    for cited in change.seen.heads {
      let verdict = try judge(
        cited, from: head.seen[cited.author], in: data, isControl: false, past, controlSeen)
      guard verdict == .proven else { return verdict }
    }
    guard let control else { return .proven }
    for cited in change.controlSeen.heads {
      let verdict = try judge(
        cited, from: head.controlSeen[cited.author], in: control, isControl: true, controlSeen,
        controlSeen)
      guard verdict == .proven else { return verdict }
    }
    return .proven
  }

  private func judge(
    _ cited: CitedHead, from known: UInt64, in logs: Logs, isControl: Bool, _ past: Frontier,
    _ controlSeen: Frontier
  ) throws -> Verdict {
    let limit = logs.limit(of: cited.author)
    let head = logs.zone.head(of: cited.author)
    if cited.sequence <= limit {
      guard head.sequence >= cited.sequence else { return .missing }
      guard let hash = try hash(after: cited, head, in: logs) else { return .missing }
      guard hash == .some(cited.hash) || hash == .some(nil) || Mutant.citesByNumber.isActive else {
        return .refuted(
          .content, cited: Dot(author: cited.author, sequence: cited.sequence),
          isControl: isControl)
      }
    }
    // What the newest change of a log had seen covers what all before it had.
    if cited.sequence == head.sequence, past.covers(head.seen),
      isControl || controlSeen.covers(head.controlSeen)
    {
      return .proven
    }
    let end = min(cited.sequence, limit, head.sequence)
    var next = known + 1
    while next <= end {
      switch try logs.find(cited.author, next) {
      case .unreadable: return .missing
      case .inBase(let base):
        if let missing = missing(of: base, through: end, isControl, past, controlSeen) {
          return missing
        }
        next = base.sequence + 1
      case .excerpt(let excerpt):
        for news in excerpt.news where next <= news.sequence && news.sequence <= end {
          if let missing = missing(of: news, in: logs, isControl, past, controlSeen) {
            return missing
          }
        }
        next = excerpt.last + 1
      }
    }
    return .proven
  }

  /// The hash of a cited change; `.some(nil)` where the snapshot that the zone began from stands
  /// for it, nil where it cannot be read.
  private func hash(after cited: CitedHead, _ head: LogHead, in logs: Logs) throws -> UInt64?? {
    if cited.sequence == head.sequence { return CitedHead.prefix(of: head.hash) }
    switch try logs.find(cited.author, cited.sequence) {
    case .excerpt(let excerpt): return excerpt.hash(after: cited.sequence)
    case .unreadable: return nil
    case .inBase(let base):
      return base.sequence == cited.sequence ? CitedHead.prefix(of: base.hash) : .some(nil)
    }
  }

  /// What a change had newly seen and the author of another, which cites it, had not.
  private func missing(
    of news: LogExcerpt.News, in logs: Logs, _ isControl: Bool, _ past: Frontier,
    _ controlSeen: Frontier
  ) -> Verdict? {
    if Mutant.citesWithoutPast.isActive { return nil }
    if let head = news.seen.first(where: { !logs.covers($0, in: past) }) {
      return refuted(head, isControl)
    }
    if let control,
      let head = news.controlSeen.first(where: { !control.covers($0, in: controlSeen) })
    {
      return refuted(head, true)
    }
    return nil
  }

  /// The same of a log as a snapshot states it, where it is cited as far or further.
  private func missing(
    of base: LogHead, through end: UInt64, _ isControl: Bool, _ past: Frontier,
    _ controlSeen: Frontier
  ) -> Verdict? {
    guard base.sequence <= end else { return nil }
    func heads(_ frontier: Frontier) -> [CitedHead] {
      frontier.entries.map { CitedHead(author: $0.author, sequence: $0.sequence, hash: 0) }
    }
    let news = LogExcerpt.News(
      sequence: base.sequence, seen: heads(base.seen), controlSeen: heads(base.controlSeen))
    return missing(of: news, in: isControl ? control ?? data : data, isControl, past, controlSeen)
  }

  private func refuted(_ head: CitedHead, _ isControl: Bool) -> Verdict {
    .refuted(
      .past, cited: Dot(author: head.author, sequence: head.sequence), isControl: isControl)
  }
}

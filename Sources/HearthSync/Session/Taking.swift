import HearthCRDT

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
  private var news = News()

  fileprivate init(zone: ZoneID, listing: TransportListing, pending: [PendingEntry]) {
    self.zone = zone
    self.listing = listing
    known = Set(pending.map(\.digest))
    unread = pending.count { $0.reason == .format }
    waiting = pending.count - unread
  }

  /// Notes that a file could not be fetched or is known to be of no use.
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
}

extension Engine {
  /// How often a zone's listing is planned anew in one round where files cannot be used.
  static var maximumRounds: Int { 64 }

  /// Begins to take what a transport holds of a zone.
  func taking(of id: ZoneID, from listing: TransportListing) throws -> Taking {
    Taking(zone: id, listing: listing, pending: try store.pendingEntries(in: id))
  }

  /// What to fetch next; nothing when all is taken, or the rest waits for other news or was tried
  /// too often.
  ///
  /// What waited may turn out to be unusable when it is opened. Then others that cover the same
  /// changes are tried.
  mutating func goOn(_ taking: inout Taking, nowMilliseconds: UInt64) throws -> [SegmentName] {
    repeat {
      let isDone = try taking.round.map { try isEnough($0, taking) } ?? false
      taking.round = nil
      let names = isDone ? [] : try nextFiles(&taking, nowMilliseconds: nowMilliseconds)
      if !names.isEmpty { return names }
    } while try receiveWaiting(&taking, nowMilliseconds: nowMilliseconds)
      && taking.rounds < Engine.maximumRounds
    return []
  }

  private func nextFiles(
    _ taking: inout Taking, nowMilliseconds: UInt64
  ) throws -> [SegmentName] {
    let zone = try zone(taking.zone)
    let plan = SyncPlan(zone: zone, known: taking.known)
    let failed = taking.tried.subtracting(taking.dropped.filter(plan.isNext))
    var names = try worthFetching(
      plan.fetches(from: taking.listing, except: failed), in: zone,
      nowMilliseconds: nowMilliseconds)
    if Mutant.skipsOwnEarlierLives.isActive {
      let own = zone.authorTag(of: device)
      names.removeAll { $0.authorTag == own }
    }
    guard !names.isEmpty else { return [] }
    guard taking.rounds < Engine.maximumRounds else {
      taking.note {
        $0.problems.append(
          TransportProblem(
            place: "zone \(zone.name)",
            fault: "too many files could not be used: this round did not try the others",
            remedy: "delete the files that are named above, then sync again", hidesData: true))
      }
      return []
    }
    taking.rounds += 1
    taking.round = Taking.Round(
      names: names, failures: taking.failures, unread: taking.unread, waiting: taking.waiting)
    return names
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
    let waiting = received.waiting.values.reduce(0, +)
    taking.unread = received.waiting[.format] ?? 0
    taking.waiting = waiting - taking.unread
    for (digest, reason) in received.refused {
      if names[digest] != nil { taking.failures += 1 } else { taking.refusedWaiting += 1 }
      if Mutant.oneBadFileStops.isActive { throw SyncError(.malformed, reason) }
    }
    taking.note { news in
      news.applied += received.applied
      news.waiting = waiting
      news.refused += received.refused.map { (names[$0.0], $0.1) }
    }
    taking.dropped.formUnion(received.dropped.compactMap { names[$0] })
  }
}

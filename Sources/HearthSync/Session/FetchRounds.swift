import HearthCRDT
import HearthMembership

/// The rounds of fetching and receiving the new files of a zone.
enum FetchRounds {
  /// The most times that a zone's listing is planned again in one round because files are unusable.
  static var maximumRounds: Int { 64 }

  /// Begins to fetch what a transport has of a zone.
  static func taking(of id: ZoneID, from listing: TransportListing, in store: some Store) throws
    -> Taking
  {
    Taking(zone: id, listing: listing, pending: try store.pending.entries(in: id))
  }

  /// The files to fetch next; none if everything is taken, or the rest waits for other news or was
  /// tried too often.
  ///
  /// A pending segment may turn out to be unusable when it is opened; then other files that cover
  /// the same changes are tried. A file that was not worth fetching may become so when others have
  /// arrived.
  static func goOn(
    _ taking: inout Taking, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> [SegmentName] {
    repeat {
      let isDone =
        try taking.round.map { try $0.isWhole && isEnough($0, taking, in: engine) } ?? false
      let former = isDone ? taking.vain : nil
      // What follows a file of a partial round is planned only once that file is applied.
      let followsPart = taking.round?.isPartial ?? false
      taking.round = nil
      let names = try nextFiles(
        &taking, among: former, after: followsPart, in: engine, nowMilliseconds: nowMilliseconds)
      if !names.isEmpty { return names }
    } while try receiveWaiting(&taking, in: &engine, nowMilliseconds: nowMilliseconds)
      && taking.rounds < maximumRounds
    try tellRefused(&taking, in: engine)
    return []
  }

  /// The next files in their order.
  ///
  /// - Parameters:
  ///   - former: The files to choose from; nil for all files.
  ///   - followsPart: Whether the round before was a partial one.
  private static func nextFiles(
    _ taking: inout Taking, among former: Set<SegmentName>?, after followsPart: Bool,
    in engine: Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> [SegmentName] {
    if let former, former.isEmpty { return [] }
    let zone = try engine.zone(taking.zone)
    let plan = SyncPlan(zone: zone, known: taking.known)
    let examined = try FetchChoice(engine: engine).examined(in: zone)
    taking.vain = examined.vain(among: taking.listing.segments)
    let failed = taking.tried.subtracting(taking.dropped.filter(plan.isNext))
    var names = examined.inTurn(
      try FetchChoice(engine: engine).worthFetching(
        plan.fetches(from: taking.listing, except: failed.union(taking.vain)), in: zone,
        nowMilliseconds: nowMilliseconds))
    if let former { names.removeAll { !former.contains($0) } }
    // A newcomer first takes, alone, what the inviter had. Strangers' files would take its room,
    // and incarnations that the inviter refused would take the places of those that others cite.
    let expected = names.filter {
      zone.expects($0.tagAuthor, from: $0.first) && !taking.takenFirst.contains($0)
    }
    let isPartial = !expected.isEmpty && expected.count < names.count
    if isPartial {
      names = expected
      taking.takenFirst.formUnion(expected)
    }
    if Mutant.skipsOwnEarlierLives.isActive {
      let own = zone.authorTag(of: engine.device)
      names.removeAll { $0.authorTag == own }
    }
    guard !names.isEmpty else { return [] }
    taking.waste.plan(names, examined, in: zone)
    let affordable = names.filter(taking.waste.allows)
    let hasRounds = taking.rounds < maximumRounds
    if !hasRounds || affordable.count < names.count { taking.leave(zone) }
    guard hasRounds, !affordable.isEmpty else { return [] }
    taking.rounds += 1
    taking.round = Taking.Round(
      names: affordable, failures: taking.failures, unread: taking.unread,
      waiting: taking.waiting, isPartial: isPartial, isWhole: !isPartial && !followsPart)
    return affordable
  }

  /// Reports the files that seem to hold news and are known to be unusable.
  private static func tellRefused(_ taking: inout Taking, in engine: Engine<some Store>) throws {
    guard !taking.vain.isEmpty else { return }
    let zone = try engine.zone(taking.zone)
    let plan = SyncPlan(zone: zone, known: taking.known)
    let examined = try FetchChoice(engine: engine).examined(in: zone)
    for name in taking.listing.segments
    where taking.vain.contains(name) && !taking.told.contains(name) && !plan.reaches(name)
      && examined.isForever(name)
    {
      Probe.refusedBefore.hit()
      taking.told.insert(name)
      taking.note { $0.refused.append((name, Refusals.words)) }
    }
  }

  /// Whether the result of a round is enough.
  ///
  /// If a file failed, cannot be read or was not what its name claims, other files that cover the
  /// same changes are tried. If a file waits for other news, the result is enough. A file that did
  /// not stay pending is tried again once its earlier changes are here.
  private static func isEnough(
    _ round: Taking.Round, _ taking: Taking, in engine: Engine<some Store>
  ) throws -> Bool {
    let plan = SyncPlan(zone: try engine.zone(taking.zone), known: taking.known)
    let short = round.names.count { !plan.reaches($0) }
    let isEnough =
      taking.failures == round.failures && taking.unread <= round.unread
      && short <= max(0, taking.waiting - round.waiting)
      && !taking.dropped.contains(where: plan.isNext)
    Probe.otherCoverTried.hit(if: !isEnough)
    return isEnough
  }

  /// Retries pending segments, which may wait for people or keys that have just arrived.
  ///
  /// - Returns: Whether some of them turned out to be unusable.
  private static func receiveWaiting(
    _ taking: inout Taking, in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws -> Bool {
    guard taking.waiting + taking.unread > 0 else { return false }
    let refused = taking.refusedWaiting
    try receive([], &taking, in: &engine, nowMilliseconds: nowMilliseconds)
    return taking.refusedWaiting > refused
  }

  /// Receives fetched files.
  static func receive(
    _ files: [(name: SegmentName, bytes: [UInt8])], _ taking: inout Taking,
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    var names: [Identifier: SegmentName] = [:]
    for file in files {
      taking.tried.insert(file.name)
      taking.dropped.remove(file.name)
      names[file.name.digest] = file.name
    }
    let received = try engine.receive(
      files.map(\.bytes), in: taking.zone, nowMilliseconds: nowMilliseconds)
    let settled = Set(received.noted.filter { $0.kind != .stranger }.map(\.digest))
    let waiting = received.waiting.values.reduce(0, +)
    taking.unread = received.waiting[.format] ?? 0
    taking.waiting = waiting - taking.unread
    for (digest, reason) in received.refused {
      if let name = names[digest] {
        taking.failures += 1
        taking.told.insert(name)
        // A file that is remembered as refused is not fetched again before that may help.
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
    taking.waste.renew(received.authors, of: try engine.zone(taking.zone))
  }
}

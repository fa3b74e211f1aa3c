import HearthCRDT
import HearthMembership

extension Engine {
  /// Exchanges what is new with one transport: takes first, then gives.
  ///
  /// A transport that fails is reported and harms no other; what was taken before stays. The cost
  /// follows the news and the length of the listing. Control zones go first, since the others
  /// need what they say.
  ///
  /// - Parameters:
  ///   - transport: where to look and what to give to.
  ///   - name: what the report calls it.
  ///   - carried: which groups go over it.
  ///   - anchorFile: where the node notes how far its logs are sealed, before anything sealed
  ///     leaves it.
  ///   - check: how many files are read again that were whole before.
  ///   - isComplete: whether every other transport was read without failure before.
  package mutating func exchange(
    over transport: some Transport, named name: String,
    carrying carried: CarriedGroups = .everything,
    anchorFile: some AnchorFile, checking check: FileCheck = .some,
    isComplete: Bool = true, nowMilliseconds: UInt64
  ) throws -> TransportReport {
    var report = TransportReport(setting: name)
    let life = incarnation
    do {
      var listings: [ZoneID: TransportListing] = [:]
      for zone in exchangedZones(carried) {
        do {
          listings[zone] = try pull(
            zone, from: transport, anchorFile: anchorFile, nowMilliseconds: nowMilliseconds,
            &report)
        } catch let error as TransportError where error.code == .relayRefused {
          // Of this zone alone; who belongs there no more knows why.
          if isMember(of: zone) { report.refused(error) }
        }
      }
      report.isRefusedWhole = listings.isEmpty && !report.refusals.isEmpty
      try maintain(isComplete: isComplete, nowMilliseconds: nowMilliseconds)
      for zone in listings.keys.sorted() where isMember(of: zone) {
        guard let listing = listings[zone] else { continue }
        try attest(
          zone, on: transport, holding: listing, nowMilliseconds: nowMilliseconds, &report)
        try tellRefutedBase(of: zone, &report)
        try compareState(of: zone, isComplete: isComplete, nowMilliseconds: nowMilliseconds)
      }
      for zone in listings.keys.sorted() where isMember(of: zone) || isFormer(of: zone) {
        _ = try seal(zone)
      }
      // Also where the last round was cut off between sealing and noting it.
      if !Mutant.anchorsLate.isActive { try Anchor.keepUp(anchorFile, with: self) }
      var held = try heldBefore(on: name, by: transport)
      for zone in exchangedZones(carried) where isMember(of: zone) {
        guard let found = listings[zone] else { continue }
        try notice(lossOf: zone, in: found, &held, &report)
        do {
          let listing = try upkeep(
            of: self.zone(zone), on: transport, holding: found, check,
            nowMilliseconds: nowMilliseconds, &report)
          try push(
            zone, to: transport, holding: listing, isAlone: incarnation == life, &report)
        } catch let error as TransportError where error.code == .relayMailboxFull {
          // Of this zone alone: the others have mailboxes of their own.
          report.refused(error)
        }
      }
      try keep(held, of: name)
      if check == .all { try settle(listings, on: transport, &report) }
      for zone in exchangedZones(carried) where isFormer(of: zone) {
        try giveLeft(of: zone, to: transport, holding: listings[zone], &report)
      }
      if Mutant.anchorsLate.isActive { try Anchor.keepUp(anchorFile, with: self) }
    } catch let error as TransportError {
      Probe.roundFailed.hit()
      report.failure = "\(error)"
    }
    return report
  }

  /// Takes what is new on one transport and gives nothing.
  ///
  /// - Throws: `TransportError` where it cannot be read.
  package mutating func take(
    from transport: some Transport, named name: String,
    carrying carried: CarriedGroups = .everything, anchorFile: some AnchorFile,
    nowMilliseconds: UInt64
  ) throws -> TransportReport {
    var report = TransportReport(setting: name)
    for zone in exchangedZones(carried) {
      do {
        _ = try pull(
          zone, from: transport, anchorFile: anchorFile, nowMilliseconds: nowMilliseconds, &report)
      } catch let error as TransportError where error.code == .relayRefused {
        // The exchange that follows tells why.
        continue
      }
    }
    return report
  }

  /// The zones that go over a transport, control zones first.
  private func exchangedZones(_ carried: CarriedGroups) -> [ZoneID] {
    zones.filter { isExchanged($0) && carried.contains($0.group) }
      .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }.map(\.id)
  }

  // MARK: Taking

  /// How many bytes are fetched before they are applied: bounds memory and what a cut loses.
  private static var batchBytes: Int { 8 * 1024 * 1024 }

  /// Takes what a transport has of a zone that is new here.
  ///
  /// - Returns: what the transport holds of the zone.
  @discardableResult
  package mutating func pull(
    _ id: ZoneID, from transport: some Transport, anchorFile: some AnchorFile,
    nowMilliseconds: UInt64, _ report: inout TransportReport
  ) throws -> TransportListing {
    let listing = try transport.list(of: zone(id))
    // What lies above the zones is in the listing of each.
    report.problems += listing.problems.filter { !report.problems.contains($0) }
    try checkOwnLives(
      in: id, listing, on: transport, anchorFile: anchorFile, nowMilliseconds: nowMilliseconds)
    try begin(
      id, fromSnapshotOf: transport, holding: listing, nowMilliseconds: nowMilliseconds, &report)
    do {
      try takeAll(of: id, from: transport, holding: listing, nowMilliseconds, &report)
      if let author = try authorLessenedInBase(of: id) {
        throw SyncError(
          .snapshotContradicted,
          "it may hold changes of somebody who was removed since, or given a lower role, or lack "
            + "those of somebody who was let in since",
          cause: BaseContradiction(author: author))
      }
    } catch let error as SyncError where error.code == .snapshotContradicted {
      Probe.snapshotContradicted.hit()
      // Where nobody gives this device the keys of then, only a better snapshot helps.
      if try goOn(
        id, fromSnapshotOf: transport, holding: listing, isOutdated: true,
        nowMilliseconds: nowMilliseconds, &report)
      {
        try takeAll(of: id, from: transport, holding: listing, nowMilliseconds, &report)
      } else {
        report.problems.append(SnapshotPlan.problem(with: "the snapshot used before", error))
        let contradiction = error.cause as? BaseContradiction
        try replaceBase(
          of: id, contradictedBy: contradiction?.author, from: transport, holding: listing,
          anchorFile: anchorFile, nowMilliseconds,
          &report)
      }
    }
    try goOn(
      id, fromSnapshotOf: transport, holding: listing, isOutdated: false,
      nowMilliseconds: nowMilliseconds, &report)
    try examineTwins(
      in: id, on: transport, holding: listing, nowMilliseconds: nowMilliseconds, &report)
    return listing
  }

  /// Takes every segment of a listing that is new here.
  mutating func takeAll(
    of id: ZoneID, from transport: some Transport, holding listing: TransportListing,
    _ nowMilliseconds: UInt64, _ report: inout TransportReport
  ) throws {
    var taking = Taking(zone: id, nowMilliseconds: nowMilliseconds)
    // Read once: what this call fetches is in `taking.tried`. That the log lists a segment is no
    // reason not to fetch it: a zone built anew may not count it and have no room for it to wait.
    let pending = try store.pendingEntries(in: id)
    let known = Set(pending.map(\.digest))
    taking.unread = pending.count { $0.reason == .format }
    taking.waiting = pending.count - taking.unread
    var rounds = 0
    // What waited may turn out to be unusable when it is opened. Then others that cover the same
    // changes are tried.
    repeat {
      try takeUsable(from: transport, holding: listing, except: known, &taking, &rounds, &report)
    } while try receiveWaiting(&taking, hadWaiting: !pending.isEmpty, over: transport, &report)
      && rounds < Engine.maximumRounds
  }

  /// Takes what is new until the rest waits for other news, cannot be used or was tried too often.
  private mutating func takeUsable(
    from transport: some Transport, holding listing: TransportListing,
    except known: Set<Identifier>, _ taking: inout Taking, _ rounds: inout Int,
    _ report: inout TransportReport
  ) throws {
    let id = taking.zone
    var isDone = false
    var plan = try SyncPlan(zone: zone(id), known: known)
    while !isDone {
      let failed = taking.tried.subtracting(taking.dropped.filter(plan.isNext))
      var names = try worthFetching(
        plan.fetches(from: listing, except: failed), in: try zone(id),
        nowMilliseconds: taking.nowMilliseconds)
      if Mutant.skipsOwnEarlierLives.isActive {
        let own = try zone(id).authorTag(of: device)
        names.removeAll { $0.authorTag == own }
      }
      guard !names.isEmpty else { break }
      guard rounds < Engine.maximumRounds else {
        report.problems.append(
          TransportProblem(
            place: "zone \(try zone(id).name)",
            fault: "so many files could not be used that others were not tried in this round",
            remedy: "delete the files that are named above, then sync again", hidesData: true))
        break
      }
      rounds += 1
      let (failures, unread, waiting) = (taking.failures, taking.unread, taking.waiting)
      try take(names, from: transport, &taking, &report)
      plan = try SyncPlan(zone: zone(id), known: known)
      // Where something failed, cannot be read, or was not what its name says, others that cover
      // the same changes are tried; where it waits for other news, it is enough. What did not wait
      // is tried again once what lies before it is here.
      let short = names.count { !plan.reaches($0) }
      isDone =
        taking.failures == failures && taking.unread <= unread
        && short <= max(0, taking.waiting - waiting) && !taking.dropped.contains(where: plan.isNext)
      Probe.otherCoverTried.hit(if: !isDone)
    }
  }

  /// Tries once more what waits: it may wait for people or keys that only just arrived.
  ///
  /// - Returns: whether some of it turned out to be unusable.
  private mutating func receiveWaiting(
    _ taking: inout Taking, hadWaiting: Bool, over transport: some Transport,
    _ report: inout TransportReport
  ) throws -> Bool {
    let isLeft = taking.hasReceived ? taking.waiting + taking.unread > 0 : hadWaiting
    guard isLeft else { return false }
    let refused = taking.refusedWaiting
    try receive(&taking, over: transport, &report)
    return taking.refusedWaiting > refused
  }

  /// How often a zone's listing is planned anew in one round where files cannot be used.
  static var maximumRounds: Int { 64 }

  /// What is on its way from a transport into a zone.
  private struct Taking {
    let zone: ZoneID
    let nowMilliseconds: UInt64
    /// What was fetched, or could not be.
    var tried: Set<SegmentName> = []
    /// Those of them that did not wait for what lies before them in their logs.
    var dropped: Set<SegmentName> = []
    /// How many of them could not be fetched or used.
    var failures = 0
    /// How many waiting segments this program cannot read.
    var unread = 0
    /// How many others wait.
    var waiting = 0
    /// How many waiting ones turned out to be unusable.
    var refusedWaiting = 0
    var hasReceived = false
    var blobs: [[UInt8]] = []
    var names: [Identifier: SegmentName] = [:]
    var bytes = 0
  }

  private mutating func take(
    _ names: [SegmentName], from transport: some Transport, _ taking: inout Taking,
    _ report: inout TransportReport
  ) throws {
    transport.expect(names.filter { refusals.reason(for: $0.digest, in: taking.zone) == nil })
    for name in names {
      taking.tried.insert(name)
      taking.dropped.remove(name)
      if let reason = refusals.reason(for: name.digest, in: taking.zone) {
        Probe.refusedBefore.hit()
        taking.failures += 1
        report.problems.append(Engine.problem(with: transport.place(of: name), reason))
        continue
      }
      do {
        let blob = try transport.fetch(name)
        taking.blobs.append(blob)
        taking.names[name.digest] = name
        taking.bytes += blob.count
        report.receivedBytes += blob.count
      } catch let error as TransportError {
        Probe.fetchFailed.hit()
        taking.failures += 1
        report.problems.append(error.problem(hidesData: true))
      }
      if taking.bytes >= Engine.batchBytes { try receive(&taking, over: transport, &report) }
    }
    if !taking.blobs.isEmpty { try receive(&taking, over: transport, &report) }
  }

  private mutating func receive(
    _ taking: inout Taking, over transport: some Transport, _ report: inout TransportReport
  ) throws {
    let received = try receive(
      taking.blobs, in: taking.zone, nowMilliseconds: taking.nowMilliseconds)
    report.received += received.applied
    report.waiting = received.waiting.values.reduce(0, +)
    taking.unread = received.waiting[.format] ?? 0
    taking.waiting = received.waiting.values.reduce(0, +) - taking.unread
    taking.hasReceived = true
    for (digest, reason) in received.refused {
      let name = taking.names[digest]
      if name != nil { taking.failures += 1 } else { taking.refusedWaiting += 1 }
      if Mutant.oneBadFileStops.isActive { throw SyncError(.malformed, reason) }
      report.problems.append(
        Engine.problem(with: name.map { transport.place(of: $0) } ?? "a waiting segment", reason))
    }
    taking.dropped.formUnion(received.dropped.compactMap { taking.names[$0] })
    taking.blobs = []
    taking.names = [:]
    taking.bytes = 0
  }

  private static func problem(with place: String, _ reason: String) -> TransportProblem {
    TransportProblem(
      place: place, fault: reason, remedy: "delete the file: its author puts a good one back",
      hidesData: true)
  }

  // MARK: Giving

  /// How many bytes of segments are given to a transport at a time: bounds memory.
  private static var givenBytes: Int { 1024 * 1024 }

  private func isMember(of id: ZoneID) -> Bool {
    guard let zone = try? zone(id) else { return false }
    let isMember = membership(of: zone.group).isActive(device)
    Probe.notYetMember.hit(if: !isMember)
    return isMember
  }

  /// Gives a transport what it lacks of a zone.
  ///
  /// - Parameter isAlone: whether no other copy of this node was noticed in this round.
  private mutating func push(
    _ id: ZoneID, to transport: some Transport, holding listing: TransportListing, isAlone: Bool,
    _ report: inout TransportReport
  ) throws {
    _ = try compact(id)
    let state = try zone(id)
    let stored = try store.segments(of: id)
    var held = listing
    let publications = try publications(
      of: state, to: transport, holding: listing, stored: stored, &report)
    var batch: [(name: SegmentName, bytes: [UInt8])] = []
    var batchBytes = 0
    func give(_ report: inout TransportReport) throws {
      guard !batch.isEmpty else { return }
      try transport.publish(batch)
      report.published += batch.count
      report.publishedBytes += batchBytes
      batch = []
      batchBytes = 0
    }
    if Mutant.removesBeforeMerged.isActive, isAlone {
      held.segments += publications.map(\.name)
      try tidy(state, on: transport, holding: held, stored: stored, &report)
      held = listing
    }
    for (segment, name) in publications {
      guard let bytes = try store.bytes(of: segment.digest, in: id) else { continue }
      held.segments.append(name)
      batch.append((name, bytes))
      batchBytes += bytes.count
      Probe.passedOn.hit(if: segment.author.device != device)
      if batchBytes >= Engine.givenBytes { try give(&report) }
      if Mutant.forgetsPublished.isActive {
        try store.transaction { try store.removeSegment(segment.digest, in: id) }
      }
    }
    try give(&report)
    try giveEvidence(of: state, to: transport, holding: held, &report)
    try noteGiven(of: id)
    try giveSnapshots(of: id, to: transport, holding: held, stored: stored, &report)
    // Another copy of this node may hold what this one lacks: in such a round nothing goes.
    guard isAlone else { return }
    try tidy(state, on: transport, holding: held, stored: stored, &report)
  }

  /// Takes away the files that larger ones, which are there as well, have replaced.
  ///
  /// Each device does so for itself; an owner's or admin's for devices that are gone, whose files
  /// may come back by a stale copy of a folder, and at a relay for all; and everybody for an author
  /// of whom many such files lie there: it does not come by this transport, or it would have taken
  /// them away.
  private func tidy(
    _ zone: ZoneState, on transport: some Transport, holding listing: TransportListing,
    stored: [StoredSegment], _ report: inout TransportReport
  ) throws {
    let membership = membership(of: zone.group)
    let isAdmin = membership.role(of: device)?.rank ?? 0 >= Role.admin.rank
    let plan = SyncPlan(zone: zone, known: [])
    // Nobody vouches for the name of a stored segment that waits for a newer program.
    let applied = Dictionary(
      grouping: stored.filter { $0.last <= zone.frontier[$0.author] }, by: \.author.device)
    let listed = Dictionary(grouping: listing.segments, by: \.authorTag)
    var superseded: [SegmentName] = []
    let others = membership.allDevices.map(\.id).filter { $0 != device }
    for author in [device] + others {
      let tag = zone.authorTag(of: author)
      guard let names = listed[tag], let held = applied[author] else { continue }
      let found = plan.superseded(
        on: TransportListing(segments: names), by: held, of: zone, tag: tag,
        sparesKnown: author == device)
      if author != device, !isAdmin || membership.isActive(author) {
        // Where authors cannot take away what others gave in their place, an admin does it at once.
        let isFew = found.count < Engine.compactionThreshold
        guard !isFew || isAdmin && transport.keepsAuthorsApart,
          !found.isEmpty, !Mutant.leavesOthersMerged.isActive
        else { continue }
        Probe.othersMergedDropped.hit()
      }
      superseded += found
    }
    // What is stored here need not be looked into.
    let held = Set(applied.values.joined().map { SyncPlan.name(of: $0, in: zone) })
    let examined = try examine(
      superseded.filter { !held.contains($0) }, of: zone, on: transport, stored: stored, listing,
      &report)
    let dropped = superseded.filter { held.contains($0) } + examined
    guard !dropped.isEmpty else { return }
    Probe.supersededDropped.hit()
    try transport.remove(dropped)
  }
}

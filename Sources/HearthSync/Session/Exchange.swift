import HearthCRDT
import HearthMembership

/// One round over one transport: takes what is new there, then publishes what is missing there.
///
/// Nothing else in the core uses a transport. An exchange never does so during a turn with the
/// replicas, so local work continues while the exchange waits. A failing transport is reported and
/// harms no other; what was taken before stays. The cost depends on the news and the length of the
/// listing.
package struct Exchange<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>
  /// The result of the round so far.
  package var report: TransportReport

  /// Creates an exchange.
  ///
  /// - Parameters:
  ///   - transport: The transport to read and to publish to.
  ///   - name: The transport's name in the report.
  ///   - turns: Gives turns with the replicas.
  ///   - anchorFile: The file in which the node notes how far its logs are sealed, before anything
  ///     sealed leaves the node.
  package init(
    over transport: Link, named name: String, with turns: Turns, anchorFile: any AnchorFile,
    nowMilliseconds: UInt64
  ) {
    ports = ExchangePorts(
      transport: transport, turns: turns, anchorFile: anchorFile, nowMilliseconds: nowMilliseconds)
    report = TransportReport(setting: name)
  }

  // MARK: A round

  /// Takes what is new, then publishes.
  ///
  /// Control zones come first, because the other zones need them.
  ///
  /// - Parameters:
  ///   - carried: The groups that the transport carries.
  ///   - check: The files to read again that were whole before.
  ///   - isComplete: Whether every other transport was read without failure before.
  ///   - unread: The groups of which another transport refused a zone.
  ///   - holdsBack: Whether a group of which this transport refuses a zone counts as one of them.
  package mutating func run(
    carrying carried: CarriedGroups = .everything, checking check: FileCheck = .some,
    isComplete: Bool = true, unread: Set<GroupID> = [], holdsBack: Bool = true
  ) async throws {
    do {
      let life = try ports.turn { $0.incarnation }
      if check == .all { try ports.turn { try ExchangedZones(engine: $0).examineAgain(carried) } }
      // This is read before the listings, so that this round does not miss what another exchange
      // publishes meanwhile.
      let name = report.setting
      let held =
        ports.transport.canDecay
        ? try ports.turn { try TransportWatermarks.watermarks(on: name, in: $0.store) } : nil
      let listings = try await pullAll(carried)
      try await decide(
        with: listings, isComplete: isComplete,
        unread: holdsBack ? unread.union(report.unread) : unread)
      try await giveAll(carried, holding: listings, heldBefore: held, check, life: life)
    } catch let error as TransportError {
      Probe.roundFailed.hit()
      report.failure = "\(error)"
    }
  }

  /// Takes what is new and publishes nothing.
  ///
  /// - Throws: `TransportError` if the transport cannot be read.
  package mutating func take(carrying carried: CarriedGroups = .everything) async throws {
    for zone in try ports.turn({ ExchangedZones(engine: $0).exchangedZones(carried) }) {
      do {
        try await pull(zone)
      } catch let error as TransportError where error.code == .relayRefused {
        // The exchange that follows reports the reason.
        if let group = try ports.turn({ ExchangedZones(engine: $0).ownGroup(of: zone) }) {
          report.unread.insert(group)
        }
      }
    }
  }

  /// Takes what is new in every zone, and returns the listings of the zones that the transport
  /// shows.
  private mutating func pullAll(_ carried: CarriedGroups) async throws -> [ZoneID: TransportListing]
  {
    var listings: [ZoneID: TransportListing] = [:]
    for zone in try ports.turn({ ExchangedZones(engine: $0).exchangedZones(carried) }) {
      do {
        listings[zone] = try await pull(zone)
      } catch let error as TransportError where error.code == .relayRefused {
        // The refusal concerns this zone alone; a device that no longer belongs there knows the
        // reason.
        if let group = try ports.turn({ ExchangedZones(engine: $0).ownGroup(of: zone) }) {
          report.refused(error)
          report.unread.insert(group)
        }
      }
    }
    report.isRefusedWhole = listings.isEmpty && !report.refusals.isEmpty
    return listings
  }

  /// Does what the news calls for, and seals what is to be published.
  private mutating func decide(
    with listings: [ZoneID: TransportListing], isComplete: Bool, unread: Set<GroupID>
  ) async throws {
    let (now, anchorFile) = (ports.nowMilliseconds, ports.anchorFile)
    try ports.turn {
      try Maintenance.maintain(
        isComplete: isComplete, unread: unread, in: &$0, nowMilliseconds: now)
    }
    for zone in listings.keys.sorted() {
      guard let listing = listings[zone],
        try ports.turn({ ExchangedZones(engine: $0).isMember(of: zone) })
      else { continue }
      try await attest(zone, holding: listing)
      report.problems += try ports.turn { engine in
        let problems = try AttestationCheck(engine: engine).problemsWithBase(of: zone)
        let isWhole = try isComplete && !unread.contains(engine.zone(zone).group)
        try ComparedState.compareState(
          of: zone, isComplete: isWhole, in: &engine, nowMilliseconds: now)
        return problems
      }
    }
    try ports.turn { engine in
      for zone in listings.keys.sorted()
      where ExchangedZones(engine: engine).isMember(of: zone)
        || ExchangedZones(engine: engine).isFormer(of: zone)
      {
        _ = try Sealing.seal(zone, in: &engine)
      }
      // This also helps if the last round was interrupted between sealing and noting it.
      if !Mutant.anchorsLate.isActive { try Anchor.keepUp(anchorFile, with: engine) }
    }
  }

  /// Publishes what the transport lacks.
  ///
  /// - Parameter life: The node's incarnation at the beginning of the round.
  private mutating func giveAll(
    _ carried: CarriedGroups, holding listings: [ZoneID: TransportListing],
    heldBefore: [ZoneID: Frontier]?, _ check: FileCheck, life: UInt64
  ) async throws {
    let name = report.setting
    var held = heldBefore
    for zone in try ports.turn({ ExchangedZones(engine: $0).exchangedZones(carried) }) {
      guard let found = listings[zone],
        try ports.turn({ ExchangedZones(engine: $0).isMember(of: zone) })
      else { continue }
      if var before = held {
        report.lose(
          try ports.turn {
            try TransportWatermarks.notice(lossOf: zone, in: found, &before, by: $0)
          })
        held = before
      }
      do {
        let listing = try await FileRepair(ports: ports).upkeep(
          of: zone, holding: found, check, &report)
        let isAlone = try ports.turn { $0.incarnation == life }
        try await push(zone, holding: listing, isAlone: isAlone)
        try await AttachmentExchange(ports: ports).run(
          of: zone, holding: listing, isAlone: isAlone, &report)
      } catch let error as TransportError where error.code == .relayMailboxFull {
        // The error concerns this zone alone: the other zones have mailboxes of their own.
        report.refused(error)
      }
    }
    if let held { try ports.turn { try TransportWatermarks.keep(held, of: name, in: $0.store) } }
    if check == .all { try await FileRepair(ports: ports).settle(listings, &report) }
    for zone in try ports.turn({ ExchangedZones(engine: $0).exchangedZones(carried) }) {
      guard let listing = listings[zone],
        try ports.turn({ ExchangedZones(engine: $0).isFormer(of: zone) })
      else { continue }
      try await giveLeft(of: zone, holding: listing)
    }
    let anchorFile = ports.anchorFile
    if Mutant.anchorsLate.isActive { try ports.turn { try Anchor.keepUp(anchorFile, with: $0) } }
  }

  /// Attests what a zone holds here if another person's snapshot ends at the same point, and
  /// reports one that says something else.
  private mutating func attest(_ id: ZoneID, holding listing: TransportListing) async throws {
    guard !listing.snapshots.isEmpty,
      try ports.turn({ try AttestationCheck(engine: $0).looksAtSnapshots(of: id) })
    else { return }
    let known = try await SnapshotFetch(ports: ports).knownSnapshots(of: id, listing, &report)
    let now = ports.nowMilliseconds
    report.problems += try ports.turn {
      try Attestation.attest(id, beside: known, in: &$0, nowMilliseconds: now)
    }
  }

  // MARK: One zone

  /// Lists a zone on the transport.
  ///
  /// Only a folder may hold more than its listing names; it is told which chunks it is given.
  private func list(_ id: ZoneID) async throws -> TransportListing {
    let given =
      ports.transport.canDecay ? try AttachmentExchange(ports: ports).known(in: id) : []
    let chunks = Set(given.lazy.filter(\.isWanted).map(\.digest))
    let (tag, preference) = try ports.turn { engine in
      let zone = try engine.zone(id)
      return (zone.tag, ListingPreference(of: zone, giving: chunks))
    }
    return try await ports.transport.list(zoneTag: tag, preferring: preference)
  }

  /// Takes what is new of a zone on the transport.
  ///
  /// - Returns: The transport's listing of the zone.
  @discardableResult
  package mutating func pull(_ id: ZoneID) async throws -> TransportListing {
    let listing = try await list(id)
    // Problems that concern no single zone are in the listing of each.
    report.problems += listing.problems.filter { !report.problems.contains($0) }
    try await checkOwnLives(in: id, listing)
    let now = ports.nowMilliseconds
    try ports.turn {
      try EntranceUpkeep.closeLongExpired(before: id, in: &$0, nowMilliseconds: now)
    }
    guard try await SnapshotBootstrap(ports: ports).begin(id, holding: listing, &report) else {
      return listing
    }
    do {
      try await SegmentFetch(ports: ports).takeAll(of: id, holding: listing, &report)
      if let author = try ports.turn({ try BaseAuthors(engine: $0).authorLessenedInBase(of: id) }) {
        throw SyncError(
          .snapshotContradicted,
          "it may hold changes of somebody whom others have since removed or given a lower role, "
            + "or lack changes of somebody who has joined since",
          cause: BaseContradiction(author: author))
      }
    } catch let error as SyncError where error.code == .snapshotContradicted {
      Probe.snapshotContradicted.hit()
      // If nobody gives this device the keys of that time, only a better snapshot helps.
      if try await SnapshotAdvance(ports: ports).goOn(
        id, holding: listing, isOutdated: true, &report)
      {
        try await SegmentFetch(ports: ports).takeAll(of: id, holding: listing, &report)
      } else {
        report.problems.append(SnapshotPlan.problem(with: "the previous snapshot", error))
        let contradiction = error.cause as? BaseContradiction
        try await BaseRefetch(ports: ports).replaceBase(
          of: id, contradictedBy: contradiction?.author, holding: listing, &report)
      }
    }
    try await SnapshotAdvance(ports: ports).goOn(id, holding: listing, isOutdated: false, &report)
    try await NameExamination(ports: ports).examineCandidates(in: id, holding: listing, &report)
    return listing
  }
}

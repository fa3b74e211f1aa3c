import HearthCRDT
import HearthMembership

/// One round over one transport: takes what is new there, then gives what is lacking there.
///
/// Nothing else in the core speaks with a transport, and an exchange never does so during a turn
/// with the replicas, so that local work can go on while it waits. A transport that fails is
/// reported and harms no other; what was taken before stays. The cost follows the news and the
/// length of the listing.
package struct Exchange<Turns: ReplicaTurns, Link: Transport> {
  typealias Replicas = Engine<Turns.Replicas>

  let transport: Link
  let anchorFile: any AnchorFile
  let nowMilliseconds: UInt64
  /// What came of the round so far.
  package var report: TransportReport
  /// How many bytes of files are held at most to replace a snapshot.
  var replacementBytes = 256 * 1024 * 1024
  let turns: Turns

  /// - Parameters:
  ///   - transport: where to look and what to give to.
  ///   - name: what the report calls it.
  ///   - turns: who gives turns with the replicas.
  ///   - anchorFile: where the node notes how far its logs are sealed, before anything sealed
  ///     leaves it.
  package init(
    over transport: Link, named name: String, with turns: Turns, anchorFile: any AnchorFile,
    nowMilliseconds: UInt64
  ) {
    self.transport = transport
    self.anchorFile = anchorFile
    self.nowMilliseconds = nowMilliseconds
    self.turns = turns
    report = TransportReport(setting: name)
  }

  /// Runs a body that has the replicas to itself.
  func turn<Result>(_ body: (inout Replicas) throws -> Result) throws -> Result {
    try turns.turn(body)
  }

  // MARK: A round

  /// Takes what is new, then gives.
  ///
  /// Control zones go first, since the others need what they say.
  ///
  /// - Parameters:
  ///   - carried: which groups go over the transport.
  ///   - check: how many files are read again that were whole before.
  ///   - isComplete: whether every other transport was read without failure before.
  ///   - unread: groups of which another transport refused a zone.
  ///   - holdsBack: whether a group of which this transport refuses a zone counts as one of them.
  package mutating func run(
    carrying carried: CarriedGroups = .everything, checking check: FileCheck = .some,
    isComplete: Bool = true, unread: Set<GroupID> = [], holdsBack: Bool = true
  ) async throws {
    do {
      let life = try turn { $0.incarnation }
      if check == .all { try turn { try $0.examineAgain(carried) } }
      // Read before the listings: what another exchange gives meanwhile is not lost to this one.
      let name = report.setting
      let held = transport.canDecay ? try turn { try $0.heldBefore(on: name) } : nil
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

  /// Takes what is new and gives nothing.
  ///
  /// - Throws: `TransportError` where the transport cannot be read.
  package mutating func take(carrying carried: CarriedGroups = .everything) async throws {
    for zone in try turn({ $0.exchangedZones(carried) }) {
      do {
        try await pull(zone)
      } catch let error as TransportError where error.code == .relayRefused {
        // The exchange that follows tells why.
        if let group = try turn({ $0.ownGroup(of: zone) }) { report.unread.insert(group) }
      }
    }
  }

  /// Takes what is new of every zone; gives what the transport holds of those that it lets see.
  private mutating func pullAll(_ carried: CarriedGroups) async throws -> [ZoneID: TransportListing]
  {
    var listings: [ZoneID: TransportListing] = [:]
    for zone in try turn({ $0.exchangedZones(carried) }) {
      do {
        listings[zone] = try await pull(zone)
      } catch let error as TransportError where error.code == .relayRefused {
        // Of this zone alone; who belongs there no more knows why.
        if let group = try turn({ $0.ownGroup(of: zone) }) {
          report.refused(error)
          report.unread.insert(group)
        }
      }
    }
    report.isRefusedWhole = listings.isEmpty && !report.refusals.isEmpty
    return listings
  }

  /// Does what the news call for, and seals what is to be given.
  private mutating func decide(
    with listings: [ZoneID: TransportListing], isComplete: Bool, unread: Set<GroupID>
  ) async throws {
    let (now, anchorFile) = (nowMilliseconds, anchorFile)
    try turn {
      try $0.maintain(isComplete: isComplete, unread: unread, nowMilliseconds: now)
    }
    for zone in listings.keys.sorted() {
      guard let listing = listings[zone], try turn({ $0.isMember(of: zone) }) else { continue }
      try await attest(zone, holding: listing)
      report.problems += try turn { engine in
        let problems = try engine.problemsWithBase(of: zone)
        let isWhole = try isComplete && !unread.contains(engine.zone(zone).group)
        try engine.compareState(of: zone, isComplete: isWhole, nowMilliseconds: now)
        return problems
      }
    }
    try turn { engine in
      for zone in listings.keys.sorted()
      where engine.isMember(of: zone) || engine.isFormer(of: zone) {
        _ = try engine.seal(zone)
      }
      // Also where the last round was cut off between sealing and noting it.
      if !Mutant.anchorsLate.isActive { try Anchor.keepUp(anchorFile, with: engine) }
    }
  }

  /// Gives the transport what it lacks.
  ///
  /// - Parameter life: the node's life when the round began.
  private mutating func giveAll(
    _ carried: CarriedGroups, holding listings: [ZoneID: TransportListing],
    heldBefore: [ZoneID: Frontier]?, _ check: FileCheck, life: UInt64
  ) async throws {
    let name = report.setting
    var held = heldBefore
    for zone in try turn({ $0.exchangedZones(carried) }) {
      guard let found = listings[zone], try turn({ $0.isMember(of: zone) }) else { continue }
      if var before = held {
        report.lose(try turn { try $0.notice(lossOf: zone, in: found, &before) })
        held = before
      }
      do {
        let listing = try await upkeep(of: zone, holding: found, check)
        let isAlone = try turn { $0.incarnation == life }
        try await push(zone, holding: listing, isAlone: isAlone)
      } catch let error as TransportError where error.code == .relayMailboxFull {
        // Of this zone alone: the others have mailboxes of their own.
        report.refused(error)
      }
    }
    if let held { try turn { try $0.keep(held, of: name) } }
    if check == .all { try await settle(listings) }
    for zone in try turn({ $0.exchangedZones(carried) }) {
      guard let listing = listings[zone], try turn({ $0.isFormer(of: zone) }) else { continue }
      try await giveLeft(of: zone, holding: listing)
    }
    let anchorFile = anchorFile
    if Mutant.anchorsLate.isActive { try turn { try Anchor.keepUp(anchorFile, with: $0) } }
  }

  // MARK: One zone

  /// Takes what the transport has of a zone that is new here.
  ///
  /// - Returns: what the transport holds of the zone.
  @discardableResult
  package mutating func pull(_ id: ZoneID) async throws -> TransportListing {
    let zone = try turn { try $0.zone(id) }
    let listing = try await transport.list(of: zone)
    // What lies above the zones is in the listing of each.
    report.problems += listing.problems.filter { !report.problems.contains($0) }
    try await checkOwnLives(in: id, listing)
    let now = nowMilliseconds
    try turn { try $0.closeLongExpired(before: id, nowMilliseconds: now) }
    try await begin(id, holding: listing)
    do {
      try await takeAll(of: id, holding: listing)
      if let author = try turn({ try $0.authorLessenedInBase(of: id) }) {
        throw SyncError(
          .snapshotContradicted,
          "it may hold changes of somebody whom others have since removed or given a lower role, "
            + "or lack changes of somebody who has joined since",
          cause: BaseContradiction(author: author))
      }
    } catch let error as SyncError where error.code == .snapshotContradicted {
      Probe.snapshotContradicted.hit()
      // Where nobody gives this device the keys of then, only a better snapshot helps.
      if try await goOn(id, holding: listing, isOutdated: true) {
        try await takeAll(of: id, holding: listing)
      } else {
        report.problems.append(SnapshotPlan.problem(with: "the previous snapshot", error))
        let contradiction = error.cause as? BaseContradiction
        try await replaceBase(of: id, contradictedBy: contradiction?.author, holding: listing)
      }
    }
    try await goOn(id, holding: listing, isOutdated: false)
    try await examineTwins(in: id, holding: listing)
    return listing
  }
}

extension Engine {
  /// The zones that go over a transport, control zones first.
  func exchangedZones(_ carried: CarriedGroups) -> [ZoneID] {
    zones.filter { isExchanged($0) && carried.contains($0.group) }
      .sorted { ($0.kind.rawValue, $0.id) < ($1.kind.rawValue, $1.id) }.map(\.id)
  }

  /// Forgets which files were refused: whoever has all files read wants these to be read too.
  func examineAgain(_ carried: CarriedGroups) throws {
    try store.transaction {
      for zone in exchangedZones(carried) { try Refusals.forget(zone, in: store) }
    }
  }

  /// The group of a zone; nil if this device does not belong to it.
  func ownGroup(of id: ZoneID) -> GroupID? {
    isMember(of: id) ? try? zone(id).group : nil
  }

  /// Whether this device belongs to a zone's group.
  func isMember(of id: ZoneID) -> Bool {
    guard let zone = try? zone(id) else { return false }
    let isMember = membership(of: zone.group).isActive(device)
    Probe.notYetMember.hit(if: !isMember)
    return isMember
  }
}

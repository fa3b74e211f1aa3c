import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport
import Household
import InlineExecution

/// What a command of a person wrote.
struct Written {
  let zone: ZoneID
  let version: Version
  /// How many operations the transaction had.
  let operations: Int
}

extension SimDevice {
  /// Founds the household on this device.
  func found(at time: UInt64) throws {
    takeTurn()
    let now = clock.wall(at: time)
    home = try withEngine { engine in
      try GroupCreation.create(
        GroupFounding(
          database: .shared, zoneNames: ["home"], person: person, personName: name,
          deviceName: name), in: &engine, nowMilliseconds: now
      ).zones.first
    }
    try recordSelf(at: time)
  }

  /// Writes the person's record, as the command line does after founding or joining.
  func recordSelf(at time: UInt64) throws {
    guard !isOldBuild else { return }
    let (person, name) = (person, name)
    _ = try write(at: time) { state, builder, now in
      try state.people.create(person, name: name, milliseconds: now, in: &builder)
    }
  }

  /// Joins by an invitation, as far as the own folder has what is needed.
  ///
  /// Like the product it takes what the household has before it writes of itself.
  ///
  /// - Returns: nil where it only asked to be let in.
  @discardableResult
  func join(_ secret: InviteSecret, at time: UInt64) throws -> Round? {
    takeTurn()
    let now = clock.wall(at: time)
    let ways = try ways()
    let joined = try withEngine { engine -> ZoneID? in
      let (capsule, way) = try self.capsule(of: secret, on: ways)
      guard net != nil else { return try enter(capsule, secret, over: way, &engine, now) }
      // As the product does: who is not let in keeps nothing of it.
      let before = engine
      do {
        return try engine.store.transaction {
          engine = before
          return try enter(capsule, secret, over: way, &engine, now)
        }
      } catch {
        engine = before
        throw error
      }
    }
    guard let joined else { return nil }
    home = joined
    guard try isMember() else { throw StepFailure("the household does not accept \(name)") }
    let report = try sync(at: time)
    if report.begunFromSnapshots > 0 { SimProbe.joinedBySnapshot.hit() }
    try recordSelf(at: time)
    return report
  }

  /// The capsule of an invitation, and where it lay.
  private func capsule(
    of secret: InviteSecret, on ways: [Way]
  ) throws -> (capsule: [UInt8], way: Way) {
    let rendezvous = BlobName(
      kind: .capsule, scope: Identifier(bytes: secret.rendezvousID) ?? .zero)
    for way in ways {
      way.lay(rendezvous.scope, in: try .rendezvous(of: secret, mayCreate: false))
      let capsule = try runInline { try await way.transport.fetch(rendezvous) }
      if let capsule { return (capsule, way) }
    }
    throw StepFailure("the invitation has not arrived yet")
  }

  /// - Returns: the household's zone; nil where it only asked to be let in.
  private func enter(
    _ capsule: [UInt8], _ secret: InviteSecret, over way: Way,
    _ engine: inout Engine<ReplicaStore>, _ now: UInt64
  ) throws -> ZoneID? {
    let opened: InvitationCapsule
    do {
      opened = try JoiningByInvitation.begin(
        capsule, with: secret, in: &engine, nowMilliseconds: now)
    } catch let error as StoreError {
      // The keys in it may have become durable all the same.
      let frontier = try InvitationCapsule(opening: capsule, with: secret).controlFrontier
      openedInvitations.append(frontier)
      throw error
    }
    let group = opened.group
    openedInvitations.append(opened.controlFrontier)
    net?.relay.rules.pardon([deviceID])
    guard !opened.needsApproval else {
      try ask(opened, capsule, secret, with: engine)
      return nil
    }
    let control = try engine.controlZone(of: group)
    if let relay = way.relay, let id = Identifier(bytes: secret.publicKeys.inviteID) {
      try engine.admit(
        to: group, over: relay.relay, as: [(id, secret.boxPair)], anchorFile: anchor,
        nowMilliseconds: now)
    }
    var report = TransportReport(setting: name)
    try engine.pull(
      control.id, from: way.transport, anchorFile: anchor, nowMilliseconds: now, &report)
    try JoiningByInvitation.finish(
      opened, with: secret, person: person, personName: name, deviceName: name,
      in: &engine, nowMilliseconds: now)
    return engine.zones.first { $0.group == group && $0.kind == .data }?.id
  }

  /// Whether the household's log has this device as a member.
  func isMember() throws -> Bool {
    guard let home else { return false }
    let engine = try engine()
    return engine.membership(of: try engine.zone(home).group).isActive(engine.device)
  }

  /// Exchanges what is new with the folder, then with the relay.
  func sync(at time: UInt64, checking check: FileCheck = .some) throws -> Round {
    takeTurn()
    let now = clock.wall(at: time)
    let (folder, anchor, name) = (folder, anchor, name)
    do { try settleJoin(at: now) } catch is TransportError {}
    var report = Round()
    if usesFolder {
      report.add(
        try withEngine { engine in
          try engine.exchange(
            over: folder, named: name, anchorFile: anchor, checking: check, nowMilliseconds: now)
        })
      if report.failure == nil { report.failure = try giveCapsuleToFolder() }
    }
    if usesRelay { try exchangeOverRelay(at: now, &report) }
    hasFailed = report.failure != nil || report.isRefused
    // A folder that is away gets them at the next exchange.
    do {
      try sayFarewell()
      try publishAnswers()
    } catch is TransportError {}
    return report
  }

  /// - Returns: why the folder could not be given the capsule; nil if it could.
  private func giveCapsuleToFolder() throws -> String? {
    do {
      try giveCapsule(to: Way(transport: folder, relay: nil), from: engine())
      return nil
    } catch let error as TransportError {
      return "\(error)"
    }
  }

  /// The civil day by this device's clock; the household lives in UTC.
  func today(at time: UInt64) throws -> CivilDate {
    let day = Int(clamping: clock.wall(at: time) / 86_400_000)
    guard let date = try? CivilDate(dayNumber: day) else {
      throw StepFailure("the clock shows no day that a calendar has")
    }
    return date
  }

  /// Reads the household's state.
  func read<Result>(
    at time: UInt64, _ body: (HouseholdState) throws -> Result
  ) throws -> Result {
    let today = try today(at: time)
    return try readSource { try body(HouseholdState(source: $0, today: today)) }
  }

  /// Reads one state of the household.
  func readSource<Result>(_ body: (any ProjectionSource) throws -> Result) throws -> Result {
    guard let home, let store = running?.store else { throw StepFailure("\(name) is not there") }
    return try store.read { try body(try store.projections.source(of: home)) }
  }

  /// Writes one transaction of the household.
  func write(
    at time: UInt64,
    _ body: (HouseholdState, inout OperationBuilder, UInt64) throws -> Void
  ) throws -> Written {
    let today = try today(at: time)
    return try writeSource(at: time) { source, builder, now in
      try body(HouseholdState(source: source, today: today), &builder, now)
    }
  }

  /// Writes one transaction of the household, given the state that it builds on.
  func writeSource(
    at time: UInt64,
    _ body: (any ProjectionSource, inout OperationBuilder, UInt64) throws -> Void
  ) throws -> Written {
    guard !isOldBuild else {
      throw StepFailure("\(name) runs an old program: it only exchanges")
    }
    guard let home else { throw StepFailure("\(name) is in no household") }
    takeTurn()
    let now = clock.wall(at: time)
    return try withEngine { engine in
      let store = engine.store
      let dot = try engine.nextDot(in: home)
      var builder = OperationBuilder(zone: home, dot: dot) {
        (try? Identifier.random()) ?? .zero
      }
      try store.read { try body(try store.projections.source(of: home), &builder, now) }
      let version = try engine.write(builder.operations, to: home, nowMilliseconds: now)
      return Written(zone: home, version: version, operations: builder.operations.count)
    }
  }
}

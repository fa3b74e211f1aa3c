import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport
import Household
import InlineExecution
import SimDisk

/// What must hold of whole states when everybody agrees: beside what was promised.
struct WholeState {
  private let world: World

  init(_ world: World) {
    self.world = world
  }

  func check(_ devices: [SimDevice]) throws {
    try talliesAddUp(on: devices)
    for device in devices { try nothingForged(on: device) }
    for device in world.sample(of: devices, for: "read") { try everythingCanBeRead(on: device) }
    try filesAreFew(devices)
    try newcomersAgree(with: devices)
  }

  /// Every kind of field shows what all changes together say, with old programs too.
  private func talliesAddUp(on devices: [SimDevice]) throws {
    guard let first = devices.first else { return }
    let model = try tallies(on: first)
    guard model.isComplete else { return }
    for device in devices {
      guard let home = device.home else { continue }
      guard let found = try model.difference(on: device, in: home) else { continue }
      let oracle: Oracle =
        device.isOldBuild ? .mixedVersions : found.isSum ? .points : .convergence
      throw world.fail(oracle, device, "a tally is not what was written: \(found.text)")
    }
    SimProbe.talliesCompared.hit()
  }

  /// The tallies by all that a device holds.
  private func tallies(on device: SimDevice) throws -> TallyModel {
    let home = device.home ?? .zero
    let frontier = try device.engine().zone(home).frontier
    let changes = world.checker.changes.filter { frontier.covers($0.key) }
    let roles = ChangeRoles(changes, in: home, by: try PeopleLog(of: device, in: world))
    return TallyModel(changes, through: frontier, roles)
  }

  /// What stands in a log was published by the program of its author.
  private func nothingForged(on device: SimDevice) throws {
    let engine = try device.engine()
    let honest = Set(world.archive.keys.compactMap(\.digest))
    for zone in engine.zones where zone.database == .shared {
      // What seems to be of a newer program is passed on unread.
      let unread = Set(
        try engine.store.pending.segments(in: zone.id).filter { $0.reason == .format }.map(\.digest)
      )
      for segment in try engine.store.log.segments(of: zone.id)
      where segment.author.device != engine.device && !honest.contains(segment.digest)
        && !unread.contains(segment.digest)
      {
        throw world.fail(.hostileBytes, device, "took a forged segment of \(segment.author)")
      }
    }
  }

  /// Everything that a person can look at can be looked at.
  private func everythingCanBeRead(on device: SimDevice) throws {
    guard !device.isOldBuild, device.home != nil else { return }
    try device.read(at: world.now) { state in
      let today = try CivilDate(dayNumber: Int(world.now / 86_400_000))
      _ = try state.occurrences.due(through: today.adding(days: 14) ?? today)
      for chore in try state.chores.all(includingArchived: true) {
        _ = try state.chores.chore(chore.id)
      }
      // What was closed under another rule stays as it was closed, and other work on it (R10).
      let isOneAward = try state.storedSettings.value(of: "duplicate") ?? "first" == "first"
      let ledger = try state.ledger.entries(of: nil)
      let second = try ledger.first { entry in
        try isOneAward && entry.kind != .credited && entry.points > 0
          && !ledger.contains { try $0.chore == entry.chore && isClosed($0, in: state) }
      }
      if let paid = second {
        throw world.fail(
          .singleAward, device, "\(paid.event) of \(paid.day) is paid beside another")
      }
      for person in try state.people.all() {
        _ = try state.achievements.badges(of: person.id)
        _ = try state.achievements.streak(of: person.id)
      }
    }
  }

  /// Whether the week or month of a completion was closed.
  private func isClosed(_ entry: LedgerEntry, in state: HouseholdState) throws -> Bool {
    try PeriodKind.allCases.contains { kind in
      try state.totals.periods(kind, of: entry.person).contains {
        $0.isClosed && $0.first <= entry.day && entry.day <= $0.last
      }
    }
  }

  /// The ledger is what folding everything anew would give.
  func ledgersAreFresh(on device: SimDevice) throws {
    guard let home = device.home else { return }
    let stale = try device.engine().store.staleProjections(of: home)
    guard stale.isEmpty else {
      throw world.fail(.points, device, "folded anew these differ: \(stale.joined(separator: " "))")
    }
  }

  /// Small segments are merged, so no author has many files for long.
  private func filesAreFew(_ devices: [SimDevice]) throws {
    for device in devices {
      var counts: [String: Int] = [:]
      for file in device.folder.names {
        guard case .segment(let name) = file, world.isHonest(file) else { continue }
        counts["\(name.zoneTag) \(name.authorTag) \(name.incarnation)", default: 0] += 1
      }
      let bound = Compaction.compactionThreshold + 16
      // What was sealed under earlier keys stays as it is, also under those that are not given to
      // newcomers: the members' log names them all.
      let engine = try device.engine()
      let epochs =
        engine.zones.map { engine.membership(of: $0.group).keys.epochs(of: $0.id).count }.max() ?? 0
      guard let most = counts.values.max(), most > bound + 2 * epochs, !hasResurrection else {
        continue
      }
      throw world.fail(.boundedStorage, device, "\(most) files of one author are in the folder")
    }
  }

  private var hasResurrection: Bool {
    world.carrierRules.resurrectPerMille > 0
      || world.plan.steps.contains { ["resurrect", "rollback", "clone"].contains($0.verb) }
  }

  /// Who joins now has the same state, from a snapshot with what came after, or change by change.
  private func newcomersAgree(with devices: [SimDevice]) throws {
    let host = try devices.first {
      try !$0.isOldBuild && $0.usesFolder && $0.membership().role(of: $0.deviceID)?.rank ?? 0 >= 3
    }
    guard let host, let home = host.home else { return }
    // Where newcomers are not given every key, the household itself sees to a snapshot.
    let isWithheld = try host.membership().history.withholdsKeys
    guard isWithheld || world.isDrawn(for: "newcomer") else { return }
    host.clock.set(to: world.now, at: world.now)
    let bySnapshot = isWithheld || world.plan.seed.isMultiple(of: 2)
    let fresh = try world.addFresh(named: "Fresh")
    do {
      if bySnapshot, !isWithheld { try host.publishSnapshot() }
      let report = try join(fresh, invitedBy: host, bySnapshot: bySnapshot)
      (bySnapshot ? SimProbe.freshBySnapshot : .freshByLog).hit()
      guard bySnapshot == (report?.begunFromSnapshots ?? 0 > 0) else {
        let faults = report?.problems.map(\.fault) ?? []
        throw world.fail(
          .snapshots, fresh,
          "did \(bySnapshot ? "not begin" : "begin") from the snapshot: \(faults)")
      }
    } catch let violation as Violation {
      throw violation
    } catch {
      throw world.fail(
        .snapshots, fresh,
        "cannot join a household at rest: \(error); "
          + "\(try Settling.state(of: host)); \(try Settling.state(of: fresh))")
    }
    guard try fresh.agrees(with: host, in: home) else {
      throw world.fail(
        .snapshots, fresh,
        "differs from who it joined, \(bySnapshot ? "by snapshot" : "by log"): "
          + "\(try Settling.state(of: host)); \(try Settling.state(of: fresh)); "
          + "\(try Settling.difference(fresh, host, in: home))")
    }
    let model = try tallies(on: host)
    if model.isComplete, let found = try model.difference(on: fresh, in: home) {
      throw world.fail(.snapshots, fresh, "a tally is not what was written: \(found.text)")
    }
  }

  /// Lets a device join that has the files of its host alone, until both have all that they need.
  private func join(
    _ fresh: SimDevice, invitedBy host: SimDevice, bySnapshot: Bool
  ) throws -> Round? {
    let secret = try host.invite(uses: 1, at: world.now)
    _ = try host.sync(at: world.now)
    host.giveFiles(to: fresh, withSnapshots: bySnapshot)
    try fresh.start(at: world.now)
    let report = try fresh.join(secret, at: world.now)
    _ = try fresh.sync(at: world.now)
    // Somebody may have made a key beside the invitation: whoever let the device in gives it.
    for _ in 0..<2 {
      fresh.giveFiles(to: host)
      _ = try host.sync(at: world.now)
      host.giveFiles(to: fresh)
      _ = try fresh.sync(at: world.now)
    }
    return report
  }
}

extension World {
  /// A device that nobody has had before, with an empty folder.
  func addFresh(
    named name: String, way: Plan.Way = .folder, person: PersonID? = nil
  ) throws -> SimDevice {
    let index = devices.count
    let disk = SimDisk(seed: Chance.mix(plan.seed ^ UInt64(index) << 48), profile: .ordered)
    let device = try SimDevice(
      index: index, device: Plan.Device(name: name, way: way), person: person, seed: plan.seed,
      disk: disk)
    add(device)
    return device
  }
}

extension SimDevice {
  /// Gives the folder a snapshot, whether or not it pays.
  func publishSnapshot() throws {
    guard let home, try isMember() else { throw StepFailure("\(name) is in no household") }
    takeTurn()
    let ways = try ways()
    try withEngine { engine in
      // The segments of what is in a snapshot go before it.
      let zone = try engine.zone(home)
      guard try LogReader(engine: engine).unsealedChanges(of: home).isEmpty else {
        throw StepFailure("some changes are not published yet")
      }
      let chunks = try SnapshotMaking.snapshot(of: home, in: engine)
      for way in ways {
        if let relay = way.relay?.relay {
          relay.client.directory.zones = try engine.mailboxes(at: relay)
        }
        for (file, chunk) in zip(SnapshotPlan.names(of: chunks, zoneTag: zone.tag), chunks) {
          try runInline { try await way.transport.publish(file, chunk) }
        }
      }
    }
  }
}

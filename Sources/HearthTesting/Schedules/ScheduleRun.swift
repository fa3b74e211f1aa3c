import Hearth

/// What went wrong in a schedule.
struct ScheduleFault: Error {
  /// What failed: a shorter schedule must fail in the same.
  let place: String
  let words: String
}

/// Runs one schedule with a family of its own.
struct ScheduleRun {
  let app: AppSchema
  let names: [String]
  let roles: [String: ZoneRole]
  let actions: [Action]
  let invariants: [Invariant]

  /// The time between two steps.
  private static let stepMilliseconds: UInt64 = 60_000

  /// Runs a schedule, lets the family settle without faults, and checks all invariants.
  ///
  /// - Returns: what failed first; nil if nothing did.
  /// - Throws: ``FamilyError`` if the schedule cannot be run at all.
  func fault(of steps: [ScheduleStep]) async throws -> ScheduleFault? {
    let family = try await Family(app, names, roles: roles)
    do {
      for step in steps {
        try Task.checkCancellation()
        family.clock.reach(FamilyClock.start + nextTime(family.clock.milliseconds))
        try await perform(step, in: family)
      }
      try await settle(family)
      return nil
    } catch let fault as ScheduleFault {
      return fault
    }
  }

  /// The start of the next step: what a step's own calls took does not move it.
  private func nextTime(_ milliseconds: UInt64) -> UInt64 {
    let passed = milliseconds - FamilyClock.start
    return (passed / ScheduleRun.stepMilliseconds + 1) * ScheduleRun.stepMilliseconds
  }

  private func settle(_ family: Family) async throws {
    family.heal()
    family.deliveries.repair()
    try await guarding("settling") { try await family.settle() }
    for name in family.names { try await check(.settled, name, in: family) }
  }

  // MARK: Steps

  private func perform(_ step: ScheduleStep, in family: Family) async throws {
    switch step {
    case .act(let name, let action, let seed):
      try await act(name, action, seed: seed, in: family)
      try await check(.always, name, in: family)
    case .sync(let name):
      try await guarding("sync") { _ = try await family[name].sync() }
      try await check(.always, name, in: family)
    case .partition(let parts): try family.partition(parts)
    case .heal: family.heal()
    case .crash(let name): try await guarding("opening") { try await family.crash(name) }
    case .crashInSync(let name, let count):
      try await guarding("opening") { try await family.crash(name, inSyncAfterCalls: count) }
      try await check(.always, name, in: family)
    case .advance(let span): family.clock.advance(byMilliseconds: span)
    case .lose(let count): family.deliveries.lose(everyNth: count)
    case .delay(let count): family.deliveries.delay(upToSyncs: count)
    case .repeatRemoved(let count): family.deliveries.repeatRemoved(everyNth: count)
    }
  }

  private func act(
    _ name: String, _ actionName: String, seed: UInt64, in family: Family
  ) async throws {
    guard let action = actions.first(where: { $0.name == actionName }) else {
      throw FamilyError("the schedule has the action \(actionName), which does not exist")
    }
    let turn = Turn(
      of: name, in: try await family[name].zone(), at: family.clock.date, seed: seed)
    try await guarding("the action \(action.name) of \(name)", as: "action \(action.name)") {
      do {
        // Other numbers than those of the turn, in which keys could else be seen.
        try await RepeatableKeys.from(seed: ~seed) { try await action.perform(turn) }
      } catch let error as HearthError where action.allowed.contains(error.code) {}
    }
  }

  private func check(_ moment: Invariant.Moment, _ name: String, in family: Family) async throws {
    let zone = try await family[name].zone()
    for invariant in invariants where moment == .settled || invariant.moment == moment {
      let words = "the invariant \"\(invariant.name)\" on the device of \(name)"
      let holds = try await guarding(words, as: "invariant \(invariant.name)") {
        try await zone.read { try invariant.holds($0) }
      }
      guard holds else {
        throw ScheduleFault(
          place: "invariant \(invariant.name)", words: "\(words) does not hold")
      }
    }
  }

  /// Turns an error into a fault of what it belongs to.
  private func guarding<Result>(
    _ subject: String, as place: String? = nil, _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await body()
    } catch {
      try Task.checkCancellation()
      throw ScheduleFault(place: place ?? subject, words: "\(subject) failed: \(error)")
    }
  }
}

import Hearth

/// Runs an application's actions in random order on several devices, and checks its invariants.
///
/// ```swift
/// try await Schedules(app, ["anna", "ben", "cleo"]) {
///   Action("add") { turn in try await turn.zone.insert(Item(name: turn.pick("Milk", "Bread"))) }
/// } invariants: {
///   Invariant("names are unique") { reader in
///     let names = try reader.fetch(Item.all).map(\.name)
///     return Set(names).count == names.count
///   }
/// }.check(seeds: 0..<200)
/// ```
///
/// Each schedule has a family of its own. Its people act and sync in any order. The family is
/// parted, nodes crash, and deliveries are lost, late and repeated. At the end the faults stop and
/// everybody syncs until nothing moves. Then all replicas must be equal and all invariants must
/// hold. A schedule that fails is made shorter first, and is thrown as a ``ScheduleFailure``.
public struct Schedules: Sendable {
  private let app: AppSchema
  private let names: [String]
  private let roles: [String: ZoneRole]
  private let maximumSteps: Int
  private let withFaults: Bool
  private let actions: [Action]
  private let invariants: [Invariant]

  /// How many shorter schedules are tried at most.
  private static let maximumRuns = 400

  /// Describes what people do and what must hold.
  ///
  /// - Parameters:
  ///   - names: the people; the first one is the owner.
  ///   - roles: the roles of those who are no plain members.
  ///   - maximumSteps: how long a schedule is at most.
  ///   - withFaults: whether there are partitions, crashes and bad deliveries.
  public init(
    _ app: AppSchema, _ names: [String], roles: [String: ZoneRole] = [:], maximumSteps: Int = 30,
    withFaults: Bool = true, @ActionBuilder actions: () -> [Action],
    @InvariantBuilder invariants: () -> [Invariant]
  ) {
    self.app = app
    self.names = names
    self.roles = roles
    self.maximumSteps = max(1, maximumSteps)
    self.withFaults = withFaults
    self.actions = actions()
    self.invariants = invariants()
  }

  private var run: ScheduleRun {
    ScheduleRun(
      app: app, names: names, roles: roles, actions: actions, invariants: invariants)
  }

  /// Runs the schedules of several seeds; equal seeds give equal schedules.
  ///
  /// - Returns: what the schedules did.
  /// - Throws: ``ScheduleFailure`` for the first schedule that fails; ``FamilyError`` if nothing
  ///   can be run.
  @discardableResult
  public func check(seeds: Range<UInt64>) async throws -> ScheduleSummary {
    let actionNames = actions.map(\.name)
    guard !seeds.isEmpty, !actions.isEmpty, Set(actionNames).count == actions.count else {
      throw FamilyError("schedules need a seed, and actions with different names: \(actionNames)")
    }
    let maker = ScheduleMaker(
      names: names, actions: actions, maximumSteps: maximumSteps, withFaults: withFaults)
    var summary = ScheduleSummary()
    for seed in seeds {
      let steps = maker.steps(seed: seed)
      summary.add(steps)
      guard let fault = try await run.fault(of: steps) else { continue }
      let shrinker = ScheduleShrinker(maximumRuns: Schedules.maximumRuns) {
        try await run.fault(of: $0)
      }
      let shortest = try await shrinker.shrink(steps, fault)
      throw ScheduleFailure(
        seed: seed, fault: shortest.fault.words, steps: shortest.steps,
        originalCount: steps.count)
    }
    return summary
  }

  /// Runs one schedule, such as the steps of a failure that was mended.
  ///
  /// - Throws: ``ScheduleFailure`` if it fails.
  public func replay(_ steps: [ScheduleStep]) async throws {
    guard let fault = try await run.fault(of: steps) else { return }
    throw ScheduleFailure(
      seed: nil, fault: fault.words, steps: steps, originalCount: steps.count)
  }
}

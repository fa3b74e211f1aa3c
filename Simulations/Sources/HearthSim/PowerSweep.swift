/// One small plan, run once for each operation of a disk with a power cut there, and on order once
/// more for each operation of the start after it.
///
/// What SQLite's own tests do with its crash file system, over a family instead of a database.
struct PowerSweep {
  /// What came of a sweep.
  struct Outcome {
    /// How many plans were run, each with its own cut or cuts.
    var cuts = 0
    /// All runs as one outcome; its failure names the cut.
    var outcome: Simulator.Outcome
    /// The first plan that failed, to keep and to replay.
    var failing: Plan?
  }

  private let plan: Plan
  private let sweep: Plan.Sweep
  private static let maximumRuns = 100_000

  /// A sweep of a plan that says of itself what to sweep, or as told.
  init(_ plan: Plan, _ sweep: Plan.Sweep? = nil) {
    self.plan = plan
    self.sweep = sweep ?? plan.sweep ?? Plan.Sweep(device: plan.devices.first?.name ?? "")
  }

  /// Runs until the first failure or until every operation had its cut.
  func run(progress: (Int) -> Void = { _ in }) throws -> Outcome {
    let (calm, last) = try runOnce(plan)
    var result = Outcome(outcome: calm)
    guard calm.failure == nil else {
      result.failing = plan
      return result
    }
    let operations = last.operations[sweep.device] ?? 0
    guard operations > 0 else {
      result.outcome.failure = "\(sweep.device)'s disk does nothing in this plan"
      result.outcome.oracle = Oracle.expectation.rawValue
      return result
    }
    for place in stride(from: UInt64(1), through: operations, by: max(1, sweep.stride ?? 1)) {
      let starts = try tryCut(["in=\(place)"], &result)
      guard result.failing == nil, sweep.isTwice == true, starts > 0 else {
        if result.failing != nil { return missing(in: result) }
        continue
      }
      for second in stride(from: UInt64(1), through: starts, by: max(1, sweep.stride ?? 1)) {
        _ = try tryCut(["in=\(place)", "then=\(second)"], &result)
        if result.failing != nil || result.cuts > PowerSweep.maximumRuns { return result }
      }
      progress(result.cuts)
    }
    return missing(in: result)
  }

  /// A plan's own list of what it must come to holds for its sweep as a whole.
  private func missing(in result: Outcome) -> Outcome {
    guard result.failing == nil,
      let missed = plan.mustHit?.first(where: { result.outcome.probes[$0] == nil })
    else { return result }
    var result = result
    result.outcome.failure = "the plan is for \(missed), which did not happen"
    result.outcome.oracle = Oracle.expectation.rawValue
    return result
  }

  private func tryCut(_ words: [String], _ result: inout Outcome) throws -> UInt64 {
    var cut = plan
    cut.name = "\(plan.name) power \(words.joined(separator: " "))"
    cut.steps.insert(Step(at: 0, sweep.device, "power", words), at: 0)
    let (outcome, last) = try runOnce(cut)
    result.cuts += 1
    result.outcome.add(outcome)
    if let failure = outcome.failure {
      result.failing = cut
      result.outcome.failure = "power cut at \(words.joined(separator: " ")): \(failure)"
      result.outcome.oracle = outcome.oracle
    }
    return last.startOperations
  }

  private func runOnce(_ plan: Plan) throws -> (Simulator.Outcome, RunResult) {
    var plan = plan
    plan.mustHit = nil
    plan.sweep = nil
    return Simulator.runKeepingResult(plan, keepsLines: false)
  }
}

extension Simulator.Outcome {
  /// Adds what another run came to.
  fileprivate mutating func add(_ other: Simulator.Outcome) {
    traceHash = Chance.mix(traceHash ^ other.traceHash)
    events += other.events
    deviceDays += other.deviceDays
    acknowledged += other.acknowledged
    syncs += other.syncs
    digestsCompared += other.digestsCompared
    cpuSeconds += other.cpuSeconds
    probes.merge(other.probes) { $0 + $1 }
  }
}

extension Simulator {
  /// What a sweep came to, for the command line.
  package struct Sweep: Sendable {
    package let cuts: Int
    package let failure: String?
    /// The plan that failed, with its cut, as the text of its file.
    package let plan: String?
    package let outcome: Outcome
  }

  /// Runs a plan once for each operation of a device's disk, with a power cut there.
  ///
  /// - Parameters:
  ///   - device: whose disk; the plan's own choice if nil.
  ///   - isTwice: also with a second cut at each operation of the start that follows.
  package static func sweep(
    _ source: Source, device: String?, isTwice: Bool, stride: Int,
    progress: (Int) -> Void
  ) throws -> Sweep {
    let plan = try plan(source)
    var sweep = plan.sweep ?? Plan.Sweep(device: plan.devices.first?.name ?? "")
    if let device { sweep.device = device }
    guard plan.devices.contains(where: { $0.name == sweep.device }) else {
      throw StepFailure("the plan has no device \(sweep.device)")
    }
    if isTwice { sweep.isTwice = true }
    if stride > 1 { sweep.stride = stride }
    let result = try PowerSweep(plan, sweep).run(progress: progress)
    return Sweep(
      cuts: result.cuts, failure: result.outcome.failure,
      plan: try result.failing.map { try $0.text() }, outcome: result.outcome)
  }
}

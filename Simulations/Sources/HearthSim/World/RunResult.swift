import HearthCRDT

/// What came of a run.
struct RunResult: Sendable {
  let violation: Violation?
  let traceHash: UInt64
  let checkpoints: [UInt64]
  let events: Int
  let lines: [Trace.Line]
  /// The members' log as each device has it, after a violation; empty unless lines were kept.
  let membersLines: [Trace.Line]
  let devices: [String]
  /// How long the plan lasted, in virtual milliseconds, times the number of devices.
  let deviceMilliseconds: UInt64
  let startMilliseconds: UInt64
  let acknowledged: Int
  let syncs: Int
  let digestsCompared: Int
  let refusals: [String: Int]
  /// How many operations each disk did in the plan, without set-up and healing.
  let operations: [String: UInt64]
  /// The most operations that one start took.
  let startOperations: UInt64
  /// Who knew what at the end; empty unless lines were kept.
  let knowledge: Knowledge

  init(_ world: World) {
    violation = world.violation
    traceHash = world.trace.hash
    checkpoints = world.trace.checkpoints
    events = world.trace.count
    lines = world.trace.lines
    membersLines = world.membersLines
    devices = world.devices.map(\.name)
    startMilliseconds = world.plan.startMilliseconds
    deviceMilliseconds =
      (world.now - world.plan.startMilliseconds) * UInt64(world.devices.count)
    acknowledged = world.ledger.acknowledged.count
    syncs = world.ledger.syncs
    digestsCompared = world.checker.digestsCompared
    refusals = world.ledger.refusals
    operations = Dictionary(
      zip(world.devices.map(\.name), zip(world.operations.ready, world.operations.end)).map {
        ($0, $1.1 - $1.0)
      }, uniquingKeysWith: { first, _ in first })
    startOperations = world.startOperations
    knowledge = world.knowledge
  }
}

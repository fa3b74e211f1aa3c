import HearthCRDT

/// What came of a run.
struct RunResult: Sendable {
  let violation: Violation?
  let traceHash: UInt64
  let checkpoints: [UInt64]
  let events: Int
  let lines: [Trace.Line]
  let devices: [String]
  /// How long the plan lasted, in virtual milliseconds, times the number of devices.
  let deviceMilliseconds: UInt64
  let startMilliseconds: UInt64
  let acknowledged: Int
  let syncs: Int
  let digestsCompared: Int
  let refusals: [String: Int]

  init(_ world: World) {
    violation = world.violation
    traceHash = world.trace.hash
    checkpoints = world.trace.checkpoints
    events = world.trace.count
    lines = world.trace.lines
    devices = world.devices.map(\.name)
    startMilliseconds = world.plan.startMilliseconds
    deviceMilliseconds =
      (world.now - world.plan.startMilliseconds) * UInt64(world.devices.count)
    acknowledged = world.ledger.acknowledged.count
    syncs = world.ledger.syncs
    digestsCompared = world.checker.digestsCompared
    refusals = world.ledger.refusals
  }
}

import HearthCRDT

/// What the command line of the simulator asks of it.
package enum Simulator {
  /// One run of a seed, in short.
  package struct Outcome: Sendable {
    package let seed: UInt64
    package let failure: String?
    package let oracle: String?
    package let traceHash: UInt64
    package let events: Int
    package let deviceDays: Double
    package let acknowledged: Int
    package let lines: [String]
  }

  /// Runs a seed.
  package static func run(
    seed: UInt64, mode: String, mutant: String? = nil, keepsLines: Bool = false
  ) throws -> Outcome {
    guard let kind = Generator.Mode(rawValue: mode) else {
      throw StepFailure("there is no mode \(mode): quick or deep")
    }
    return try run(
      Generator.plan(seed: seed, mode: kind), mutant: mutant, keepsLines: keepsLines)
  }

  /// Runs a plan's file.
  package static func run(
    planAt path: String, mutant: String? = nil, keepsLines: Bool = false
  ) throws -> Outcome {
    try run(Plan.read(path), mutant: mutant, keepsLines: keepsLines)
  }

  /// The plan of a seed, as its file.
  package static func plan(seed: UInt64, mode: String) throws -> String {
    try Generator.plan(seed: seed, mode: Generator.Mode(rawValue: mode) ?? .quick).text()
  }

  static func run(_ plan: Plan, mutant: String?, keepsLines: Bool) throws -> Outcome {
    #if HEARTH_SIMULATION
      if let mutant {
        guard let known = Mutant(rawValue: mutant) else {
          throw StepFailure("there is no mutant \(mutant)")
        }
        Mutant.activate(known)
      } else {
        Mutant.activate(nil)
      }
    #endif
    let result = World(plan, keepsLines: keepsLines).run()
    return Outcome(
      seed: plan.seed, failure: result.violation.map { "\($0)" },
      oracle: result.violation?.oracle.rawValue, traceHash: result.traceHash,
      events: result.events, deviceDays: Double(result.deviceMilliseconds) / 86_400_000,
      acknowledged: result.acknowledged,
      lines: result.lines.map { line in
        let seconds = Double(line.time - result.startMilliseconds) / 1_000
        let who = line.device.map { result.devices[$0] } ?? "-"
        return "\(seconds)s \(who) \(line.kind) \(line.text)"
      })
  }
}

import Foundation
import HearthCRDT
import HearthCrypto
import SimDisk

/// What the command line and the tests of the simulator ask of it.
package enum Simulator {
  /// One run of a plan, in short; a line of what a worker process prints.
  package struct Outcome: Codable, Sendable {
    package var name: String
    package var seed: UInt64
    package var failure: String?
    package var oracle: String?
    package var traceHash: UInt64
    package var checkpoints: [UInt64]
    package var events: Int
    package var deviceDays: Double
    package var acknowledged: Int
    package var syncs: Int
    package var digestsCompared: Int
    /// How often each probe was hit, those that were.
    package var probes: [String: Int]
    package var cpuSeconds: Double
    /// What happened, for people; empty unless asked for.
    package var lines: [String]
    /// The members' log as each device has it, after a failure; empty unless lines were kept.
    package var membersLines: [String] = []

    /// A run whose process ended itself, with this status or by this signal.
    package static func ended(seed: UInt64, mode: String, status: Int32) -> Outcome {
      Outcome(
        name: "\(mode)-\(seed)", seed: seed, failure: "the program ended itself: \(status)",
        oracle: nil, traceHash: 0, checkpoints: [], events: 0, deviceDays: 0, acknowledged: 0,
        syncs: 0, digestsCompared: 0, probes: [:], cpuSeconds: 0, lines: [])
    }
  }

  /// What is to be run.
  package enum Source: Sendable {
    case seed(UInt64, mode: String)
    case file(String)
  }

  /// All checks, by number.
  package static let oracles = Oracle.allCases.map(\.rawValue)

  /// All seeded bugs.
  package static let mutants = Mutant.allCases.map(\.rawValue) + [repeatsNonce]
  /// The seeded bug of the module that knows none of the others.
  private static let repeatsNonce = "repeatsNonce"

  /// All probes of the world and of the code.
  package static let probes =
    SimProbe.allCases.map(\.rawValue) + Probe.allCases.map(\.rawValue)
    + DiskProbe.faults.map { "disk." + $0.rawValue }
  /// Those that a mode's plans can hit: the relay's where there is one, those of hostile members
  /// where there are some.
  package static func probes(ofMode mode: String) -> [String] {
    probes.filter {
      (mode == "relay" || !$0.hasPrefix("relay.") && $0 != SimProbe.freshByRelay.rawValue)
        && (mode == "hostile" || !$0.hasPrefix("hostile."))
    }
  }

  /// The plan that a source stands for.
  static func plan(_ source: Source) throws -> Plan {
    switch source {
    case .file(let path): return try Plan.read(path)
    case .seed(let seed, let mode):
      guard let mode = Generator.Mode(rawValue: mode) else {
        throw StepFailure(
          "there is no mode \(mode): "
            + Generator.Mode.allCases.map(\.rawValue).joined(separator: ", "))
      }
      return Generator.plan(seed: seed, mode: mode)
    }
  }

  /// About how long a plan's file takes, in steps; a sweep is many runs, one within another very
  /// many, what is pasted counts by the piece, and so does each day of a device.
  package static func weight(of path: String) throws -> Int {
    let plan = try plan(.file(path))
    let steps = plan.steps.reduce(0) { sum, step in
      sum + 1 + (step.verb == "paste" ? step.words.compactMap { Int($0) }.max() ?? 0 : 0)
    }
    let days = Int((plan.steps.last?.atMilliseconds ?? 0) / UInt64(Generator.dayMilliseconds))
    guard let sweep = plan.sweep else { return steps + days * plan.devices.count }
    return steps * (sweep.isTwice == true ? 10_000 : 100) / max(1, sweep.stride ?? 1)
  }

  /// The plan as the text of its file.
  package static func planText(_ source: Source) throws -> String { try plan(source).text() }

  /// Makes one seeded bug active in this process, or none.
  package static func activate(mutant: String?) throws {
    #if HEARTH_SIMULATION
      AEAD.repeatsNonce = mutant == repeatsNonce
      guard let mutant, mutant != repeatsNonce else { return Mutant.activate(nil) }
      guard let known = Mutant(rawValue: mutant) else {
        throw StepFailure("there is no mutant \(mutant)")
      }
      Mutant.activate(known)
    #endif
  }

  /// Runs a plan.
  package static func run(_ source: Source, keepsLines: Bool = false) throws -> Outcome {
    let plan = try plan(source)
    if plan.sweep != nil { return try PowerSweep(plan).run().outcome }
    return run(plan, keepsLines: keepsLines)
  }

  static func run(_ plan: Plan, keepsLines: Bool = false) -> Outcome {
    runKeepingResult(plan, keepsLines: keepsLines).0
  }

  static func runKeepingResult(_ plan: Plan, keepsLines: Bool) -> (Outcome, RunResult) {
    resetProbes()
    let began = cpuSeconds()
    let world = World(plan, keepsLines: keepsLines)
    let result = world.run()
    var failure = result.violation.map { "\($0)" }
    var oracle = result.violation?.oracle.rawValue
    let probes = readProbes(world)
    if failure == nil, let missed = plan.mustHit?.first(where: { probes[$0] == nil }) {
      failure = "the plan is for \(missed), which did not happen"
      oracle = Oracle.expectation.rawValue
    }
    let outcome = Outcome(
      name: plan.name, seed: plan.seed, failure: failure, oracle: oracle,
      traceHash: result.traceHash, checkpoints: result.checkpoints, events: result.events,
      deviceDays: Double(result.deviceMilliseconds) / 86_400_000,
      acknowledged: result.acknowledged, syncs: result.syncs,
      digestsCompared: result.digestsCompared, probes: probes, cpuSeconds: cpuSeconds() - began,
      lines: result.lines.map { words($0, result) },
      membersLines: result.membersLines.map { words($0, result) })
    return (outcome, result)
  }

  private static func words(_ line: Trace.Line, _ result: RunResult) -> String {
    let step = Step(at: line.time - result.startMilliseconds, "", "")
    let time = step.line.split(separator: " ").prefix(2).joined(separator: " ")
    let who = line.device.map { result.devices[$0] } ?? "world"
    return "\(time) \(who) \(line.kind)\(line.text.isEmpty ? "" : ": ")\(line.text)"
  }

  /// Makes a failing plan smaller.
  ///
  /// - Returns: the small plan's file, what fails in it, and how many runs it took; nil if nothing
  ///   fails.
  package static func shrink(
    _ source: Source, maximumRuns: Int = 2_000
  ) throws -> (plan: String, steps: Int, failure: String, runs: Int)? {
    guard let result = Shrinker.shrink(try plan(source), maximumRuns: maximumRuns) else {
      return nil
    }
    return (
      try result.plan.text(), result.plan.steps.count, "\(result.violation)", result.runs
    )
  }

  static func resetProbes() {
    SimProbe.reset()
    #if HEARTH_SIMULATION
      Probe.reset()
    #endif
  }

  static func readProbes(_ world: World) -> [String: Int] {
    var found: [String: Int] = [:]
    for (probe, count) in SimProbe.read() where count > 0 { found[probe.rawValue] = count }
    for device in world.devices {
      for (probe, count) in device.disk.counts() where count > 0 {
        guard DiskProbe.faults.contains(probe) else { continue }
        found["disk." + probe.rawValue, default: 0] += Int(clamping: count)
      }
    }
    #if HEARTH_SIMULATION
      for (probe, count) in Probe.read() where count > 0 { found[probe.rawValue] = count }
    #endif
    return found
  }

  static func cpuSeconds() -> Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
}

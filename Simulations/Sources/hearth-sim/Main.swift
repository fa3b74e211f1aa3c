import ArgumentParser
import HearthSim

@main
struct Main: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hearth-sim", abstract: "Simulate families of devices.", subcommands: [Run.self])
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Run seeds one after another.")
  @Option var mode = "quick"
  @Option var from: UInt64 = 0
  @Option var count: UInt64 = 1
  @Option var mutant: String?
  @Option var plan: String?
  @Flag var trace = false
  @Flag var printPlan = false

  func run() throws {
    if let plan {
      let outcome = try Simulator.run(planAt: plan, mutant: mutant, keepsLines: trace)
      for line in outcome.lines { print(line) }
      print(outcome.failure ?? "ok")
      return
    }
    if printPlan { return print(try Simulator.plan(seed: from, mode: mode)) }
    var (events, days, failures) = (0, 0.0, 0)
    for seed in from..<from + count {
      let outcome = try Simulator.run(seed: seed, mode: mode, mutant: mutant, keepsLines: trace)
      for line in outcome.lines { print(line) }
      events += outcome.events
      days += outcome.deviceDays
      if let failure = outcome.failure {
        failures += 1
        print("seed \(seed): \(failure)")
      }
    }
    print("\(count) seeds, \(failures) failures, \(events) events, \(days) device-days")
  }
}

import ArgumentParser
import Foundation
import HearthSim

/// `hearth-sim exhaustive`.
struct Exhaustive: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Deliver a few changes in every order there is; all must come to the same end.")
  @Option(help: "Only the case of this name.") var only: String?
  @Option(help: "A seeded bug to make active.") var mutant: String?
  @Option(help: "Where to write the outcomes as JSON.") var json: String?
  @Flag(help: "End with the first case that fails.") var stop = false
  @Flag(help: "Tell the cases instead of running them.") var list = false

  func run() throws {
    if list {
      for story in Simulator.orderCases { print("\(story.name): \(story.purpose)") }
      return
    }
    try Simulator.activate(mutant: mutant)
    let outcomes = try Simulator.everyOrder(only: only, stopsAtFailure: stop) { outcome in
      guard let failure = outcome.failure else { return }
      print("FAIL \(outcome.name): \(failure)")
    }
    if let json { try JSONEncoder().encode(outcomes).write(to: URL(fileURLWithPath: json)) }
    let failures = outcomes.count { $0.failure != nil }
    print(
      "\(outcomes.count) cases, \(outcomes.reduce(0) { $0 + $1.orders }) orders, "
        + "\(outcomes.reduce(0) { $0 + $1.deliveries }) deliveries, "
        + String(format: "%.1f s, ", outcomes.reduce(0) { $0 + $1.cpuSeconds })
        + "\(failures) failures")
    if failures > 0 { throw ExitCode.failure }
  }
}

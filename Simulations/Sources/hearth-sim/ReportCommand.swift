import ArgumentParser
import Foundation
import HearthSim

/// `hearth-sim report`.
struct Report: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write report.json and one report.html about runs, mutants, and one run in detail.")
  @Argument(help: "Files that `run --json` and `mutants --json` wrote.") var results: [String] = []
  @Option(help: "The folder to write into.") var output: String
  @Option(help: "The seed of the run to draw; the first that failed.") var seed: UInt64?
  @Option(help: "The plan's file of the run to draw.") var plan: String?
  @Option(help: "quick, deep, people, relay or newcomers, for seeds.") var mode = "quick"
  @Option(help: "A seeded bug to make active in the run that is drawn.") var mutant: String?

  func validate() throws {
    guard !results.isEmpty || seed != nil || plan != nil else {
      throw ValidationError("name results, or a run with --seed or --plan")
    }
  }

  func run() throws {
    try Simulator.activate(mutant: mutant)
    let source = plan.map { Simulator.Source.file($0) } ?? seed.map { .seed($0, mode: mode) }
    print(try Simulator.report(results: results, source: source, mode: mode, into: output))
  }
}

import ArgumentParser
import Foundation
import HearthSim

/// `hearth-sim determinism`.
struct Determinism: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run seeds twice, in processes with different hash seeds, and compare the traces.")
  @Option(help: "quick, deep, people, relay or newcomers.") var mode = "quick"
  @Option(help: "The first seed.") var from: UInt64 = 0
  @Option(help: "How many seeds.") var count: UInt64 = 50
  @Option(help: "How many processes.") var jobs = ProcessInfo.processInfo.activeProcessorCount
  @Option(help: "Outcomes of these seeds in an earlier run, as JSON; they are run once more then.")
  var against: String?

  func run() throws {
    let list = Workers.split(from...from + max(1, count) - 1, mode: mode)
    let earlier = try against.map(outcomes)
    let runs = try Workers(jobs: jobs).run(earlier == nil ? list + list : list).flatMap { $0 }
    let second = runs.suffix(Int(max(1, count)))
    let first = earlier ?? Array(runs.prefix(runs.count - second.count))
    var differences = 0
    for (left, right) in zip(first, second) where left.traceHash != right.traceHash {
      differences += 1
      let place = zip(left.checkpoints, right.checkpoints).enumerated()
        .first { $0.element.0 != $0.element.1 }?.offset
      print(
        "seed \(left.seed) differs, first between event \((place ?? 0) * 1_000) and "
          + "\(((place ?? left.checkpoints.count) + 1) * 1_000)")
    }
    print("\(first.count) seeds twice, \(differences) differences")
    if differences > 0 { throw ExitCode.failure }
  }

  /// The outcomes of the wanted seeds in an earlier run.
  private func outcomes(in path: String) throws -> [Simulator.Outcome] {
    let all = try JSONDecoder().decode(
      [Simulator.Outcome].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    return try (from..<from + max(1, count)).map { seed in
      guard let outcome = all.first(where: { $0.seed == seed && $0.name == "\(mode)-\(seed)" })
      else { throw ValidationError("\(path) holds no outcome of \(mode) seed \(seed)") }
      return outcome
    }
  }
}

import ArgumentParser
import Foundation
import HearthSim

/// `hearth-sim mutants`.
struct Mutants: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make each seeded bug active in turn and see which check kills it, and how soon.")
  @Option(help: "How many seeds each may survive.") var seeds: UInt64 = 500
  @Option(help: "How many processes.") var jobs = ProcessInfo.processInfo.activeProcessorCount
  @Option(help: "Only this one.") var only: String?
  @Option(help: "Where to write the matrix as JSON.") var json: String?

  private struct Row: Codable {
    let mutant: String
    let oracle: String?
    let seeds: Int
    let failure: String?
  }

  func run() throws {
    let mutants = only.map { [$0] } ?? Simulator.mutants
    let list = mutants.map {
      Job(seeds: Array(0..<seeds), mutant: $0, stopsAtFailure: true)
    }
    let rows = zip(mutants, try Workers(jobs: jobs).run(list)).map { mutant, outcomes in
      Row(
        mutant: mutant, oracle: outcomes.last?.oracle, seeds: outcomes.count,
        failure: outcomes.last?.failure)
    }
    for row in rows {
      print(
        "\(row.oracle == nil ? "SURVIVES" : "killed  ") \(row.mutant)  \(row.oracle ?? "-") after "
          + "\(row.seeds): \(row.failure ?? "")")
    }
    let killed = rows.filter { $0.oracle != nil }
    let counts = killed.map(\.seeds).sorted()
    print(
      "\(killed.count) of \(rows.count) killed, median "
        + "\(counts.isEmpty ? 0 : counts[counts.count / 2]) seeds, most \(counts.last ?? 0)")
    if let json { try JSONEncoder().encode(rows).write(to: URL(fileURLWithPath: json)) }
    if killed.count < rows.count { throw ExitCode.failure }
  }
}

/// `hearth-sim determinism`.
struct Determinism: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run seeds twice, in processes with different hash seeds, and compare the traces.")
  @Option(help: "quick or deep.") var mode = "quick"
  @Option(help: "The first seed.") var from: UInt64 = 0
  @Option(help: "How many seeds.") var count: UInt64 = 50
  @Option(help: "How many processes.") var jobs = ProcessInfo.processInfo.activeProcessorCount

  func run() throws {
    let list = Workers.split(from...from + max(1, count) - 1, mode: mode)
    let both = try Workers(jobs: jobs).run(list + list).flatMap { $0 }
    let (first, second) = (both.prefix(both.count / 2), both.suffix(both.count / 2))
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
}

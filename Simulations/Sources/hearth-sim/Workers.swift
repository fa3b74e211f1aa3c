import ArgumentParser
import Foundation
import HearthSim

/// What worker processes are to do: one process runs one thread, so that randomness is its own.
struct Job: Codable {
  var mode = "quick"
  var seeds: [UInt64] = []
  var plans: [String] = []
  var mutant: String?
  /// Whether the first failure ends the job.
  var stopsAtFailure = false
}

/// `hearth-sim worker`: reads a job from standard input, prints an outcome a line.
struct Worker: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run what standard input says, one line of JSON for each run.", shouldDisplay: false)

  func run() throws {
    let job = try JSONDecoder().decode(
      Job.self, from: FileHandle.standardInput.readDataToEndOfFile())
    try Simulator.activate(mutant: job.mutant)
    let sources =
      job.seeds.map { Simulator.Source.seed($0, mode: job.mode) }
      + job.plans.map { Simulator.Source.file($0) }
    let encoder = JSONEncoder()
    for source in sources {
      let outcome = try Simulator.run(source)
      var line = try encoder.encode(outcome)
      line.append(UInt8(ascii: "\n"))
      FileHandle.standardOutput.write(line)
      if job.stopsAtFailure, outcome.failure != nil { return }
    }
  }
}

/// Runs jobs in processes of their own, so many at a time.
struct Workers {
  let jobs: Int

  /// Runs every job and gives its outcomes, in the order of the jobs.
  ///
  /// A process that ends itself counts as a failure of the seed that it was at; the seeds after it
  /// are run by another.
  func run(
    _ list: [Job], progress: ((Int) -> Void)? = nil
  ) throws -> [[Simulator.Outcome]] {
    var results = [[Simulator.Outcome]](repeating: [], count: list.count)
    var open = Array(list.indices)
    var done = 0
    while !open.isEmpty {
      let tasks = try open.map { index in
        var rest = list[index]
        rest.seeds = Array(rest.seeds.dropFirst(results[index].count))
        return Pool.Task(arguments: ["worker"], input: try JSONEncoder().encode(rest))
      }
      var cutOff: [Int] = []
      try Pool(jobs: jobs).run(tasks) { place, end in
        let index = open[place]
        results[index] += try outcomes(end.output)
        if !end.isOrderly {
          results[index].append(try ended(list[index], after: results[index].count, end))
          if results[index].count < list[index].seeds.count, !list[index].stopsAtFailure {
            return cutOff.append(index)
          }
        }
        done += 1
        progress?(done)
      }
      open = cutOff.sorted()
    }
    return results
  }

  private func outcomes(_ output: Data) throws -> [Simulator.Outcome] {
    try output.split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode(Simulator.Outcome.self, from: Data($0))
    }
  }

  /// What the seed comes to at which a process ended itself.
  private func ended(_ job: Job, after count: Int, _ end: Pool.End) throws -> Simulator.Outcome {
    guard count < job.seeds.count else {
      throw ValidationError(
        "a worker ended itself outside of any seed: signal or status \(end.status), "
          + "plans \(job.plans.prefix(1))")
    }
    return .ended(seed: job.seeds[count], mode: job.mode, status: end.status)
  }

  /// Splits seeds into jobs of a few, so that processes end at about the same time.
  static func split(
    _ seeds: ClosedRange<UInt64>, mode: String, mutant: String? = nil
  ) -> [Job] {
    let size = max(1, min(25, (seeds.upperBound - seeds.lowerBound) / 16 + 1))
    return stride(from: seeds.lowerBound, through: seeds.upperBound, by: Int(size)).map { start in
      Job(
        mode: mode, seeds: Array(start...min(start + size - 1, seeds.upperBound)), mutant: mutant)
    }
  }
}

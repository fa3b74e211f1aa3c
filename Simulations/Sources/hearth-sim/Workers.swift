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
    var waiting = Array(list.indices.reversed())
    var running: [(index: Int, process: Process, output: URL)] = []
    var done = 0
    while !waiting.isEmpty || !running.isEmpty {
      while running.count < jobs, let index = waiting.popLast() {
        var rest = list[index]
        rest.seeds = Array(rest.seeds.dropFirst(results[index].count))
        running.append(try start(rest, index: index))
      }
      let (index, process, output) = running.removeFirst()
      process.waitUntilExit()
      results[index] += try collect(output)
      try FileManager.default.removeItem(at: output)
      let isOrderly = process.terminationReason == .exit && process.terminationStatus == 0
      if !isOrderly {
        let job = list[index]
        guard results[index].count < job.seeds.count else {
          throw ValidationError(
            "a worker ended itself outside of any seed: signal or status "
              + "\(process.terminationStatus), plans \(job.plans.prefix(1))")
        }
        results[index].append(
          .ended(
            seed: job.seeds[results[index].count], mode: job.mode,
            status: process.terminationStatus))
        if results[index].count < job.seeds.count, !job.stopsAtFailure {
          waiting.append(index)
          continue
        }
      }
      done += 1
      progress?(done)
    }
    return results
  }

  private func start(_ job: Job, index: Int) throws -> (Int, Process, URL) {
    let directory = FileManager.default.temporaryDirectory
    let stem = "hearth-sim-\(ProcessInfo.processInfo.processIdentifier)-\(index)"
    let (input, output) = (
      directory.appendingPathComponent(stem + ".in"), directory.appendingPathComponent(stem)
    )
    try JSONEncoder().encode(job).write(to: input)
    defer { try? FileManager.default.removeItem(at: input) }
    guard FileManager.default.createFile(atPath: output.path, contents: nil) else {
      throw ValidationError("cannot write \(output.path)")
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["worker"]
    process.standardInput = try FileHandle(forReadingFrom: input)
    process.standardOutput = try FileHandle(forWritingTo: output)
    try process.run()
    return (index, process, output)
  }

  private func collect(_ output: URL) throws -> [Simulator.Outcome] {
    try Data(contentsOf: output).split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode(Simulator.Outcome.self, from: Data($0))
    }
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

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
  func run(
    _ list: [Job], progress: ((Int) -> Void)? = nil
  ) throws -> [[Simulator.Outcome]] {
    var results = [[Simulator.Outcome]](repeating: [], count: list.count)
    var running: [(index: Int, process: Process, output: URL)] = []
    var next = 0
    var done = 0
    while next < list.count || !running.isEmpty {
      while running.count < jobs, next < list.count {
        running.append(try start(list[next], index: next))
        next += 1
      }
      let (index, process, output) = running.removeFirst()
      process.waitUntilExit()
      results[index] = try collect(output)
      guard process.terminationReason == .exit, process.terminationStatus == 0 else {
        throw ValidationError(
          "a worker died after \(results[index].last.map { "seed \($0.seed)" } ?? "its start") "
            + "of \(list[index].seeds.prefix(1)) \(list[index].plans.prefix(1)) "
            + "mutant \(list[index].mutant ?? "none"): signal or status "
            + "\(process.terminationStatus)")
      }
      try FileManager.default.removeItem(at: output)
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

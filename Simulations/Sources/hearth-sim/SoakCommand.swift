import ArgumentParser
import Foundation
import HearthSim

/// `hearth-sim soak`.
struct Soak: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run very many seeds, a line for every part, and go on after failures.",
    discussion: """
      Quick, deep and hostile seeds come mixed, so that a soak that is ended early has tried all. \
      Every failure is printed when it is found, with the command that shows it again.
      """)
  @Option(help: "How many quick seeds.") var quick: UInt64 = 20_000
  @Option(help: "How many deep seeds.") var deep: UInt64 = 700
  @Option(help: "How many seeds with members whose programs are changed.") var hostile: UInt64 = 0
  @Option(help: "The first seed of each kind.") var from: UInt64 = 0
  @Option(help: "In how many parts.") var parts: UInt64 = 40
  @Option(help: "Begin no part after so many minutes.") var minutes: Double?
  @Option(help: "How many processes.") var jobs = ProcessInfo.processInfo.activeProcessorCount

  func run() throws {
    guard parts > 0, quick + deep + hostile > 0 else {
      throw ValidationError("there is nothing to run")
    }
    let began = Date()
    var sum = Sum()
    for part in 0..<parts {
      if let minutes, -began.timeIntervalSinceNow > minutes * 60 { break }
      for (mode, count) in [("quick", quick), ("deep", deep), ("hostile", hostile)] {
        let (first, end) = (from + count * part / parts, from + count * (part + 1) / parts)
        guard first < end else { continue }
        let outcomes = try Workers(jobs: jobs)
          .run(Workers.split(first...end - 1, mode: mode)).flatMap { $0 }
        sum.add(outcomes, mode)
      }
      Pool.say(sum.line(part: part + 1, of: parts, seconds: -began.timeIntervalSinceNow))
    }
    if sum.failures > 0 { throw ExitCode.failure }
  }

  /// What all parts so far came to.
  private struct Sum {
    private var runs: [String: Int] = [:]
    private(set) var failures = 0
    private var events = 0
    private var days = 0.0
    private var cpuSeconds = 0.0

    mutating func add(_ outcomes: [Simulator.Outcome], _ mode: String) {
      runs[mode, default: 0] += outcomes.count
      for outcome in outcomes {
        events += outcome.events
        days += outcome.deviceDays
        cpuSeconds += outcome.cpuSeconds
        guard let failure = outcome.failure else { continue }
        failures += 1
        Pool.say("seed \(outcome.seed): \(failure)")
        Pool.say("  hearth-sim replay \(outcome.seed) --mode \(mode)")
      }
    }

    func line(part: UInt64, of parts: UInt64, seconds: Double) -> String {
      let seeds = ["quick", "deep", "hostile"].map { "\(runs[$0] ?? 0) \($0)" }
        .joined(separator: ", ")
      return "\(part)/\(parts), \(Int(seconds)) s: \(seeds) seeds, \(failures) failures, "
        + "\(events) events, \(Int(days)) device-days, "
        + "\(Int(Double(events) / max(cpuSeconds, 0.001))) events a second and core"
    }
  }
}

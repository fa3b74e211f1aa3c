import ArgumentParser
import Foundation
import HearthSim

/// `hearth-sim run`.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run many seeds and print what failed, how fast it went and what was never hit.")
  @Option(help: "quick, deep, people, relay, newcomers or hostile.") var mode = "quick"
  @Option(help: "The first seed.") var from: UInt64 = 0
  @Option(help: "How many seeds.") var count: UInt64 = 100
  @Option(help: "How many processes.") var jobs = ProcessInfo.processInfo.activeProcessorCount
  @Option(help: "A seeded bug to make active.") var mutant: String?
  @Option(help: "Where to write all outcomes as JSON.") var json: String?
  @Option(help: "Fail if fewer of a hundred probes were hit.") var leastProbes: Int?
  @Option(help: "Outcomes of an earlier run, as JSON, whose probes count too; may be given again.")
  var also: [String] = []

  func run() throws {
    guard count > 0 else { throw ValidationError("--count must be at least 1") }
    let list = Workers.split(from...from + count - 1, mode: mode, mutant: mutant)
    let isTerminal = isatty(2) == 1
    let outcomes = try Workers(jobs: jobs).run(list) { done in
      if isTerminal {
        FileHandle.standardError.write(Data("\r\(done) of \(list.count) ".utf8))
      }
    }
    .flatMap { $0 }
    if isTerminal { FileHandle.standardError.write(Data("\r\u{1b}[K".utf8)) }
    if let json {
      try JSONEncoder().encode(outcomes).write(to: URL(fileURLWithPath: json))
    }
    let earlier = try also.flatMap {
      try JSONDecoder().decode(
        [Simulator.Outcome].self, from: Data(contentsOf: URL(fileURLWithPath: $0)))
    }
    let summary = Summary(outcomes, mode: mode, also: earlier)
    summary.print()
    if outcomes.contains(where: { $0.failure != nil }) { throw ExitCode.failure }
    if let leastProbes, summary.probesPerHundred < leastProbes {
      print("fewer than \(leastProbes) of a hundred probes were hit")
      throw ExitCode.failure
    }
  }
}

/// What many runs come to.
struct Summary {
  private let outcomes: [Simulator.Outcome]
  private let mode: String
  /// How often each probe was hit, in other runs too.
  private let hit: [String: Int]
  /// The probes that plans of this mode can hit: without a relay, none of the relay's.
  private let possible: [String]

  init(_ outcomes: [Simulator.Outcome], mode: String, also earlier: [Simulator.Outcome] = []) {
    self.outcomes = outcomes
    hit = (outcomes + earlier).reduce(into: [:]) { sum, outcome in
      sum.merge(outcome.probes) { $0 + $1 }
    }
    self.mode = mode
    possible = Simulator.probes(ofMode: mode)
  }

  func print() {
    for outcome in outcomes {
      guard let failure = outcome.failure else { continue }
      Swift.print("seed \(outcome.seed): \(failure)")
      Swift.print("  hearth-sim replay \(outcome.seed) --mode \(mode)")
    }
    let cpu = outcomes.reduce(0) { $0 + $1.cpuSeconds }
    let events = outcomes.reduce(0) { $0 + $1.events }
    let days = outcomes.reduce(0) { $0 + $1.deviceDays }
    Swift.print(
      "\(outcomes.count) runs, \(outcomes.filter { $0.failure != nil }.count) failures; "
        + "\(events) events, \(Int(days)) device-days, "
        + "\(outcomes.reduce(0) { $0 + $1.acknowledged }) writes, "
        + "\(outcomes.reduce(0) { $0 + $1.syncs }) syncs, "
        + "\(outcomes.reduce(0) { $0 + $1.digestsCompared }) digests compared")
    Swift.print(
      "\(Int(Double(events) / max(cpu, 0.001))) events a second and core, "
        + "\(Int(days / max(cpu / 60, 0.001))) device-days a core-minute, "
        + "median \(Int(median(outcomes.map(\.cpuSeconds)) * 1000)) ms a run")
    let missed = possible.filter { hit[$0] == nil }
    Swift.print(
      "probes: \(possible.count - missed.count) of \(possible.count) hit"
        + (missed.isEmpty ? "" : "; never: \(missed.joined(separator: ", "))"))
  }

  /// How many of a hundred probes were hit, rounded down.
  var probesPerHundred: Int {
    return possible.filter { hit[$0] != nil }.count * 100 / max(1, possible.count)
  }

  private func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[values.count / 2]
  }
}

/// `hearth-sim replay`.
struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run one seed or plan and tell everything that happens.")
  @OptionGroup var options: SourceOptions
  @Flag(help: "Print the plan instead of running it.") var printPlan = false
  @Flag(help: "Only the end.") var quiet = false
  @Flag(help: "After a failure, print the members' log as each device has it.") var members = false

  func run() throws {
    let source = try options.source()
    if printPlan { return print(try Simulator.planText(source), terminator: "") }
    let outcome = try Simulator.run(source, keepsLines: !quiet || members)
    if !quiet { for line in outcome.lines { print(line) } }
    if members { for line in outcome.membersLines { print(line) } }
    print("\(outcome.failure ?? "everything held"); trace \(String(outcome.traceHash, radix: 16))")
    if outcome.failure != nil { throw ExitCode.failure }
  }
}

/// `hearth-sim shrink`.
struct Shrink: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make a failing plan as small as it goes.")
  @OptionGroup var options: SourceOptions
  @Option(help: "Where to write the small plan, Simulations/Corpus/NAME.json for one to keep.")
  var output: String?
  @Option(help: "Where to write a Swift Testing case that runs what --output wrote.")
  var test: String?
  @Option(help: "How many runs it may take.") var runs = 2_000

  func validate() throws {
    guard test == nil || output != nil else {
      throw ValidationError("--test needs --output: the case runs that file")
    }
  }

  func run() throws {
    guard let small = try Simulator.shrink(options.source(), maximumRuns: runs) else {
      print("everything holds: there is nothing to shrink")
      return
    }
    FileHandle.standardError.write(
      Data("\(small.steps) steps after \(small.runs) runs: \(small.failure)\n".utf8))
    guard let output else { return print(small.plan, terminator: "") }
    try Data(small.plan.utf8).write(to: URL(fileURLWithPath: output))
    guard let test else { return }
    try Data(TestCase(plan: output, failure: small.failure).text.utf8)
      .write(to: URL(fileURLWithPath: test))
  }
}

/// A Swift Testing case that runs one kept plan.
struct TestCase {
  /// The plan's file, as seen from the package's root, where tests run.
  let plan: String
  /// What failed in it.
  let failure: String

  var text: String {
    let name = URL(fileURLWithPath: plan).deletingPathExtension().lastPathComponent
    let words = name.split { !$0.isLetter && !$0.isNumber }.map(String.init)
    let function = "plan" + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return """
      import HearthSim
      import Testing

      // \(String(failure.split(separator: "\n").first?.prefix(90) ?? ""))
      @Test("\(words.joined(separator: " "))")
      func \(function)() throws {
        let outcome = try Simulator.run(.file(\(String(reflecting: plan))))
        #expect(outcome.failure == nil)
      }

      """
  }
}

/// `hearth-sim scenarios`.
struct Scenarios: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run every plan of a folder; each must hold.")
  @Argument(help: "The folder.") var folder: String
  @Option(help: "How many processes.") var jobs = ProcessInfo.processInfo.activeProcessorCount

  func run() throws {
    // The long ones first, so that no process has one left at the end.
    let plans = try PlanFolder.plans(of: folder).reversed().map(\.path)
    let tasks = try plans.map {
      Pool.Task(arguments: ["worker"], input: try JSONEncoder().encode(Job(plans: [$0])))
    }
    var failures = 0
    try Pool(jobs: jobs).run(tasks) { index, end in
      let name = URL(fileURLWithPath: plans[index]).lastPathComponent
      let line = end.output.split(separator: UInt8(ascii: "\n")).first
      let outcome = try line.map { try JSONDecoder().decode(Simulator.Outcome.self, from: $0) }
      let failure =
        outcome?.failure ?? (end.isOrderly ? nil : "the program ended itself: \(end.status)")
      let seconds = String(format: "%5.1f s", end.seconds)
      Pool.say("\(failure == nil ? "ok  " : "FAIL") \(seconds) \(name) \(failure ?? "")")
      if failure != nil { failures += 1 }
    }
    print("\(plans.count) plans, \(failures) failures")
    if failures > 0 { throw ExitCode.failure }
  }
}

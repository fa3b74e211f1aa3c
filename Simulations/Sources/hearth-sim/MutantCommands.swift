import ArgumentParser
import Foundation
import HearthSim

/// What one seeded bug is tried on, in this order: what killed it when it was last looked for; a
/// few seeds, which kill most; the oracle of membership; the plans that people wrote; months; plans
/// that take long; more seeds.
struct Hunt: Codable {
  let mutant: String
  var known: Trial?
  var quick: UInt64
  var deep: UInt64
  var seeds: UInt64
  var plans: [String]
  var longPlans: [String]

  var trials: [Trial] {
    (known.map { [$0] } ?? []) + (0..<quick).map { Trial(seed: $0, mode: "quick") }
      + [Trial(mode: PromiseTrial.mode)] + plans.map { Trial(plan: $0) }
      + (0..<deep).map { Trial(seed: $0, mode: "deep") } + longPlans.map { Trial(plan: $0) }
      + (min(quick, seeds)..<seeds).map { Trial(seed: $0, mode: "quick") }
  }

  struct Trial: Codable {
    var seed: UInt64 = 0
    var mode = ""
    var plan: String?

    var source: Simulator.Source { plan.map { .file($0) } ?? .seed(seed, mode: mode) }
    /// What fails in it: which check, and how; nil where all hold.
    func failure() throws -> (oracle: String?, text: String)? {
      if mode == PromiseTrial.mode {
        return PromiseTrial(from: seed).failure.map { ($0.oracle, $0.text) }
      }
      let outcome = try Simulator.run(source)
      return outcome.failure.map { (outcome.oracle, $0) }
    }

    var name: String {
      plan.map { URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent }
        ?? "\(mode) seed \(seed)"
    }
  }
}

/// How one seeded bug was killed when all of a hunt was gone through: kept in the repository, so
/// that each further hunt is short.
struct KnownKill: Codable {
  let mutant: String
  let trial: Hunt.Trial
  /// How many runs the hunt took, with the last one.
  let runs: Int

  static func read(_ path: String) throws -> [KnownKill] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try JSONDecoder().decode(
      [KnownKill].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  static func write(_ kills: [KnownKill], to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let rows = try kills.sorted { $0.mutant < $1.mutant }
      .map { String(decoding: try encoder.encode($0), as: UTF8.self) }
    // A line each, so that what moved shows in a comparison.
    let text = "[\n  " + rows.joined(separator: ",\n  ") + "\n]\n"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }
}

/// What became of one seeded bug: a row of the kill matrix.
struct MutantRow: Codable {
  let mutant: String
  /// The trial that killed it.
  var trial: Hunt.Trial?
  /// Whether it was killed by what killed it before.
  var isKnown: Bool?
  /// The check that killed it, or nil; `trap` where the program ended itself.
  var oracle: String?
  /// What it was killed by: a seed, or the name of a plan.
  var by: String?
  /// How many runs it took, with the last one.
  var seeds = 0
  var failure: String?
  /// Runs that fail without the bug too, and so tell nothing of it.
  var failsAnyway: [String] = []
  var seconds = 0.0

  var line: String {
    let verdict = oracle.map { "killed   \(mutant): \($0) by \(by ?? "?")" } ?? "SURVIVES \(mutant)"
    let words = failure.map { String($0.prefix(160)) } ?? "-"
    return "\(verdict) after \(seeds), \(String(format: "%.1f", seconds)) s: \(words)"
      + (failsAnyway.isEmpty
        ? "" : " [fails anyway: \(failsAnyway.prefix(5).joined(separator: ", "))]")
  }
}

/// `hearth-sim hunt`: reads a hunt from standard input, prints each trial's name before it and the
/// row at the end.
struct HuntCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hunt", abstract: "Try one seeded bug on what standard input says.",
    shouldDisplay: false)

  func run() throws {
    let hunt = try JSONDecoder().decode(
      Hunt.self, from: FileHandle.standardInput.readDataToEndOfFile())
    var row = MutantRow(mutant: hunt.mutant)
    for (place, trial) in hunt.trials.enumerated() {
      FileHandle.standardOutput.write(Data((trial.name + "\n").utf8))
      row.seeds += 1
      try Simulator.activate(mutant: hunt.mutant)
      guard let failure = try trial.failure() else { continue }
      // A run that fails without the bug as well says nothing of it.
      try Simulator.activate(mutant: nil)
      guard try trial.failure() == nil else {
        row.failsAnyway.append(trial.name)
        continue
      }
      (row.oracle, row.by, row.failure) = (failure.oracle, trial.name, failure.text)
      (row.trial, row.isKnown) = (trial, hunt.known != nil && place == 0)
      break
    }
    FileHandle.standardOutput.write(try JSONEncoder().encode(row))
  }
}

/// `hearth-sim mutants`.
struct Mutants: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make each seeded bug active in turn and see which check kills it, and how soon.",
    discussion: """
      Each is tried on some quick seeds first, then on the plans of the folders, on a few deep \
      seeds, and on more quick seeds, and no more once it is killed. A run that fails without the \
      bug too kills nothing. With --known, what killed it before is tried first, and the number of \
      runs is that of the hunt that was written down.
      """)
  @Option(help: "How many quick seeds each may survive.") var seeds: UInt64 = 200
  @Option(help: "How many of them come before the plans.") var quick: UInt64 = 20
  @Option(help: "How many deep seeds.") var deep: UInt64 = 3
  @Option(help: "A folder of plans; may be given again.") var plans = [
    "Simulations/Scenarios", "Simulations/Corpus",
  ]
  @Option(help: "A file that says what killed each before.") var known: String?
  @Option(help: "Where to write what killed each, for --known.") var record: String?
  @Option(help: "How many processes.") var jobs = ProcessInfo.processInfo.activeProcessorCount
  @Option(help: "Only this one; may be given again.") var only: [String] = []
  @Option(help: "For how many seconds one may be hunted.") var limit = 240.0
  @Option(help: "Where to write the matrix as JSON.") var json: String?

  func run() throws {
    let mutants = only.isEmpty ? Simulator.mutants : only
    let found = try plans.flatMap(PlanFolder.plans)
    let short = found.filter { $0.weight < PlanFolder.long }.map(\.path)
    let long = found.filter { $0.weight >= PlanFolder.long }.map(\.path)
    let kills = try known.map { try KnownKill.read($0) } ?? []
    let tasks = try mutants.map { mutant in
      Pool.Task(
        arguments: ["hunt"],
        input: try JSONEncoder().encode(
          Hunt(
            mutant: mutant, known: kills.first { $0.mutant == mutant }?.trial,
            quick: min(quick, seeds), deep: deep, seeds: seeds, plans: short,
            longPlans: long)))
    }
    var rows = [MutantRow?](repeating: nil, count: mutants.count)
    try Pool(jobs: jobs, limitSeconds: limit).run(tasks) { index, end in
      var row = try Mutants.row(of: mutants[index], end)
      if row.isKnown == true, let kill = kills.first(where: { $0.mutant == row.mutant }) {
        row.seeds = kill.runs
      }
      rows[index] = row
      Pool.say(row.line)
    }
    let all = rows.compactMap { $0 }
    Mutants.summary(all)
    let moved = all.filter { $0.isKnown == false && !kills.isEmpty }.map(\.mutant)
    if !moved.isEmpty {
      print("killed by something else than \(known ?? "") says: \(moved.joined(separator: ", "))")
    }
    if let record {
      try KnownKill.write(
        all.compactMap { row in
          row.trial.map { KnownKill(mutant: row.mutant, trial: $0, runs: row.seeds) }
        }, to: record)
    }
    if let json { try JSONEncoder().encode(all).write(to: URL(fileURLWithPath: json)) }
    if all.contains(where: { $0.oracle == nil }) { throw ExitCode.failure }
  }

  private static func row(of mutant: String, _ end: Pool.End) throws -> MutantRow {
    let lines = end.output.split(separator: UInt8(ascii: "\n")).map {
      String(decoding: $0, as: UTF8.self)
    }
    var row: MutantRow
    if end.isOrderly, let last = lines.last {
      row = try JSONDecoder().decode(MutantRow.self, from: Data(last.utf8))
    } else {
      row = MutantRow(mutant: mutant)
      row.seeds = lines.count
      row.by = lines.last
      row.failure =
        end.isLate
        ? "not finished in time, last at \(lines.last ?? "the start")"
        : "the program ended itself: signal or status \(end.status)"
      if !end.isLate { row.oracle = "trap" }
    }
    row.seconds = end.seconds
    return row
  }

  private static func summary(_ rows: [MutantRow]) {
    let others = Set(rows.compactMap(\.oracle)).subtracting(Simulator.oracles).sorted()
    for oracle in Simulator.oracles + others {
      let killed = rows.filter { $0.oracle == oracle }.map(\.mutant)
      if !killed.isEmpty { print("\(oracle): \(killed.joined(separator: ", "))") }
    }
    let killed = rows.filter { $0.oracle != nil }
    let counts = killed.map(\.seeds).sorted()
    print(
      "\(killed.count) of \(rows.count) killed, median "
        + "\(counts.isEmpty ? 0 : counts[counts.count / 2]) runs, most \(counts.last ?? 0)")
  }
}

/// The plans of a folder, the short ones first.
enum PlanFolder {
  /// From this many steps on a plan takes long.
  static let long = 1_000

  static func plans(of folder: String) throws -> [(path: String, weight: Int)] {
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder)
      .filter { $0.hasSuffix(".json") && $0 != "pending.json" }
      .map { folder + "/" + $0 }.sorted()
      .map { ($0, try Simulator.weight(of: $0)) }
      .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
  }
}

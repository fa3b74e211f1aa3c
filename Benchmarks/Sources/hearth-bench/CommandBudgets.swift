import Foundation
import Glibc

/// The table of commands: how long the built program takes from start to answer, on two households.
///
/// Each command runs several times in a process of its own; the least wall and CPU time count,
/// since everything else a shared machine adds.
struct CommandBudgets {
  /// What the budgets of commands promise, in seconds.
  private static let budget = 0.040

  let program: String
  let runs: Int
  let chores: Int
  let root: String
  private let table = BudgetTable()

  /// One command line, and whether it is held to the budget on a household of so many chores.
  private struct Line {
    let arguments: [String]
    var isPromisedForMany = false
    var name: String { arguments.joined(separator: " ") }
  }

  func run() async throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let family = "\(root)/family"
    let many = "\(root)/many"
    try await FamilyFolder.make(at: family)
    try await HouseholdFolder.make(chores: chores, at: many)
    print("| command | wall | CPU | budget | |")
    print("|---|---|---|---|---|")
    try row("version", ["version"], home: family, isPromised: true)
    for line in lines("Wash the dishes", part: "wash the di") {
      try row("family: \(line.name)", line.arguments, home: family, isPromised: true)
    }
    for line in lines("Chore 77 of the house", part: "77 of the h") {
      try row(
        "\(chores) chores: \(line.name)", line.arguments, home: many,
        isPromised: line.isPromisedForMany)
    }
    try table.end()
  }

  private func lines(_ title: String, part: String) -> [Line] {
    [
      Line(arguments: ["status"]), Line(arguments: ["today"], isPromisedForMany: true),
      Line(arguments: ["week"]), Line(arguments: ["list"]), Line(arguments: ["list", "--json"]),
      Line(arguments: ["show", title], isPromisedForMany: true),
      Line(arguments: ["show", part]),
      Line(arguments: ["points"]), Line(arguments: ["leaderboard"]), Line(arguments: ["badges"]),
      Line(arguments: ["history"]),
      Line(arguments: ["done", title, "--early"], isPromisedForMany: true),
      Line(arguments: ["undo"]), Line(arguments: ["skip", title]),
      Line(arguments: ["edit", title, "--points", "4"]), Line(arguments: ["add", "Feed the cat"]),
    ]
  }

  private func row(
    _ name: String, _ arguments: [String], home: String, isPromised: Bool
  ) throws {
    var wall = Double.infinity
    var processor = Double.infinity
    for _ in 0..<runs {
      let times = try ChildRun(program, arguments + ["--home", home])
      wall = min(wall, times.wall)
      processor = min(processor, times.processor)
    }
    let verdict =
      isPromised ? table.verdict(name, isMet: processor < CommandBudgets.budget) : ""
    print(
      "| `\(name)` | \(milliseconds(wall)) | \(milliseconds(processor)) | "
        + "\(isPromised ? "40 ms" : "none") | \(verdict) |")
    fflush(nil)
  }

  private func milliseconds(_ seconds: Double) -> String {
    String(format: "%.1f ms", seconds * 1e3)
  }
}

/// What one run of a program took; its output goes nowhere.
struct ChildRun {
  let wall: Double
  let processor: Double

  /// Runs a program to its end.
  ///
  /// - Throws: `BenchError` if it cannot be started or fails.
  init(_ program: String, _ arguments: [String]) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    let start = Stopwatch.wallSeconds()
    guard posix_spawn(&child, program, &actions, nil, &words, environ) == 0 else {
      throw BenchError("\(program) cannot be started")
    }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(child, &status, 0, &usage) == child, status == 0 else {
      throw BenchError("`\(arguments.joined(separator: " "))` failed with status \(status >> 8)")
    }
    wall = Stopwatch.wallSeconds() - start
    processor = [usage.ru_utime, usage.ru_stime].reduce(0) {
      $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
    }
  }
}

import Foundation
import HearthCRDT

/// Measures Hearth: `w1` to `w6` beside other engines, `budgets` beside its own promises.
@main
enum HearthBench {
  static func main() async {
    do {
      try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("hearth-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  private static let usage = """
    usage: hearth-bench w1|w2|w3|w4|w5|w6 JSON
           hearth-bench budgets [--n CHORES] [--m EDITS] [--awards AWARDS] [--dir FOLDER]
           hearth-bench membership [--devices DEVICES] [--operations OPERATIONS] [--dir FOLDER]
           hearth-bench resolver [SHAPE]
           hearth-bench verify N M FILE
           hearth-bench household CHORES|family FOLDER
           hearth-bench cli HEARTH [--runs RUNS] [--chores CHORES] [--dir FOLDER]
           hearth-bench waits HEARTH HEARTH_RELAY [--runs RUNS] [--dir FOLDER]
           hearth-bench bootstrap HEARTH [--records RECORDS] [--family FOLDER] [--dir FOLDER]
           hearth-bench library [--records RECORDS] [--runs RUNS] [--dir FOLDER]
    """

  private static func run(_ arguments: [String]) async throws {
    guard let command = arguments.first else { throw BenchError(usage) }
    switch command {
    case "budgets": try budgets(Array(arguments.dropFirst()))
    case "membership":
      let (numbers, root) = try options(
        arguments.dropFirst(), defaults: ["--devices": 200, "--operations": 1_000])
      try MembershipBudgets(
        devices: max(5, numbers["--devices", default: 5]),
        operations: numbers["--operations", default: 1], root: root, table: BudgetTable()
      ).run()
    case "resolver":
      let table = BudgetTable()
      table.begin()
      ResolverBudgets(operations: 10_000, table: table).run(shape: arguments.dropFirst().first)
      try table.end()
    case "verify": try verify(arguments)
    case "household", "cli", "waits", "bootstrap", "library": try await measure(command, arguments)
    case LibraryBudgets.bareCommand, LibraryBudgets.openCommand:
      guard arguments.count == 2 else { throw BenchError(usage) }
      try await LibraryBudgets.child(command, arguments[1])
    default:
      guard arguments.count == 2 else { throw BenchError(usage) }
      let parameters = try Parameters(arguments[1])
      switch command {
      case MemoryRun.buildCommand: try show(try MemoryRun.build(parameters))
      case MemoryRun.openCommand: try show(try MemoryRun.open(parameters))
      default: try show(try Workloads.run(command, parameters))
      }
    }
  }

  /// The measurements that need an application, or programs beside this one.
  private static func measure(_ command: String, _ arguments: [String]) async throws {
    switch command {
    case "household":
      guard arguments.count == 3 else { throw BenchError(usage) }
      if arguments[1] == "family" { return try await FamilyFolder.make(at: arguments[2]) }
      guard let count = Int(arguments[1]), count > 0 else { throw BenchError(usage) }
      try await HouseholdFolder.make(chores: count, at: arguments[2])
    case "cli":
      guard arguments.count >= 2 else { throw BenchError(usage) }
      let (numbers, root) = try options(
        arguments.dropFirst(2), defaults: ["--runs": 7, "--chores": 10_000])
      try await CommandBudgets(
        program: arguments[1], runs: numbers["--runs", default: 1],
        chores: numbers["--chores", default: 1], root: root
      ).run()
    case "waits":
      guard arguments.count >= 3 else { throw BenchError(usage) }
      let (numbers, root) = try options(arguments.dropFirst(3), defaults: ["--runs": 100])
      try await WaitBudgets(
        program: arguments[1], relayProgram: arguments[2], runs: numbers["--runs", default: 1],
        root: root
      ).run()
    case "bootstrap":
      guard arguments.count >= 2 else { throw BenchError(usage) }
      var rest = arguments
      let family = try path("--family", takenFrom: &rest)
      let (numbers, root) = try options(rest.dropFirst(2), defaults: ["--records": 100_000])
      try await BootstrapBudgets(
        program: arguments[1], records: numbers["--records", default: 1], root: root,
        family: family
      ).run()
    default:
      let (numbers, root) = try options(
        arguments.dropFirst(), defaults: ["--records": 100_000, "--runs": 5])
      try await LibraryBudgets(
        records: max(1_000, numbers["--records", default: 1_000]),
        runs: numbers["--runs", default: 1], root: root
      ).run()
    }
  }

  private static func show(_ result: [String: Any]) throws {
    let json = try JSONSerialization.data(withJSONObject: result, options: [.sortedKeys])
    print("RESULT " + String(decoding: json, as: UTF8.self))
  }

  /// Takes an option and its path out of the arguments.
  private static func path(
    _ option: String, takenFrom arguments: inout [String]
  ) throws -> String? {
    guard let place = arguments.firstIndex(of: option) else { return nil }
    guard place + 1 < arguments.count else { throw BenchError(usage) }
    defer { arguments.removeSubrange(place...place + 1) }
    return arguments[place + 1]
  }

  /// Positive numbers by their options' names, and a new folder's path.
  private static func options(
    _ arguments: ArraySlice<String>, defaults: [String: Int]
  ) throws -> ([String: Int], root: String) {
    var numbers = defaults
    var folder = FileManager.default.temporaryDirectory.path
    var rest = arguments
    while let name = rest.popFirst() {
      guard let text = rest.popFirst() else { throw BenchError(usage) }
      if name == "--dir" {
        folder = text
      } else if numbers[name] != nil, let number = Int(text), number > 0 {
        numbers[name] = number
      } else {
        throw BenchError(usage)
      }
    }
    return (numbers, "\(folder)/hearth-bench-\(ProcessInfo.processInfo.processIdentifier)")
  }

  private static func budgets(_ arguments: [String]) throws {
    let (numbers, root) = try options(
      arguments[...], defaults: ["--n": 100_000, "--m": 400_000, "--awards": 100_000])
    try Budgets(
      count: numbers["--n", default: 1], edits: numbers["--m", default: 1],
      awards: numbers["--awards", default: 1], root: root
    ).run()
  }

  /// Compares the generator with a file of the reference generator.
  private static func verify(_ arguments: [String]) throws {
    guard arguments.count == 4, let count = Int(arguments[1]), let edits = Int(arguments[2])
    else { throw BenchError(usage) }
    let expected = try OperationFile.read(arguments[3]).flatMap(\.action.operations)
    var made: [HearthCRDT.Operation] = []
    Generator.base(count, edits, group: 1_000) { made += $0.flatMap(\.operations) }
    guard made == expected else { throw BenchError("the generator makes other operations") }
    print("the same \(made.count) operations")
  }
}

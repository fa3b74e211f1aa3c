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
           hearth-bench verify N M FILE
           hearth-bench household CHORES FOLDER
    """

  private static func run(_ arguments: [String]) async throws {
    guard let command = arguments.first else { throw BenchError(usage) }
    switch command {
    case "budgets": try budgets(Array(arguments.dropFirst()))
    case "verify": try verify(arguments)
    case "household":
      guard arguments.count == 3, let count = Int(arguments[1]), count > 0 else {
        throw BenchError(usage)
      }
      try await HouseholdFolder.make(chores: count, at: arguments[2])
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

  private static func show(_ result: [String: Any]) throws {
    let json = try JSONSerialization.data(withJSONObject: result, options: [.sortedKeys])
    print("RESULT " + String(decoding: json, as: UTF8.self))
  }

  private static func budgets(_ arguments: [String]) throws {
    var numbers = ["--n": 100_000, "--m": 400_000, "--awards": 100_000]
    var folder = FileManager.default.temporaryDirectory.path
    for place in stride(from: 0, to: arguments.count, by: 2) {
      let name = arguments[place]
      guard place + 1 < arguments.count else { throw BenchError(usage) }
      if name == "--dir" {
        folder = arguments[place + 1]
      } else if numbers[name] != nil, let number = Int(arguments[place + 1]), number > 0 {
        numbers[name] = number
      } else {
        throw BenchError(usage)
      }
    }
    let root = "\(folder)/hearth-bench-\(ProcessInfo.processInfo.processIdentifier)"
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

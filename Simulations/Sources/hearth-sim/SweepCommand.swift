import ArgumentParser
import Foundation
import HearthSim

/// `hearth-sim sweep`.
struct Sweep: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a small plan once for each operation of a disk, with a power cut there.")
  @OptionGroup var options: SourceOptions
  @Option(help: "Whose disk loses power; the plan's first device, or its own choice.")
  var device: String?
  @Flag(help: "Cut again at each operation of the start that follows.") var twice = false
  @Option(help: "Only every so many operations.") var stride = 1
  @Option(help: "Where to write the plan that fails.") var output: String?

  func run() throws {
    let isTerminal = isatty(2) == 1
    let result = try Simulator.sweep(
      options.source(), device: device, isTwice: twice, stride: stride
    ) { cuts in
      if isTerminal { FileHandle.standardError.write(Data("\r\(cuts) cuts ".utf8)) }
    }
    if isTerminal { FileHandle.standardError.write(Data("\r\u{1b}[K".utf8)) }
    if let plan = result.plan, let output {
      try Data(plan.utf8).write(to: URL(fileURLWithPath: output))
    }
    print("\(result.cuts) power cuts; \(result.failure ?? "everything held")")
    if result.failure != nil { throw ExitCode.failure }
  }
}

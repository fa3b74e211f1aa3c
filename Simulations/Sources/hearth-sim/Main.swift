import ArgumentParser
import HearthSim

@main
struct Main: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hearth-sim",
    abstract: "Simulate families of devices over the production code, with every fault.",
    discussion: """
      A run is a function of its plan, a plan of its seed. What fails once fails always: replay it,
      shrink it, keep it in Simulations/Corpus.
      """,
    subcommands: [
      Run.self, Replay.self, Shrink.self, Scenarios.self, Sweep.self, Exhaustive.self, Report.self,
      Mutants.self, Soak.self,
      Determinism.self,
      Worker.self, HuntCommand.self,
    ])
}

/// A seed or a plan's file, as people name them.
struct SourceOptions: ParsableArguments {
  @Argument(help: "A seed, or the path of a plan's file.") var what: String
  @Option(help: "quick, deep, people, relay, newcomers or hostile, for a seed.") var mode = "quick"
  @Option(help: "A seeded bug to make active.") var mutant: String?

  func source() throws -> Simulator.Source {
    try Simulator.activate(mutant: mutant)
    guard let seed = UInt64(what) else { return .file(what) }
    return .seed(seed, mode: mode)
  }
}

import ArgumentParser
import MembershipPromises
import PromiseTranslation

/// Checks who belongs against promises in words; ends with 1 where one is broken.
@main
struct MembershipPromisesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "membership-promises",
    abstract: "Check the resolver of membership against promises that know none of its rules.",
    subcommands: [
      Plans.self, Found.self, Random.self, Exhaustive.self, Worlds.self, BlindCommand.self,
      Show.self, Digest.self,
    ])
}

struct Plans: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "The attacks that were seen once.")

  func run() throws {
    var broken = 0
    for plan in PromiseCheck.plans {
      guard let failure = plan.failure(PromiseAdapter.resolve) else { continue }
      broken += 1
      say("PLAN \(plan.name): \(failure)")
    }
    say("\(PromiseCheck.plans.count) plans, \(broken) broken")
    if broken > 0 { throw ExitCode.failure }
  }
}

struct Found: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The histories that were once judged wrongly.")

  func run() throws {
    var broken = 0
    for found in PromiseCheck.found {
      guard let text = Checker(found.history).firstBroken(PromiseAdapter.resolve) else { continue }
      broken += 1
      say("\(found.name): \(text)\n")
    }
    say("\(PromiseCheck.found.count) found histories, \(broken) broken")
    if broken > 0 { throw ExitCode.failure }
  }
}

/// Whether histories have clocks.
struct ClockOptions: ParsableArguments {
  @Flag(help: "Let time pass: links expire, and liars claim any time.") var clocks = false
  @Option(help: "How long after an expiry honest admins still let in by themselves.") var grace = 2

  /// The grace; nil without clocks.
  var chosen: Int? { clocks ? max(0, grace) : nil }
}

struct Random: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Random histories, from a seed on.")
  @Argument(help: "The first seed.") var from: UInt64 = 0
  @Argument(help: "How many.") var count: UInt64 = 1_000
  @Option(help: "How many threads.") var jobs = 1
  @Option(help: "After how many histories to tell how far it is.") var every: UInt64 = 10_000
  @Flag(help: "Print broken histories as they were told, too.") var full = false
  @OptionGroup var clock: ClockOptions

  func run() throws {
    let runner = Runner(
      from: from, count: count, jobs: jobs, every: every, isFull: full, grace: clock.chosen)
    if runner.run() > 0 { throw ExitCode.failure }
  }
}

struct Exhaustive: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "All histories of so many operations from a small beginning.")
  @Argument(help: "How many operations.") var depth = 3
  @Argument(help: "Which beginnings; all if none.") var starts: [String] = []
  @Flag(help: "Leave out most of what liars may claim.") var narrow = false
  @Option(help: "The most histories.") var limit = Int.max
  @Option(help: "Of how many histories in a thousand the costly probes are made.") var density =
    1_000

  func validate() throws {
    for start in starts where Start(rawValue: start) == nil {
      throw ValidationError(
        "there is no beginning \(start), but \(Start.allCases.map(\.rawValue))")
    }
  }

  func run() throws {
    let chosen = starts.compactMap { Start(rawValue: $0) }
    let clock = ContinuousClock()
    var isBroken = false
    for start in chosen.isEmpty ? Start.allCases : chosen {
      let begin = clock.now
      var calls = 0
      let found = PromiseCheck.exhaustive(
        start: start, depth: depth, density: density, limit: limit, isNarrow: narrow,
        resolve: {
          calls += 1
          return PromiseAdapter.resolve($0)
        })
      say("\(start): \(found.summary), \(calls) calls, \(clock.now - begin)")
      for broken in found.shortest {
        say("\(start): \(shrink(broken, PromiseAdapter.resolve))")
        isBroken = true
      }
    }
    if isBroken { throw ExitCode.failure }
  }
}

struct Worlds: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Whether the oracle contradicts itself.",
    discussion: "What it is certain of in one order of acts must not contradict another order.")
  @Argument(help: "The first seed.") var from: UInt64 = 0
  @Argument(help: "How many.") var count: UInt64 = 1_000
  @OptionGroup var clock: ClockOptions

  func run() throws {
    var broken = 0
    for seed in from..<(from + count) {
      let history = PromiseCheck.history(seed: seed, grace: clock.chosen)
      guard TwoWorlds.contradiction(history, seed: seed) != nil else { continue }
      broken += 1
      guard let (small, text) = TwoWorlds.shrink(history, seed: seed) else { continue }
      say("seed \(seed), \(small.acts.count) acts: \(text)\n")
    }
    say("\(count) histories, \(broken) contradictions of the oracle")
    if broken > 0 { throw ExitCode.failure }
  }
}

struct BlindCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blind", abstract: "Which promise notices which fault, and how soon.")
  @Argument(help: "How many histories each fault may survive.") var seeds: UInt64 = 2_000
  @Argument(help: "The first seed.") var from: UInt64 = 0

  func run() throws {
    guard Blind(seeds: seeds, from: from).run() else { throw ExitCode.failure }
  }
}

struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "One random history, with what comes out.")
  @Argument(help: "Its seed.") var seed: UInt64
  @OptionGroup var clock: ClockOptions

  func run() {
    let history = PromiseCheck.history(seed: seed, grace: clock.chosen)
    let checker = Checker(history)
    for line in checker.trace() { say(line) }
    say(PromiseAdapter.resolve(history.acts))
    say(PromiseAdapter.decisions(history.acts))
    if let broken = checker.firstBroken(PromiseAdapter.resolve) {
      say("BROKEN \(broken.promise.rawValue): \(broken.reason)")
    }
  }
}

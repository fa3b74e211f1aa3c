import ArgumentParser
import Foundation
import Glibc

/// The `hearth` command.
package struct HearthCommand: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "hearth", abstract: "Share one household between devices, without a server.",
    discussion: """
      Examples:
        hearth init --person Anna
        hearth household create Home
        hearth transport add folder ~/Shared/Home
        hearth invite
        hearth add "Wash the dishes" --every day --points 3
        hearth done dishes

      `hearth help exit-codes` explains what a command returns.
      """,
    version: "hearth \(Program.version)", subcommands: nodeCommands + householdCommands)

  package init() {}

  /// Runs the command line of this process and ends it with the documented exit code.
  package static func run() async {
    signal(SIGPIPE, SIG_IGN)
    let arguments = leadingOptionsLast(Array(CommandLine.arguments.dropFirst()))
    do {
      try refuseUnknownCommand(arguments)
      var command = try HearthCommand.parseAsRoot(arguments)
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
      ProgressLine.tell(nil)
      try Output.requireWritten()
    } catch {
      ProgressLine.tell(nil)
      ExitReport(error, isJSON: arguments.prefix { $0 != "--" }.contains("--json")).finish()
    }
  }

  /// Says which command is meant where the first word is none.
  private static func refuseUnknownCommand(_ arguments: [String]) throws {
    let names = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
    guard let word = arguments.first, !word.hasPrefix("-"), !names.contains(word) else { return }
    let nearest = names.min {
      NameFolding.edits(word, $0) < NameFolding.edits(word, $1)
    }
    let hint =
      nearest.flatMap {
        NameFolding.edits(word, $0) <= 3 ? "did you mean `hearth \($0)`?" : nil
      }
    throw CommandFailure(
      .usage, "there is no command \"\(Style.safe(word))\"",
      hint: hint ?? "`hearth --help` lists the commands")
  }

  /// Whether words lead to a command that takes options, and not to help of some kind.
  private static func doesSomething(_ words: [String]) -> Bool {
    let own = words.prefix { $0 != "--" }
    guard let first = own.first, first != "help", first != "--version",
      !own.contains("-h"), !own.contains("--help")
    else { return words.first == "--" }
    var command: any ParsableCommand.Type = HearthCommand.self
    for word in own {
      let below = command.configuration.subcommands
      guard let next = below.first(where: { $0.configuration.commandName == word }) else { break }
      command = next
    }
    return command.configuration.subcommands.isEmpty
      || command.configuration.defaultSubcommand != nil
  }

  /// Moves options that stand before the command's name behind it, where the parser wants them.
  ///
  /// `hearth --home DIR list` and `hearth list --home DIR` are the same.
  static func leadingOptionsLast(_ arguments: [String]) -> [String] {
    let valued = ["--home", "--household", "--passphrase-file", "--color"]
    var place = 0
    var moved: [String] = []
    while place < arguments.count {
      let argument = arguments[place]
      if valued.contains(argument), place + 1 < arguments.count {
        moved += [argument, arguments[place + 1]]
        place += 2
      } else if argument == "--json" || valued.contains(where: { argument.hasPrefix($0 + "=") }) {
        moved.append(argument)
        place += 1
      } else {
        break
      }
    }
    var rest = Array(arguments[place...])
    if rest.first == "--version", (moved + rest).contains("--json") {
      return ["version", "--json"]
    }
    guard doesSomething(rest) else { return rest }
    rest.insert(contentsOf: moved, at: rest.firstIndex(of: "--") ?? rest.count)
    return rest
  }
}

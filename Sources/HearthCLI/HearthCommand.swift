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
    subcommands: nodeCommands + householdCommands)

  package init() {}

  /// Runs the command line of this process and ends it with the documented exit code.
  package static func run() async {
    signal(SIGPIPE, SIG_IGN)
    do {
      var command = try HearthCommand.parseAsRoot()
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      ExitReport(error).finish()
    }
  }
}

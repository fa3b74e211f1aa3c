import ArgumentParser

/// The `hearth` command.
package struct HearthCommand: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "hearth", abstract: "Share one household between devices, without a server.")

  package init() {}
}

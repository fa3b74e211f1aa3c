import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

extension TransportCommand {
  /// Sets the scope of a transport.
  struct Carry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "carry", abstract: "Choose which households a transport carries.",
      discussion: """
        A transport carries everything by default. If an invitation adds one beside others, it
        carries only that household. Data of other households that is already there stays there,
        encrypted, and is no longer updated.

        Examples:
          hearth transport carry 2 --only Home --only Garden
          hearth transport carry 2 --also Cabin
          hearth transport carry 2 --private
          hearth transport carry 2 --everything
        """)

    @Argument(help: "Its number, path or address.")
    var name: String

    @Option(name: .long, help: "A household that it carries too; repeatable.")
    var also: [String] = []

    @Flag(help: "Let it carry everything, also households that you join later.")
    var everything = false

    @OptionGroup var scope: ScopeOptions
    @OptionGroup var options: CommonOptions

    /// Whether the options replace the whole scope, and do not extend it.
    private func setsAll() throws -> Bool {
      let names = !scope.only.isEmpty || options.household != nil
      let isMixed =
        [everything, names, !also.isEmpty].count(where: \.self) > 1
        || everything && scope.privateDatabase
      guard !isMixed, everything || names || !also.isEmpty || scope.privateDatabase else {
        throw CommandFailure(
          .usage, isMixed ? "these options exclude each other" : "no option says what it carries",
          hint: "use one of --everything, --only NAME and --also NAME; --private goes with the "
            + "last two or alone")
      }
      return everything || names
    }

    func run() async throws {
      let setsAll = try setsAll()
      let node = try await options.open()
      let wanted = try await scope.scope(options, on: node)
      let added = try await ScopeOptions.groups(named: also, on: node)
      let setting =
        setsAll
        ? try await node.transports.setScope(of: name, to: wanted)
        : try await node.transports.extendScope(
          of: name,
          by: TransportScope(households: added, privateDatabase: scope.privateDatabase))
      let item = try await Item(setting, on: node)
      let warnings = try await StrandedText.warnings(on: node)
      try await node.close()
      for warning in warnings { Output.note(warning) }
      if options.json { return try Output.json(item) }
      Output.print("transport \(setting.number) carries \(item.scope.words)")
    }
  }
}

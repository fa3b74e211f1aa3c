import ArgumentParser
import Hearth
import HearthMembership
import HearthSync

/// The transports of this node.
struct TransportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "transport", abstract: "Choose the transports by which this node reaches others.",
    subcommands: [Add.self, List.self, Carry.self, Repair.self, Remove.self])

  /// Adds a transport.
  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Add a transport.",
      subcommands: [Folder.self, Relay.self])
  }

  /// Adds a folder that another program syncs between devices.
  struct Folder: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "folder", abstract: "Add a shared folder.",
      discussion: """
        Any folder that reaches the other devices will do: of a file sync program, on a network
        drive, on a stick. Everything in it is encrypted.

        It carries everything, unless --only or --private limit it.
        """)

    @Argument(help: "The folder.", completion: .directory)
    var path: String

    @OptionGroup var scope: ScopeOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let node = try await options.open()
      let setting = try await node.transports.add(
        folder: path, carrying: scope.scope(options, on: node))
      try await TransportCommand.tell(setting, options, node)
    }
  }

  /// Adds a relay.
  struct Relay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "relay", abstract: "Add a relay.",
      discussion: """
        A relay is a small server that anybody can run (`hearth-relay serve`). It stores encrypted
        blobs and can read nothing. Its address is the line that it prints when it starts.

        Example:
          hearth transport add relay hearth-relay://192.0.2.7:7440/0k3f...

        It carries everything, unless --only or --private limit it.
        """)

    @Argument(help: "The relay's address.")
    var address: String

    @Option(help: "The token from the relay's operator, if one is needed.")
    var token: String?

    @OptionGroup var scope: ScopeOptions
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let node = try await options.open()
      let setting = try await node.transports.add(
        relay: address, token: token, carrying: scope.scope(options, on: node))
      try await TransportCommand.tell(setting, options, node)
    }
  }

  /// Reports an added transport, and closes the node.
  static func tell(
    _ setting: TransportSetting, _ options: CommonOptions, _ node: Node
  ) async throws {
    let item = try await Item(setting, on: node)
    let isAlone = await node.dataZones().allSatisfy { $0.database != .shared }
    let warnings = try await StrandedText.warnings(on: node)
    try await node.close()
    for warning in warnings { Output.note(warning) }
    if options.json { return try Output.json(item) }
    let carried = item.scope.isEverything ? "" : ", for \(item.scope.words)"
    Output.print("transport \(setting.number): \(setting.kind) \(setting.path)\(carried)")
    Output.note(
      isAlone
        ? "next: `hearth household create NAME`, or `hearth join -`"
        : "next: `hearth sync`, or `hearth invite` to let somebody join")
  }

  /// A transport for programs, without its token.
  struct Item: Encodable {
    let number: Int
    let kind: String
    let path: String
    /// The scope.
    let scope: ScopeText

    init(_ setting: TransportSetting, on node: Node) async throws {
      number = setting.number
      kind = setting.kind.rawValue
      path = setting.path
      scope = try await ScopeText(setting, on: node)
    }
  }

  /// Lists the transports.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the transports.")

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let transports: [Item]
    }

    func run() async throws {
      let node = try await options.open()
      var items: [Item] = []
      for setting in try await node.transports.list() {
        items.append(try await Item(setting, on: node))
      }
      try await node.close()
      if options.json { return try Output.json(Document(transports: items)) }
      guard !items.isEmpty else {
        Output.note(
          "there is no transport yet: `hearth transport add relay ADDRESS`, or `add folder PATH`")
        return
      }
      let rows = items.map { ["\($0.number)", $0.kind, $0.scope.words, $0.path] }
      Output.print(
        Table(headers: ["#", "KIND", "CARRIES", "WHERE"], rows: rows, rightAligned: [0]).text)
    }
  }

  /// Removes a transport; its stored files stay in place.
  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Remove a transport.",
      discussion: "Data in the folder or at the relay stays there, encrypted.")

    @Argument(help: "Its number, path or address.")
    var name: String

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let removed: String
    }

    func run() async throws {
      let node = try await options.open()
      try await node.transports.remove(name)
      let warnings = try await StrandedText.warnings(on: node)
      try await node.close()
      for warning in warnings { Output.note(warning) }
      if options.json { return try Output.json(Document(removed: name)) }
      Output.print("transport \(name) is removed")
    }
  }
}

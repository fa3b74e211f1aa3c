import ArgumentParser
import Hearth
import HearthSync

/// The ways by which this node reaches others.
struct TransportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "transport", abstract: "Choose the ways by which this node reaches others.",
    subcommands: [Add.self, List.self, Remove.self])

  /// Adds a way.
  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Add a way to others.",
      subcommands: [Folder.self, Relay.self])
  }

  /// Adds a folder that something else carries between devices.
  struct Folder: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "folder", abstract: "Add a shared folder.",
      discussion: """
        Any folder that reaches the other devices will do: of a file sync program, on a network
        drive, on a stick. Everything in it is encrypted.
        """)

    @Argument(help: "The folder.", completion: .directory)
    var path: String

    @OptionGroup var options: CommonOptions

    func run() async throws {
      let node = try await options.open()
      let setting = try await node.addFolder(path)
      let isAlone = await node.dataZones().allSatisfy { $0.database != .shared }
      try await node.close()
      if options.json { return try Output.json(Item(setting)) }
      Output.print("transport \(setting.number): folder \(setting.path)")
      Output.note(
        isAlone
          ? "next: `hearth household create NAME`, or `hearth join LINK`"
          : "next: `hearth sync`, or `hearth invite` to let somebody join")
    }
  }

  /// Adds a relay.
  struct Relay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "relay", abstract: "Add a relay.",
      discussion: """
        A relay is a small server that anybody can run (`hearth-relay serve`). It keeps sealed
        blobs and can read nothing. Its address is the line that it prints when it starts.

        Example:
          hearth transport add relay hearth-relay://192.0.2.7:7440/0k3f...
        """)

    @Argument(help: "The relay's address.")
    var address: String

    @Option(help: "The token that the relay's operator gave, where one is needed.")
    var token: String?

    @OptionGroup var options: CommonOptions

    func run() async throws {
      let node = try await options.open()
      let setting = try await node.addRelay(address, token: token)
      let isAlone = await node.dataZones().allSatisfy { $0.database != .shared }
      try await node.close()
      if options.json { return try Output.json(Item(setting)) }
      Output.print("transport \(setting.number): relay \(setting.path)")
      Output.note(
        isAlone
          ? "next: `hearth household create NAME`, or `hearth join LINK`"
          : "next: `hearth sync`, or `hearth invite` to let somebody join")
    }
  }

  /// A way as programs read it, without its token.
  struct Item: Encodable {
    let number: Int
    let kind: String
    let path: String

    init(_ setting: TransportSetting) {
      number = setting.number
      kind = setting.kind
      path = setting.path
    }
  }

  /// Lists the ways.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the ways to others.")

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let transports: [Item]
    }

    func run() async throws {
      let node = try await options.open()
      let settings = try await node.transports()
      try await node.close()
      if options.json { return try Output.json(Document(transports: settings.map { Item($0) })) }
      guard !settings.isEmpty else {
        Output.note(
          "there is no transport yet: `hearth transport add relay ADDRESS`, or `add folder PATH`")
        return
      }
      let rows = settings.map { ["\($0.number)", $0.kind, $0.path] }
      Output.print(Table(headers: ["#", "KIND", "WHERE"], rows: rows, rightAligned: [0]).text)
    }
  }

  /// Forgets a way; what it holds stays where it is.
  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Forget a way to others.",
      discussion: "What is in a folder or at a relay stays there; it is encrypted.")

    @Argument(help: "Its number, path or address.")
    var name: String

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let removed: String
    }

    func run() async throws {
      let node = try await options.open()
      try await node.removeTransport(name)
      try await node.close()
      if options.json { return try Output.json(Document(removed: name)) }
      Output.print("transport \(name) is forgotten")
    }
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// The scope of a transport, as options.
struct CargoOptions: ParsableArguments {
  @Option(
    name: .long, help: "A household that goes over it; repeat it for more. Others do not.")
  var only: [String] = []

  @Flag(name: .customLong("private"), help: "Let your private database go over it.")
  var privateDatabase = false

  /// Returns the given scope; nil if none was given, which means everything.
  ///
  /// `--household NAME`, which every command has, is the same as `--only NAME`.
  func cargo(_ options: CommonOptions, on node: Node) async throws -> TransportCargo? {
    let names = only + [options.household].compactMap(\.self)
    guard !names.isEmpty || privateDatabase else { return nil }
    return TransportCargo(
      households: try await CargoOptions.groups(named: names, on: node),
      privateDatabase: privateDatabase)
  }

  /// Returns the households of some names.
  static func groups(named names: [String], on node: Node) async throws -> [GroupID] {
    let households = await node.dataZones().filter { $0.database == .shared }
    return try names.map { try HouseholdNames.zone($0, among: households).group }
  }
}

/// The scope of a transport, in words and for programs.
struct CargoText: Encodable {
  /// Whether the transport carries everything, including future zones.
  let isEverything: Bool
  /// The names of the households that it carries.
  let households: [String]
  /// Whether it carries the private database.
  let privateDatabase: Bool

  private enum CodingKeys: String, CodingKey {
    case isEverything = "everything"
    case households, privateDatabase
  }

  init(_ setting: TransportSetting, on node: Node) async {
    let carried = await node.groups(over: setting)
    isEverything = setting.cargo == nil
    let zones = await node.dataZones().filter { carried.contains($0.group) }
    households = zones.filter { $0.database == .shared }.map(\.name)
    privateDatabase = setting.cargo?.privateDatabase ?? true
  }

  /// The scope in one line.
  var words: String {
    if isEverything { return "everything" }
    let names = households.map { Style.safe($0) } + (privateDatabase ? ["private"] : [])
    return names.isEmpty ? "nothing" : names.joined(separator: ", ")
  }
}

extension TransportCommand {
  /// Sets the scope of a transport.
  struct Carry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "carry", abstract: "Choose which households go over a way.",
      discussion: """
        A way carries everything unless it was told otherwise; one that came with an invitation
        beside others carries that household alone. What lies at a place already stays there,
        encrypted, and is not kept up to date any more.

        Examples:
          hearth transport carry 2 --only Home --only Garden
          hearth transport carry 2 --also Cabin
          hearth transport carry 2 --private
          hearth transport carry 2 --everything
        """)

    @Argument(help: "Its number, path or address.")
    var name: String

    @Option(name: .long, help: "A household that goes over it beside the others; repeatable.")
    var also: [String] = []

    @Flag(help: "Let everything go over it, also households that you come to be in later.")
    var everything = false

    @OptionGroup var cargo: CargoOptions
    @OptionGroup var options: CommonOptions

    /// Whether the options replace the whole scope, and do not extend it.
    private func setsAll() throws -> Bool {
      let names = !cargo.only.isEmpty || options.household != nil
      let isMixed =
        [everything, names, !also.isEmpty].count(where: \.self) > 1
        || everything && cargo.privateDatabase
      guard !isMixed, everything || names || !also.isEmpty || cargo.privateDatabase else {
        throw CommandFailure(
          .usage, isMixed ? "these do not go together" : "nothing says what is to go over it",
          hint: "use one of --everything, --only NAME and --also NAME; --private goes with the "
            + "last two or alone")
      }
      return everything || names
    }

    func run() async throws {
      let setsAll = try setsAll()
      let node = try await options.open()
      let wanted = try await cargo.cargo(options, on: node)
      let added = try await CargoOptions.groups(named: also, on: node)
      let setting =
        setsAll
        ? try await node.setCargo(of: name, to: wanted)
        : try await node.addCargo(
          to: name,
          TransportCargo(households: added, privateDatabase: cargo.privateDatabase))
      let item = await Item(setting, on: node)
      let warnings = try await StrandedText.warnings(on: node)
      try await node.close()
      for warning in warnings { Output.note(warning) }
      if options.json { return try Output.json(item) }
      Output.print("transport \(setting.number) carries \(item.cargo.words)")
    }
  }
}

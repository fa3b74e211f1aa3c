import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// The scope of a transport, as options.
struct ScopeOptions: ParsableArguments {
  @Option(
    name: .long, help: "A household that it carries, and no other; repeatable.")
  var only: [String] = []

  @Flag(name: .customLong("private"), help: "Let it carry your private database.")
  var privateDatabase = false

  /// Returns the given scope; nil if none was given, which means everything.
  ///
  /// `--household NAME`, which every command has, is the same as `--only NAME`.
  func scope(_ options: CommonOptions, on node: Node) async throws -> TransportScope? {
    let names = only + [options.household].compactMap(\.self)
    guard !names.isEmpty || privateDatabase else { return nil }
    return TransportScope(
      households: try await ScopeOptions.groups(named: names, on: node),
      privateDatabase: privateDatabase)
  }

  /// Returns the households of some names.
  static func groups(named names: [String], on node: Node) async throws -> [GroupID] {
    let households = await node.dataZones().filter { $0.database == .shared }
    return try names.map { try HouseholdNames.zone($0, among: households).group }
  }
}

/// The scope of a transport, in words and for programs.
struct ScopeText: Encodable {
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

  init(_ setting: TransportSetting, on node: Node) async throws {
    let carried = try await node.transports.groups(over: setting)
    isEverything = setting.scope == nil
    let zones = await node.dataZones().filter { carried.contains($0.group) }
    households = zones.filter { $0.database == .shared }.map(\.name)
    privateDatabase = setting.scope?.privateDatabase ?? true
  }

  /// The scope in one line.
  var words: String {
    if isEverything { return "everything" }
    let names = households.map { Style.safe($0) } + (privateDatabase ? ["private"] : [])
    return names.isEmpty ? "nothing" : names.joined(separator: ", ")
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync
import Household

/// Whose settings are meant.
enum SettingScope: String, CaseIterable, ExpressibleByArgument {
  case household
  case person
}

/// `hearth settings`.
struct SettingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings", abstract: "Read and change settings.",
    subcommands: [GetSetting.self, SetSetting.self, ListSettings.self])
}

extension HouseholdContext {
  /// The zone that holds the settings of a scope.
  static func open(_ common: CommonOptions, _ scope: SettingScope) async throws -> HouseholdContext
  {
    guard scope == .person else { return try await open(common) }
    let node = try await common.open()
    guard let zone = await node.dataZones().first(where: { $0.database == .personal }) else {
      throw CommandFailure(.failed, "this node has no private zone")
    }
    return HouseholdContext(node: node, zone: zone)
  }
}

/// `hearth settings get`.
struct GetSetting: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "get", abstract: "Print a setting.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The setting.") var key: String
  @Option(help: "household or person.") var scope: SettingScope = .household

  func run() async throws {
    let key = key
    guard HouseholdSettings.keys.contains(key) else {
      throw CommandFailure(
        .failed, "there is no setting \(ShownText.quoted(key))",
        hint: "there are \(HouseholdSettings.keys.joined(separator: ", "))")
    }
    let value = try await HouseholdContext.open(common, scope).read { try $0.setting(key) }
    if common.json { return try Output.json(["settings": [key: value]]) }
    guard let value else { return Output.note("\(key) is not set") }
    Output.print(Style.safe(value))
  }
}

/// `hearth settings set`.
struct SetSetting: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "set", abstract: "Change a setting.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The setting.") var key: String
  @Argument(help: "The new value.") var value: String
  @Option(help: "household or person.") var scope: SettingScope = .household

  func run() async throws {
    let (key, value) = (key, ShownText.normal(value))
    if key == "time-zone" { _ = try HouseholdClock(timeZone: value) }
    try await HouseholdContext.open(common, scope).write { book, builder in
      try book.set(key, value, in: &builder)
    }
    Output.note("\(Style.safe(key)) is \(ShownText.quoted(value))")
  }
}

/// `hearth settings list`.
struct ListSettings: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Print every setting that is set.")
  @OptionGroup var common: CommonOptions
  @Option(help: "household or person.") var scope: SettingScope = .household

  func run() async throws {
    let rows = try await HouseholdContext.open(common, scope).read { book in
      try book.allSettings().map { [$0.key, $0.value] }
    }
    if common.json {
      let pairs = rows.map { ($0[0], $0[1]) }
      return try Output.json(["settings": Dictionary(pairs) { first, _ in first }])
    }
    Output.print(Table(headers: ["SETTING", "VALUE"], rows: rows).text)
  }
}

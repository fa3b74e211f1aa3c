import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthRelayProtocol
import HearthSync
import Household

/// `hearth settings`.
struct SettingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings", abstract: "Read and change settings.",
    discussion: """
      There are three scopes: device (only this device, never synced), person (all devices of
      yours, read by nobody else) and household (the same for everybody). If a setting exists in
      several, the device's value overrides the person's, and that overrides the household's.
      Settings for points, days and weeks exist only for the household. feature_flag_ID is your
      own choice for a feature flag; without one, the catalogues that you follow decide.

      `hearth settings list` shows every setting, its value and its source.
      """,
    subcommands: [GetSetting.self, SetSetting.self, UnsetSetting.self, ListSettings.self],
    defaultSubcommand: ListSettings.self)
}

/// A node with the household whose settings are read, if one is selected.
private struct SettingsContext {
  let node: Node
  let household: HouseholdContext?

  /// Opens the node; it needs a household only if the key or scope does.
  static func open(
    _ common: CommonOptions, needsHousehold: Bool
  ) async throws -> SettingsContext {
    if needsHousehold || common.household != nil {
      let household = try await HouseholdContext.open(common)
      return SettingsContext(node: household.node, household: household)
    }
    let node = try await common.open()
    let zone = try? await HouseholdContext.chosen(common, on: node)
    return SettingsContext(
      node: node, household: zone.map { HouseholdContext(node: node, zone: $0) })
  }

  /// Returns the key with its default value; for a feature flag the catalogues define it.
  func known(_ key: SettingKey) async throws -> SettingKey {
    if key.name == SettingKey.householdName, let household {
      return key.withDefault(household.zone.foundingName)
    }
    guard let id = key.flagID else { return key }
    return .flag(id, isOn: try await node.catalogues.flag(id) ?? false)
  }

  /// Returns the feature flags of followed catalogues.
  func flags() async throws -> [SettingKey] {
    let ids = try await node.catalogues.records(type: "flag").map(\.record.path.id)
    var keys: [SettingKey] = []
    for id in Set(ids).sorted() { keys.append(try await known(.flag(id, isOn: false))) }
    return keys
  }

  /// Returns the household's invalid settings.
  func faults() async throws -> [SettingFaultText] {
    guard let household else { return [] }
    return try await SettingFaultText.all(of: household.zone, on: node)
  }

  func values(_ keys: [SettingKey]) async throws -> SettingValues {
    try await SettingValues.load(keys, of: node, household: household?.zone)
  }
}

/// A setting in a JSON document.
private struct SettingDocument: Encodable {
  let key, value, source, meaning: String
  let scopes: [String]
  /// The set values, by scope.
  let set: [String: String]

  init(_ key: SettingKey, _ values: SettingValues) {
    let (value, source) = values.effective(key)
    self.key = key.name
    self.value = value
    self.source = source?.rawValue ?? "default"
    meaning = key.meaning
    scopes = key.scopes.map(\.rawValue)
    set = Dictionary(
      uniqueKeysWithValues: key.scopes.compactMap { scope in
        values.value(of: key, in: scope).map { (scope.rawValue, $0) }
      })
  }
}

/// `hearth settings get`.
struct GetSetting: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print the effective value.",
    discussion: "With --scope, the value that is set there; exit code 1 if none is.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The setting.", completion: .list(SettingKey.all.map(\.name))) var key: String
  @Option(help: "device, person or household; by default the effective value.")
  var scope: SettingScope?

  func run() async throws {
    let key = try SettingKey.named(key)
    let wanted = try scope.map { try key.scope($0) }
    let context = try await SettingsContext.open(
      common, needsHousehold: key.isOfHousehold || wanted == .household)
    let known = try await context.known(key)
    let values = try await context.values([known])
    try await context.node.close()
    if let wanted, values.value(of: key, in: wanted) == nil {
      throw CommandFailure(
        .failed, "\(key.name) is not set for the \(wanted.rawValue)",
        hint: "`hearth settings get \(key.name)` prints the effective value")
    }
    if common.json { return try Output.json(SettingDocument(known, values)) }
    let value = wanted.flatMap { values.value(of: key, in: $0) } ?? values.effective(known).value
    Output.print(Style.safe(value))
  }
}

/// Changes or clears a setting, after checking it.
private func change(
  _ common: CommonOptions, _ key: SettingKey, _ value: String?, _ scope: SettingScope
) async throws {
  if let value {
    guard key.isOfHousehold || key.isValid(value) else {
      throw CommandFailure(
        .usage, "\(key.name) cannot be \(ShownText.quoted(value))", hint: "use \(key.values)")
    }
    if key.name == "time-zone" { _ = try HouseholdClock(timeZone: value) }
  }
  let context = try await SettingsContext.open(common, needsHousehold: scope == .household)
  if key.isOfHousehold, let household = context.household {
    let name = key.name
    var value = value
    if name == SettingKey.householdName, let wanted = value {
      let households = await context.node.dataZones().filter { $0.database == .shared }
      value = try HouseholdNames.checked(wanted, besides: household.zone.id, among: households)
    }
    let stored = value
    try await household.write { state, builder in
      try state.storedSettings.set(name, stored, in: &builder)
    }
  } else {
    try await SettingValues.set(
      key, value, in: scope, of: context.node, household: context.household?.zone)
  }
  let key = try await context.known(key)
  let values = try await context.values([key])
  try await context.node.close()
  let (holds, source) = values.effective(key)
  if common.json { return try Output.json(SettingDocument(key, values)) }
  let shown = "\(key.name) is \(ShownText.quoted(holds))"
  if source == scope { return Output.note("\(shown), set for the \(scope.rawValue)") }
  Output.note("\(shown), \(source.map { "set for the \($0.rawValue)" } ?? "by default")")
}

/// `hearth settings set`.
struct SetSetting: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Change a setting.",
    discussion: "Settings:\n"
      + SettingKey.all.map { key in
        let scopes = key.scopes.map(\.rawValue).joined(separator: ", ")
        let values = key.values.isEmpty ? "" : ": \(key.values)"
        return "  \(key.name) (\(scopes)): \(key.meaning)\(values)"
      }.joined(separator: "\n"))
  @OptionGroup var common: CommonOptions
  @Argument(help: "The setting.", completion: .list(SettingKey.all.map(\.name))) var key: String
  @Argument(help: "The new value.") var value: String
  @Option(help: "device, person or household; by default the setting's usual scope.")
  var scope: SettingScope?

  func run() async throws {
    let key = try SettingKey.named(key)
    let words = ShownText.normal(value)
    // A day's name, as `household create` accepts it, means its code.
    let code = key.name == "week-start" ? Weekday.named(words)?.code : key.spelled(words)
    try await change(common, key, code ?? words, try key.scope(scope))
  }
}

/// `hearth settings unset`.
struct UnsetSetting: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unset", abstract: "Clear a setting: the next scope or the default applies.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The setting.", completion: .list(SettingKey.all.map(\.name))) var key: String
  @Option(help: "device, person or household; by default the setting's usual scope.")
  var scope: SettingScope?

  func run() async throws {
    let key = try SettingKey.named(key)
    try await change(common, key, nil, try key.scope(scope))
  }
}

/// `hearth settings list`.
struct ListSettings: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Print every setting, its value and its source.")
  @OptionGroup var common: CommonOptions
  @Option(help: "Only those that can be set for the device, person or household.")
  var scope: SettingScope?

  private struct Document: Encodable {
    let settings: [SettingDocument]
    /// The invalid settings.
    let faults: [SettingFaultText]
  }

  func run() async throws {
    let scope = scope
    let context = try await SettingsContext.open(common, needsHousehold: scope == .household)
    let found = (SettingKey.all + (try await context.flags())).filter { key in
      scope.map(key.scopes.contains) ?? true
    }
    var keys: [SettingKey] = []
    for key in found { keys.append(try await context.known(key)) }
    let values = try await context.values(keys)
    let faults = try await context.faults()
    try await context.node.close()
    let items = keys.map { SettingDocument($0, values) }
    if common.json { return try Output.json(Document(settings: items, faults: faults)) }
    let rows = items.map { [$0.key, $0.value, $0.source, $0.scopes.joined(separator: ", ")] }
    Output.print(
      Table(headers: ["SETTING", "VALUE", "FROM", "CAN BE SET FOR"], rows: rows).text)
    for fault in faults {
      Output.note("hearth: warning: \(fault.text)\n  remedy: \(fault.remedy)")
    }
  }
}

import Hearth
import HearthCRDT
import HearthSync
import Household

/// The values set in each scope of a node, and the effective ones.
struct SettingValues: Sendable {
  private let stored: [SettingScope: [String: String]]

  init(stored: [SettingScope: [String: String]]) {
    self.stored = stored
  }

  /// Reads the values of some keys: device, then person, then the household if one is given.
  static func load(
    _ keys: [SettingKey], of node: Node, household: ZoneState?
  ) async throws -> SettingValues {
    var stored: [SettingScope: [String: String]] = [:]
    for scope in SettingScope.allCases {
      let names = keys.filter { $0.scopes.contains(scope) }.map(\.name)
      guard !names.isEmpty else { continue }
      switch scope {
      case .device:
        for name in names {
          stored[.device, default: [:]][name] = try await node.fact(fact(name)).map {
            String(decoding: $0, as: UTF8.self)
          }
        }
      case .person, .household:
        guard let zone = await zone(of: scope, node, household) else { continue }
        stored[scope] = try await node.read(zone.id) { source in
          var values: [String: String] = [:]
          for name in names { values[name] = try SettingRecord.value(of: name, in: source) }
          return values
        }
      }
    }
    return SettingValues(stored: stored)
  }

  /// The value set in a scope, if any.
  func value(of key: SettingKey, in scope: SettingScope) -> String? {
    stored[scope]?[key.name]
  }

  /// Returns the effective value and its scope; nil for the default.
  ///
  /// An invalid value, from a newer version for example, is skipped.
  func effective(_ key: SettingKey) -> (value: String, source: SettingScope?) {
    for scope in key.scopes {
      if let value = value(of: key, in: scope), key.isValid(value) { return (value, scope) }
    }
    return (key.defaultValue, nil)
  }

  var color: ColorChoice { ColorChoice(rawValue: effective(.color).value) ?? .auto }
  var listOrder: ListOrder { ListOrder(rawValue: effective(.listOrder).value) ?? .title }
  var pageSize: Int { Int(effective(.pageSize).value) ?? SettingKey.maximumPageSize }

  /// Sets or clears the value of a display key.
  static func set(
    _ key: SettingKey, _ value: String?, in scope: SettingScope, of node: Node,
    household: ZoneState?
  ) async throws {
    if scope == .device {
      return try await node.setFact(fact(key.name), value.map { Array($0.utf8) })
    }
    guard let zone = await zone(of: scope, node, household) else {
      throw CommandFailure(.failed, "this node has no zone for settings of the \(scope.rawValue)")
    }
    let name = key.name
    if scope == .person, let ending = try await node.ending(in: zone.group) {
      throw CommandFailure(
        .notAllowed, EndingText.line(ending, household: "your private database"),
        hint:
          "`hearth device add` on another device of yours, then `hearth join -` here; or set it "
          + "only for this device with --scope device")
    }
    if scope == .household {
      let gate = try await RoleGate.of(zone, on: node)
      try gate.check(SettingRecord.operations(name, value, in: zone.id))
    }
    try await node.write(to: zone.id) { source, _ in
      (SettingRecord.operations(name, value, in: source.zone), ())
    }
  }

  private static func fact(_ name: String) -> String { "setting." + name }

  private static func zone(
    of scope: SettingScope, _ node: Node, _ household: ZoneState?
  ) async -> ZoneState? {
    guard scope == .person else { return household }
    return await node.privateDatabase.zone()
  }
}

/// The record of one setting in a zone: the same on every device, found by its key.
enum SettingRecord {
  private static let schema = HouseholdSchema.all.first { $0.id == HouseholdSchema.setting }

  private static func record(of name: String, in zone: ZoneID) -> RecordKey {
    let type = HouseholdSchema.setting
    return RecordKey(type: type, id: naturalID(in: zone, type: type, key: Array(name.utf8)))
  }

  /// The stored value; nil if unset.
  static func value(of name: String, in source: any ProjectionSource) throws -> String? {
    guard let field = schema?.field(named: "value"),
      let state = try source.record(record(of: name, in: source.zone)), !state.life.isDeleted
    else { return nil }
    return state.shown(field.id)?.text
  }

  /// Returns the operations that set or clear a value.
  static func operations(_ name: String, _ value: String?, in zone: ZoneID) -> [Operation] {
    guard let schema, let keyField = schema.field(named: "key"),
      let valueField = schema.field(named: "value")
    else { return [] }
    let record = record(of: name, in: zone)
    return [
      Operation(record, .assign(keyField.id, .text(name))),
      Operation(record, .assign(valueField.id, value.map(Value.text) ?? .null)),
    ]
  }
}

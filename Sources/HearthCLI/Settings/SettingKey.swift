import ArgumentParser
import HearthCRDT
import HearthRelayProtocol
import HearthSync
import Household

/// The scope of a setting; if a key exists in several, the narrowest set value applies.
enum SettingScope: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// On this device only, never synced.
  case device
  /// In the person's private zone, which nobody else can read.
  case person
  /// In the household's zone, the same for everybody.
  case household
}

/// The order of chores in `hearth list`.
enum ListOrder: String, CaseIterable, Sendable {
  case title
  case due
  case points
}

/// A setting: its scopes, its possible values and its default (R24).
///
/// A key is one register in each of its scopes. Values that belong together are one key with one
/// value, so that two people who change it at once never leave half of each other's choice.
struct SettingKey: Sendable {
  let name: String
  /// The effect, in a few words.
  let meaning: String
  /// The scopes, narrowest first.
  let scopes: [SettingScope]
  /// The default scope.
  let usualScope: SettingScope
  /// The effective value when it is not set.
  let defaultValue: String
  /// The possible values, in words.
  let values: String
  private let accepts: @Sendable (String) -> Bool

  /// Whether the value is valid for the key.
  ///
  /// For the household's own keys, the module that stores them reports the valid values.
  func isValid(_ value: String) -> Bool { accepts(value) }

  /// Whether the key is one of the household's own, which decide totals and have no overlay.
  var isOfHousehold: Bool { scopes == [.household] }

  static let color = SettingKey(
    "color", "when output is coloured", [.device, .person], usual: .device,
    oneOf: ColorChoice.allCases.map(\.rawValue))
  static let defaultHousehold = SettingKey(
    name: "default-household", meaning: "the household to use if a node is in several",
    scopes: [.device, .person], usualScope: .device, defaultValue: "",
    values: "the name of a household, 1 to 80 characters",
    accepts: { (1...80).contains($0.count) && Style.safe($0) == $0 })
  static let listOrder = SettingKey(
    "list-order", "what `hearth list` sorts by", [.device, .person, .household], usual: .person,
    oneOf: ListOrder.allCases.map(\.rawValue))
  static let pageSize = SettingKey(
    name: "page-size", meaning: "entries on a page of `hearth history` and `hearth log`",
    scopes: [.device, .person], usualScope: .device, defaultValue: "20",
    values: "a number from 1 to \(maximumPageSize)",
    accepts: { text in
      Int(text).map { (1...maximumPageSize).contains($0) && String($0) == text } ?? false
    })

  /// The setting that renames a household after its creation.
  static let householdName = "name"

  /// Returns the key with another default.
  func withDefault(_ value: String) -> SettingKey {
    SettingKey(
      name: name, meaning: meaning, scopes: scopes, usualScope: usualScope, defaultValue: value,
      values: values, accepts: accepts)
  }

  /// The prefix of a feature flag's setting; the flag's id follows.
  static let flagPrefix = "feature_flag_"

  /// A person's own choice for a feature flag, which only another scope of the same flag can
  /// override.
  ///
  /// - Parameter isOn: the value in the followed catalogues; off if none has any.
  static func flag(_ id: String, isOn: Bool) -> SettingKey {
    SettingKey(
      flagPrefix + id, "a feature flag of a catalogue", [.device, .person], usual: .device,
      oneOf: isOn ? ["yes", "no"] : ["no", "yes"])
  }

  /// The id of the feature flag of this key, if it has one.
  var flagID: String? {
    guard name.hasPrefix(SettingKey.flagPrefix) else { return nil }
    let id = String(name.dropFirst(SettingKey.flagPrefix.count))
    return PublicName.isID(id) ? id : nil
  }

  /// The most entries of a page.
  static let maximumPageSize = 200

  /// The keys that affect only the display.
  static let ofDisplay = [color, defaultHousehold, listOrder, pageSize]

  /// Every key, in order of name.
  static let all = (ofDisplay + ofChallenges + HouseholdSettings.keys.map(ofHousehold)).sorted {
    $0.name < $1.name
  }

  /// Returns the key of a name.
  ///
  /// - Throws: a usage failure that lists the existing keys.
  static func named(_ name: String) throws -> SettingKey {
    if let key = all.first(where: { $0.name == name }) { return key }
    if name.hasPrefix(flagPrefix) {
      let key = flag(String(name.dropFirst(flagPrefix.count)), isOn: false)
      if key.flagID != nil { return key }
    }
    throw CommandFailure(
      .usage, "there is no setting \(ShownText.quoted(name))",
      hint: "use " + all.map(\.name).joined(separator: ", "))
  }

  /// Returns the requested scope, or the default one.
  ///
  /// - Throws: a usage failure that lists the scopes of the key.
  func scope(_ wanted: SettingScope?) throws -> SettingScope {
    guard let wanted else { return usualScope }
    guard scopes.contains(wanted) else {
      throw CommandFailure(
        .usage, "\(name) cannot be set for the \(wanted.rawValue)",
        hint: "set it for: " + scopes.map(\.rawValue).joined(separator: ", "))
    }
    return wanted
  }

  init(
    name: String, meaning: String, scopes: [SettingScope], usualScope: SettingScope,
    defaultValue: String, values: String, accepts: @escaping @Sendable (String) -> Bool
  ) {
    self.name = name
    self.meaning = meaning
    self.scopes = scopes
    self.usualScope = usualScope
    self.defaultValue = defaultValue
    self.values = values
    self.accepts = accepts
  }

  /// A key with a few words as values; the first is the default.
  private init(
    _ name: String, _ meaning: String, _ scopes: [SettingScope], usual: SettingScope,
    oneOf words: [String]
  ) {
    self.init(
      name: name, meaning: meaning, scopes: scopes, usualScope: usual,
      defaultValue: words.first ?? "", values: words.joined(separator: ", "),
      accepts: { words.contains($0) })
  }

  private static func ofHousehold(_ name: String) -> SettingKey {
    let defaults = HouseholdSettings()
    let (meaning, value) =
      switch name {
      case "day-start": ("the hour at which a new day begins", String(defaults.dayStartHour))
      case "duplicate":
        ("who gets the points if several did one occurrence", defaults.duplicate.rawValue)
      case "missed": ("what becomes of missed occurrences", defaults.missed.rawValue)
      case "name": ("the household's name", defaults.name)
      case "strict-assignee":
        ("whether only assignees get points", defaults.strictAssignee ? "yes" : "no")
      case "time-zone": ("the time zone of its days", defaults.timeZone)
      case "week-start": ("the first day of its weeks", defaults.weekStart.code)
      default: ("a rule of the household", "")
      }
    return SettingKey(
      name: name, meaning: meaning, scopes: [.household], usualScope: .household,
      defaultValue: value, values: "",
      accepts: { value in
        HouseholdSettings.advice(for: name, value: value) == nil && isKnownHere(name, value)
      })
  }
}

extension ListOrder {
  /// Returns the chores, given by title, in this order; equal ones stay by title.
  func sorted(_ chores: [ChoreView]) -> [ChoreView] {
    func day(_ chore: ChoreView) -> CivilDate? { chore.next?.due ?? chore.due }
    let places = chores.indices
    switch self {
    case .title: return chores
    case .points:
      return places.sorted {
        (chores[$1].points, $0) < (chores[$0].points, $1)
      }.map { chores[$0] }
    case .due:
      return places.sorted { left, right in
        switch (day(chores[left]), day(chores[right])) {
        case (let one?, let other?): (one, left) < (other, right)
        case (nil, nil): left < right
        case (let one, _): one != nil
        }
      }.map { chores[$0] }
    }
  }
}

import HearthCRDT
import HearthSync

/// The payment when several people did one occurrence (rule R1).
package enum DuplicatePolicy: String, CaseIterable, Sendable {
  /// The first is paid; the others are recorded.
  case first
  /// Everybody is paid in full.
  case each
  /// The points are shared; the remainder goes to the first.
  case split
}

/// The policy for occurrences that nobody did (rule R8).
package enum MissedPolicy: String, CaseIterable, Sendable {
  /// The latest stays due; older ones are missed.
  case roll
  /// Every one stays due.
  case stack
  /// The latest is shown as due today, regardless of its due day.
  case neverOverdue = "never-overdue"
}

/// The household's settings: one register per key, with a default where a key is unset (R24).
package struct HouseholdSettings: Equatable, Sendable {
  /// The household's name, empty if unset.
  package private(set) var name = ""
  /// The IANA name of the household's time zone; `UTC` if unset.
  package private(set) var timeZone = "UTC"
  /// The first day of the week.
  package private(set) var weekStart = Weekday.monday
  /// The payment when several people did one occurrence.
  package private(set) var duplicate = DuplicatePolicy.first
  /// The hour at which a new day begins, 0...6.
  package private(set) var dayStartHour = 0
  /// The policy for occurrences that nobody did.
  package private(set) var missed = MissedPolicy.roll
  /// Whether only assigned people are credited (rule R2).
  package private(set) var strictAssignee = false

  /// The known keys, in order.
  package static let keys = [
    "day-start", "duplicate", "missed", "name", "strict-assignee", "time-zone", "week-start",
  ]
  /// The longest value of a setting, in bytes.
  package static let maximumValueBytes = 320
  /// The longest name of a household, in bytes; it also has at most 80 characters.
  package static let maximumNameBytes = 256

  /// The defaults.
  package init() {}

  /// Reads the settings of a zone; an unreadable value leaves the default.
  package init(source: any ProjectionSource) throws {
    for key in HouseholdSettings.keys {
      guard let value = try HouseholdSettings.value(of: key, in: source) else { continue }
      _ = apply(key, value)
    }
  }

  /// The name that a household's zone was given after its creation; nil if none, or an invalid one.
  package static func name(in source: any ProjectionSource) throws -> String? {
    try value(of: "name", in: source).flatMap { isName($0) ? $0 : nil }
  }

  /// Whether the text is a valid household name.
  package static func isName(_ text: String) -> Bool {
    text.utf8.count <= maximumNameBytes && Validation.isText(text, characters: 1...80)
  }

  /// The requirements for a household's name, in words.
  package static let nameAdvice = "1 to 80 characters (at most \(maximumNameBytes) bytes)"

  /// The invalid stored settings, in order of key; their defaults apply instead.
  ///
  /// - Parameter accepts: a check that only the edge can make, such as whether a time zone exists.
  package static func faults(
    in source: any ProjectionSource, accepts: (_ key: String, _ value: String) -> Bool
  ) throws -> [SettingFault] {
    try keys.compactMap { key in
      guard let (value, version) = try stored(key, in: source) else { return nil }
      let holds = HouseholdSettings().value(of: key)
      guard let text = value.text else {
        return SettingFault(
          key: key, value: nil, holds: holds, by: try source.writer(of: version), version: version)
      }
      guard advice(for: key, value: text) != nil || !accepts(key, text) else { return nil }
      return SettingFault(
        key: key, value: text, holds: holds, by: try source.writer(of: version), version: version)
    }
  }

  /// Returns the shown value of a key, valid or not, with its version; nil if unset.
  private static func stored(
    _ key: String, in source: any ProjectionSource
  ) throws -> (value: Value, version: Version)? {
    guard let record = try source.record(recordKey(of: key, in: source.zone)),
      !record.life.isDeleted, case .history(let history)? = record[SettingField.value],
      let shown = history.shown, shown.value != .null
    else { return nil }
    return (shown.value, shown.version)
  }

  /// The effective value, as text.
  private func value(of key: String) -> String {
    switch key {
    case "day-start": String(dayStartHour)
    case "duplicate": duplicate.rawValue
    case "missed": missed.rawValue
    case "name": name
    case "strict-assignee": strictAssignee ? "yes" : "no"
    case "time-zone": timeZone
    default: weekStart.code
    }
  }

  /// Returns the stored value of a key; nil if unset.
  static func value(of key: String, in source: any ProjectionSource) throws -> String? {
    let record = try source.record(recordKey(of: key, in: source.zone))
    guard let record, !record.life.isDeleted else { return nil }
    return record.shown(SettingField.value)?.text
  }

  /// The record key of a setting, which is the same on every device.
  static func recordKey(of key: String, in zone: ZoneID) -> RecordKey {
    let type = HouseholdSchema.setting
    return RecordKey(type: type, id: naturalID(in: zone, type: type, key: Array(key.utf8)))
  }

  /// Returns nil if a key can have a value, and otherwise the values it can have, in words.
  package static func advice(for key: String, value: String) -> String? {
    var trial = HouseholdSettings()
    guard value.utf8.count <= maximumValueBytes, trial.apply(key, value) else {
      switch key {
      case "day-start": return "an hour from 0 to 6"
      case "duplicate": return words(DuplicatePolicy.allCases.map(\.rawValue))
      case "missed": return words(MissedPolicy.allCases.map(\.rawValue))
      case "name": return nameAdvice
      case "strict-assignee": return "yes or no"
      case "time-zone": return "the name of a time zone, for example Europe/Vienna"
      default: return "a weekday: " + words(Weekday.allCases.map(\.code))
      }
    }
    return nil
  }

  private static func words(_ list: [String]) -> String { list.joined(separator: ", ") }

  /// Applies a value; false if the key is unknown or cannot have the value.
  private mutating func apply(_ key: String, _ value: String) -> Bool {
    switch key {
    case "day-start":
      guard let hour = Int(value), (0...6).contains(hour), String(hour) == value else {
        return false
      }
      dayStartHour = hour
    case "duplicate":
      guard let policy = DuplicatePolicy(rawValue: value) else { return false }
      duplicate = policy
    case "missed":
      guard let policy = MissedPolicy(rawValue: value) else { return false }
      missed = policy
    case "name":
      guard HouseholdSettings.isName(value) else { return false }
      name = value
    case "strict-assignee":
      guard value == "yes" || value == "no" else { return false }
      strictAssignee = value == "yes"
    case "time-zone":
      guard HouseholdSettings.isZoneName(value) else { return false }
      timeZone = value
    case "week-start":
      guard let day = Weekday(code: value) else { return false }
      weekStart = day
    default: return false
    }
    return true
  }

  /// Checks for letters, digits and `/_+-` only: only the edge knows whether the zone exists.
  private static func isZoneName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"),
          UInt8(ascii: "+"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}

/// A stored setting with an invalid value, from any author: the default applies instead.
package struct SettingFault: Equatable, Sendable {
  package let key: String
  /// The stored value; nil if it is not text.
  package let value: String?
  /// The effective value.
  package let holds: String
  /// The author, by the signature.
  package let by: PersonID
  package let version: Version
}

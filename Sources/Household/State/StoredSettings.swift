import HearthCRDT
import HearthSync

/// The household's settings as they are stored: texts by key.
package struct StoredSettings {
  let context: DayContext

  /// Returns the value of a setting; nil if unset.
  package func value(of key: String) throws -> String? {
    try HouseholdSettings.value(of: key, in: context.source)
  }

  /// Returns every setting that is set, in order of key.
  package func all() throws -> [(key: String, value: String)] {
    try HouseholdSettings.keys.compactMap { key in try value(of: key).map { (key, $0) } }
  }

  /// Sets a household setting, or clears it.
  ///
  /// - Throws: `badSetting`.
  package func set(
    _ key: String, _ value: String?, in builder: inout OperationBuilder
  ) throws {
    guard HouseholdSettings.keys.contains(key) else {
      throw HouseholdError(
        .badSetting,
        "there is no setting \(quoted(key)); there are "
          + HouseholdSettings.keys.joined(separator: ", "))
    }
    if let value, let advice = HouseholdSettings.advice(for: key, value: value) {
      throw HouseholdError(
        .badSetting, "\(key) cannot be \(quoted(value)); use \(advice)")
    }
    let record = HouseholdSettings.recordKey(of: key, in: context.source.zone)
    builder.append(record, .assign(SettingField.key, .text(key)))
    builder.append(record, .assign(SettingField.value, value.map(Value.text) ?? .null))
  }
}

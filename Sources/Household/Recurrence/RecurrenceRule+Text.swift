// The one stored form of a rule, the value of its register:
//
//   v1;mode=calendar;from=2027-01-31;freq=weekly;every=2;on=mo,th;wkst=mo;until=2027-06-30;at=08:00
//
// Fields come in this order. `on` is absent for daily and after-completion rules, `until` or
// `count` for endless ones, `at` when there are no times. `on` holds weekdays (`mo,th`), a day of
// the month (`31`), `last`, or ordinal weekdays (`2tu,-1mo`). Exactly one text stands for a rule:
// anything that would print differently is refused.

extension RecurrenceRule {
  /// The greatest length of the canonical text in bytes; the longest possible one has 405.
  package static let maximumTextBytes = 512

  /// The canonical text: equal rules, equal text.
  package var text: String {
    var fields = [
      "v1", "mode=\(mode.rawValue)", "from=\(anchor.iso)", "freq=\(frequency.rawValue)",
      "every=\(interval)",
    ]
    if let daysText { fields.append("on=\(daysText)") }
    fields.append("wkst=\(weekStart.code)")
    switch end {
    case .never: break
    case .until(let last): fields.append("until=\(last.iso)")
    case .count(let count): fields.append("count=\(count)")
    }
    if !times.isEmpty { fields.append("at=" + times.map(\.iso).joined(separator: ",")) }
    return fields.joined(separator: ";")
  }

  private var daysText: String? {
    switch days {
    case .any: nil
    case .weekdays(let set): set.days.map(\.code).joined(separator: ",")
    case .dayOfMonth(let day): String(day)
    case .lastDayOfMonth: "last"
    case .ordinalWeekdays(let list): list.map(\.code).joined(separator: ",")
    }
  }

  /// Parses the canonical text and nothing else.
  ///
  /// - Throws: `ruleVersion` for text of a newer version, `ruleText` for malformed or
  ///   non-canonical text, `ruleOutOfRange` and `ruleContradiction` as the initialiser does.
  package init(text: some StringProtocol) throws(HouseholdError) {
    let utf8 = text.utf8
    guard utf8.count <= RecurrenceRule.maximumTextBytes else {
      throw HouseholdError(
        .ruleText,
        "a rule text of \(utf8.count) bytes is too long; the limit is "
          + "\(RecurrenceRule.maximumTextBytes)")
    }
    var fields = RuleFields(Array(utf8))
    try fields.takeVersion()
    let mode: Mode = try fields.takeEnum("mode")
    let anchor = try CivilDate(iso: fields.take("from"))
    let frequency: Frequency = try fields.takeEnum("freq")
    let interval = try fields.number(fields.take("every"), "every")
    let days = try fields.takeIfPresent("on").map(fields.days)
    guard let weekStart = Weekday(code: try fields.take("wkst")) else {
      throw fields.malformed("wkst", "use mo, tu, we, th, fr, sa or su")
    }
    let end = try fields.takeEnd()
    let times = try fields.takeTimes()
    try fields.finish()
    try self.init(
      frequency, every: interval, on: days, from: anchor, mode: mode, end: end, at: times,
      weekStart: weekStart)
    guard self.text.utf8.elementsEqual(utf8) else {
      throw HouseholdError(
        .ruleText,
        "the rule text \(quoted(text, limit: 200)) is not in canonical form; write \(self.text)")
    }
  }
}

/// The fields of a rule text, consumed in their fixed order.
private struct RuleFields {
  private var rest: ArraySlice<ArraySlice<UInt8>>

  init(_ bytes: [UInt8]) {
    rest = bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
  }

  mutating func takeVersion() throws(HouseholdError) {
    guard let field = rest.popFirst(), field.first == UInt8(ascii: "v"),
      let version = ASCIIReader.number(field.dropFirst(), maximumDigits: 9)
    else {
      throw HouseholdError(.ruleText, "a rule text begins with its version; write v1;…")
    }
    guard version == 1 else {
      throw HouseholdError(
        .ruleVersion,
        "this rule was written in version \(version) of the format and this program knows "
          + "version 1; update the program")
    }
  }

  mutating func takeIfPresent(_ key: String) throws(HouseholdError) -> String? {
    guard let field = rest.first, field.starts(with: "\(key)=".utf8) else { return nil }
    rest.removeFirst()
    return String(decoding: field.dropFirst(key.utf8.count + 1), as: UTF8.self)
  }

  mutating func take(_ key: String) throws(HouseholdError) -> String {
    guard let value = try takeIfPresent(key) else {
      let found = rest.first.map { quoted(String(decoding: $0, as: UTF8.self)) } ?? "the end"
      throw HouseholdError(.ruleText, "a rule text needs \(key)=… where it has \(found)")
    }
    return value
  }

  mutating func takeEnum<Value: RawRepresentable<String> & CaseIterable>(
    _ key: String
  ) throws(HouseholdError) -> Value {
    let text = try take(key)
    guard let value = Value(rawValue: text) else {
      let choices = Value.allCases.map(\.rawValue).joined(separator: ", ")
      throw malformed(key, "\(quoted(text)) is none of \(choices)")
    }
    return value
  }

  mutating func takeEnd() throws(HouseholdError) -> RecurrenceRule.End {
    if let text = try takeIfPresent("until") { return .until(try CivilDate(iso: text)) }
    if let text = try takeIfPresent("count") { return .count(try number(text, "count")) }
    return .never
  }

  mutating func takeTimes() throws(HouseholdError) -> [CivilTime] {
    guard let text = try takeIfPresent("at") else { return [] }
    var times: [CivilTime] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      times.append(try CivilTime(iso: part))
    }
    return times
  }

  func finish() throws(HouseholdError) {
    guard let field = rest.first else { return }
    let shown = quoted(String(decoding: field, as: UTF8.self))
    throw HouseholdError(.ruleText, "a rule text cannot have \(shown) here; remove it")
  }

  func number(_ text: String, _ key: String) throws(HouseholdError) -> Int {
    guard let number = ASCIIReader.number(Array(text.utf8)[...], maximumDigits: 6) else {
      throw malformed(key, "\(quoted(text)) is not a plain number")
    }
    return number
  }

  func days(_ text: String) throws(HouseholdError) -> RecurrenceRule.Days {
    if text == "last" { return .lastDayOfMonth }
    if let day = ASCIIReader.number(Array(text.utf8)[...], maximumDigits: 2) {
      return .dayOfMonth(day)
    }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let weekdays = parts.compactMap { Weekday(code: $0) }
    if weekdays.count == parts.count { return .weekdays(WeekdaySet(weekdays)) }
    let ordinals = parts.compactMap { OrdinalWeekday(code: Array($0.utf8)[...]) }
    guard ordinals.count == parts.count else {
      throw malformed("on", "\(quoted(text)) is not like mo,th or 31 or last or 2tu,-1mo")
    }
    return .ordinalWeekdays(ordinals)
  }

  func malformed(_ key: String, _ why: String) -> HouseholdError {
    HouseholdError(.ruleText, "\(key) of a rule text is malformed: \(why)")
  }
}

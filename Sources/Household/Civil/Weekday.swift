/// A day of the week, numbered as in ISO 8601: Monday is 1, Sunday is 7.
package enum Weekday: Int, CaseIterable, Comparable, Sendable {
  case monday = 1
  case tuesday
  case wednesday
  case thursday
  case friday
  case saturday
  case sunday

  /// Two lower-case letters, as stored in rules: `mo`, `tu`, `we`, `th`, `fr`, `sa`, `su`.
  package var code: String {
    switch self {
    case .monday: "mo"
    case .tuesday: "tu"
    case .wednesday: "we"
    case .thursday: "th"
    case .friday: "fr"
    case .saturday: "sa"
    case .sunday: "su"
    }
  }

  package var name: String {
    switch self {
    case .monday: "Monday"
    case .tuesday: "Tuesday"
    case .wednesday: "Wednesday"
    case .thursday: "Thursday"
    case .friday: "Friday"
    case .saturday: "Saturday"
    case .sunday: "Sunday"
    }
  }

  /// The weekday with this two-letter code, lower case only, or nil.
  package init?(code: some StringProtocol) {
    guard let found = Weekday.allCases.first(where: { code == $0.code }) else { return nil }
    self = found
  }

  /// The number of days from `start` to `self` in a week that begins on `start`: 0...6.
  package func offset(from start: Weekday) -> Int { (rawValue - start.rawValue + 7) % 7 }

  package static func < (left: Weekday, right: Weekday) -> Bool { left.rawValue < right.rawValue }
}

/// A set of weekdays in one byte: bit 0 is Monday, bit 6 is Sunday.
package struct WeekdaySet: OptionSet, Hashable, Sendable {
  /// The bits; bit 7 is never set in a set made from weekdays.
  package let rawValue: UInt8

  /// Makes a set from its bits; bit 7 is dropped.
  package init(rawValue: UInt8) { self.rawValue = rawValue & 0x7f }

  package init(_ day: Weekday) { self.init(rawValue: 1 << UInt8(day.rawValue - 1)) }

  package init(_ days: some Sequence<Weekday>) {
    self.init(rawValue: days.reduce(0) { $0 | WeekdaySet($1).rawValue })
  }

  /// All seven days.
  package static let all = WeekdaySet(rawValue: 0x7f)

  package func contains(day: Weekday) -> Bool { contains(WeekdaySet(day)) }

  /// The days in order from Monday to Sunday.
  package var days: [Weekday] { Weekday.allCases.filter { contains(day: $0) } }
}

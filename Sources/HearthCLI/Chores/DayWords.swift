import Household

/// A day within a sentence.
enum DayWords {
  /// Its abbreviated weekday and its date.
  static func text(_ day: CivilDate) -> String { "\(day.weekday.name.prefix(3)) \(day.iso)" }
}

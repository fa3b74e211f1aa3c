import Foundation
import Household

/// A household's time zone at the edge, which converts between instants and civil dates.
struct HouseholdClock {
  private let calendar: Calendar

  /// Whether this machine knows a time zone; machines may differ.
  static func isKnown(_ name: String) -> Bool { TimeZone(identifier: name) != nil }

  /// The clock of a zone that somebody else may have set; UTC if this machine does not know it.
  init(knownOrUTC name: String) throws {
    try self.init(timeZone: HouseholdClock.isKnown(name) ? name : "UTC")
  }

  init(timeZone name: String) throws {
    guard HouseholdClock.isKnown(name), let zone = TimeZone(identifier: name) else {
      throw CommandFailure(
        .usage, "time zone \(name) is not known on this machine",
        hint: "names look like Europe/Berlin")
    }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    self.calendar = calendar
  }

  /// Returns the civil date and minute of an instant.
  func civil(milliseconds: UInt64) throws -> (date: CivilDate, time: CivilTime) {
    let instant = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: instant)
    return (
      try CivilDate(year: parts.year ?? 1970, month: parts.month ?? 1, day: parts.day ?? 1),
      try CivilTime(hour: parts.hour ?? 0, minute: parts.minute ?? 0)
    )
  }
}

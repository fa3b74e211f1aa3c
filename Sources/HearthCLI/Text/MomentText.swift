import Foundation
import Household

/// Instants as displayed.
struct MomentText {
  let clock: HouseholdClock

  /// The date and minute.
  func text(_ milliseconds: UInt64) -> String {
    guard let civil = try? clock.civil(milliseconds: milliseconds) else { return "an unknown time" }
    return "\(civil.date.iso) \(civil.time.iso)"
  }

  /// The same for programs: ISO 8601 in UTC.
  static func iso(_ milliseconds: UInt64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
  }
}

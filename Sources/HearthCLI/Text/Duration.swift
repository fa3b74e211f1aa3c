/// Time spans that people type.
enum Duration {
  static let maximumDays = 365

  /// Returns the milliseconds of a text such as 30m, 12h or 7d.
  static func milliseconds(_ text: String) throws -> UInt64 {
    let units: [Character: UInt64] = ["m": 60_000, "h": 3_600_000, "d": 86_400_000]
    guard let last = text.last, let unit = units[last], let number = UInt64(text.dropLast()),
      number > 0, number <= UInt64(maximumDays) * 86_400_000 / unit
    else {
      throw CommandFailure(
        .usage, "\(text) is not a time span up to \(maximumDays) days", hint: "write 12h or 7d"
      )
    }
    return number * unit
  }
}

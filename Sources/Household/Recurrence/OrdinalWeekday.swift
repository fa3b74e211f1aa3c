/// The n-th given weekday of a month, counted from its beginning or from its end.
///
/// `2tu` is the second Tuesday, `-1mo` the last Monday. A month without a fifth Monday has no day
/// for `5mo`.
package struct OrdinalWeekday: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The number of the weekday in its month, 1 to 5 from the beginning, -5 to -1 from the end.
  package let ordinal: Int
  package let weekday: Weekday

  /// Makes an ordinal weekday.
  ///
  /// - Throws: `ruleOutOfRange` unless the ordinal is 1...5 or -5 ... -1.
  package init(_ ordinal: Int, _ weekday: Weekday) throws(HouseholdError) {
    guard (1...5).contains(ordinal) || (-5 ... -1).contains(ordinal) else {
      throw HouseholdError(
        .ruleOutOfRange,
        "there is no weekday number \(ordinal) in a month; use 1 to 5, or -1 (last) to -5")
    }
    self.ordinal = ordinal
    self.weekday = weekday
  }

  /// Parses the stored form, for example `2tu` or `-1mo`; nil for anything else.
  init?(code: ArraySlice<UInt8>) {
    let negative = code.first == UInt8(ascii: "-")
    let body = negative ? code.dropFirst() : code
    guard body.count == 3, let count = ASCIIReader.number(body.prefix(1), maximumDigits: 1),
      let weekday = Weekday(code: String(decoding: body.dropFirst(), as: UTF8.self)),
      let made = try? OrdinalWeekday(negative ? -count : count, weekday)
    else { return nil }
    self = made
  }

  /// The stored form, for example `2tu` or `-1mo`.
  package var code: String { "\(ordinal)\(weekday.code)" }
  package var description: String { code }

  /// Canonical order: counted from the beginning first, then by number, then by weekday.
  package static func < (left: OrdinalWeekday, right: OrdinalWeekday) -> Bool {
    (left.rank, left.weekday) < (right.rank, right.weekday)
  }

  private var rank: Int { ordinal > 0 ? ordinal : 100 + ordinal }

  /// The day of the month it names, or nil when the month has none.
  func day(firstWeekday: Weekday, length: Int) -> Int? {
    if ordinal > 0 {
      let day = 1 + weekday.offset(from: firstWeekday) + 7 * (ordinal - 1)
      return day <= length ? day : nil
    }
    let lastOffset = (firstWeekday.rawValue - 1 + length - 1) % 7 + 1
    let back = (lastOffset - weekday.rawValue + 7) % 7 + 7 * (-ordinal - 1)
    return length - back >= 1 ? length - back : nil
  }
}

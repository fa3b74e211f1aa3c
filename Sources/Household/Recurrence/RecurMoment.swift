/// A DATE or DATE-TIME value of RFC 5545 3.3.4 and 3.3.5.
struct RecurMoment {
  let date: CivilDate
  let time: CivilTime?
  let isUTC: Bool
  let hasSeconds: Bool

  init(_ text: String, _ property: String) throws(HouseholdError) {
    var reader = ASCIIReader(Array(text.utf8)[...])
    let malformed = HouseholdError(
      .calendarText,
      "\(property) \(quoted(text)) is not a date; write 20270131 or 20270131T080000")
    guard let year = reader.digits(4), let month = reader.digits(2), let day = reader.digits(2)
    else { throw malformed }
    date = try CivilDate(year: year, month: month, day: day)
    guard !reader.isAtEnd else {
      time = nil
      isUTC = false
      hasSeconds = false
      return
    }
    guard reader.take(UInt8(ascii: "T")), let hour = reader.digits(2),
      let minute = reader.digits(2), let second = reader.digits(2), second <= 60
    else { throw malformed }
    time = try CivilTime(hour: hour, minute: minute)
    hasSeconds = second != 0
    isUTC = reader.take(UInt8(ascii: "Z"))
    guard reader.isAtEnd else { throw malformed }
  }
}

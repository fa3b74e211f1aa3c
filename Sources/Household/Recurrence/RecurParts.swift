/// The parts of a RECUR value, consumed one by one; a part that remains is unsupported.
struct RecurParts {
  private var entries: [(name: String, value: String)] = []

  init(_ text: String) throws(HouseholdError) {
    for part in text.split(separator: ";", omittingEmptySubsequences: false) {
      guard let equals = part.firstIndex(of: "=") else {
        throw HouseholdError(.calendarText, "\(quoted(part)) in a rule has no =; write NAME=value")
      }
      let name = part[..<equals].uppercased()
      guard !entries.contains(where: { $0.name == name }) else {
        throw HouseholdError(.calendarText, "\(quoted(name)) occurs twice in a rule")
      }
      entries.append((name, part[part.index(after: equals)...].uppercased()))
    }
  }

  mutating func take(_ name: String) -> String? {
    guard let index = entries.firstIndex(where: { $0.name == name }) else { return nil }
    return entries.remove(at: index).value
  }

  mutating func takeFrequency() throws(HouseholdError) -> RecurrenceRule.Frequency {
    guard let text = take("FREQ") else {
      throw HouseholdError(.calendarText, "a rule needs FREQ=DAILY, WEEKLY, MONTHLY or YEARLY")
    }
    if let frequency = RecurrenceRule.Frequency(rawValue: text.lowercased()) { return frequency }
    let known = ["SECONDLY", "MINUTELY", "HOURLY"].contains(text)
    throw HouseholdError(
      known ? .calendarUnsupported : .calendarText,
      "FREQ=\(quoted(text)) is not supported; use DAILY, WEEKLY, MONTHLY or YEARLY")
  }

  mutating func takeNumber(
    _ name: String, _ range: ClosedRange<Int>
  ) throws(HouseholdError) -> Int? {
    guard let text = take(name) else { return nil }
    var reader = ASCIIReader(Array(text.utf8)[...])
    guard (1...9).contains(text.utf8.count), let number = reader.digits(text.utf8.count) else {
      throw HouseholdError(.calendarText, "\(name)=\(quoted(text)) is not a number")
    }
    guard range.contains(number) else {
      throw HouseholdError(
        .calendarUnsupported,
        "\(name)=\(number) is not supported; use \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Consumes a list of numbers, possibly negative, at most 62 of them.
  mutating func takeList(_ name: String) throws(HouseholdError) -> [Int]? {
    guard let text = take(name) else { return nil }
    var numbers: [Int] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let negative = part.hasPrefix("-")
      let body = Array((negative || part.hasPrefix("+") ? part.dropFirst() : part).utf8)
      var reader = ASCIIReader(body[...])
      guard (1...3).contains(body.count), let number = reader.digits(body.count),
        number != 0, numbers.count < 62
      else {
        throw HouseholdError(.calendarText, "\(name)=\(quoted(text)) is not a list of numbers")
      }
      numbers.append(negative ? -number : number)
    }
    return numbers.sorted()
  }

  /// Consumes BYDAY: weekdays with or without a number.
  mutating func takeDays() throws(HouseholdError) -> [(ordinal: Int?, weekday: Weekday)]? {
    guard let text = take("BYDAY") else { return nil }
    var days: [(ordinal: Int?, weekday: Weekday)] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let number = part.dropLast(2)
      let plain = number.hasPrefix("+") ? number.dropFirst() : number
      guard let weekday = Weekday(code: part.suffix(2).lowercased()),
        number.isEmpty || Int(plain).map({ $0 != 0 && abs($0) <= 53 }) == true,
        days.count < 70
      else {
        throw HouseholdError(
          .calendarText, "BYDAY=\(quoted(text)) is not a list of weekdays like MO,2TU,-1SU")
      }
      days.append((Int(plain), weekday))
    }
    return days
  }

  mutating func takeEnd(
    times: [CivilTime], local: ((CivilDateTime) -> CivilDateTime)?
  ) throws(HouseholdError) -> RecurrenceRule.End {
    let count = try takeNumber("COUNT", RecurrenceRule.counts)
    guard let text = take("UNTIL") else { return count.map { .count($0) } ?? .never }
    guard count == nil else {
      throw HouseholdError(.calendarText, "a rule cannot have both UNTIL and COUNT; drop one")
    }
    let moment = try RecurMoment(text, "UNTIL")
    guard var time = moment.time, let first = times.first else { return .until(moment.date) }
    var date = moment.date
    if moment.isUTC {
      guard let local else {
        throw HouseholdError(
          .calendarUnsupported,
          "UNTIL is in UTC and the time zone is not known here; write it as a date")
      }
      let converted = local(CivilDateTime(date, time))
      date = converted.date
      time = converted.time
    }
    // An end before the first time of its day excludes that day.
    return .until(time < first ? date.adding(days: -1) ?? date : date)
  }

  func finish() throws(HouseholdError) {
    guard let left = entries.first else { return }
    throw HouseholdError(
      .calendarUnsupported,
      "\(quoted("\(left.name)=\(left.value)")) is not supported in this kind of rule")
  }
}

/// A local time of day in whole minutes, 00:00...23:59, without date or zone.
package struct CivilTime: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Midnight at the beginning of a day.
  package static let midnight = CivilTime(unchecked: 0)
  /// The minutes of a day on the wall clock.
  package static let minutesPerDay = 1440

  /// Minutes since 00:00, 0...1439; the canonical integer form, used for storage.
  package let minuteOfDay: Int16

  init(unchecked minute: Int) { minuteOfDay = Int16(minute) }

  /// Makes a time from its stored minute of the day.
  ///
  /// - Throws: `civilOutOfRange` outside 0...1439.
  package init(minuteOfDay: Int) throws(HouseholdError) {
    guard (0..<CivilTime.minutesPerDay).contains(minuteOfDay) else {
      throw HouseholdError(
        .civilOutOfRange, "minute \(minuteOfDay) is not in a day; use 0 to 1439")
    }
    self.minuteOfDay = Int16(minuteOfDay)
  }

  /// Makes a time from hour and minute.
  ///
  /// - Throws: `civilOutOfRange` outside 00:00...23:59.
  package init(hour: Int, minute: Int) throws(HouseholdError) {
    guard (0...23).contains(hour), (0...59).contains(minute) else {
      throw HouseholdError(
        .civilOutOfRange, "there is no time \(hour):\(minute); use 00:00 to 23:59")
    }
    minuteOfDay = Int16(hour * 60 + minute)
  }

  /// Parses `HH:MM` strictly.
  ///
  /// - Throws: `civilText` for another form, `civilOutOfRange` for a time that does not exist.
  package init(iso text: some StringProtocol) throws(HouseholdError) {
    var reader = ASCIIReader(Array(text.utf8.prefix(6))[...])
    guard let hour = reader.digits(2), reader.take(UInt8(ascii: ":")),
      let minute = reader.digits(2), reader.isAtEnd
    else {
      throw HouseholdError(
        .civilText, "\(quoted(text)) is not a time; write hour:minute, for example 07:30")
    }
    try self.init(hour: hour, minute: minute)
  }

  /// The hour, 0...23.
  package var hour: Int { Int(minuteOfDay) / 60 }
  /// The minute of the hour, 0...59.
  package var minute: Int { Int(minuteOfDay) % 60 }
  /// `HH:MM`: the canonical text form.
  package var iso: String { "\(zeroPadded(hour, 2)):\(zeroPadded(minute, 2))" }
  package var description: String { iso }

  package static func < (left: CivilTime, right: CivilTime) -> Bool {
    left.minuteOfDay < right.minuteOfDay
  }
}

/// A civil date with a local time, still without zone.
package struct CivilDateTime: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let date: CivilDate
  package let time: CivilTime

  /// Makes a pair.
  package init(_ date: CivilDate, _ time: CivilTime) {
    self.date = date
    self.time = time
  }

  /// `YYYY-MM-DDTHH:MM`.
  package var description: String { "\(date.iso)T\(time.iso)" }

  /// Chronological order within one zone without clock changes.
  package static func < (left: CivilDateTime, right: CivilDateTime) -> Bool {
    (left.date, left.time) < (right.date, right.time)
  }
}

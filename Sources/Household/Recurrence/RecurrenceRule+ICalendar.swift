// Export to and import from RFC 5545. What maps to what:
//
//   weekdays               BYDAY=MO,TH with WKST
//   day of the month 1-28  BYMONTHDAY=15
//   day of the month 29-31 BYMONTHDAY=28,29,30,31;BYSETPOS=-1 (RFC 5545 skips months that are too
//                          short; this picks the last of the days that exist, so it clamps)
//   last day               BYMONTHDAY=-1
//   ordinal weekdays       BYDAY=2TU,-1MO
//   yearly                 the same with BYMONTH
//   until                  UNTIL, in the value type of DTSTART, in UTC when DTSTART has a zone
//   several times a day    DTSTART has the first; all of them in X-HEARTH-TIMES
//   after completion       no RRULE but X-HEARTH-AFTER-COMPLETION with the same grammar: another
//                          program must not take it for a fixed sequence

/// A time zone's name and its conversion from wall clock to UTC, as calendar text needs them.
///
/// The pure rules know no zones; the edge of the program supplies this conversion.
package struct ICalendarZone {
  /// The name for `TZID`, for example `Europe/Berlin`.
  package let identifier: String
  /// Converts local date and time to UTC.
  package let utc: (CivilDateTime) -> CivilDateTime

  package init(identifier: String, utc: @escaping (CivilDateTime) -> CivilDateTime) {
    self.identifier = identifier
    self.utc = utc
  }
}

extension RecurrenceRule {
  /// The property that lists several times a day.
  package static let timesProperty = "X-HEARTH-TIMES"
  /// The property that contains a rule that counts from completion.
  package static let afterCompletionProperty = "X-HEARTH-AFTER-COMPLETION"

  /// The rule as unfolded content lines: DTSTART, RRULE and the properties named above.
  ///
  /// DTSTART is the rule's first date, as RFC 5545 requires. It is a plain date when the rule has
  /// no times, else a local time, with `TZID` when a zone is given.
  ///
  /// - Throws: `calendarUnsupported` when the zone's name cannot stand in a parameter.
  package func iCalendarLines(zone: ICalendarZone? = nil) throws(HouseholdError) -> [String] {
    let first = dates(from: anchor, through: .last, limit: 1).first ?? anchor
    var lines: [String] = []
    if let time = times.first {
      var parameter = ""
      if let zone {
        guard !zone.identifier.isEmpty, zone.identifier.utf8.allSatisfy(isZoneNameByte) else {
          throw HouseholdError(
            .calendarUnsupported,
            "\(quoted(zone.identifier)) is not a time zone name; use one like Europe/Berlin")
        }
        parameter = ";TZID=\(zone.identifier)"
      }
      lines.append("DTSTART\(parameter):\(basic(CivilDateTime(first, time)))")
    } else {
      lines.append("DTSTART;VALUE=DATE:\(basic(first))")
    }
    let property = mode == .calendar ? "RRULE" : RecurrenceRule.afterCompletionProperty
    lines.append("\(property):\(recurText(zone: zone))")
    if times.count > 1 {
      let list = times.map { basic($0) }.joined(separator: ",")
      lines.append("\(RecurrenceRule.timesProperty):\(list)")
    }
    return lines
  }

  /// The RECUR value: `FREQ=…` and so on.
  private func recurText(zone: ICalendarZone?) -> String {
    var parts = ["FREQ=\(frequency.rawValue.uppercased())"]
    switch end {
    case .never: break
    case .count(let count): parts.append("COUNT=\(count)")
    case .until(let last): parts.append("UNTIL=\(untilText(last, zone: zone))")
    }
    parts.append("INTERVAL=\(interval)")
    if frequency == .yearly, mode == .calendar { parts.append("BYMONTH=\(anchor.month)") }
    switch days {
    case .any: break
    case .weekdays(let set):
      parts.append("BYDAY=" + set.days.map { $0.code.uppercased() }.joined(separator: ","))
    case .lastDayOfMonth: parts.append("BYMONTHDAY=-1")
    case .ordinalWeekdays(let list):
      parts.append("BYDAY=" + list.map { $0.code.uppercased() }.joined(separator: ","))
    case .dayOfMonth(let day):
      if day <= shortestMonth {
        parts.append("BYMONTHDAY=\(day)")
      } else {
        let list = (28...day).map(String.init).joined(separator: ",")
        parts.append("BYMONTHDAY=\(list);BYSETPOS=-1")
      }
    }
    parts.append("WKST=\(weekStart.code.uppercased())")
    return parts.joined(separator: ";")
  }

  /// The length of the shortest month the rule can fall in.
  private var shortestMonth: Int {
    frequency == .yearly && anchor.month != 2 ? anchor.yearMonth.length : 28
  }

  private func untilText(_ last: CivilDate, zone: ICalendarZone?) -> String {
    guard !times.isEmpty else { return basic(last) }
    let endOfDay = CivilDateTime(last, CivilTime(unchecked: CivilTime.minutesPerDay - 1))
    guard let zone else { return basic(endOfDay) }
    return basic(zone.utc(endOfDay)) + "Z"
  }
}

private func isZoneNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "_"),
    UInt8(ascii: "-"), UInt8(ascii: "+"):
    true
  default: false
  }
}

private func basic(_ date: CivilDate) -> String { date.iso.filter { $0 != "-" } }
private func basic(_ time: CivilTime) -> String { time.iso.filter { $0 != ":" } + "00" }
private func basic(_ moment: CivilDateTime) -> String {
  basic(moment.date) + "T" + basic(moment.time)
}

import Foundation
import Household

/// The instant at which something due on a civil date at a local time is due in a zone.
///
/// RFC 5545 3.3.5: a local time that a clock change leaves out is read with the offset before the
/// change (02:30 becomes 03:30 where the clock jumps from 02:00 to 03:00; a skipped day becomes
/// the next day); of a local time that occurs twice the first is meant. Nothing due is ever lost
/// to a clock change. Assumes at most one change of offset within a day on either side.
func dueInstant(_ date: CivilDate, _ time: CivilTime, _ zone: TimeZone) -> Date {
  let wall = Double(date.dayNumber) * 86_400 + Double(time.minuteOfDay) * 60
  let before = zone.secondsFromGMT(for: Date(timeIntervalSince1970: wall - 86_400))
  let after = zone.secondsFromGMT(for: Date(timeIntervalSince1970: wall + 86_400))
  // Before first: in a repeated hour it gives the earlier of the two instants.
  for offset in [before, after] {
    let instant = Date(timeIntervalSince1970: wall - Double(offset))
    if zone.secondsFromGMT(for: instant) == offset { return instant }
  }
  return Date(timeIntervalSince1970: wall - Double(before))
}

/// The wall clock of a zone at an instant; seconds are dropped.
func wallClock(_ instant: Date, _ zone: TimeZone) throws -> CivilDateTime {
  let seconds =
    Int(instant.timeIntervalSince1970.rounded(.down)) + zone.secondsFromGMT(for: instant)
  let dayNumber = Int((Double(seconds) / 86_400).rounded(.down))
  return CivilDateTime(
    try CivilDate(dayNumber: dayNumber),
    try CivilTime(minuteOfDay: (seconds - dayNumber * 86_400) / 60))
}

/// A conversion of wall clock times from one zone to another; outside the calendar it does nothing.
func conversion(from: TimeZone, to: TimeZone) -> (CivilDateTime) -> CivilDateTime {
  { moment in
    (try? wallClock(dueInstant(moment.date, moment.time, from), to)) ?? moment
  }
}

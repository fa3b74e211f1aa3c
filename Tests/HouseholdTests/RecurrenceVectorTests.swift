import Foundation
import Household
import Testing

@Suite("Recurrence vectors")
struct RecurrenceVectorTests {
  private func rule(_ rrule: String, _ start: String, zone: String? = nil) throws -> RecurrenceRule
  {
    guard let zone else {
      let compact = start.filter { $0 != "-" }
      return try RecurrenceRule.imported(
        iCalendar: ["DTSTART;VALUE=DATE:\(compact)", "RRULE:\(rrule)"]
      ).rule
    }
    let found = try #require(TimeZone(identifier: zone))
    let compact = start.filter { $0 != "-" }
    return try RecurrenceRule.imported(
      iCalendar: ["DTSTART;TZID=\(zone):\(compact)T090000", "RRULE:\(rrule)"],
      local: conversion(from: .gmt, to: found)
    ).rule
  }

  @Test("Short months are clamped and never drift")
  func clamp() throws {
    let monthly = try RecurrenceRule(.monthly, from: day("2027-01-31"))
    #expect(
      monthly.firstDates(5) == [
        "2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31",
      ])
    let quarterly = try RecurrenceRule(.monthly, every: 3, from: day("2025-11-29"))
    #expect(quarterly.firstDates(3) == ["2025-11-29", "2026-02-28", "2026-05-29"])
    let yearly = try RecurrenceRule(.yearly, from: day("2024-02-29"))
    #expect(
      yearly.firstDates(5) == [
        "2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29",
      ])
  }

  @Test("The week start decides which weeks a two-week rule skips")
  func weekStart() throws {
    let days = RecurrenceRule.Days.weekdays([WeekdaySet(.tuesday), WeekdaySet(.sunday)])
    func dates(_ start: Weekday, _ anchor: String = "1997-08-05") throws -> [String] {
      try RecurrenceRule(
        .weekly, every: 2, on: days, from: day(anchor), end: .count(4), weekStart: start
      ).firstDates(9)
    }
    #expect(try dates(.monday) == ["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"])
    #expect(try dates(.sunday) == ["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"])
    #expect(
      try dates(.monday, "1997-08-12")
        == ["1997-08-12", "1997-08-17", "1997-08-26", "1997-08-31"])
  }

  @Test("Local times that a clock change leaves out or repeats keep their chore")
  func clockChanges() throws {
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    func utc(_ date: String, _ time: String, _ zone: TimeZone) throws -> String {
      let instant = dueInstant(try day(date), try clock(time), zone)
      return try wallClock(instant, .gmt).description
    }
    #expect(try utc("2027-03-28", "02:30", berlin) == "2027-03-28T01:30")
    #expect(
      try wallClock(dueInstant(day("2027-03-28"), clock("02:30"), berlin), berlin).time.iso
        == "03:30")
    #expect(try utc("2027-03-29", "02:30", berlin) == "2027-03-29T00:30")
    #expect(try utc("2026-10-24", "06:45", berlin) == "2026-10-24T04:45")
    #expect(try utc("2026-10-25", "06:45", berlin) == "2026-10-25T05:45")
    #expect(try utc("2026-10-25", "02:30", berlin) == "2026-10-25T00:30")
    let lordHowe = try #require(TimeZone(identifier: "Australia/Lord_Howe"))
    #expect(
      try wallClock(dueInstant(day("2026-10-04"), clock("02:15"), lordHowe), lordHowe).description
        == "2026-10-04T02:45")
    let apia = try #require(TimeZone(identifier: "Pacific/Apia"))
    #expect(
      try wallClock(dueInstant(day("2011-12-30"), clock("12:00"), apia), apia).description
        == "2011-12-31T12:00")
  }

  @Test("The end date is included, also when the start has a zone")
  func untilDate() throws {
    let zoned = try rule("FREQ=DAILY;UNTIL=19970904", "1997-09-02", zone: "America/New_York")
    #expect(zoned.firstDates(9) == ["1997-09-02", "1997-09-03", "1997-09-04"])
    let plain = try RecurrenceRule(.daily, from: day("2027-01-30"), end: .until(day("2027-01-31")))
    #expect(plain.firstDates(9) == ["2027-01-30", "2027-01-31"])
    #expect(try plain.lastDate == day("2027-01-31"))
  }

  /// RRULE, start, and the dates as RFC 5545 3.8.5.3 lists them (month-day, year where it turns).
  static let rfc: [(String, String, [String])] = [
    (
      "FREQ=DAILY;COUNT=10", "1997-09-02",
      (2...11).map { "1997-09-" + ($0 < 10 ? "0" : "") + "\($0)" }
    ),
    (
      "FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-09-02",
      ["1997-09-02", "1997-09-12", "1997-09-22", "1997-10-02", "1997-10-12"]
    ),
    (
      "FREQ=WEEKLY;COUNT=10", "1997-09-02",
      [
        "1997-09-02", "1997-09-09", "1997-09-16", "1997-09-23", "1997-09-30", "1997-10-07",
        "1997-10-14", "1997-10-21", "1997-10-28", "1997-11-04",
      ]
    ),
    (
      "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", "1997-09-02",
      [
        "1997-09-02", "1997-09-04", "1997-09-09", "1997-09-11", "1997-09-16", "1997-09-18",
        "1997-09-23", "1997-09-25", "1997-09-30", "1997-10-02",
      ]
    ),
    (
      "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR", "1997-09-01",
      [
        "1997-09-01", "1997-09-03", "1997-09-05", "1997-09-15", "1997-09-17", "1997-09-19",
        "1997-09-29", "1997-10-01", "1997-10-03", "1997-10-13", "1997-10-15", "1997-10-17",
        "1997-10-27", "1997-10-29", "1997-10-31", "1997-11-10", "1997-11-12", "1997-11-14",
        "1997-11-24", "1997-11-26", "1997-11-28", "1997-12-08", "1997-12-10", "1997-12-12",
        "1997-12-22",
      ]
    ),
    (
      "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "1997-09-02",
      [
        "1997-09-02", "1997-09-04", "1997-09-16", "1997-09-18", "1997-09-30", "1997-10-02",
        "1997-10-14", "1997-10-16",
      ]
    ),
    (
      "FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "1997-09-05",
      [
        "1997-09-05", "1997-10-03", "1997-11-07", "1997-12-05", "1998-01-02", "1998-02-06",
        "1998-03-06", "1998-04-03", "1998-05-01", "1998-06-05",
      ]
    ),
    (
      "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "1997-09-05",
      ["1997-09-05", "1997-10-03", "1997-11-07", "1997-12-05"]
    ),
    (
      "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "1997-09-07",
      [
        "1997-09-07", "1997-09-28", "1997-11-02", "1997-11-30", "1998-01-04", "1998-01-25",
        "1998-03-01", "1998-03-29", "1998-05-03", "1998-05-31",
      ]
    ),
    (
      "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "1997-09-22",
      ["1997-09-22", "1997-10-20", "1997-11-17", "1997-12-22", "1998-01-19", "1998-02-16"]
    ),
    (
      "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU;UNTIL=19980401", "1997-09-02",
      [
        "1997-09-02", "1997-09-09", "1997-09-16", "1997-09-23", "1997-09-30", "1997-11-04",
        "1997-11-11", "1997-11-18", "1997-11-25", "1998-01-06", "1998-01-13", "1998-01-20",
        "1998-01-27", "1998-03-03", "1998-03-10", "1998-03-17", "1998-03-24", "1998-03-31",
      ]
    ),
    (
      "FREQ=YEARLY;BYMONTH=3;BYDAY=TH;UNTIL=19991231", "1997-03-13",
      [
        "1997-03-13", "1997-03-20", "1997-03-27", "1998-03-05", "1998-03-12", "1998-03-19",
        "1998-03-26", "1999-03-04", "1999-03-11", "1999-03-18", "1999-03-25",
      ]
    ),
    (
      "FREQ=MONTHLY;BYDAY=TU;BYSETPOS=2;COUNT=3", "1997-09-01",
      ["1997-09-09", "1997-10-14", "1997-11-11"]
    ),
  ]

  @Test("The examples of RFC 5545 inside the subset", arguments: rfc)
  func rfcExamples(rrule: String, start: String, expected: [String]) throws {
    let found = try rule(rrule, start, zone: "America/New_York")
    #expect(found.firstDates(expected.count + 3) == expected)
    #expect(found.lastDate?.iso == expected.last)
  }

  @Test("Long examples of RFC 5545 by their number and ends")
  func rfcLong() throws {
    let daily = try rule(
      "FREQ=DAILY;UNTIL=19971224T000000Z", "1997-09-02", zone: "America/New_York")
    let dates = daily.firstDates(1000)
    #expect(dates.count == 113 && dates.last == "1997-12-23")
    let january = try rule(
      "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA", "1998-01-01",
      zone: "America/New_York")
    #expect(january.firstDates(1000).count == 93)
    #expect(january.lastDate?.iso == "2000-01-31")
    let alternate = try rule("FREQ=DAILY;INTERVAL=2", "1997-09-02")
    #expect(alternate.firstDates(3) == ["1997-09-02", "1997-09-04", "1997-09-06"])
    let fortnight = try rule("FREQ=WEEKLY;INTERVAL=2;WKST=SU", "1997-09-02")
    #expect(fortnight.firstDates(3) == ["1997-09-02", "1997-09-16", "1997-09-30"])
  }

  static let refused: [String] = [
    "FREQ=MONTHLY;BYMONTHDAY=-3", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
    "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
    "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "FREQ=YEARLY;BYDAY=20MO",
    "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
    "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "FREQ=HOURLY;INTERVAL=3",
    "FREQ=DAILY;BYHOUR=9,10", "FREQ=DAILY;INTERVAL=2;BYDAY=MO", "FREQ=MONTHLY;BYMONTH=1",
    "FREQ=DAILY;INTERVAL=367", "FREQ=DAILY;COUNT=10001", "FREQ=DAILY;BYSETPOS=1",
  ]

  @Test("Valid rules outside the subset are refused, not misread", arguments: refused)
  func outside(rrule: String) {
    #expect(throws: HouseholdError(.calendarUnsupported, "")) { try rule(rrule, "1997-09-02") }
  }

  static let malformed: [String] = [
    "", "FREQ", "FREQ=", "INTERVAL=2", "FREQ=DAILY;COUNT=2;UNTIL=19980101", "FREQ=FORTNIGHTLY",
    "FREQ=DAILY;FREQ=DAILY", "FREQ=DAILY;INTERVAL=x", "FREQ=WEEKLY;BYDAY=XX", "FREQ=DAILY;WKST=1",
    "FREQ=WEEKLY;BYDAY=2MO", "FREQ=MONTHLY;BYMONTHDAY=0", "FREQ=DAILY;UNTIL=1998", "FREQ=DAILY;",
    "FREQ=MONTHLY;BYDAY=0MO", "FREQ=WEEKLY;BYDAY=", "FREQ=DAILY;UNTIL=19980101T000000X",
  ]

  @Test("Malformed calendar rules are refused", arguments: malformed)
  func broken(rrule: String) {
    #expect(throws: HouseholdError(.calendarText, "")) { try rule(rrule, "1997-09-02") }
  }

  @Test("An after-completion rule counts from the day it was done")
  func afterCompletion() throws {
    func next(_ frequency: RecurrenceRule.Frequency, _ every: Int, _ done: String) throws -> String?
    {
      try RecurrenceRule(
        frequency, every: every, from: day("2027-01-01"), mode: .afterCompletion,
        end: .until(day("2029-01-01"))
      ).nextDue(afterCompletionDay: day(done))?.iso
    }
    #expect(try next(.daily, 3, "2027-02-27") == "2027-03-02")
    #expect(try next(.weekly, 2, "2027-02-27") == "2027-03-13")
    #expect(try next(.monthly, 1, "2027-01-31") == "2027-02-28")
    #expect(try next(.monthly, 1, "2027-02-28") == "2027-03-28")
    #expect(try next(.yearly, 1, "2028-02-29") == nil)
    #expect(try next(.yearly, 1, "2027-02-28") == "2028-02-28")
    #expect(try next(.daily, 1, "2028-12-31") == "2029-01-01")
    let calendar = try RecurrenceRule(.weekly, from: day("2027-01-04"))
    #expect(try calendar.nextDue(afterCompletionDay: day("2027-01-07")) == day("2027-01-11"))
  }
}

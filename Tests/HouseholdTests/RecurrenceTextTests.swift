import Foundation
import Household
import Testing

@Suite("Recurrence texts")
struct RecurrenceTextTests {
  @Test("The stored form is stable")
  func stable() throws {
    let weekly = try RecurrenceRule(
      .weekly, every: 2, on: .weekdays([WeekdaySet(.thursday), WeekdaySet(.monday)]),
      from: day("2027-01-31"), end: .until(day("2027-06-30")), at: [clock("08:00")])
    #expect(
      weekly.text == "v1;mode=calendar;from=2027-01-31;freq=weekly;every=2;on=mo,th;wkst=mo;"
        + "until=2027-06-30;at=08:00")
    let ordinals = try RecurrenceRule(
      .monthly,
      on: .ordinalWeekdays([
        OrdinalWeekday(-1, .monday), OrdinalWeekday(2, .tuesday), OrdinalWeekday(-1, .monday),
      ]), from: day("2027-01-31"), end: .count(12), weekStart: .sunday)
    #expect(
      ordinals.text == "v1;mode=calendar;from=2027-01-31;freq=monthly;every=1;on=2tu,-1mo;"
        + "wkst=su;count=12")
    let watering = try RecurrenceRule(
      .daily, every: 3, from: day("2027-01-31"), mode: .afterCompletion)
    #expect(
      watering.text == "v1;mode=completion;from=2027-01-31;freq=daily;every=3;wkst=mo")
    #expect(
      try RecurrenceRule(.yearly, from: day("2024-02-29")).text
        == "v1;mode=calendar;from=2024-02-29;freq=yearly;every=1;on=29;wkst=mo")
  }

  @Test("Every rule comes back from its text, and equal rules have equal texts")
  func roundTrip() throws {
    var random = SplitMix64(seed: seed + 20)
    var longest = 0
    for _ in 0..<5000 {
      let rule = try random.anyRule()
      let text = rule.text
      let parsed = try RecurrenceRule(text: text)
      try #require(parsed == rule && parsed.text == text, "seed \(seed): \(text)")
      longest = max(longest, text.utf8.count)
    }
    let ordinals = try Weekday.allCases.flatMap { weekday in
      try [-1, -2, -3, -4, -5].map { try OrdinalWeekday($0, weekday) }
    }
    let greatest = try RecurrenceRule(
      .monthly, every: 366, on: .ordinalWeekdays(ordinals), from: day("2027-01-31"),
      end: .until(day("2028-01-31")), at: (0..<24).map { try CivilTime(minuteOfDay: $0) })
    #expect(greatest.text.utf8.count == 405)
    #expect(try RecurrenceRule(text: greatest.text) == greatest)
    #expect(longest <= 405)
  }

  @Test("A damaged text is refused or is itself canonical, and never traps")
  func mutations() throws {
    var random = SplitMix64(seed: seed + 21)
    let alphabet = Array("v123450=;,:-abcdefghilmnoprstuwyz \u{0}é9".utf8)
    var accepted = 0
    for _ in 0..<20_000 {
      var bytes = Array(try random.anyRule().text.utf8)
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = alphabet.randomElement(using: &random)!
        case 1: bytes.insert(alphabet.randomElement(using: &random)!, at: place)
        case 2: bytes.remove(at: place)
        default: bytes.removeLast(place / 4)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let rule = try? RecurrenceRule(text: text) else { continue }
      accepted += 1
      try #require(rule.text == text, "seed \(seed): \(text)")
    }
    #expect(accepted > 0)
  }

  static let refused: [String] = [
    "", "v1", "v1;", "v01;mode=calendar;from=2027-01-31;freq=daily;every=1;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=daily;every=01;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=daily;every=1;wkst=mo;",
    "v1;mode=calendar;from=2027-01-31;freq=daily;every=1;wkst=MO",
    "v1;mode=calendar;freq=daily;from=2027-01-31;every=1;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=weekly;every=1;on=th,mo;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=weekly;every=1;on=mo,mo;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=weekly;every=1;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=monthly;every=1;on=-1mo,2tu;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=monthly;every=1;on=0mo;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=monthly;every=1;on=;wkst=mo",
    "v1;mode=calendar;from=2027-01-31;freq=daily;every=1;wkst=mo;at=20:00,08:00",
    "v1;mode=calendar;from=2027-01-31;freq=daily;every=1;wkst=mo;at=08:00,08:00",
    "v1;mode=calendar;from=2027-01-31;freq=daily;every=1;wkst=mo;count=2;until=2027-06-30",
    "v1;mode=calendar;from=2027-01-31;freq=daily;every=1;wkst=mo;color=red",
  ]

  @Test("Texts that are not canonical are refused", arguments: refused)
  func notCanonical(text: String) {
    #expect(throws: HouseholdError(.ruleText, "")) { try RecurrenceRule(text: text) }
  }

  @Test("A text of a newer version and a text too long say so")
  func versionAndLength() throws {
    #expect(throws: HouseholdError(.ruleVersion, "")) { try RecurrenceRule(text: "v2;anything") }
    let limit = RecurrenceRule.maximumTextBytes
    func padded(_ length: Int) -> String { "v2;" + String(repeating: "x", count: length - 3) }
    #expect(throws: HouseholdError(.ruleVersion, "")) { try RecurrenceRule(text: padded(limit)) }
    #expect(throws: HouseholdError(.ruleText, "")) { try RecurrenceRule(text: padded(limit + 1)) }
    #expect(throws: HouseholdError(.ruleOutOfRange, "")) {
      try RecurrenceRule(text: "v1;mode=calendar;from=2027-01-31;freq=daily;every=367;wkst=mo")
    }
    #expect(throws: HouseholdError(.civilOutOfRange, "")) {
      try RecurrenceRule(text: "v1;mode=calendar;from=2027-02-29;freq=daily;every=1;wkst=mo")
    }
  }

  @Test("A rule exported to RFC 5545 comes back with its first date as anchor")
  func iCalendar() throws {
    var random = SplitMix64(seed: seed + 22)
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    let zone = ICalendarZone(
      identifier: "Europe/Berlin", utc: conversion(from: berlin, to: .gmt))
    for _ in 0..<3000 {
      let rule = try random.anyRule()
      let zoned = random.chance(50)
      let lines = try rule.iCalendarLines(zone: zoned ? zone : nil)
      let back = try RecurrenceRule.imported(
        iCalendar: ["SUMMARY:Bins"] + lines, local: conversion(from: .gmt, to: berlin))
      guard let first = rule.dates(from: .first, through: .last, limit: 1).first else { continue }
      let expected = try RecurrenceRule(
        rule.frequency, every: rule.interval, on: rule.days, from: first, mode: rule.mode,
        end: rule.end, at: rule.times, weekStart: rule.weekStart)
      try #require(back.rule == expected, "seed \(seed): \(rule.text) \(lines)")
      #expect(back.notes.isEmpty)
    }
  }

  @Test("Exported lines read as other programs expect them")
  func exported() throws {
    let berlin = ICalendarZone(
      identifier: "Europe/Berlin",
      utc: conversion(from: try #require(TimeZone(identifier: "Europe/Berlin")), to: .gmt))
    let bins = try RecurrenceRule(
      .weekly, every: 2, on: .weekdays([WeekdaySet(.monday), WeekdaySet(.thursday)]),
      from: day("2027-01-01"), end: .until(day("2027-06-30")), at: [clock("19:00"), clock("07:30")])
    #expect(
      try bins.iCalendarLines(zone: berlin) == [
        "DTSTART;TZID=Europe/Berlin:20270111T073000",
        "RRULE:FREQ=WEEKLY;UNTIL=20270630T215900Z;INTERVAL=2;BYDAY=MO,TH;WKST=MO",
        "X-HEARTH-TIMES:073000,190000",
      ])
    let rent = try RecurrenceRule(.monthly, from: day("2027-01-31"))
    #expect(
      try rent.iCalendarLines() == [
        "DTSTART;VALUE=DATE:20270131",
        "RRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=28,29,30,31;BYSETPOS=-1;WKST=MO",
      ])
    let plants = try RecurrenceRule(
      .daily, every: 3, from: day("2027-01-31"), mode: .afterCompletion)
    #expect(
      try plants.iCalendarLines() == [
        "DTSTART;VALUE=DATE:20270131",
        "X-HEARTH-AFTER-COMPLETION:FREQ=DAILY;INTERVAL=3;WKST=MO",
      ])
    let evil = ICalendarZone(identifier: "Europe/Berlin:20270101\r\nX") { $0 }
    #expect(throws: HouseholdError(.calendarUnsupported, "")) {
      try bins.iCalendarLines(zone: evil)
    }
  }

  @Test("Imports say where the meaning differs, move the anchor to BYMONTH, and heed the end time")
  func imports() throws {
    func imported(_ start: String, _ rrule: String) throws -> ImportedRule {
      try RecurrenceRule.imported(iCalendar: ["DTSTART\(start)", "RRULE:\(rrule)"])
    }
    let rent = try imported(";VALUE=DATE:20270131", "FREQ=MONTHLY")
    #expect(rent.rule.days == .dayOfMonth(31) && rent.notes.count == 1)
    #expect(try imported(":20270115T080030", "FREQ=MONTHLY").notes.count == 1)
    #expect(try imported(":20270115T080000", "freq=monthly").notes.isEmpty)
    let later = try imported(";VALUE=DATE:20270915", "FREQ=YEARLY;INTERVAL=2;BYMONTH=3")
    #expect(later.rule.firstDates(2) == ["2029-03-15", "2031-03-15"])
    let sooner = try imported(";VALUE=DATE:20270915", "FREQ=YEARLY;INTERVAL=2;BYMONTH=11;BYDAY=1TU")
    #expect(sooner.rule.firstDates(2) == ["2027-11-02", "2029-11-06"])
    let work = try imported(";VALUE=DATE:20270104", "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR")
    #expect(work.rule.frequency == .weekly)
    let early = try imported(":20270104T080000", "FREQ=DAILY;UNTIL=20270110T075900")
    #expect(try early.rule.end == .until(day("2027-01-09")))
    let exact = try imported(":20270104T080000", "FREQ=DAILY;UNTIL=20270110T080000")
    #expect(try exact.rule.end == .until(day("2027-01-10")))
    let unsupported = HouseholdError(.calendarUnsupported, "")
    #expect(throws: unsupported) {
      try imported(":20270104T080000", "FREQ=DAILY;UNTIL=20270110T075900Z")
    }
    #expect(throws: unsupported) { try imported(":20270104T080000Z", "FREQ=DAILY") }
    #expect(throws: unsupported) {
      try RecurrenceRule.imported(
        iCalendar: ["DTSTART:20270104T080000", "RRULE:FREQ=DAILY", "EXDATE:20270105T080000"])
    }
    let malformed = HouseholdError(.calendarText, "")
    for lines in [
      [], ["RRULE:FREQ=DAILY"], ["DTSTART:20270104"],
      ["DTSTART:20270104", "RRULE:FREQ=DAILY", "RRULE:FREQ=WEEKLY"],
      ["DTSTART:2027010", "RRULE:FREQ=DAILY"], ["DTSTART:20270104T0800", "RRULE:FREQ=DAILY"],
      ["DTSTART:20270104", "DTSTART:20270105", "RRULE:FREQ=DAILY"],
    ] {
      #expect(throws: malformed) { try RecurrenceRule.imported(iCalendar: lines) }
    }
  }

  @Test("Calendar text is bounded in lines and bytes")
  func bounded() throws {
    let lines = ["DTSTART:20270104", "RRULE:FREQ=DAILY"]
    let filler = Array(repeating: "SUMMARY:x", count: 998)
    _ = try RecurrenceRule.imported(iCalendar: lines + filler)
    #expect(throws: HouseholdError(.calendarText, "")) {
      try RecurrenceRule.imported(iCalendar: lines + filler + ["SUMMARY:x"])
    }
    let head = "DTSTART;X-PAD="
    let tail = ":20270104"
    func start(_ length: Int) -> String {
      head + String(repeating: "y", count: length - head.utf8.count - tail.utf8.count) + tail
    }
    _ = try RecurrenceRule.imported(iCalendar: [start(1024), lines[1]])
    #expect(throws: HouseholdError(.calendarText, "")) {
      try RecurrenceRule.imported(iCalendar: [start(1025), lines[1]])
    }
  }

  @Test("Damaged calendar rules are refused or read, and never trap")
  func damagedCalendar() throws {
    var random = SplitMix64(seed: seed + 23)
    let alphabet = Array("0123456789=;,:-+TZMOWEFRSUABDYNTHL".utf8)
    for _ in 0..<10_000 {
      var lines = try random.anyRule().iCalendarLines()
      let line = Int.random(in: 0..<lines.count, using: &random)
      var bytes = Array(lines[line].utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] =
          alphabet.randomElement(using: &random)!
      }
      lines[line] = String(decoding: bytes, as: UTF8.self)
      guard let rule = try? RecurrenceRule.imported(iCalendar: lines).rule else { continue }
      #expect(try RecurrenceRule(text: rule.text) == rule)
    }
  }

  private func say(_ rule: RecurrenceRule) -> String { rule.describe() }

  @Test("Rules read as English")
  func words() throws {
    let start = try day("2027-01-31")
    let monThu = RecurrenceRule.Days.weekdays([WeekdaySet(.monday), WeekdaySet(.thursday)])
    #expect(
      try say(.init(.weekly, every: 2, on: monThu, from: start, end: .until(day("2027-06-30"))))
        == "every 2 weeks on Monday and Thursday until 30 June 2027")
    #expect(try say(.init(.daily, from: start)) == "every day")
    #expect(
      try say(.init(.daily, every: 3, from: start, end: .count(5), at: [clock("08:00")]))
        == "every 3 days at 08:00, 5 times")
    #expect(
      try say(.init(.daily, from: start, end: .count(5), at: [clock("08:00"), clock("20:00")]))
        == "every day at 08:00 and 20:00, on 5 days")
    #expect(try say(.init(.daily, from: start, end: .count(1))) == "every day, once")
    #expect(
      try say(.init(.daily, every: 3, from: start, mode: .afterCompletion))
        == "3 days after it was last done")
    #expect(
      try say(.init(.weekly, from: start, mode: .afterCompletion))
        == "1 week after it was last done")
    #expect(try say(.init(.yearly, from: start)) == "every year on 31 January")
    #expect(
      try say(.init(.yearly, from: day("2024-02-29")))
        == "every year on 29 February (28 February in common years)")
    #expect(
      try say(.init(.yearly, on: .dayOfMonth(31), from: day("2027-06-01")))
        == "every year on the last day of June")
  }

  @Test("Days of months read as English")
  func daysOfMonths() throws {
    let start = try day("2027-01-31")
    #expect(
      try say(.init(.monthly, on: .dayOfMonth(30), from: start))
        == "every month on the 30th, or the last day of a shorter month")
    #expect(try say(.init(.monthly, from: start)) == "every month on the last day")
    for (number, word) in [
      (1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (12, "12th"),
      (13, "13th"), (21, "21st"), (22, "22nd"), (23, "23rd"), (28, "28th"),
    ] {
      #expect(
        try say(.init(.monthly, on: .dayOfMonth(number), from: start))
          == "every month on the \(word)")
    }
    let ordinals = RecurrenceRule.Days.ordinalWeekdays([
      try OrdinalWeekday(2, .tuesday), try OrdinalWeekday(-1, .monday),
      try OrdinalWeekday(-2, .friday),
    ])
    #expect(
      try say(.init(.monthly, on: ordinals, from: start))
        == "every month on the second Tuesday, the second to last Friday and the last Monday")
    #expect(
      try say(.init(.yearly, every: 4, on: ordinals, from: start))
        == "every 4 years on the second Tuesday, the second to last Friday and the last Monday "
        + "of January")
  }
}

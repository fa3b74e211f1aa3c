import Foundation
import Household
import Testing

/// python-dateutil as an independent judge, run once per batch of questions.
///
/// Where python3 or dateutil is missing the tests say so in one line and pass, unless the
/// environment variable HEARTH_REQUIRE_ORACLES is set.
enum Dateutil {
  /// The answers to `questions` in order, each a list of day numbers; nil when it is not there.
  static func answers(to questions: [String]) throws -> [[Int]]? {
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Oracles/dateutil_oracle.py")
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-dateutil-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let input = folder.appendingPathComponent("questions")
    let output = folder.appendingPathComponent("answers")
    try Data((questions.joined(separator: "\n") + "\n").utf8).write(to: input)
    try Data().write(to: output)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", script.path]
    process.standardInput = try FileHandle(forReadingFrom: input)
    process.standardOutput = try FileHandle(forWritingTo: output)
    try process.run()
    process.waitUntilExit()
    let text = try String(contentsOf: output, encoding: .utf8)
    guard process.terminationStatus == 0, text != "no-dateutil\n" else {
      print("python-dateutil is not available (status \(process.terminationStatus)); not compared")
      if ProcessInfo.processInfo.environment["HEARTH_REQUIRE_ORACLES"] != nil {
        Issue.record("HEARTH_REQUIRE_ORACLES is set, but python3 with dateutil does not answer")
      }
      return nil
    }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    return lines.map { $0.split(separator: " ").compactMap { Int($0) } }
  }
}

@Suite("Agreement with python-dateutil")
struct DateutilOracleTests {
  @Test("10,000 random rules have the same first 50 dates")
  func rules() throws {
    var random = SplitMix64(seed: seed)
    let rules = try (0..<10_000).map { number in
      try random.calendarRule(years: number % 10 == 0 ? 1600...9990 : 1990...2060)
    }
    let questions = try rules.map { rule in
      let value = try rule.iCalendarLines()[1].dropFirst("RRULE:".count)
      return "rule|50|\(rule.anchor.iso)|\(value)"
    }
    guard let answers = try Dateutil.answers(to: questions) else { return }
    try #require(answers.count == rules.count)
    var compared = 0
    for (rule, expected) in zip(rules, answers) {
      let found = rule.dates(from: .first, through: .last, limit: 50).map { Int($0.dayNumber) }
      compared += found.count
      try #require(found == expected, "seed \(seed): \(rule.text)")
    }
    #expect(compared > 300_000, "only \(compared) dates compared; the rules have become too poor")
  }

  @Test("Adding months gives the same date")
  func months() throws {
    var random = SplitMix64(seed: seed)
    var questions: [String] = []
    var found: [[Int]] = []
    for _ in 0..<20_000 {
      let date = try random.date(years: 200...9700)
      let months = Int.random(in: -2000...2000, using: &random)
      questions.append("months|\(date.iso)|\(months)")
      found.append([Int(try #require(date.adding(months: months)).dayNumber)])
    }
    guard let answers = try Dateutil.answers(to: questions) else { return }
    try #require(answers.count == found.count)
    for (index, answer) in answers.enumerated() {
      try #require(found[index] == answer, "seed \(seed): \(questions[index])")
    }
  }

  @Test("Local times around every clock change become the same instants")
  func due() throws {
    var random = SplitMix64(seed: seed)
    var questions: [String] = []
    var found: [[Int]] = []
    for identifier in FoundationOracleTests.zones.map(\.identifier) {
      let zone = try #require(TimeZone(identifier: identifier))
      var instant = Date(timeIntervalSince1970: 315_532_800)  // 1980
      var days: [CivilDate] = try (0..<200).map { _ in try random.date(years: 1980...2036) }
      days += try [day("2011-12-29"), day("2011-12-30"), day("2011-12-31")]
      while let change = zone.nextDaylightSavingTimeTransition(after: instant),
        change.timeIntervalSince1970 < 2_114_380_800  // 2037
      {
        let date = try wallClock(change, zone).date
        days += (-2...2).compactMap { date.adding(days: $0) }
        instant = change
      }
      for date in days {
        for minute in stride(from: Int.random(in: 0..<15, using: &random), to: 1440, by: 15) {
          questions.append("due|\(identifier)|\(date.iso)|\(minute)")
          let due = dueInstant(date, try CivilTime(minuteOfDay: minute), zone)
          found.append([Int(due.timeIntervalSince1970)])
        }
      }
    }
    guard let answers = try Dateutil.answers(to: questions) else { return }
    try #require(answers.count == found.count)
    for (index, answer) in answers.enumerated() {
      try #require(found[index] == answer, "seed \(seed): \(questions[index])")
    }
  }
}

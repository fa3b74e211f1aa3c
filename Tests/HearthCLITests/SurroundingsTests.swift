import ArgumentParser
import Household
import Testing

@testable import HearthCLI

@Suite("What the command line takes from its surroundings")
struct SurroundingsTests {
  @Test(
    "the home is --home, then HEARTH_HOME, then XDG_DATA_HOME, then HOME",
    arguments: [
      ("/o", ["HEARTH_HOME": "/h", "HOME": "/u"], "/o"),
      (nil, ["HEARTH_HOME": "/h", "XDG_DATA_HOME": "/x", "HOME": "/u"], "/h"),
      (nil, ["HEARTH_HOME": "", "XDG_DATA_HOME": "/x", "HOME": "/u"], "/x/hearth"),
      (nil, ["XDG_DATA_HOME": "x", "HOME": "/u"], "/u/.local/share/hearth"),
      (nil, ["HOME": "/u"], "/u/.local/share/hearth"),
    ] as [(String?, [String: String], String)])
  func home(option: String?, environment: [String: String], path: String) throws {
    #expect(try HomeFolder.path(option: option, environment: environment) == path)
  }

  @Test(
    "without any of them the command says so, and does not guess",
    arguments: [[:], ["HOME": ""], ["HOME": "u", "XDG_DATA_HOME": "x"]] as [[String: String]])
  func homeless(environment: [String: String]) {
    let failure = #expect(throws: CommandFailure.self) {
      try HomeFolder.path(option: nil, environment: environment)
    }
    #expect(failure?.status == .usage && failure?.hint?.contains("--home") == true)
  }

  @Test("a TZ that is no time zone is told, with the zone that stands in for it")
  func timeZone() {
    for known in ["Europe/Berlin", ":Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin"] {
      let choice = MachineTimeZone.choose(known, fallback: "UTC")
      #expect(choice.name == "Europe/Berlin" && choice.warning == nil)
    }
    for unset in [nil, ""] {
      #expect(MachineTimeZone.choose(unset, fallback: "UTC") == ("UTC", nil as String?))
    }
    let bogus = MachineTimeZone.choose("Mars/Phobos", fallback: "Asia/Tokyo")
    #expect(bogus.name == "Asia/Tokyo")
    #expect(bogus.warning?.contains("Asia/Tokyo is used") == true)
  }

  private let today = CivilDate.first

  @Test("none takes a day and a time away; a chore that repeats keeps its first day")
  func none() throws {
    let typed = try ChoreTimeOptions.parse(["--due", "none", "--at", "none"])
    #expect(try typed.day(today: today) == .some(nil))
    #expect(try typed.minute() == .some(nil))
    let old = try RecurrenceRule(
      .daily, every: 1, from: today, at: [try CivilTime(hour: 7, minute: 30)])
    #expect(throws: CommandFailure.self) {
      try typed.rule(today: today, weekStart: .monday, old: old)
    }
    let timeless = try ChoreTimeOptions.parse(["--at", "none"])
    #expect(try timeless.rule(today: today, weekStart: .monday, old: old)?.times == [])
    let untyped = try ChoreTimeOptions.parse([])
    #expect(try untyped.minute() == nil && untyped.day(today: today) == nil)
  }
}

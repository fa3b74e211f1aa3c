import HearthSync
import Household
import Testing

@testable import HearthCLI

@Suite("What the command line refuses before it does anything")
struct ArgumentsTests {
  @Test(
    "a value that begins with a dash is refused with the way to write it",
    arguments: [
      (["add", "- wash"], "-- '- wash'"), (["add", "-hot"], "-- -hot"),
      (["add", "x", "--note", "- h"], "--note='- h'"), (["-x", "list"], "-- -x"),
    ])
  func dashed(arguments: [String], hint: String) throws {
    let failure = #expect(throws: CommandFailure.self) {
      try HearthCommand.refuseDashed(arguments)
    }
    #expect(failure?.status == .usage && failure?.hint?.contains(hint) == true)
  }

  @Test(
    "options, numbers, the dash for standard input and what is behind two dashes pass",
    arguments: [
      ["add", "-"], ["add", "-h"], ["add", "--", "- wash"], ["add", "x", "--points", "-1"],
      ["add", "x", "--note=- h"], ["list", "--json"], [],
    ])
  func undashed(arguments: [String]) throws {
    try HearthCommand.refuseDashed(arguments)
  }

  @Test("an argument that is not UTF-8 is refused")
  func unreadable() throws {
    try HearthCommand.refuseUnreadable([Array("add".utf8), Array("Wäsche 🧺".utf8)])
    for bytes: [UInt8] in [[0x62, 0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]] {
      let failure = #expect(throws: CommandFailure.self) {
        try HearthCommand.refuseUnreadable([Array("add".utf8), bytes])
      }
      #expect(failure?.status == .usage && failure?.message.contains("argument 2") == true)
    }
  }

  @Test("bad values have one exit code, whichever layer finds them")
  func statuses() {
    for code in [HouseholdError.Code.badTitle, .badTags, .badSetting, .civilText] {
      #expect(ExitStatus.of(HouseholdError(code, "")) == .usage)
    }
    for code in [HouseholdError.Code.alreadyDone, .noSuchChore] {
      #expect(ExitStatus.of(HouseholdError(code, "")) == .failed)
    }
    for code in [HouseholdError.Code.notYours, .periodClosed] {
      #expect(ExitStatus.of(HouseholdError(code, "")) == .notAllowed)
    }
    #expect(ExitStatus.of(SyncError(.malformed, "")) == .failed)
  }
}

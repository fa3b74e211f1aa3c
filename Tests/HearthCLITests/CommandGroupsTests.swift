import ArgumentParser
import Foundation
import Testing

@testable import HearthCLI

@Suite("Groups of commands")
struct CommandGroupsTests {
  @Test("Every command is in one group, and each group has a name of its own")
  func each() {
    let names = commandGroups.flatMap { group in
      group.subcommands.compactMap { $0.configuration.commandName }
    }
    #expect(Set(names).count == names.count)
    #expect(
      names.sorted()
        == HearthCommand.configuration.subcommands.compactMap {
          $0.configuration.commandName
        }.sorted())
    #expect(Set(commandGroups.map(\.name)).count == commandGroups.count)
  }

  @Test("The help lists what people do every day first")
  func help() throws {
    let help = HearthCommand.helpMessage(columns: 80)
    let day = try #require(help.range(of: "EVERY DAY", options: .caseInsensitive))
    let people = try #require(help.range(of: "PEOPLE SUBCOMMANDS", options: .caseInsensitive))
    let today = try #require(help.range(of: "\n  today "))
    let invite = try #require(help.range(of: "\n  invite "))
    #expect(day.lowerBound < today.lowerBound)
    #expect(today.lowerBound < people.lowerBound)
    #expect(people.lowerBound < invite.lowerBound)
  }
}

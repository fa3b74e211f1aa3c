import ArgumentParser
import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// Creates and lists households.
struct HouseholdCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "household", abstract: "Create and list households; set what newcomers may read.",
    subcommands: [Create.self, List.self, Newcomers.self])

  /// Creates a household whose owner is this node's person.
  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "Create a household.",
      discussion: "You become its owner. Others join by an invitation (`hearth invite`).")

    @Argument(help: "The household's name.")
    var name: String

    @Option(help: "The time zone of its days, such as Europe/Berlin; by default yours.")
    var timeZone: String?

    @Option(help: "The day on which its weeks begin.")
    var weekStart = "monday"

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let name: String
      let id: String
      let timeZone: String
      let weekStart: String
    }

    func run() async throws {
      _ = try HouseholdNames.checked(self.name, among: [])
      let timeZone = self.timeZone ?? MachineTimeZone.name
      _ = try HouseholdClock(timeZone: timeZone)
      guard let weekday = Weekday.named(weekStart) else {
        throw CommandFailure(
          .usage, "\(weekStart) is not a day of the week", hint: "for example --week-start sunday")
      }
      let node = try await options.open()
      let present = await node.dataZones().filter { $0.database == .shared }
      let name = try HouseholdNames.checked(self.name, among: present)
      let id = try await node.createHousehold(named: name)
      let context = try await HouseholdContext.of(id, node: node)
      try await context.introducePerson()
      try await context.write { state, builder in
        try state.storedSettings.set("time-zone", timeZone, in: &builder)
        try state.storedSettings.set("week-start", weekday.code, in: &builder)
      }
      if options.json {
        try Output.json(
          Document(
            name: name, id: id.hex, timeZone: timeZone, weekStart: weekday.name.lowercased()))
      } else {
        Output.print("household \(name): days of \(timeZone), weeks from \(weekday.name)")
        Output.note(
          try await node.transports.list().isEmpty
            ? "next: `hearth transport add folder PATH` with a folder that your devices share"
            : "next: `hearth invite`")
      }
      try await node.close()
    }
  }

  /// Lists the households of this node.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the households of this node.")

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Item: Encodable {
        let name: String
        let id: String
        let people: Int
        let devices: Int
        let role: String?
        let timeZone: String
        let newcomers: String
      }
      let households: [Item]
    }

    func run() async throws {
      let node = try await options.open()
      var items: [Document.Item] = []
      for zone in await node.dataZones() where zone.database == .shared {
        let membership = try await node.membership(of: zone.group)
        let timeZone = try await HouseholdContext(node: node, zone: zone).timeZoneName()
        items.append(
          Document.Item(
            name: zone.name, id: zone.id.hex, people: membership.people.count,
            devices: membership.devices.count,
            role: membership.role(of: await node.device)?.name, timeZone: timeZone,
            newcomers: NewcomerWords.word(membership.newcomers)))
      }
      try await node.close()
      if options.json { return try Output.json(Document(households: items)) }
      guard !items.isEmpty else {
        Output.note("this node is in no household yet: `hearth household create NAME`")
        return
      }
      let rows = items.map {
        [$0.name, "\($0.people)", "\($0.devices)", $0.role ?? "none", $0.timeZone]
      }
      Output.print(
        Table(
          headers: ["HOUSEHOLD", "PEOPLE", "DEVICES", "YOUR ROLE", "TIME ZONE"], rows: rows,
          rightAligned: [1, 2]
        ).text)
    }
  }
}

extension Weekday {
  /// Returns the weekday of an English name, of which at least the first two letters are given.
  static func named(_ text: String) -> Weekday? {
    let word = text.lowercased()
    guard word.count >= 2 else { return nil }
    return allCases.first { $0.name.lowercased().hasPrefix(word) }
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync

/// The people of the household.
struct MemberCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "member", abstract: "Show the people of the household.",
    subcommands: [List.self], defaultSubcommand: List.self)

  /// Lists them.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the people of the household.")

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Item: Encodable {
        let name: String
        let id: String
        let role: String
        let since: String
        let devices: Int
        let isThisPerson: Bool
      }
      let members: [Item]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let node = context.node
      let membership = await node.membership(of: context.zone.group)
      let moment = try await MomentText.of(context)
      let own = await node.person
      let people = membership.people.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
      try await node.close()
      if options.json {
        return try Output.json(
          Document(
            members: people.map { person in
              Document.Item(
                name: person.name, id: person.id.hex, role: person.role.name,
                since: MomentText.iso(person.since.milliseconds),
                devices: membership.devices.count { $0.person == person.id },
                isThisPerson: person.id == own)
            }))
      }
      let rows = people.map { person in
        [
          person.name, person.role.name,
          "\(membership.devices.count { $0.person == person.id })",
          moment.text(person.since.milliseconds), person.id == own ? "you" : "",
        ]
      }
      Output.print(
        Table(headers: ["NAME", "ROLE", "DEVICES", "SINCE", ""], rows: rows, rightAligned: [2])
          .text)
    }
  }
}

/// The devices of the household.
struct DeviceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: "Show the devices of the household.",
    subcommands: [List.self], defaultSubcommand: List.self)

  /// Lists them.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the devices of the household.")

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Item: Encodable {
        let name: String
        let id: String
        let person: String
        let role: String?
        let since: String
        let isThisDevice: Bool
      }
      let devices: [Item]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let node = context.node
      let membership = await node.membership(of: context.zone.group)
      let moment = try await MomentText.of(context)
      let own = await node.device
      try await node.close()
      if options.json {
        return try Output.json(
          Document(
            devices: membership.devices.map { device in
              Document.Item(
                name: device.card.name, id: device.id.hex,
                person: membership.person(device.person)?.name ?? "",
                role: membership.role(of: device.id)?.name,
                since: MomentText.iso(device.since.milliseconds), isThisDevice: device.id == own)
            }))
      }
      let rows = membership.devices.map { device in
        [
          ShortID.text(device.id), device.card.name,
          membership.person(device.person)?.name ?? "nobody",
          membership.role(of: device.id)?.name ?? "none", moment.text(device.since.milliseconds),
          device.id == own ? "this one" : "",
        ]
      }
      Output.print(
        Table(headers: ["DEVICE", "NAME", "PERSON", "ROLE", "SINCE", ""], rows: rows).text)
    }
  }
}

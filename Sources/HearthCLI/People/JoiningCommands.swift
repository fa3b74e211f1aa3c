import ArgumentParser
import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Joins a household.
struct JoinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join", abstract: "Join a household by an invitation's link.",
    discussion: """
      Anybody with the link can join, so keep it out of the shell's history and the list of
      processes: `hearth join -` reads it from standard input, and a terminal does not show it.

      Examples:
        hearth join - --person Ben         then paste the link
        hearth join - < link.txt
        hearth join - --folder ~/Shared    if the folder is elsewhere on this device

      On a new device --person makes it your node first, as `hearth init` does.
      """)

  @Argument(help: "`-` to read the link that `hearth invite` printed, or the link itself.")
  var link: String

  @Option(
    help: "The shared folder on this device, or a relay's address, if not where the link says.")
  var folder: String?

  @Option(help: "Your name, on a device that is no node yet.")
  var person: String?

  @Option(help: "This device's name, with --person; by default the machine's.")
  var device: String?

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    /// `joined`, or `asked` if somebody must approve first.
    let state: String
    let household: String
    let id: String?
    let role: String?
    let people: [String]
    let number: String?
    /// The person whose further device this one became; absent if it joined as a new person.
    let deviceOf: String?
    /// Whether it already shares that person's private database.
    let privateDatabase: Bool
  }

  func run() async throws {
    let link = try InvitationLink(text: link == "-" ? JoinCommand.pasted() : link)
    guard device == nil || person != nil else {
      throw CommandFailure(
        .usage, "--device names a new device, whose person is missing", hint: "add --person NAME")
    }
    let node = if let person { try await newNode(of: person) } else { try await options.open() }
    switch try await node.invitations.follow(link, at: folder) {
    case .joined(let zone): try await tell(joined: zone, on: node)
    case .asked(let pending): try await tell(asked: pending, on: node)
    }
  }

  /// Makes this device a node of a person, who did not run `hearth init` before.
  private func newNode(of person: String) async throws -> Node {
    try options.refuseHousehold()
    let name = try Name.checked(person, what: "the person's name")
    let deviceName = try Name.checked(
      device ?? ProcessInfo.processInfo.hostName, what: "the device's name")
    do {
      return try await Node.create(
        at: options.homePath, person: name, device: deviceName,
        passphrase: options.passphraseOfNewKey(isAsked: false), schema: CommandSchema.node)
    } catch let error as HearthError where error.code == .exists {
      throw CommandFailure(
        .failed, "this device is a node already, with a person of its own",
        hint: "leave --person and --device out")
    }
  }

  /// The link on the first line of standard input.
  private static func pasted() throws -> String {
    let line = try SecretInput.line(
      asking: "paste the link, the last line that `hearth invite` printed, and press Enter; it is "
        + "not shown:", isAlwaysAsked: false, maximumBytes: InvitationLink.maximumCharacters)
    guard let text = String(validating: line, as: UTF8.self) else {
      throw CommandFailure(.usage, "standard input is not UTF-8 text")
    }
    return text
  }

  private func tell(joined zone: ZoneID, on node: Node) async throws {
    let context = try await HouseholdContext.of(zone, node: node)
    let membership = try await node.membership(of: context.zone.group)
    let own = await node.device
    let role = membership.role(of: own)
    try await context.introducePerson()
    let report = try await node.sync()
    let standing = try await node.privateDatabase.status()
    let isShared = standing.map { $0.devices.count > 1 && $0.pending == nil } ?? false
    let isFurther = membership.devices.count { $0.person == membership.person(of: own)?.id } > 1
    let name = await node.profile.personName
    let everybody = membership.people.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
    let people = everybody.map(\.name)
    let shown = ShownNames(of: membership)
    let transports = try await node.transports.list(of: context.zone.group)
    try await node.close()
    if options.json {
      try Output.json(
        Document(
          state: "joined", household: context.zone.name, id: zone.hex, role: role?.name,
          people: people, number: nil, deviceOf: isFurther ? name : nil,
          privateDatabase: isShared))
    } else {
      Output.print("joined \(Style.safe(context.zone.name)) as \(role?.name ?? "nobody")")
      let names = everybody.map { shown.markedName(of: $0.id) ?? $0.name }
      Output.print("people: \(Style.safe(names.joined(separator: ", ")))")
      if isFurther {
        Output.print(
          "this device now belongs to \(Style.safe(name))"
            + (isShared ? ", and shares \(Style.safe(name))'s private settings" : ""))
      }
      if let twin = PersonChoice.warning(
        ofNewcomer: name, membership.person(of: own)?.id, in: membership, context.zone.name)
      {
        Output.note(twin)
      }
      if transports.count == 1, let only = transports.first, only.scope?.households.count == 1 {
        Output.note(
          "transport \(only.number) (\(only.kind)) carries this household, but not your others: "
            + "`hearth transport carry` changes that")
      }
      if let pending = standing?.pending { Output.note(PrivateText.words(pending)) }
      Output.note("next: `hearth list` shows the chores; `hearth sync --watch` keeps syncing")
    }
    try SyncText.check(report, isQuiet: true)
  }

  private func tell(asked pending: PendingJoin, on node: Node) async throws {
    try await node.close()
    if options.json {
      return try Output.json(
        Document(
          state: "asked", household: pending.groupName, id: nil, role: pending.roleName,
          people: [], number: pending.number, deviceOf: nil, privateDatabase: false))
    }
    let inviter = Style.safe(pending.inviterName)
    Output.print("asked \(Style.safe(pending.groupName)) to approve this device")
    Output.print("number: \(pending.number)")
    Output.note(
      "next: tell \(inviter) this number, by voice or face to face; \(inviter) or another admin "
        + "compares it and approves (`hearth approve`); then `hearth sync` here finishes joining")
  }
}

import ArgumentParser
import Foundation
import Hearth
import HearthCRDT
import HearthSync

/// Makes an invitation.
struct InviteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite", abstract: "Let somebody join the household.",
    discussion: """
      The last line of the output is the link. Whoever has it can join until it expires, so give
      it to one person only, over a channel you trust.
      """)

  @Option(help: "What the person may do: reader, child, member or admin.")
  var role = "member"

  @Option(help: "How long the link is good: a number with m, h or d.")
  var expires = "7d"

  @Option(help: "How many devices may use it.")
  var uses = 1

  @OptionGroup var options: CommonOptions

  private static let maximumUses = 100

  private struct Document: Encodable {
    let link: String
    let household: String
    let role: String
    let uses: Int
    let expires: String
  }

  func run() async throws {
    guard let role = Role(name: role.lowercased()), role != .owner else {
      throw CommandFailure(.usage, "there is no role \(role)", hint: "reader, child, member, admin")
    }
    guard (1...InviteCommand.maximumUses).contains(uses) else {
      throw CommandFailure(.usage, "--uses must be 1 to \(InviteCommand.maximumUses)")
    }
    let duration = try Duration.milliseconds(expires)
    let context = try await HouseholdContext.open(options)
    let node = context.node
    let link = try await node.invite(
      to: context.zone.id, role: role, maximumUses: uses, expiresInMilliseconds: duration)
    if let warning = await node.riskWarning(of: context.zone.group) {
      Output.note("hearth: warning: \(warning)")
    }
    let expiry = await node.nowMilliseconds() + duration
    let moment = try await MomentText.of(context).text(expiry)
    try await node.close()
    if options.json {
      return try Output.json(
        Document(
          link: link.text, household: context.zone.name, role: role.name, uses: uses,
          expires: MomentText.iso(expiry)))
    }
    Output.note(
      "an invitation to \(context.zone.name) as \(role.name), good for "
        + "\(Words.count(uses, "device")) until \(moment)")
    Output.note("on the other device: `hearth init --person NAME`, then `hearth join` and this:")
    Output.print(link.text)
  }
}

/// Joins a household.
struct JoinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "join", abstract: "Join a household by an invitation's link.")

  @Argument(help: "The link that `hearth invite` printed.")
  var link: String

  @Option(help: "The shared folder on this device, if it is elsewhere than on the inviter's.")
  var folder: String?

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    let household: String
    let id: String
    let role: String?
    let people: [String]
  }

  func run() async throws {
    let link = try InvitationLink(text: link)
    let node = try await options.open()
    let zone = try await node.join(link, folderOverride: folder)
    let context = try await HouseholdContext.of(zone, node: node)
    let membership = await node.membership(of: context.zone.group)
    let role = membership.role(of: await node.device)
    if role != .reader { try await context.introducePerson() }
    let report = try await node.sync()
    let people = membership.people.map(\.name).sorted()
    try await node.close()
    if options.json {
      try Output.json(
        Document(
          household: context.zone.name, id: zone.hex, role: role?.name, people: people))
    } else {
      Output.print("joined \(context.zone.name) as \(role?.name ?? "nobody")")
      Output.print("people: \(Style.safe(people.joined(separator: ", ")))")
      Output.note("next: `hearth list` shows the chores; `hearth sync --watch` keeps in step")
    }
    try SyncText.check(report, isQuiet: true)
  }
}

/// Spans of time as people type them.
enum Duration {
  static let maximumDays = 365

  /// Milliseconds of a text such as 30m, 12h or 7d.
  static func milliseconds(_ text: String) throws -> UInt64 {
    let units: [Character: UInt64] = ["m": 60_000, "h": 3_600_000, "d": 86_400_000]
    guard let last = text.last, let unit = units[last], let number = UInt64(text.dropLast()),
      number > 0, number <= UInt64(maximumDays) * 86_400_000 / unit
    else {
      throw CommandFailure(
        .usage, "\(text) is not a span of time up to \(maximumDays) days", hint: "such as 12h or 7d"
      )
    }
    return number * unit
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// Changes without effect.
struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine", abstract: "List and adopt quarantined changes.",
    discussion: """
      Changes of a removed person or revoked device have no effect if the remover had not received
      them. A whole transaction has no effect if any part of it exceeds its author's role, or puts
      more into a record than one device may. Such changes are quarantined: they are kept, and an
      admin may adopt them.

      Examples:
        hearth quarantine           list them, with a number each
        hearth quarantine adopt 1   write number 1 again as your own
      """,
    subcommands: [List.self, Adopt.self], defaultSubcommand: List.self)

  private struct Item: Encodable {
    let number: Int
    let person: String
    let device: String
    let deviceId: String
    let zone: String
    let first: UInt64
    let last: UInt64
    let changes: Int
    let cause: QuarantinedChanges.Cause
    /// The first of their actions.
    let contents: [Content]
    /// The number of further actions.
    let more: Int

    struct Content: Encodable {
      /// The action, such as `added` or `done`.
      let verb: String
      /// The object of the action: a chore's title, a setting's key or a name.
      let title: String
    }
  }

  /// The number of actions shown per item, in JSON and in text.
  private static let (toldCount, shownCount) = (100, 5)

  /// Returns the actions of changes, so that nobody adopts changes unseen.
  private static func contents(
    of range: QuarantinedChanges, _ context: HouseholdContext
  ) async throws -> (contents: [Item.Content], more: Int) {
    let changes = try await context.node.quarantine.changes(of: range)
    let found = try await context.read {
      try $0.activity.activities(of: changes, atMost: toldCount)
    }
    return (
      found.first.map { Item.Content(verb: $0.verb, title: $0.title) },
      found.count - found.first.count
    )
  }

  /// The same in lines.
  private static func lines(_ item: Item) -> [String] {
    let shown = item.contents.prefix(shownCount)
    let more = item.contents.count - shown.count + item.more
    guard !shown.isEmpty else { return ["   this device cannot open their content"] }
    return shown.map { "   \($0.verb) \(ShownText.quoted($0.title))" }
      + (more > 0 ? ["   and \(more) more"] : [])
  }

  private static func items(
    _ context: HouseholdContext
  ) async throws -> (found: [QuarantinedChanges], items: [Item]) {
    let names = try await PeopleNames.of(context)
    let found = try await context.node.quarantine.list(in: context.zone.group)
    let zones = await context.node.allZones()
    var items: [Item] = []
    for (place, range) in found.enumerated() {
      let contents = try await contents(of: range, context)
      items.append(
        Item(
          number: place + 1,
          person: names.membership.person(of: range.author.device)?.name ?? "a stranger",
          device: names.name(of: range.author.device), deviceId: range.author.device.hex,
          zone: zones.first { $0.id == range.zone }?.name ?? "",
          first: range.changes.lowerBound, last: range.changes.upperBound,
          changes: range.changes.count, cause: range.cause, contents: contents.contents,
          more: contents.more))
    }
    return (found, items)
  }

  /// The next steps for them on this device.
  private static func next(_ context: HouseholdContext) async throws -> String {
    let place = Style.safe(context.zone.name)
    if try await context.node.ending(in: context.zone.group) != nil {
      let standing = try await StandingText.Document(of: context.zone, on: context.node)
      let isHere = min(standing.onlyHere, standing.ownQuarantined) > 0
      return "you no longer belong to \(place) and cannot adopt them"
        + (isHere
          ? ": keep this device's data, ask an owner or admin for an invitation, `hearth join -` "
            + "with its link on this device and `hearth sync`; then the others have them, and an "
            + "admin can adopt them"
          : "; an owner or admin can, with `hearth quarantine` on their device")
    }
    let role = try await context.node.membership(of: context.zone.group).role(
      of: context.node.device)
    return role?.rank ?? 0 >= Role.admin.rank
      ? "adopt them with `hearth quarantine adopt NUMBER`, or leave them: they have no effect"
      : "an owner or admin of \(place) can adopt them, with `hearth quarantine` on their "
        + "device; until then they have no effect"
  }

  /// Lists the changes.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List them, with a number each.")
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let quarantined: [Item]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let items = try await QuarantineCommand.items(context).items
      let next = try await QuarantineCommand.next(context)
      try await context.node.close()
      if options.json { return try Output.json(Document(quarantined: items)) }
      guard !items.isEmpty else {
        return Output.note(
          "the quarantine is empty: there are no unseen changes of removed devices, and none that "
            + "exceed a role or the limits of a record")
      }
      for item in items {
        let reason =
          switch item.cause {
          case .beyondCut:
            "written after the removal, or unknown to the person who removed the device"
          case .notADevice: "from a device that did not belong to the household"
          case .beyondRole:
            "beyond \(item.changes == 1 ? "its" : "their") author's role"
          case .beyondLimit:
            "\(item.changes == 1 ? "it puts" : "they put") more into a record than one device may"
          }
        Output.print(
          "\(item.number). \(Words.count(item.changes, "change")) by \(Style.safe(item.person)) on "
            + "\(Style.safe(item.device)), \(reason)")
        for line in QuarantineCommand.lines(item) { Output.print(line) }
      }
      Output.note(next)
    }
  }

  /// Adopts some of the changes.
  struct Adopt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "adopt", abstract: "Write quarantined changes again as your own.",
      discussion: "They then take effect with you as their author. `hearth audit` shows this.")
    @Argument(help: "The number in `hearth quarantine`.") var number: Int
    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let person: String
      let device: String
      let changes: Int
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      try await context.roleGate().requireAdmin(to: "adopt quarantined changes")
      let (found, items) = try await QuarantineCommand.items(context)
      guard items.indices.contains(number - 1) else {
        throw CommandFailure(
          .failed, "there is no number \(number) in the quarantine", hint: "see `hearth quarantine`"
        )
      }
      let item = items[number - 1]
      let words =
        "\(Words.count(item.changes, "change")) by \(Style.safe(item.person)) on "
        + Style.safe(item.device)
      for line in QuarantineCommand.lines(item) { Output.note(line) }
      try Confirmation.ask("write \(words) again as your own?", isGiven: yes)
      try await context.node.quarantine.adopt(found[number - 1], in: context.zone.group)
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(person: item.person, device: item.device, changes: item.changes))
      } else {
        Output.print("adopted \(words): they now count as yours")
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }
  }
}

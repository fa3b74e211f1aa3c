import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync

/// What removed devices wrote without effect.
struct QuarantineCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "quarantine", abstract: "What removed devices wrote without effect.",
    discussion: """
      Changes that a removed person or revoked device wrote, and that whoever removed them had not
      seen, count for nothing anywhere. They are kept, and an admin may take them over.

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
    let cause: String
  }

  private static func items(
    _ context: HouseholdContext
  ) async throws -> (found: [QuarantinedChanges], items: [Item]) {
    let names = try await PeopleNames.of(context)
    let found = try await context.node.quarantined(in: context.zone.group)
    let zones = await context.node.allZones()
    return (
      found,
      found.enumerated().map { place, range in
        Item(
          number: place + 1,
          person: names.membership.person(of: range.author.device)?.name ?? "a stranger",
          device: names.name(of: range.author.device), deviceId: range.author.device.hex,
          zone: zones.first { $0.id == range.zone }?.name ?? "",
          first: range.changes.lowerBound, last: range.changes.upperBound,
          changes: range.changes.count, cause: range.cause.rawValue)
      }
    )
  }

  /// What can be done about them on this device.
  private static func next(_ context: HouseholdContext) async throws -> String {
    let place = Style.safe(context.zone.name)
    if await context.node.ending(in: context.zone.group) != nil {
      let standing = try await StandingText.Document(of: context.zone, on: context.node)
      let isHere = min(standing.onlyHere, standing.ownQuarantined) > 0
      return "you do not belong to \(place) any more and cannot take them over"
        + (isHere
          ? ": keep this device's data, ask an owner or admin for an invitation, `hearth join` it "
            + "on this device and `hearth sync`; then the others have them, and an admin can take "
            + "them over"
          : "; an owner or admin can, with `hearth quarantine` on their device")
    }
    let role = await context.node.membership(of: context.zone.group).role(
      of: context.node.device)
    return role?.rank ?? 0 >= Role.admin.rank
      ? "take over with `hearth quarantine adopt NUMBER`; or leave them, they do nothing"
      : "an owner or admin of \(place) can take them over, with `hearth quarantine` on their "
        + "device; else they do nothing"
  }

  /// Lists them.
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
        return Output.note("the quarantine is empty: no removed device wrote anything unseen")
      }
      for item in items {
        let reason =
          item.cause == Judgement.VoidCause.beyondCut.rawValue
          ? "written after the removal, or before it and not seen by who removed"
          : "its device did not belong to the household"
        Output.print(
          "\(item.number). \(Words.count(item.changes, "change")) by \(Style.safe(item.person)) on "
            + "\(Style.safe(item.device)), \(reason)")
      }
      Output.note(next)
    }
  }

  /// Takes some over.
  struct Adopt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "adopt", abstract: "Write quarantined changes again as your own.",
      discussion: "What they say counts then, with you as its author. `hearth audit` tells it.")
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
      try await context.roleGate().requireAdmin(to: "take over what is in quarantine")
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
      try Confirmation.ask("write \(words) again as your own?", isGiven: yes)
      try await context.node.adopt(found[number - 1], in: context.zone.group)
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(person: item.person, device: item.device, changes: item.changes))
      } else {
        Output.print("took over \(words): they count now, as yours")
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }
  }
}

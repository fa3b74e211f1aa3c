import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Approves a join request.
struct ApproveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve", abstract: "List requests to join, and approve them.",
    discussion: """
      Before you approve, compare the number with the one that the newcomer's device shows, by
      voice or face to face: this proves that the request is from their device. `--number` compares
      it with the number that they read out.

      To refuse a request, revoke its invitation; the list shows the id. The newcomer learns of it
      with their next sync.

      People who joined with a link that was closed, used up or expired need approval too: approve
      them only if you know whose device it is.

      Examples:
        hearth approve                  list the requests
        hearth approve Nina             approve Nina
        hearth invite revoke 3f09aa12   refuse all requests by this invitation
      """)

  @Argument(help: "The person's name, or digits of the device's id; without it all are listed.")
  var join: String?

  @Option(help: "The number that the newcomer's device shows; it must be the same.")
  var number: String?

  @Flag(help: "Do not ask.") var yes = false

  @OptionGroup var options: CommonOptions

  private struct ListDocument: Encodable {
    struct Item: Encodable {
      let person: String
      let device: String
      let deviceId: String
      let role: String
      let invitedBy: String
      let number: String
      let usedBy: [String]?
      /// The household's invitation of the request, with its id in `invite list`.
      let invitation: String?
      /// The ids of members whose names look like this one; absent if there are none.
      let looksLike: [String]?
      /// The ids of members with exactly this name; absent if there are none, and for a further
      /// device.
      let sameName: [String]?
    }
    let requests: [Item]
    /// Pending joins that something contests; absent if there are none.
    let joinings: [WaitingEntries.Item]?
  }

  private struct Document: Encodable {
    let person: String
    let device: String
    let role: String
  }

  func run() async throws {
    let typed = try number.map(ApproveCommand.digits)
    let context = try await HouseholdContext.open(options)
    let news = try await context.node.sync()
    let own = try await PrivateText.requests(to: context.node)
    if own.isEmpty { try await context.roleGate().requireAdmin(to: "approve anybody") }
    let waiting = try await context.node.admissions.waiting(of: context.zone.group) + own
    guard let join else { return try await list(waiting, context, news) }
    guard let chosen = try find(join, among: waiting) else {
      if let entry = try await WaitingEntries.find(join, in: context) {
        guard typed == nil else { throw WaitingEntries.hasNoNumber(entry) }
        return try await WaitingEntries.confirm(entry, in: context, isGiven: yes, options)
      }
      throw try await refusal(of: join, among: waiting, context)
    }
    let request = chosen.request
    let me = await context.node.person
    let membership = try await context.node.membership(of: context.zone.group)
    let further = ApproveCommand.owner(ofFurtherDevice: request, in: membership)
    let isHousehold = request.group == context.zone.group
    // An approved person cannot be distinguished from a namesake later, so the warning comes
    // before.
    let twin =
      isHousehold && further == nil
      ? PersonChoice.warning(
        ofNewcomer: request.personName, nil, in: membership, context.zone.name) : nil
    try compare(chosen, with: typed, warning: twin)
    let report = try await approve(chosen, among: waiting, context)
    try await context.node.close()
    if options.json {
      try Output.json(
        Document(
          person: request.personName, device: request.deviceName, role: chosen.role.name))
    } else {
      let isOwn = !isHousehold
      let place = Style.safe(context.zone.name)
      Output.print(
        isOwn
          ? "\(Style.safe(request.deviceName)) shares your private database now"
          : ApproveCommand.words(on: chosen, further, isOneself: further?.id == me, in: place))
      if !isOwn, waiting.contains(where: { $0.isOf(chosen.request.device, besides: chosen) }) {
        Output.print("\(Style.safe(request.deviceName)) shares your private database too")
      }
      Output.note(
        "next, on \(Style.safe(request.personName))'s \(Style.safe(request.deviceName)): "
          + "`hearth sync`")
    }
    try SyncText.check(report, isQuiet: true)
  }

  /// The member whose further device asks; nil for a new person.
  ///
  /// An invitation for a further device names its person.
  private static func owner(
    ofFurtherDevice request: JoinRequest, in membership: Membership
  ) -> Member? {
    membership.invites.first { $0.operation.invite == request.invite }?
      .operation.person.flatMap { membership.person($0) }
  }

  /// Compares the number of a request with the one that was read out, or asks about it.
  private func compare(
    _ chosen: WaitingJoin, with typed: String?, warning twin: String?
  ) throws {
    let name = Style.safe(chosen.request.personName)
    if let typed, typed != chosen.number.filter(\.isNumber) {
      throw CommandFailure(
        .notAllowed, "the numbers differ: this request is from another device",
        hint: "do not approve it; let \(name) read the number again, or create a new invitation")
    }
    if let twin, !options.json { Output.note(twin) }
    if typed == nil {
      try Confirmation.ask(
        "does \(name)'s \(Style.safe(chosen.request.deviceName)) show \(chosen.number)?",
        isGiven: yes)
    }
  }

  /// Returns the number that was read out, complete: half of a number proves nothing.
  private static func digits(_ typed: String) throws -> String {
    let digits = typed.filter { !$0.isWhitespace && $0 != "-" }
    guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), digits.count == numberDigits else {
      throw CommandFailure(
        .usage, "\(ShownText.quoted(typed)) does not have \(numberDigits) digits",
        hint: "write the whole number that the newcomer's device shows, in quotes")
    }
    return digits
  }

  private static let numberDigits = 30

  /// The result of a request: a new member, or a further device of one.
  private static func words(
    on chosen: WaitingJoin, _ person: Member?, isOneself: Bool, in place: String
  ) -> String {
    guard let person else {
      return "\(Style.safe(chosen.request.personName)) is \(RoleWords.a(chosen.role)) of \(place) "
        + "now: " + RoleWords.may(chosen.role)
    }
    let name = Style.safe(person.name)
    return "\(Style.safe(chosen.request.deviceName)) is a further device of "
      + "\(isOneself ? "yours" : "\(name)'s"): it may read and write \(place) as "
      + "\(isOneself ? "you" : name) now"
  }

  /// Approves a device in the database for which it asks.
  private func approve(
    _ chosen: WaitingJoin, among waiting: [WaitingJoin], _ context: HouseholdContext
  ) async throws -> SyncReport {
    var report = try await context.node.admissions.approve(chosen, named: context.zone.name)
    for other in waiting where other.isOf(chosen.request.device, besides: chosen) {
      report = try await context.node.admissions.approve(other, named: DatabaseKind.personal.name)
    }
    return report
  }

  private func list(
    _ waiting: [WaitingJoin], _ context: HouseholdContext, _ report: SyncReport
  ) async throws {
    let membership = try await context.node.membership(of: context.zone.group)
    let names = ShownNames(of: membership)
    let late = WaitingEntries.all(in: membership)
    try await context.node.close()
    if options.json {
      try Output.json(
        ListDocument(
          requests: waiting.map {
            ListDocument.Item(
              person: $0.request.personName, device: $0.request.deviceName,
              deviceId: $0.request.device.hex, role: $0.role.name, invitedBy: $0.inviterName,
              number: $0.number, usedBy: $0.usedBy,
              invitation: $0.request.group == context.zone.group ? $0.request.invite.hex : nil,
              looksLike: ApproveCommand.lookAlikes(of: $0.request, among: names),
              sameName: ApproveCommand.namesakes(of: $0.request, in: membership, names))
          }, joinings: late.isEmpty ? nil : late))
      return try SyncText.check(report, isQuiet: true)
    }
    WaitingEntries.show(late)
    if waiting.isEmpty, !late.isEmpty {
      return try SyncText.check(report, isQuiet: true)
    } else if waiting.isEmpty {
      Output.note("nobody asks to join \(Style.safe(context.zone.name))")
    } else {
      for item in waiting { show(item, in: context.zone, membership, names) }
      if waiting.contains(where: { $0.usedBy == nil }) {
        Output.note(
          "compare the number with the one on their device, then `hearth approve PERSON`; to "
            + "refuse, `hearth invite revoke INVITATION`")
      } else if late.isEmpty {
        Output.note(
          "these requests can no longer be approved: `hearth invite --approve` creates another "
            + "invitation; `hearth invite revoke INVITATION` notifies those who wait")
      }
    }
    try SyncText.check(report, isQuiet: true)
  }

  private static func lookAlikes(of request: JoinRequest, among names: ShownNames) -> [String]? {
    let others = names.lookAlikes(ofNewcomer: request.personName)
    return others.isEmpty ? nil : others.map(\.id.hex)
  }

  /// The members with the name of somebody who asks to become a person of the household.
  private static func namesakes(
    of request: JoinRequest, in membership: Membership, _ names: ShownNames
  ) -> [String]? {
    guard isNewPerson(request, in: membership) else { return nil }
    let namesakes = names.namesakes(ofNewcomer: request.personName)
    return namesakes.isEmpty ? nil : namesakes.map(\.id.hex)
  }

  /// Whether the request is for a new person, and not for a member's further device.
  private static func isNewPerson(_ request: JoinRequest, in membership: Membership) -> Bool {
    membership.invites.contains {
      $0.operation.invite == request.invite && $0.operation.person == nil
    }
  }

  private func show(
    _ item: WaitingJoin, in zone: ZoneState, _ membership: Membership, _ names: ShownNames
  ) {
    let request = item.request
    let isOfHousehold = request.group == zone.group
    let name =
      isOfHousehold && ApproveCommand.isNewPerson(request, in: membership)
      ? names.name(ofRequester: request.personName, on: request.device)
      : names.name(ofNewcomer: request.personName, on: request.device)
    Output.print(
      "\(Style.bold(Style.safe(name))) with \(Style.safe(request.deviceName)) "
        + "(\(ShortID.text(request.device))), "
        + (isOfHousehold
          ? "as \(item.role.name), invited by \(Style.safe(item.inviterName)) with invitation "
            + ShortID.text(request.invite)
          : "for your private database"))
    if let names = item.usedBy {
      Output.print(
        "  too late: the invitation was used by \(Style.safe(names.joined(separator: ", ")))")
    } else {
      Output.print("  number: \(item.number)")
    }
  }

  /// The reason why the named request cannot be approved.
  private func refusal(
    of text: String, among waiting: [WaitingJoin], _ context: HouseholdContext
  ) async throws -> CommandFailure {
    let ended = try await context.node.admissions.ended(of: context.zone.group)
    let folded = NameFolding.fold(text)
    let late = ended.first {
      NameFolding.fold($0.personName) == folded
        || (folded.utf8.count >= 4 && $0.device.hex.hasPrefix(folded))
    }
    if let late {
      return CommandFailure(
        .notAllowed,
        "\(Style.safe(late.personName)) asks with invitation \(ShortID.text(late.invite)), which "
          + "has ended: nobody can join with it any more",
        hint: "`hearth invite --approve` creates another")
    }
    return CommandFailure(
      .failed,
      "\(ShownText.quoted(text)) is not the name of anybody who asks to join with an open "
        + "invitation",
      hint: waiting.isEmpty
        ? "the newcomer runs `hearth join -` first, and the request must have arrived here"
        : "`hearth approve` lists the requests")
  }

  /// Returns the request that a text identifies; nil if there is none.
  private func find(_ text: String, among waiting: [WaitingJoin]) throws -> WaitingJoin? {
    let digits = text.lowercased()
    if digits.utf8.count >= 4, digits.allSatisfy(\.isHexDigit),
      let found = waiting.first(where: { $0.request.device.hex.hasPrefix(digits) })
    {
      return found
    }
    var seen: Set<DeviceID> = []
    let waiting = waiting.filter { seen.insert($0.request.device).inserted }
    switch NameMatch(text, among: waiting, name: \.request.personName) {
    case .one(let found): return found
    case .several(let found):
      let list = found.map {
        "  \(ShortID.text($0.request.device))  \(Style.safe($0.request.personName)) with "
          + Style.safe($0.request.deviceName)
      }
      throw CommandFailure(
        .failed,
        "\(ShownText.quoted(text)) fits several requests:\n" + list.joined(separator: "\n"),
        hint: "write the device's id")
    case .none: return nil
    }
  }
}

extension WaitingJoin {
  /// Whether this is another open request of a device.
  fileprivate func isOf(_ device: DeviceID, besides other: WaitingJoin) -> Bool {
    request.device == device && request.group != other.request.group && usedBy == nil
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync

/// Invitations: making, listing and revoking them.
struct InviteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite", abstract: "Let somebody join the household.",
    discussion: """
      The last line of the output is the link. Whoever has it can join until it expires, so give
      it to one person only, over a channel you trust. With --approve the link only lets somebody
      ask, and you or another admin let them in: `hearth approve`.

      Examples:
        hearth invite                          one member, within a week
        hearth invite --role child --qr        scanned from this screen
        hearth invite --approve --expires 2d   ask first
        hearth invite list
        hearth invite revoke 3f09aa12
      """,
    subcommands: [Create.self, List.self, Revoke.self], defaultSubcommand: Create.self)

  /// Makes one.
  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "Make an invitation.")

    @Option(help: "What the person may do: reader, child, member or admin.")
    var role = "member"

    @Flag(help: "Whoever has the link only asks; an admin lets them in (`hearth approve`).")
    var approve = false

    @Option(help: "How long the link is good: a number with m, h or d.")
    var expires = "7d"

    @Option(help: "How many devices may use it.")
    var uses = 1

    @Flag(help: "Also show the link as a QR code.")
    var qr = false

    @OptionGroup var options: CommonOptions

    private static let maximumUses = 100

    func run() async throws {
      let role = try RoleWords.role(role)
      guard (1...Create.maximumUses).contains(uses) else {
        throw CommandFailure(.usage, "--uses must be 1 to \(Create.maximumUses)")
      }
      let duration = try Duration.milliseconds(expires)
      let context = try await HouseholdContext.open(options)
      let gate = await context.roleGate()
      try gate.requireAdmin(to: "invite anybody")
      try gate.requireGiving(role)
      try await InviteText.make(
        InvitationTerms(
          role: role, needsApproval: approve, maximumUses: uses, expiresInMilliseconds: duration),
        in: context, showsQR: qr, options)
    }
  }

  /// Lists them.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the invitations that were made.")

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Item: Encodable {
        let id: String
        let role: String
        let admission: String
        let madeBy: String
        let made: String
        let expires: String
        let uses: Int
        let usesLeft: Int
        let state: String
        let joined: [String]
      }
      let invitations: [Item]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let node = context.node
      let membership = await node.membership(of: context.zone.group)
      let moment = try await MomentText.of(context)
      let now = await node.nowMilliseconds()
      try await node.close()
      func name(_ id: PersonID) -> String { membership.person(id)?.name ?? "nobody known" }
      func maker(_ invite: Membership.Invite) -> String {
        membership.person(of: invite.creator)?.name ?? "nobody known"
      }
      if options.json {
        return try Output.json(
          Document(
            invitations: membership.invites.map { invite in
              let terms = invite.operation
              return Document.Item(
                id: terms.invite.hex, role: terms.role.name,
                admission: terms.admission == .auto ? "auto" : "approve", madeBy: maker(invite),
                made: MomentText.iso(invite.version.time.milliseconds),
                expires: MomentText.iso(terms.expiresMilliseconds), uses: terms.maximumUses,
                usesLeft: invite.usesLeft, state: InviteText.state(of: invite, now: now),
                joined: invite.joins.map(name))
            }))
      }
      guard !membership.invites.isEmpty else {
        return Output.note("no invitations yet: `hearth invite` makes one")
      }
      let rows = membership.invites.map { invite in
        let terms = invite.operation
        let kind =
          terms.person.map { "device of \(name($0))" }
          ?? (terms.role.name + (terms.admission == .approve ? ", approved" : ""))
        return [
          ShortID.text(terms.invite), kind, maker(invite), moment.text(terms.expiresMilliseconds),
          "\(invite.usesLeft) of \(terms.maximumUses)", InviteText.state(of: invite, now: now),
          invite.joins.map(name).joined(separator: ", "),
        ]
      }
      Output.print(
        Table(headers: ["INVITE", "FOR", "BY", "UNTIL", "LEFT", "STATE", "JOINED"], rows: rows)
          .text)
    }
  }

  /// Ends one.
  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", abstract: "End an invitation, so that nobody joins by it any more.",
      discussion: """
        Who has joined already stays. An invitation that lets in at once carries keys, so new ones
        are made.
        """)

    @Argument(help: "The invitation's id in `hearth invite list`, or its first digits.")
    var invite: String
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let id: String
      let role: String
      let joined: Int
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let gate = await context.roleGate()
      let own = try gate.requireMember()
      let digits = invite.lowercased()
      let found = gate.membership.invites.filter {
        $0.operation.invite.hex.hasPrefix(digits)
      }
      guard let invite = found.first, found.count == 1, digits.utf8.count >= 4 else {
        throw CommandFailure(
          .failed,
          found.isEmpty
            ? "there is no invitation \(ShownText.quoted(self.invite))"
            : "\(ShownText.quoted(self.invite)) fits \(Words.count(found.count, "invitation"))",
          hint: "see `hearth invite list`; write at least four digits of the id")
      }
      guard !invite.isClosed else {
        throw CommandFailure(.failed, "this invitation is revoked already")
      }
      if gate.membership.device(invite.creator)?.person != own.id {
        try gate.requireAdmin(to: "revoke the invitations of others")
      }
      try await context.node.closeInvitation(
        invite.operation.invite, of: context.zone.group)
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(
            id: invite.operation.invite.hex, role: invite.operation.role.name,
            joined: invite.joins.count))
      } else {
        Output.print("revoked: nobody joins by invitation \(ShortID.text(invite.operation.invite))")
        if invite.operation.admission == .auto, own.role != .reader {
          Output.print("new keys were made, as its link carries the old ones")
        }
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }
  }
}

/// Lets in whoever asked.
struct ApproveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve", abstract: "List who asks to join, and let somebody in.",
    discussion: """
      Before you approve, compare the number with the one that the newcomer's device shows, by
      voice or face to face: only then is it their device that you let in. `--number` does it for
      you with what they read out.

      Examples:
        hearth approve            who asks
        hearth approve Nina       let Nina in
      """)

  @Argument(help: "Who: the person's name, or digits of the device's id; otherwise all are listed.")
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
    }
    let requests: [Item]
  }

  private struct Document: Encodable {
    let person: String
    let device: String
    let role: String
  }

  func run() async throws {
    let context = try await HouseholdContext.open(options)
    let news = try await context.node.sync()
    let own = try await PrivateText.requests(to: context.node)
    if own.isEmpty { try await context.roleGate().requireAdmin(to: "let anybody in") }
    let waiting = try await context.node.waitingJoins(of: context.zone.group) + own
    guard let join else { return try await list(waiting, context, news) }
    let chosen = try find(join, among: waiting)
    let request = chosen.request
    let name = Style.safe(request.personName)
    if let number, number.filter(\.isNumber) != chosen.number.filter(\.isNumber) {
      throw CommandFailure(
        .notAllowed, "the numbers differ: this request is not from the device that shows yours",
        hint: "do not approve it; let \(name) read the number once more, or make a new invitation")
    }
    if number == nil {
      try Confirmation.ask(
        "does \(name)'s \(Style.safe(request.deviceName)) show \(chosen.number)?", isGiven: yes)
    }
    let report = try await approve(chosen, among: waiting, context)
    try await context.node.close()
    if options.json {
      try Output.json(
        Document(
          person: request.personName, device: request.deviceName, role: chosen.role.name))
    } else {
      let isOwn = chosen.request.group != context.zone.group
      Output.print(
        isOwn
          ? "\(Style.safe(request.deviceName)) shares your private database now"
          : "\(name) is \(RoleWords.a(chosen.role)) of \(Style.safe(context.zone.name)) now: "
            + RoleWords.may(chosen.role))
      if !isOwn, waiting.contains(where: { $0.isOf(chosen.request.device, besides: chosen) }) {
        Output.print("\(Style.safe(request.deviceName)) shares your private database too")
      }
      Output.note("next, on \(name)'s \(Style.safe(request.deviceName)): `hearth sync`")
    }
    try SyncText.check(report, isQuiet: true)
  }

  /// Lets a device in wherever it asks.
  private func approve(
    _ chosen: WaitingJoin, among waiting: [WaitingJoin], _ context: HouseholdContext
  ) async throws -> SyncReport {
    var report = try await context.node.approve(chosen, named: context.zone.name)
    for other in waiting where other.isOf(chosen.request.device, besides: chosen) {
      report = try await context.node.approve(other, named: DatabaseKind.personal.name)
    }
    return report
  }

  private func list(
    _ waiting: [WaitingJoin], _ context: HouseholdContext, _ report: SyncReport
  ) async throws {
    try await context.node.close()
    if options.json {
      try Output.json(
        ListDocument(
          requests: waiting.map {
            ListDocument.Item(
              person: $0.request.personName, device: $0.request.deviceName,
              deviceId: $0.request.device.hex, role: $0.role.name, invitedBy: $0.inviterName,
              number: $0.number, usedBy: $0.usedBy)
          }))
    } else if waiting.isEmpty {
      Output.note("nobody asks to join \(Style.safe(context.zone.name))")
    } else {
      for item in waiting {
        let request = item.request
        Output.print(
          "\(Style.bold(Style.safe(request.personName))) with \(Style.safe(request.deviceName)) "
            + "(\(ShortID.text(request.device))), "
            + (request.group == context.zone.group
              ? "as \(item.role.name), invited by " + Style.safe(item.inviterName)
              : "to your private database"))
        if let names = item.usedBy {
          Output.print(
            "  too late: the invitation was used by \(Style.safe(names.joined(separator: ", ")))")
        } else {
          Output.print("  number: \(item.number)")
        }
      }
      if waiting.contains(where: { $0.usedBy == nil }) {
        Output.note(
          "compare the number with the one on their device, then `hearth approve PERSON`")
      } else {
        Output.note("nobody can be let in: `hearth invite --approve` makes another invitation")
      }
    }
    try SyncText.check(report, isQuiet: true)
  }

  private func find(_ text: String, among waiting: [WaitingJoin]) throws -> WaitingJoin {
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
    case .none:
      throw CommandFailure(
        .failed, "\(ShownText.quoted(text)) has not asked to join",
        hint: waiting.isEmpty
          ? "the newcomer runs `hearth join LINK` first, and the folder must have brought it here"
          : "`hearth approve` lists who has")
    }
  }
}

extension WaitingJoin {
  /// Whether it is another open request of a device.
  fileprivate func isOf(_ device: DeviceID, besides other: WaitingJoin) -> Bool {
    request.device == device && request.group != other.request.group && usedBy == nil
  }
}

/// Invitations in words.
enum InviteText {
  private struct Document: Encodable {
    let link: String
    let household: String
    let role: String
    let admission: String
    let forOwnDevice: Bool
    let uses: Int
    let expires: String
  }

  /// `open`, `used`, `revoked` or `expired`.
  static func state(of invite: Membership.Invite, now: UInt64) -> String {
    if invite.isClosed {
      return invite.operation.expiresMilliseconds < now ? "expired" : "revoked"
    }
    if invite.usesLeft == 0 { return "used" }
    return invite.operation.expiresMilliseconds < now ? "expired" : "open"
  }

  /// Makes an invitation and prints its link.
  static func make(
    _ terms: InvitationTerms, in context: HouseholdContext, showsQR: Bool, _ options: CommonOptions
  ) async throws {
    let node = context.node
    let link = try await node.invite(to: context.zone.id, terms)
    if let warning = await node.riskWarning(of: context.zone.group) {
      Output.note("hearth: warning: \(warning)")
    }
    let expiry = await node.nowMilliseconds() + terms.expiresInMilliseconds
    let moment = try await MomentText.of(context).text(expiry)
    let name = await node.profile.personName
    try await node.close()
    if options.json {
      return try Output.json(
        Document(
          link: link.text, household: context.zone.name, role: terms.role.name,
          admission: terms.needsApproval ? "approve" : "auto", forOwnDevice: terms.isToOneself,
          uses: terms.maximumUses, expires: MomentText.iso(expiry)))
    }
    let place = Style.safe(context.zone.name)
    if terms.isToOneself {
      Output.note("a link for a further device of yours in \(place), good until \(moment)")
      if terms.needsApproval {
        Output.note(
          "the device asks: an owner or admin of \(place) lets it in, and you into your private "
            + "database: `hearth approve`")
      }
      Output.note(
        "on the new device: `hearth init --person \(Style.safe(name))`, then `hearth join` and "
          + "this:")
    } else {
      Output.note(
        "an invitation to \(place) as \(terms.role.name), good for "
          + "\(Words.count(terms.maximumUses, "device")) until \(moment)")
      if terms.needsApproval {
        Output.note("whoever has it asks, and you let them in: `hearth approve`")
      }
      Output.note("on the other device: `hearth init --person NAME`, then `hearth join` and this:")
    }
    if showsQR { try QRText.show(link.text) }
    Output.print(link.text)
  }
}

/// QR codes on the terminal, between the remarks.
enum QRText {
  static func show(_ text: String) throws {
    let lines = try TerminalQR(code: try QRCode(text: text)).lines(width: Output.width)
    for line in lines { Output.note(line) }
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Creates, lists and revokes invitations.
struct InviteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite", abstract: "Let somebody join the household.",
    discussion: """
      The last line of the output is the link. Anybody with the link can join until it expires, so
      send it to one person only, over a channel that you trust. With --approve the link only lets
      them ask, and you or another admin approve: `hearth approve`. This is the default for admins
      and for links for several people, unless you add --at-once.

      Examples:
        hearth invite                          one member, within a week
        hearth invite --role child --qr        scanned from this screen
        hearth invite --approve --expires 2d   ask first
        hearth invite list
        hearth invite revoke 3f09aa12
      """,
    subcommands: [Create.self, List.self, Revoke.self], defaultSubcommand: Create.self)

  /// Creates an invitation.
  struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create", abstract: "Create an invitation.")

    @Option(help: "What the person may do: reader, child, member or admin.")
    var role = "member"

    @Flag(help: "The link only lets people ask; an admin approves them (`hearth approve`).")
    var approve = false

    @Flag(help: "The link needs no approval, even for an admin or several uses.")
    var atOnce = false

    @Option(help: "How long the link is valid: a number with m, h or d.")
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
      guard !(approve && atOnce) else {
        throw CommandFailure(.usage, "--approve and --at-once exclude each other")
      }
      let needsApproval = approve || !atOnce && (role == .admin || uses > 1)
      let duration = try Duration.milliseconds(expires)
      let context = try await HouseholdContext.open(options)
      let gate = try await context.roleGate()
      try gate.requireAdmin(to: "invite anybody")
      try gate.requireGiving(role)
      try await InviteText.make(
        InvitationTerms(
          role: role, needsApproval: needsApproval, maximumUses: uses,
          expiresInMilliseconds: duration),
        in: context, showsQR: qr, options)
    }
  }

  /// Lists the invitations.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the invitations.")

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
      let membership = try await node.membership(of: context.zone.group)
      let moment = try await MomentText.of(context)
      let now = await node.nowMilliseconds()
      try await node.close()
      func name(_ id: PersonID) -> String { membership.person(id)?.name ?? "an unknown person" }
      func maker(_ invite: InvitationRecord) -> String {
        membership.person(of: invite.creator)?.name ?? "an unknown person"
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
        return Output.note("no invitations yet: `hearth invite` creates one")
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

  /// Revokes an invitation.
  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke",
      abstract: "Revoke an invitation, so that nobody can join with it any more.",
      discussion: """
        People who have joined stay. An invitation without approval contains keys, so the household
        gets new ones.
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
      let gate = try await context.roleGate()
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
      let isOwn = gate.membership.device(invite.creator)?.person == own.id
      // What somebody closed without the rank to end it can be ended by its maker, or from above.
      guard !invite.isClosed || !invite.isEnded && (isOwn || own.role.rank > invite.rank) else {
        throw CommandFailure(.failed, "this invitation is already revoked")
      }
      if !isOwn {
        try gate.requireAdmin(to: "revoke the invitations of others")
      }
      try await context.node.invitations.close(
        invite.operation.invite, of: context.zone.group)
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(
            id: invite.operation.invite.hex, role: invite.operation.role.name,
            joined: invite.joins.count))
      } else {
        Output.print(
          "revoked: nobody can join any more with invitation "
            + ShortID.text(invite.operation.invite)
        )
        if invite.operation.admission == .auto, own.role != .reader {
          Output.print("new keys were created, as its link contains the old ones")
        }
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }
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
  static func state(of invite: InvitationRecord, now: UInt64) -> String {
    switch ZoneInvitation.State(of: invite, nowMilliseconds: now) {
    case .open: "open"
    case .used: "used"
    case .closed: "revoked"
    case .expired: "expired"
    }
  }

  /// Creates an invitation and prints its link.
  static func make(
    _ terms: InvitationTerms, in context: HouseholdContext, showsQR: Bool, _ options: CommonOptions
  ) async throws {
    let node = context.node
    let link = try await node.invitations.create(to: context.zone.id, terms)
    if let warning = try await node.people.riskWarning(of: context.zone.group) {
      Output.note("hearth: warning: \(warning)")
    }
    let expiry = await node.nowMilliseconds() + terms.expiresInMilliseconds
    let moment = try await MomentText.of(context).text(expiry)
    let name = await node.profile.personName
    if options.json {
      try Output.json(
        Document(
          link: link.text, household: context.zone.name, role: terms.role.name,
          admission: terms.needsApproval ? "approve" : "auto", forOwnDevice: terms.isToOneself,
          uses: terms.maximumUses, expires: MomentText.iso(expiry)))
    } else {
      let membership = try await node.membership(of: context.zone.group)
      introduce(terms, until: moment, in: context, to: name, membership)
      if showsQR { QRText.show(link.text) }
      Output.print(link.text)
    }
    do {
      try StandardStream.requireWritten()
    } catch let failure as CommandFailure {
      try await node.invitations.withdraw(link, of: context.zone.id)
      throw CommandFailure(
        failure.status, failure.message,
        hint: "nobody received the link, so the invitation was closed again")
    }
    try await node.close()
  }

  /// Explains a link and its use.
  private static func introduce(
    _ terms: InvitationTerms, until moment: String, in context: HouseholdContext, to name: String,
    _ membership: Membership
  ) {
    let place = Style.safe(context.zone.name)
    if terms.isToOneself {
      Output.note("a link for another device of yours in \(place), valid until \(moment)")
      if terms.needsApproval {
        Output.note(
          "an owner or admin of \(place) must approve the device, and you for your private "
            + "database: `hearth approve`")
      }
      Output.note(
        "on the new device: `hearth join - --person \(ShellText.word(Style.safe(name)))`, "
          + "and paste this:")
    } else if let person = terms.person {
      let owner = Style.safe(membership.person(person)?.name ?? "somebody")
      Output.note("a link for a new device of \(owner) in \(place), valid until \(moment)")
      Output.note(
        "on the new device: `hearth join - --person \(ShellText.word(owner))`, and paste this:")
    } else {
      Output.note(
        "an invitation to \(place) as \(terms.role.name), valid for "
          + "\(Words.count(terms.maximumUses, "device")) until \(moment)")
      if terms.needsApproval {
        Output.note("the link only lets people ask; you approve them with `hearth approve`")
      }
      Output.note("on the other device: `hearth join - --person NAME`, and paste this:")
    }
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// The devices of the household.
struct DeviceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device", abstract: "The devices of the household: list, add, rename, revoke.",
    discussion: """
      Examples:
        hearth device                      which devices there are, and what each has
        hearth device add --qr             a link for another device of yours
        hearth device rename phone "old phone"
        hearth device revoke "old phone"   it is lost: it receives nothing new
      """,
    subcommands: [List.self, Add.self, Rename.self, Revoke.self], defaultSubcommand: List.self)

  /// Lists the devices.
  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the devices and what each of them has.",
      discussion: """
        HAS shows what a device had when it last reported: with every change that it makes, and
        once a day if it only reads. It may have more by now. PRIVATE shows whether a device of
        yours shares your private database.
        """)

    @Flag(help: "Also those that no longer belong to the household.") var all = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      struct Item: Encodable {
        let name: String
        let id: String
        let person: String
        let role: String?
        let since: String
        let isThisDevice: Bool
        let isActive: Bool
        let lastSeen: String?
        let hasEverything: Bool?
        let missingChanges: UInt64?
        /// Whether it shares the private database; absent for other people's devices.
        let hasPrivateDatabase: Bool?
      }
      let devices: [Item]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let node = context.node
      let names = try await PeopleNames.of(context)
      let membership = names.membership
      let moment = try await MomentText.of(context)
      let own = await node.device
      let progress = Dictionary(
        uniqueKeysWithValues: try await node.diagnostics.progress(in: context.zone.group).map {
          ($0.device, $0)
        })
      let personal = try await PrivateText.Devices(of: node)
      try await node.close()
      let shown = all ? membership.allDevices : membership.devices
      if options.json {
        return try Output.json(
          Document(
            devices: shown.map { device in
              let progress = progress[device.id]
              return Document.Item(
                name: names.name(of: device.id), id: device.id.hex,
                person: membership.person(device.person)?.name ?? "",
                role: membership.role(of: device.id)?.name,
                since: MomentText.iso(device.since.milliseconds), isThisDevice: device.id == own,
                isActive: device.isActive,
                lastSeen: progress?.seenMilliseconds.map(MomentText.iso),
                hasEverything: progress.map { $0.missing == 0 },
                missingChanges: progress?.missing,
                hasPrivateDatabase: personal.has(device))
            }))
      }
      let people = ShownNames(of: membership, withFormer: all)
      let rows = shown.map { device in
        [
          ShortID.text(device.id), names.name(of: device.id),
          people.markedName(of: device.person) ?? "nobody",
          membership.role(of: device.id)?.name ?? "none",
          progress[device.id]?.seenMilliseconds.map(moment.text) ?? "",
          has(device, progress[device.id], moment),
          personal.has(device).map { $0 ? "yes" : "no" } ?? "", device.id == own ? "this one" : "",
        ]
      }
      Output.print(
        Table(
          headers: ["DEVICE", "NAME", "PERSON", "ROLE", "LAST SEEN", "HAS", "PRIVATE", ""],
          rows: rows
        ).text)
      if let hint = personal.hint(for: shown) { Output.note(hint) }
    }

    private func has(
      _ device: MemberDevice, _ progress: DeviceProgress?, _ moment: MomentText
    ) -> String {
      guard device.isActive else { return "no access" }
      guard let progress, let seen = progress.seenMilliseconds else { return "not known" }
      return progress.missing == 0
        ? "everything up to \(moment.text(seen))"
        : "all but \(Words.count(Int(clamping: progress.missing), "change"))"
    }
  }

  /// Creates an invitation for another device of the same person.
  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add", abstract: "Create a link for a new device of yours, or somebody else's.",
      discussion: """
        The last line of the output is the link. On the new device: `hearth join - --person
        NAME` with your name, and the link. The device is then yours, with your role and points, and
        shares your private database: the settings of scope person. With --approve
        the link contains no keys: an owner or admin approves the device for the household, and you
        for your private database (`hearth approve`).

        Use --for for a person who lost every device: an owner or admin creates the link for a
        person of a lower role, who keeps points, turns and badges. People of the same or a higher
        role need their own recovery words or another device of theirs.
        """)

    @Option(name: .customLong("for"), help: "The person whose new device it is, if not you.")
    var owner: String?
    @Option(help: "How long the link is valid: a number with m, h or d.") var expires = "1h"
    @Flag(help: "The link only lets the device ask (`hearth approve`).") var approve = false
    @Flag(help: "Also show the link as a QR code.") var qr = false
    @OptionGroup var options: CommonOptions

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let gate = try await context.roleGate()
      let own = try gate.requireMember()
      var terms = InvitationTerms(
        role: own.role, needsApproval: approve, isToOneself: true, maximumUses: 1,
        expiresInMilliseconds: try Duration.milliseconds(expires))
      if let owner {
        let person = try await PeopleNames.of(context).person(owner)
        if person.id != own.id {
          let name = Style.safe(person.name)
          guard person.role.rank < own.role.rank else {
            throw CommandFailure(
              .notAllowed, "only a person of a higher role can add a new device of \(name)",
              hint: "\(name) can use recovery words (`hearth recover`), or create a link "
                + "on another device (`hearth device add`)")
          }
          try gate.requireAdmin(to: "add a new device of \(name)")
          terms.isToOneself = false
          terms.person = person.id
          terms.role = person.role
        }
      }
      try await InviteText.make(terms, in: context, showsQR: qr, options)
    }
  }

  /// Renames a device.
  struct Rename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rename", abstract: "Give a device another name, for everybody.")

    @Argument(help: "The device, by name or id.") var device: String
    @Argument(help: "Its new name.") var name: String
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let device: String
      let name: String
      let was: String
    }

    func run() async throws {
      let name = try Name.checked(self.name, what: "a device's name")
      let context = try await HouseholdContext.open(options)
      let node = context.node
      let names = try await PeopleNames.of(context)
      let gate = try await context.roleGate()
      let device = try names.device(self.device)
      if device.person != gate.person?.id {
        try gate.requireAdmin(to: "rename \(Style.safe(names.fullName(of: device.id)))")
      }
      let operations = SettingRecord.operations(
        PeopleNames.setting(of: device.id), name, in: context.zone.id)
      try gate.check(operations)
      try await node.write(to: context.zone.id) { _, _ in (operations, ()) }
      if device.id == (await node.device) { try await node.people.renameDevice(name) }
      try await node.close()
      let was = names.fullName(of: device.id)
      if options.json {
        return try Output.json(
          Document(device: device.id.hex, name: name, was: names.name(of: device.id)))
      }
      Output.print("\(Style.safe(was)) is called \(Style.safe(name)) now")
      Output.note("next: `hearth sync`, so that the others see it")
    }
  }

  /// Ends a device's access.
  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", abstract: "Revoke a device that is lost, stolen or sold.",
      discussion: """
        The household gets new keys at once. The device keeps its data and receives nothing new;
        its person stays. Everybody may revoke their own devices; admins may revoke those of people
        below them.
        """)

    @Argument(help: "The device, by name or id.") var device: String
    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let device: String
      let name: String
      let person: String
      let devicesLeft: Int
      let newKeys: Int
      /// Whether it also lost your private database.
      let privateDatabase: Bool
      /// Whether its person should rotate the recovery words, because the device knows the location
      /// of their recovery bundle.
      let wordsToRotate: Bool
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let node = context.node
      try await Telling.first(node)
      let names = try await PeopleNames.of(context)
      let gate = try await context.roleGate()
      let device = try names.device(self.device, isForGood: true)
      let name = Style.safe(names.fullName(of: device.id))
      try gate.requireMember()
      guard device.id != (await node.device) else {
        throw CommandFailure(
          .failed, "you are using this device, and only another device can revoke it",
          hint: "use another device of yours, or `hearth member leave`")
      }
      if device.person != gate.person?.id, let owner = names.membership.person(device.person) {
        try gate.requireAbove(owner, to: "revoke \(name)")
      }
      try Confirmation.ask("revoke \(name)? it never receives anything again", isGiven: yes)
      let hadPrivate = try await PrivateText.Devices(of: node).has(device) == true
      let hasWords = names.membership.recovery.recoveryKeys(of: device.person) != nil
      try await node.people.revoke(device.id, from: context.zone.group)
      let keys = await node.allZones().count { $0.group == context.zone.group }
      let left = try await node.membership(of: context.zone.group).devices
        .count { $0.person == device.person }
      let report = try await Telling.others(node)
      let document = Document(
        device: device.id.hex, name: names.name(of: device.id),
        person: names.membership.person(device.person)?.name ?? "", devicesLeft: left,
        newKeys: keys, privateDatabase: hadPrivate, wordsToRotate: hasWords)
      if options.json {
        try Output.json(document)
      } else {
        let isOwn = device.person == gate.person?.id
        Revoke.show(document, of: name)
        if !isOwn || !report.hasReachedAll { Output.note(Telling.words(report)) }
        Revoke.noteNextSteps(after: document, isOwn: isOwn)
      }
      try SyncText.check(report, isQuiet: true)
    }

    private static func show(_ document: Document, of name: String) {
      Output.print("revoked \(name): it keeps its data and receives nothing new")
      Output.print(
        "new keys were created: it cannot open changes from now on"
          + (document.privateDatabase ? ", nor those of your private database" : ""))
      Output.print(
        "\(Style.safe(document.person)) has \(Words.count(document.devicesLeft, "device")) left")
    }

    private static func noteNextSteps(after document: Document, isOwn: Bool) {
      let person = Style.safe(document.person)
      if isOwn {
        if document.wordsToRotate {
          Output.note(
            "next: `hearth words rotate`, as that device knows where your recovery bundle is "
              + "and could damage it")
        }
        Output.note("next: `hearth device add` on this device creates a link for a new one")
      } else if document.devicesLeft > 0, document.wordsToRotate {
        Output.note(
          "ask \(person) to rotate the recovery words (`hearth words rotate`): that device knows "
            + "where their recovery bundle is")
      } else if document.devicesLeft == 0 {
        Output.note(
          "\(person) can return with recovery words (`hearth recover`); without them an owner or "
            + "admin adds a new device: `hearth device add --for \(ShellText.word(person))`")
      }
    }
  }
}

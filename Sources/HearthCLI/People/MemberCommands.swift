import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// The people of the household.
struct MemberCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "member",
    abstract: "The people of the household: list, role, remove, merge, leave.",
    discussion: """
      Examples:
        hearth member                 who belongs to the household
        hearth member role Ben child  give Ben the role child
        hearth member remove Dan      Dan receives nothing new, but keeps his data
        hearth member merge Zoë Zoë   she was removed and came back: merge both
        hearth member leave           leave the household yourself
      """,
    subcommands: [List.self, SetRole.self, Remove.self, Merge.self, Leave.self],
    defaultSubcommand: List.self)

  /// Lists the people.
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
        /// The ids of people whose names look like this one; absent if there are none.
        let looksLike: [String]?
        /// The ids of former members merged into this person; absent if there are none.
        let merged: [String]?
      }
      let members: [Item]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      let node = context.node
      let membership = try await node.membership(of: context.zone.group)
      let moment = try await MomentText.of(context)
      let own = await node.person
      let merges = try await context.read { $0.people.merges }
      let people = membership.people.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
      try await node.close()
      func devices(_ person: Member) -> Int {
        membership.devices.count { $0.person == person.id }
      }
      let names = ShownNames(of: membership)
      if options.json {
        return try Output.json(
          Document(
            members: people.map { person in
              let others = names.lookAlikes(of: person.id)
              let merged = merges.others(countingAs: person.id)
              return Document.Item(
                name: person.name, id: person.id.hex, role: person.role.name,
                since: MomentText.iso(person.since.milliseconds),
                devices: devices(person), isThisPerson: person.id == own,
                looksLike: others.isEmpty ? nil : others.map(\.id.hex),
                merged: merged.isEmpty ? nil : merged.map(\.hex))
            }))
      }
      let rows = people.map { person in
        [
          names.name(of: person.id) ?? person.name, person.role.name,
          "\(devices(person))",
          moment.text(person.since.milliseconds), person.id == own ? "you" : "",
        ]
      }
      Output.print(
        Table(headers: ["NAME", "ROLE", "DEVICES", "SINCE", ""], rows: rows, rightAligned: [2])
          .text)
    }
  }

  /// Changes a person's role.
  struct SetRole: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "role", abstract: "Give somebody another role.",
      discussion: """
        Roles; each includes the rights of those below it:
          admin   invites, approves, removes, gives lower roles, closes weeks
          member  adds and changes chores, points and settings
          child   does, undoes and skips chores
          reader  sees everything and changes nothing
        You can give roles below your own, to people below you, and lower your own.
        A new role does not affect earlier changes.

        Examples:
          hearth member role Ben child
          hearth member role Cleo admin
        """)

    @Argument(help: "The person.") var person: String
    @Argument(help: "admin, member, child or reader.") var role: String
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let person: String
      let personId: String
      let role: String
      let was: String
    }

    func run() async throws {
      let role = try RoleWords.role(role)
      let context = try await HouseholdContext.open(options)
      let gate = try await context.roleGate()
      let subject = try PeopleNames(membership: gate.membership, renamed: [:]).person(person)
      guard subject.role != role else {
        throw CommandFailure(
          .failed, "\(Style.safe(subject.name)) is already \(RoleWords.a(role))")
      }
      if subject.id == gate.person?.id {
        try gate.requireMember()
        if subject.role == .owner {
          throw CommandFailure(
            .notAllowed, "you stay the owner until somebody else becomes it",
            hint: "`hearth owner transfer PERSON`")
        }
        if role.rawValue > subject.role.rawValue { try gate.requireGiving(role) }
      } else {
        try gate.requireAbove(subject, to: "change the role of \(Style.safe(subject.name))")
        try gate.requireGiving(role)
      }
      try await context.node.people.setRole(of: subject.id, to: role, in: context.zone.group)
      let report = try await Telling.others(context.node)
      if options.json {
        try Output.json(
          Document(
            person: subject.name, personId: subject.id.hex, role: role.name,
            was: subject.role.name))
      } else {
        Output.print(
          "\(Style.safe(subject.name)) is \(RoleWords.a(role)) now, was "
            + "\(RoleWords.a(subject.role)): \(RoleWords.may(role))")
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }
  }

  /// Removes a person.
  struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove", abstract: "Remove somebody with all devices.",
      discussion: """
        The household gets new keys at once, so the person's devices cannot open later changes.
        They keep the data that they have; nobody can undo that. Changes of theirs that you had not
        received have no effect and are kept in `hearth quarantine`.
        """)

    @Argument(help: "The person.") var person: String
    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let person: String
      let personId: String
      let devices: [String]
      let newKeys: Int
      let changesKept: UInt64
      let quarantined: Int
      /// The titles of chores with the person as assignee or in the rotation.
      let chores: [String]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      // The removal must not take back changes of the person that others already have.
      try await Telling.first(context.node)
      let gate = try await context.roleGate()
      let names = try await PeopleNames.of(context)
      let subject = try names.person(person)
      let name = Style.safe(subject.name)
      let hasOffer = gate.membership.offers.contains { $0.to == subject.id }
      if subject.id == gate.person?.id {
        try gate.requireMember()
        throw CommandFailure(
          .failed, "you cannot remove yourself", hint: "`hearth member leave`")
      }
      try gate.requireAbove(subject, to: "remove \(name)")
      let devices = names.membership.devices.filter { $0.person == subject.id }
        .map { names.name(of: $0.id) }
      let place = Style.safe(context.zone.name)
      try Confirmation.ask(
        "remove \(name) and \(Words.count(devices.count, "device")) from \(place)?", isGiven: yes)
      let group = context.zone.group
      try await context.node.people.remove(subject.id, from: group)
      let zones = await context.node.allZones().filter { $0.group == group }
      let kept = zones.filter { $0.kind == .data }.flatMap(\.heads).reduce(0) { $0 + $1.sequence }
      let report = try await context.node.sync()
      let chores = try await ChoreNames.left(by: subject.id, in: context)
      let quarantined = try await context.node.quarantine.list(in: group)
        .filter { names.membership.device($0.author.device)?.person == subject.id }
        .reduce(0) { $0 + $1.changes.count }
      try await context.node.close()
      let document = Document(
        person: subject.name, personId: subject.id.hex, devices: devices, newKeys: zones.count,
        changesKept: kept, quarantined: quarantined, chores: chores)
      if options.json {
        try Output.json(document)
      } else {
        show(document, from: place, hasOffer: hasOffer)
        Output.note(Telling.words(report))
      }
      try SyncText.check(report, isQuiet: true)
    }

    private func show(_ document: Document, from place: String, hasOffer: Bool) {
      let name = Style.safe(document.person)
      Output.print("removed \(name) from \(place), with \(Style.safe(list(document.devices)))")
      Output.print(
        "\(name) keeps the existing data (up to "
          + "\(Words.count(Int(clamping: document.changesKept), "change"))); nobody can undo that")
      Output.print("new keys were created: \(name)'s devices cannot open changes from now on")
      if hasOffer {
        Output.note(
          "hearth: warning: \(name) has your offer of \(place), and can become its owner by "
            + "accepting before this arrives: check `hearth owner` after the next "
            + "`hearth sync`")
      }
      Output.print(
        document.quarantined == 0
          ? "quarantine: empty; unsynced and later changes of \(name) have no effect "
            + "and go there: `hearth quarantine adopt` adopts them"
          : "quarantine: \(Words.count(document.quarantined, "change")) of \(name) that you had "
            + "not seen: `hearth quarantine`")
      if let words = ChoreNames.words(onChores: document.chores, leftBy: document.person) {
        Output.note(words)
      }
    }

    private func list(_ names: [String]) -> String {
      names.isEmpty ? "no device" : names.joined(separator: " and ")
    }
  }

  /// Leaves the household.
  struct Leave: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "leave", abstract: "Leave the household with all your devices.",
      discussion: """
        This device first publishes its changes. You keep the data on your devices, and receive
        nothing new. An owner must first transfer the ownership: `hearth owner transfer PERSON`.
        """)

    @Flag(help: "Do not ask.") var yes = false
    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
      let household: String
      let person: String
      let devices: Int
      /// The titles of chores with this person as assignee.
      let chores: [String]
    }

    func run() async throws {
      let context = try await HouseholdContext.open(options)
      // Somebody may have removed this person meanwhile; a removed person cannot leave.
      try await Telling.first(context.node)
      let gate = try await context.roleGate()
      let own = try gate.requireMember()
      let place = Style.safe(context.zone.name)
      if own.role == .owner {
        let others = gate.membership.people.filter { $0.id != own.id }
        throw CommandFailure(
          .notAllowed, "you own \(place) and must transfer it before you leave",
          hint: others.isEmpty
            ? "you are its only member: to delete it, delete this node's folder"
            : "`hearth owner transfer PERSON`, and leave when they have accepted")
      }
      let devices = gate.membership.devices.count { $0.person == own.id }
      try Confirmation.ask(
        "leave \(place) with \(Words.count(devices, "device"))?", isGiven: yes)
      let chores = try await ChoreNames.left(by: own.id, in: context)
      let report = try await context.node.people.leave(context.zone.group)
      try await context.node.close()
      if options.json {
        try Output.json(
          Document(household: context.zone.name, person: own.name, devices: devices, chores: chores)
        )
      } else {
        Output.print("you have left \(place), with \(Words.count(devices, "device"))")
        Output.print("you keep the data on this device and receive nothing new")
        if let words = ChoreNames.words(onChores: chores, leftBy: nil) { Output.note(words) }
        Output.note("next: nothing; the others create new keys when they receive this")
      }
      try SyncText.check(report, isQuiet: true)
    }
  }
}

import ArgumentParser
import Hearth
import HearthCRDT
import HearthRelayProtocol
import HearthSync
import Household

/// `hearth add`.
struct AddChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add", abstract: "Add a chore.",
    discussion: """
      A chore with the title of an open one is added too, with a warning: both may be meant.
      With --template a followed catalogue supplies missing values; `hearth public list --type
      chore-template` lists the templates.
      """)
  @OptionGroup var common: CommonOptions
  @Argument(
    help: ArgumentHelp(
      "The chore's title, with or without quotes; - reads it from standard input.",
      valueName: "title"))
  var words: [String] = []
  @Option(help: "A chore template of a followed catalogue: its id, or chore-template/ID.")
  var template: String?
  @Option(
    parsing: .unconditional,
    help: "Its points, 0 to 100000; by default those of the template, or 0.")
  var points: String?
  @Option(help: "The person who does it.") var assign: String?
  @OptionGroup var turns: TurnOptions
  @OptionGroup var time: ChoreTimeOptions
  @Option(name: .customLong("tag"), help: "A tag; repeatable.") var tags: [String] = []
  @Option(help: "A note.") var note: String = ""

  func run() async throws {
    guard !words.isEmpty || template != nil else {
      throw CommandFailure(
        .usage, "a chore needs a title", hint: "write one, or name a template with --template")
    }
    guard assign == nil || turns.rotate == nil else {
      throw CommandFailure(.usage, "--assign and --rotate exclude each other")
    }
    let typed = words == ["-"] ? try StandardInput.text() : words.joined(separator: " ")
    let household = try await HouseholdContext.open(common)
    let model = try await template(on: household.node)
    let title = words.isEmpty ? model.title : typed
    let worth = try NumberWords.points(points ?? model.points)
    let today = try await household.today().date
    let now = await household.node.nowMilliseconds()
    let (draft, gate) = (self, try await household.roleGate())
    let (namesakes, id) = try await household.write(on: today) { state, builder in
      var chore = ChoreDraft(title: ShownText.normal(title))
      chore.note = ShownText.normal(draft.note.isEmpty ? model.note : draft.note)
      chore.points = worth
      chore.tags = (draft.tags + model.tags).map(ShownText.normal)
      let time = model.time(draft.time)
      chore.rule = try time.rule(
        today: today, weekStart: state.settings.weekStart, old: nil)
      if chore.rule == nil {
        chore.due = try time.day(today: today).flatMap { $0 }
        chore.time = try time.minute().flatMap { $0 }
      }
      if let name = draft.assign {
        chore.assignee = .person(
          try ChoreNames.person(name, in: state, gate, isToWork: true).id)
      }
      if let turns = try draft.turns.assignment(old: .nobody, in: state, gate) {
        chore.assignee = turns
      }
      return (
        try AddChore.namesakes(of: chore.title, in: state),
        try state.chores.add(chore, milliseconds: now, in: &builder)
      )
    }
    if let twin = namesakes.first {
      Output.note(
        "hearth: warning: there is an open chore \(ShownText.quoted(twin.title)) already "
          + "(\(twin.id.hex.prefix(8))); if they are one, `hearth archive \(id.hex.prefix(8))`")
    }
    try ChoreActivity("added", id, ShownText.normal(title)).tell(
      common, "added \(ShownText.quoted(title)) (\(id.hex.prefix(8)))")
  }

  /// Returns the open chores of the same title, without regard to case.
  private static func namesakes(
    of title: String, in state: HouseholdState
  ) throws -> [ChoreTitle] {
    let folded = NameFolding.fold(title)
    return try state.chores.titles(includingArchived: false).filter {
      try NameFolding.fold($0.title) == folded && state.chores.chore($0.id)?.next != nil
    }
  }

  /// Returns the selected template; an empty one if none is selected.
  private func template(on node: Node) async throws -> ChoreTemplate {
    guard let template else { return ChoreTemplate() }
    let path = try PublicGet.path(
      template.contains("/") ? template : "\(ChoreTemplate.type)/\(template)")
    guard path.type == ChoreTemplate.type else {
      throw CommandFailure(
        .usage, "\(path) is no chore template",
        hint: "`hearth public list --type \(ChoreTemplate.type)` lists the templates")
    }
    return ChoreTemplate(PublicText.body(of: try await node.catalogues.record(path).record))
  }
}

/// `hearth edit`.
struct EditChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: "Change a chore; a new rule applies from today on.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String
  @Option(help: "A new title.") var title: String?
  @Option(parsing: .unconditional, help: "Its points, 0 to 100000.") var points: String?
  @Option(help: "A new note; empty removes it.") var note: String?
  @OptionGroup var turns: TurnOptions
  @OptionGroup var time: ChoreTimeOptions
  @Option(name: .customLong("tag"), help: "A tag to add.") var tags: [String] = []
  @Option(name: .customLong("untag"), help: "A tag to remove.") var untags: [String] = []

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let today = try await household.today().date
    let (command, gate) = (self, try await household.roleGate())
    let (chore, title) = try await household.write(on: today) { state, builder in
      let chore = try ChoreNames.chore(command.name, in: state, of: .all)
      let edit = try command.edit(of: chore, in: state, gate, today: today)
      try state.chores.edit(chore.id, edit, in: &builder)
      return (chore, edit.title ?? chore.title)
    }
    try ChoreActivity("changed", chore.id, title).tell(
      common, "changed \(ShownText.quoted(chore.title))")
  }

  private func edit(
    of chore: ChoreView, in state: HouseholdState, _ gate: RoleGate, today: CivilDate
  ) throws -> ChoreEdit {
    var edit = ChoreEdit()
    edit.title = title.map(ShownText.normal)
    edit.note = note.map(ShownText.normal)
    edit.points = try points.map(NumberWords.points)
    edit.assignee = try turns.assignment(old: chore.assignment, in: state, gate)
    edit.addTags = tags.map(ShownText.normal)
    edit.removeTags = untags.map(ShownText.normal)
    let day = try time.day(today: today)
    let minute = try time.minute()
    if time.every == "never" {
      edit.rule = .some(nil)
    } else if time.saysRule || (chore.rule != nil && (day != nil || minute != nil)) {
      edit.rule = .some(
        try time.rule(today: today, weekStart: state.settings.weekStart, old: chore.rule))
      return try checked(edit)
    }
    edit.due = day
    edit.time = minute
    return try checked(edit)
  }

  private func checked(_ edit: ChoreEdit) throws -> ChoreEdit {
    guard edit != ChoreEdit() else {
      throw CommandFailure(.usage, "nothing to change", hint: "see `hearth help edit`")
    }
    return edit
  }
}

/// `hearth assign`.
struct AssignChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "assign", abstract: "Assign the next occurrence to a person, or to nobody.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String
  @Argument(help: "The person, or nobody.") var person: String
  @Flag(help: "Every occurrence from now on.") var always = false

  func run() async throws {
    let household = try await HouseholdContext.open(common)
    let (name, wanted, always) = (name, person, always)
    let gate = try await household.roleGate()
    if wanted == AssignChore.nobody {
      let chore = try await household.read { try ChoreNames.chore(name, in: $0) }
      guard !isNobodys(chore) else {
        return try ChoreActivity("assigned", chore.id, chore.title).tell(
          common, "\(ShownText.quoted(chore.title)) is nobody's already; nothing was changed")
      }
    }
    let (chore, person) = try await household.write { state, builder in
      let chore = try ChoreNames.chore(name, in: state)
      let person =
        wanted == AssignChore.nobody
        ? nil : try ChoreNames.person(wanted, in: state, gate, isToWork: true)
      if always || chore.rule == nil {
        var edit = ChoreEdit()
        edit.assignee = person.map { .person($0.id) } ?? .nobody
        try state.chores.edit(chore.id, edit, in: &builder)
      } else if let person {
        try state.overrides.assign(chore.id, to: person.id, in: &builder)
      } else {
        try state.overrides.release(chore.id, in: &builder)
      }
      return (chore, person?.name)
    }
    var activity = ChoreActivity("assigned", chore.id, chore.title)
    activity.person = person
    let day = isOfWhole(chore) ? nil : chore.next?.due
    try activity.tell(
      common,
      "assigned \(ShownText.quoted(chore.title))"
        + (day.map { " of \(DayWords.text($0))" } ?? "")
        + " to \(person.map { Style.safe($0) } ?? AssignChore.nobody)")
  }

  private static let nobody = "nobody"

  /// Whether the chore as a whole is assigned, and not only its next occurrence.
  private func isOfWhole(_ chore: ChoreView) -> Bool { always || chore.rule == nil }

  /// Whether there is nobody to take it from.
  private func isNobodys(_ chore: ChoreView) -> Bool {
    isOfWhole(chore)
      ? chore.assignment == .nobody : chore.next.map { $0.assignee == nil } ?? false
  }
}

/// `hearth archive`.
struct ArchiveChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "archive", abstract: "Hide a chore; its history and points stay.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String

  func run() async throws {
    let name = name
    let chore = try await HouseholdContext.open(common).write { state, builder in
      let chore = try ChoreNames.chore(name, in: state)
      try state.chores.archive(chore.id, in: &builder)
      return chore
    }
    try ChoreActivity("archived", chore.id, chore.title).tell(
      common, "archived \(ShownText.quoted(chore.title))")
  }
}

/// `hearth restore`.
struct RestoreChore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore", abstract: "Show an archived chore again.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The chore.") var name: String

  func run() async throws {
    let name = name
    let chore = try await HouseholdContext.open(common).write { state, builder in
      let chore = try ChoreNames.chore(name, in: state, of: .archivedFirst)
      guard chore.isArchived else {
        throw CommandFailure(
          .failed, "\(ShownText.quoted(chore.title)) is not archived", hint: "see `hearth list`")
      }
      try state.chores.restore(chore.id, in: &builder)
      return chore
    }
    try ChoreActivity("restored", chore.id, chore.title).tell(
      common, "restored \(ShownText.quoted(chore.title))")
  }
}

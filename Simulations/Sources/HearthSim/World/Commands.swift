import HearthCRDT
import HearthSync
import Household

/// What people do with their chores, as steps of a plan.
///
/// A chore is called by the name it was added under, whatever its title becomes.
struct Commands {
  /// The chores that were ever added, by their names in the plan.
  var chores: [String: RecordID] = [:]
  /// Everybody, by device name.
  var people: [String: PersonID] = [:]

  /// The verbs that write one transaction.
  static let verbs = [
    "add", "edit", "complete", "undo", "skip", "archive", "restore", "tag", "untag", "assign",
    "assign-once", "move", "set", "rename-self", "delete-person",
    "tally", "close", "undo-of", "challenge", "merge", "part",
  ]

  /// Carries out a step that writes.
  mutating func perform(_ step: Step, on device: SimDevice, at time: UInt64) throws -> Written {
    if step.verb == "challenge" {
      return try device.writeSource(at: time) { source, builder, now in
        let challenges = PersonChallenges(source: source, today: try device.today(at: time))
        try Commands.challenge(step, challenges, now: now, in: &builder)
      }
    }
    var added: RecordID?
    let commands = self
    let written = try device.write(at: time) { state, builder, now in
      switch step.verb {
      case "add":
        added = try state.chores.add(
          try commands.draft(step, state), milliseconds: now, in: &builder)
      case "edit":
        try state.chores.edit(try commands.chore(step), commands.edit(step), in: &builder)
      case "complete":
        try commands.complete(step, state, by: device.person, now: now, in: &builder)
      case "undo": try Commands.undo(step, state, by: device.person, in: &builder)
      case "undo-of":
        // As a changed program would, whatever its person may.
        guard let name = step.words.first, let person = commands.people[name],
          let entry = try state.ledger.lastUndoable(by: person)
        else { throw StepFailure("undo-of WHO") }
        try state.completions.undo(
          entry.event, by: device.person, isAdministrator: true, in: &builder)
      case "skip":
        try state.skips.add(
          try commands.chore(step), reason: step.value("because") ?? "",
          in: &builder)
      default: try commands.arrange(step, state, by: device.person, in: &builder)
      }
    }
    if let added, let name = step.words.first { chores[name] = added }
    return written
  }

  private func arrange(
    _ step: Step, _ state: HouseholdState, by person: PersonID, in builder: inout OperationBuilder
  ) throws {
    switch step.verb {
    case "archive": try state.chores.archive(try chore(step), in: &builder)
    case "restore": try state.chores.restore(try chore(step), in: &builder)
    case "tag", "untag":
      var edit = ChoreEdit()
      let tags = Array(step.words.dropFirst())
      if step.verb == "tag" { edit.addTags = tags } else { edit.removeTags = tags }
      try state.chores.edit(try chore(step), edit, in: &builder)
    case "assign":
      var edit = ChoreEdit()
      edit.assignee = try assignment(step.words.dropFirst().first ?? "nobody")
      try state.chores.edit(try chore(step), edit, in: &builder)
    case "assign-once":
      try state.overrides.assign(
        try chore(step), to: step.words.dropFirst().first.flatMap { people[$0] }, in: &builder)
    case "move":
      try state.overrides.move(
        try chore(step), to: try step.value("to").map { try CivilDate(iso: $0) }, in: &builder)
    case "set":
      guard step.words.count == 2 else { throw StepFailure("set KEY VALUE") }
      try state.storedSettings.set(
        step.words[0], step.words[1] == "-" ? nil : step.words[1], in: &builder)
    case "close":
      guard let text = step.words.first else { throw StepFailure("close FIRST-DAY-OF-WEEK") }
      let first = try CivilDate(iso: text)
      try state.periods.close(
        .week, first: first, last: first.adding(days: 6) ?? first, in: &builder)
    case "merge", "part":
      let named = try step.words.prefix(2).map { try self.person($0) }
      guard let first = named.first else { throw StepFailure("merge WHO INTO, or part WHO") }
      if step.verb == "part" {
        try state.people.undoMerge(of: first, in: &builder)
      } else {
        try state.people.merge(first, into: named.last ?? first, in: &builder)
      }
    case "rename-self":
      try state.people.create(
        person, name: step.words.first ?? "", milliseconds: 0, in: &builder)
    default: throw StepFailure("there is no verb \(step.verb)")
    }
  }

  private func person(_ name: String) throws -> PersonID {
    guard let person = people[name] else { throw StepFailure("there is no person \(name)") }
    return person
  }

  private func chore(_ step: Step) throws -> RecordID {
    guard let name = step.words.first, let id = chores[name] else {
      throw StepFailure("no chore of that name was added yet")
    }
    return id
  }

  private func complete(
    _ step: Step, _ state: HouseholdState, by person: PersonID, now: UInt64,
    in builder: inout OperationBuilder
  ) throws {
    let doer = step.value("by").flatMap { people[$0] } ?? person
    let day: CivilDate
    if let text = step.value("day") {
      day = try CivilDate(iso: text)
    } else {
      day = try CivilDate(dayNumber: Int(now / 86_400_000))
    }
    _ = try state.completions.add(
      try chore(step), occurrence: nil, by: doer, doneAt: (day, nil),
      milliseconds: now, isEarly: step.words.contains("early"), in: &builder)
  }

  private static func undo(
    _ step: Step, _ state: HouseholdState, by person: PersonID, in builder: inout OperationBuilder
  ) throws {
    guard let entry = try state.ledger.lastUndoable(by: person) else {
      throw StepFailure("there is nothing to undo")
    }
    try state.completions.undo(entry.event, by: person, in: &builder)
  }

  // MARK: Reading words

  private func draft(_ step: Step, _ state: HouseholdState) throws -> ChoreDraft {
    guard let name = step.words.first else { throw StepFailure("add NAME") }
    var draft = ChoreDraft(title: step.value("title") ?? name)
    draft.points = step.value("points").flatMap { Int($0) } ?? 0
    draft.note = step.value("note") ?? ""
    draft.due = try step.value("due").map { try CivilDate(iso: $0) }
    draft.rule = try step.value("rule").map { try RecurrenceRule(text: $0) }
    draft.tags = step.value("tags").map { $0.split(separator: ",").map(String.init) } ?? []
    draft.assignee = try assignment(step.value("assign") ?? "nobody")
    return draft
  }

  private func edit(_ step: Step) throws -> ChoreEdit {
    var edit = ChoreEdit()
    edit.title = step.value("title")
    edit.note = step.value("note")
    edit.points = step.value("points").flatMap { Int($0) }
    if let due = step.value("due") { edit.due = .some(due == "-" ? nil : try CivilDate(iso: due)) }
    if let rule = step.value("rule") {
      edit.rule = .some(rule == "-" ? nil : try RecurrenceRule(text: rule))
    }
    return edit
  }

  /// `nobody`, a name, or `date:A,B`.
  private func assignment(_ text: String) throws -> Assignment {
    if text == "nobody" { return .nobody }
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    if parts.count == 2 {
      let names = parts[1].split(separator: ",").compactMap { people[String($0)] }
      guard let kind = RotationKind(rawValue: parts[0]), !names.isEmpty else {
        throw StepFailure("\(text) is no rotation")
      }
      return .rotation(names, kind)
    }
    guard let person = people[text] else { throw StepFailure("\(text) is nobody here yet") }
    return .person(person)
  }
}

import HearthCRDT
import HearthSync

/// A chore's id and title.
package struct ChoreTitle: Sendable {
  package let id: RecordID
  package let title: String
  package let isArchived: Bool
}

/// The chores of a household.
package struct ChoreList {
  let context: DayContext
  let people: PeopleDirectory
  let occurrences: OccurrenceList

  /// Returns the chores, by title, then by id.
  package func all(includingArchived: Bool) throws -> [ChoreView] {
    let inactive = try people.inactive()
    return try context.source.ids(of: HouseholdSchema.chore).compactMap { id in
      guard let schedule = try occurrences.schedule(of: id, inactive: inactive) else { return nil }
      let view = try view(of: schedule)
      return view.isArchived && !includingArchived ? nil : view
    }
    .sorted { ($0.title, $0.id) < ($1.title, $1.id) }
  }

  /// Returns one chore; nil if no chore has this id.
  package func chore(_ id: RecordID) throws -> ChoreView? {
    try occurrences.schedule(of: id).map { try view(of: $0) }
  }

  private func view(of schedule: ChoreSchedule) throws -> ChoreView {
    let facts = schedule.facts
    let others = facts.state.entries.reduce(0) { sum, entry in
      switch entry.field {
      case .register(let register): sum + register.others.count
      case .history(let history): sum + max(0, history.current.count - 1)
      default: sum
      }
    }
    let assignment = facts.state.shown(ChoreField.assignment)?.text
    return ChoreView(
      id: facts.chore, title: facts.title, note: facts.note, points: facts.points,
      assignment: facts.assignment, due: facts.due, time: facts.time, rule: facts.rule,
      tags: facts.tags, isArchived: facts.isArchived,
      createdMilliseconds: UInt64(max(0, facts.state.shown(ChoreField.created)?.int ?? 0)),
      next: try occurrences.views(of: schedule, through: context.today).first,
      concurrentValues: others,
      needsUpdate: (facts.ruleText != nil && facts.rule == nil)
        || (assignment != nil && assignment.flatMap(Assignment.init(text:)) == nil))
  }

  /// Returns the chores' titles, in order of id, without computing when each is due.
  ///
  /// A search by name among ten thousand chores reads these titles and then one chore.
  package func titles(includingArchived: Bool) throws -> [ChoreTitle] {
    try titles(context.source.rows(of: HouseholdTables.chores, where: []), includingArchived)
  }

  /// Returns the chores of exactly this title, in order of id, from an index.
  package func titles(equalTo title: String, includingArchived: Bool) throws -> [ChoreTitle] {
    let range = RowRange(["title", "chore"], prefix: [.text(title)])
    return try titles(
      context.source.rows(of: HouseholdTables.chores, in: range), includingArchived)
  }

  private func titles(_ rows: [[Value]], _ includingArchived: Bool) throws -> [ChoreTitle] {
    rows.compactMap { row in
      let isArchived = row[2].bool == true
      guard let id = row[0].identifier, let title = row[1].text, includingArchived || !isArchived
      else { return nil }
      return ChoreTitle(id: id, title: title, isArchived: isArchived)
    }
  }

  /// Adds a chore and returns its id.
  ///
  /// - Throws: `badTitle`, `badNote`, `badPoints`, `badTags`, `badAssignment`.
  package func add(
    _ draft: ChoreDraft, milliseconds: UInt64, in builder: inout OperationBuilder
  ) throws -> RecordID {
    try Validation.title(draft.title)
    try Validation.note(draft.note)
    try Validation.points(draft.points)
    try Validation.tags(draft.tags)
    try Validation.assignment(draft.assignee)
    let id = builder.newID()
    let key = RecordKey(type: HouseholdSchema.chore, id: id)
    builder.append(key, .assign(ChoreField.title, .text(draft.title)))
    if !draft.note.isEmpty { builder.append(key, .assign(ChoreField.note, .text(draft.note))) }
    builder.append(key, .assign(ChoreField.points, .int(Int64(draft.points))))
    builder.append(key, .assign(ChoreField.assignment, .text(draft.assignee.text)))
    if let due = draft.due { builder.append(key, .assign(ChoreField.due, .day(due))) }
    if let time = draft.time { builder.append(key, .assign(ChoreField.time, .time(time))) }
    if let rule = draft.rule { builder.append(key, .assign(ChoreField.rule, .text(rule.text))) }
    for tag in draft.tags { builder.append(key, .include(ChoreField.tags, .text(tag))) }
    builder.append(key, .assign(ChoreField.created, .milliseconds(milliseconds)))
    return id
  }

  /// Changes fields of a chore; a new rule applies from today on (R6).
  ///
  /// - Throws: `noSuchChore` and what ``add(_:milliseconds:in:)`` throws.
  package func edit(
    _ id: RecordID, _ edit: ChoreEdit, in builder: inout OperationBuilder
  ) throws {
    let facts = try context.existingFacts(of: id)
    if let title = edit.title { try Validation.title(title) }
    if let note = edit.note { try Validation.note(note) }
    if let points = edit.points { try Validation.points(points) }
    if let assignee = edit.assignee { try Validation.assignment(assignee) }
    let kept = facts.tags.filter { !edit.removeTags.contains($0) && !edit.addTags.contains($0) }
    try Validation.tags(kept + edit.addTags)
    let key = RecordKey(type: HouseholdSchema.chore, id: id)
    func assign(_ field: FieldID, _ value: Value?) {
      if let value { builder.append(key, .assign(field, value)) }
    }
    assign(ChoreField.title, edit.title.map(Value.text))
    assign(ChoreField.note, edit.note.map(Value.text))
    assign(ChoreField.points, edit.points.map { .int(Int64($0)) })
    assign(ChoreField.assignment, edit.assignee.map { .text($0.text) })
    assign(ChoreField.due, edit.due.map { $0.map(Value.day) ?? .null })
    assign(ChoreField.time, edit.time.map { $0.map(Value.time) ?? .null })
    if let rule = edit.rule {
      assign(ChoreField.rule, rule.map { .text($0.text) } ?? .null)
      assign(ChoreField.ruleFrom, rule == nil ? .null : .day(context.today))
    }
    for tag in edit.removeTags { builder.append(key, .exclude(ChoreField.tags, .text(tag))) }
    for tag in edit.addTags { builder.append(key, .include(ChoreField.tags, .text(tag))) }
  }

  /// Hides a chore; its history and points remain (R4).
  package func archive(_ id: RecordID, in builder: inout OperationBuilder) throws {
    try setArchived(id, true, &builder)
  }

  /// Shows an archived chore again.
  package func restore(_ id: RecordID, in builder: inout OperationBuilder) throws {
    try setArchived(id, false, &builder)
  }

  private func setArchived(
    _ id: RecordID, _ isArchived: Bool, _ builder: inout OperationBuilder
  ) throws {
    _ = try context.existingFacts(of: id)
    let key = RecordKey(type: HouseholdSchema.chore, id: id)
    builder.append(key, .assign(ChoreField.archived, .bool(isArchived)))
  }
}

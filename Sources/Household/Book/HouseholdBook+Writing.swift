import HearthCRDT
import HearthSync

extension HouseholdBook {
  /// Records a person of the household.
  ///
  /// - Throws: `badName`, `badEmail`.
  package func createPerson(
    _ id: PersonID, name: String, email: String? = nil, milliseconds: UInt64,
    in builder: inout OperationBuilder
  ) throws {
    try Validation.name(name)
    let key = RecordKey(type: HouseholdSchema.person, id: id)
    if let email {
      guard email.utf8.count <= Validation.maximumEmailBytes, email.contains("@") else {
        throw HouseholdError(
          .badEmail, "\(quoted(email)) is not an e-mail address; write it like eva@example.org")
      }
    }
    builder.append(key, .assign(PersonField.name, .text(name)))
    if let email { builder.append(key, .assign(PersonField.email, .text(email))) }
    builder.append(key, .assign(PersonField.created, .milliseconds(milliseconds)))
  }

  /// Adds a chore and returns its id.
  ///
  /// - Throws: `badTitle`, `badNote`, `badPoints`, `badTags`, `badAssignment`.
  package func addChore(
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
  /// - Throws: `noSuchChore` and what ``addChore(_:milliseconds:in:)`` throws.
  package func editChore(
    _ id: RecordID, _ edit: ChoreEdit, in builder: inout OperationBuilder
  ) throws {
    let facts = try facts(of: id)
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
      assign(ChoreField.ruleFrom, rule == nil ? .null : .day(today))
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
    _ = try facts(of: id)
    let key = RecordKey(type: HouseholdSchema.chore, id: id)
    builder.append(key, .assign(ChoreField.archived, .bool(isArchived)))
  }

  /// Records that somebody did an occurrence.
  ///
  /// If no occurrence is named, a past day means the occurrence that was due then, if it is open.
  /// Otherwise the next open one is meant.
  ///
  /// - Parameter milliseconds: the present, or an instant of the present day with the time at which
  ///   the work was done; it is moved by whole days onto the day of the work (R9).
  /// - Parameter nowMilliseconds: the present, if `milliseconds` is another instant.
  /// - Parameter isEarly: permits a completion although the chore was done that day and is not due
  ///   again until later, which is usually the same work recorded twice.
  /// - Throws: `noSuchChore`, `choreArchived`, `badDay`, `noSuchOccurrence`, `alreadyDone`,
  ///   `doneThatDay`, `tooEarly`.
  package func complete(
    _ id: RecordID, occurrence: OccurrenceKey?, by person: PersonID,
    doneAt: (day: CivilDate, time: CivilTime?), milliseconds: UInt64,
    nowMilliseconds: UInt64? = nil, isEarly: Bool = false, in builder: inout OperationBuilder
  ) throws -> RecordID {
    try Validation.doneDay(doneAt.day, today: today)
    let (schedule, key) = try target(id, occurrence, doneOn: doneAt.day, ignoringClosed: person)
    let facts = schedule.facts
    if !isEarly, occurrence == nil { try refuseTwice(schedule, on: doneAt.day) }
    try refuseFarAhead(facts, key, on: doneAt.day)
    let isChain = facts.rule?.mode == .afterCompletion
    let instant = instant(
      on: doneAt.day, milliseconds, nowMilliseconds: nowMilliseconds ?? milliseconds)
    return builder.event(
      HouseholdSchema.completion,
      [
        EventField(CompletionField.chore, .id(id)),
        EventField(CompletionField.key, isChain ? .null : .int(key.rawValue)),
        EventField(CompletionField.person, .id(person)),
        EventField(CompletionField.day, .day(doneAt.day)),
        EventField(CompletionField.doneAt, .int(instant)),
        EventField(CompletionField.title, .text(facts.title)),
      ])
  }

  /// Refuses a completion that is most likely the same work recorded twice.
  ///
  /// The chore was done that day, and its next occurrence is still to come.
  private func refuseTwice(_ schedule: ChoreSchedule, on day: CivilDate) throws {
    guard schedule.facts.rule != nil,
      let due = try schedule.openings(through: today).first?.due, due > day,
      try schedule.log.credits(in: 1, through: day).isEmpty == false
    else { return }
    throw HouseholdError(
      .doneThatDay,
      "\(quoted(schedule.facts.title)) was already done on \(day), and is next due on \(due); say "
        + "that it was early if it was really done once more")
  }

  /// Refuses an occurrence that no replica would count yet, because another one comes before it.
  private func refuseFarAhead(
    _ facts: ChoreFacts, _ key: OccurrenceKey, on day: CivilDate
  ) throws {
    guard let rule = facts.rule else { return }
    guard rule.mode == .calendar else {
      let closed = ClosedDays(source, settings: settings)
      return try ChoreFold(facts: facts, closed: closed, source: source)
        .refuseLink(on: day, by: rule)
    }
    guard let occurrence = key.occurrence,
      OccurrenceTime.isTooEarly(
        occurrence, movedTo: facts.override(of: key)?.due, by: rule, on: day)
    else { return }
    let before = occurrence.date.adding(days: -1).flatMap { rule.latest(onOrBefore: $0) }
    let first = before?.adding(days: -1) ?? occurrence.date
    throw HouseholdError(
      .tooEarly,
      "\(quoted(facts.title)) of \(occurrence.date) is too far ahead to be done on \(day)"
        + (before.map { ": that of \($0) comes before it" } ?? "") + "; enter it from \(first) on")
  }

  /// Returns an instant of today, moved by whole days onto the day of the work.
  ///
  /// The instant stays within the bounds that every replica checks, with a margin of twice the lead
  /// that the clock of the change can have. So work of the first minutes of the earliest possible
  /// day still counts on every replica if it is recorded at the end of the last possible day.
  private func instant(
    on day: CivilDate, _ milliseconds: UInt64, nowMilliseconds: UInt64
  ) -> Int64 {
    let maximum = HybridTime.maximumMilliseconds
    let now = Int64(min(nowMilliseconds, maximum))
    let moved =
      Int64(min(milliseconds, maximum)) - Int64(day.days(until: today)) * 24 * 60 * 60 * 1000
    let oldest = now - ChoreFold.maximumAgeMilliseconds + 2 * ChoreFold.maximumLeadMilliseconds
    return max(0, min(max(moved, oldest), now))
  }

  /// Takes a completion back permanently (R11).
  ///
  /// - Parameter isAdministrator: whether `person` may undo other people's completions.
  /// - Throws: `noSuchEntry`, `alreadyUndone`, `notYours`, `periodClosed`.
  package func undo(
    _ event: RecordID, by person: PersonID, isAdministrator: Bool = false,
    in builder: inout OperationBuilder
  ) throws {
    guard let row = try row(event) else {
      throw HouseholdError(
        .noSuchEntry, "there is no completion \(event.hex); look it up in the history")
    }
    guard row.kind != .undone else {
      throw HouseholdError(
        .alreadyUndone, "\(quoted(row.title)) of \(row.day) is already undone; nothing to do")
    }
    let isOwn = [row.person, row.recordedBy].contains(merges.one(person))
    guard isAdministrator || isOwn else {
      throw HouseholdError(
        .notYours,
        "\(quoted(row.title)) of \(row.day) was done by somebody else; ask them or an "
          + "administrator to undo it")
    }
    let closed = ClosedDays(source, settings: settings)
    let closes = try PeriodKind.allCases.compactMap {
      try closed.close($0, on: Int(row.day.dayNumber))
    }
    if !isAdministrator, let close = closes.first {
      throw HouseholdError(
        .periodClosed,
        "the \(close.kind.rawValue) of \(row.day) is closed, so its points stay as they are; an "
          + "administrator can still undo \(quoted(row.title)), which then counts in a later "
          + close.kind.rawValue)
    }
    _ = builder.event(
      HouseholdSchema.retraction,
      [
        EventField(RetractionField.event, .id(event)),
        EventField(RetractionField.chore, .id(row.chore)),
      ])
  }

  /// Skips an occurrence: the next open one if none is named.
  ///
  /// - Throws: `badReason` and what `complete` throws.
  package func skip(
    _ id: RecordID, occurrence: OccurrenceKey? = nil, reason: String,
    in builder: inout OperationBuilder
  ) throws {
    guard reason.utf8.count <= Validation.maximumReasonBytes else {
      throw HouseholdError(
        .badReason,
        "the reason has \(reason.utf8.count) bytes; shorten it to \(Validation.maximumReasonBytes)")
    }
    let (_, key) = try target(id, occurrence)
    _ = builder.event(
      HouseholdSchema.skip,
      [
        EventField(SkipField.chore, .id(id)), EventField(SkipField.key, .int(key.rawValue)),
        EventField(SkipField.reason, reason.isEmpty ? .null : .text(reason)),
        EventField(SkipField.day, .day(today)),
      ])
  }

  /// Assigns one occurrence to a person, or returns it to the chore's own assignment.
  package func assignOccurrence(
    _ id: RecordID, occurrence: OccurrenceKey? = nil, to person: PersonID?,
    in builder: inout OperationBuilder
  ) throws {
    try override(id, occurrence, [(OccurrenceField.assignee, person.map(Value.id))], &builder)
  }

  /// Moves one occurrence to another day and time, or back to its own.
  ///
  /// The occurrence keeps its key, which is its original date. Moves to the same day on two devices
  /// are one move, and of two different moves the later one is shown (R6).
  ///
  /// - Throws: `badDay` for a day more than a year from today, and what `complete` throws.
  package func moveOccurrence(
    _ id: RecordID, occurrence: OccurrenceKey? = nil, to day: CivilDate?, at time: CivilTime? = nil,
    in builder: inout OperationBuilder
  ) throws {
    if let day, abs(today.days(until: day)) > Validation.maximumDaysAhead {
      throw HouseholdError(
        .badDay, "\(day) is more than a year from today (\(today)); move it to a nearer day")
    }
    try override(
      id, occurrence,
      [
        (OccurrenceField.due, day.map(Value.day)),
        (OccurrenceField.time, time.map(Value.time)),
      ], &builder)
  }

  private func override(
    _ id: RecordID, _ occurrence: OccurrenceKey?, _ fields: [(FieldID, Value?)],
    _ builder: inout OperationBuilder
  ) throws {
    let (_, key) = try target(id, occurrence)
    var name = ByteWriter(capacity: 32)
    name.identifier(id)
    name.signed(key.rawValue)
    let type = HouseholdSchema.occurrence
    let record = RecordKey(type: type, id: naturalID(in: source.zone, type: type, key: name.bytes))
    builder.append(record, .assign(OccurrenceField.chore, .id(id)))
    builder.append(record, .assign(OccurrenceField.key, .int(key.rawValue)))
    for (field, value) in fields { builder.append(record, .assign(field, value ?? .null)) }
  }

  /// Sets a household setting, or clears it.
  ///
  /// - Throws: `badSetting`.
  package func set(
    _ key: String, _ value: String?, in builder: inout OperationBuilder
  ) throws {
    guard HouseholdSettings.keys.contains(key) else {
      throw HouseholdError(
        .badSetting,
        "there is no setting \(quoted(key)); there are "
          + HouseholdSettings.keys.joined(separator: ", "))
    }
    if let value, let advice = HouseholdSettings.advice(for: key, value: value) {
      throw HouseholdError(
        .badSetting, "\(key) cannot be \(quoted(value)); use \(advice)")
    }
    let record = HouseholdSettings.recordKey(of: key, in: source.zone)
    builder.append(record, .assign(SettingField.key, .text(key)))
    builder.append(record, .assign(SettingField.value, value.map(Value.text) ?? .null))
  }

  // MARK: - Finding the occurrence

  private func facts(of id: RecordID) throws -> ChoreFacts {
    guard let facts = try ChoreFacts(id, from: source, merges: merges) else {
      throw noSuchChore(id)
    }
    return facts
  }

  private func noSuchChore(_ id: RecordID) -> HouseholdError {
    HouseholdError(
      .noSuchChore, "there is no chore \(id.hex) in this household; list the chores to see ids")
  }

  /// Returns the chore's schedule and the requested occurrence, which must be open.
  ///
  /// - Parameters:
  ///   - day: the day of the work; an earlier day means the occurrence that was due then.
  ///   - claimant: a person who may do an occurrence that others have done, where everybody is
  ///     paid.
  private func target(
    _ id: RecordID, _ occurrence: OccurrenceKey?, doneOn day: CivilDate? = nil,
    ignoringClosed claimant: PersonID? = nil
  ) throws -> (ChoreSchedule, OccurrenceKey) {
    guard let schedule = try schedule(of: id) else { throw noSuchChore(id) }
    let facts = schedule.facts
    guard !facts.isArchived else {
      throw HouseholdError(
        .choreArchived, "\(quoted(facts.title)) is archived; restore it first")
    }
    let key: OccurrenceKey
    if let occurrence {
      key = occurrence
    } else if let day, day < today, let past = try schedule.open(onOrBefore: day) {
      key = past
    } else if let next = try schedule.openings(through: today).first {
      key = next.key
    } else if facts.rule == nil {
      key = .once
    } else {
      throw HouseholdError(
        .noSuchOccurrence, "\(quoted(facts.title)) has no open occurrence; change its rule first")
    }
    try check(key, on: day ?? today, in: schedule, claimant: claimant)
    return (schedule, key)
  }

  private func check(
    _ key: OccurrenceKey, on day: CivilDate, in schedule: ChoreSchedule, claimant: PersonID?
  ) throws {
    let facts = schedule.facts
    let isUnreadable = facts.ruleText != nil && facts.rule == nil
    let place = isUnreadable ? OccurrenceKey.wholeDay(day) : key
    if let day = try schedule.log.lastDay(of: place) {
      let done = try schedule.log.rows(of: place, LedgerRow.Effect.allCases)
        .filter { $0.kind != .undone }
      let isFree = claimant.map { person in !done.contains { $0.person == merges.one(person) } }
      guard settings.duplicate == .each, isFree ?? false else {
        throw HouseholdError(
          .alreadyDone,
          "\(quoted(facts.title)) was already done on \(day); undo that first if it "
            + "is wrong")
      }
      return
    }
    let isKnown: Bool
    if let rule = facts.rule, rule.mode == .calendar {
      isKnown =
        key.occurrence.map { occurrence in
          rule.isOccurrence(occurrence)
            && today.days(until: occurrence.date)
              <= Validation.maximumDaysAhead - Validation.maximumDaysBack
        } ?? false
    } else if facts.rule != nil {
      isKnown = try schedule.openings(through: today).first?.key == key
    } else {
      isKnown = key == .once
    }
    guard isKnown else {
      let name = key.occurrence?.description ?? key.description
      throw HouseholdError(
        .noSuchOccurrence,
        "\(quoted(facts.title)) has no occurrence \(name) within a year; list what is due")
    }
  }
}

extension Value {
  static func milliseconds(_ milliseconds: UInt64) -> Value {
    .int(Int64(min(milliseconds, HybridTime.maximumMilliseconds)))
  }

  /// A minute of the day.
  static func time(_ time: CivilTime) -> Value { .int(Int64(time.minuteOfDay)) }
}

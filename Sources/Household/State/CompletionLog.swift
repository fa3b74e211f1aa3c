import HearthCRDT
import HearthSync

/// The completions of chores: recording that something was done, and taking it back.
package struct CompletionLog {
  let context: DayContext
  let occurrences: OccurrenceList
  let ledger: PointsLedger

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
  package func add(
    _ id: RecordID, occurrence: OccurrenceKey?, by person: PersonID,
    doneAt: (day: CivilDate, time: CivilTime?), milliseconds: UInt64,
    nowMilliseconds: UInt64? = nil, isEarly: Bool = false, in builder: inout OperationBuilder
  ) throws -> RecordID {
    try Validation.doneDay(doneAt.day, today: context.today)
    let (schedule, key) = try occurrences.target(
      id, occurrence, doneOn: doneAt.day, ignoringClosed: person)
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
      let due = try schedule.openings(through: context.today).first?.due, due > day,
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
      return try ChoreFold(facts: facts, closed: context.closed, source: context.source)
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
      Int64(min(milliseconds, maximum)) - Int64(day.days(until: context.today)) * 24 * 60 * 60
      * 1000
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
    guard let row = try ledger.row(event) else {
      throw HouseholdError(
        .noSuchEntry, "there is no completion \(event.hex); look it up in the history")
    }
    guard row.kind != .undone else {
      throw HouseholdError(
        .alreadyUndone, "\(quoted(row.title)) of \(row.day) is already undone; nothing to do")
    }
    let isOwn = [row.person, row.recordedBy].contains(context.merges.one(person))
    guard isAdministrator || isOwn else {
      throw HouseholdError(
        .notYours,
        "\(quoted(row.title)) of \(row.day) was done by somebody else; ask them or an "
          + "administrator to undo it")
    }
    let closes = try PeriodKind.allCases.compactMap {
      try context.closed.close($0, on: Int(row.day.dayNumber))
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
}

import HearthCRDT
import HearthSync

/// A skipped occurrence.
package struct SkipEntry: Equatable, Sendable {
  package let event: RecordID
  package let chore: RecordID
  package let choreTitle: String
  /// The calendar day; nil for a one-off chore or one whose rule counts from completion.
  package let date: CivilDate?
  package let version: Version
}

/// The skipped occurrences.
package struct SkipLog {
  let context: DayContext
  let occurrences: OccurrenceList

  /// Returns a person's last skip that was not taken back.
  ///
  /// Reads every skip of the household: they have no index by person, and a person asks for this
  /// rarely and by hand.
  package func last(by person: PersonID) throws -> SkipEntry? {
    var own: [(id: RecordID, state: EventState)] = []
    for id in try context.source.ids(of: HouseholdSchema.skip) {
      guard let state = try context.source.event(RecordKey(type: HouseholdSchema.skip, id: id)),
        try isOf(person, state)
      else { continue }
      own.append((id, state))
    }
    own.sort { ($1.state.version, $1.id) < ($0.state.version, $0.id) }
    for (id, state) in own where try context.source.retractions(of: id).isEmpty {
      guard let chore = state[SkipField.chore].identifier, let skip = Skip(state),
        let facts = try context.facts(of: chore)
      else { continue }
      // The key of a chain's link is no day, though its number could be one.
      let isDay = skip.key != .once && facts.rule?.mode == .calendar
      return SkipEntry(
        event: id, chore: chore, choreTitle: facts.title,
        date: isDay ? skip.key.occurrence?.date : nil, version: skip.version)
    }
    return nil
  }

  /// Whether a person wrote a skip, or somebody who was merged into that person did.
  private func isOf(_ person: PersonID, _ skip: EventState) throws -> Bool {
    try context.merges.one(context.source.writer(of: skip.version)) == context.merges.one(person)
  }

  /// Skips an occurrence: the next open one if none is named.
  ///
  /// - Throws: `badReason` and what adding a completion throws.
  package func add(
    _ id: RecordID, occurrence: OccurrenceKey? = nil, reason: String,
    in builder: inout OperationBuilder
  ) throws {
    guard reason.utf8.count <= Validation.maximumReasonBytes else {
      throw HouseholdError(
        .badReason,
        "the reason has \(reason.utf8.count) bytes; shorten it to \(Validation.maximumReasonBytes)")
    }
    let (_, key) = try occurrences.target(id, occurrence)
    _ = builder.event(
      HouseholdSchema.skip,
      [
        EventField(SkipField.chore, .id(id)), EventField(SkipField.key, .int(key.rawValue)),
        EventField(SkipField.reason, reason.isEmpty ? .null : .text(reason)),
        EventField(SkipField.day, .day(context.today)),
      ])
  }

  /// Takes a skip back permanently (R11).
  ///
  /// - Throws: `noSuchEntry`, `alreadyUndone`, `notYours`.
  package func undo(
    _ event: RecordID, by person: PersonID, in builder: inout OperationBuilder
  ) throws {
    let key = RecordKey(type: HouseholdSchema.skip, id: event)
    guard let state = try context.source.event(key), let chore = state[SkipField.chore].identifier
    else {
      throw HouseholdError(.noSuchEntry, "there is no skip \(event.hex)")
    }
    guard try context.source.retractions(of: event).isEmpty else {
      throw HouseholdError(
        .alreadyUndone, "the skip \(event.hex) is already undone; nothing to do")
    }
    guard try isOf(person, state) else {
      throw HouseholdError(.notYours, "the skip \(event.hex) belongs to somebody else; ask them")
    }
    _ = builder.event(
      HouseholdSchema.retraction,
      [
        EventField(RetractionField.event, .id(event)),
        EventField(RetractionField.chore, .id(chore)),
      ])
  }
}

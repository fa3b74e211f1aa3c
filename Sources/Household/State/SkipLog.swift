import HearthCRDT
import HearthSync

/// A skipped occurrence.
package struct SkipEntry: Equatable, Sendable {
  package let event: RecordID
  package let chore: RecordID
  package let choreTitle: String
  /// The calendar day; nil for a one-off chore or one whose rule counts from completion.
  package let date: CivilDate?
  /// The day on which it was skipped.
  package let day: CivilDate
  /// The person who skipped it, by the signature.
  package let by: PersonID
  /// Why; empty if no reason was given.
  package let reason: String
  /// Whether it was taken back.
  package let isUndone: Bool
  package let version: Version
}

/// The skipped occurrences.
package struct SkipLog {
  let context: DayContext
  let occurrences: OccurrenceList

  /// A skip as it is stored.
  private struct Stored {
    let id: RecordID
    let chore: RecordID
    let skip: Skip
    let reason: String

    init?(_ id: RecordID, _ state: EventState) {
      guard let chore = state[SkipField.chore].identifier, let skip = Skip(state) else {
        return nil
      }
      self.id = id
      self.chore = chore
      self.skip = skip
      reason = state[SkipField.reason].text ?? ""
    }

    var place: HistoryPlace {
      HistoryPlace(
        day: skip.day.dayNumber, time: skip.version.time.rawValue, event: id)
    }
  }

  /// Returns a person's last skip that was not taken back.
  ///
  /// Reads every skip of the household: they have no index by person, and a person asks for this
  /// rarely and by hand.
  package func last(by person: PersonID) throws -> SkipEntry? {
    let person = context.merges.one(person)
    for stored in try stored().sorted(by: { $1.skip.version < $0.skip.version }) {
      guard try context.merges.one(context.source.writer(of: stored.skip.version)) == person,
        try context.source.retractions(of: stored.id).isEmpty
      else { continue }
      if let entry = try entries(of: [stored]).first { return entry }
    }
    return nil
  }

  /// Returns the skips of a chore, or of all chores, the last written first.
  package func entries(of chore: RecordID? = nil) throws -> [SkipEntry] {
    try entries(
      of: stored(of: chore).sorted {
        ($1.skip.version, $1.id) < ($0.skip.version, $0.id)
      })
  }

  /// Returns the skips that belong to a page of history and were not taken back, the newest first.
  package func entries(on page: HistoryPage) throws -> [SkipEntry] {
    let found = try stored().filter { page.span.contains($0.place) }
    return try entries(of: found.sorted { $1.place < $0.place }).filter { !$0.isUndone }
  }

  /// Returns at most two skips whose id begins with these hexadecimal digits.
  package func entries(idPrefix digits: String) throws -> [SkipEntry] {
    let digits = digits.lowercased()
    return try entries(of: Array(stored().filter { $0.id.hex.hasPrefix(digits) }.prefix(2)))
  }

  private func stored(of chore: RecordID? = nil) throws -> [Stored] {
    let (type, source) = (HouseholdSchema.skip, context.source)
    let ids =
      if let chore {
        try source.ids(of: type, where: SkipField.chore, is: .id(chore))
      } else {
        try source.ids(of: type)
      }
    return try ids.compactMap { id in
      try source.event(RecordKey(type: type, id: id)).flatMap { Stored(id, $0) }
    }
  }

  /// Returns skips as displayed, without those of chores that are not here.
  private func entries(of stored: [Stored]) throws -> [SkipEntry] {
    var known: [RecordID: ChoreFacts] = [:]
    return try stored.compactMap { stored in
      guard let facts = try known[stored.chore] ?? context.facts(of: stored.chore) else {
        return nil
      }
      known[stored.chore] = facts
      let skip = stored.skip
      // The key of a chain's link is no day, though its number could be one.
      let isDay = skip.key != .once && facts.rule?.mode == .calendar
      return SkipEntry(
        event: stored.id, chore: stored.chore, choreTitle: facts.title,
        date: isDay ? skip.key.occurrence?.date : nil, day: skip.day,
        by: context.merges.one(try context.source.writer(of: skip.version)),
        reason: stored.reason, isUndone: try !context.source.retractions(of: stored.id).isEmpty,
        version: skip.version)
    }
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

import HearthCRDT
import HearthSync

/// The rows of the challenge history, kept up to date with the attempts; a day is folded as a
/// whole.
struct ChallengeRows {
  static let table = ProjectionTable(
    "challenges",
    key: [.init("attempt", .bytes)],
    columns: [
      .init("day", .int), .init("at", .int), .init("catalogue", .bytes),
      .init("catalogue_name", .text), .init("challenge", .text), .init("title", .text),
      .init("category", .text), .init("minutes", .int), .init("outcome", .text),
      .init("reason", .text), .init("rating", .int), .init("note", .text),
    ],
    indexes: [["day", "at"], ["category", "day", "at"]])
  /// The types whose changes affect these rows.
  static let types = [HouseholdSchema.challengeAttempt, HouseholdSchema.challengeUndo]

  let source: any ProjectionSource

  /// Updates the rows of the days that these records affect.
  func update(_ keys: [RecordKey], to writer: any ProjectionWriter) throws {
    var names: Set<Identifier> = []
    for key in keys {
      switch key.type {
      case HouseholdSchema.challengeAttempt:
        if let attempt = try attempt(key.id) { names.insert(attempt.attempt) }
      case HouseholdSchema.challengeUndo:
        let name = try source.event(key)?[ChallengeUndoField.attempt].identifier
        if let name { names.insert(name) }
      default: break
      }
    }
    // A copy on another day may have represented an attempt until now.
    var days: Set<CivilDate> = []
    for name in names.sorted() {
      for copy in try copies(of: name) { days.insert(copy.day) }
    }
    for day in days.sorted() { try refold(day, writer) }
  }

  private func refold(_ day: CivilDate, _ writer: any ProjectionWriter) throws {
    let old = try entries(on: day)
    let new = try ChallengeEntry.entries(of: attempts(on: day), isUndone: isUndone)
    func byAttempt(_ entries: [ChallengeEntry]) -> [Identifier: ChallengeEntry] {
      Dictionary(entries.map { ($0.attempt, $0) }, uniquingKeysWith: { first, _ in first })
    }
    let (former, present) = (byAttempt(old), byAttempt(new))
    for entry in old where present[entry.attempt] != entry {
      try writer.remove(from: ChallengeRows.table.name, where: [.id(entry.attempt)])
    }
    for entry in new where former[entry.attempt] != entry {
      try writer.put(entry.row, in: ChallengeRows.table.name)
    }
  }

  /// Returns a day's entries, in order of time.
  func entries(on day: CivilDate) throws -> [ChallengeEntry] {
    let range = RowRange(["day", "at", "attempt"], prefix: [.day(day)])
    return try source.rows(of: ChallengeRows.table.name, in: range)
      .compactMap(ChallengeEntry.init)
  }

  /// Returns every attempt of a day, undone ones included, and only the first copy of each.
  func attempts(on day: CivilDate) throws -> [ChallengeAttempt] {
    // Somebody may have written very many copies of one attempt.
    var firsts: [Identifier: ChallengeAttempt] = [:]
    return try source.ids(
      of: HouseholdSchema.challengeAttempt, where: AttemptField.day, is: .day(day)
    ).compactMap(attempt).filter { attempt in
      let first = try firsts[attempt.attempt] ?? copies(of: attempt.attempt).first
      firsts[attempt.attempt] = first
      return first == attempt
    }
  }

  /// Returns the events of one attempt, in order.
  ///
  /// An attempt has more than one event if it was written again in another private database, one
  /// more for each time.
  private func copies(of name: Identifier) throws -> [ChallengeAttempt] {
    try source.ids(
      of: HouseholdSchema.challengeAttempt, where: AttemptField.attempt, is: .id(name)
    ).compactMap(attempt).sorted(by: ChallengeAttempt.isBefore)
  }

  private func attempt(_ id: RecordID) throws -> ChallengeAttempt? {
    try source.event(RecordKey(type: HouseholdSchema.challengeAttempt, id: id))
      .flatMap { ChallengeAttempt($0, id: id) }
  }

  /// Whether an attempt was undone.
  func isUndone(_ attempt: Identifier) throws -> Bool {
    try !source.ids(
      of: HouseholdSchema.challengeUndo, where: ChallengeUndoField.attempt, is: .id(attempt)
    ).isEmpty
  }
}

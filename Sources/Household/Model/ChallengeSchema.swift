import HearthCRDT

// The record types of a person's private database; their numbers share the household's sequence.
//
// Decision 0049 explains why a challenge is a record and why attempts have their own names.
extension HouseholdSchema {
  /// The challenge of one day.
  ///
  /// Its id follows from the day, so every device addresses the same record.
  package static let dailyChallenge = TypeID.record(5)
  /// A challenge was done, or skipped.
  package static let challengeAttempt = TypeID.event(14)
  /// An attempt is taken back permanently.
  package static let challengeUndo = TypeID.event(15)

  /// The types of challenges, for the store.
  static let challenges: [RecordSchema] = [
    RecordSchema(
      dailyChallenge, "daily_challenge",
      [
        FieldSchema(DailyField.day, "day", .text),
        FieldSchema(DailyField.catalogue, "catalogue", .bytes),
        FieldSchema(DailyField.catalogueName, "catalogue_name", .text),
        FieldSchema(DailyField.challenge, "challenge", .text),
        FieldSchema(DailyField.title, "title", .text),
        FieldSchema(DailyField.category, "category", .text),
        FieldSchema(DailyField.minutes, "minutes", .int),
        FieldSchema(DailyField.choice, "choice", .text),
      ]),
    RecordSchema(
      challengeAttempt, "challenge_attempt",
      [
        FieldSchema(AttemptField.attempt, "attempt", .bytes, indexed: true),
        FieldSchema(AttemptField.day, "day", .int, indexed: true),
        FieldSchema(AttemptField.at, "at", .int),
        FieldSchema(AttemptField.catalogue, "catalogue", .bytes),
        FieldSchema(AttemptField.catalogueName, "catalogue_name", .text),
        FieldSchema(AttemptField.challenge, "challenge", .text),
        FieldSchema(AttemptField.title, "title", .text),
        FieldSchema(AttemptField.category, "category", .text),
        FieldSchema(AttemptField.minutes, "minutes", .int),
        FieldSchema(AttemptField.outcome, "outcome", .text),
        FieldSchema(AttemptField.reason, "reason", .text),
        FieldSchema(AttemptField.rating, "rating", .int),
        FieldSchema(AttemptField.note, "note", .text),
      ]),
    RecordSchema(
      challengeUndo, "challenge_undo",
      [FieldSchema(ChallengeUndoField.attempt, "attempt", .bytes, indexed: true)]),
  ]
}

/// Every write sets all fields, so that concurrent values of one write belong together.
enum DailyField {
  /// The date as text, from which the record's id follows.
  static let day = FieldID(.register, 1)
  static let catalogue = FieldID(.register, 2)
  static let catalogueName = FieldID(.register, 3)
  static let challenge = FieldID(.register, 4)
  static let title = FieldID(.register, 5)
  static let category = FieldID(.register, 6)
  static let minutes = FieldID(.register, 7)
  static let choice = FieldID(.register, 8)
}

enum AttemptField {
  /// A random name of the attempt.
  ///
  /// A copy in another private database has another event id. The name stays the same, so that no
  /// attempt counts twice or reappears after an undo.
  static let attempt = FieldID(.register, 1)
  static let day = FieldID(.register, 2)
  static let at = FieldID(.register, 3)
  static let catalogue = FieldID(.register, 4)
  static let catalogueName = FieldID(.register, 5)
  static let challenge = FieldID(.register, 6)
  static let title = FieldID(.register, 7)
  static let category = FieldID(.register, 8)
  static let minutes = FieldID(.register, 9)
  static let outcome = FieldID(.register, 10)
  static let reason = FieldID(.register, 11)
  static let rating = FieldID(.register, 12)
  static let note = FieldID(.register, 13)
}

enum ChallengeUndoField {
  static let attempt = FieldID(.register, 1)
}

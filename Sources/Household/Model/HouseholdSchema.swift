import HearthCRDT

/// The record types of a household and of a private database, and their fields.
///
/// Numbers never change and are never reused. No field names the author of a record or event: the
/// author is the signer.
package enum HouseholdSchema {
  /// A person's name and other fields, under the person's id.
  package static let person = TypeID.record(1)
  /// A chore with its rule, points and assignment.
  package static let chore = TypeID.record(2)
  /// The deviations of one occurrence from its chore's rule (rule R6).
  package static let occurrence = TypeID.record(3)
  /// One setting of the household, under an id derived from its key (rule R24).
  package static let setting = TypeID.record(4)
  /// Somebody did a chore.
  package static let completion = TypeID.event(10, keepsCause: true)
  /// A completion or skip is taken back permanently (rule R11).
  package static let retraction = TypeID.event(11, keepsCause: true)
  /// An occurrence is skipped.
  package static let skip = TypeID.event(12, keepsCause: true)
  /// A week or month is closed: later work for it is booked in a later one (rule R10).
  package static let close = TypeID.event(13, keepsCause: true)
  /// A person counts as another one, or as themselves again.
  package static let personMerge = TypeID.event(16)

  /// Every type, for the store.
  package static let all = household + challenges

  /// The types of a household.
  private static let household: [RecordSchema] = [
    RecordSchema(
      person, "person",
      [
        FieldSchema(PersonField.name, "name", .text),
        FieldSchema(PersonField.email, "email", .text),
        FieldSchema(PersonField.created, "created", .int),
      ]),
    RecordSchema(
      chore, "chore",
      [
        FieldSchema(ChoreField.title, "title", .text),
        FieldSchema(ChoreField.note, "note", .text),
        FieldSchema(ChoreField.points, "points", .int),
        FieldSchema(ChoreField.archived, "archived", .bool),
        FieldSchema(ChoreField.assignment, "assignment", .text),
        FieldSchema(ChoreField.due, "due", .int),
        FieldSchema(ChoreField.time, "time", .int),
        FieldSchema(ChoreField.rule, "rule", .text),
        FieldSchema(ChoreField.ruleFrom, "rule_from", .int),
        FieldSchema(ChoreField.tags, "tags", .text),
        FieldSchema(ChoreField.created, "created", .int),
      ]),
    RecordSchema(
      occurrence, "occurrence",
      [
        FieldSchema(OccurrenceField.chore, "chore", .bytes, indexed: true),
        FieldSchema(OccurrenceField.key, "key", .int),
        FieldSchema(OccurrenceField.due, "due", .int),
        FieldSchema(OccurrenceField.assignee, "assignee", .bytes),
        FieldSchema(OccurrenceField.skipped, "skipped", .bool),
        FieldSchema(OccurrenceField.time, "time", .int),
      ]),
    RecordSchema(
      setting, "setting",
      [
        FieldSchema(SettingField.key, "key", .text),
        FieldSchema(SettingField.value, "value", .text),
      ]),
    RecordSchema(
      completion, "completion",
      [
        FieldSchema(CompletionField.chore, "chore", .bytes, indexed: true),
        FieldSchema(CompletionField.key, "key", .int),
        FieldSchema(CompletionField.person, "person", .bytes, indexed: true),
        FieldSchema(CompletionField.day, "day", .int),
        FieldSchema(CompletionField.doneAt, "done_at", .int),
        FieldSchema(CompletionField.title, "title", .text),
      ]),
    RecordSchema(
      retraction, "retraction",
      [
        FieldSchema(RetractionField.event, "event", .bytes, indexed: true),
        FieldSchema(RetractionField.chore, "chore", .bytes, indexed: true),
      ]),
    RecordSchema(
      skip, "skip",
      [
        FieldSchema(SkipField.chore, "chore", .bytes, indexed: true),
        FieldSchema(SkipField.key, "key", .int),
        FieldSchema(SkipField.reason, "reason", .text),
        FieldSchema(SkipField.day, "day", .int),
      ]),
    RecordSchema(
      close, "close",
      [
        FieldSchema(CloseField.period, "period", .text),
        FieldSchema(CloseField.first, "first_day", .int),
        FieldSchema(CloseField.last, "last_day", .int),
        FieldSchema(CloseField.duplicate, "duplicate", .text),
        FieldSchema(CloseField.strict, "strict", .bool),
      ]),
    RecordSchema(
      personMerge, "person_merge",
      [
        FieldSchema(MergeField.person, "person", .bytes),
        FieldSchema(MergeField.into, "into", .bytes),
      ]),
  ]
}

enum PersonField {
  static let name = FieldID(.register, 1)
  static let email = FieldID(.register, 2)
  static let created = FieldID(.register, 3)
}

enum ChoreField {
  static let title = FieldID(.register, 1)
  static let note = FieldID(.register, 2)
  /// A history, because a completion pays what the doer had seen (R3).
  static let points = FieldID(.history, 3)
  /// A history, because work done after seeing the chore archived is invalid (R4).
  static let archived = FieldID(.history, 4)
  /// A history, because strict assignment checks who was assigned when the doer looked (R2).
  static let assignment = FieldID(.history, 5)
  static let due = FieldID(.register, 6)
  static let time = FieldID(.register, 7)
  /// A history, because the doer's view decides which occurrences exist (R6).
  static let rule = FieldID(.history, 8)
  static let ruleFrom = FieldID(.register, 9)
  static let tags = FieldID(.set, 10)
  static let created = FieldID(.register, 12)
}

enum OccurrenceField {
  static let chore = FieldID(.register, 1)
  static let key = FieldID(.register, 2)
  /// A history, because the doer's view decides how early an occurrence may be done.
  static let due = FieldID(.history, 3)
  static let assignee = FieldID(.history, 4)
  static let skipped = FieldID(.register, 5)
  static let time = FieldID(.register, 6)
}

enum SettingField {
  static let key = FieldID(.register, 1)
  /// A history, because the doer's view decides about missed occurrences (R8).
  static let value = FieldID(.history, 2)
}

enum CompletionField {
  static let chore = FieldID(.register, 1)
  static let key = FieldID(.register, 2)
  static let person = FieldID(.register, 3)
  static let day = FieldID(.register, 4)
  static let doneAt = FieldID(.register, 5)
  static let title = FieldID(.register, 6)
}

enum RetractionField {
  static let event = FieldID(.register, 1)
  static let chore = FieldID(.register, 2)
}

enum SkipField {
  static let chore = FieldID(.register, 1)
  static let key = FieldID(.register, 2)
  static let reason = FieldID(.register, 3)
  static let day = FieldID(.register, 5)
}

enum CloseField {
  static let period = FieldID(.register, 1)
  static let first = FieldID(.register, 2)
  static let last = FieldID(.register, 3)
  /// The settings at the close of the period; they apply to its days permanently.
  static let duplicate = FieldID(.register, 5)
  static let strict = FieldID(.register, 6)
}

enum MergeField {
  static let person = FieldID(.register, 1)
  /// Absent where the person counts as themselves again.
  static let into = FieldID(.register, 2)
}

extension Value {
  static func id(_ identifier: Identifier) -> Value { .bytes(identifier.bytes) }

  /// The identifier, if these are sixteen bytes.
  var identifier: Identifier? { bytes.flatMap { Identifier(bytes: $0) } }

  /// The civil date, if this is a day number inside the calendar.
  var date: CivilDate? {
    int.flatMap { Int(exactly: $0) }.flatMap { try? CivilDate(dayNumber: $0) }
  }

  static func day(_ date: CivilDate) -> Value { .int(Int64(date.dayNumber)) }
}

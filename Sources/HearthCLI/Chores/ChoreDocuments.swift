import HearthCRDT
import Household

/// A chore in a JSON document.
struct ChoreDocument: Encodable, Sendable {
  let id, title, note, assigned: String
  let points: Int
  let due, time, rule, repeats: String?
  let tags: [String]
  let archived: Bool
  let createdMilliseconds: UInt64
  let concurrentValues: Int
  let needsUpdate: Bool
  let next: OccurrenceDocument?
  /// Whether nothing of it is left to do.
  let finished: Bool
  /// The last completion, if the command looks for it.
  let lastDone: EntryDocument?
  /// The skips, the last first, if the command looks for them.
  let skips: [SkipDocument]?

  init(_ chore: ChoreView, _ names: [PersonID: String], _ past: ChorePast? = nil) {
    id = chore.id.hex
    title = chore.title
    note = chore.note
    assigned = ChoreNames.words(chore.assignment, names)
    points = chore.points
    due = chore.due?.iso
    time = chore.time?.iso
    rule = chore.rule?.text
    repeats = chore.rule?.describe()
    tags = chore.tags
    archived = chore.isArchived
    createdMilliseconds = chore.createdMilliseconds
    concurrentValues = chore.concurrentValues
    needsUpdate = chore.needsUpdate
    next = chore.next.map { OccurrenceDocument($0, names) }
    finished = chore.isFinished
    lastDone = past?.lastDone.map { EntryDocument($0, names) }
    skips = past?.skips.map { SkipDocument($0, names) }
  }
}

/// An occurrence in a JSON document.
struct OccurrenceDocument: Encodable, Sendable {
  let chore, title, key, state: String
  let due, time, assignee: String?
  let points, missedBefore: Int

  init(_ occurrence: OccurrenceView, _ names: [PersonID: String]) {
    chore = occurrence.chore.hex
    title = occurrence.title
    key = occurrence.key.description
    state = occurrence.state.rawValue
    due = occurrence.due?.iso
    time = occurrence.time?.iso
    assignee = occurrence.assignee.map { names[$0] ?? $0.hex }
    points = occurrence.points
    missedBefore = occurrence.missedBefore
  }
}

/// A ledger entry in a JSON document.
struct EntryDocument: Encodable, Sendable {
  /// `person` did it, `by` recorded it and signed it on `device`.
  let event, chore, title, person, by, day, kind, device: String
  let points: Int
  let milliseconds: UInt64
  let late: [LateDocument]

  init(_ entry: LedgerEntry, _ names: [PersonID: String]) {
    event = entry.event.hex
    chore = entry.chore.hex
    title = entry.choreTitle
    person = names[entry.person] ?? entry.person.hex
    by = names[entry.by] ?? entry.by.hex
    day = entry.day.iso
    kind = entry.kind.rawValue
    device = entry.device.hex
    points = entry.points
    milliseconds = entry.version.time.milliseconds
    late = entry.late.map(LateDocument.init)
  }

  /// The doer, and the recorder if that is somebody else: the recorder's claim, not a proof.
  var who: String { person == by ? person : "\(person) (recorded by \(by))" }
}

/// A late adjustment in a JSON document.
struct LateDocument: Encodable, Sendable {
  let period, day: String
  let amount: Int

  init(_ late: LateBooking) {
    period = late.period.rawValue
    day = late.day.iso
    amount = late.amount
  }

  /// The adjustment in words.
  var words: String {
    "late adjustment of \(amount > 0 ? "+" : "")\(amount), in the \(period) of \(day)"
  }
}

/// A skip in a JSON document.
struct SkipDocument: Encodable, Sendable {
  let event, chore, title, person, day, reason: String
  /// The skipped calendar day, if the chore has days.
  let occurrence: String?
  let undone: Bool
  let milliseconds: UInt64

  init(_ skip: SkipEntry, _ names: [PersonID: String]) {
    event = skip.event.hex
    chore = skip.chore.hex
    title = skip.choreTitle
    person = names[skip.by] ?? skip.by.hex
    day = skip.day.iso
    reason = skip.reason
    occurrence = skip.date?.iso
    undone = skip.isUndone
    milliseconds = skip.version.time.milliseconds
  }
}

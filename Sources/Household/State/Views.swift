import HearthCRDT

/// A person as displayed.
package struct PersonView: Equatable, Sendable {
  package let id: PersonID
  package let name: String
  package let email: String?
  package let createdMilliseconds: UInt64
}

/// The fields of a new chore.
package struct ChoreDraft: Equatable, Sendable {
  package var title: String
  package var note: String
  package var points: Int
  package var assignee: Assignment
  /// The due day of a one-off chore; a rule has its own dates.
  package var due: CivilDate?
  package var time: CivilTime?
  package var rule: RecurrenceRule?
  package var tags: [String]

  /// Makes a draft; everything but the title is optional.
  package init(
    title: String, note: String = "", points: Int = 0, assignee: Assignment = .nobody,
    due: CivilDate? = nil, time: CivilTime? = nil, rule: RecurrenceRule? = nil, tags: [String] = []
  ) {
    self.title = title
    self.note = note
    self.points = points
    self.assignee = assignee
    self.due = due
    self.time = time
    self.rule = rule
    self.tags = tags
  }
}

/// The changes to a chore; nil leaves a field alone, `.some(nil)` clears it.
package struct ChoreEdit: Equatable, Sendable {
  package var title: String?
  package var note: String?
  package var points: Int?
  package var assignee: Assignment?
  package var due: CivilDate??
  package var time: CivilTime??
  package var rule: RecurrenceRule??
  package var addTags: [String] = []
  package var removeTags: [String] = []

  /// An edit that changes nothing yet.
  package init() {}
}

/// A chore as displayed.
package struct ChoreView: Equatable, Sendable {
  package let id: RecordID
  package let title: String
  package let note: String
  package let points: Int
  package let assignment: Assignment
  package let due: CivilDate?
  package let time: CivilTime?
  package let rule: RecurrenceRule?
  package let tags: [String]
  package let isArchived: Bool
  package let createdMilliseconds: UInt64
  /// The next occurrence to do; nil if there is none.
  package let next: OccurrenceView?
  /// The number of values of concurrent edits that the shown values hide.
  package let concurrentValues: Int
  /// Whether a newer version wrote the rule or assignment, and this version cannot read it.
  package let needsUpdate: Bool

  /// Whether nothing of it is left to do: it was done or skipped once, or its rule has ended.
  package var isFinished: Bool { !isArchived && !needsUpdate && next == nil }
}

/// An occurrence of a chore as displayed.
package struct OccurrenceView: Equatable, Sendable {
  package enum State: String, Sendable {
    case open
    case overdue
    case done
    case skipped
    case missed
  }

  package let chore: RecordID
  package let title: String
  package let key: OccurrenceKey
  /// The due day; nil for a chore without a day.
  package let due: CivilDate?
  package let time: CivilTime?
  package let assignee: PersonID?
  package let points: Int
  package let state: State
  /// The number of older occurrences that nobody did.
  package let missedBefore: Int
}

/// A completion and its points.
package struct LedgerEntry: Equatable, Sendable {
  package let event: RecordID
  package let chore: RecordID
  package let person: PersonID
  package let day: CivilDate
  package let points: Int
  /// The chore's title when it was done.
  package let choreTitle: String
  package let kind: LedgerKind
  /// The recorder, by the signature.
  package let by: PersonID
  /// The device that recorded it.
  package let device: DeviceID
  package let version: Version
  /// The part that is booked in a later week or month, since its own was closed without it (R10).
  package let late: [LateBooking]

  init(_ row: LedgerRow, isAhead: Bool, late: [LateBooking]) {
    self.late = late
    event = row.event
    chore = row.chore
    person = row.person
    day = row.day
    points = isAhead ? 0 : row.points
    choreTitle = row.title
    kind = isAhead ? .ahead : row.kind
    by = row.recordedBy
    device = row.version.dot.author.device
    version = row.version
  }
}

/// A late adjustment: points booked in a later period than the entry's own (R10).
package struct LateBooking: Equatable, Sendable {
  package let period: PeriodKind
  /// The booking day: the first day that was not closed without the entry.
  package let day: CivilDate
  /// The points; negative where an entry of a closed period was undone.
  package let amount: Int

  /// Reads a row; nil for the counterpart of the booking on the entry's own day.
  init?(_ row: [Value], ownDay: CivilDate) {
    guard row.count == 5, let period = row[0].text.flatMap(PeriodKind.init(rawValue:)),
      let day = row[2].date, day != ownDay, let amount = row[4].int
    else { return nil }
    self.period = period
    self.day = day
    self.amount = Int(amount)
  }
}

/// The points of one person in one week or month.
package struct PeriodSum: Equatable, Sendable {
  package let period: PeriodKind
  package let first: CivilDate
  package let last: CivilDate
  package let isClosed: Bool
  package let points: Int
  /// The points among them that are late bookings of earlier periods.
  package let late: Int
}

/// A badge of the catalogue, and whether a person has it.
package struct BadgeView: Equatable, Sendable {
  package let badge: Badge
  /// The day on which the person earned it; nil until then.
  package let earnedOn: CivilDate?
  /// The person's progress towards ``Badge/required``.
  package let progress: Int
}

/// A line of the leaderboard.
package struct Standing: Equatable, Sendable {
  package let person: PersonID
  package let name: String
  package let points: Int
  package let completions: Int
  /// From 1; equal points share a rank.
  package let rank: Int
}

/// The period of a leaderboard.
package enum Period: String, CaseIterable, Sendable {
  case week
  case month
  case all
}

/// A page of history, newest day first (R26).
package struct HistoryPage: Equatable, Sendable {
  package let entries: [LedgerEntry]
  /// The cursor of the next page; nil at the end.
  package let next: String?
  /// The number of entries before this page that arrived too late for earlier pages.
  package let arrivedEarlier: Int
  /// The part of history that the page covers.
  let span: HistorySpan
}

import HearthCRDT
import HearthSync

extension HouseholdBook {
  /// A person's points: of all time, of this week and of this month (R9).
  package func points(of person: PersonID) throws -> (total: Int, week: Int, month: Int) {
    (
      try sums(of: person, .all).points, try sums(of: person, .week).points,
      try sums(of: person, .month).points
    )
  }

  /// The ledger of a person, or of everybody, newest day first.
  package func ledger(of person: PersonID?) throws -> [LedgerEntry] {
    try rows().filter { person == nil || $0.person == person }.map(LedgerEntry.init)
  }

  /// Everybody's place: most points first, then most completions, then by name.
  ///
  /// Reads a row per person and day of the period.
  package func leaderboard(_ period: Period) throws -> [Standing] {
    var sorted: [(PersonView, points: Int, completions: Int)] = []
    for person in try people() {
      let (points, completions) = try sums(of: person.id, period)
      sorted.append((person, points, completions))
    }
    sorted.sort {
      ($1.points, $1.completions, $0.0.name, $0.0.id) < (
        $0.points, $0.completions, $1.0.name, $1.0.id
      )
    }
    return sorted.map { person, points, completions in
      Standing(
        person: person.id, name: person.name, points: points, completions: completions,
        rank: 1 + sorted.count { $0.points > points })
    }
  }

  /// A page of history: each entry exactly once, however many arrive between pages (R26).
  ///
  /// The cursor holds the last entry's place and how many entries were at or before it; what has
  /// arrived there since is counted, not shown.
  ///
  /// - Parameter limit: at most this many entries, 1...1000; people get 20.
  package func history(after cursor: String?, limit: Int) throws -> HistoryPage {
    let rows = try rows()
    var start = 0
    var arrived = 0
    if let cursor {
      let (place, passed) = try HistoryPlace.parse(cursor)
      start = rows.count { HistoryPlace($0) <= place }
      arrived = max(0, start - passed)
    }
    let page = rows[start...].prefix(min(max(limit, 1), 1000))
    var next: String?
    if let last = page.last, page.endIndex < rows.count {
      next = HistoryPlace(last).cursor(passed: page.endIndex)
    }
    return HistoryPage(entries: page.map(LedgerEntry.init), next: next, arrivedEarlier: arrived)
  }

  /// The last entry that this person did or recorded and that is not undone.
  package func lastUndoable(by person: PersonID) throws -> LedgerEntry? {
    try rows().filter {
      ($0.person == person || $0.recordedBy == person)
        && ($0.kind == .credited || $0.kind == .alsoDone)
    }
    .max { ($0.version, $0.event) < ($1.version, $1.event) }.map(LedgerEntry.init)
  }

  /// How many days in a row, up to today or yesterday, the person was credited (R17).
  ///
  /// Days on which nothing was due neither add nor break; today does not break while it lasts.
  package func streak(of person: PersonID) throws -> Int {
    let rules = try source.ids(of: HouseholdSchema.chore)
      .compactMap { try ChoreFacts($0, from: source) }.filter { !$0.isArchived }
    let days = try Set(rows().filter { $0.person == person && $0.kind == .credited }.map(\.day))
    guard let first = days.min() else { return 0 }
    var length = 0
    var day = today
    while day >= first {
      if days.contains(day) {
        length += 1
      } else if day != today, rules.contains(where: { $0.isDue(on: day) }) {
        break
      }
      guard let before = day.adding(days: -1) else { break }
      day = before
    }
    return length
  }

  /// The day on which a person was credited for the n-th time, counted from 1; nil before that.
  ///
  /// What a badge for so many chores asks: it vanishes when the count falls below (R16).
  package func day(ofCompletion number: Int, by person: PersonID) throws -> CivilDate? {
    precondition(number > 0, "completion \(number) is not counted from 1")
    let rows = try rows().filter { $0.person == person && $0.kind == .credited }
    return number <= rows.count ? rows[rows.count - number].day : nil
  }

  func row(_ event: RecordID) throws -> LedgerRow? {
    let key = RecordKey(type: HouseholdSchema.completion, id: event)
    guard let chore = try source.event(key)?[CompletionField.chore].identifier else { return nil }
    return try source.rows(of: HouseholdProjection.ledger, where: [.id(chore), .id(event)])
      .first.flatMap { try LedgerRow($0) }
  }

  /// Every row, newest day first.
  private func rows() throws -> [LedgerRow] {
    try source.rows(of: HouseholdProjection.ledger, where: []).compactMap { try LedgerRow($0) }
      .sorted { HistoryPlace($0) < HistoryPlace($1) }
  }

  private func sums(
    of person: PersonID, _ period: Period
  ) throws -> (points: Int, completions: Int) {
    var keys: [[Value]] = [[.id(person)]]
    if let days = days(of: period) {
      keys = days.map { [.id(person), .int(Int64($0))] }
    }
    var sum = (points: 0, completions: 0)
    for key in keys {
      for row in try source.rows(of: HouseholdProjection.points, where: key) {
        sum.points += Int(row[2].int ?? 0)
        sum.completions += Int(row[3].int ?? 0)
      }
    }
    return sum
  }

  /// The day numbers of the period around today; nil for all time.
  private func days(of period: Period) -> ClosedRange<Int>? {
    switch period {
    case .all: return nil
    case .week:
      let first = CivilArithmetic.weekBegin(of: Int(today.dayNumber), start: settings.weekStart)
      return first...first + 6
    case .month:
      let month = today.yearMonth
      return Int(month.firstDay.dayNumber)...Int(month.lastDay.dayNumber)
    }
  }
}

extension ChoreFacts {
  /// Whether something was due on a day by the calendar.
  func isDue(on day: CivilDate) -> Bool {
    guard let rule else { return due == day }
    return rule.mode == .calendar && day >= ruleFrom ?? rule.anchor && rule.isDate(day)
  }
}

/// An entry's place in history: later days first, then later times, then greater ids.
struct HistoryPlace: Comparable {
  let day: Int32
  let time: UInt64
  let event: RecordID

  init(_ row: LedgerRow) {
    day = row.day.dayNumber
    time = row.version.time.rawValue
    event = row.event
  }

  private init(day: Int32, time: UInt64, event: RecordID) {
    self.day = day
    self.time = time
    self.event = event
  }

  func cursor(passed: Int) -> String { "\(day).\(time).\(event.hex).\(passed)" }

  static func parse(_ cursor: String) throws(HouseholdError) -> (HistoryPlace, passed: Int) {
    let parts = cursor.utf8.count <= 100 ? cursor.split(separator: ".") : []
    guard parts.count == 4, let day = Int32(parts[0]), let time = UInt64(parts[1]),
      let event = RecordID(hex: String(parts[2])), let passed = Int(parts[3]), passed > 0
    else {
      throw HouseholdError(
        .badCursor,
        "\(quoted(cursor)) is not a place in the history; start again without a cursor")
    }
    return (HistoryPlace(day: day, time: time, event: event), passed)
  }

  static func < (left: HistoryPlace, right: HistoryPlace) -> Bool {
    (right.day, right.time, right.event) < (left.day, left.time, left.event)
  }
}

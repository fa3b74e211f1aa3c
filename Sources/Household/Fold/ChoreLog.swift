import HearthCRDT
import HearthSync

/// One chore's work as of a reader's day; it reads no more than a question needs.
struct ChoreLog {
  private let ledger: ChoreLedger
  /// The reader's day; nil counts all work.
  private let view: LedgerView?

  init(source: any ProjectionSource, chore: RecordID, view: LedgerView? = nil) {
    ledger = ChoreLedger(source: source, chore: chore)
    self.view = view
  }

  /// Whether a row counts for its occurrence, paid or not.
  func counts(_ row: LedgerRow) -> Bool { row.isValid && view?.isAhead(row) != true }

  private func rows(_ range: RowRange) throws -> [LedgerRow] {
    let rows = try ledger.rows(range)
    guard let view else { return rows }
    return try rows.map(view.shown)
  }

  /// Returns the rows of one occurrence, by default those that count.
  func rows(
    of key: OccurrenceKey, _ effects: [LedgerRow.Effect] = [.counts]
  ) throws -> [LedgerRow] {
    let rows = try ledger.rows(of: key, effects)
    guard let view else { return rows }
    return try rows.map(view.shown)
  }

  /// Visits the rows that count from the last one back by time, while the body returns true.
  ///
  /// The walk visits all rows of one time before it ends.
  private func forEachFromLast(_ body: (LedgerRow) throws -> Bool) throws {
    try ledger.forEachFromLast { row in try body(view?.shown(row) ?? row) }
  }

  /// Returns the last valid row that matches, by version.
  func last(where fits: (LedgerRow) -> Bool) throws -> LedgerRow? {
    var found: LedgerRow?
    try forEachFromLast { row in
      if counts(row), fits(row), found.map({ $0.version < row.version }) ?? true { found = row }
      return found == nil
    }
    return found
  }

  /// Returns the last day on which somebody did the occurrence; nil if nobody did.
  func lastDay(of key: OccurrenceKey) throws -> CivilDate? {
    try rows(of: key).filter(counts).map(\.day).max()
  }

  /// Returns the done occurrences from a date on.
  func closedKeys(from date: CivilDate) throws -> Set<OccurrenceKey> {
    guard let first = try? Occurrence(date, slot: 0) else { return [] }
    let range = RowRange(
      ChoreLedger.byKey, prefix: ledger.prefix(.counts), from: [.int(Int64(first.key))])
    return Set(try rows(range).filter(counts).compactMap(\.key))
  }

  /// Returns the first date on which something may be open after the work already done.
  ///
  /// It is the greater of the date of an occurrence done by its day, and the day after any other
  /// work. The greatest date has the greatest key. The greatest day is near the last row, since a
  /// day is bound to its change's time.
  func firstOpenDate() throws -> CivilDate? {
    var found: CivilDate?
    func see(_ row: LedgerRow) {
      let date = row.key == .once ? nil : row.key?.occurrence?.date
      let next =
        if let date, date >= row.day { date } else { row.day.adding(days: 1) ?? CivilDate.last }
      found = max(found ?? next, next)
    }
    var begin: UInt64?
    try forEachFromLast { row in
      if let begin, row.version.time.milliseconds < begin { return false }
      guard counts(row) else { return true }
      see(row)
      if begin == nil { begin = ChoreLog.begin(near: row) }
      return true
    }
    if let row = try greatestKey() { see(row) }
    return found
  }

  /// The earliest time of changes whose days may be later than that of a row.
  private static func begin(near row: LedgerRow) -> UInt64 {
    let span = UInt64(ChoreLedger.maximumDaysApart) * ChoreLedger.millisecondsPerDay
    return row.version.time.milliseconds - min(row.version.time.milliseconds, span)
  }

  /// Returns the last day of all valid work, including work that counts later.
  func lastWorkDay() throws -> CivilDate? {
    var found: CivilDate?
    var begin: UInt64?
    try forEachFromLast { row in
      if let begin, row.version.time.milliseconds < begin { return false }
      guard row.isValid else { return true }
      found = max(found ?? row.day, row.day)
      if begin == nil { begin = ChoreLog.begin(near: row) }
      return true
    }
    return found
  }

  private func greatestKey() throws -> LedgerRow? {
    var place: [Value] = []
    var step = ChoreLedger.firstStepRows
    while true {
      let page = try rows(
        RowRange(
          ChoreLedger.byKey, prefix: ledger.prefix(.counts), from: place, isExclusive: true,
          isDescending: true, limit: step))
      if let row = page.first(where: { counts($0) || $0.key == nil }) {
        return row.key == nil ? nil : row
      }
      guard let last = page.last, let key = last.key, page.count == step else {
        return nil
      }
      step = min(2 * step, ChoreLedger.stepRows)
      place = [.int(key.rawValue), LedgerRow.column(of: last.version.time), .id(last.event)]
    }
  }

  /// Returns each person's credits in the `days` days up to and including `day`.
  func credits(in days: Int, through day: CivilDate) throws -> [PersonID: Int] {
    let first = Int64(day.dayNumber) - Int64(days + ChoreLedger.maximumDaysApart)
    let begin = HybridTime(milliseconds: UInt64(max(0, first)) * ChoreLedger.millisecondsPerDay)
    var counts: [PersonID: Int] = [:]
    try forEachFromLast { row in
      let age = row.day.days(until: day)
      if row.kind == .credited, self.counts(row), age >= 0, age < days {
        counts[row.person, default: 0] += 1
      }
      return row.version.time >= begin
    }
    return counts
  }

  /// Returns how often the chore was done, under any rule.
  func count() throws -> Int { try count(inColumn: 1) { _ in true } }

  /// Returns how often the chore was done with a rule that counts from completion.
  func chainCount() throws -> Int { try count(inColumn: 2) { $0.key == nil } }

  private func count(inColumn column: Int, where fits: (LedgerRow) -> Bool) throws -> Int {
    let row = try ledger.source.rows(of: HouseholdTables.chains, where: [.id(ledger.chore)]).first
    return Int(row?[column].int ?? 0) + (try correction(where: fits))
  }

  /// The difference between the work that counts as of the reader's day and all work.
  private func correction(where fits: (LedgerRow) -> Bool) throws -> Int {
    guard let view else { return 0 }
    // The day of work is the UTC day of its instant or an adjacent one, and the instant lies at
    // most a few minutes after its change.
    let first =
      Int64(view.lastDay.dayNumber) * Int64(ChoreLedger.millisecondsPerDay)
      - ChoreFold.maximumLeadMilliseconds
    let begin = HybridTime(milliseconds: UInt64(max(0, first)))
    var count = 0
    try forEachFromLast { row in
      if row.kind == .credited, view.isAhead(row), fits(row) { count -= 1 }
      return row.version.time >= begin
    }
    for change in try view.changes().values
    where change.stored.chore == ledger.chore && fits(change.stored) {
      count -= change.stored.kind == .credited ? 1 : 0
      count += change.shown.kind == .credited ? 1 : 0
    }
    return count
  }

  /// Returns the last completion, by version, as a link; nil if there is none.
  func lastLink() throws -> Link? {
    var head: LedgerRow?
    var rows: [LedgerRow] = []
    try forEachFromLast { row in
      guard counts(row) else { return true }
      rows.append(row)
      if row.kind == .credited, head.map({ $0.version < row.version }) ?? true { head = row }
      return head == nil
    }
    guard let head else { return nil }
    // A row after the head is the same work, unless its occurrence was done before.
    var firsts: [OccurrenceKey: Version?] = [:]
    let members = try rows.filter { row in
      guard head.version <= row.version else { return false }
      guard row.event != head.event, let key = row.key else { return true }
      let first =
        try firsts[key] ?? self.rows(of: key).filter(counts).map(\.version).min()
      firsts[key] = .some(first)
      return first.map { head.version <= $0 } ?? true
    }
    return Link(head: head, members: members)
  }
}

import HearthCRDT
import HearthSync

/// One chore's rows of the ledger, read no further than a question needs.
struct ChoreLog {
  let source: any ProjectionSource
  let chore: RecordID

  /// How many rows a step back through time reads.
  private static let stepRows = 32
  /// A completion's day lies at most so many days from the UTC date of its change (R9).
  private static let maximumDaysApart = Validation.maximumDaysBack + 5
  private static let millisecondsPerDay: UInt64 = 24 * 60 * 60 * 1000

  private func rows(_ range: RowRange) throws -> [LedgerRow] {
    try source.rows(of: HouseholdProjection.ledger, in: range).compactMap(LedgerRow.init)
  }

  /// Every row, in order of time.
  func all() throws -> [LedgerRow] {
    try rows(RowRange(["chore", "time", "event"], prefix: [.id(chore)]))
  }

  /// The rows of one occurrence.
  func rows(of key: OccurrenceKey) throws -> [LedgerRow] {
    try rows(
      RowRange(["chore", "key", "event"], prefix: [.id(chore), .int(key.rawValue)]))
  }

  /// Goes back from the last row by time; the body says whether to go on.
  ///
  /// Rows of one time all come before the walk ends.
  func forEachFromLast(_ body: (LedgerRow) throws -> Bool) throws {
    var place: [Value] = []
    var end: HybridTime?
    while true {
      let page = try rows(
        RowRange(
          ["chore", "time", "event"], prefix: [.id(chore)], from: place, isExclusive: true,
          isDescending: true, limit: ChoreLog.stepRows))
      for row in page {
        if let end, row.version.time < end { return }
        if try !body(row) { end = row.version.time }
      }
      guard let last = page.last, page.count == ChoreLog.stepRows else { return }
      place = [LedgerRow.column(of: last.version.time), .id(last.event)]
    }
  }

  /// The last valid row that fits, by version.
  func last(where fits: (LedgerRow) -> Bool) throws -> LedgerRow? {
    var found: LedgerRow?
    try forEachFromLast { row in
      if row.isValid, fits(row), found.map({ $0.version < row.version }) ?? true { found = row }
      return found == nil
    }
    return found
  }

  /// The last day on which somebody did the occurrence; nil if nobody did.
  func lastDay(of key: OccurrenceKey) throws -> CivilDate? {
    try rows(of: key).filter(\.isValid).map(\.day).max()
  }

  /// The occurrences from a date on that somebody did.
  func closedKeys(from date: CivilDate) throws -> Set<OccurrenceKey> {
    guard let first = try? Occurrence(date, slot: 0) else { return [] }
    let range = RowRange(
      ["chore", "key", "event"], prefix: [.id(chore)], from: [.int(Int64(first.key))])
    return Set(try rows(range).filter { $0.kind == .credited }.compactMap(\.key))
  }

  /// The first date on which something may be open after the work already done.
  ///
  /// That is the greatest of: the date of an occurrence done by its day, the day after any other
  /// work. The greatest date stands with the greatest key; the greatest day is near the last row,
  /// since a day is bound to its change's time.
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
      guard row.isValid else { return true }
      see(row)
      if begin == nil {
        let span = UInt64(ChoreLog.maximumDaysApart) * ChoreLog.millisecondsPerDay
        begin = row.version.time.milliseconds - min(row.version.time.milliseconds, span)
      }
      return true
    }
    if let row = try greatestKey() { see(row) }
    return found
  }

  private func greatestKey() throws -> LedgerRow? {
    var place: [Value] = []
    while true {
      let page = try rows(
        RowRange(
          ["chore", "key", "event"], prefix: [.id(chore)], from: place, isExclusive: true,
          isDescending: true, limit: ChoreLog.stepRows))
      if let row = page.first(where: { $0.isValid || $0.key == nil }) {
        return row.key == nil ? nil : row
      }
      guard let last = page.last, let key = last.key, page.count == ChoreLog.stepRows else {
        return nil
      }
      place = [.int(key.rawValue), .id(last.event)]
    }
  }

  /// How often a person was credited in the days up to and with a day.
  func credits(in days: Int, through day: CivilDate) throws -> [PersonID: Int] {
    let first = Int64(day.dayNumber) - Int64(days + ChoreLog.maximumDaysApart)
    let begin = HybridTime(milliseconds: UInt64(max(0, first)) * ChoreLog.millisecondsPerDay)
    var counts: [PersonID: Int] = [:]
    try forEachFromLast { row in
      let age = row.day.days(until: day)
      if row.kind == .credited, age >= 0, age < days { counts[row.person, default: 0] += 1 }
      return row.version.time >= begin
    }
    return counts
  }

  /// How many links of a chain are done.
  func chainCount() throws -> Int {
    let row = try source.rows(of: HouseholdProjection.chains, where: [.id(chore)]).first
    return Int(row?[1].int ?? 0)
  }

  /// The last link of a chain: what was credited, and the last day that anybody named for it.
  func lastLink() throws -> (dot: Dot, lastDay: CivilDate)? {
    var head: LedgerRow?
    var rows: [LedgerRow] = []
    try forEachFromLast { row in
      guard row.key == nil, row.isValid else { return true }
      rows.append(row)
      if row.kind == .credited, head.map({ $0.version < row.version }) ?? true { head = row }
      return head == nil
    }
    guard let head else { return nil }
    let day = rows.filter { head.version <= $0.version }.map(\.day).max()
    return (head.version.dot, day ?? head.day)
  }
}

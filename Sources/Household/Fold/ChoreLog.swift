import HearthCRDT
import HearthSync

/// One chore's rows of the ledger; it reads no more than a question needs.
struct ChoreLog {
  let source: any ProjectionSource
  let chore: RecordID
  /// The reader's day; nil counts all work.
  var view: LedgerView?

  /// The number of rows that a step back through time reads.
  private static let stepRows = 32
  /// The number of rows of the first step back; the newest few usually suffice.
  private static let firstStepRows = 4
  /// The most days between a completion's day and the UTC date of its change (R9).
  private static let maximumDaysApart = Validation.maximumDaysBack + 5
  private static let millisecondsPerDay: UInt64 = 24 * 60 * 60 * 1000

  /// Whether a row counts for its occurrence, paid or not.
  func counts(_ row: LedgerRow) -> Bool { row.isValid && view?.isAhead(row) != true }

  private func rows(_ range: RowRange) throws -> [LedgerRow] {
    let rows = try source.rows(of: HouseholdProjection.ledger, in: range)
      .compactMap(LedgerRow.init)
    guard let view else { return rows }
    return try rows.map(view.shown)
  }

  /// Returns every row, in order of time.
  func all() throws -> [LedgerRow] {
    try rows(RowRange(["chore", "time", "event"], prefix: [.id(chore)]))
  }

  /// Returns the rows of one occurrence.
  func rows(of key: OccurrenceKey) throws -> [LedgerRow] {
    try rows(
      RowRange(["chore", "key", "event"], prefix: [.id(chore), .int(key.rawValue)]))
  }

  /// Visits the rows from the last one back by time, while the body returns true.
  ///
  /// The walk visits all rows of one time before it ends.
  func forEachFromLast(_ body: (LedgerRow) throws -> Bool) throws {
    var place: [Value] = []
    var end: HybridTime?
    var step = ChoreLog.firstStepRows
    while true {
      let page = try rows(
        RowRange(
          ["chore", "time", "event"], prefix: [.id(chore)], from: place, isExclusive: true,
          isDescending: true, limit: step))
      for row in page {
        if let end, row.version.time < end { return }
        if try !body(row) { end = row.version.time }
      }
      guard let last = page.last, page.count == step else { return }
      step = min(2 * step, ChoreLog.stepRows)
      place = [LedgerRow.column(of: last.version.time), .id(last.event)]
    }
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
      ["chore", "key", "event"], prefix: [.id(chore)], from: [.int(Int64(first.key))])
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
    let span = UInt64(maximumDaysApart) * millisecondsPerDay
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
    var step = ChoreLog.firstStepRows
    while true {
      let page = try rows(
        RowRange(
          ["chore", "key", "event"], prefix: [.id(chore)], from: place, isExclusive: true,
          isDescending: true, limit: step))
      if let row = page.first(where: { counts($0) || $0.key == nil }) {
        return row.key == nil ? nil : row
      }
      guard let last = page.last, let key = last.key, page.count == step else {
        return nil
      }
      step = min(2 * step, ChoreLog.stepRows)
      place = [.int(key.rawValue), .id(last.event)]
    }
  }

  /// Returns each person's credits in the `days` days up to and including `day`.
  func credits(in days: Int, through day: CivilDate) throws -> [PersonID: Int] {
    let first = Int64(day.dayNumber) - Int64(days + ChoreLog.maximumDaysApart)
    let begin = HybridTime(milliseconds: UInt64(max(0, first)) * ChoreLog.millisecondsPerDay)
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
  func count() throws -> Int {
    let row = try source.rows(of: HouseholdProjection.chains, where: [.id(chore)]).first
    return Int(row?[1].int ?? 0) + (try correction())
  }

  /// The difference between the work that counts as of the reader's day and all work.
  private func correction() throws -> Int {
    guard let view else { return 0 }
    // The day of work is the UTC day of its instant or an adjacent one, and the instant lies at
    // most a few minutes after its change.
    let first =
      Int64(view.lastDay.dayNumber) * Int64(ChoreLog.millisecondsPerDay)
      - ChoreFold.maximumLeadMilliseconds
    let begin = HybridTime(milliseconds: UInt64(max(0, first)))
    var count = 0
    try forEachFromLast { row in
      if row.kind == .credited, view.isAhead(row) { count -= 1 }
      return row.version.time >= begin
    }
    for change in try view.changes().values where change.stored.chore == chore {
      count -= change.stored.kind == .credited ? 1 : 0
      count += change.shown.kind == .credited ? 1 : 0
    }
    return count
  }

  /// Returns how often the chore was done with a rule that counts from completion.
  func chainCount() throws -> Int {
    try all().count { $0.key == nil && $0.kind == .credited && counts($0) }
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

  /// Whether any row belongs to a chain, or any row does not.
  func hasRows(ofChain isChain: Bool) throws -> Bool {
    // Rows of a chain have no key and sort first.
    let row = try rows(
      RowRange(
        ["chore", "key", "event"], prefix: [.id(chore)], isDescending: !isChain, limit: 1)
    ).first
    return row.map { ($0.key == nil) == isChain } ?? false
  }

  /// Whether a row of one kind may be the same work as one of the other kind in a time range.
  func hasRows(ofChain isChain: Bool, near first: HybridTime, _ last: HybridTime) throws -> Bool {
    let span = ChoreFold.mixingMilliseconds
    let begin = first.milliseconds - min(first.milliseconds, span)
    let end = last.milliseconds + span
    var place: [Value] = [LedgerRow.column(of: HybridTime(milliseconds: begin))]
    while true {
      let page = try rows(
        RowRange(
          ["chore", "time", "event"], prefix: [.id(chore)], from: place,
          isExclusive: place.count > 1, limit: ChoreLog.stepRows))
      for row in page {
        if row.version.time.milliseconds > end { return false }
        if (row.key == nil) == isChain { return true }
      }
      guard let last = page.last, page.count == ChoreLog.stepRows else { return false }
      place = [LedgerRow.column(of: last.version.time), .id(last.event)]
    }
  }
}

/// A completion that closed an occurrence, with the other completions of the same work.
struct Link {
  /// Whether it was done under a rule that counts from completion.
  let isChain: Bool
  /// The first dot of each author; a frontier that covers one of them knew of the link.
  let dots: [Dot]
  /// The last day that any of the completions names.
  let lastDay: CivilDate
  /// The last calendar date that it closed.
  let lastDate: CivilDate?

  init(head: LedgerRow, members: [LedgerRow]) {
    isChain = head.key == nil
    // A frontier that covers a later dot of an author also covers its first.
    var firsts: [Author: Dot] = [:]
    for dot in members.map(\.version.dot) {
      firsts[dot.author] = min(firsts[dot.author] ?? dot, dot)
    }
    dots = firsts.values.sorted()
    lastDay = members.map(\.day).max() ?? head.day
    lastDate = members.compactMap { $0.key == .once ? nil : $0.key?.occurrence?.date }.max()
  }

  func isKnown(to cause: Frontier) -> Bool { dots.contains { cause.covers($0) } }
}

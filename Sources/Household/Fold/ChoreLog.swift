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

  /// The rows by time, those of an effect together.
  private static let byTime = ["chore", "effect", "time", "event"]
  /// The rows by key and time, those of an effect together and of these the chain's first.
  private static let byKey = ["chore", "effect", "key", "time", "event"]

  /// Whether a row counts for its occurrence, paid or not.
  func counts(_ row: LedgerRow) -> Bool { row.isValid && view?.isAhead(row) != true }

  private func rows(_ range: RowRange) throws -> [LedgerRow] {
    let rows = try source.rows(of: HouseholdProjection.ledger, in: range)
      .compactMap(LedgerRow.init)
    guard let view else { return rows }
    return try rows.map(view.shown)
  }

  private func prefix(_ effect: LedgerRow.Effect) -> [Value] {
    [.id(chore), .int(effect.rawValue)]
  }

  /// Returns every row of some effects.
  func all(_ effects: [LedgerRow.Effect] = LedgerRow.Effect.allCases) throws -> [LedgerRow] {
    try effects.flatMap { try rows(RowRange(ChoreLog.byTime, prefix: prefix($0))) }
  }

  /// Returns the rows of one occurrence, by default those that count.
  func rows(
    of key: OccurrenceKey, _ effects: [LedgerRow.Effect] = [.counts]
  ) throws -> [LedgerRow] {
    try effects.flatMap {
      try rows(RowRange(ChoreLog.byKey, prefix: prefix($0) + [.int(key.rawValue)]))
    }
  }

  /// Whether the ledger has no row of the chore, with or without an effect.
  func isEmpty() throws -> Bool {
    try rows(RowRange(ChoreLog.byTime, prefix: [.id(chore)], limit: 1)).isEmpty
  }

  /// Whether any row of some effects belongs to a chain.
  func hasLinks(_ effects: [LedgerRow.Effect]) throws -> Bool {
    try effects.contains { effect in
      let range = RowRange(ChoreLog.byKey, prefix: prefix(effect) + [.null], limit: 1)
      return try !rows(range).isEmpty
    }
  }

  // MARK: - Walks

  /// Visits rows page by page, from a position on, while the body returns true.
  private func forEach(
    _ order: [String], prefix: [Value], from start: [Value] = [], isDescending: Bool,
    _ body: (LedgerRow) throws -> Bool
  ) throws {
    var place = start
    var isLater = false
    var step = ChoreLog.firstStepRows
    while true {
      let page = try rows(
        RowRange(
          order, prefix: prefix, from: place, isExclusive: isLater, isDescending: isDescending,
          limit: step))
      for row in page {
        guard try body(row) else { return }
      }
      guard let last = page.last, page.count == step else { return }
      step = min(2 * step, ChoreLog.stepRows)
      place = [LedgerRow.column(of: last.version.time), .id(last.event)]
      isLater = true
    }
  }

  /// Visits the rows that count from the last one back by time, while the body returns true.
  ///
  /// The walk visits all rows of one time before it ends.
  func forEachFromLast(_ body: (LedgerRow) throws -> Bool) throws {
    var end: HybridTime?
    try forEach(ChoreLog.byTime, prefix: prefix(.counts), isDescending: true) { row in
      if let end, row.version.time < end { return false }
      if try !body(row) { end = row.version.time }
      return true
    }
  }

  /// Visits the rows that count in order, from a place on, while the body returns true.
  ///
  /// - Parameter start: the first place; nil for the first row.
  func forEachOnward(from start: FoldOrder?, _ body: (LedgerRow) throws -> Bool) throws {
    // The index has the rows of one time by id.
    var moment: [LedgerRow] = []
    var isOver = false
    func visitMoment() throws {
      for row in moment.sorted(by: { $0.order < $1.order }) where !isOver {
        if let start, row.order < start { continue }
        isOver = try !body(row)
      }
      moment = []
    }
    try forEach(
      ChoreLog.byTime, prefix: prefix(.counts),
      from: start.map { [LedgerRow.column(of: $0.version.time)] } ?? [], isDescending: false
    ) { row in
      if let last = moment.last, last.version.time != row.version.time { try visitMoment() }
      moment.append(row)
      return !isOver
    }
    try visitMoment()
  }

  /// Returns the last row before a place that opened an occurrence; nil if there is none.
  func opening(before place: FoldOrder) throws -> LedgerRow? {
    var found: LedgerRow?
    try forEach(
      ChoreLog.byTime, prefix: prefix(.counts),
      from: [LedgerRow.column(of: place.version.time)], isDescending: true
    ) { row in
      if let found, row.version.time < found.version.time { return false }
      if row.kind == .credited, row.order < place, found.map({ $0.order < row.order }) ?? true {
        found = row
      }
      return true
    }
    return found
  }

  /// Visits the rows of the chain of an effect and a range of times, from the last one back, while
  /// the body returns true.
  func forEachLinkBack(
    _ effect: LedgerRow.Effect, in times: ClosedRange<HybridTime>,
    _ body: (LedgerRow) throws -> Bool
  ) throws {
    try forEach(
      ChoreLog.byKey, prefix: prefix(effect) + [.null],
      from: [LedgerRow.column(of: times.upperBound)], isDescending: true
    ) { row in
      try row.version.time >= times.lowerBound && body(row)
    }
  }

  /// The times at which work of these days can have been recorded (R9).
  static func times(ofWork days: ClosedRange<CivilDate>) -> ClosedRange<HybridTime> {
    let begin = max(0, Int64(days.lowerBound.dayNumber) - 2)
    let end = max(begin, Int64(days.upperBound.dayNumber) + Int64(Validation.maximumDaysBack) + 3)
    let first = HybridTime(milliseconds: UInt64(begin) * millisecondsPerDay)
    let last = HybridTime(milliseconds: UInt64(end) * millisecondsPerDay, counter: .max)
    return first...last
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
      ChoreLog.byKey, prefix: prefix(.counts), from: [.int(Int64(first.key))])
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
          ChoreLog.byKey, prefix: prefix(.counts), from: place, isExclusive: true,
          isDescending: true, limit: step))
      if let row = page.first(where: { counts($0) || $0.key == nil }) {
        return row.key == nil ? nil : row
      }
      guard let last = page.last, let key = last.key, page.count == step else {
        return nil
      }
      step = min(2 * step, ChoreLog.stepRows)
      place = [.int(key.rawValue), LedgerRow.column(of: last.version.time), .id(last.event)]
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
  func count() throws -> Int { try count(inColumn: 1) { _ in true } }

  /// Returns how often the chore was done with a rule that counts from completion.
  func chainCount() throws -> Int { try count(inColumn: 2) { $0.key == nil } }

  private func count(inColumn column: Int, where fits: (LedgerRow) -> Bool) throws -> Int {
    let row = try source.rows(of: HouseholdProjection.chains, where: [.id(chore)]).first
    return Int(row?[column].int ?? 0) + (try correction(where: fits))
  }

  /// The difference between the work that counts as of the reader's day and all work.
  private func correction(where fits: (LedgerRow) -> Bool) throws -> Int {
    guard let view else { return 0 }
    // The day of work is the UTC day of its instant or an adjacent one, and the instant lies at
    // most a few minutes after its change.
    let first =
      Int64(view.lastDay.dayNumber) * Int64(ChoreLog.millisecondsPerDay)
      - ChoreFold.maximumLeadMilliseconds
    let begin = HybridTime(milliseconds: UInt64(max(0, first)))
    var count = 0
    try forEachFromLast { row in
      if row.kind == .credited, view.isAhead(row), fits(row) { count -= 1 }
      return row.version.time >= begin
    }
    for change in try view.changes().values
    where change.stored.chore == chore && fits(change.stored) {
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

import HearthCRDT
import HearthSync

/// One chore's rows of the ledger; it reads no more than a question needs.
struct ChoreLedger {
  let source: any ProjectionSource
  let chore: RecordID

  /// The number of rows that a step back through time reads.
  static let stepRows = 32
  /// The number of rows of the first step back; the newest few usually suffice.
  static let firstStepRows = 4
  /// The most days between a completion's day and the UTC date of its change (R9).
  static let maximumDaysApart = Validation.maximumDaysBack + 5
  static let millisecondsPerDay: UInt64 = 24 * 60 * 60 * 1000

  /// The rows by time, those of an effect together.
  static let byTime = ["chore", "effect", "time", "event"]
  /// The rows by key and time, those of an effect together and of these the chain's first.
  static let byKey = ["chore", "effect", "key", "time", "event"]

  /// Returns the rows of a range.
  func rows(_ range: RowRange) throws -> [LedgerRow] {
    try source.rows(of: HouseholdTables.ledger, in: range).compactMap(LedgerRow.init)
  }

  func prefix(_ effect: LedgerRow.Effect) -> [Value] {
    [.id(chore), .int(effect.rawValue)]
  }

  /// Returns every row of some effects.
  func all(_ effects: [LedgerRow.Effect] = LedgerRow.Effect.allCases) throws -> [LedgerRow] {
    try effects.flatMap { try rows(RowRange(ChoreLedger.byTime, prefix: prefix($0))) }
  }

  /// Returns the rows of one occurrence, by default those that count.
  func rows(
    of key: OccurrenceKey, _ effects: [LedgerRow.Effect] = [.counts]
  ) throws -> [LedgerRow] {
    try effects.flatMap {
      try rows(RowRange(ChoreLedger.byKey, prefix: prefix($0) + [.int(key.rawValue)]))
    }
  }

  /// Whether the ledger has no row of the chore, with or without an effect.
  func isEmpty() throws -> Bool {
    try rows(RowRange(ChoreLedger.byTime, prefix: [.id(chore)], limit: 1)).isEmpty
  }

  /// Whether any row of some effects belongs to a chain.
  func hasLinks(_ effects: [LedgerRow.Effect]) throws -> Bool {
    try effects.contains { effect in
      let range = RowRange(ChoreLedger.byKey, prefix: prefix(effect) + [.null], limit: 1)
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
    var step = ChoreLedger.firstStepRows
    while true {
      let page = try rows(
        RowRange(
          order, prefix: prefix, from: place, isExclusive: isLater, isDescending: isDescending,
          limit: step))
      for row in page {
        guard try body(row) else { return }
      }
      guard let last = page.last, page.count == step else { return }
      step = min(2 * step, ChoreLedger.stepRows)
      place = [LedgerRow.column(of: last.version.time), .id(last.event)]
      isLater = true
    }
  }

  /// Visits the rows that count from the last one back by time, while the body returns true.
  ///
  /// The walk visits all rows of one time before it ends.
  func forEachFromLast(_ body: (LedgerRow) throws -> Bool) throws {
    var end: HybridTime?
    try forEach(ChoreLedger.byTime, prefix: prefix(.counts), isDescending: true) { row in
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
      ChoreLedger.byTime, prefix: prefix(.counts),
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
      ChoreLedger.byTime, prefix: prefix(.counts),
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
      ChoreLedger.byKey, prefix: prefix(effect) + [.null],
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
}

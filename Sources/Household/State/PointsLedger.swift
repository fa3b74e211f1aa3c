import HearthCRDT
import HearthSync

/// The ledger: every completion with the points that it pays.
package struct PointsLedger {
  let context: DayContext

  /// Returns the ledger of a person, or of everybody, newest day first.
  package func entries(of person: PersonID?) throws -> [LedgerEntry] {
    let one = person.map { context.merges.one($0) }
    return try rows(RowRange(HistoryPlace.order, isDescending: true))
      .filter { one == nil || $0.person == one }.map(entry)
  }

  /// Returns one entry of the ledger; nil if no entry has this id.
  package func entry(_ event: RecordID) throws -> LedgerEntry? { try row(event).map(entry) }

  /// Returns at most two entries whose id begins with these hexadecimal digits.
  ///
  /// Two are enough to see whether the digits identify one entry.
  package func entries(idPrefix digits: String) throws -> [LedgerEntry] {
    let padded = digits.lowercased() + String(repeating: "0", count: max(0, 32 - digits.utf8.count))
    guard let first = RecordID(hex: padded) else { return [] }
    return try rows(RowRange(["event"], from: [.id(first)], limit: 2))
      .filter { $0.event.hex.hasPrefix(digits.lowercased()) }.map(entry)
  }

  /// Returns a page of history: each entry exactly once, however many arrive between pages (R26).
  ///
  /// The cursor contains the last entry's place and the number of entries at or before that place.
  /// Entries that have arrived there since are counted, not shown.
  ///
  /// - Parameter limit: the most entries, 1...1000; the command line shows 20.
  package func history(after cursor: String?, limit: Int) throws -> HistoryPage {
    let limit = min(max(limit, 1), 1000)
    var place: HistoryPlace?
    var passed = 0
    var arrived = 0
    if let cursor {
      let (last, shown) = try HistoryPlace.parse(cursor)
      let newer = RowRange(HistoryPlace.order, from: last.values)
      passed = try context.source.count(of: HouseholdTables.ledger, in: newer)
      arrived = max(0, passed - shown)
      place = last
    }
    let rows = try rows(
      RowRange(
        HistoryPlace.order, from: place?.values ?? [], isExclusive: true, isDescending: true,
        limit: limit + 1))
    let page = rows.prefix(limit)
    let end = rows.count > limit ? page.last.map(HistoryPlace.init) : nil
    return HistoryPage(
      entries: try page.map(entry), next: end?.cursor(passed: passed + page.count),
      arrivedEarlier: arrived, span: HistorySpan(after: place, through: end))
  }

  /// Returns the last entry of a chore that is credited; nil if there is none.
  package func last(of chore: RecordID) throws -> LedgerEntry? {
    try ChoreLog(source: context.source, chore: chore, view: context.view)
      .last { $0.kind == .credited }.map(entry)
  }

  /// Returns the last entry that this person did or recorded and that is not undone.
  package func lastUndoable(by person: PersonID) throws -> LedgerEntry? {
    let found = try ["person", "recorded_by"].compactMap { try lastValid($0, person) }
    return try found.max { ($0.version, $0.event) < ($1.version, $1.event) }.map(entry)
  }

  private func lastValid(_ column: String, _ person: PersonID) throws -> LedgerRow? {
    let pageRows = 32
    var place: [Value] = []
    while true {
      let page = try rows(
        RowRange(
          [column, "time", "event"], prefix: [.id(context.merges.one(person))], from: place,
          isExclusive: true,
          isDescending: true, limit: pageRows))
      if let row = page.first(where: \.isValid) { return row }
      guard let last = page.last, page.count == pageRows else { return nil }
      place = [LedgerRow.column(of: last.version.time), .id(last.event)]
    }
  }

  /// Returns the row of an event as of today; nil if there is none.
  func row(_ event: RecordID) throws -> LedgerRow? {
    try context.source.rows(of: HouseholdTables.ledger, where: [.id(event)]).first
      .flatMap(LedgerRow.init).map(context.view.shown)
  }

  private func rows(_ range: RowRange) throws -> [LedgerRow] {
    try context.source.rows(of: HouseholdTables.ledger, in: range).compactMap(LedgerRow.init)
      .map(context.view.shown)
  }

  /// The entry of a row, with its late bookings.
  func entry(_ row: LedgerRow) throws -> LedgerEntry {
    let range = RowRange(["event"], prefix: [.id(row.event)])
    let late = try context.source.rows(of: HouseholdTables.late, in: range).compactMap { late in
      LateBooking(late, ownDay: row.day)
    }
    return LedgerEntry(
      row, isAhead: context.view.isAhead(row),
      late: late.sorted { ($0.period.rawValue, $0.day) < ($1.period.rawValue, $1.day) })
  }
}

import HearthCRDT
import HearthSync

/// The ledger as of a day: as if work with a later date did not exist.
///
/// The projection does not depend on today and contains all work. Only rows that share an
/// occurrence with future work need another outcome. Usually there is no future work, and checking
/// that is the only cost. The view reads on first use.
final class LedgerView {
  private let source: any ProjectionSource
  private let closed: ClosedDays
  private let merges: PersonMerges
  let lastDay: CivilDate
  private var known: [RecordID: Change]?

  /// A row whose outcome differs from the projection's.
  struct Change {
    let stored: LedgerRow
    let shown: LedgerRow
  }

  /// The most future rows, by day, whose occurrences are judged without them.
  ///
  /// A member who writes more of them does not make reading slow. The others do not count in any
  /// case.
  static let maximumAhead = 1000

  init(
    _ source: any ProjectionSource, closed: ClosedDays, merges: PersonMerges,
    lastDay: CivilDate
  ) {
    self.source = source
    self.closed = closed
    self.merges = merges
    self.lastDay = lastDay
  }

  /// Whether a valid row counts only later.
  func isAhead(_ row: LedgerRow) -> Bool { row.isValid && row.day > lastDay }

  /// A row with its outcome as of the day.
  func shown(_ row: LedgerRow) throws -> LedgerRow { try changes()[row.event]?.shown ?? row }

  /// The rows whose outcome differs, by event.
  func changes() throws -> [RecordID: Change] {
    if let known { return known }
    let found = try find()
    known = found
    return found
  }

  /// Returns how far a person's points on each day differ from the stored sums.
  func corrections(of person: PersonID) throws -> [CivilDate: (
    points: Int, times: Int, credits: Int
  )] {
    var days: [CivilDate: (points: Int, times: Int, credits: Int)] = [:]
    for change in try changes().values where change.shown.person == person {
      for (row, sign) in [(change.stored, -1), (change.shown, 1)] {
        let isCredited = row.kind == .credited
        days[row.day, default: (0, 0, 0)].points += sign * row.points
        days[row.day, default: (0, 0, 0)].times += row.points != 0 || isCredited ? sign : 0
        days[row.day, default: (0, 0, 0)].credits += isCredited ? sign : 0
      }
    }
    return days
  }

  private func find() throws -> [RecordID: Change] {
    guard let first = lastDay.adding(days: 1) else { return [:] }
    let ahead = try source.rows(
      of: HouseholdTables.ledger,
      in: RowRange(
        HistoryPlace.order, from: [.day(first)], limit: LedgerView.maximumAhead)
    ).compactMap(LedgerRow.init).filter(\.isValid)
    guard !ahead.isEmpty else { return [:] }
    Probe.datedAhead.hit()
    var found: [RecordID: Change] = [:]
    for (chore, rows) in Dictionary(grouping: ahead, by: \.chore).sorted(by: { $0.key < $1.key }) {
      guard let facts = try ChoreFacts(chore, from: source, merges: merges) else { continue }
      let fold = ChoreFold(facts: facts, closed: closed, source: source)
      let present = try peers(of: rows, ChoreLedger(source: source, chore: chore))
      let items = try present.compactMap { try fold.item($0) }
        .sorted { $0.completion.order < $1.completion.order }
      let outcomes = try fold.outcomes(of: items)
      for row in present {
        guard let outcome = outcomes[row.event],
          outcome != Outcome(kind: row.kind, points: row.points)
        else { continue }
        found[row.event] = Change(stored: row, shown: LedgerRow(row, outcome))
      }
    }
    return found
  }

  /// Returns the counting rows that may share an occurrence with future ones.
  private func peers(of ahead: [LedgerRow], _ ledger: ChoreLedger) throws -> [LedgerRow] {
    let isChain = try ahead.contains { $0.key == nil } || ledger.hasLinks([.counts])
    let rows =
      isChain
      ? try ledger.all([.counts])
      : try Set(ahead.compactMap(\.key)).sorted().flatMap { try ledger.rows(of: $0) }
    return rows.filter { $0.isValid && $0.day <= lastDay }
  }
}

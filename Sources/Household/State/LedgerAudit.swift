import HearthCRDT
import HearthSync

/// A completion that no unmodified program writes: it does not count, or does not count yet.
package struct EntryFault: Equatable, Sendable {
  package let entry: LedgerEntry
  /// The reason why it does not count; nil for a future completion, which counts when its day
  /// comes.
  package let fault: CompletionFault?
}

/// The check of the ledger for completions that no unmodified program writes.
package struct LedgerAudit {
  let context: DayContext
  let ledger: PointsLedger

  /// Returns the completions that no unmodified program writes, in order of day.
  ///
  /// The result has the first completion of each device and kind of fault, with the number of all
  /// such completions. A completion that a household with strict assignment refuses to pay is not
  /// included. Reads the whole ledger, for a user who looks for errors.
  package func faults() throws -> [(first: EntryFault, count: Int)] {
    var found: [(first: EntryFault, count: Int)] = []
    var folds: [RecordID: ChoreFold?] = [:]
    var place: [Value] = []
    while true {
      let page = try context.source.rows(
        of: HouseholdTables.ledger,
        in: RowRange(
          HistoryPlace.order, from: place, isExclusive: true, limit: LedgerAudit.faultPageRows))
      for row in page.compactMap(LedgerRow.init) {
        place = HistoryPlace(row).values
        let isAhead = context.view.isAhead(row)
        guard isAhead || row.kind == .invalid else { continue }
        var fault: CompletionFault?
        if !isAhead {
          if folds[row.chore] == nil {
            folds[row.chore] = try context.facts(of: row.chore).map {
              ChoreFold(facts: $0, closed: context.closed, source: context.source)
            }
          }
          guard let fold = folds[row.chore] ?? nil, let reason = try fold.fault(of: row),
            reason != .notAssigned
          else { continue }
          fault = reason
        }
        let device = row.version.dot.author.device
        if let known = found.firstIndex(where: {
          $0.first.entry.device == device && $0.first.fault == fault
        }) {
          found[known].count += 1
        } else if let entry = try ledger.entry(row.event) {
          found.append((EntryFault(entry: entry, fault: fault), 1))
        }
      }
      guard page.count == LedgerAudit.faultPageRows else { return found }
    }
  }

  private static let faultPageRows = 500
}

import HearthCRDT
import HearthSync

/// Refolds parts of a chore and writes the rows that differ.
///
/// A part is what the affected completions can change: the other completions of their occurrences,
/// or in a chain those from the last link before them to the first one after them that is a link as
/// before. What comes after that is as it was. A completion without an effect, before and after,
/// changes nothing but its own row. So one more completion costs the same however many there are.
struct ChoreRefold {
  let fold: ChoreFold
  let source: any ProjectionSource
  let writer: any ProjectionWriter

  /// Completions that are folded together, in order, with their rows and outcomes.
  private struct Part {
    var items: [FoldItem] = []
    var outcomes: [RecordID: Outcome] = [:]
    /// The rows that the completions had.
    var rows: [RecordID: LedgerRow] = [:]
    /// Those that are booked even if their rows stay as they are; nil for all.
    var booked: Set<RecordID>?
  }

  /// How often a part is made larger for the keys of its completions before the whole is taken.
  private static let maximumWidenings = 4

  private var ledger: ChoreLedger { ChoreLedger(source: source, chore: fold.facts.chore) }

  func run(_ touched: TouchedChores.Parts) throws {
    guard !touched.isWhole else { return try refoldWhole() }
    var completions = touched.completions
    for key in touched.keys.sorted() {
      for row in try ledger.rows(of: key, LedgerRow.Effect.allCases)
      where completions[row.event] == nil {
        completions[row.event] = try source.completion(row.event, merges: fold.facts.merges)
      }
    }
    guard !completions.isEmpty else { return }
    let items = try fold.items(completions.values, isWhole: false)
    var rows: [RecordID: LedgerRow] = [:]
    for event in items.map(\.completion.id) {
      rows[event] = try source.rows(of: HouseholdTables.ledger, where: [.id(event)]).first
        .flatMap(LedgerRow.init)
    }
    guard try !isJudgedByOthers(items, rows, isJudgedAnew: touched.isJudgedAnew),
      var part = try self.part(of: items, rows, isJudgedAnew: touched.isJudgedAnew)
    else { return try refoldWhole() }
    for item in items where !item.counts {
      Probe.completionUndone.hit(if: !item.retractions.isEmpty)
      part.outcomes[item.completion.id] = Outcome(
        kind: item.retractions.isEmpty ? .invalid : .undone, points: 0)
      part.items.append(item)
    }
    part.rows.merge(rows) { _, row in row }
    part.booked = touched.isJudgedAnew ? nil : Set(completions.keys)
    try write(part)
  }

  /// Whether completions that are not affected may be judged otherwise than before (R7).
  ///
  /// A link is judged by what its author had seen. So a new completion or retraction changes no
  /// verdict of others, but one that counts otherwise than its authors could know does.
  private func isJudgedByOthers(
    _ items: [FoldItem], _ rows: [RecordID: LedgerRow], isJudgedAnew: Bool
  ) throws -> Bool {
    if isJudgedAnew {
      return try items.contains { $0.completion.key == nil }
        || ledger.hasLinks([.counts, .takenBack])
    }
    return items.contains { item in
      guard item.completion.key == nil, let row = rows[item.completion.id] else { return false }
      return (row.effect == .nothing) == item.isValid || (row.effect == .takenBack && item.counts)
    }
  }

  private func refoldWhole() throws {
    let chore = fold.facts.chore
    var part = Part()
    for row in try ledger.all() { part.rows[row.event] = row }
    let ids = try source.ids(
      of: HouseholdSchema.completion, where: CompletionField.chore, is: .id(chore))
    part.items = try fold.items(
      ids.compactMap { try source.completion($0, merges: fold.facts.merges) }, isWhole: true)
    part.outcomes = try fold.outcomes(of: part.items)
    try write(part)
  }

  // MARK: - Parts

  /// Returns what completions can change, with those of them that count; nil if it may be
  /// everything.
  private func part(
    of items: [FoldItem], _ rows: [RecordID: LedgerRow], isJudgedAnew: Bool
  ) throws -> Part? {
    let moved =
      isJudgedAnew
      ? items : items.filter { $0.counts || rows[$0.completion.id]?.effect == .counts }
    guard let first = moved.first, let last = moved.last else { return Part() }
    let events = Set(items.map(\.completion.id))
    let hasLinks = try moved.contains { $0.completion.key == nil } || ledger.hasLinks([.counts])
    guard hasLinks else {
      return try occurrences(of: moved, besides: events, isJudgedAnew: isJudgedAnew)
    }
    var (low, high) = (first.completion.order, last.completion.order)
    for _ in 0..<ChoreRefold.maximumWidenings {
      let part = try stretch(from: low, through: high, moved, rows, besides: events)
      let outside = try rowsOutside(part, moved, besides: events)
      guard let first = outside.first, let last = outside.last else { return part }
      (low, high) = (min(low, first), max(high, last))
    }
    return nil
  }

  /// The occurrences of completions, none of which is of a chain.
  ///
  /// - Parameter events: the completions whose rows do not count.
  private func occurrences(
    of moved: [FoldItem], besides events: Set<RecordID>, isJudgedAnew: Bool
  ) throws -> Part {
    var part = Part()
    let effects: [LedgerRow.Effect] = isJudgedAnew ? [.takenBack, .counts] : [.counts]
    for key in Set(moved.compactMap(\.completion.key)).sorted() {
      for row in try ledger.rows(of: key, effects) where !events.contains(row.event) {
        guard let item = try fold.item(row) else { continue }
        part.items.append(item)
        part.rows[row.event] = row
      }
    }
    part.items += moved.filter(\.counts)
    part.items.sort { $0.completion.order < $1.completion.order }
    part.outcomes = try fold.outcomes(of: part.items)
    return part
  }

  /// The completions from the last link before a place to the first one after another place that
  /// is a link as before; to the last one if other links than before were found by then.
  private func stretch(
    from low: FoldOrder, through high: FoldOrder, _ moved: [FoldItem],
    _ rows: [RecordID: LedgerRow], besides events: Set<RecordID>
  ) throws -> Part {
    var part = Part()
    var groups = OccurrenceGroups()
    let start = try ledger.opening(before: low)?.order
    var waiting = moved.filter(\.counts)[...]
    var areLinksMoved = moved.contains {
      !$0.counts && $0.completion.key == nil && rows[$0.completion.id]?.kind == .credited
    }
    func add(_ item: FoldItem, was: LedgerRow?, through settled: FoldOrder?) throws -> Bool {
      let work = item.completion
      let opens = try groups.add(work) { try fold.isSurplus(work, beside: $0, before: start) }
      let opened = was?.kind == .credited
      if opens, opened, !areLinksMoved, let settled, settled < work.order {
        groups.removeLast()
        return false
      }
      if work.key == nil, opens != opened { areLinksMoved = true }
      part.items.append(item)
      return true
    }
    func addWaiting(before place: FoldOrder?) throws {
      while let next = waiting.first, place.map({ next.completion.order < $0 }) ?? true {
        waiting.removeFirst()
        _ = try add(next, was: rows[next.completion.id], through: nil)
      }
    }
    try ledger.forEachOnward(from: start) { row in
      guard !events.contains(row.event), let item = try fold.item(row) else { return true }
      try addWaiting(before: row.order)
      guard try add(item, was: row, through: high) else { return false }
      part.rows[row.event] = row
      return true
    }
    try addWaiting(before: nil)
    part.outcomes = try fold.payments(groups)
    return part
  }

  /// The places of the rows that count for occurrences of a part and are not in it, in order.
  private func rowsOutside(
    _ part: Part, _ moved: [FoldItem], besides events: Set<RecordID>
  ) throws -> [FoldOrder] {
    let keys = Set((part.items + moved).compactMap(\.completion.key))
    return try keys.sorted().flatMap { try ledger.rows(of: $0) }
      .filter { part.rows[$0.event] == nil && !events.contains($0.event) }
      .map(\.order).sorted()
  }

  // MARK: - Writing

  private func write(_ part: Part) throws {
    var booked: [FoldItem] = []
    for item in part.items {
      let event = item.completion.id
      let outcome = part.outcomes[event] ?? Outcome(kind: .invalid, points: 0)
      let isChanged = try replace(part.rows[event], by: LedgerRow(item, outcome))
      if isChanged || part.booked?.contains(event) ?? true { booked.append(item) }
    }
    try LateBookings(
      fold: fold, source: source, writer: writer, items: booked, outcomes: part.outcomes
    ).write()
  }

  /// Writes a row if it differs; returns whether it does.
  private func replace(_ old: LedgerRow?, by new: LedgerRow) throws -> Bool {
    guard old != new else { return false }
    guard old == nil || !Mutant.staleLedger.isActive else { return true }
    Probe.ledgerRowChanged.hit(if: old != nil)
    if !Mutant.pointsAddUp.isActive { try old?.count(-1, to: writer) }
    try writer.put(new.values, in: HouseholdTables.ledger)
    try new.count(1, to: writer)
    return true
  }
}

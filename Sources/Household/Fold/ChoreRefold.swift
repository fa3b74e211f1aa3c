import HearthCRDT
import HearthSync

/// Refolds parts of a chore and writes the rows that differ.
struct ChoreRefold {
  let fold: ChoreFold
  let source: any ProjectionSource
  let writer: any ProjectionWriter

  private var chore: RecordID { fold.facts.chore }

  func run(_ touched: TouchedChores.Parts) throws {
    var parts = touched
    if try isMixed(parts) { parts.isWhole = true }
    let old = try rows(of: parts)
    var completions = parts.completions
    for event in old.keys.sorted() where completions[event] == nil {
      completions[event] = try source.completion(event, merges: fold.facts.merges)
    }
    if parts.isWhole {
      let type = HouseholdSchema.completion
      let ids = try source.ids(of: type, where: CompletionField.chore, is: .id(chore))
      for id in ids where completions[id] == nil {
        completions[id] = try source.completion(id, merges: fold.facts.merges)
      }
    }
    let items = try completions.values.sorted { ($0.version, $0.id) < ($1.version, $1.id) }
      .map(fold.item)
    let outcomes = try fold.outcomes(of: items)
    for item in items {
      let completion = item.completion
      let row = LedgerRow(
        completion, outcomes[completion.id] ?? Outcome(kind: .invalid, points: 0))
      try replace(old[row.event], by: row)
    }
    try LateBookings(
      fold: fold, source: source, writer: writer, items: items, outcomes: outcomes,
      isMixed: items.contains { $0.completion.key == nil }
        && items.contains { $0.completion.key != nil }
    ).write()
  }

  /// The ledger's rows of the parts; for a chain, the rows from the head before the first affected
  /// one.
  private func rows(of parts: TouchedChores.Parts) throws -> [RecordID: LedgerRow] {
    let log = ChoreLog(source: source, chore: chore)
    var rows: [RecordID: LedgerRow] = [:]
    if parts.isWhole {
      for row in try log.all() { rows[row.event] = row }
      return rows
    }
    for key in parts.keys.sorted() {
      for row in try log.rows(of: key) { rows[row.event] = row }
    }
    if let first = parts.chainFrom {
      for row in try links(from: first, log) { rows[row.event] = row }
    }
    return rows
  }

  /// The rows of a chain from the head before a version on.
  private func links(from first: Version, _ log: ChoreLog) throws -> [LedgerRow] {
    var links: [LedgerRow] = []
    try log.forEachFromLast { row in
      guard row.key == nil else { return true }
      links.append(row)
      return !(row.kind == .credited && row.version < first)
    }
    let head = links.filter { $0.kind == .credited && $0.version < first }.map(\.version).max()
    return links.filter { row in head.map { $0 <= row.version } ?? true }
  }

  /// Whether completions of a chain and of named occurrences may be the same work.
  ///
  /// They may if they lie near enough to each other and to the affected ones.
  private func isMixed(_ parts: TouchedChores.Parts) throws -> Bool {
    let isChain = parts.chainFrom != nil
    if isChain, parts.completions.values.contains(where: { $0.key != nil }) { return true }
    guard !parts.isWhole else { return false }
    let log = ChoreLog(source: source, chore: chore)
    guard try log.hasRows(ofChain: !isChain) else { return false }
    var versions = parts.completions.values.map(\.version)
    for key in parts.keys.sorted() { versions += try log.rows(of: key).map(\.version) }
    if let first = parts.chainFrom { versions += try links(from: first, log).map(\.version) }
    guard let first = versions.min(), let last = versions.max() else { return false }
    return try log.hasRows(ofChain: !isChain, near: first.time, last.time)
  }

  private func replace(_ old: LedgerRow?, by new: LedgerRow) throws {
    guard old != new, old == nil || !Mutant.staleLedger.isActive else { return }
    Probe.ledgerRowChanged.hit(if: old != nil)
    if !Mutant.pointsAddUp.isActive { try old?.count(-1, to: writer) }
    try writer.put(new.values, in: HouseholdProjection.ledger)
    try new.count(1, to: writer)
  }
}

/// Books late work of closed periods in the next open one (R10).
///
/// A closed period contains what its close's author knew, folded by the rules of that time. The
/// next period gets the difference to what *its* close's author also knew, and so on; the first
/// open one gets the rest. So the sums of all periods equal the total, however late work arrives.
private struct LateBookings {
  let fold: ChoreFold
  let source: any ProjectionSource
  let writer: any ProjectionWriter
  let items: [FoldItem]
  let outcomes: [RecordID: Outcome]
  /// Whether the items are all completions of the chore, some of a chain and some not.
  let isMixed: Bool

  func write() throws {
    let keyed = Dictionary(grouping: items.filter { $0.completion.key != nil }) {
      $0.completion.key
    }
    var byKey: [OccurrenceKey: Peers] = [:]
    var chain: Peers?
    for item in items {
      let event = item.completion.id
      let old = try source.rows(
        of: HouseholdProjection.late, in: RowRange(["event"], prefix: [.id(event)]))
      for row in old {
        try writer.remove(from: HouseholdProjection.late, where: Array(row.prefix(4)))
      }
      for kind in PeriodKind.allCases {
        guard try fold.closed.close(kind, on: Int(item.completion.day.dayNumber)) != nil else {
          continue
        }
        let peers: Peers
        if !isMixed, let key = item.completion.key {
          peers = byKey[key] ?? Peers(fold: fold, items: keyed[key] ?? [], heads: [])
          byKey[key] = peers
        } else {
          peers = try chain ?? wholeChain()
          chain = peers
        }
        try book(item.completion, kind, peers)
      }
    }
  }

  private func book(_ completion: Completion, _ kind: PeriodKind, _ peers: Peers) throws {
    let total = outcomes[completion.id]?.points ?? 0
    let own = Int(completion.day.dayNumber)
    var day = own
    var seen = Frontier()
    var booked = 0
    func put(_ amount: Int) throws {
      guard amount != 0 else { return }
      Probe.bookedLate.hit()
      try writer.put(
        [
          .text(kind.rawValue), .id(completion.person), .int(Int64(day)), .id(completion.id),
          .int(Int64(amount)),
        ], in: HouseholdProjection.late)
    }
    while let close = try fold.closed.close(kind, on: day) {
      seen = seen.joined(with: close.cause)
      let isSettled = peers.isSettled(completion, seen: seen)
      let amount = isSettled ? total : try peers.points(of: completion.id, seen: seen)
      try put(amount - booked - (day == own ? total : 0))
      booked = amount
      if isSettled { return }
      day = try fold.closed.end(of: close, from: day)
    }
    try put(total - booked)
  }

  /// Reads the whole chain: where both kinds mix, no head shows early that the rest is irrelevant.
  private func wholeChain() throws -> Peers {
    if isMixed { return Peers(fold: fold, items: items, heads: []) }
    let rows = try ChoreLog(source: source, chore: fold.facts.chore).all()
      .filter { $0.key == nil }
    let known = Dictionary(uniqueKeysWithValues: items.map { ($0.completion.id, $0) })
    let all = try rows.compactMap { row -> FoldItem? in
      if let item = known[row.event] { return item }
      return try source.completion(row.event, merges: fold.facts.merges).map(fold.item)
    }
    .sorted {
      ($0.completion.version, $0.completion.id) < ($1.completion.version, $1.completion.id)
    }
    let heads = rows.filter { $0.kind == .credited }.map(\.version).sorted()
    return Peers(fold: fold, items: all, heads: heads)
  }
}

/// The completions that can affect each other: those of an occurrence, or a whole chain.
private final class Peers {
  private let fold: ChoreFold
  private let items: [FoldItem]
  /// The versions of the chain's link heads, in order.
  private let heads: [Version]
  private var firstUnseen: [Frontier: Int] = [:]
  private var folded: [Frontier: [RecordID: Outcome]] = [:]

  init(fold: ChoreFold, items: [FoldItem], heads: [Version]) {
    self.fold = fold
    self.items = items
    self.heads = heads
  }

  /// Whether a frontier covers everything that affects the completion.
  ///
  /// The completion then has the same outcome as today. In a chain, everything through the next
  /// head affects it.
  func isSettled(_ completion: Completion, seen: Frontier) -> Bool {
    let first = firstUnseen[seen] ?? findFirstUnseen(seen)
    guard first < items.count else { return true }
    guard let next = head(after: completion.version) else { return false }
    return next < items[first].completion.version
  }

  private func head(after version: Version) -> Version? {
    var (low, high) = (0, heads.count)
    while low < high {
      let middle = (low + high) / 2
      if version < heads[middle] { high = middle } else { low = middle + 1 }
    }
    return low < heads.count ? heads[low] : nil
  }

  private func findFirstUnseen(_ seen: Frontier) -> Int {
    let place =
      items.firstIndex { item in
        !seen.covers(item.completion.version.dot) || !item.retractions.allSatisfy(seen.covers)
      } ?? items.count
    firstUnseen[seen] = place
    return place
  }

  func points(of completion: RecordID, seen: Frontier) throws -> Int {
    let outcomes = try folded[seen] ?? fold.outcomes(of: items, seen: seen)
    folded[seen] = outcomes
    return outcomes[completion]?.points ?? 0
  }
}

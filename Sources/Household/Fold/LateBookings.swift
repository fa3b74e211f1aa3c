import HearthCRDT
import HearthSync

/// Books late work of closed periods in the next open one (R10).
///
/// A closed period contains what its close's author knew, folded by the rules of that time. The
/// next period gets the difference to what *its* close's author also knew, and so on; the first
/// open one gets the rest. So the sums of all periods equal the total, however late work arrives.
struct LateBookings {
  let fold: ChoreFold
  let source: any ProjectionSource
  let writer: any ProjectionWriter
  /// The completions that are booked; the ledger has their rows.
  let items: [FoldItem]
  let outcomes: [RecordID: Outcome]

  func write() throws {
    let known = KnownPeers(fold: fold, source: source, items: items)
    for item in items {
      let event = item.completion.id
      let old = try source.rows(
        of: HouseholdTables.late, in: RowRange(["event"], prefix: [.id(event)]))
      for row in old {
        try writer.remove(from: HouseholdTables.late, where: Array(row.prefix(4)))
      }
      for kind in PeriodKind.allCases {
        guard try fold.closed.close(kind, on: Int(item.completion.day.dayNumber)) != nil else {
          continue
        }
        try book(item.completion, kind, known)
      }
    }
  }

  private func book(_ completion: Completion, _ kind: PeriodKind, _ known: KnownPeers) throws {
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
        ], in: HouseholdTables.late)
    }
    while let close = try fold.closed.close(kind, on: day) {
      seen = seen.joined(with: close.cause)
      // Whoever closed the period before it heard of the completion paid nothing for it.
      let isSeen = seen.covers(completion.version.dot)
      let isSettled = try isSeen && known.peers(of: completion).isSettled(completion, seen: seen)
      var amount = total
      if !isSettled {
        amount = try isSeen ? known.peers(of: completion).points(of: completion.id, seen: seen) : 0
      }
      try put(amount - booked - (day == own ? total : 0))
      booked = amount
      if isSettled { return }
      day = try fold.closed.end(of: close, from: day)
    }
    try put(total - booked)
  }
}

/// The completions that can affect each other, read when somebody had seen some of them.
private final class KnownPeers {
  private let fold: ChoreFold
  private let ledger: ChoreLedger
  private let items: [RecordID: FoldItem]
  private var byKey: [OccurrenceKey: Peers] = [:]
  private var whole: Peers?
  private var hasLinks: Bool?

  init(fold: ChoreFold, source: any ProjectionSource, items: [FoldItem]) {
    self.fold = fold
    ledger = ChoreLedger(source: source, chore: fold.facts.chore)
    self.items = Dictionary(uniqueKeysWithValues: items.map { ($0.completion.id, $0) })
  }

  /// Returns the completions of the same occurrence, or all of a chore with a chain.
  func peers(of completion: Completion) throws -> Peers {
    let isOfChain = try hasLinks ?? ledger.hasLinks([.counts, .takenBack])
    hasLinks = isOfChain
    guard !isOfChain, let key = completion.key else {
      let found = try whole ?? peers(ledger.all([.takenBack, .counts]))
      whole = found
      return found
    }
    let found = try byKey[key] ?? peers(ledger.rows(of: key, [.takenBack, .counts]))
    byKey[key] = found
    return found
  }

  private func peers(_ rows: [LedgerRow]) throws -> Peers {
    let peers = try rows.compactMap { row in try items[row.event] ?? fold.item(row) }
      .sorted { $0.completion.order < $1.completion.order }
    // Only where all are links does the next one show that the rest is irrelevant.
    let isChain = rows.allSatisfy { $0.key == nil }
    let heads = isChain ? rows.filter { $0.kind == .credited }.map(\.version).sorted() : []
    return Peers(fold: fold, items: peers, heads: heads)
  }
}

/// The completions that can affect each other: those of an occurrence, or of a whole chore.
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

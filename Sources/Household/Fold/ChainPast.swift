import HearthCRDT
import HearthSync

/// The works of a chore's chain, as far as the author of a further one had seen them (R7).
///
/// A link may be done before its day, as the first occurrence ahead of a calendar rule may. The
/// next one counts from that work, so each link is the first one ahead. What bounds them is that
/// two may follow each other within one interval of the rule, and a third that has seen both may
/// not. Whoever had not seen them did what the rule asked for, so nobody's work is void because a
/// message was late. (``ChoreFold/isSurplus(_:beside:before:)`` bounds what one person can tell on
/// devices that hide from each other.)
///
/// The verdict depends on what the author had seen, and on nothing that is written later.
/// Completions are therefore judged in the order of ``extent(of:)``, in which each comes after all
/// that its author had seen. The ledger has the verdicts of those that were judged before.
final class ChainPast {
  /// What stands against one more link.
  struct Obstacle {
    let fault: CompletionFault
    /// The first day on which it may be done; nil if that is unknown.
    var nextDay: CivilDate?
  }

  /// The most works of one interval that an author may have seen, taken back or not.
  ///
  /// Work and undo could else follow each other without end, and each would be read for the next.
  static let maximumSeen = 64

  /// The completions that were judged, in that order.
  private(set) var judged: [FoldItem] = []
  /// Those of the chain without a fault of their own, in order of version.
  private var works: [FoldItem] = []
  private let fold: ChoreFold
  private let judgedAnew: Set<RecordID>
  private let readsLedger: Bool

  /// - Parameters:
  ///   - judgedAnew: the completions whose rows in the ledger do not count.
  ///   - readsLedger: whether the ledger has completions that are not added here.
  init(of fold: ChoreFold, judgedAnew: Set<RecordID> = [], readsLedger: Bool = true) {
    self.fold = fold
    self.judgedAnew = judgedAnew
    self.readsLedger = readsLedger
  }

  /// How much an author had seen: more than the author of anything within.
  static func extent(of cause: Frontier) -> UInt64 {
    cause.entries.reduce(0) { $0 &+ $1.sequence }
  }

  /// Adds a completion, which is judged, to those that the next ones are judged by.
  func add(_ item: FoldItem) {
    judged.append(item)
    guard item.completion.key == nil, item.isValid else { return }
    works.insert(item, at: place { $0.completion.order < item.completion.order })
  }

  /// Returns the fault of a link; nil if it has none.
  func fault(of link: Completion, by rule: RecurrenceRule) throws -> CompletionFault? {
    if Mutant.chainComesAnyDay.isActive { return nil }
    let fault = try obstacle(on: link.day, seenBy: link, by: rule)?.fault
    Probe.chainTooEarly.hit(if: fault == .tooEarly)
    return fault
  }

  /// Returns what stands against work on a day.
  ///
  /// - Parameter author: the link whose author had seen the others; nil for a reader who has seen
  ///   all of them.
  func obstacle(
    on day: CivilDate, seenBy author: Completion?, by rule: RecurrenceRule
  ) throws -> Obstacle? {
    guard day.days(until: rule.anchor) <= Validation.maximumDaysAhead else {
      return Obstacle(
        fault: .tooEarly, nextDay: rule.anchor.adding(days: -Validation.maximumDaysAhead))
    }
    if case .until(let last) = rule.end {
      var isOver = false
      let isCrowded = try forEachSeen(
        by: author, of: (rule.oneInterval(before: last) ?? .first)...CivilDate.last,
        where: { rule.oneInterval(after: $0).map { last < $0 } ?? true },
        { _ in
          isOver = true
          return false
        })
      if isOver || isCrowded { return Obstacle(fault: .noSuchOccurrence) }
    }
    var standing: [Completion] = []
    var pair: (Completion, Completion)?
    let isCrowded = try forEachSeen(
      by: author, of: rule.window(around: day), where: { rule.isWithinInterval($0, day) },
      { work in
        pair = standing.first { $0.sees(work) || work.sees($0) }.map { (work, $0) }
        standing.append(work)
        return pair == nil
      })
    if let (first, second) = pair {
      return Obstacle(
        fault: .tooEarly, nextDay: rule.oneInterval(after: min(first.day, second.day)))
    }
    return isCrowded ? Obstacle(fault: .tooEarly) : nil
  }

  /// Visits the works of some days that an author had seen, and had not seen taken back, while the
  /// body returns true.
  ///
  /// - Returns: whether the author had seen more of them than ``maximumSeen`` allows.
  private func forEachSeen(
    by author: Completion?, of days: ClosedRange<CivilDate>,
    where isWanted: (CivilDate) -> Bool, _ body: (Completion) throws -> Bool
  ) throws -> Bool {
    var seen = 0
    var isStopped = false
    func isSeen(_ day: CivilDate, _ version: Version, _ event: RecordID) -> Bool {
      isWanted(day) && (author?.sees(version, event) ?? true)
    }
    func visit(_ item: FoldItem) throws {
      seen += 1
      isStopped = seen == ChainPast.maximumSeen
      let isTakenBack = item.retractions.contains { author?.cause.covers($0) ?? true }
      if !isStopped, !isTakenBack { isStopped = try !body(item.completion) }
    }
    let times = ChoreLedger.times(ofWork: days)
    var index = place { $0.completion.version.time <= times.upperBound }
    while !isStopped, index > 0, works[index - 1].completion.version.time >= times.lowerBound {
      index -= 1
      let work = works[index].completion
      if isSeen(work.day, work.version, work.id) { try visit(works[index]) }
    }
    guard readsLedger else { return seen == ChainPast.maximumSeen }
    let ledger = ChoreLedger(source: fold.source, chore: fold.facts.chore)
    for effect in [LedgerRow.Effect.counts, .takenBack] where !isStopped {
      try ledger.forEachLinkBack(effect, in: times) { row in
        if !judgedAnew.contains(row.event), isSeen(row.day, row.version, row.event),
          let item = try fold.item(row)
        {
          try visit(item)
        }
        return !isStopped
      }
    }
    return seen == ChainPast.maximumSeen
  }

  /// The number of works at the beginning for which a condition holds; it holds for none after.
  private func place(where isBefore: (FoldItem) -> Bool) -> Int {
    var (low, high) = (0, works.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(works[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

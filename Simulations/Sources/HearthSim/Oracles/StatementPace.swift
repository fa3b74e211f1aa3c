import HearthMembership
import HearthStore
import HearthSync

/// How many statements about what a zone holds one device may make by itself (decision 0064).
///
/// The more people a group has, the seldomer each of its devices makes one.
struct StatementPace {
  /// When the group's people came, in order.
  private let arrivals: [UInt64]
  private let end: UInt64

  /// - Parameters:
  ///   - arrivals: when each person came who is in the group now, in any order.
  ///   - start: when the group began; nobody came earlier, whatever a clock said.
  init(arrivals: [UInt64], from start: UInt64, to end: UInt64) {
    self.arrivals = arrivals.map { min(max($0, start), end) }.sorted()
    self.end = end
  }

  /// The most statements of one device without a risky moment.
  ///
  /// The number of people only grows here. Those who have left since made the pace slower.
  var most: Int {
    zip(arrivals, Array(arrivals.dropFirst()) + [end]).enumerated().reduce(0) { sum, span in
      let (since, until) = span.element
      guard since < until else { return sum }
      let interval = ComparisonIntervals.statementInterval(people: span.offset + 1)
      return sum + Int((until - since) / interval) + 1
    }
  }
}

/// How long a continuous sync waits before its next try: longer after each failure, up to a bound.
///
/// A value without a clock: whoever waits passes in the randomness, which keeps many devices from
/// trying at the same moment.
struct SyncPace {
  /// The longest wait after the first failure.
  static let first = Duration.seconds(2)
  /// The longest wait.
  static let longest = Duration.seconds(300)
  private static let mostDoublings = 8

  /// How many rounds have failed since the last one that did not.
  private(set) var failures = 0

  /// Notes a round that reached somebody.
  mutating func succeeded() { failures = 0 }

  /// Notes a failed round.
  ///
  /// - Parameter random: from 0 to 1.
  /// - Returns: how long to wait: between half and all of what the number of failures allows.
  mutating func failed(random: Double) -> Duration {
    let doublings = min(failures, SyncPace.mostDoublings)
    failures += 1
    let whole = min(SyncPace.first * (1 << doublings), SyncPace.longest)
    return whole / 2 + whole / 2 * min(max(random, 0), 1)
  }
}

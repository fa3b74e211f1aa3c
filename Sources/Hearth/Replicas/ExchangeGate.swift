/// Lets one call at a time exchange with transports, in the order of arrival.
///
/// A connection to a relay keeps what one exchange knows of it. The node's actor alone uses this.
final class ExchangeGate {
  private var isTaken = false
  private var queue: [CheckedContinuation<Void, Never>] = []

  /// Waits until nobody else exchanges.
  func take() async {
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { queue.append($0) }
  }

  /// Lets the next one go on.
  func giveBack() {
    guard !queue.isEmpty else {
      isTaken = false
      return
    }
    queue.removeFirst().resume()
  }
}

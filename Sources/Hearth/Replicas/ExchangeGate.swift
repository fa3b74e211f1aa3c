import Synchronization

/// Lets one call at a time exchange with transports, in the order of arrival.
///
/// A connection to a relay keeps what one exchange knows of it.
final class ExchangeGate: Sendable {
  /// Whoever waits gets whether the gate is theirs.
  private typealias Caller = CheckedContinuation<Bool, Never>

  private struct State {
    var isTaken = false
    var lastNumber: UInt64 = 0
    var queue: [(number: UInt64, caller: Caller)] = []
  }

  private let state = Mutex(State())

  /// Waits until nobody else exchanges.
  func take() async {
    let number = nextNumber()
    _ = await withCheckedContinuation { stand($0, as: number) }
  }

  /// Waits until nobody else exchanges, or until the task is cancelled.
  ///
  /// - Throws: `CancellationError`, and then the gate is not taken.
  func takeUnlessCancelled() async throws {
    let number = nextNumber()
    let isMine = await withTaskCancellationHandler {
      await withCheckedContinuation { (caller: Caller) in
        stand(caller, as: number)
        // Where the cancellation came first, it has found nobody here.
        if Task.isCancelled { leave(number) }
      }
    } onCancel: {
      leave(number)
    }
    guard isMine else { throw CancellationError() }
  }

  /// Lets the next one go on.
  func giveBack() {
    let next = state.withLock { state -> Caller? in
      guard !state.queue.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.queue.removeFirst().caller
    }
    next?.resume(returning: true)
  }

  private func nextNumber() -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
  }

  private func stand(_ caller: Caller, as number: UInt64) {
    let isFree = state.withLock { state in
      guard state.isTaken else {
        state.isTaken = true
        return true
      }
      state.queue.append((number, caller))
      return false
    }
    if isFree { caller.resume(returning: true) }
  }

  private func leave(_ number: UInt64) {
    let caller = state.withLock { state -> Caller? in
      guard let place = state.queue.firstIndex(where: { $0.number == number }) else { return nil }
      return state.queue.remove(at: place).caller
    }
    caller?.resume(returning: false)
  }
}

/// A sync that goes on: it exchanges whenever this node, a folder or a relay changes.
///
/// ```swift
/// let live = node.startSync()
/// for await state in live.states { show(state) }
/// ```
///
/// The sync ends when ``stop()`` is called, when the node is closed, and when nobody holds it or
/// reads its states.
public final class LiveSync: Sendable {
  let board: SyncBoard
  private let task: Task<Void, Never>

  init(_ node: Node, timing: SyncTiming) {
    let board = SyncBoard()
    self.board = board
    task = Task { await LiveSyncLoop(node: node, timing: timing, board: board).run() }
  }

  deinit { task.cancel() }

  /// The states: the present one, and each later one.
  ///
  /// A slow reader skips states. The sequence ends with the sync, and with the reading task.
  public var states: States { States(live: self) }

  /// The present state; nil after the end.
  public var state: SyncState? { board.state }

  /// The result of the last exchange that ended; nil before the first one.
  ///
  /// Its `joined` has every zone that was joined since the start: one exchange often follows the
  /// other at once.
  public var lastResult: SyncResult? { board.result }

  /// Ends the sync, and waits until it has ended; an exchange in progress is cancelled.
  ///
  /// The node stays open, and nothing that was received is lost.
  public func stop() async {
    task.cancel()
    await task.value
  }

  /// The states of a continuous sync, which it keeps alive.
  public struct States: AsyncSequence, Sendable {
    /// A state.
    public typealias Element = SyncState
    /// Nothing fails.
    public typealias Failure = Never

    fileprivate let live: LiveSync

    /// Begins with the present state.
    public func makeAsyncIterator() -> Iterator {
      Iterator(live: live, states: live.board.states().makeAsyncIterator())
    }

    /// Waits for one state after the other.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let live: LiveSync
      fileprivate var states: AsyncStream<SyncState>.Iterator

      /// Waits for the next state; nil at the end.
      public mutating func next() async -> SyncState? {
        await states.next(isolation: #isolation)
      }
    }
  }
}

extension HearthNode {
  /// Starts to sync continuously with every folder and relay.
  ///
  /// After a failure it waits, at first a second or two and at most five minutes, with a random
  /// part, so that many devices do not come back at the same moment. One continuous sync for each
  /// node is enough; ``sync()`` may be called beside it.
  public func startSync() -> LiveSync { startSync(timing: .standard) }

  /// Starts to sync continuously, with a clock and randomness of the caller.
  func startSync(timing: SyncTiming) -> LiveSync { LiveSync(node, timing: timing) }
}

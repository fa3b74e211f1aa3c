import Foundation
import HearthSync
import Synchronization

/// What a continuous sync is doing.
public enum SyncState: Sendable, Equatable {
  /// It exchanges with the transports; the progress is that of the transfer that moved last.
  case syncing(SyncProgress?)
  /// Everything is exchanged, as far as transports answered; it waits for something to change.
  case idle
  /// No transport could be reached. It tries again then, or earlier if one of them is back.
  case offline(until: Date)
  /// The sync failed on this device, such as on a full disk. It tries again then.
  case failed(HearthError, until: Date)
}

/// How far a transfer over one transport is.
public struct SyncProgress: Sendable, Equatable {
  /// The folder or relay.
  public let address: NodeTransport.Address
  /// Whether this node receives; it gives otherwise.
  public let isReceiving: Bool
  /// The number of files that are transferred.
  public let files: Int
  /// The number of files that are expected so far; 0 if that is not known.
  public let expectedFiles: Int
  /// The number of encrypted bytes that are transferred.
  public let bytes: Int
  /// The number of encrypted bytes that are expected so far; 0 if that is not known.
  public let expectedBytes: Int

  init(_ progress: TransferProgress) {
    // A relay's progress names its host and port, a folder's its path.
    address = progress.place.hasPrefix("/") ? .folder(progress.place) : .relay(progress.place)
    isReceiving = progress.direction == .receiving
    (files, expectedFiles) = (progress.files, progress.expectedFiles)
    (bytes, expectedBytes) = (progress.bytes, progress.expectedBytes)
  }
}

/// A sync that goes on: it exchanges whenever this node, a folder or a relay changes.
///
/// ```swift
/// let live = node.startSync()
/// for await state in live.states { show(state) }
/// ```
///
/// It ends when ``stop()`` is called, when the node is closed, and when nobody holds it or reads
/// its states any more.
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

/// Shows the state of a continuous sync to everybody who watches it.
final class SyncBoard: Sendable {
  private struct Content {
    var state: SyncState? = .syncing(nil)
    var result: SyncResult?
    var watchers: [Int: AsyncStream<SyncState>.Continuation] = [:]
    var nextNumber = 0
  }

  private let content = Mutex(Content())

  var state: SyncState? { content.withLock { $0.state } }

  var result: SyncResult? { content.withLock { $0.result } }

  /// Shows a state, unless it is the present one.
  func show(_ state: SyncState) { content.withLock { SyncBoard.show(state, in: &$0) } }

  /// Shows the progress of a transfer while an exchange goes on.
  func show(_ progress: TransferProgress) {
    content.withLock { content in
      guard case .syncing = content.state else { return }
      SyncBoard.show(.syncing(SyncProgress(progress)), in: &content)
    }
  }

  /// Keeps the result of an exchange.
  func keep(_ result: SyncResult) { content.withLock { $0.result = result } }

  /// Ends every sequence of states.
  func end() {
    let watchers = content.withLock { content in
      content.state = nil
      defer { content.watchers = [:] }
      return content.watchers
    }
    for (_, watcher) in watchers.sorted(by: { $0.key < $1.key }) { watcher.finish() }
  }

  /// The states from the present one on.
  func states() -> AsyncStream<SyncState> {
    let (stream, watcher) = AsyncStream.makeStream(
      of: SyncState.self, bufferingPolicy: .bufferingNewest(1))
    let number = content.withLock { content -> Int? in
      guard let state = content.state else { return nil }
      defer { content.nextNumber += 1 }
      content.watchers[content.nextNumber] = watcher
      watcher.yield(state)
      return content.nextNumber
    }
    guard let number else {
      watcher.finish()
      return stream
    }
    watcher.onTermination = { [weak self] _ in
      self?.content.withLock { $0.watchers[number] = nil }
    }
    return stream
  }

  private static func show(_ state: SyncState, in content: inout Content) {
    guard content.state != state, content.state != nil else { return }
    content.state = state
    for (_, watcher) in content.watchers.sorted(by: { $0.key < $1.key }) { watcher.yield(state) }
  }
}

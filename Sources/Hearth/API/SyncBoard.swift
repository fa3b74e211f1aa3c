import HearthSync
import Synchronization

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

  /// Keeps the result of an exchange, with the zones that were joined in any exchange before.
  func keep(_ result: SyncResult) {
    content.withLock { content in
      let known = content.result?.joined ?? []
      let isNew = { (zone: HearthZone) in !known.contains { $0.id == zone.id } }
      content.result = SyncResult(
        transports: result.transports, joined: known + result.joined.filter(isNew))
    }
  }

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

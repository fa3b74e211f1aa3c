import Foundation
import Glibc
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSockets
import HearthSync
import HearthTransport
import Synchronization

/// What to look at to learn that a sync round may be worth it; a value, so the node can be closed.
package struct NewsSource: Equatable, Sendable {
  let folders: [FolderNewsSource]
  var relays: [RelayNewsSource] = []
  let database: String
}

/// A shared folder, and the zones whose files there are news.
package struct FolderNewsSource: Equatable, Sendable {
  let path: String
  let zoneTags: Set<Identifier>
}

/// The mailboxes of a relay that report new entries.
package struct RelayNewsSource: Equatable, Sendable {
  let place: String
  let accesses: [MailboxAccess]
  /// Kept while it is watched, so that rounds in between use the same connection.
  let link: RelayLink

  package static func == (left: RelayNewsSource, right: RelayNewsSource) -> Bool {
    left.place == right.place && left.accesses == right.accesses
  }
}

/// Waits for news between two rounds, while the node itself is closed and free for others.
///
/// News is a change in a shared folder, something that was stored at a relay, or a write to the
/// node's own database by another command.
/// Like the watchers underneath it gives hints only, and ends a wait now and then without any.
package final class NewsWatch: Sendable {
  /// What is being watched.
  package let source: NewsSource
  private let watchers: [FolderWatcher]
  private let mark: Mutex<[Int64]>
  private let isStopped = Atomic<Bool>(false)
  private let pushes = Pushes()
  private let listening: [(link: RelayLink, number: Int)]

  /// The news that relays reported since the last look.
  private final class Pushes: Sendable {
    private let heads = Mutex<[Identifier: UInt64]>([:])
    private let isNew = Atomic<Bool>(false)
    /// A connection was lost since somebody looked.
    private let isLoss = Atomic<Bool>(false)
    /// A relay is reachable again: changes written meanwhile may be due for upload.
    private let wasLost = Atomic<Bool>(false)
    private let bell = DispatchSemaphore(value: 0)

    func take(_ news: RelayNews) {
      switch news {
      case .stored(let mailbox, let head):
        let known = heads.withLock { heads in
          defer { heads[mailbox] = head }
          return heads[mailbox]
        }
        let isBack = wasLost.exchange(false, ordering: .acquiringAndReleasing)
        guard known != head || isBack else { return }
      case .closed: break
      case .lost:
        // The next round reports that the relay is unreachable; a quick restart is over by then.
        wasLost.store(true, ordering: .releasing)
        isLoss.store(true, ordering: .releasing)
        bell.signal()
        return
      }
      ring()
    }

    func ring() {
      isNew.store(true, ordering: .releasing)
      bell.signal()
    }

    /// Whether there was something, after at most some time.
    ///
    /// - Parameter heedsLosses: whether a lost connection counts.
    func wait(milliseconds: Int, heedsLosses: Bool) -> Bool {
      if take(heedsLosses: heedsLosses) { return true }
      _ = bell.wait(timeout: .now() + .milliseconds(milliseconds))
      return take(heedsLosses: heedsLosses)
    }

    private func take(heedsLosses: Bool) -> Bool {
      let isLost = heedsLosses && isLoss.exchange(false, ordering: .acquiringAndReleasing)
      return isNew.exchange(false, ordering: .acquiringAndReleasing) || isLost
    }
  }

  private static let sliceMilliseconds = 500
  /// With a relay, news within a moment is what one expects.
  private static let shortSliceMilliseconds = 40

  /// Starts watching; make it before the round after which it waits, so that nothing is missed.
  package init(_ source: NewsSource) throws {
    self.source = source
    watchers = try source.folders.map { try FolderWatcher(path: $0.path, zoneTags: $0.zoneTags) }
    mark = Mutex(NewsWatch.mark(of: source.database))
    let pushes = pushes
    listening = source.relays.map { relay in
      (relay.link, relay.link.listen(to: relay.accesses) { pushes.take($0) })
    }
  }

  deinit {
    for (link, number) in listening { link.stopListening(number) }
  }

  /// Notes the database as it is, so that this process's own writes are no news.
  package func noteDatabase() {
    mark.withLock { $0 = NewsWatch.mark(of: source.database) }
  }

  /// Waits until there may be news or ``stop()`` is called.
  ///
  /// - Parameter isOffline: whether only what comes from others counts, such as a relay that is
  ///   back. The node's own changes and lost connections then call for no round.
  /// - Returns: whether to go on.
  package func wait(isOffline: Bool = false) async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.block(isOffline)) }
    }
  }

  /// Ends the wait in progress, or the next one, as if there were news.
  package func ring() { pushes.ring() }

  /// Ends the wait in progress and every later one, from any thread.
  package func stop() {
    isStopped.store(true, ordering: .releasing)
    for watcher in watchers { watcher.cancel() }
    pushes.ring()
  }

  private func block(_ isOffline: Bool) -> Bool {
    let whole =
      listening.isEmpty ? NewsWatch.sliceMilliseconds : NewsWatch.shortSliceMilliseconds
    let slice = whole / max(1, watchers.count)
    while !isStopped.load(ordering: .acquiring) {
      if pushes.wait(milliseconds: watchers.isEmpty ? slice : 0, heedsLosses: !isOffline) {
        return !isStopped.load(ordering: .acquiring)
      }
      for (watcher, folder) in zip(watchers, source.folders) {
        switch watcher.wait(timeoutMilliseconds: slice) {
        // A folder that is away is looked for often, and calls for no round before it is back.
        case .pollingDue where access(folder.path, F_OK) != 0: continue
        case .changed, .pollingDue: return !isStopped.load(ordering: .acquiring)
        case .timedOut: continue
        case .cancelled: return false
        }
      }
      if !isOffline, NewsWatch.mark(of: source.database) != mark.withLock({ $0 }) { return true }
    }
    return false
  }

  /// What changes with the database: each file's inode, size and time.
  private static func mark(of database: String) -> [Int64] {
    [database, database + "-wal"].flatMap { path -> [Int64] in
      var information = stat()
      guard stat(path, &information) == 0 else { return [0, 0, 0, 0] }
      return [
        Int64(bitPattern: UInt64(information.st_ino)), Int64(information.st_size),
        Int64(information.st_mtim.tv_sec), Int64(information.st_mtim.tv_nsec),
      ]
    }
  }
}

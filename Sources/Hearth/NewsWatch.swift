import Foundation
import Glibc
import HearthCRDT
import HearthSync
import HearthTransport
import Synchronization

/// What to look at to learn that a sync round may be worth it; a value, so the node can be closed.
package struct NewsSource: Equatable, Sendable {
  let folders: [String]
  let zoneTags: Set<Identifier>
  let database: String
}

extension Node {
  /// What to watch between two rounds.
  package func newsSource() throws -> NewsSource {
    NewsSource(
      folders: try transports().map(\.path),
      zoneTags: Set(allZones().filter { $0.database == .shared }.map(\.tag)),
      database: folder.database)
  }
}

/// Waits for news between two rounds, while the node itself is closed and free for others.
///
/// News is a change in a shared folder, or a write to the node's own database by another command.
/// Like the watchers underneath it gives hints only, and ends a wait now and then without any.
package final class NewsWatch: Sendable {
  /// What is being watched.
  package let source: NewsSource
  private let watchers: [FolderWatcher]
  private let mark: Mutex<[Int64]>
  private let isStopped = Atomic<Bool>(false)

  private static let sliceMilliseconds = 500

  /// Starts watching; make it before the round after which it waits, so that nothing is missed.
  package init(_ source: NewsSource) throws {
    self.source = source
    watchers = try source.folders.map { try FolderWatcher(path: $0, zoneTags: source.zoneTags) }
    mark = Mutex(NewsWatch.mark(of: source.database))
  }

  /// Notes the database as it is, so that this process's own writes are no news.
  package func noteDatabase() {
    mark.withLock { $0 = NewsWatch.mark(of: source.database) }
  }

  /// Waits until there may be news or ``stop()`` is called.
  ///
  /// - Returns: whether to go on.
  package func wait() async -> Bool {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: self.block()) }
    }
  }

  /// Ends the wait in progress and every later one, from any thread.
  package func stop() {
    isStopped.store(true, ordering: .releasing)
    for watcher in watchers { watcher.cancel() }
  }

  private func block() -> Bool {
    let slice = NewsWatch.sliceMilliseconds / max(1, watchers.count)
    while !isStopped.load(ordering: .acquiring) {
      if watchers.isEmpty { usleep(UInt32(slice) * 1_000) }
      for watcher in watchers {
        switch watcher.wait(timeoutMilliseconds: slice) {
        case .changed, .pollingDue: return !isStopped.load(ordering: .acquiring)
        case .timedOut: continue
        case .cancelled: return false
        }
      }
      if NewsWatch.mark(of: source.database) != mark.withLock({ $0 }) { return true }
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

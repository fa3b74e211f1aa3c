import Glibc
import HearthCRDT
import HearthSync
import Synchronization

/// Waits for a shared folder to change.
///
/// A result is only a hint. A change may go unnoticed (network file systems, full event queues),
/// and a hint may have no change behind it. So a wait also ends after a polling interval, which is
/// shorter if the system cannot watch at all. The caller lists the folder after every hint, and
/// once after creating the watcher.
///
/// The watcher uses no thread: `wait` blocks its caller in `poll(2)`. `cancel` ends the wait from
/// any thread, now and for good. The descriptors are closed with the watcher. Give the blocking
/// call a thread of its own, not one of the pool that runs tasks.
package final class FolderWatcher: Sendable {
  /// Why a wait ended.
  package enum Hint: Hashable, Sendable {
    /// Something changed: list the folder.
    case changed
    /// Nothing was noticed for the polling interval: list the folder all the same.
    case pollingDue
    /// The caller's own timeout expired.
    case timedOut
    /// `cancel` was called; every later wait ends with this too.
    case cancelled
  }

  /// The intervals of a watcher.
  package struct Intervals: Sendable {
    /// How long to wait for quiet after a change, so that many changes make one hint.
    package var debounceMilliseconds = 50
    /// How long further changes may delay a hint at most.
    package var maximumDebounceMilliseconds = 1_000
    /// How often to poll if the system reports changes.
    package var watchedPollingMilliseconds = 60_000
    /// How often to poll if it does not.
    package var pollingMilliseconds = 5_000

    package init() {}
  }

  private struct State {
    var watch: FolderWatch?
    /// Why the system does not report changes.
    var reason: String?
    /// The time of the last hint, or of the watcher's creation.
    var lastHint: Int64
  }

  private let path: String
  private let zoneTags: Set<Identifier>
  private let intervals: Intervals
  private let maximumWatches: Int
  /// A pair of sockets, the end to read and the end to write.
  ///
  /// It stays readable once `cancel` wrote into it.
  private let cancellation: (read: Int32, write: Int32)
  private let state: Mutex<State>

  /// How many directories are watched at most: two zones with every author they may have.
  ///
  /// Watches are a system resource that all programs of a user share.
  package static let standardMaximumWatches = 8_192

  /// Starts watching a folder for some zones.
  ///
  /// - Parameters:
  ///   - path: the folder; one that does not exist is polled until it does.
  ///   - zoneTags: the zones of interest.
  ///   - intervals: waiting times.
  ///   - maximumWatches: how many directories to watch at most. Above this number, or at the
  ///     system's own limit, the folder is polled instead. Zero always polls.
  /// - Throws: `TransportError` if the process has no descriptor left.
  package init(
    path: String, zoneTags: Set<Identifier>, intervals: Intervals = Intervals(),
    maximumWatches: Int = FolderWatcher.standardMaximumWatches
  ) throws {
    self.path = path
    self.zoneTags = zoneTags
    self.intervals = intervals
    self.maximumWatches = maximumWatches
    self.state = Mutex(State(lastHint: FolderWatcher.now()))
    var ends: [Int32] = [-1, -1]
    // Sockets, because only they can be made close-on-exec in the same step.
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw SystemFault.last("socketpair").error(
        at: path, doing: "watching", isWriting: false)
    }
    self.cancellation = (ends[0], ends[1])
    state.withLock { arm(&$0) }
  }

  deinit {
    close(cancellation.read)
    close(cancellation.write)
  }

  /// Why the folder is polled instead of watched, for a person; nil while it is watched.
  package var pollingReason: String? { state.withLock { $0.reason } }

  /// Waits for a hint; one thread at a time.
  ///
  /// - Parameter timeoutMilliseconds: how long at most. A change in progress may extend the wait by
  ///   up to `maximumDebounceMilliseconds`. Nil waits until the next hint.
  package func wait(timeoutMilliseconds: Int?) -> Hint {
    let start = FolderWatcher.now()
    let deadline = timeoutMilliseconds.map { start + Int64(max(0, $0)) }
    while true {
      let (events, pollingTime) = state.withLock { state in
        let interval =
          state.watch == nil ? intervals.pollingMilliseconds : intervals.watchedPollingMilliseconds
        return (state.watch?.descriptor, state.lastHint + Int64(interval))
      }
      let now = FolderWatcher.now()
      let until = min(pollingTime, deadline ?? pollingTime)
      switch sleep(events, milliseconds: max(0, until - now)) {
      case .cancelled: return .cancelled
      case .readable:
        if digest() { return settle() }
      case .quiet:
        let now = FolderWatcher.now()
        if now >= pollingTime {
          state.withLock { state in
            state.lastHint = now
            if state.watch == nil { arm(&state) }
          }
          return .pollingDue
        }
        if let deadline, now >= deadline { return .timedOut }
      }
    }
  }

  /// Ends the wait in progress and every later one.
  ///
  /// May be called from any thread, any number of times.
  package func cancel() {
    // The write can only fail because the buffer is full, and then the socket is readable as well.
    _ = write(cancellation.write, [1] as [UInt8], 1)
  }

  // MARK: -

  private enum Awakening {
    case cancelled
    case readable
    case quiet
  }

  /// Sleeps until there are events, `cancel` is called or the time is up.
  private func sleep(_ events: Int32?, milliseconds: Int64) -> Awakening {
    // `poll` ignores a negative descriptor.
    var descriptors = [
      pollfd(fd: cancellation.read, events: Int16(POLLIN), revents: 0),
      pollfd(fd: events ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    // A signal ends the sleep early: the caller checks its times and sleeps again.
    guard poll(&descriptors, 2, Int32(clamping: milliseconds)) > 0 else { return .quiet }
    if descriptors[0].revents != 0 { return .cancelled }
    return descriptors[1].revents != 0 ? .readable : .quiet
  }

  /// Takes the pending events.
  ///
  /// - Returns: whether one of them matters.
  private func digest() -> Bool {
    state.withLock { state in
      guard let watch = state.watch else { return false }
      switch watch.takeEvents() {
      case .unimportant: return false
      case .important: return true
      case .over(let reason):
        state.watch = nil
        state.reason = reason
        return true
      }
    }
  }

  /// Waits for quiet after a change.
  private func settle() -> Hint {
    let end = FolderWatcher.now() + Int64(intervals.maximumDebounceMilliseconds)
    var quiet = FolderWatcher.now() + Int64(intervals.debounceMilliseconds)
    while true {
      let now = FolderWatcher.now()
      let until = min(quiet, end)
      if now >= until { break }
      let events = state.withLock { $0.watch?.descriptor }
      switch sleep(events, milliseconds: until - now) {
      case .cancelled: return .cancelled
      case .readable:
        if digest() { quiet = FolderWatcher.now() + Int64(intervals.debounceMilliseconds) }
      case .quiet: break
      }
    }
    state.withLock { $0.lastHint = FolderWatcher.now() }
    return .changed
  }

  /// Starts to watch, or records why it cannot.
  private func arm(_ state: inout State) {
    guard maximumWatches > 0 else {
      state.reason = "watching is switched off"
      return
    }
    switch FolderWatch.start(
      path: path, zoneTags: zoneTags, maximumWatches: maximumWatches)
    {
    case .success(let watch):
      state.watch = watch
      state.reason = nil
    case .failure(let error):
      state.watch = nil
      state.reason = error.reason
    }
  }

  /// Milliseconds of a monotonic clock.
  private static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
  }
}

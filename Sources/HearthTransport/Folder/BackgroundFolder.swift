import Foundation
import HearthCRDT
import HearthSync
import Synchronization

/// The thread on which one folder's files are read and written.
///
/// Whoever keeps it for as long as the process runs leaves at most one thread behind where the
/// folder does not answer.
package final class FolderThread: Sendable {
  fileprivate let queue = DispatchQueue(label: "hearth.folder")
  /// How many calls were given up and still run.
  fileprivate let lateCount = Mutex(0)

  package init() {}

  private static let threads = Mutex<[String: FolderThread]>([:])

  /// The thread of this process for a folder: what hangs there keeps one, whoever asks it.
  package static func shared(for path: String) -> FolderThread {
    threads.withLock { threads in
      let thread = threads[path] ?? FolderThread()
      threads[path] = thread
      return thread
    }
  }
}

/// A shared folder whose files are read and written on a thread of their own.
///
/// A network share or a disk that spins up answers late or never, and no call of the system can be
/// ended from outside. So a call is given up after a time: its thread stays behind until the system
/// answers, and until then every other call is refused at once.
package final class BackgroundFolder: Transport, Sendable {
  /// How long a call to a folder may take: 30 seconds.
  package static let deadlineMilliseconds = 30_000

  private let folder: FolderTransport
  private let thread: FolderThread
  private let deadlineMilliseconds: Int

  package init(
    _ folder: FolderTransport, on thread: FolderThread,
    deadlineMilliseconds: Int = BackgroundFolder.deadlineMilliseconds
  ) {
    self.folder = folder
    self.thread = thread
    self.deadlineMilliseconds = deadlineMilliseconds
  }

  package var canDecay: Bool { folder.canDecay }

  package func place(of name: SegmentName) -> String { folder.place(of: name) }

  package func list(zoneTag: Identifier) async throws -> TransportListing {
    try await run { try $0.list(zoneTag: zoneTag) }
  }

  package func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) async throws -> TransportListing {
    try await run { try $0.list(zoneTag: zoneTag, preferring: preference) }
  }

  package func fetch(_ name: SegmentName) async throws -> [UInt8] {
    try await run { try $0.fetch(name) }
  }

  package func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws {
    try await run { try $0.publish(name, bytes) }
  }

  package func remove(_ name: SegmentName) async throws {
    try await run { try $0.remove(name) }
  }

  package func remove(_ names: [SegmentName]) async throws {
    for name in names { try await remove(name) }
  }

  package func fetch(_ name: BlobName) async throws -> [UInt8]? {
    try await run { try $0.fetch(name) }
  }

  package func publish(_ name: BlobName, _ bytes: [UInt8]) async throws {
    try await run { try $0.publish(name, bytes) }
  }

  package func remove(_ name: BlobName) async throws {
    try await run { try $0.remove(name) }
  }

  // MARK: One call

  /// One call: its answer is the first of the folder's, the deadline's and the caller's.
  private final class Call<Result: Sendable>: Sendable {
    private struct State {
      var waiting: CheckedContinuation<Result, any Error>?
      var isCancelled = false
      var isLate = false
      var isDone = false
    }

    private let state = Mutex(State())
    private let thread: FolderThread

    init(on thread: FolderThread) {
      self.thread = thread
    }

    /// Begins to wait, unless the caller has given up already.
    ///
    /// - Returns: whether the call is still wanted.
    func wait(by continuation: CheckedContinuation<Result, any Error>) -> Bool {
      let isWanted = state.withLock { state in
        if !state.isCancelled { state.waiting = continuation }
        return !state.isCancelled
      }
      if !isWanted { continuation.resume(throwing: CancellationError()) }
      return isWanted
    }

    /// The folder has answered.
    func finish(_ result: Swift.Result<Result, any Error>) {
      answer(with: result) { state in
        state.isDone = true
        if state.isLate { thread.lateCount.withLock { $0 -= 1 } }
      }
    }

    /// The time is over.
    func expire(_ error: TransportError) {
      answer(with: .failure(error)) { state in
        guard state.waiting != nil, !state.isDone else { return }
        state.isLate = true
        thread.lateCount.withLock { $0 += 1 }
      }
    }

    /// The caller has given up.
    func cancel() {
      answer(with: .failure(CancellationError())) { $0.isCancelled = true }
    }

    private func answer(
      with result: Swift.Result<Result, any Error>, _ change: (inout State) -> Void
    ) {
      let waiting = state.withLock { state in
        change(&state)
        defer { state.waiting = nil }
        return state.waiting
      }
      waiting?.resume(with: result)
    }
  }

  private func run<Result: Sendable>(
    _ body: @escaping @Sendable (FolderTransport) throws -> Result
  ) async throws -> Result {
    guard thread.lateCount.withLock({ $0 == 0 }) else { throw late }
    let call = Call<Result>(on: thread)
    let deadline = DispatchWorkItem { [late] in call.expire(late) }
    defer { deadline.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard call.wait(by: continuation) else { return }
        DispatchQueue.global().asyncAfter(
          deadline: .now() + .milliseconds(deadlineMilliseconds), execute: deadline)
        thread.queue.async { [folder] in call.finish(Swift.Result { try body(folder) }) }
      }
    } onCancel: {
      call.cancel()
    }
  }

  private var late: TransportError {
    TransportError(
      .inputOutput, place: folder.path,
      message: "the folder has not answered for \(deadlineMilliseconds / 1_000) seconds",
      remedy: "check that its disk or network share is there, then sync again")
  }
}

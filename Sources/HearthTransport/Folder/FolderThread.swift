import Foundation
import HearthSync
import Synchronization

/// The thread on which one folder's files are read and written.
///
/// A network share or a disk that spins up answers late or never, and no call of the system can be
/// ended from outside. So a caller can give its call up, and the thread stays behind until the
/// system answers. Whoever keeps it for as long as the process runs leaves at most one thread
/// behind where the folder does not answer.
package final class FolderThread: Sendable {
  /// How long a call may take.
  package struct Deadline: Sendable {
    /// The time.
    let milliseconds: Int
    /// Why a call was given up, or refused as one before it was given up and still runs.
    let error: TransportError
  }

  private let queue = DispatchQueue(label: "hearth.folder")
  /// How many calls were given up at their deadline and still run.
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

  /// Runs a call on the thread, after those that came before.
  ///
  /// It ends as soon as the caller's task is cancelled. What has begun is done to its end all the
  /// same, and what has not begun is left undone.
  ///
  /// - Parameters:
  ///   - deadline: how long it may take; nil if the caller cancels it in time.
  ///   - body: what blocks.
  /// - Throws: what the body throws; the deadline's error; `CancellationError`.
  package func run<Result: Sendable>(
    within deadline: Deadline? = nil, _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    if let deadline, lateCount.withLock({ $0 > 0 }) { throw deadline.error }
    let call = FolderCall<Result>(on: self)
    let expiry = deadline.map { deadline in
      DispatchWorkItem { call.expire(deadline.error) }
    }
    defer { expiry?.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        guard call.wait(by: continuation) else { return }
        if let deadline, let expiry {
          DispatchQueue.global().asyncAfter(
            deadline: .now() + .milliseconds(deadline.milliseconds), execute: expiry)
        }
        queue.async { call.run(body) }
      }
    } onCancel: {
      call.cancel()
    }
  }
}

/// One call: its answer is the first of the folder's, the deadline's and the caller's.
private final class FolderCall<Result: Sendable>: Sendable {
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

  /// Does the work, unless the caller has given up before it begins.
  func run(_ body: () throws -> Result) {
    let isCancelled = state.withLock { $0.isCancelled }
    guard !isCancelled else { return finish(.failure(CancellationError())) }
    finish(Swift.Result { try body() })
  }

  /// The folder has answered.
  private func finish(_ result: Swift.Result<Result, any Error>) {
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

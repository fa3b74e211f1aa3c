import Foundation

/// A thread for tasks that block, so that they take none from other tests.
final class OwnThread: TaskExecutor {
  private let queue = DispatchQueue(label: "own-thread")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

/// A body, such as that of a transaction, that goes on only when a test lets it.
final class Held: Sendable {
  private let begun = DispatchSemaphore(value: 0)
  private let end = DispatchSemaphore(value: 0)
  /// With all tests at once, a task may wait very long for a thread.
  private static let patience = DispatchTimeInterval.seconds(3_600)

  /// Called in the body.
  func hold() -> Bool {
    begun.signal()
    return end.wait(timeout: .now() + Held.patience) == .success
  }

  /// Waits for the body, outside of Swift's own threads.
  func began() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        _ = self.begun.wait(timeout: .now() + Held.patience)
        continuation.resume()
      }
    }
  }

  func release() { end.signal() }
}

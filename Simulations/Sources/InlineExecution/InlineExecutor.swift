import Synchronization

/// Runs the jobs of tasks one after the other on the thread that asks for it.
private final class InlineExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  func runAll() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

/// Runs asynchronous code to its end on the calling thread, in the same order each time.
///
/// For tests and simulations, whose transports never wait for anything outside: a body that does
/// ends the process.
package func runInline<Result>(_ body: () async throws -> Result) throws -> Result {
  let executor = InlineExecutor()
  return try withoutActuallyEscaping(body) { body in
    // The task runs on this thread alone, and has ended before this function returns.
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var outcome: Swift.Result<Result, any Error>?
    _ = Task(executorPreference: executor) {
      do {
        outcome = .success(try await body())
      } catch {
        outcome = .failure(error)
      }
    }
    executor.runAll()
    guard let outcome else { preconditionFailure("the body waits for something outside") }
    return try outcome.get()
  }
}

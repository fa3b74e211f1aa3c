import ArgumentParser
import Foundation
import Synchronization

/// Runs this program again and again, so many processes at a time, and hears of each as it ends.
///
/// Whichever process is free takes the next task, so that one long task holds up nobody.
struct Pool {
  /// What one process is to do.
  struct Task {
    let arguments: [String]
    let input: Data
  }

  /// How one process ended.
  struct End {
    /// What it printed.
    let output: Data
    let seconds: Double
    /// Whether it ended by itself and in good order.
    let isOrderly: Bool
    /// Whether it was ended because its time was over.
    let isLate: Bool
    /// Its exit status, or the signal that ended it.
    let status: Int32
  }

  /// Which processes have ended and were not yet dealt with.
  ///
  /// Told by the processes' own handlers: what `isRunning` says may come later than those.
  private final class Ends: Sendable {
    private let indices = Mutex<[Int]>([])
    private let signal = DispatchSemaphore(value: 0)

    func note(_ index: Int) {
      indices.withLock { $0.append(index) }
      signal.signal()
    }

    /// The index of a task whose process has ended; nil if none has after a time.
    func next(milliseconds: Int) -> Int? {
      guard signal.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else {
        return nil
      }
      return indices.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
  }

  private struct Running {
    let index: Int
    let process: Process
    let output: URL
    let began: Date
    var isLate = false
  }

  let jobs: Int
  /// After how long a process is ended; never if nil.
  var limitSeconds: Double?
  private let ends = Ends()
  /// After how long at most the limit of those that run is looked at.
  private static let lookMilliseconds = 500

  init(jobs: Int, limitSeconds: Double? = nil) {
    self.jobs = max(1, jobs)
    self.limitSeconds = limitSeconds
  }

  /// Runs every task; calls back from this thread as each ends, in the order in which they end.
  func run(_ tasks: [Task], ended: (Int, End) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "hearth-sim-\(ProcessInfo.processInfo.processIdentifier)-pool")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var next = 0
    var running: [Running] = []
    defer { for one in running { one.process.terminate() } }
    while next < tasks.count || !running.isEmpty {
      while running.count < jobs, next < tasks.count {
        running.append(try start(tasks[next], next, in: folder))
        next += 1
      }
      if let index = ends.next(milliseconds: Pool.lookMilliseconds),
        let place = running.firstIndex(where: { $0.index == index })
      {
        try ended(index, try end(of: running.remove(at: place)))
      }
      guard let limitSeconds else { continue }
      for place in running.indices
      where !running[place].isLate
        && -running[place].began.timeIntervalSinceNow > limitSeconds
      {
        running[place].isLate = true
        running[place].process.terminate()
      }
    }
  }

  /// Prints a line at once, also where the output is a file or a pipe.
  static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  private func start(_ task: Task, _ index: Int, in folder: URL) throws -> Running {
    let (input, output) = (
      folder.appendingPathComponent("\(index).in"), folder.appendingPathComponent("\(index).out")
    )
    try task.input.write(to: input)
    guard FileManager.default.createFile(atPath: output.path, contents: nil) else {
      throw ValidationError("cannot write \(output.path)")
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = task.arguments
    process.standardInput = try FileHandle(forReadingFrom: input)
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.terminationHandler = { [ends] _ in ends.note(index) }
    try process.run()
    return Running(index: index, process: process, output: output, began: Date())
  }

  private func end(of one: Running) throws -> End {
    one.process.waitUntilExit()
    return End(
      output: try Data(contentsOf: one.output), seconds: -one.began.timeIntervalSinceNow,
      isOrderly: one.process.terminationReason == .exit && one.process.terminationStatus == 0,
      isLate: one.isLate, status: one.process.terminationStatus)
  }
}

import Dispatch
import HearthSync
import Testing

@testable import HearthTransport

@Suite("A folder that does not answer")
struct BackgroundFolderTests {
  /// A folder whose writes wait until it is let go.
  private final class Hanging: Sendable {
    let scratch = Scratch()
    let isReached = DispatchSemaphore(value: 0)
    let letGo = DispatchSemaphore(value: 0)
    let thread = FolderThread()

    func folder(deadlineMilliseconds: Int) -> BackgroundFolder {
      BackgroundFolder(
        scratch.transport(probe: { [isReached, letGo] step in
          guard step == .directoriesMade else { return }
          isReached.signal()
          letGo.wait()
        }), on: thread, deadlineMilliseconds: deadlineMilliseconds)
    }
  }

  private let bytes: [UInt8] = [1, 2, 3]

  @Test("a call is given up at its deadline, and others are refused until the folder answers")
  func deadline() async throws {
    let hanging = Hanging()
    let name = segment(bytes, first: 1, last: 1)
    let impatient = hanging.folder(deadlineMilliseconds: 1)
    let error = await #expect(throws: TransportError.self) {
      try await impatient.publish(name, bytes)
    }
    #expect(error?.code == .inputOutput)
    #expect(error?.place == hanging.scratch.path)
    hanging.isReached.wait()
    // Another transport over the same folder would wait for the same disk: what it refuses does
    // not begin later either.
    let other = hanging.folder(deadlineMilliseconds: 1_000)
    let second = segment([4], first: 2, last: 2)
    await #expect(throws: TransportError.self) { try await other.publish(second, [4]) }
    for _ in 0..<2 { hanging.letGo.signal() }
    var listed: TransportListing?
    while listed == nil { listed = try? await other.list(zoneTag: zone) }
    #expect(listed?.segments == [name], "what was begun is done to its end")
  }

  @Test("a caller that is cancelled waits no longer")
  func cancelled() async throws {
    let hanging = Hanging()
    let patient = hanging.folder(deadlineMilliseconds: 60_000)
    let name = segment(bytes, first: 1, last: 1)
    let task = Task { [bytes] in try await patient.publish(name, bytes) }
    await withCheckedContinuation { (reached: CheckedContinuation<Void, Never>) in
      DispatchQueue.global().async {
        hanging.isReached.wait()
        reached.resume()
      }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    hanging.letGo.signal()
    #expect(try await patient.fetch(name) == bytes, "the next call comes after the one before")
  }

  @Test("a call that is cancelled before it begins touches nothing")
  func cancelledBefore() async throws {
    let scratch = Scratch()
    let folder = BackgroundFolder(scratch.transport(), on: FolderThread())
    let name = segment(bytes, first: 1, last: 1)
    let task = Task { [bytes] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await folder.publish(name, bytes)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await folder.list(zoneTag: zone).segments.isEmpty)
    #expect(scratch.tree().isEmpty)
  }

  @Test("a call that is cancelled before its turn on the thread touches nothing")
  func cancelledInQueue() async throws {
    let hanging = Hanging()
    let patient = hanging.folder(deadlineMilliseconds: 60_000)
    let (name, second) = (segment(bytes, first: 1, last: 1), segment([4], first: 2, last: 2))
    async let first: Void = patient.publish(name, bytes)
    await withCheckedContinuation { (reached: CheckedContinuation<Void, Never>) in
      DispatchQueue.global().async {
        hanging.isReached.wait()
        reached.resume()
      }
    }
    let task = Task { try await patient.publish(second, [4]) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    hanging.letGo.signal()
    try await first
    #expect(try await patient.list(zoneTag: zone).segments == [name])
  }

  @Test("a folder that answers does through its thread what it does alone")
  func sameAnswers() async throws {
    let scratch = Scratch()
    let folder = BackgroundFolder(scratch.transport(), on: FolderThread())
    let name = segment(bytes, first: 1, last: 1)
    try await folder.publish(name, bytes)
    #expect(try await folder.list(zoneTag: zone).segments == [name])
    #expect(try await folder.fetch(name) == bytes)
    try await folder.remove([name])
    await #expect(throws: TransportError.self) { _ = try await folder.fetch(name) }
  }
}

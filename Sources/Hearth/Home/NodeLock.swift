import Foundation
import Glibc

/// The lock by which the processes of one node take turns with its files.
///
/// The lock belongs to the open file, so the system drops it when the process ends, however. A
/// process that finds it taken queues by a second lock, which everybody takes first: otherwise an
/// exchange, which gives the lock back for moments only, would keep all others out.
///
/// The file says whether the last holder gave the lock back, or ended with it.
final class NodeLock {
  /// What the file holds while somebody has the lock, and after it was given back.
  private static let heldMark: UInt8 = 1
  private static let freeMark: UInt8 = 0

  private static let pollMicroseconds: UInt32 = 1_000

  private let descriptor: Int32
  private let queue: Int32
  private let path: String
  private var isHeld = false
  /// Whether the holder before this one ended without giving the lock back, or could not say that
  /// all it wrote is on the disk.
  private(set) var wasAbandoned = true
  private var wasEmpty = false

  /// Opens the lock of a node's folder; it is not taken yet.
  init(_ folder: NodeFolder) throws {
    path = folder.lock
    descriptor = try NodeLock.open(folder.lock)
    do {
      queue = try NodeLock.open(folder.lockQueue)
    } catch {
      close(descriptor)
      throw error
    }
  }

  deinit {
    // A home that could not be opened stays as it was. An empty file says as little as a held lock.
    if isHeld, wasEmpty { ftruncate(descriptor, 0) }
    close(descriptor)
    close(queue)
  }

  /// Takes the lock, waiting for the one who has it.
  ///
  /// - Throws: `locked` after that time.
  func take(waitMilliseconds: Int) throws {
    let end = DispatchTime.now().uptimeNanoseconds + UInt64(waitMilliseconds) * 1_000_000
    try lock(queue, until: end)
    defer { flock(queue, LOCK_UN) }
    try lock(descriptor, until: end)
    begin()
  }

  /// Takes the lock if nobody has it; else keeps the place in the queue for the next try.
  ///
  /// - Throws: `io`.
  func takeAtOnce() throws -> Bool {
    guard try NodeLock.isTaken(queue, path), try NodeLock.isTaken(descriptor, path) else {
      return false
    }
    flock(queue, LOCK_UN)
    begin()
    return true
  }

  private func begin() {
    guard !isHeld else { return }
    isHeld = true
    var mark = NodeLock.heldMark
    // A new file is empty, and one that cannot be read says nothing.
    let count = pread(descriptor, &mark, 1, 0)
    wasEmpty = count == 0
    wasAbandoned = count != 1 || mark != NodeLock.freeMark
    write(NodeLock.heldMark)
  }

  private func write(_ mark: UInt8) {
    // Where this fails the file does not say that the lock was given back, which is only slower.
    _ = withUnsafeBytes(of: mark) { pwrite(descriptor, $0.baseAddress, 1, 0) }
  }

  /// Gives up the place in the queue.
  func leaveQueue() {
    flock(queue, LOCK_UN)
  }

  /// Why a call cannot work on the node now.
  var busy: HearthError {
    HearthError(
      .locked,
      "another process is using this node (\(path)): wait for it to end, or use another --home")
  }

  /// Gives back the lock, or the place in the queue.
  ///
  /// - Parameter isSafe: whether everything that was written under the lock is on the disk.
  func giveBack(isSafe: Bool = true) {
    if isHeld, isSafe { write(NodeLock.freeMark) }
    isHeld = false
    flock(descriptor, LOCK_UN)
    flock(queue, LOCK_UN)
  }

  private static func open(_ path: String) throws -> Int32 {
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else {
      throw HearthError(.io, "\(path) cannot be opened: \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  private func lock(_ descriptor: Int32, until end: UInt64) throws {
    while try !NodeLock.isTaken(descriptor, path) {
      guard DispatchTime.now().uptimeNanoseconds < end else { throw busy }
      usleep(NodeLock.pollMicroseconds)
    }
  }

  /// Takes one lock if it is free, or ours.
  private static func isTaken(_ descriptor: Int32, _ path: String) throws -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EINTR else {
        guard errno == EWOULDBLOCK else {
          throw HearthError(.io, "\(path) cannot be locked: \(String(cString: strerror(errno)))")
        }
        return false
      }
    }
    return true
  }
}

import Foundation
import Glibc
import Hearth

/// A folder of its own, removed at the end.
final class TemporaryFolder: Sendable {
  let path: String

  /// Where memory is a folder: writes that must be durable cost nothing there.
  private static let memory = "/dev/shm"

  init() throws {
    let memory = TemporaryFolder.memory
    let isWritable = access(memory, W_OK | X_OK) == 0
    let parent = isWritable ? memory : FileManager.default.temporaryDirectory.path
    // mkdtemp replaces these letters by others that make the name new.
    let letters = String(repeating: "X", count: 6)
    var template = Array((parent + "/hearth-family-" + letters).utf8CString)
    guard let made = mkdtemp(&template) else {
      throw FamilyError("no folder can be made in \(parent): \(String(cString: strerror(errno)))")
    }
    path = String(cString: made)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}

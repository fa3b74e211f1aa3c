import Glibc
import HearthSync

/// A failed system call and the error number that the system returned.
package struct SystemFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call, as in its manual page.
  package let call: String
  /// The value of `errno` after it.
  package let number: Int32

  package init(_ call: String, _ number: Int32) {
    self.call = call
    self.number = number
  }

  /// Takes the calling thread's `errno`.
  ///
  /// Only freeing memory may come between the call and this function, because that preserves
  /// `errno` since glibc 2.33.
  static func last(_ call: String) -> SystemFault { SystemFault(call, errno) }

  package var description: String {
    // Since glibc 2.32 the text belongs to the calling thread, and only unknown numbers need one.
    let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    return "\(call): \(text)"
  }
}

// MARK: - In words for people

extension SystemFault {
  /// Describes why the folder itself cannot be opened.
  func error(ofRoot path: String) -> TransportError {
    switch number {
    case ENOENT:
      TransportError(
        .folderMissing, place: path, message: "the shared folder \(path) does not exist",
        remedy: "create it, plug in or mount its disk, or wait until the program that syncs it has "
          + "made it; this device keeps everything until then", cause: self)
    case ENOTDIR:
      TransportError(
        .folderNotDirectory, place: path, message: "\(path) is a file, not a folder",
        remedy: "name a folder", cause: self)
    default: error(at: path, doing: "opening the shared folder", isWriting: false)
    }
  }

  /// Describes the failed call.
  ///
  /// - Parameters:
  ///   - place: the file or folder that it concerned.
  ///   - doing: what was attempted, as in "storing".
  ///   - isWriting: whether it would have changed the folder.
  func error(at place: String, doing: String, isWriting: Bool) -> TransportError {
    let (code, trouble, remedy): (TransportError.Code, String, String) =
      switch number {
      case ENOSPC, EDQUOT:
        (
          .diskFull, "the disk is full",
          "free some space and sync again: nothing was lost, what could not be stored is kept here"
        )
      case EROFS:
        (
          .folderReadOnly, "the disk is mounted read-only",
          "mount it for writing, or add another folder; reading from it goes on"
        )
      case EACCES, EPERM:
        (
          isWriting ? .folderReadOnly : .folderUnreadable, "permission was refused",
          "give this user the right to read and write the folder (chmod u+rwX) and sync again"
        )
      case EMFILE, ENFILE:
        (
          .tooManyOpenFiles, "too many files are open",
          "close other programs or raise the limit (ulimit -n) and sync again"
        )
      case ENOTDIR, ELOOP, EISDIR, ENOTEMPTY, EEXIST:
        (
          .nameTaken, "something else has this name",
          "look at it, move it away, and sync again: Hearth never opens or deletes what is not "
            + "its own"
        )
      case ENOENT, ESTALE:
        (
          .notFound, "it vanished meanwhile",
          "another program is changing the folder; sync again"
        )
      default:
        (
          .inputOutput, "the file system refused",
          "check the disk and the program that syncs the folder, then sync again"
        )
      }
    return TransportError(
      code, place: place, message: "\(doing) failed at \(place): \(trouble)", remedy: remedy,
      cause: self)
  }
}

import HearthSync

/// The faults of single files, each with one wording.
enum FileFault {
  private static let arriving =
    "it may still be arriving; if it stays damaged, `hearth sync --check` on a device that has it "
    + "repairs it; or delete it: its author puts it back"

  /// The file does not exist.
  static func absent(_ place: String) -> TransportError {
    TransportError(
      .notFound, place: place, message: "\(place) is not in the folder",
      remedy: "wait for the program that syncs the folder; the file's author puts it back")
  }

  /// The file is empty.
  static func empty(_ place: String) -> TransportError {
    TransportError(
      .emptyFile, place: place, message: "\(place) holds zero bytes", remedy: arriving)
  }

  /// The entry was not opened because it is not a regular file.
  static func notRegular(_ place: String) -> TransportError {
    TransportError(
      .notRegularFile, place: place,
      message: "\(place) is a folder, link, pipe or device, not a file, and was not opened",
      remedy: "move it away and sync again: the author of the file puts it back")
  }

  /// The file, or the content to store, is larger than any file of Hearth's.
  static func oversized(_ place: String, size: Int64, limit: Int) -> TransportError {
    TransportError(
      .tooLarge, place: place,
      message: "\(place) has \(size) bytes; the limit for a file here is \(limit)",
      remedy: "delete it: Hearth did not write it, and the author of the file puts it back")
  }

  /// The content does not have the digest in the name.
  ///
  /// Sync programs that reserve space first leave zeros where content is still missing, so that
  /// case can be distinguished. A cut file and a changed file cannot be distinguished.
  static func mismatch(_ place: String, _ bytes: [UInt8]) -> TransportError {
    let zeros = bytes.reversed().prefix { $0 == 0 }.count
    let fault =
      if zeros == bytes.count {
        "all its \(zeros) bytes are zero"
      } else if zeros >= 64 {
        "cut short: the last \(zeros) of its \(bytes.count) bytes are zero"
      } else {
        "cut short or changed: its \(bytes.count) bytes do not match its name"
      }
    return TransportError(
      .contentMismatch, place: place, message: "\(place) is damaged: \(fault)", remedy: arriving)
  }
}

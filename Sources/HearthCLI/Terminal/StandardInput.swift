import Foundation

/// Text that is piped in instead of passed as an argument.
enum StandardInput {
  /// The most bytes that are read, far more than any field allows.
  static let maximumBytes = 64 * 1024

  /// Reads standard input to its end, without a trailing newline.
  ///
  /// - Throws: `CommandFailure` beyond ``maximumBytes``, of which at most one further byte is read,
  ///   or if it is not UTF-8.
  static func text() throws -> String {
    var data = Data()
    while data.count <= maximumBytes {
      let part = try FileHandle.standardInput.read(upToCount: maximumBytes + 1 - data.count)
      guard let part, !part.isEmpty else { break }
      data += part
    }
    guard data.count <= maximumBytes else {
      throw CommandFailure(
        .usage, "there are more than \(maximumBytes) bytes on standard input",
        hint: "a title has 1 to 200 characters; use a note for a longer text")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw CommandFailure(.usage, "standard input is not UTF-8 text")
    }
    return text.hasSuffix("\n") ? String(text.dropLast()) : text
  }
}

import Foundation

/// Names that people type.
enum Name {
  static let maximumBytes = 256

  /// Returns the name without surrounding spaces; throws if it is empty or too long.
  static func checked(_ text: String, what: String) throws -> String {
    let name = text.trimmingCharacters(in: .whitespacesAndNewlines)
    guard !name.isEmpty, name.utf8.count <= maximumBytes, Style.safe(name) == name else {
      throw CommandFailure(
        .usage, "\(what) must have 1 to \(maximumBytes) bytes and no control characters")
    }
    return name
  }
}

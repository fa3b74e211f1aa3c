import Foundation
import Glibc

/// Emphasis on a terminal; plain text elsewhere and where `NO_COLOR` is set.
enum Style {
  /// Whether standard output shows emphasis: it is a terminal, and nobody asked for plain text.
  static let isOn: Bool = {
    let environment = ProcessInfo.processInfo.environment
    guard isatty(STDOUT_FILENO) == 1, environment["TERM"] != "dumb" else { return false }
    return (environment["NO_COLOR"] ?? "").isEmpty
  }()

  static func bold(_ text: String) -> String { wrap(text, "1") }
  static func dim(_ text: String) -> String { wrap(text, "2") }
  static func red(_ text: String) -> String { wrap(text, "31") }
  static func green(_ text: String) -> String { wrap(text, "32") }
  static func yellow(_ text: String) -> String { wrap(text, "33") }

  /// Text of others with its control characters made visible.
  ///
  /// Names and titles come from other devices; without this they could move the cursor, change
  /// what was printed before, or make one line look like two.
  static func safe(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
      let isDirection =
        (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
      result.append(isControl || isDirection ? "\u{FFFD}" : scalar)
    }
    return String(result)
  }

  private static func wrap(_ text: String, _ code: String) -> String {
    isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}

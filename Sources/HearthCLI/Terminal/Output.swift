import Foundation
import Glibc

/// The output of commands: data to standard output, everything else to standard error.
///
/// A failed write is remembered; see ``StandardStream``.
enum Output {
  /// Prints a line of data.
  ///
  /// Text of others is made visible where it is put into words; any other text is made visible
  /// here. The only control characters in the output are line ends, tabs and this program's own
  /// emphasis.
  static func print(_ text: String) {
    write(VisibleText.guarded(text) + "\n", to: STDOUT_FILENO)
  }

  /// Prints a remark, which is not data: the result, or the next step.
  static func note(_ text: String) {
    write(VisibleText.guarded(text) + "\n", to: STDERR_FILENO)
  }

  /// Prints data of another format unchanged to files and programs; a terminal shows it like other
  /// text.
  static func data(_ text: String) {
    let isShown = isatty(STDOUT_FILENO) == 1
    write(
      isShown ? VisibleText.guarded(text.replacing("\r\n", with: "\n")) : text, to: STDOUT_FILENO)
  }

  /// Prints one JSON document; `schema` is added to its top level.
  ///
  /// Keys are sorted, so equal values give equal bytes. The value must encode as an object. Hidden
  /// characters are escaped; see ``VisibleText``.
  static func json(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(Document(content: value)), as: UTF8.self)
    write(VisibleText.escapingJSON(text) + "\n", to: STDOUT_FILENO)
  }

  /// Prints one JSON document in one line, for long-running commands; it contains its own `schema`.
  static func jsonLine(_ value: some Encodable, to descriptor: Int32 = STDOUT_FILENO) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    write(VisibleText.escapingJSON(text) + "\n", to: descriptor)
  }

  private static func write(_ text: String, to descriptor: Int32) {
    ProgressLine.withdrawn { StandardStream.put(text, to: descriptor) }
  }

  /// A value with the version of the document format beside its own keys.
  private struct Document<Content: Encodable>: Encodable {
    let content: Content

    private enum Key: String, CodingKey {
      case schema
    }

    func encode(to encoder: any Encoder) throws {
      try content.encode(to: encoder)
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(1, forKey: .schema)
    }
  }
}
